// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"sidbeam.io/sidbeam"
	"sidbeam.io/sidbeam/internal/specimen"
)

func TestItemsComeAndGoAndVersionsStay(t *testing.T) {
	inBoth(t, func(t *testing.T, catalog *sidbeam.Catalog) {
		first, err := catalog.Snapshot(0)
		must(t, err)
		more := drawPairs(20, 2)
		addPairs(t, catalog, more)
		publish(t, catalog, 2)
		publish(t, catalog, 2) // nothing to publish
		pairs := livingBase.and(more)
		checkNewest(t, catalog, pairs)

		gone := pairs.ids()[:10]
		if unknown, err := catalog.Remove(sidbeam.ItemList{IDs: append([]int64{1000, 1001}, gone...)}); err != nil ||
			unknown != 2 {
			t.Errorf("expected 2 unknown ids, got %d %v", unknown, err)
		}
		pairs = pairs.without(gone...)
		again := livingBase.and(nil)
		for pair := range livingBase {
			if pair.id != gone[0] {
				delete(again, pair)
			}
		}
		addPairs(t, catalog, again) // comes back
		pairs = pairs.and(again)
		for pair := range pairs { // is updated
			pairs[pair] = 8
			addPairs(t, catalog, livePairs{pair: 8})
			break
		}
		publish(t, catalog, 3)
		checkNewest(t, catalog, pairs)
		checkFound(t, first, livingBase)
		old, err := catalog.Snapshot(1)
		must(t, err)
		checkFound(t, old, livingBase)

		addPairs(t, catalog, more)
		must(t, catalog.Discard())
		publish(t, catalog, 3)
		addPairs(t, catalog, more)
		if made, err := catalog.Rollback(1); err != nil || made != 4 {
			t.Errorf("expected version 4, got %d %v", made, err)
		}
		checkNewest(t, catalog, livingBase)
		versions, err := catalog.Versions()
		if err != nil || len(versions) != 4 || versions[3].BackTo != 1 || versions[0].Items != int64(len(livingBase)) {
			t.Errorf("expected 4 versions, the last back to 1, got %+v %v", versions, err)
		}
	})
}

func TestVersionsThatAreTooOldGo(t *testing.T) {
	catalog := newCatalog(t, "", sidbeam.CatalogConfig{KeepVersions: 1 << 40, KeepAge: time.Nanosecond})
	oldest := int64(1)
	for i := int64(0); i < 1000 && oldest == 1; i++ { // 1 ms is the least age
		must(t, catalog.Add(sidbeam.Pairs{Codes: []int32{0, 0}, IDs: []int64{1000 + i}}, nil))
		publish(t, catalog, 2+i)
		info, err := catalog.Info()
		must(t, err)
		oldest = info.OldestVersion
	}
	_, err := catalog.Rollback(1)
	fails(t, err, sidbeam.InvalidArgument, "version is 1, expected one of those that are kept")
}

func TestNamesOfALiveCatalogue(t *testing.T) {
	base := build(t, sidbeam.BuilderConfig{Codes: []int32{4, 4}, IDType: sidbeam.IDString, VariableLength: true},
		sidbeam.Pairs{Codes: []int32{0, 1, 2, 2}, Names: []string{"a", "b"}})
	catalog, err := sidbeam.NewCatalog(base, "", sidbeam.CatalogConfig{})
	must(t, err)
	defer catalog.Close()
	must(t, catalog.Add(sidbeam.Pairs{Codes: []int32{1, 3, 3, 9}, Lengths: []int32{2, 1}, Names: []string{"c", "d"},
		Priorities: []int64{1, 2}}, nil))
	fails(t, catalog.Add(sidbeam.Pairs{Codes: []int32{0, 1}}, nil), sidbeam.InvalidArgument,
		"names is nil, expected the names of 1 items")
	fails(t, catalog.Add(sidbeam.Pairs{Codes: []int32{0, 1}, IDs: []int64{1}}, nil), sidbeam.InvalidArgument,
		"ids is given, expected names, since ids of the catalogue are strings")
	unknown, err := catalog.Remove(sidbeam.ItemList{Names: []string{"a", "x"}})
	must(t, err)
	empty, err := catalog.Remove(sidbeam.ItemList{})
	must(t, err)
	publish(t, catalog, 2)
	index, err := catalog.Snapshot(2)
	must(t, err)
	defer index.Close()
	must(t, catalog.Close())
	names, err := index.ItemNames([]int64{0, 1, 2, 3})
	info, infoErr := index.Info()
	if unknown != 1 || empty != 0 || err != nil || infoErr != nil || info.Version != 2 || info.Generation != 1 ||
		info.LiveItems != 3 || !reflect.DeepEqual(names, []string{"a", "b", "c", "d"}) {
		t.Errorf("expected one unknown and a, b, c, d, got %d %d %v %v %+v %v", unknown, empty, names, err, info, infoErr)
	}
}

