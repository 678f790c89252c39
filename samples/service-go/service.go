// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// service is a model, and the index that it serves.
type service struct {
	options     *options
	generations *generations
	recommender *recommender
	metrics     *metrics
	events      *events
	shape       *shape // of a live catalogue's items
	ending      context.Context
	end         func()       // begins the end: of following, and of compactions that run
	unfollow    func()       // returns when nothing follows any more
	running     sync.RWMutex // held by every request
	closed      bool
}

// newService opens the model and the index.
func newService(o options, m *metrics, e *events) (*service, error) {
	generations, err := newGenerations(&o)
	if err != nil {
		return nil, err
	}
	s := &service{options: &o, generations: generations, metrics: m, events: e, unfollow: func() {}}
	s.ending, s.end = context.WithCancel(context.Background())
	if s.recommender, err = newRecommender(o, generations.current.catalogue); err == nil && generations.live != nil {
		s.shape, err = newShape(generations.current.catalogue.index)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	if o.follow {
		ended := make(chan struct{})
		go func() {
			s.follow(s.ending)
			close(ended)
		}()
		s.unfollow = func() { <-ended }
	}
	return s, nil
}

// enter says whether a request may use the service; it does until leave.
func (s *service) enter() bool {
	s.running.RLock()
	if s.closed {
		s.running.RUnlock()
	}
	return !s.closed
}

func (s *service) leave() { s.running.RUnlock() }

// close ends what serves, after the last request; later ones are refused. It may be called again.
func (s *service) close() {
	s.end()
	s.unfollow()
	s.running.Lock()
	closed := s.closed
	s.closed = true
	s.running.Unlock()
	if closed {
		return
	}
	if s.recommender != nil {
		s.recommender.close()
	}
	s.generations.close()
}

// answer holds the k best items of each history, best first, and the version of the index that they are from.
type answer struct {
	Version json.RawMessage `json:"version"`
	Results [][]scored      `json:"results"`
	unknown
}

func (s *service) recommend(x *exchange) (any, error) {
	body, err := x.json()
	if err != nil {
		return nil, err
	}
	ctx, cancel, err := x.limited(s.options.timeout)
	if err != nil {
		return nil, err
	}
	defer cancel()
	asked, err := readQuestion(body, s.options)
	if err != nil {
		return nil, err
	}
	g := s.generations.acquire()
	defer s.generations.release(g)
	histories, err := g.catalogue.known(asked.histories)
	if err != nil {
		return nil, err
	}
	rules, counts, done, err := g.catalogue.scopeOf(asked)
	if err != nil {
		return nil, err
	}
	defer done()
	s.metrics.ruled(asked)
	items, err := s.recommender.recommend(ctx, g.catalogue, rules, histories, asked.k)
	if err != nil {
		return nil, err
	}
	return &answer{g.catalogue.version(), items, counts}, nil
}

func (s *service) reload(x *exchange) (any, error) {
	if err := x.none(); err != nil {
		return nil, err
	}
	if err := s.reloadNow(); err != nil {
		return nil, fmt.Errorf("the index stays as it is: %w", err)
	}
	return map[string]json.RawMessage{"version": s.version()}, nil
}

func (s *service) reloadNow() error {
	err := s.generations.reload()
	s.metrics.reload(err)
	if err != nil {
		s.events.warn("reload_failed", member{"message", err.Error()})
	} else {
		s.events.info("reloaded", member{"version", s.version()})
	}
	return err
}

func (s *service) version() json.RawMessage {
	g := s.generations.acquire()
	defer s.generations.release(g)
	return g.catalogue.version()
}
