// SPDX-License-Identifier: Apache-2.0

package sidbeam

import (
	"context"
	"runtime"
	"sort"
	"sync"
	"time"

	"sidbeam.io/sidbeam/internal/native"
)

// Catalog is a live catalogue: an index to which items come and from which they go while it serves. Add and Remove
// change it for nobody, and Publish makes all of that visible at once, as a new version. A version is an immutable
// Index, and a search in it returns what an index of its live items alone would; requests keep the one that they began
// with. Item rows and ordinals keep their numbers from version to version, until Compact (a new generation) numbers all
// anew.
//
// A folder has one Catalog that writes it at a time, of NewCatalog or OpenCatalog, and any number that FollowCatalog
// opens, in this process and others. Any goroutine may call; calls that change the catalogue wait for each other.
type Catalog struct {
	handle      *handle
	levels      int
	mutex       sync.Mutex
	compactions []*handle // the last is that of CompactProgress
}

// CatalogConfig says how a catalogue is kept; the zero value forces each version to the disk and keeps 16.
type CatalogConfig struct {
	Runtime      *Runtime // nil: the process's; a new catalogue has its base's
	Sync         Sync
	SyncInterval time.Duration // with SyncInterval

	// Which versions can be had and gone back to, the newest always: so many, and not older than that. The age is the
	// time from the publish that replaced a version to the newest publish: while none comes, old versions stay.
	KeepVersions int64         // 0: 16
	KeepAge      time.Duration // 0: whatever their age

	Residency Residency // of the base
	Verify    Verify

	// Where a log is damaged, OpenCatalog opens what was published before the damage and gives up what came after it;
	// otherwise that is Corrupt. (The end of a record that was never written whole is no damage: it is cut off.)
	AcceptLoss bool
}

// NewCatalog makes a catalogue whose version 1 is the base, an index with a trie. In a folder, which is made or holds
// no catalogue yet, the base is copied; "": in memory. Errors: InvalidArgument (config; a folder that holds a
// catalogue; a version as base), MissingSection (no trie), IOError, BadState (another writer), OutOfMemory.
func NewCatalog(base *Index, folder string, config CatalogConfig) (*Catalog, error) {
	if base == nil {
		return nil, invalid("base is a nil *Index, expected one")
	}
	return newCatalog(folder, config, func(interval, age int64, f *failure) (uintptr, error) {
		box := native.Flat_catalog_create(rawOf(base), flag(folder == ""), folder, int(config.Sync), interval,
			config.KeepVersions, age, int(config.Residency), int(config.Verify), f.bytes())
		runtime.KeepAlive(base)
		return box, nil
	})
}

// OpenCatalog opens a folder to write it. Errors: BadState (another writer, named: process, host and since when),
// IOError, Corrupt (which file, and what of it), Unsupported (a newer format), InvalidArgument, OutOfMemory.
func OpenCatalog(folder string, config CatalogConfig) (*Catalog, error) {
	return openCatalog(folder, config, false)
}

// FollowCatalog opens a folder to read it, whoever writes it; nothing in it is changed, not even a lock. Sync and
// AcceptLoss of the config have no effect. What is published later is seen after Refresh. Errors: as OpenCatalog.
func FollowCatalog(folder string, config CatalogConfig) (*Catalog, error) {
	return openCatalog(folder, config, true)
}

func openCatalog(folder string, config CatalogConfig, follows bool) (*Catalog, error) {
	return newCatalog(folder, config, func(interval, age int64, f *failure) (box uintptr, err error) {
		err = withRuntime(config.Runtime, func(runtime uintptr) {
			box = native.Flat_catalog_open(runtime, folder, flag(follows), int(config.Sync), interval, config.KeepVersions,
				age, int(config.Residency), int(config.Verify), flag(config.AcceptLoss), f.bytes())
		})
		return box, err
	})
}