func TestArrowOfALiveCatalogue(t *testing.T) {
	openSpecimen(t)
	base := build(t, namedShape, sidbeam.Pairs{Codes: []int32{0, 0}, Names: []string{"z"}})
	catalog, err := sidbeam.NewCatalog(base, "", sidbeam.CatalogConfig{})
	must(t, err)
	if pairs, err := catalog.AddArrow(specimen.Stream(false), sidbeam.ArrowColumns{}); err != nil || pairs != 3 {
		t.Errorf("expected 3 pairs, got %d %v", pairs, err)
	}
	_, err = catalog.AddArrow(specimen.Stream(true), sidbeam.ArrowColumns{})
	fails(t, err, sidbeam.InvalidArgument, "column 'sid', row 2, level 1: code 9, expected 0 to 2")
	publish(t, catalog, 2)
	info, err := catalog.Info()
	if err != nil || info.Items != 4 || info.Added != 3 {
		t.Errorf("expected 4 items, 3 of them added, got %+v %v", info, err)
	}
	must(t, catalog.Close())
	_, err = catalog.AddArrow(specimen.Stream(false), sidbeam.ArrowColumns{})
	fails(t, err, sidbeam.BadState, "catalogue is closed")
}

func TestFiltersMoveToOtherVersions(t *testing.T) {
	catalog := newCatalog(t, "", sidbeam.CatalogConfig{})
	base, err := catalog.Snapshot(0)
	must(t, err)
	cheap, err := base.FilterText("price<5")
	must(t, err)
	more := drawPairs(20, 2)
	addPairs(t, catalog, more)
	publish(t, catalog, 2)
	index, err := catalog.Snapshot(0)
	must(t, err)
	moved, err := cheap.On(index)
	must(t, err)
	fresh, err := index.FilterText("price<5")
	must(t, err)
	got, err := moved.Rows()
	must(t, err)
	if want, err := fresh.Rows(); err != nil || !reflect.DeepEqual(want, got) {
		t.Errorf("expected rows %v, got %v %v", want, got, err)
	}
	_, err = cheap.On(nil)
	fails(t, err, sidbeam.InvalidArgument, "index is a nil *Index")
}

func TestGoroutinesSearchWhileOnePublishes(t *testing.T) {
	catalog := newCatalog(t, "", sidbeam.CatalogConfig{})
	extra := drawPairs(30, 7).without(livingBase.ids()...)
	want := [2][]string{searched(t, livingBase.and(extra).index(t), "true"), searched(t, livingBase.index(t), "true")}
	stop := make(chan struct{})
	var group sync.WaitGroup
	for g := 0; g < 3; g++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				index, err := catalog.Snapshot(0)
				if err != nil {
					t.Error(err)
					return
				}
				info, err := index.Info()
				if got := searched(t, index, "true"); err != nil || !reflect.DeepEqual(got, want[info.Version%2]) {
					t.Errorf("version %d: expected %v, got %v %v", info.Version, want[info.Version%2], got, err)
				}
				_ = index.Close()
			}
		}()
	}
	for version := int64(2); version <= 21; version += 2 {
		addPairs(t, catalog, extra)
		publish(t, catalog, version)
		_, err := catalog.Remove(sidbeam.ItemList{IDs: extra.ids()})
		must(t, err)
		publish(t, catalog, version+1)
	}
	close(stop)
	group.Wait()
}

