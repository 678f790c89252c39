// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"context"
	"runtime"
	"time"

	"sidbeam.io/sidbeam/internal/native"
)

// CatalogInfo says how a catalogue stands.
type CatalogInfo struct {
	Follows                            bool      // another process writes it
	Version, Generation, OldestVersion int64     // the newest version and its generation; the oldest that is kept
	Published                          time.Time // when the newest was
	Items, SIDs                        int64     // live (SID, item) pairs of the newest; SIDs, those without items too
	BaseItems                          int64     // pairs of the base of its generation
	Added, Removed                     int64     // pairs added since that base, and pairs of either that have gone
	Changes                            int64     // calls that changed something since the last Publish
	CompactSoon                        bool      // 5 % of the base were added, or 20 % are gone
	LogFailed                          bool      // the log could not be written, so that no Publish can succeed
	LogBytes, UnsyncedBytes            int64     // of the logs of all kept generations, of which not yet synced
	BaseBytes                          int64     // files of the bases of all kept generations
	MemoryBytes                        int64     // kept in memory, except bases and versions in use
	CutBytes                           int64     // unfinished end of the log, cut off when it was opened
}

// Info says how the catalogue stands.
func (c *Catalog) Info() (CatalogInfo, error) {
	n := make([]int64, native.FLAT_CATALOG_COUNT)
	f := newFailure()
	native.Flat_catalog_get_info(rawOf(c), n, f.bytes())
	runtime.KeepAlive(c)
	if err := f.done(); err != nil {
		return CatalogInfo{}, err
	}
	return CatalogInfo{
		Follows:       n[native.FLAT_CATALOG_FOLLOWS] != 0,
		Version:       n[native.FLAT_CATALOG_VERSION],
		Generation:    n[native.FLAT_CATALOG_GENERATION],
		OldestVersion: n[native.FLAT_CATALOG_OLDEST_VERSION],
		Published:     time.Unix(0, n[native.FLAT_CATALOG_PUBLISHED_NS]),
		Items:         n[native.FLAT_CATALOG_ITEMS],
		SIDs:          n[native.FLAT_CATALOG_SIDS],
		BaseItems:     n[native.FLAT_CATALOG_BASE_ITEMS],
		Added:         n[native.FLAT_CATALOG_ADDED],
		Removed:       n[native.FLAT_CATALOG_REMOVED],
		Changes:       n[native.FLAT_CATALOG_CHANGES],
		CompactSoon:   n[native.FLAT_CATALOG_COMPACT_SOON] != 0,
		LogFailed:     n[native.FLAT_CATALOG_LOG_FAILED] != 0,
		LogBytes:      n[native.FLAT_CATALOG_LOG_BYTES],
		UnsyncedBytes: n[native.FLAT_CATALOG_UNSYNCED_BYTES],
		BaseBytes:     n[native.FLAT_CATALOG_BASE_BYTES],
		MemoryBytes:   n[native.FLAT_CATALOG_MEMORY_BYTES],
		CutBytes:      n[native.FLAT_CATALOG_CUT_BYTES],
	}, nil
}

// VersionInfo is a version that is kept.
type VersionInfo struct {
	Version, Generation int64
	Published           time.Time
	Items               int64 // live pairs
	Changed             int64 // pairs that came or went with it
	Bytes               int64 // that it takes by itself, if nobody holds it
	BackTo              int64 // the version whose content it has again; 0: none
	InUse               bool  // somebody besides the catalogue holds it
}

// Versions lists those that are kept, the oldest first.
func (c *Catalog) Versions() ([]VersionInfo, error) {
	var numbers []int64
	for { // others may publish meanwhile
		count, err := c.number(func(f *failure) int64 {
			return native.Flat_catalog_versions(rawOf(c), numbers, f.bytes())
		})
		if err != nil {
			return nil, err
		}
		if need := int(count) * native.FLAT_VERSION_COUNT; need > len(numbers) {
			numbers = make([]int64, need)
			continue
		}
		versions := make([]VersionInfo, count)
		for i := range versions {
			versions[i] = versionInfo(numbers[i*native.FLAT_VERSION_COUNT:])
		}
		return versions, nil
	}
}

func versionInfo(n []int64) VersionInfo {
	return VersionInfo{
		Version:    n[native.FLAT_VERSION_VERSION],
		Generation: n[native.FLAT_VERSION_GENERATION],
		Published:  time.Unix(0, n[native.FLAT_VERSION_PUBLISHED_NS]),
		Items:      n[native.FLAT_VERSION_ITEMS],
		Changed:    n[native.FLAT_VERSION_CHANGED],
		Bytes:      n[native.FLAT_VERSION_BYTES],
		BackTo:     n[native.FLAT_VERSION_BACK_TO],
		InUse:      n[native.FLAT_VERSION_IN_USE] != 0,
	}
}

// CompactConfig says how a compaction is done; the zero value takes the runtime's threads and has no limits.
type CompactConfig struct {
	Threads        int   // 1 .. 1024; 0: the runtime's
	MemoryLimit    int64 // bytes, as of a Builder; 0: none
	BytesPerSecond int64 // most of what is read of the catalogue and written to its folder; 0: no limit
}

// Compact builds a base of all live pairs, publishes the newest content on it, and gives that version: of a new
// generation, without anything added or removed. CompactSoon of Info says when that is worth its time. It takes as much
// memory as a build; other goroutines go on to add, publish and read, and what they publish meanwhile is carried over.
// On an error, or when ctx ends, all is as it was. Errors: BadState (another compaction is under way; a Rollback to
// another generation meanwhile; a catalogue that follows), Cancelled (errors.Is finds the context's error too),
// InvalidArgument (config; no pair is live), IOError, OutOfMemory.
func (c *Catalog) Compact(ctx context.Context, config CompactConfig) (version int64, err error) {
	if err := made("catalogue", c); err != nil {
		return 0, err
	}
	running := newHandle(native.Flat_compaction_create())
	defer running.close()
	c.began(running)
	err = cancellable(ctx, running, func(f *failure) {
		version = native.Flat_catalog_compact(rawOf(c), running.raw(), saturate(config.Threads), config.MemoryLimit,
			config.BytesPerSecond, f.bytes())
	})
	runtime.KeepAlive(c)
	failed, ok := err.(*Error)
	c.ended(running, ok && failed.Code == BadState)
	return version, err
}

func (c *Catalog) began(compaction *handle) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.compactions = append(c.compactions, compaction)
}

// ended forgets a compaction that was refused, and those before one that was not.
func (c *Catalog) ended(compaction *handle, refused bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i, each := range c.compactions {
		if each == compaction && refused {
			c.compactions = append(c.compactions[:i], c.compactions[i+1:]...)
			return
		}
		if each == compaction {
			c.compactions = c.compactions[i:]
			return
		}
	}
}

// CompactProgress says how far the compaction is that began last, without those that were refused since another one
// ran: done of total, in units of the phase. From any goroutine.
func (c *Catalog) CompactProgress() (phase Phase, done, total int64) {
	if c == nil {
		return 0, 0, 0
	}
	c.mutex.Lock()
	var last *handle
	if n := len(c.compactions); n > 0 {
		last = c.compactions[n-1]
	}
	c.mutex.Unlock()
	return progressOf(last)
}
