// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"sidbeam.io/sidbeam"
)

// catalogue is what requests are served from: an opened index, which may be a version of a live catalogue, with the
// rows of its items and its filters.
type catalogue struct {
	index     *sidbeam.Index
	info      *sidbeam.Info
	published time.Time // of a version
	items     *itemRows
	filters   *filters
}

// openCatalogue opens a file and checks it in full, so that a reload refuses a damaged one, and makes its filters. The
// file may be replaced by rename at any time.
func openCatalogue(o *options) (*catalogue, error) {
	index, err := sidbeam.Open(o.index, sidbeam.OpenConfig{Residency: o.residency, Verify: sidbeam.VerifyFull})
	if err != nil {
		return nil, err
	}
	return newCatalogue(index, nil, func(index *sidbeam.Index) (*filters, error) {
		return readFilters(index, o.filters, o.whereKept)
	})
}

// newestVersion is the newest version of a live catalogue; before, which may be nil, is the one that it replaces.
func newestVersion(live *sidbeam.Catalog, before *catalogue,
	filtersOf func(*sidbeam.Index) (*filters, error)) (*catalogue, error) {
	for {
		info, err := live.Info()
		if err != nil {
			return nil, err
		}
		index, err := live.Snapshot(0)
		if err != nil {
			return nil, err
		}
		c, err := newCatalogue(index, before, filtersOf)
		if err != nil {
			return nil, err
		}
		if c.published = info.Published; c.info.Version == info.Version {
			return c, nil
		}
		c.close() // another one was published meanwhile
	}
}

// newCatalogue takes over the index.
func newCatalogue(index *sidbeam.Index, before *catalogue,
	filtersOf func(*sidbeam.Index) (*filters, error)) (*catalogue, error) {
	info, err := index.Info()
	c := &catalogue{index: index, info: info}
	if err == nil {
		if c.items, err = rowsOf(c, before); err != nil {
			err = fmt.Errorf("reading the items: %w", err)
		}
	}
	if err == nil {
		c.filters, err = filtersOf(index)
	}
	if err != nil {
		_ = index.Close()
		return nil, err
	}
	return c, nil
}

func (c *catalogue) close() {
	c.filters.close()
	_ = c.index.Close()
}

// version is what answers call it: the number of a version, or the fingerprint of a file's index.
func (c *catalogue) version() json.RawMessage {
	if c.info.Version > 0 {
		return json.RawMessage(strconv.FormatInt(c.info.Version, 10))
	}
	return json.RawMessage(strconv.Quote(c.info.Fingerprint))
}

// sids gives the SIDs of items, by the texts of their ids; nil of those that are not there. An item that has several
// has the least of them.
func (c *catalogue) sids(ids []string) ([][]int32, error) {
	sids := make([][]int32, len(ids))
	rows, owners := c.items.find(ids, c.info.Items)
	if len(rows) == 0 {
		return sids, nil
	}
	ordinals, err := c.index.ItemOrdinals(rows)
	if err != nil {
		return nil, err
	}
	lives, err := c.lives(rows, ordinals)
	if err != nil {
		return nil, err
	}
	codes, lengths, err := c.index.SIDs(ordinals)
	if err != nil {
		return nil, err
	}
	for i, owner := range owners {
		if !lives(rows[i]) {
			continue
		}
		sid := codes[i*c.info.Levels:][:lengths[i]]
		if sids[owner] == nil || less(sid, sids[owner]) {
			sids[owner] = sid
		}
	}
	return sids, nil
}

// less is the order of SIDs: code by code, the end after every code.
func less(a, b []int32) bool {
	for l := range a {
		if l == len(b) {
			return true
		}
		if a[l] != b[l] {
			return a[l] < b[l]
		}
	}
	return false
}

// lives says of rows, of these ordinals, whether they are live: what has gone keeps its row.
func (c *catalogue) lives(rows, ordinals []int64) (func(row int64) bool, error) {
	if c.info.LiveItems == c.info.Items {
		return func(int64) bool { return true }, nil
	}
	distinct, seen := []int64{}, map[int64]bool{}
	for _, ordinal := range ordinals {
		if !seen[ordinal] {
			distinct, seen[ordinal] = append(distinct, ordinal), true
		}
	}
	lists, err := c.index.ItemRowsOf(distinct, sidbeam.ItemLimits{})
	if err != nil {
		return nil, err
	}
	live := make(map[int64]bool, len(lists.Rows))
	for _, row := range lists.Rows {
		live[row] = true
	}
	return func(row int64) bool { return live[row] }, nil
}

// jsonIDs are the ids of item rows.
func (c *catalogue) jsonIDs(rows []int64) ([]json.RawMessage, error) {
	texts, err := idTexts(c, rows)
	if err != nil {
		return nil, err
	}
	ids := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		if c.info.IDType == sidbeam.IDString {
			ids[i], _ = json.Marshal(text) // text can always be marshalled
		} else {
			ids[i] = json.RawMessage(text)
		}
	}
	return ids, nil
}

// idTexts are the ids of item rows as text, whatever their type.
func idTexts(c *catalogue, rows []int64) ([]string, error) {
	if c.info.IDType == sidbeam.IDString {
		return c.index.ItemNames(rows)
	}
	ids, err := c.index.ItemIDs(rows)
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = idText(id, c.info.IDType)
	}
	return texts, err
}

func idText(id int64, idType sidbeam.IDType) string {
	if idType == sidbeam.IDUint64 {
		return strconv.FormatUint(uint64(id), 10)
	}
	return strconv.FormatInt(id, 10)
}

// like is an index of one SID and of the same shape, for the runner, which holds its own as long as it lives: it shall
// not keep the first catalogue. Each request names the one that it runs under.
func (c *catalogue) like() (*sidbeam.Index, error) {
	codebook, err := c.index.Codebook()
	if err != nil {
		return nil, err
	}
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: c.info.Codes, VariableLength: c.info.VariableLength,
		Kinds: c.info.Kinds, Codebook: codebook})
	if err != nil {
		return nil, err
	}
	defer builder.Close()
	if err := builder.Add(sidbeam.Pairs{Codes: make([]int32, c.info.Levels)}); err != nil {
		return nil, err
	}
	return builder.Finish(context.Background())
}
