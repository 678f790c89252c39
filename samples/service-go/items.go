// SPDX-License-Identifier: Apache-2.0

package main

import "sync"

// itemRows finds the rows of items by the texts of their ids. Rows are only ever added, so that the versions of one
// generation of a live catalogue share it, each up to its own number of rows.
type itemRows struct {
	mutex sync.RWMutex
	count int64              // rows that were read
	first map[string]int64   // of each item
	more  map[string][]int64 // further ones, rising
}

// rowsOf gives the table of a catalogue: that of the one before, with what has come since, if its rows go on.
func rowsOf(c, before *catalogue) (*itemRows, error) {
	var t *itemRows
	if before != nil && c.info.Generation > 0 && before.info.Generation == c.info.Generation &&
		before.info.Version <= c.info.Version {
		t = before.items
	} else {
		t = &itemRows{first: make(map[string]int64, c.info.Items), more: map[string][]int64{}}
	}
	const chunk = 4096 // requests wait for no more
	for t.count < c.info.Items {
		rows := make([]int64, 0, chunk)
		for row := t.count; row < c.info.Items && len(rows) < chunk; row++ {
			rows = append(rows, row)
		}
		ids, err := idTexts(c, rows)
		if err != nil {
			return nil, err
		}
		t.add(ids)
	}
	return t, nil
}

func (t *itemRows) add(ids []string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, id := range ids {
		if _, has := t.first[id]; has {
			t.more[id] = append(t.more[id], t.count)
		} else {
			t.first[id] = t.count
		}
		t.count++
	}
}

// find gives the rows below a number of those items that have some, and which of the ids each is of.
func (t *itemRows) find(ids []string, below int64) (rows []int64, owners []int) {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	take := func(row int64, owner int) {
		if row < below {
			rows, owners = append(rows, row), append(owners, owner)
		}
	}
	for i, id := range ids {
		first, has := t.first[id]
		if !has {
			continue
		}
		take(first, i)
		for _, row := range t.more[id] {
			take(row, i)
		}
	}
	return rows, owners
}
