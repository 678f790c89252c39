// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"sidbeam.io/sidbeam"
)

// scope is what the histories of a request run under: the whole index, or a constraint with the request's rules.
type scope interface {
	sidbeam.Constrainer
	ItemRowsOf(ordinals []int64, limits sidbeam.ItemLimits) (sidbeam.ItemLists, error)
}

// unknown counts the ids of a request's lists that the index does not have; nil where there is no such list.
type unknown struct {
	Excluded *int64 `json:"unknown_excluded,omitempty"`
	Allowed  *int64 `json:"unknown_allowed,omitempty"`
}

// scopeOf gives the rules of a request, until done is called.
func (c *catalogue) scopeOf(asked *question) (s scope, counts unknown, done func(), err error) {
	if asked.exclude == nil && asked.allow == nil && asked.where == nil && asked.filter == nil {
		return c.index, counts, func() {}, nil
	}
	var rules sidbeam.Rules
	if rules.Excluded, err = c.list("exclude", asked.exclude); err != nil {
		return nil, counts, nil, err
	}
	if rules.Allowed, err = c.list("allow", asked.allow); err != nil {
		return nil, counts, nil, err
	}
	filter, release, err := c.filters.get(asked.filter, asked.where)
	if err != nil {
		return nil, counts, nil, err
	}
	defer release() // the constraint holds it
	rules.Filter = filter
	constraint, err := sidbeam.NewRuledConstraint(c.index, rules)
	if err != nil {
		return nil, counts, nil, err
	}
	info, err := constraint.Info()
	if err != nil {
		_ = constraint.Close()
		return nil, counts, nil, err
	}
	if asked.exclude != nil {
		counts.Excluded = &info.UnknownExcluded
	}
	if asked.allow != nil {
		counts.Allowed = &info.UnknownAllowed
	}
	return constraint, counts, func() { _ = constraint.Close() }, nil
}

// list reads ids, which must be of the index's type.
func (c *catalogue) list(what string, ids []json.RawMessage) (*sidbeam.ItemList, error) {
	if ids == nil {
		return nil, nil
	}
	items := &sidbeam.ItemList{}
	if c.info.IDType == sidbeam.IDString {
		items.Names = make([]string, 0, len(ids))
	} else {
		items.IDs = make([]int64, 0, len(ids))
	}
	for i, raw := range ids {
		id, name, ok := readID(raw, c.info.IDType)
		if !ok {
			return nil, mistake(raw, fmt.Sprintf("%s[%d]", what, i),
				expectedID(c.info.IDType)+", as the ids of this index are")
		}
		if c.info.IDType == sidbeam.IDString {
			items.Names = append(items.Names, name)
		} else {
			items.IDs = append(items.IDs, id)
		}
	}
	return items, nil
}

// integer is one as JSON has it: ParseInt takes +5 and 007 too.
var integer = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// readID reads an id of the index's type: a name, or an integer, unsigned ones as the same bits.
func readID(raw json.RawMessage, idType sidbeam.IDType) (id int64, name string, ok bool) {
	var err error
	if idType == sidbeam.IDString {
		name, err = decode[string](raw, "", "")
		return 0, name, err == nil
	}
	if idType == sidbeam.IDUint64 {
		var unsigned uint64
		unsigned, err = strconv.ParseUint(string(raw), 10, 64)
		id = int64(unsigned)
	} else {
		id, err = strconv.ParseInt(string(raw), 10, 64)
	}
	return id, "", err == nil && integer.Match(raw)
}

func expectedID(idType sidbeam.IDType) string {
	if idType == sidbeam.IDString {
		return "a string"
	}
	return "an integer"
}
