// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"math"
	"math/bits"
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// Filter says which items of an index may be shown, known in advance: in stock, of a region, of a campaign. Immutable,
// to be shared by requests and goroutines. It holds its index. What a search reads is derived when the first constraint
// is made with it, or by Prepare.
type Filter struct{ handle *handle }

// ItemList names items, in one of the three ways; the zero value is the empty list. Entries that name no item are
// ignored and counted, and an item may come twice.
type ItemList struct {
	IDs   []int64  // unsigned ids as the same bits
	Names []string // where ids are names
	Rows  []int64  // item rows; quickest where they rise
}

// nativeList is an ItemList as C has it; all of it nil: no list.
type nativeList struct {
	by      int
	numbers []int64
	names   []byte
	offsets []int64
}

func (l *ItemList) native(what string) (nativeList, error) {
	if l == nil {
		return nativeList{}, nil
	}
	if given := flag(l.IDs != nil) + flag(l.Names != nil) + flag(l.Rows != nil); given > 1 {
		return nativeList{}, invalid("%s has %d of IDs, Names and Rows, expected one of them", what, given)
	}
	switch {
	case l.IDs != nil:
		return nativeList{by: native.SIDBEAM_ITEMS_BY_ID, numbers: l.IDs}, nil
	case l.Rows != nil:
		return nativeList{by: native.SIDBEAM_ITEMS_BY_ROW, numbers: l.Rows}, nil
	case l.Names == nil: // empty, which is the same of ids, names and rows
		return nativeList{by: native.SIDBEAM_ITEMS_BY_ROW, numbers: []int64{}}, nil
	}
	list := nativeList{by: native.SIDBEAM_ITEMS_BY_ID, offsets: make([]int64, 1, len(l.Names)+1)}
	for _, name := range l.Names {
		list.names = append(list.names, name...)
		list.offsets = append(list.offsets, int64(len(list.names)))
	}
	return list, nil
}

// FilterText makes a filter of its text, say `price<20 and region in (us, ca) and not brand="x"`; sidbeam/filter.h has
// the grammar. Errors: InvalidArgument (the byte at which the text goes wrong, an attribute that is not there, an
// operator that its type has not, a value of another type).
func (x *Index) FilterText(text string) (*Filter, error) {
	return newFilter(func(f *failure) uintptr {
		box := native.Flat_filter_parse(rawOf(x), append(make([]byte, 0, len(text)+1), text...), f.bytes())
		runtime.KeepAlive(x)
		return box
	})
}

// FilterItems makes a filter of a list, and gives the number of entries that name no item. Errors: InvalidArgument (ids
// of another type than the index's).
func (x *Index) FilterItems(items ItemList) (filter *Filter, unknown int64, err error) {
	list, err := items.native("items")
	if err != nil {
		return nil, 0, err
	}
	var count [1]int64
	filter, err = newFilter(func(f *failure) uintptr {
		box := native.Flat_filter_from_items(rawOf(x), list.by, list.numbers, list.names, list.offsets, count[:],
			f.bytes())
		runtime.KeepAlive(x)
		return box
	})
	return filter, count[0], err
}

// FilterMask makes a filter of a bool per item row. Errors: InvalidArgument (another number of them).
func (x *Index) FilterMask(mask []bool) (*Filter, error) {
	return x.filterRows(native.SIDBEAM_ROWS_BYTES, bytesOf(mask))
}

// FilterBits makes a filter of a bit per item row, the lowest of a byte first, as Arrow has them; more may follow.
// Errors: InvalidArgument (too few).
func (x *Index) FilterBits(rows []byte) (*Filter, error) {
	return x.filterRows(native.SIDBEAM_ROWS_BITS, rows)
}

// FilterRoaring makes a filter of a 32-bit Roaring bitmap of item rows in its portable format, which may be damaged.
// Errors: InvalidArgument (what is wrong with it, and at which byte; a row that no item has).
func (x *Index) FilterRoaring(bitmap []byte) (*Filter, error) {
	return x.filterRows(native.SIDBEAM_ROWS_ROARING, bitmap)
}

