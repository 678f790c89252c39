// SPDX-License-Identifier: Apache-2.0

package sidbeam_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"

	"sidbeam.io/sidbeam"
)

func TestAFolderOutlivesItsWriter(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "live")
	catalog := newCatalog(t, folder, sidbeam.CatalogConfig{KeepAge: math.MaxInt64})
	more := drawPairs(20, 2)
	addPairs(t, catalog, more)
	publish(t, catalog, 2)
	_, err := sidbeam.OpenCatalog(folder, sidbeam.CatalogConfig{})
	fails(t, err, sidbeam.BadState, fmt.Sprintf("has another writer: process %d on ", os.Getpid()))
	must(t, catalog.Close())
	catalog, err = sidbeam.OpenCatalog(folder, sidbeam.CatalogConfig{Sync: sidbeam.SyncHost})
	must(t, err)
	defer catalog.Close()
	checkNewest(t, catalog, livingBase.and(more))
	_, err = catalog.Remove(sidbeam.ItemList{IDs: more.ids()})
	must(t, err)
	publish(t, catalog, 3)
	before, err := catalog.Info()
	must(t, err)
	must(t, catalog.Sync())
	after, err := catalog.Info()
	if err != nil || before.UnsyncedBytes == 0 || after.UnsyncedBytes != 0 || after.Follows || after.Version != 3 ||
		time.Since(after.Published) > time.Hour {
		t.Errorf("expected bytes to be synced, got %+v, then %+v %v", before, after, err)
	}
}

func TestFollowersSeeWhatIsPublished(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "live")
	writer := newCatalog(t, folder, sidbeam.CatalogConfig{})
	follower, err := sidbeam.FollowCatalog(folder, sidbeam.CatalogConfig{KeepVersions: 2})
	must(t, err)
	defer follower.Close()
	ctx := context.Background()
	more := drawPairs(20, 2)
	addPairs(t, writer, more)
	publish(t, writer, 2)
	if version, err := follower.Refresh(ctx, 0); err != nil || version != 2 {
		t.Errorf("expected version 2, got %d %v", version, err)
	}
	checkNewest(t, follower, livingBase.and(more))
	begin := time.Now()
	if version, err := follower.Refresh(nil, 250*time.Millisecond); err != nil || version != 2 ||
		time.Since(begin) < 250*time.Millisecond {
		t.Errorf("expected to wait for version 2, got %d %v after %v", version, err, time.Since(begin))
	}
	published := make(chan error, 1)
	go func() {
		time.Sleep(150 * time.Millisecond)
		_, err := writer.Remove(sidbeam.ItemList{IDs: more.ids()})
		if err == nil {
			_, err = writer.Publish()
		}
		published <- err
	}()
	if version, err := follower.Refresh(ctx, time.Minute); err != nil || version != 3 {
		t.Errorf("expected version 3, got %d %v", version, err)
	}
	must(t, <-published) // before its folder goes
	ends, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = follower.Refresh(ends, time.Hour)
	fails(t, err, sidbeam.Cancelled, "the context ended before the call did")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("expected the context's error within %v", err)
	}
	_, err = follower.Publish()
	fails(t, err, sidbeam.BadState, "opened to follow it, expected one opened to write")
	_, err = writer.Refresh(ctx, 0)
	fails(t, err, sidbeam.BadState, "opened to write it, expected one opened to follow")
}

func TestCompaction(t *testing.T) {
	inBoth(t, func(t *testing.T, catalog *sidbeam.Catalog) {
		more := drawPairs(20, 2)
		addPairs(t, catalog, more)
		publish(t, catalog, 2)
		waiting := drawPairs(2, 8)
		addPairs(t, catalog, waiting)
		before, err := catalog.Info()
		must(t, err)
		if version, err := catalog.Compact(context.Background(), sidbeam.CompactConfig{Threads: 1}); err != nil ||
			version != 3 {
			t.Errorf("expected version 3, got %d %v", version, err)
		}
		if phase, done, total := catalog.CompactProgress(); total <= 0 || done != total {
			t.Errorf("progress: expected all of the last phase, got %v %d of %d", phase, done, total)
		}
		after, err := catalog.Info()
		if err != nil || !before.CompactSoon || after.CompactSoon || after.Generation != 2 || after.Added != 0 ||
			after.BaseItems != int64(len(livingBase.and(more))) {
			t.Errorf("expected a base of all pairs, got %+v, then %+v %v", before, after, err)
		}
		checkNewest(t, catalog, livingBase.and(more))
		publish(t, catalog, 4)
		checkNewest(t, catalog, livingBase.and(more).and(waiting))
	})
}

func TestACompactionIsCancelled(t *testing.T) {
	base := build(t, sidbeam.BuilderConfig{Codes: []int32{256, 256, 256}},
		sidbeam.Pairs{Codes: randomSIDs(1<<18, 3, 256)})
	folder := filepath.Join(t.TempDir(), "live")
	catalog, err := sidbeam.NewCatalog(base, folder, sidbeam.CatalogConfig{Sync: sidbeam.SyncHost})
	must(t, err)
	defer catalog.Close()
	files, err := filepath.Glob(folder + "/*")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	outcome := make(chan error, 1)
	go func() {
		_, err := catalog.Compact(ctx, sidbeam.CompactConfig{BytesPerSecond: 400_000}) // it would take longer than this test
		outcome <- err
	}()
	for done := int64(0); done == 0; _, done, _ = catalog.CompactProgress() {
		time.Sleep(time.Millisecond)
	}
	_, err = catalog.Compact(context.Background(), sidbeam.CompactConfig{})
	fails(t, err, sidbeam.BadState, "the catalogue is being compacted already")
	if _, _, total := catalog.CompactProgress(); total == 0 {
		t.Error("expected the progress of the compaction that runs, got that of the one that was refused")
	}
	cancel()
	err = <-outcome
	fails(t, err, sidbeam.Cancelled, "was cancelled by its progress callback")
	if left, _ := filepath.Glob(folder + "/*"); !errors.Is(err, context.Canceled) || !reflect.DeepEqual(files, left) {
		t.Errorf("expected context.Canceled and files %v, got %v and %v", files, err, left)
	}
	if version, err := catalog.Compact(context.Background(), sidbeam.CompactConfig{}); err != nil || version != 2 {
		t.Errorf("expected version 2, got %d %v", version, err)
	}
}

// A catalogue that a call is in stays, whoever has forgotten it.
func TestForgottenWhileItCompacts(t *testing.T) {
	outcome := make(chan int64, 20)
	for i := 0; i < cap(outcome); i++ {
		go func() {
			catalog, err := sidbeam.NewCatalog(livingBase.index(t), "", sidbeam.CatalogConfig{})
			if err != nil {
				t.Error(err)
			}
			version, err := catalog.Compact(context.Background(), sidbeam.CompactConfig{})
			if err != nil {
				t.Error(err)
			}
			outcome <- version
		}()
	}
	for i := 0; i < cap(outcome); i++ {
		runtime.GC()
		if version := <-outcome; version != 2 {
			t.Errorf("expected version 2, got %d", version)
		}
	}
}