func TestWrongArgumentsOfACatalogue(t *testing.T) {
	catalog := newCatalog(t, "", sidbeam.CatalogConfig{})
	add := func(pairs sidbeam.Pairs, attributes map[string]sidbeam.AttributeValues) error {
		return catalog.Add(pairs, attributes)
	}
	create := func(folder string, config sidbeam.CatalogConfig) error {
		_, err := sidbeam.NewCatalog(livingBase.index(t), folder, config)
		return err
	}
	one := sidbeam.Pairs{Codes: []int32{0, 1}, IDs: []int64{1}}
	version, err := catalog.Snapshot(0)
	must(t, err)
	_, ofVersion := sidbeam.NewCatalog(version, "", sidbeam.CatalogConfig{})
	_, ofNone := sidbeam.NewCatalog(nil, "", sidbeam.CatalogConfig{})
	_, byRow := catalog.Remove(sidbeam.ItemList{Rows: []int64{1}})
	_, byName := catalog.Remove(sidbeam.ItemList{Names: []string{"a"}})
	_, threads := catalog.Compact(context.Background(), sidbeam.CompactConfig{Threads: -1})
	_, missing := catalog.Snapshot(7)
	_, back := catalog.Rollback(-1)
	_, wait := catalog.Refresh(context.Background(), -time.Second)
	for _, c := range []struct {
		err  error
		text string
	}{
		{add(sidbeam.Pairs{Codes: []int32{0, 5}, IDs: []int64{1}}, nil), "row 0, level 1: code 5, expected 0 to 4"},
		{add(sidbeam.Pairs{Codes: []int32{0}, IDs: []int64{1}}, nil), "Codes has 1 elements, expected rows of 2"},
		{add(sidbeam.Pairs{Codes: []int32{0, 1}}, nil), "ids is nil, expected the ids of 1 items"},
		{add(sidbeam.Pairs{Codes: []int32{0, 1}, IDs: []int64{1, 2}}, nil), "IDs has 2 elements, expected 1"},
		{add(sidbeam.Pairs{Codes: []int32{0, 1}, Names: []string{"a"}}, nil),
			"names is given, expected ids, since ids of the catalogue are integers"},
		{add(one, map[string]sidbeam.AttributeValues{"size": {Integers: []int64{1}}}), "no attribute 'size'"},
		{add(one, map[string]sidbeam.AttributeValues{"price": {Integers: []int64{1, 2}}}), "attributes have 2 values"},
		{add(one, map[string]sidbeam.AttributeValues{"a\x00": {Integers: []int64{1}}}), "holds a NUL byte"},
		{ofVersion, "the base is a version of a live catalogue"},
		{ofNone, "base is a nil *Index"},
		{byRow, "items has Rows, expected IDs or Names"},
		{byName, "items gives names, expected numbers"},
		{threads, "threads is -1, expected 0..1024"},
		{missing, "version is 7, expected one of those that are kept, 1 to 1"},
		{back, "version is -1, expected one of those that are kept"},
		{wait, "wait is -1s, expected 0 or more"},
		{create("a\x00", sidbeam.CatalogConfig{}), "folder holds a NUL byte"},
		{create("", sidbeam.CatalogConfig{Sync: 7}), "sync is 7, expected SyncPublish, INTERVAL or HOST"},
		{create("", sidbeam.CatalogConfig{SyncInterval: -1}), "SyncInterval is -1ns, expected 0 or more"},
		{create("", sidbeam.CatalogConfig{KeepVersions: -1}), "keep_versions is -1, expected at least 0"},
	} {
		fails(t, c.err, sidbeam.InvalidArgument, c.text)
	}
	_, err = sidbeam.OpenCatalog(t.TempDir(), sidbeam.CatalogConfig{})
	fails(t, err, sidbeam.IOError, "it holds no catalogue")
	publish(t, catalog, 1)
}

func TestAClosedCatalogue(t *testing.T) {
	catalog := newCatalog(t, "", sidbeam.CatalogConfig{})
	index, err := catalog.Snapshot(0)
	must(t, err)
	must(t, catalog.Close())
	must(t, catalog.Close())
	ctx := context.Background()
	_, publishErr := catalog.Publish()
	_, infoErr := catalog.Info()
	_, versionsErr := catalog.Versions()
	_, snapshotErr := catalog.Snapshot(0)
	_, removeErr := catalog.Remove(sidbeam.ItemList{IDs: []int64{1}})
	_, compactErr := catalog.Compact(ctx, sidbeam.CompactConfig{})
	_, refreshErr := catalog.Refresh(ctx, time.Minute)
	for _, err := range []error{publishErr, infoErr, versionsErr, snapshotErr, removeErr, compactErr, refreshErr,
		catalog.Add(sidbeam.Pairs{Codes: []int32{0, 1}, IDs: []int64{1}}, nil), catalog.Sync(), catalog.Discard()} {
		fails(t, err, sidbeam.BadState, "catalogue is closed")
	}
	catalog = nil
	runtime.GC()
	checkFound(t, index, livingBase)
	var none sidbeam.Catalog
	must(t, none.Close())
	_, err = none.Publish()
	fails(t, err, sidbeam.InvalidArgument, "catalogue is null")
	fails(t, none.Add(sidbeam.Pairs{}, nil), sidbeam.InvalidArgument, "catalogue is null")
	if phase, done, total := none.CompactProgress(); phase != 0 || done != 0 || total != 0 {
		t.Errorf("expected no progress, got %v %d %d", phase, done, total)
	}
	if !strings.Contains(sidbeam.SyncHost.String(), "host") {
		t.Errorf("expected host, got %v", sidbeam.SyncHost)
	}
}
