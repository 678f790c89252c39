// SPDX-License-Identifier: Apache-2.0
package service;

import static service.Metrics.head;
import static service.Metrics.line;
import static service.Metrics.number;

import io.sidbeam.CatalogInfo;
import io.sidbeam.Percentiles;
import io.sidbeam.RunnerStats;
import java.time.Duration;
import java.time.Instant;

/** What /metrics says of the runner and of a live catalogue. */
final class IndexMetrics {
  private IndexMetrics() {}

  /** How a live catalogue stands, of which so many versions are in use. */
  static void live(StringBuilder out, Serving serving, CatalogInfo info, long inUse) {
    number(out, "catalog_version", "gauge", "Version that is served.", serving.info.version());
    number(out, "catalog_age_seconds", "gauge", "Time since it was published.",
        seconds(Duration.between(serving.published, Instant.now())));
    number(out, "catalog_pinned_versions", "gauge", "Versions in use, kept or not, of which one is served.", inUse);
    number(out, "catalog_log_bytes", "gauge", "Bytes of the logs.", info.logBytes());
    number(out, "catalog_unsynced_bytes", "gauge", "Of these, not yet forced to the disk.", info.unsyncedBytes());
    number(out, "catalog_changes", "gauge", "Changes that wait to be published.", info.changes());
    number(out, "catalog_compact_soon", "gauge", "1: it is time to compact.", info.compactSoon() ? 1 : 0);
    number(out, "catalog_log_failed", "gauge", "1: nothing can be published before a restart.",
        info.logFailed() ? 1 : 0);
  }

  /** The runner's queue, its batches, how busy its lanes are. */
  static void runner(StringBuilder out, RunnerStats runner) {
    number(out, "runner_lanes", "gauge", "Batches that may run at the same time.", runner.lanes());
    number(out, "runner_queued", "gauge", "Histories that wait.", runner.queued());
    number(out, "runner_running", "gauge", "Histories that run.", runner.running());
    number(out, "runner_lane_use", "gauge", "Share of the lanes' time that they were busy, since the start.",
        seconds(runner.busy()) / (seconds(runner.up()) * runner.lanes()));
    number(out, "runner_memory_bytes", "gauge", "Memory of the runner, without the model.", runner.memoryBytes());
    number(out, "runner_finished_total", "counter", "Histories that were answered.", runner.finished());
    number(out, "runner_failed_total", "counter", "Histories that failed.", runner.failed());
    number(out, "runner_cancelled_total", "counter", "Histories that were cancelled.", runner.cancelled());
    number(out, "runner_refused_total", "counter", "Histories for which the queue had no room.", runner.refused());
    number(out, "runner_batches_total", "counter", "Batches.", runner.batches());
    number(out, "runner_batch_requests_total", "counter", "Histories of all batches.", runner.batchRequests());
    number(out, "runner_batch_rows_total", "counter", "Rows of all batches.", runner.batchRows());
    number(out, "runner_rounds_total", "counter", "Passes of the model, where there is a draft.", runner.rounds());
    number(out, "runner_round_levels_total", "counter", "Levels that these passes decided.", runner.roundLevels());
    number(out, "runner_drafted_levels_total", "counter", "Levels that the draft wrote.", runner.draftedLevels());
    number(out, "runner_accepted_levels_total", "counter", "Of these, passes saved.", runner.acceptedLevels());
    number(out, "runner_nodes_total", "counter", "Rows of logits that the passes had.", runner.nodes());
    number(out, "runner_draft_seconds_total", "counter", "Time of the draft.", seconds(runner.drafting()));
    percentiles(out, "runner_queue_seconds", "Time that a history waits.", runner.queuedTime(), runner.finished());
    percentiles(out, "runner_run_seconds", "Time that it runs.", runner.runTime(), runner.finished());
    percentiles(out, "runner_seconds", "Both.", runner.totalTime(), runner.finished());
  }

  private static double seconds(Duration time) {
    return time.toNanos() / 1e9;
  }

  private static void percentiles(StringBuilder out, String name, String help, Percentiles times, long count) {
    head(out, name, "summary", help);
    line(out, name + "{quantile=\"0.5\"}", seconds(times.p50()));
    line(out, name + "{quantile=\"0.9\"}", seconds(times.p90()));
    line(out, name + "{quantile=\"0.99\"}", seconds(times.p99()));
    line(out, name + "{quantile=\"0.999\"}", seconds(times.p999()));
    line(out, name + "_count", count);
  }
}