func (x *Index) filterRows(encoding int, rows []byte) (*Filter, error) {
	return newFilter(func(f *failure) uintptr {
		box := native.Flat_filter_from_rows(rawOf(x), encoding, rows, 0, f.bytes())
		runtime.KeepAlive(x)
		return box
	})
}

// bytesOf is never nil.
func bytesOf(flags []bool) []byte {
	out := make([]byte, len(flags))
	for i, set := range flags {
		out[i] = byte(flag(set))
	}
	return out
}

// TermOp is the operator of a [Term].
type TermOp int32

// Operators of a term. A row that is null fails all but TermIsNull.
const (
	TermAnyOf    TermOp = iota // one of any number of values; of a list of strings, one of which is one of them
	TermEqual                  // this and the next five: one value
	TermNotEqual               //
	TermLess                   //
	TermAtMost                 //
	TermGreater                //
	TermAtLeast                //
	TermIn                     // any number of values
	TermBetween                // two values, which count too
	TermContains               // a list that has one of any number of values
	TermIsNull                 // no value
)

// Term is a question to one attribute of the items. The values are in the one slice that is not nil. Integers take
// whole Numbers too; Numbers are rounded to 32 bits, as those of the attribute were.
type Term struct {
	Attribute string
	Op        TermOp
	Integers  []int64
	Numbers   []float64 // not NaN
	Bools     []bool    // with TermAnyOf, TermEqual and TermNotEqual
	Strings   []string
}

// FilterTerm makes a filter of a term. Errors: as FilterText.
func (x *Index) FilterTerm(term Term) (*Filter, error) {
	err := cText("Attribute", term.Attribute)
	var numbers []int64
	var flags, strings []byte
	if term.Numbers != nil {
		numbers = make([]int64, len(term.Numbers))
	}
	for i, number := range term.Numbers {
		numbers[i] = int64(math.Float64bits(number))
	}
	if term.Bools != nil {
		flags = bytesOf(term.Bools)
	}
	for _, text := range term.Strings {
		err = firstError(err, cText("Strings", text))
		strings = append(append(strings, text...), 0)
	}
	if err != nil {
		return nil, err
	}
	return newFilter(func(f *failure) uintptr {
		box := native.Flat_filter_from_term(rawOf(x), int(term.Op), term.Attribute, term.Integers, numbers, flags,
			strings, f.bytes())
		runtime.KeepAlive(x)
		return box
	})
}

func newFilter(call func(f *failure) uintptr) (*Filter, error) {
	f := newFailure()
	box := call(f)
	if err := f.done(); err != nil {
		return nil, err
	}
	return &Filter{newHandle(box)}, nil
}

// And gives the items that are in both filters, which are of one index. Errors: InvalidArgument.
func (t *Filter) And(other *Filter) (*Filter, error) { return t.join(native.SIDBEAM_FILTER_AND, other) }

// Or gives the items that are in either filter. Errors: as And.
func (t *Filter) Or(other *Filter) (*Filter, error) { return t.join(native.SIDBEAM_FILTER_OR, other) }

// Not gives the items that are not in the filter.
func (t *Filter) Not() (*Filter, error) {
	return newFilter(func(f *failure) uintptr {
		box := native.Flat_filter_combine(native.SIDBEAM_FILTER_NOT, rawOf(t), 0, f.bytes())
		runtime.KeepAlive(t)
		return box
	})
}

func (t *Filter) join(op int, other *Filter) (*Filter, error) {
	if other == nil || other.handle == nil { // C could not tell it from none
		return nil, invalid("the other filter is nil, or was not made, expected one of the same index")
	}
	return newFilter(func(f *failure) uintptr {
		box := native.Flat_filter_combine(op, rawOf(t), rawOf(other), f.bytes())
		runtime.KeepAlive(t)
		runtime.KeepAlive(other)
		return box
	})
}

