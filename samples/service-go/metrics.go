// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"
)

// bounds are those of the histogram's buckets, in seconds.
var bounds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// metrics counts what /metrics says of requests and reloads, in Prometheus' text format.
type metrics struct {
	mutex         sync.Mutex
	requests      map[answered]int64
	times         map[string]*histogram // by route
	reloads       int64
	reloadErrors  int64
	refreshErrors int64
	lists, texts  int64            // requests with lists of items, and with a filter's text
	filters       map[string]int64 // requests by named filter
}

type answered struct {
	route  string
	status int
}

type histogram struct {
	counts []int64 // by the first bound that a time does not exceed, and of longer ones
	sum    float64
}

func newMetrics() *metrics {
	return &metrics{requests: map[answered]int64{}, times: map[string]*histogram{}, filters: map[string]int64{}}
}

func (m *metrics) request(route string, status int, took time.Duration) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.requests[answered{route, status}]++
	h := m.times[route]
	if h == nil {
		h = &histogram{counts: make([]int64, len(bounds)+1)}
		m.times[route] = h
	}
	h.counts[sort.SearchFloat64s(bounds, took.Seconds())]++
	h.sum += took.Seconds()
}

// ruled counts a request whose rules were understood. Filters are counted by their names, which the settings bound;
// texts are the clients', without bound.
func (m *metrics) ruled(asked *question) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if asked.exclude != nil || asked.allow != nil {
		m.lists++
	}
	if asked.where != nil {
		m.texts++
	}
	if asked.filter != nil {
		m.filters[*asked.filter]++
	}
}

func (m *metrics) reload(err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err != nil {
		m.reloadErrors++
	} else {
		m.reloads++
	}
}

func (m *metrics) refreshFailed() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.refreshErrors++
}

// family begins a metric, and gives its name.
func family(out io.Writer, name, kind, help string) string {
	name = "sidbeam_" + name
	fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	return name
}

func writeCounter(out io.Writer, name, help string, value int64) {
	fmt.Fprintf(out, "%s %d\n", family(out, name, "counter", help), value)
}

func writeGauge(out io.Writer, name, help string, value float64) {
	fmt.Fprintf(out, "%s %g\n", family(out, name, "gauge", help), value)
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// showMetrics gives all there are.
func (f *front) showMetrics(s *service, _ *exchange) (any, error) {
	var out bytes.Buffer
	f.metrics.writeRequests(&out)
	writeGauge(&out, "requests_running", "Requests that run, without those for health, readiness and metrics.",
		float64(f.running.Load()))
	writeGauge(&out, "connections", "Connections that are open.", float64(f.connections()))
	writeGauge(&out, "draining", "1: the service is about to end.", oneIf(f.draining.Load()))
	if err := s.writeMetrics(&out); err != nil {
		return nil, err
	}
	return plainText(out.Bytes()), nil
}

func (m *metrics) writeRequests(out io.Writer) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	name := family(out, "requests_total", "counter", "Requests by route of the contract and HTTP status.")
	for line, count := range m.requests {
		fmt.Fprintf(out, "%s{route=\"%s\",code=\"%d\"} %d\n", name, line.route, line.status, count)
	}
	name = family(out, "request_seconds", "histogram", "Time from the arrival of a request to its answer.")
	for route, times := range m.times {
		times.write(out, name, route)
	}
}

func (h *histogram) write(out io.Writer, name, route string) {
	count := int64(0)
	for i, each := range h.counts {
		bound := "+Inf"
		if count += each; i < len(bounds) {
			bound = fmt.Sprint(bounds[i])
		}
		fmt.Fprintf(out, "%s_bucket{route=\"%s\",le=\"%s\"} %d\n", name, route, bound, count)
	}
	fmt.Fprintf(out, "%s_sum{route=\"%s\"} %g\n%s_count{route=\"%s\"} %d\n", name, route, h.sum, name, route, count)
}

// writeIndex gives what is served, and the reloads that have been.
func (m *metrics) writeIndex(out io.Writer, c *catalogue) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	name := family(out, "index_info", "gauge", "1, of the version that is served.")
	fmt.Fprintf(out, "%s{version=\"%s\"} 1\n", name, strings.Trim(string(c.version()), `"`))
	writeGauge(out, "index_items", "Items of the index that is served.", float64(c.info.LiveItems))
	writeCounter(out, "reloads_total", "Reloads of the index.", m.reloads)
	writeCounter(out, "reload_failures_total", "Reloads that failed; the index before them stayed.", m.reloadErrors)
}

// writeRules gives the numbers of requests under rules; names are those of the filters that there are now.
func (m *metrics) writeRules(out io.Writer, names []string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	writeCounter(out, "list_requests_total", "Requests with excluded or allowed items.", m.lists)
	writeCounter(out, "where_requests_total", "Requests with a filter's text.", m.texts)
	name := family(out, "filter_requests_total", "counter", "Requests with a filter of the settings.")
	for _, filter := range names {
		fmt.Fprintf(out, "%s{filter=\"%s\"} %d\n", name, filter, m.filters[filter])
	}
}
