// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// SIDs gives the SIDs of many ordinals: codes [N, L] (-1 past a length) and lengths [N].
func (x *Index) SIDs(ordinals []int64) (codes, lengths []int32, err error) {
	levels := x.header().Levels
	codes, lengths = make([]int32, len(ordinals)*levels), make([]int32, len(ordinals))
	f := newFailure()
	native.Flat_index_sids(rawOf(x), ordinals, levels, codes, lengths, f.bytes())
	runtime.KeepAlive(x)
	if err := f.done(); err != nil {
		return nil, nil, err
	}
	return codes, lengths, nil
}

// SID gives the codes of an ordinal.
func (x *Index) SID(ordinal int64) ([]int32, error) {
	codes, lengths, err := x.SIDs([]int64{ordinal})
	if err != nil {
		return nil, err
	}
	return codes[:lengths[0]], nil
}

// FindSIDs gives the ordinals of whole SIDs, -1 where there is no such SID.
func (x *Index) FindSIDs(sids [][]int32) ([]int64, error) {
	codes, lengths, stride := rectangle(sids)
	ordinals := make([]int64, len(sids))
	f := newFailure()
	native.Flat_index_find_sids(rawOf(x), codes, int64(stride), lengths, ordinals, f.bytes())
	runtime.KeepAlive(x)
	if err := f.done(); err != nil {
		return nil, err
	}
	return ordinals, nil
}

// FindSID gives the ordinal of a whole SID, -1 where there is none.
func (x *Index) FindSID(sid ...int32) (int64, error) {
	ordinals, err := x.FindSIDs([][]int32{sid})
	if err != nil {
		return -1, err
	}
	return ordinals[0], nil
}

// rectangle lays rows of different lengths out as codes [N, stride].
func rectangle(rows [][]int32) (codes, lengths []int32, stride int) {
	stride = 1
	for _, row := range rows {
		if len(row) > stride {
			stride = len(row)
		}
	}
	codes, lengths = make([]int32, len(rows)*stride), make([]int32, len(rows))
	for i, row := range rows {
		copy(codes[i*stride:], row)
		lengths[i] = int32(len(row))
	}
	return codes, lengths, stride
}

// Ordinals gives the ordinals [lo, hi) of the SIDs that begin with a prefix of 0 .. L codes; lo = hi where there are
// none.
func (x *Index) Ordinals(prefix ...int32) (lo, hi int64, err error) {
	var numbers [2]int64
	f := newFailure()
	native.Flat_index_ordinals(rawOf(x), prefix, numbers[:], f.bytes())
	runtime.KeepAlive(x)
	return numbers[0], numbers[1], f.done()
}

// Children gives the codes that may follow a prefix of fewer than L codes, rising, and whether the prefix is itself a
// SID.
func (x *Index) Children(prefix ...int32) (codes []int32, end bool, err error) {
	var ends [1]int32
	read := func(out []int32) (int64, error) {
		f := newFailure()
		count := native.Flat_index_children(rawOf(x), prefix, out, ends[:], f.bytes())
		runtime.KeepAlive(x)
		return count, f.done()
	}
	count, err := read(nil)
	if err != nil {
		return nil, false, err
	}
	codes = make([]int32, count)
	_, err = read(codes)
	return codes, ends[0] != 0, err
}

// ItemRows gives the item rows [lo, hi) of an ordinal.
func (x *Index) ItemRows(ordinal int64) (lo, hi int64, err error) {
	var numbers [2]int64
	f := newFailure()
	native.Flat_index_item_rows(rawOf(x), ordinal, numbers[:], f.bytes())
	runtime.KeepAlive(x)
	return numbers[0], numbers[1], f.done()
}

// ItemLimits say how much of a list of item rows is wanted: a row is listed unless Distinct leaves it out, or else the
// cap, or else a limit.
type ItemLimits struct {
	PerSID   int  // most item rows of one SID; 0: no limit
	Total    int  // most item rows of all; 0: no limit
	Distinct bool // an item that several SIDs have is listed once, with the first of them
	// At most Cap item rows per value of the attribute CapBy, as in Items. 0 and "": no cap.
	Cap   int
	CapBy string
}

// ItemLists are the item rows of N ordinals: ordinal i has Rows[Offsets[i]:Offsets[i+1]].
type ItemLists struct {
	Rows, Offsets []int64
	Truncated     bool // a limit left rows out (that the cap would have listed)
	CameShort     bool // the cap left rows out and there are fewer than Total: more beams may find more
}

// ItemRowsOf gives the item rows of a list of ordinals in their order, say of a Result; -1 has none. Errors:
// InvalidArgument (an ordinal out of range, a limit below 0, a cap by an attribute that there is not, or of floats).
func (x *Index) ItemRowsOf(ordinals []int64, limits ItemLimits) (ItemLists, error) {
	if err := made("index", x); err != nil {
		return ItemLists{}, err
	}
	constraint, err := x.constraint()
	if err != nil {
		return ItemLists{}, err
	}
	return constraint.ItemRowsOf(ordinals, limits)
}

