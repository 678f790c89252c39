// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"time"

	"sidbeam.io/sidbeam"
)

// writeMetrics gives what is served, how requests use it, and how the runner and a live catalogue stand.
func (s *service) writeMetrics(out io.Writer) error {
	g := s.generations.acquire()
	defer s.generations.release(g)
	stats, err := s.recommender.runner.Stats()
	if err != nil {
		return err
	}
	s.metrics.writeIndex(out, g.catalogue)
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

// writeLive gives how a live catalogue stands, of which c is served, and so many versions are in use.
func (m *metrics) writeLive(out io.Writer, c *catalogue, info *sidbeam.CatalogInfo, inUse int) {
	writeGauge(out, "catalog_version", "Version that is served.", float64(c.info.Version))
	writeGauge(out, "catalog_age_seconds", "Time since it was published.", time.Since(c.published).Seconds())
	writeGauge(out, "catalog_pinned_versions", "Versions in use, kept or not, of which one is served.",
		float64(inUse))
	writeGauge(out, "catalog_log_bytes", "Bytes of the logs.", float64(info.LogBytes))
	writeGauge(out, "catalog_unsynced_bytes", "Of these, not yet forced to the disk.",
		float64(info.UnsyncedBytes))
	writeGauge(out, "catalog_changes", "Changes that wait to be published.", float64(info.Changes))
	writeGauge(out, "catalog_compact_soon", "1: it is time to compact.", oneIf(info.CompactSoon))
	writeGauge(out, "catalog_log_failed", "1: nothing can be published before a restart.", oneIf(info.LogFailed))
	m.mutex.Lock()
	defer m.mutex.Unlock()
	writeCounter(out, "catalog_refresh_errors_total", "Times that a followed catalogue could not be read.",
		m.refreshErrors)
}

// writeRunner gives what the runner counts: its queue, its batches, how busy its lanes are.
func writeRunner(out io.Writer, stats *sidbeam.RunnerStats) {
	writeGauge(out, "runner_lanes", "Batches that may run at the same time.", float64(stats.Lanes))
	writeGauge(out, "runner_queued", "Histories that wait.", float64(stats.Queued))
	writeGauge(out, "runner_running", "Histories that run.", float64(stats.Running))
	writeGauge(out, "runner_lane_use", "Share of the lanes' time that they were busy, since the start.",
		stats.Busy.Seconds()/(stats.Up.Seconds()*float64(stats.Lanes)))
	writeGauge(out, "runner_memory_bytes", "Memory of the runner, without the model.", float64(stats.MemoryBytes))
	writeCounter(out, "runner_finished_total", "Histories that were answered.", stats.Finished)
	writeCounter(out, "runner_failed_total", "Histories that failed.", stats.Failed)
	writeCounter(out, "runner_cancelled_total", "Histories that were cancelled.", stats.Cancelled)
	writeCounter(out, "runner_refused_total", "Histories for which the queue had no room.", stats.Refused)
	writeCounter(out, "runner_batches_total", "Batches.", stats.Batches)
	writeCounter(out, "runner_batch_requests_total", "Histories of all batches.", stats.BatchRequests)
	writeCounter(out, "runner_batch_rows_total", "Rows of all batches.", stats.BatchRows)
	writeCounter(out, "runner_rounds_total", "Passes of the model, where there is a draft.", stats.Rounds)
	writeCounter(out, "runner_round_levels_total", "Levels that these passes decided.", stats.RoundLevels)
	writeCounter(out, "runner_drafted_levels_total", "Levels that the draft wrote.", stats.DraftedLevels)
	writeCounter(out, "runner_accepted_levels_total", "Of these, passes saved.", stats.AcceptedLevels)
	writeCounter(out, "runner_nodes_total", "Rows of logits that the passes had.", stats.Nodes)
	fmt.Fprintf(out, "%s %g\n", family(out, "runner_draft_seconds_total", "counter", "Time of the draft."),
		stats.Drafting.Seconds())
	for _, one := range []struct {
		name, help string
		times      sidbeam.Percentiles
	}{
		{"runner_queue_seconds", "Time that a history waits.", stats.QueuedTime},
		{"runner_run_seconds", "Time that it runs.", stats.RunTime},
		{"runner_seconds", "Both.", stats.TotalTime},
	} {
		name := family(out, one.name, "summary", one.help)
		for i, time := range []time.Duration{one.times.P50, one.times.P90, one.times.P99, one.times.P999} {
			quantile := []string{"0.5", "0.9", "0.99", "0.999"}[i]
			fmt.Fprintf(out, "%s{quantile=\"%s\"} %g\n", name, quantile, time.Seconds())
		}
		fmt.Fprintf(out, "%s_count %d\n", name, stats.Finished)
	}
}
