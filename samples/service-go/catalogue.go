// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"

	"sidbeam.io/sidbeam"
)

// catalogue is an opened index and what a request needs of its items, by item row and by ordinal.
type catalogue struct {
	index   *sidbeam.Index
	info    *sidbeam.Info
	ids     []string         // [items] an id as text, whatever its type
	ordinal map[string]int64 // of an item's first SID
	codes   []int32          // [SIDs, levels], -1 past a length
	filters *filters
}

// openCatalogue maps a file and checks it in full, so that a reload refuses a damaged one, and makes its filters. The
// file may be replaced by rename at any time.
func openCatalogue(o *options) (*catalogue, error) {
	index, err := sidbeam.Open(o.index, sidbeam.OpenConfig{Verify: sidbeam.VerifyFull})
	if err != nil {
		return nil, err
	}
	c, err := readCatalogue(index)
	if err != nil {
		_ = index.Close()
		return nil, fmt.Errorf("reading the items of %s: %w", o.index, err)
	}
	if c.filters, err = readFilters(index, o.filters, o.whereKept); err != nil {
		_ = index.Close()
		return nil, err
	}
	return c, nil
}

func (c *catalogue) close() {
	c.filters.close()
	_ = c.index.Close()
}

func readCatalogue(index *sidbeam.Index) (*catalogue, error) {
	info, err := index.Info()
	if err != nil {
		return nil, err
	}
	c := &catalogue{index: index, info: info, ordinal: make(map[string]int64, info.Items)}
	ordinals := make([]int64, info.SIDs)
	for i := range ordinals {
		ordinals[i] = int64(i)
	}
	if c.codes, _, err = index.SIDs(ordinals); err != nil {
		return nil, err
	}
	return c, c.readItems()
}

func (c *catalogue) readItems() error {
	rows := make([]int64, c.info.Items)
	for i := range rows {
		rows[i] = int64(i)
	}
	ordinals, err := c.index.ItemOrdinals(rows)
	if err != nil {
		return err
	}
	if c.info.IDType == sidbeam.IDString {
		c.ids, err = c.index.ItemNames(rows)
	} else {
		var ids []int64
		ids, err = c.index.ItemIDs(rows)
		for _, id := range ids {
			c.ids = append(c.ids, idText(id, c.info.IDType))
		}
	}
	for i, id := range c.ids {
		if _, seen := c.ordinal[id]; !seen {
			c.ordinal[id] = ordinals[i]
		}
	}
	return err
}

func idText(id int64, idType sidbeam.IDType) string {
	if idType == sidbeam.IDUint64 {
		return strconv.FormatUint(uint64(id), 10)
	}
	return strconv.FormatInt(id, 10)
}

// sid is the SID of an ordinal.
func (c *catalogue) sid(ordinal int64) []int32 {
	sid := c.codes[int(ordinal)*c.info.Levels:][:c.info.Levels]
	for l, code := range sid {
		if code < 0 {
			return sid[:l]
		}
	}
	return sid
}
