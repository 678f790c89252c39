// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"runtime"

	"sidbeam.io/sidbeam/internal/native"
)

// Rules say which items of an index a request may find: those that are in the filter, are not excluded and, where there
// is a list of allowed ones, are in that.
type Rules struct {
	Filter            *Filter   // of the index; nil: all items
	Excluded, Allowed *ItemList // nil: none; an empty list of allowed items allows nothing
}

// NewRuledConstraint makes a constraint under rules, for the Constraints of a start, a Request or a set. A search under
// it returns, bit for bit, what a search of an index of the allowed items alone would; only ordinals and item rows are
// the index's. It is cheap, and made for one request; when it is closed, or nothing refers to it, its memory goes back
// to the index. On the CPU, with StrategyTrie. Errors: InvalidArgument, MissingSection (an index without KindTrie).
func NewRuledConstraint(index *Index, rules Rules) (*Constraint, error) {
	excluded, err := rules.Excluded.native("Excluded")
	if err != nil {
		return nil, err
	}
	allowed, err := rules.Allowed.native("Allowed")
	if err != nil {
		return nil, err
	}
	if rules.Filter != nil && rules.Filter.handle == nil { // C could not tell it from none
		return nil, invalid("Filter is a Filter that was not made, expected one of an Index, or nil")
	}
	f := newFailure()
	box := native.Flat_constraint_create_ruled(rawOf(index), rawOf(rules.Filter), excluded.by, excluded.numbers,
		excluded.names, excluded.offsets, allowed.by, allowed.numbers, allowed.names, allowed.offsets, f.bytes())
	runtime.KeepAlive(index)
	runtime.KeepAlive(rules.Filter)
	if err := f.done(); err != nil {
		return nil, err
	}
	return &Constraint{newHandle(box)}, nil
}

// Exclude gives the same constraint with further excluded items, at the cost of these: what a user has clicked since.
// The constraint itself stays as it is. Errors: InvalidArgument.
func (c *Constraint) Exclude(items ItemList) (*Constraint, error) {
	list, err := items.native("items")
	if err != nil {
		return nil, err
	}
	f := newFailure()
	box := native.Flat_constraint_exclude(rawOf(c), list.by, list.numbers, list.names, list.offsets, f.bytes())
	runtime.KeepAlive(c)
	if err := f.done(); err != nil {
		return nil, err
	}
	return &Constraint{newHandle(box)}, nil
}
