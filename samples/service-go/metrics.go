// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"sort"
	"sync"
	"time"

	"sidbeam.io/sidbeam"
)

// window is the number of latest requests over which percentiles are taken.
const window = 4096

// metrics counts what /metrics says, in Prometheus' text format.
type metrics struct {
	mutex         sync.Mutex
	requests      int64
	errors        int64
	reloads       int64
	reloadErrors  int64
	refreshErrors int64
	seconds       float64
	latest        [window]float64
	lists, texts  int64            // requests with lists of items, and with a filter's text
	filters       map[string]int64 // requests by named filter
}

func (m *metrics) request(took time.Duration, failed bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.latest[m.requests%window] = took.Seconds()
	m.requests++
	m.seconds += took.Seconds()
	if failed {
		m.errors++
	}
}

// ruled counts a request whose rules were understood. Filters are counted by their names, which the settings bound;
// texts are the clients', without bound.
func (m *metrics) ruled(asked *question) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if asked.Exclude != nil || asked.Allow != nil {
		m.lists++
	}
	if asked.Where != nil {
		m.texts++
	}
	if asked.Filter == nil {
		return
	}
	if m.filters == nil {
		m.filters = map[string]int64{}
	}
	m.filters[*asked.Filter]++
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

func writeCounter(out io.Writer, name, help string, value int64) {
	fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s counter\n%s %d\n", name, help, name, name, value)
}

func writeGauge(out io.Writer, name, help string, value float64) {
	fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n%s %g\n", name, help, name, name, value)
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
	writeCounter(out, "sidbeam_requests_total", "Requests for recommendations, those that failed included.", m.requests)
	writeCounter(out, "sidbeam_request_errors_total", "Requests that failed.", m.errors)
	fmt.Fprintf(out, "# HELP sidbeam_request_seconds Time of a request; percentiles of the last %d.\n", window)
	fmt.Fprintln(out, "# TYPE sidbeam_request_seconds summary")
	for _, percent := range []int{50, 90, 99} {
		if count > 0 {
			fmt.Fprintf(out, "sidbeam_request_seconds{quantile=\"0.%d\"} %g\n", percent, sorted[(count*percent+99)/100-1])
		}
	}
	fmt.Fprintf(out, "sidbeam_request_seconds_sum %g\nsidbeam_request_seconds_count %d\n", m.seconds, m.requests)
	fmt.Fprintln(out, "# HELP sidbeam_index_info The index that is served; version is its number, or of a file its "+
		"fingerprint.")
	fmt.Fprintf(out, "# TYPE sidbeam_index_info gauge\nsidbeam_index_info{version=\"%s\"} 1\n", version)
	fmt.Fprintln(out, "# HELP sidbeam_index_items Items of the index that is served.")
	fmt.Fprintf(out, "# TYPE sidbeam_index_items gauge\nsidbeam_index_items %d\n", items)
	writeCounter(out, "sidbeam_reloads_total", "Times that the index was replaced.", m.reloads)
	writeCounter(out, "sidbeam_reload_errors_total", "Reloads that failed; the index before stayed.", m.reloadErrors)
}

// writeRules gives the numbers of requests under rules; names are those of the filters that there are now.
func (m *metrics) writeRules(out io.Writer, names []string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	writeCounter(out, "sidbeam_list_requests_total", "Requests with excluded or allowed items.", m.lists)
	writeCounter(out, "sidbeam_where_requests_total", "Requests with a filter's text.", m.texts)
	fmt.Fprintln(out, "# HELP sidbeam_filter_requests_total Requests with a filter of the settings.")
	fmt.Fprintln(out, "# TYPE sidbeam_filter_requests_total counter")
	for _, name := range names {
		fmt.Fprintf(out, "sidbeam_filter_requests_total{filter=\"%s\"} %d\n", name, m.filters[name])
	}
}

