// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// ArrowColumns says which columns of a table of Arrow's hold what. Those that are not named are the ones with a usual
// name: sid, sids, semantic_id, semantic_ids, codes, tokens or token_ids for SIDs, item, item_id, iid, id, asin, docid
// or goods_id for items, and priority.
type ArrowColumns struct {
	SID         string   // lists of codes, or lists of such lists where an item has several SIDs
	Levels      []string // instead: the column of each level
	LevelPrefix string   // instead: what their names begin with, before a number that counts on from 0 or 1
	Item        string   // integers, or text with IDString
	Priority    string
	NoItem      bool // there is no column of items, whatever the names: the id is the pair's number
	NoPriority  bool

	// Columns that are attributes of the items; AllAttributes: all that nothing else uses.
	Attributes    []string
	AllAttributes bool
}

// ArrowInfo is what a table of Arrow's holds.
type ArrowInfo struct {
	Levels     int     // codes of the longest SID
	Shortest   int     // codes of the shortest one; less than Levels: lengths vary
	Codes      []int32 // [Levels] as many as occur
	IDType     IDType  // what suits the column of items
	Items      bool    // there is a column of items
	Priorities bool
	Pairs      int64
}

// AddArrow adds all pairs of a stream of Arrow's record batches, batch by batch, without a copy on the way, and returns
// their number. stream is the address of an ArrowArrayStream of Arrow's C data interface, in C's memory (arrow-go's
// cdata.ExportRecordReader fills one); it is released before this returns, whatever happens.
// Errors: InvalidArgument with column, row and value, IOError with what the stream says, BadState, OutOfMemory; then
// nothing of this call has been added.
func (b *Builder) AddArrow(stream uintptr, columns ArrowColumns) (int64, error) {
	names, err := columns.names(stream)
	if err != nil {
		return 0, err
	}
	f := newFailure()
	pairs := native.Flat_builder_add_arrow(rawOf(b), int64(stream), names.sid, names.levels, names.levelPrefix,
		names.item, names.priority, names.attributes, flag(columns.AllAttributes), f.bytes())
	runtime.KeepAlive(b)
	return pairs, f.done()
}

// InspectArrow reads a stream of Arrow's record batches and says what a builder for it must be told. The stream is
// released, as by AddArrow.
func InspectArrow(stream uintptr, columns ArrowColumns) (*ArrowInfo, error) {
	names, err := columns.names(stream)
	if err != nil {
		return nil, err
	}
	f := newFailure()
	numbers, codes := make([]int64, native.FLAT_ARROW_COUNT), make([]int32, MaxLevels)
	native.Flat_arrow_inspect(int64(stream), names.sid, names.levels, names.levelPrefix, names.item, names.priority,
		numbers, codes, f.bytes())
	if err := f.done(); err != nil {
		return nil, err
	}
	levels := int(numbers[native.FLAT_ARROW_LEVELS])
	return &ArrowInfo{
		Levels:     levels,
		Shortest:   int(numbers[native.FLAT_ARROW_SHORTEST]),
		Codes:      codes[:levels],
		IDType:     IDType(numbers[native.FLAT_ARROW_ID_TYPE]),
		Items:      numbers[native.FLAT_ARROW_ITEMS] != 0,
		Priorities: numbers[native.FLAT_ARROW_PRIORITIES] != 0,
		Pairs:      numbers[native.FLAT_ARROW_PAIRS],
	}, nil
}

// arrowNames are names as C takes them: each ends with NUL, and nil is none.
type arrowNames struct{ sid, levels, levelPrefix, item, priority, attributes []byte }

// names gives them; a stream that cannot be read for their sake is released.
func (c *ArrowColumns) names(stream uintptr) (*arrowNames, error) {
	err := firstError(cText("SID", c.SID), cText("LevelPrefix", c.LevelPrefix), cText("Item", c.Item),
		cText("Priority", c.Priority))
	var levels, attributes []byte
	for _, name := range c.Attributes {
		err = firstError(err, cText("Attributes", name))
		attributes = append(append(attributes, name...), 0)
	}
	for _, name := range c.Levels {
		err = firstError(err, cText("Levels", name))
		levels = append(append(levels, name...), 0)
	}
	if c.NoItem && c.Item != "" || c.NoPriority && c.Priority != "" {
		err = firstError(err, invalid("a column is named that there is not, by NoItem or NoPriority"))
	}
	if err != nil {
		native.Flat_arrow_release(int64(stream))
		return nil, err
	}
	return &arrowNames{arrowName(c.SID, false), levels, arrowName(c.LevelPrefix, false), arrowName(c.Item, c.NoItem),
		arrowName(c.Priority, c.NoPriority), attributes}, nil
}

// arrowName is nil for "", which stands for the usual names, unless there is to be no such column.
func arrowName(name string, none bool) []byte {
	if name == "" && !none {
		return nil
	}
	return append([]byte(name), 0)
}
