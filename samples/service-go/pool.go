// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"sync/atomic"
)

// limits of a request, and how many are served at a time.
type limits struct{ sessions, histories, beams int }

// generation is a catalogue and its workers. A reload makes a new one; the old one goes after its last request.
type generation struct {
	catalogue *catalogue
	idle      chan *worker  // workers without a request
	retired   chan struct{} // closed when a newer one has come
	gone      chan struct{} // closed when all has been given back
}

// pool gives requests the current generation, and replaces it.
type pool struct {
	path    string
	limits  limits
	current atomic.Pointer[generation]
	reloads sync.Mutex // one at a time
}

func newPool(path string, limits limits) (*pool, error) {
	p := &pool{path: path, limits: limits}
	return p, p.reload()
}

// reload opens the file again; later requests get it. On an error the old index stays.
func (p *pool) reload() error {
	p.reloads.Lock()
	defer p.reloads.Unlock()
	next, err := newGeneration(p.path, p.limits)
	if err != nil {
		return err
	}
	if old := p.current.Swap(next); old != nil {
		close(old.retired)
		go old.drain()
	}
	return nil
}

func newGeneration(path string, limits limits) (*generation, error) {
	c, err := openCatalogue(path)
	if err != nil {
		return nil, err
	}
	g := &generation{c, make(chan *worker, limits.sessions), make(chan struct{}), make(chan struct{})}
	for i := 0; i < limits.sessions; i++ {
		w, err := newWorker(c, limits)
		if err != nil {
			_ = c.index.Close() // the collector gives back the sessions made so far
			return nil, err
		}
		g.idle <- w
	}
	return g, nil
}

// drain waits for every worker, and gives it back.
func (g *generation) drain() {
	for i := 0; i < cap(g.idle); i++ {
		_ = (<-g.idle).session.Close()
	}
	_ = g.catalogue.index.Close()
	close(g.gone)
}

// acquire waits for a worker of the newest generation; the caller gives it back with release.
func (p *pool) acquire(ctx context.Context) (*generation, *worker, error) {
	for {
		g := p.current.Load()
		select {
		case w := <-g.idle:
			return g, w, nil
		case <-g.retired: // its workers are on their way out: ask the next generation
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

func (g *generation) release(w *worker) { g.idle <- w }