// writeLive gives how a live catalogue stands, of which c is served, and so many versions are in use.
func (m *metrics) writeLive(out io.Writer, c *catalogue, info *sidbeam.CatalogInfo, inUse int) {
	writeGauge(out, "sidbeam_catalog_version", "Version that is served.", float64(c.info.Version))
	writeGauge(out, "sidbeam_catalog_age_seconds", "Time since it was published.", time.Since(c.published).Seconds())
	writeGauge(out, "sidbeam_catalog_pinned_versions", "Versions in use, kept or not, of which one is served.",
		float64(inUse))
	writeGauge(out, "sidbeam_catalog_log_bytes", "Bytes of the logs.", float64(info.LogBytes))
	writeGauge(out, "sidbeam_catalog_unsynced_bytes", "Of these, not yet forced to the disk.",
		float64(info.UnsyncedBytes))
	writeGauge(out, "sidbeam_catalog_changes", "Changes that wait to be published.", float64(info.Changes))
	writeGauge(out, "sidbeam_catalog_compact_soon", "1: it is time to compact.", oneIf(info.CompactSoon))
	writeGauge(out, "sidbeam_catalog_log_failed", "1: nothing can be published before a restart.", oneIf(info.LogFailed))
	m.mutex.Lock()
	defer m.mutex.Unlock()
	writeCounter(out, "sidbeam_catalog_refresh_errors_total", "Times that a followed catalogue could not be read.",
		m.refreshErrors)
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// writeRunner gives what the runner counts: its queue, its batches, how busy its lanes are.
func writeRunner(out io.Writer, stats *sidbeam.RunnerStats) {
	writeGauge(out, "sidbeam_runner_lanes", "Batches that may run at the same time.", float64(stats.Lanes))
	writeGauge(out, "sidbeam_runner_queued", "Histories that wait.", float64(stats.Queued))
	writeGauge(out, "sidbeam_runner_running", "Histories that run.", float64(stats.Running))
	writeGauge(out, "sidbeam_runner_lane_use", "Share of the lanes' time that they were busy, since the start.",
		stats.Busy.Seconds()/(stats.Up.Seconds()*float64(stats.Lanes)))
	writeGauge(out, "sidbeam_runner_memory_bytes", "Memory of the runner, without the model.", float64(stats.MemoryBytes))
	writeCounter(out, "sidbeam_runner_finished_total", "Histories that were answered.", stats.Finished)
	writeCounter(out, "sidbeam_runner_failed_total", "Histories that failed.", stats.Failed)
	writeCounter(out, "sidbeam_runner_cancelled_total", "Histories whose client had gone.", stats.Cancelled)
	writeCounter(out, "sidbeam_runner_refused_total", "Histories for which the queue had no room.", stats.Refused)
	writeCounter(out, "sidbeam_runner_batches_total", "Batches.", stats.Batches)
	writeCounter(out, "sidbeam_runner_batch_requests_total", "Histories of all batches.", stats.BatchRequests)
	writeCounter(out, "sidbeam_runner_batch_rows_total", "Rows of all batches.", stats.BatchRows)
	writeCounter(out, "sidbeam_runner_rounds_total", "Passes of the model, where there is a draft.", stats.Rounds)
	writeCounter(out, "sidbeam_runner_round_levels_total", "Levels that these passes decided.", stats.RoundLevels)
	writeCounter(out, "sidbeam_runner_drafted_levels_total", "Levels that the draft wrote.", stats.DraftedLevels)
	writeCounter(out, "sidbeam_runner_accepted_levels_total", "Of these, passes saved.", stats.AcceptedLevels)
	writeCounter(out, "sidbeam_runner_nodes_total", "Rows of logits that the passes had.", stats.Nodes)
	fmt.Fprintln(out, "# HELP sidbeam_runner_draft_seconds_total Time of the draft.")
	fmt.Fprintf(out, "# TYPE sidbeam_runner_draft_seconds_total counter\nsidbeam_runner_draft_seconds_total %g\n",
		stats.Drafting.Seconds())
	for _, one := range []struct {
		name, help string
		times      sidbeam.Percentiles
	}{
		{"sidbeam_runner_queue_seconds", "Time that a history waits.", stats.QueuedTime},
		{"sidbeam_runner_run_seconds", "Time that it runs.", stats.RunTime},
		{"sidbeam_runner_seconds", "Both.", stats.TotalTime},
	} {
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s summary\n", one.name, one.help, one.name)
		for i, time := range []time.Duration{one.times.P50, one.times.P90, one.times.P99, one.times.P999} {
			quantile := []string{"0.5", "0.9", "0.99", "0.999"}[i]
			fmt.Fprintf(out, "%s{quantile=\"%s\"} %g\n", one.name, quantile, time.Seconds())
		}
		fmt.Fprintf(out, "%s_count %d\n", one.name, stats.Finished)
	}
}
