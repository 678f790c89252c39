// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"time"

	"sidbeam.io/sidbeam"
)

const maxBody = 1 << 20 // bytes of a request

// service answers over HTTP.
type service struct {
	generations *generations
	recommender *recommender
	metrics     metrics
	token       string // what changes and reloads must bear; "": there are none
	shape       *shape // of a live catalogue's items
	ending      context.Context
	end         func()       // begins the end: of following, and of compactions that run
	unfollow    func()       // returns when nothing follows any more
	running     sync.RWMutex // held by every request
	closed      bool
}

func newService(o options) (*service, error) {
	token, err := readToken(o.tokenFile)
	if err != nil {
		return nil, err
	}
	generations, err := newGenerations(&o)
	if err != nil {
		return nil, err
	}
	s := &service{generations: generations, token: token, unfollow: func() {}}
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

// close ends what serves, after the last request; later ones are refused.
func (s *service) close() {
	s.end()
	s.unfollow()
	s.running.Lock()
	s.closed = true
	s.running.Unlock()
	if s.recommender != nil {
		s.recommender.close()
	}
	s.generations.close()
}

func (s *service) handler() http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("/recommend", only(http.MethodPost, s.recommend))
	routes.HandleFunc("/reload", only(http.MethodPost, s.authorized(s.reload)))
	routes.HandleFunc("/metrics", only(http.MethodGet, s.showMetrics))
	s.changes(routes)
	remove := s.change(http.MethodDelete, s.remove)
	return http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		s.running.RLock()
		defer s.running.RUnlock()
		if s.closed {
			refuse(out, http.StatusServiceUnavailable, errors.New("the service is closed"))
			return
		}
		if strings.HasPrefix(in.URL.Path, "/items/") { // names are any text, and a mux would clean the path
			remove(out, in)
			return
		}
		routes.ServeHTTP(out, in)
	})
}

func only(method string, handle http.HandlerFunc) http.HandlerFunc {
	return func(out http.ResponseWriter, in *http.Request) {
		if in.Method != method {
			out.Header().Set("Allow", method)
			refuse(out, http.StatusMethodNotAllowed, fmt.Errorf("%s is for %s", in.URL.Path, method))
			return
		}
		handle(out, in)
	}
}

// question is the body of POST /recommend; ids are numbers, or text where the index has names. The rules are those of
// all its histories.
type question struct {
	Histories [][]json.RawMessage `json:"histories"`
	K         *int                `json:"k"`
	Exclude   []json.RawMessage   `json:"exclude"` // nil, here and below: not asked for
	Allow     []json.RawMessage   `json:"allow"`
	Where     *string             `json:"where"`
	Filter    *string             `json:"filter"`
}

// answer holds the k best items of each history, best first, and the version of the index that they are from.
type answer struct {
	Version json.RawMessage `json:"version"`
	Items   [][]scored      `json:"items"`
	unknown
}

func (s *service) recommend(out http.ResponseWriter, in *http.Request) {
	begin := time.Now()
	got, status, err := s.answer(out, in)
	s.metrics.request(time.Since(begin), err != nil)
	if err != nil {
		refuse(out, status, err)
		return
	}
	reply(out, http.StatusOK, got)
}

func (s *service) answer(out http.ResponseWriter, in *http.Request) (got *answer, status int, err error) {
	asked, status, err := s.read(out, in)
	if err != nil {
		return nil, status, err
	}
	g := s.generations.acquire()
	defer s.generations.release(g)
	histories, err := g.catalogue.known(asked.Histories)
	if err != nil {
		return nil, statusOf(err), err
	}
	rules, counts, done, err := g.catalogue.scopeOf(asked, &s.recommender.options)
	if err != nil {
		return nil, statusOf(err), err
	}
	defer done()
	s.metrics.ruled(asked)
	items, err := s.recommender.recommend(in.Context(), g.catalogue, rules, histories, *asked.K)
	if err != nil {
		return nil, statusOf(err), err
	}
	return &answer{g.catalogue.version(), items, counts}, http.StatusOK, nil
}

// statusOf says whether the client may try again: the service is busy, or on its way out. Or must ask otherwise.
func statusOf(err error) int {
	if errors.As(err, new(badRequest)) {
		return http.StatusBadRequest
	}
	var refused refusal
	if errors.As(err, &refused) {
		return refused.status
	}
	for _, code := range []sidbeam.Code{sidbeam.QueueFull, sidbeam.Cancelled, sidbeam.DeadlineExceeded} {
		if errors.Is(err, code) {
			return http.StatusServiceUnavailable
		}
	}
	return http.StatusInternalServerError
}

