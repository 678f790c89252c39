// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"sidbeam.io/sidbeam"
)

// livePair is a pair that a catalogue is expected to have.
type livePair struct {
	id  int64
	sid [3]int32
}

type livePairs map[livePair]int64 // with its price

// livingBase has 300 items of several to a SID, of which every fifth has a second SID.
func livingBase() livePairs {
	random, pairs := rand.New(rand.NewSource(1)), livePairs{}
	draw := func() [3]int32 { return [3]int32{random.Int31n(4), random.Int31n(4), random.Int31n(8)} }
	for id := int64(1000); id < 1300; id++ {
		pairs[livePair{id, draw()}] = id % 100
		if id%5 == 0 {
			pairs[livePair{id, draw()}] = id % 100
		}
	}
	return pairs
}

func (p livePairs) remove(id int64) {
	for pair := range p {
		if pair.id == id {
			delete(p, pair)
		}
	}
}

// least is the pair of an item whose SID comes first.
func (p livePairs) least(id int64) (least livePair) {
	for pair := range p {
		if pair.id == id && (least.id != id || less(pair.sid[:], least.sid[:])) {
			least = pair
		}
	}
	return least
}

// file writes an index of the pairs.
func (p livePairs) file(t testing.TB, path string) {
	t.Helper()
	sorted := []livePair{}
	for pair := range p {
		sorted = append(sorted, pair)
	}
	sort.Slice(sorted, func(i, j int) bool { return fmt.Sprint(sorted[i]) < fmt.Sprint(sorted[j]) })
	var pairs sidbeam.Pairs
	var prices []int64
	for _, pair := range sorted {
		pairs.Codes, pairs.IDs = append(pairs.Codes, pair.sid[:]...), append(pairs.IDs, pair.id)
		prices = append(prices, p[pair])
	}
	writePriced(t, path, pairs, prices)
}

// body is that of a POST /items of the pairs.
func (p livePairs) body() string {
	var items []string
	for pair, price := range p {
		items = append(items, fmt.Sprintf(`{"id": %d, "sid": [%d, %d, %d], "attributes": {"price": %d}}`, pair.id,
			pair.sid[0], pair.sid[1], pair.sid[2], price))
	}
	return `{"items": [` + strings.Join(items, ", ") + `]}`
}

// liveOptions are those of a service whose index is a new catalogue of livingBase, with a filter.
func liveOptions(t testing.TB) options {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "base.sidx")
	livingBase().file(t, file)
	o := testOptions(t, filepath.Join(folder, "live"))
	o.filters = filepath.Join(folder, "filters.json")
	writeFile(t, o.filters, `{"cheap": "price<40"}`)
	newFolder(t, file, o.index)
	return o
}

func newFolder(t testing.TB, file, folder string) {
	t.Helper()
	base, err := sidbeam.Open(file, sidbeam.OpenConfig{})
	must(t, err)
	defer base.Close()
	catalog, err := sidbeam.NewCatalog(base, folder, sidbeam.CatalogConfig{})
	must(t, err)
	must(t, catalog.Close())
}

// until waits for what another goroutine or process does.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for begin := time.Now(); !holds(); {
		if time.Since(begin) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// do sends a change, and expects an answer.
func do(t testing.TB, server, method, path, body, expected string) {
	t.Helper()
	status, text, err := askWith(method, server+path, body, "Bearer "+testToken)
	if err != nil || status != http.StatusOK || strings.TrimSpace(text) != expected {
		t.Fatalf("%s %s %.80s: expected %s, got %d %s %v", method, path, body, expected, status, text, err)
	}
}

// refused sends a request, and expects an error.
func refused(t testing.TB, server, method, path, body string, status int, text string) {
	t.Helper()
	got, answer, err := askWith(method, server+path, body, "Bearer "+testToken)
	var failed struct{ Error string }
	if err != nil || got != status || json.Unmarshal([]byte(answer), &failed) != nil ||
		!strings.Contains(failed.Error, text) {
		t.Errorf("%s %s %.80s: expected %d %s, got %d %s %v", method, path, body, status, text, got, answer, err)
	}
}

// found are the items of an answer to some histories under rules, and its version.
func found(t testing.TB, server, rules string) (items, version string) {
	t.Helper()
	status, text, err := ask(server+"/recommend", `{"histories": [[1000, 1017, 1299], [1205, 1210, 1005], [1001]], `+
		`"k": 8`+rules+`}`)
	var got struct{ Version, Items json.RawMessage }
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &got) != nil {
		t.Fatalf("%s: expected 200 and JSON, got %d %s %v", rules, status, text, err)
	}
	return string(got.Items), string(got.Version)
}

// checkServed expects a version, and the answers of a service whose index has these pairs and no others.
func checkServed(t testing.TB, o options, server, version string, pairs livePairs) {
	t.Helper()
	o.index, o.follow = filepath.Join(t.TempDir(), "rebuilt.sidx"), false
	pairs.file(t, o.index)
	_, rebuilt := serve(t, o)
	for _, rules := range []string{"", `, "filter": "cheap"`, `, "where": "price>=30", "exclude": [1003, 1004, 2000]`,
		`, "where": "price=77"`, `, "allow": [1017, 1205, 2000, 2001, 2002]`} {
		want, _ := found(t, rebuilt.URL, rules)
		if got, of := found(t, server, rules); got != want || of != version {
			t.Errorf("%s: expected of version %s\n%s, got of %s\n%s", rules, version, want, of, got)
		}
	}
}
