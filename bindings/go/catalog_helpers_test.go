// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"fmt"
	"math/rand"
	"path/filepath"
	"reflect"
	"sort"
	"testing"

	"sidbeam.io/sidbeam"
)

// livePair is a pair that a catalogue is expected to have.
type livePair struct {
	sid [2]int32
	id  int64
}

type livePairs map[livePair]int64 // with its price

func drawPairs(count int, seed int64) livePairs {
	random, pairs := rand.New(rand.NewSource(seed)), livePairs{}
	for i := 0; i < count; i++ {
		sid := [2]int32{random.Int31n(6), random.Int31n(5)}
		pairs[livePair{sid, random.Int63n(60)}] = random.Int63n(9)
	}
	return pairs
}

func (p livePairs) and(more livePairs) livePairs {
	all := livePairs{}
	for _, pairs := range []livePairs{p, more} {
		for pair, price := range pairs {
			all[pair] = price
		}
	}
	return all
}

func (p livePairs) without(ids ...int64) livePairs {
	all := p.and(nil)
	for pair := range p {
		for _, id := range ids {
			if pair.id == id {
				delete(all, pair)
			}
		}
	}
	return all
}

func (p livePairs) ids() []int64 {
	seen, ids := map[int64]bool{}, []int64{}
	for pair := range p {
		if !seen[pair.id] {
			ids = append(ids, pair.id)
		}
		seen[pair.id] = true
	}
	return ids
}

func (p livePairs) args() (pairs sidbeam.Pairs, attributes map[string]sidbeam.AttributeValues) {
	prices := []int64{}
	for pair, price := range p {
		pairs.Codes = append(pairs.Codes, pair.sid[:]...)
		pairs.IDs = append(pairs.IDs, pair.id)
		prices = append(prices, price)
	}
	return pairs, map[string]sidbeam.AttributeValues{"price": {Integers: prices}}
}

func (p livePairs) index(t testing.TB) *sidbeam.Index {
	t.Helper()
	builder, err := sidbeam.NewBuilder(sidbeam.BuilderConfig{Codes: []int32{6, 5}})
	must(t, err)
	defer builder.Close()
	must(t, builder.DeclareAttribute("price", sidbeam.AttributeInt64))
	pairs, attributes := p.args()
	must(t, builder.Add(pairs))
	must(t, builder.SetAttribute("price", attributes["price"]))
	index, err := builder.Finish(context.Background())
	must(t, err)
	t.Cleanup(func() { _ = index.Close() })
	return index
}

// searched is what a search finds under a filter: scores, SIDs and ids, in an order of its own, since of a SID the
// base's items come before those that were added.
func searched(t testing.TB, index *sidbeam.Index, where string) []string {
	t.Helper()
	filter, err := index.FilterText(where)
	must(t, err)
	constraint, err := sidbeam.NewRuledConstraint(index, sidbeam.Rules{Filter: filter})
	must(t, err)
	session, beams := newSession(t, sidbeam.SessionConfig{Constraint: constraint, Beams: 16})
	must(t, session.Start(sidbeam.StartArgs{}))
	logits := randomLogits(12)
	for level := 0; level < 2; level++ {
		must(t, session.Step(sidbeam.StepArgs{Rows: sidbeam.Rows{F32: logits[6*level:][:6], Slots: 1, Rows: 16, Columns: 6,
			RowStride: sidbeam.Broadcast}}))
	}
	items := session.NewItems(1, 200)
	must(t, session.Items(nil, items))
	var found []string
	for m := 0; m < 16; m++ {
		ids, err := index.ItemIDs(items.ItemRowsOf(0, m))
		must(t, err)
		for _, id := range ids {
			found = append(found, fmt.Sprintf("%v %v %d", beams.Scores.At(m), items.SIDs[2*m:][:2], id))
		}
	}
	sort.Strings(found)
	return found
}

// checkNewest expects the newest version to be found as an index of these pairs is.
func checkNewest(t testing.TB, catalog *sidbeam.Catalog, pairs livePairs) {
	t.Helper()
	index, err := catalog.Snapshot(0)
	must(t, err)
	defer index.Close()
	checkFound(t, index, pairs)
}

func checkFound(t testing.TB, index *sidbeam.Index, pairs livePairs) {
	t.Helper()
	expected := pairs.index(t)
	for _, where := range []string{"true", "price<5"} {
		if want, got := searched(t, expected, where), searched(t, index, where); !reflect.DeepEqual(want, got) {
			t.Errorf("%s: expected %v, got %v", where, want, got)
		}
	}
	if info, err := index.Info(); err != nil || info.LiveItems != int64(len(pairs)) {
		t.Errorf("expected %d live items, got %+v %v", len(pairs), info, err)
	}
}

func addPairs(t testing.TB, catalog *sidbeam.Catalog, pairs livePairs) {
	t.Helper()
	args, attributes := pairs.args()
	must(t, catalog.Add(args, attributes))
}

func publish(t testing.TB, catalog *sidbeam.Catalog, version int64) {
	t.Helper()
	if got, err := catalog.Publish(); err != nil || got != version {
		t.Fatalf("expected version %d, got %d %v", version, got, err)
	}
}

var livingBase = drawPairs(50, 1)

func newCatalog(t testing.TB, folder string, config sidbeam.CatalogConfig) *sidbeam.Catalog {
	t.Helper()
	catalog, err := sidbeam.NewCatalog(livingBase.index(t), folder, config)
	must(t, err)
	t.Cleanup(func() { _ = catalog.Close() })
	return catalog
}

// inBoth runs a test in memory and in a folder.
func inBoth(t *testing.T, test func(t *testing.T, catalog *sidbeam.Catalog)) {
	t.Run("memory", func(t *testing.T) { test(t, newCatalog(t, "", sidbeam.CatalogConfig{})) })
	t.Run("folder", func(t *testing.T) {
		test(t, newCatalog(t, filepath.Join(t.TempDir(), "live"), sidbeam.CatalogConfig{}))
	})
}