// ItemRowsOf is [Index.ItemRowsOf] of the rows that the rules allow, say of a Result of a request under them.
func (c *Constraint) ItemRowsOf(ordinals []int64, limits ItemLimits) (ItemLists, error) {
	lists := ItemLists{Offsets: make([]int64, len(ordinals)+1)}
	var truncated, cameShort [1]int32
	read := func(rows []int64, total int64, cameShort []int32) error {
		f := newFailure()
		native.Flat_constraint_items(rawOf(c), ordinals, int64(limits.PerSID), total, flag(limits.Distinct),
			limits.CapBy, int64(limits.Cap), rows, lists.Offsets, truncated[:], cameShort, f.bytes())
		runtime.KeepAlive(c)
		return f.done()
	}
	if err := read(nil, int64(limits.Total), cameShort[:]); err != nil { // how many there are
		return ItemLists{}, err
	}
	if lists.Rows = make([]int64, lists.Offsets[len(ordinals)]); len(lists.Rows) > 0 {
		if err := read(lists.Rows, int64(len(lists.Rows)), nil); err != nil { // of a list that is full
			return ItemLists{}, err
		}
	}
	lists.Truncated, lists.CameShort = truncated[0] != 0, cameShort[0] != 0
	return lists, nil
}

// ItemOrdinals gives the ordinals that item rows belong to: [N].
func (x *Index) ItemOrdinals(itemRows []int64) ([]int64, error) {
	ordinals := make([]int64, len(itemRows))
	f := newFailure()
	native.Flat_index_item_ordinals(rawOf(x), itemRows, ordinals, f.bytes())
	runtime.KeepAlive(x)
	if err := f.done(); err != nil {
		return nil, err
	}
	return ordinals, nil
}

// ItemPriorities gives the priorities of item rows: [N]. Those of a SID have the highest first. Where the index was
// built without KeepPriorities it is an error, MissingSection.
func (x *Index) ItemPriorities(itemRows []int64) ([]int64, error) {
	priorities := make([]int64, len(itemRows))
	f := newFailure()
	native.Flat_index_item_priorities(rawOf(x), itemRows, priorities, f.bytes())
	runtime.KeepAlive(x)
	if err := f.done(); err != nil {
		return nil, err
	}
	return priorities, nil
}

// ItemIDs gives the ids of item rows: [N], unsigned ones as the same bits; -1 where ids are names.
func (x *Index) ItemIDs(rows []int64) ([]int64, error) {
	ids, _, err := x.itemIDs(rows, nil)
	return ids, err
}

func (x *Index) itemIDs(rows, nameBytes []int64) (ids, _ []int64, err error) {
	ids = make([]int64, len(rows))
	f := newFailure()
	native.Flat_index_item_ids(rawOf(x), rows, ids, nameBytes, f.bytes())
	runtime.KeepAlive(x)
	if err := f.done(); err != nil {
		return nil, nil, err
	}
	return ids, nameBytes, nil
}

// ItemNames gives the names of item rows, where ids are names: [N]; else they are "". Names that overlap, as only those
// of a damaged index do, are an error, Corrupt.
func (x *Index) ItemNames(rows []int64) ([]string, error) {
	_, lengths, err := x.itemIDs(rows, make([]int64, len(rows)))
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, length := range lengths {
		total += length
	}
	bytes := make([]byte, total)
	f := newFailure()
	native.Flat_index_item_names(rawOf(x), rows, bytes, f.bytes())
	runtime.KeepAlive(x)
	if err := f.done(); err != nil {
		return nil, err
	}
	names := make([]string, len(rows))
	for i, length := range lengths {
		names[i], bytes = string(bytes[:length]), bytes[length:]
	}
	return names, nil
}

// FindItem gives the first item row >= from with this id, or -1. One pass over the ids: for tools, not for requests.
// Where ids are names it is an error, InvalidArgument.
func (x *Index) FindItem(id, from int64) (int64, error) {
	return x.findItem(id, nil, from)
}

// FindItemNamed is FindItem where ids are names; where they are numbers it is an error.
func (x *Index) FindItemNamed(name string, from int64) (int64, error) {
	return x.findItem(0, append(make([]byte, 0, len(name)+1), name...), from) // not nil, which would mean no name
}

func (x *Index) findItem(id int64, name []byte, from int64) (int64, error) {
	f := newFailure()
	row := native.Flat_index_find_item(rawOf(x), id, name, from, f.bytes())
	runtime.KeepAlive(x)
	if err := f.done(); err != nil {
		return -1, err
	}
	return row, nil
}