func newCatalog(folder string, config CatalogConfig,
	call func(interval, age int64, f *failure) (uintptr, error)) (*Catalog, error) {
	interval, intervalErr := milliseconds("SyncInterval", config.SyncInterval)
	age, ageErr := milliseconds("KeepAge", config.KeepAge)
	if err := firstError(cText("folder", folder), intervalErr, ageErr); err != nil {
		return nil, err
	}
	f := newFailure()
	box, err := call(interval, age, f)
	if err == nil {
		err = f.done()
	}
	drainLog()
	if err != nil {
		return nil, err
	}
	catalog := &Catalog{handle: newHandle(box)}
	newest, err := catalog.Snapshot(0)
	if err != nil {
		return nil, err
	}
	defer newest.Close()
	catalog.levels = newest.header().Levels
	return catalog, nil
}

// milliseconds rounds up, since 0 often means something else.
func milliseconds(what string, d time.Duration) (int64, error) {
	if d < 0 {
		return 0, invalid("%s is %v, expected 0 or more", what, d)
	}
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms, nil
}

// Add copies pairs, to be published, and values of attributes of the base by name, one per pair; nil: none. A pair that
// is live already is updated: it takes the priority and the attributes that are given, and keeps those that are not.
// One that was removed is new again. Pairs need ids or names, as the base has them. Errors: InvalidArgument with row,
// level and value, BadState (a catalogue that follows), OutOfMemory; then nothing of this call has been added.
func (c *Catalog) Add(pairs Pairs, attributes map[string]AttributeValues) error {
	if err := made("catalogue", c); err != nil {
		return err
	}
	count, err := pairs.count(c.levels)
	if err != nil {
		return err
	}
	columns, err := columnsOf(attributes)
	if err != nil {
		return err
	}
	defer columns.close()
	if pairs.Codes == nil {
		pairs.Codes = []int32{}
	}
	var names []byte
	var offsets []int64
	if pairs.Names != nil {
		names, offsets = join(pairs.Names)
	}
	f := newFailure()
	native.Flat_catalog_add(rawOf(c), pairs.Codes, c.levels, pairs.Lengths, int64(count), pairs.IDs, names, offsets,
		pairs.Priorities, columns.raw(), f.bytes())
	runtime.KeepAlive(columns)
	runtime.KeepAlive(c)
	return f.done()
}

