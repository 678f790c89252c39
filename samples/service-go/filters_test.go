// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sidbeam.io/sidbeam"
)

// The latest texts' filters are kept; one that goes meanwhile stays with those that use it.
func TestKeptFilters(t *testing.T) {
	o := testOptions(t)
	for _, most := range []int{0, 2} {
		o.whereKept = most
		c, err := openCatalogue(&o)
		must(t, err)
		get := func(text string) (*sidbeam.Filter, func()) {
			filter, done, err := c.filters.get(nil, &text)
			must(t, err)
			return filter, done
		}
		first, done := get("price<1")
		again, doneAgain := get("price<1")
		if (first == again) != (most > 0) {
			t.Errorf("of %d kept: expected the same filter only where it is kept", most)
		}
		doneAgain()
		for i := 2; i < 9; i++ {
			_, done := get(fmt.Sprintf("price<%d", i))
			done()
		}
		if got := c.filters.order.Len(); got != most || len(c.filters.kept) != most {
			t.Errorf("expected %d kept, got %d", most, got)
		}
		if info, err := first.Info(); err != nil || info.Items != 5 {
			t.Errorf("a filter in use: expected 5 items, got %+v %v", info, err)
		}
		done()
		if _, err := first.Info(); err == nil {
			t.Errorf("expected a filter that nobody uses to be closed")
		}
		c.close()
	}
}

// No request waits for a filter of the settings to be prepared, of an index or of a version that is published.
func TestFiltersOfTheSettingsArePrepared(t *testing.T) {
	o := liveOptions(t)
	o.filters = filepath.Join(t.TempDir(), "filters.json")
	must(t, os.WriteFile(o.filters, []byte(`{"cheap": "price<40"}`), 0o600))
	s, handler := serve(t, o)
	for version := 1; version <= 2; version++ {
		info, err := s.generations.current.catalogue.filters.named["cheap"].Info()
		if err != nil || !info.Prepared {
			t.Errorf("version %d: expected the filter to be prepared, got %+v %v", version, info, err)
		}
		if version == 1 {
			do(t, handler, "DELETE", "/items/1000", "", `{"removed":1000}`)
			do(t, handler, "POST", "/publish", "", `{"version":2}`)
		}
	}
}