// Update gives the filter after a change of some items, at the cost of these: allowed[i] says whether entry i is in; of
// an item that comes twice the last entry counts. It also gives the number of entries that name no item. The filter
// itself stays as it is. Errors: InvalidArgument.
func (t *Filter) Update(items ItemList, allowed []bool) (filter *Filter, unknown int64, err error) {
	list, err := items.native("items")
	if err != nil {
		return nil, 0, err
	}
	if count := len(items.IDs) + len(items.Names) + len(items.Rows); count != len(allowed) {
		return nil, 0, invalid("allowed has %d entries, expected %d, one per item", len(allowed), count)
	}
	var missing [1]int64
	filter, err = newFilter(func(f *failure) uintptr {
		box := native.Flat_filter_update(rawOf(t), list.by, list.numbers, list.names, list.offsets, bytesOf(allowed),
			missing[:], f.bytes())
		runtime.KeepAlive(t)
		return box
	})
	return filter, missing[0], err
}

// On gives the same filter on another version of a live catalogue, or on another index. What was made of a text or of
// terms is asked of that index's items. A set of items or rows has the same rows where both are versions on one base,
// or that base, and none that came later. Errors: InvalidArgument (a set on another base; as FilterTerm).
func (t *Filter) On(index *Index) (*Filter, error) {
	if index == nil {
		return nil, invalid("index is a nil *Index, expected one")
	}
	return newFilter(func(f *failure) uintptr {
		box := native.Flat_filter_on(rawOf(t), rawOf(index), f.bytes())
		runtime.KeepAlive(t)
		runtime.KeepAlive(index)
		return box
	})
}

// Prepare derives now what a search reads, on the runtime's threads, so that no request waits for it.
func (t *Filter) Prepare() error {
	f := newFailure()
	native.Flat_filter_prepare(rawOf(t), f.bytes())
	runtime.KeepAlive(t)
	return f.done()
}

// FilterInfo is what a filter holds.
type FilterInfo struct {
	Prepared bool  // what a search reads has been derived
	Items    int64 // item rows in the filter
	SIDs     int64 // SIDs with such a row; -1 until it is prepared
	Bytes    int64 // that the filter takes by now
}

// Info gives what the filter holds.
func (t *Filter) Info() (FilterInfo, error) {
	numbers := make([]int64, native.FLAT_FILTER_COUNT)
	f := newFailure()
	native.Flat_filter_get_info(rawOf(t), numbers, f.bytes())
	runtime.KeepAlive(t)
	if err := f.done(); err != nil {
		return FilterInfo{}, err
	}
	return FilterInfo{
		Prepared: numbers[native.FLAT_FILTER_PREPARED] != 0,
		Items:    numbers[native.FLAT_FILTER_ITEMS],
		SIDs:     numbers[native.FLAT_FILTER_SIDS],
		Bytes:    numbers[native.FLAT_FILTER_BYTES],
	}, nil
}

// Text gives a text of which FilterText makes a filter of the same rows. Errors: Unsupported (a filter of a list, of
// rows, or updated has none).
func (t *Filter) Text() (string, error) {
	read := func(text []byte) (int64, error) {
		f := newFailure()
		bytes := native.Flat_filter_text(rawOf(t), text, f.bytes())
		runtime.KeepAlive(t)
		return bytes, f.done()
	}
	bytes, err := read(nil)
	if err != nil {
		return "", err
	}
	text := make([]byte, bytes)
	_, err = read(text)
	return string(text), err
}

// Rows gives the item rows in the filter, rising.
func (t *Filter) Rows() ([]int64, error) {
	read := func(words []int64) (int64, error) {
		f := newFailure()
		count := native.Flat_filter_rows(rawOf(t), words, f.bytes())
		runtime.KeepAlive(t)
		return count, f.done()
	}
	count, err := read(nil)
	if err != nil {
		return nil, err
	}
	words := make([]int64, count)
	if _, err := read(words); err != nil {
		return nil, err
	}
	rows := []int64{}
	for i, word := range words {
		for left := uint64(word); left != 0; left &= left - 1 {
			rows = append(rows, int64(64*i+bits.TrailingZeros64(left)))
		}
	}
	return rows, nil
}

// Close gives the filter back; its constraints go on. Closing again does nothing.
func (t *Filter) Close() error { return closeOf(t) }