// columnsOf copies values to C; nil where there are none.
func columnsOf(attributes map[string]AttributeValues) (*handle, error) {
	if len(attributes) == 0 {
		return nil, nil
	}
	names := make([]string, 0, len(attributes))
	for name := range attributes {
		names = append(names, name)
	}
	sort.Strings(names) // so that the same error comes first each time
	f := newFailure()
	box := native.Flat_columns_create(f.bytes())
	if err := f.done(); err != nil {
		return nil, err
	}
	columns := newHandle(box)
	for _, name := range names {
		if err := cText("a name of attributes", name); err != nil {
			return nil, err
		}
		values := attributes[name]
		v := values.native()
		f := newFailure()
		native.Flat_columns_put(columns.raw(), name, v.count, v.valid, v.integers, v.numbers, v.bools, v.text, v.offsets,
			v.lists, nil, f.bytes())
		runtime.KeepAlive(columns)
		if err := f.done(); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

// AddArrow adds the pairs of a stream of Arrow's record batches, to be published, and returns their number; the
// arguments are those of Builder.AddArrow. Columns that are attributes must be those of the base. Errors: as
// Builder.AddArrow.
func (c *Catalog) AddArrow(stream uintptr, columns ArrowColumns) (int64, error) {
	names, err := columns.names(stream)
	if err != nil {
		return 0, err
	}
	f := newFailure()
	pairs := native.Flat_catalog_add_arrow(rawOf(c), int64(stream), names.sid, names.levels, names.levelPrefix,
		names.item, names.priority, names.attributes, flag(columns.AllAttributes), f.bytes())
	runtime.KeepAlive(c)
	return pairs, f.done()
}

// Remove removes all pairs of items, to be published, and gives the number of entries that have none. Errors:
// InvalidArgument (ids of another type than the base's; rows), BadState, OutOfMemory.
func (c *Catalog) Remove(items ItemList) (unknown int64, err error) {
	list, err := items.native("items")
	if err != nil {
		return 0, err
	}
	if len(items.Rows) > 0 {
		return 0, invalid("items has Rows, expected IDs or Names: items are removed by id")
	}
	return c.number(func(f *failure) int64 {
		return native.Flat_catalog_remove(rawOf(c), list.by, list.numbers, list.names, list.offsets, f.bytes())
	})
}

// number is the result of a call of C.
func (c *Catalog) number(call func(f *failure) int64) (int64, error) {
	f := newFailure()
	result := call(f)
	runtime.KeepAlive(c)
	return result, f.done()
}

// Discard drops all changes since the last Publish.
func (c *Catalog) Discard() error {
	f := newFailure()
	native.Flat_catalog_discard(rawOf(c), f.bytes())
	runtime.KeepAlive(c)
	return f.done()
}

// Publish makes the changes visible as a new version, and gives its number; without changes that of the newest. On an
// error nothing has been published, and the changes wait for the next Publish. Errors: IOError (the log; once what it
// holds is uncertain no Publish succeeds until the catalogue is opened again), BadState, OutOfMemory.
func (c *Catalog) Publish() (version int64, err error) {
	return c.number(func(f *failure) int64 { return native.Flat_catalog_publish(rawOf(c), f.bytes()) })
}

// Rollback publishes the content of a version that is kept as a new version, whose number it gives, and drops the
// changes since the last Publish. Errors: InvalidArgument (a version that is not kept), otherwise as Publish.
func (c *Catalog) Rollback(version int64) (made int64, err error) {
	return c.number(func(f *failure) int64 { return native.Flat_catalog_rollback(rawOf(c), version, f.bytes()) })
}

// Sync forces what was published to the disk. Errors: IOError (then no Publish succeeds until it is opened again).
func (c *Catalog) Sync() error {
	f := newFailure()
	native.Flat_catalog_sync(rawOf(c), f.bytes())
	runtime.KeepAlive(c)
	return f.done()
}

// Refresh takes over what has been published since, each version whole, and gives the newest. Where nothing is new it
// waits for that, up to so long and until ctx or the catalogue ends. On an error its newest version stays. Errors:
// Cancelled (errors.Is finds the context's error too), BadState (a catalogue that does not follow), otherwise as
// OpenCatalog.
func (c *Catalog) Refresh(ctx context.Context, wait time.Duration) (version int64, err error) {
	const slice = 100 * time.Millisecond // a wait hears so often of what ends it
	if _, err := milliseconds("wait", wait); err != nil {
		return 0, err
	}
	before := int64(0)
	if wait > 0 {
		info, err := c.Info()
		if err != nil {
			return 0, err
		}
		before = info.Version
	}
	for end := time.Now().Add(wait); ; {
		if err := ended(ctx); err != nil {
			return 0, err
		}
		some := wait
		if some > slice {
			some = slice
		}
		ms, _ := milliseconds("wait", some)
		version, err := c.number(func(f *failure) int64 {
			return native.Flat_catalog_refresh(rawOf(c), ms, f.bytes())
		})
		wait = time.Until(end)
		if err != nil || version != before || wait <= 0 {
			return version, err
		}
	}
}

// Snapshot gives a version that is kept, 0: the newest, as an index that may outlive the catalogue. Errors:
// InvalidArgument (a version that is not kept, naming those that are), OutOfMemory.
func (c *Catalog) Snapshot(version int64) (*Index, error) {
	f := newFailure()
	box := native.Flat_catalog_snapshot(rawOf(c), version, f.bytes())
	runtime.KeepAlive(c)
	if err := f.done(); err != nil {
		return nil, err
	}
	return newIndex(box)
}

// Close closes the catalogue, after the calls that run; versions go on. Changes that were not published are dropped,
// and so is an error of a last sync: call Sync before where that matters. Closing again does nothing.
func (c *Catalog) Close() error { return closeOf(c) }