// read gives the question, and a status if it is refused.
func (s *service) read(out http.ResponseWriter, in *http.Request) (*question, int, error) {
	body, err := readBody(out, in)
	if err == nil {
		_, err = members(body, "", "histories", "k", "exclude", "allow", "where", "filter")
	}
	if err != nil {
		return nil, statusOf(err), err
	}
	asked := &question{}
	if err := json.Unmarshal(body, asked); err != nil {
		return nil, http.StatusBadRequest,
			fmt.Errorf("the body is not what is expected, {\"histories\": [[id, ...], ...], \"k\": 10}: %w", err)
	}
	limits := s.recommender.options
	if asked.K == nil {
		k := 10
		if k > limits.beams {
			k = limits.beams
		}
		asked.K = &k
	}
	if *asked.K < 1 || *asked.K > limits.beams {
		return nil, http.StatusBadRequest, fmt.Errorf("k is %d, expected 1 .. %d", *asked.K, limits.beams)
	}
	if n := len(asked.Histories); n < 1 || n > limits.histories {
		return nil, http.StatusBadRequest, fmt.Errorf("histories has %d elements, expected 1 .. %d", n, limits.histories)
	}
	return asked, http.StatusOK, nil
}

// known gives the SIDs of those items of histories that the index has. Others are passed over: they may have been in an
// earlier index, or be in a later one.
func (c *catalogue) known(histories [][]json.RawMessage) ([][][]int32, error) {
	known := make([][][]int32, len(histories))
	for i, history := range histories {
		ids := make([]string, len(history))
		for j, id := range history {
			text := string(bytes.TrimSpace(id))
			var name string
			if json.Unmarshal(id, &name) == nil && text != "null" {
				text = name
			} else if !json.Valid(id) || (text[0] != '-' && (text[0] < '0' || text[0] > '9')) {
				return nil, badRequest(fmt.Sprintf("histories[%d][%d] is %.40s, expected the id of an item", i, j, text))
			}
			ids[j] = text
		}
		var err error
		if known[i], err = c.sids(ids); err != nil {
			return nil, err
		}
	}
	return known, nil
}

func (s *service) reload(out http.ResponseWriter, _ *http.Request) {
	if err := s.reloadNow(); err != nil {
		refuse(out, http.StatusInternalServerError, err)
		return
	}
	reply(out, http.StatusOK, map[string]json.RawMessage{"version": s.version()})
}

func (s *service) reloadNow() error {
	err := s.generations.reload()
	s.metrics.reload(err)
	if err != nil {
		log.Printf("the index stays as it is: %v", err)
	} else {
		log.Printf("serving %s, version %s", s.generations.options.index, s.version())
	}
	return err
}

func (s *service) showMetrics(out http.ResponseWriter, _ *http.Request) {
	var text bytes.Buffer
	if err := s.writeMetrics(&text); err != nil {
		refuse(out, http.StatusInternalServerError, err)
		return
	}
	out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if _, err := out.Write(text.Bytes()); err != nil {
		log.Printf("a client is gone: %v", err)
	}
}

func (s *service) writeMetrics(out io.Writer) error {
	g := s.generations.acquire()
	defer s.generations.release(g)
	stats, err := s.recommender.runner.Stats()
	if err != nil {
		return err
	}
	s.metrics.write(out, strings.Trim(string(g.catalogue.version()), `"`), g.catalogue.info.LiveItems)
	s.metrics.writeRules(out, g.catalogue.filters.names)
	writeRunner(out, &stats)
	if s.generations.live == nil {
		return nil
	}
	info, err := s.generations.live.Info()
	if err != nil {
		return err
	}
	versions, err := s.generations.live.Versions()
	s.metrics.writeLive(out, g.catalogue, &info, s.generations.inUse(versions))
	return err
}

func (s *service) version() json.RawMessage {
	g := s.generations.acquire()
	defer s.generations.release(g)
	return g.catalogue.version()
}

func refuse(out http.ResponseWriter, status int, err error) {
	reply(out, status, map[string]string{"error": err.Error()})
}

func reply(out http.ResponseWriter, status int, value any) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(status)
	if err := json.NewEncoder(out).Encode(value); err != nil {
		log.Printf("a client is gone: %v", err)
	}
}
