// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"sync"

	"sidbeam.io/sidbeam"
)

// generation is a catalogue and the requests that use it. A reload or a publish makes a new one; the old one goes after
// its last request.
type generation struct {
	catalogue *catalogue
	users     int           // its requests, and one as long as it is the current one
	gone      chan struct{} // closed when the index has been given back
}

// generations gives requests the current catalogue, and replaces it: by what its file holds by now, or by the newest
// version of a live catalogue.
type generations struct {
	options      *options
	live         *sidbeam.Catalog // nil: the index is a file
	replacements sync.Mutex       // one at a time

	mutex   sync.Mutex
	current *generation
	living  map[*generation]bool // the current one, and those that requests still use
}

func newGenerations(o *options) (*generations, error) {
	live, err := openLive(o)
	if err != nil {
		return nil, err
	}
	g := &generations{options: o, live: live, living: map[*generation]bool{}}
	if err := g.reload(); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// openLive opens a live catalogue where the index is a folder; nil: it is a file.
func openLive(o *options) (*sidbeam.Catalog, error) {
	config := sidbeam.CatalogConfig{KeepVersions: o.keep, KeepAge: o.keepAge, Residency: o.residency,
		Verify: sidbeam.VerifyFull}
	if about, err := os.Stat(o.index); err != nil || !about.IsDir() {
		if o.follow {
			return nil, fmt.Errorf("%s is no folder, expected that of a catalogue to follow", o.index)
		}
		return nil, nil
	}
	if o.follow {
		return sidbeam.FollowCatalog(o.index, config)
	}
	return sidbeam.OpenCatalog(o.index, config)
}

// close gives up the current catalogue, and the live one after the calls that run. Requests that run keep theirs.
func (g *generations) close() {
	if g.current != nil {
		g.release(g.current)
	}
	if g.live != nil {
		_ = g.live.Close()
	}
}

// reload opens the file again, or takes the newest version, and makes the filters that the settings have by now; later
// requests get it. On an error the old catalogue stays, with its filters.
func (g *generations) reload() error {
	g.replacements.Lock()
	defer g.replacements.Unlock()
	if g.live == nil {
		next, err := openCatalogue(g.options)
		if err != nil {
			return err
		}
		return g.replace(next)
	}
	if g.options.follow {
		if _, err := g.live.Refresh(context.Background(), 0); err != nil {
			return err
		}
	}
	return g.take(func(index *sidbeam.Index) (*filters, error) {
		return readFilters(index, g.options.filters, g.options.whereKept)
	})
}

// advance gives later requests the newest version of a live catalogue, with the filters of the one before. On an error
// that one stays.
func (g *generations) advance() error {
	g.replacements.Lock()
	defer g.replacements.Unlock()
	info, err := g.live.Info()
	if err != nil || info.Version == g.current.catalogue.info.Version {
		return err
	}
	return g.take(g.current.catalogue.filters.on)
}

// take serves the newest version.
func (g *generations) take(filtersOf func(*sidbeam.Index) (*filters, error)) error {
	var before *catalogue
	if g.current != nil {
		before = g.current.catalogue
	}
	next, err := newestVersion(g.live, before, filtersOf)
	if err != nil {
		return err
	}
	return g.replace(next)
}

func (g *generations) replace(c *catalogue) error {
	next := &generation{c, 1, make(chan struct{})}
	g.mutex.Lock()
	old := g.current
	// The model has an output for every code: another codebook needs another model, and so another process.
	if old != nil && !reflect.DeepEqual(old.catalogue.info.Codes, c.info.Codes) {
		g.mutex.Unlock()
		c.close()
		return fmt.Errorf("%s has %v codes per level, expected %v", g.options.index, c.info.Codes, old.catalogue.info.Codes)
	}
	g.current, g.living[next] = next, true
	g.mutex.Unlock()
	if old != nil {
		g.release(old)
	}
	return nil
}

// acquire gives the current generation, until release.
func (g *generations) acquire() *generation {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.current.users++
	return g.current
}

func (g *generations) release(used *generation) {
	g.mutex.Lock()
	used.users--
	last := used.users == 0
	if last {
		delete(g.living, used)
	}
	g.mutex.Unlock()
	if last {
		used.catalogue.close()
		close(used.gone)
	}
}

// inUse counts the versions that are in use, whether they are among those that are kept or not.
func (g *generations) inUse(kept []sidbeam.VersionInfo) int {
	numbers := map[int64]bool{}
	for _, version := range kept {
		if version.InUse {
			numbers[version.Version] = true
		}
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for each := range g.living {
		numbers[each.catalogue.info.Version] = true
	}
	return len(numbers)
}
