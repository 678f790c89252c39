// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"reflect"
	"sync"
)

// generation is a catalogue and the requests that use it. A reload makes a new one; the old one goes after its last
// request.
type generation struct {
	catalogue *catalogue
	users     int           // its requests, and one as long as it is the current one
	gone      chan struct{} // closed when the index has been given back
}

// generations gives requests the current catalogue, and replaces it.
type generations struct {
	options *options
	reloads sync.Mutex // one at a time

	mutex   sync.Mutex
	current *generation
}

func newGenerations(o *options) (*generations, error) {
	g := &generations{options: o}
	return g, g.reload()
}

// reload opens the file again, and makes the filters of the settings for it; later requests get it. On an error the old
// index stays, with its filters.
func (g *generations) reload() error {
	g.reloads.Lock()
	defer g.reloads.Unlock()
	c, err := openCatalogue(g.options)
	if err != nil {
		return err
	}
	next := &generation{c, 1, make(chan struct{})}
	g.mutex.Lock()
	old := g.current
	// The model has an output for every code: another codebook needs another model, and so another process.
	if old != nil && !reflect.DeepEqual(old.catalogue.info.Codes, c.info.Codes) {
		g.mutex.Unlock()
		c.close()
		return fmt.Errorf("%s has %v codes per level, expected %v", g.options.index, c.info.Codes, old.catalogue.info.Codes)
	}
	g.current = next
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
	g.mutex.Unlock()
	if last {
		used.catalogue.close()
		close(used.gone)
	}
}
