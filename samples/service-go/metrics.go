// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"sort"
	"sync"
	"time"
)

// window is the number of latest requests over which percentiles are taken.
const window = 4096

// metrics counts what /metrics says, in Prometheus' text format.
type metrics struct {
	mutex        sync.Mutex
	requests     int64
	errors       int64
	reloads      int64
	reloadErrors int64
	seconds      float64
	latest       [window]float64
	beams, legal int64 // of all answers; legal ones name an item
}

func (m *metrics) request(took time.Duration, failed bool, beams, legal int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.latest[m.requests%window] = took.Seconds()
	m.requests++
	m.seconds += took.Seconds()
	m.beams += int64(beams)
	m.legal += int64(legal)
	if failed {
		m.errors++
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

// write gives all metrics; a percentile of n requests is the ceil(q n)-th in order.
func (m *metrics) write(out io.Writer, version string, items int64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	count := int(m.requests)
	if count > window {
		count = window
	}
	sorted := append([]float64(nil), m.latest[:count]...)
	sort.Float64s(sorted)
	counter := func(name, help string, value int64) {
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s counter\n%s %d\n", name, help, name, name, value)
	}
	counter("sidbeam_requests_total", "Requests for recommendations, those that failed included.", m.requests)
	counter("sidbeam_request_errors_total", "Requests that failed.", m.errors)
	fmt.Fprintf(out, "# HELP sidbeam_request_seconds Time of a request; percentiles of the last %d.\n", window)
	fmt.Fprintln(out, "# TYPE sidbeam_request_seconds summary")
	for _, percent := range []int{50, 90, 99} {
		if count > 0 {
			fmt.Fprintf(out, "sidbeam_request_seconds{quantile=\"0.%d\"} %g\n", percent, sorted[(count*percent+99)/100-1])
		}
	}
	fmt.Fprintf(out, "sidbeam_request_seconds_sum %g\nsidbeam_request_seconds_count %d\n", m.seconds, m.requests)
	share := 1.0
	if m.beams > 0 {
		share = float64(m.legal) / float64(m.beams)
	}
	fmt.Fprintln(out, "# HELP sidbeam_legal_share Share of returned SIDs that are in the index.")
	fmt.Fprintf(out, "# TYPE sidbeam_legal_share gauge\nsidbeam_legal_share %g\n", share)
	fmt.Fprintln(out, "# HELP sidbeam_index_info The index that is served; version is its fingerprint.")
	fmt.Fprintf(out, "# TYPE sidbeam_index_info gauge\nsidbeam_index_info{version=\"%s\"} 1\n", version)
	fmt.Fprintln(out, "# HELP sidbeam_index_items Items of the index that is served.")
	fmt.Fprintf(out, "# TYPE sidbeam_index_items gauge\nsidbeam_index_items %d\n", items)
	counter("sidbeam_reloads_total", "Times that the index was replaced.", m.reloads)
	counter("sidbeam_reload_errors_total", "Reloads that failed; the index before stayed.", m.reloadErrors)
}
