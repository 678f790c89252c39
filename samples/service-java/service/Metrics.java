// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.CatalogInfo;
import io.sidbeam.Percentiles;
import io.sidbeam.RunnerStats;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** The service's counters, in Prometheus' text format. Percentiles are of the latest answered requests. */
final class Metrics {
  private static final int WINDOW = 4096;

  private final long[] nanos = new long[WINDOW];
  private final Map<Integer, Long> requests = new TreeMap<>(); // by HTTP status
  private long answered;
  private double seconds;
  private long reloads;
  private long failedReloads;
  private long failedRefreshes;
  private long lists; // requests with lists of items
  private long texts; // requests with a filter's text
  private final Map<String, Long> filters = new TreeMap<>(); // requests by named filter

  synchronized void request(int status, long took) {
    requests.merge(status, 1L, Long::sum);
    if (status == 200) {
      nanos[(int) (answered++ % WINDOW)] = took;
      seconds += took / 1e9;
    }
  }

  /**
   * Counts a request whose rules were understood. Filters are counted by their names, which the settings bound; texts
   * are the clients', without bound.
   */
  synchronized void rules(Map<?, ?> request) {
    lists += request.get("exclude") != null || request.get("allow") != null ? 1 : 0;
    texts += request.get("where") != null ? 1 : 0;
    if (request.get("filter") instanceof String name) {
      filters.merge(name, 1L, Long::sum);
    }
  }

  synchronized void reload(boolean done) {
    if (done) {
      reloads++;
    } else {
      failedReloads++;
    }
  }

  synchronized void refreshFailed() {
    failedRefreshes++;
  }

  /** `live` says how the live catalogue stands, of which so many versions are in use; null: the index is a file. */
  synchronized String text(Serving serving, CatalogInfo live, long inUse, RunnerStats runner) {
    StringBuilder out = new StringBuilder();
    head(out, "request_seconds", "summary", "Time from a request's arrival to its answer, of the latest " + WINDOW);
    long[] sorted = Arrays.copyOf(nanos, (int) Math.min(answered, WINDOW));
    Arrays.sort(sorted);
    for (double quantile : new double[] {0.5, 0.9, 0.99}) {
      double value = sorted.length == 0 ? Double.NaN : sorted[(int) Math.ceil(quantile * sorted.length) - 1] / 1e9;
      line(out, "request_seconds{quantile=\"" + quantile + "\"}", value);
    }
    line(out, "request_seconds_sum", seconds);
    line(out, "request_seconds_count", answered);
    head(out, "requests_total", "counter", "Requests to /recommend by HTTP status");
    requests.forEach((status, count) -> line(out, "requests_total{code=\"" + status + "\"}", count));
    head(out, "index_info", "gauge", "The index that is served; version is its number, or of a file its fingerprint");
    line(out, "index_info{version=\"" + serving.version + "\"}", 1);
    head(out, "index_items", "gauge", "Items of the index that is served");
    line(out, "index_items", serving.info.liveItems());
    head(out, "reloads_total", "counter", "Reloads of the index");
    line(out, "reloads_total", reloads);
    head(out, "reload_failures_total", "counter", "Reloads that failed; the index before them stayed");
    line(out, "reload_failures_total", failedReloads);
    number(out, "list_requests_total", "counter", "Requests with excluded or allowed items", lists);
    number(out, "where_requests_total", "counter", "Requests with a filter's text", texts);
    head(out, "filter_requests_total", "counter", "Requests with a filter of the settings");
    for (String name : serving.filters.names()) {
      line(out, "filter_requests_total{filter=\"" + name + "\"}", filters.getOrDefault(name, 0L));
    }
    if (live != null) {
      live(out, serving, live, inUse);
    }
    runner(out, runner);
    return out.toString();
  }

  /** How a live catalogue stands. */
  private void live(StringBuilder out, Serving serving, CatalogInfo info, long inUse) {
    number(out, "catalog_version", "gauge", "Version that is served", serving.info.version());
    number(out, "catalog_age_seconds", "gauge", "Time since it was published",
        seconds(Duration.between(serving.published, Instant.now())));
    number(out, "catalog_pinned_versions", "gauge", "Versions in use, kept or not, of which one is served", inUse);
    number(out, "catalog_log_bytes", "gauge", "Bytes of the logs", info.logBytes());
    number(out, "catalog_unsynced_bytes", "gauge", "Of these, not yet forced to the disk", info.unsyncedBytes());
    number(out, "catalog_changes", "gauge", "Changes that wait to be published", info.changes());
    number(out, "catalog_compact_soon", "gauge", "1: it is time to compact", info.compactSoon() ? 1 : 0);
    number(out, "catalog_log_failed", "gauge", "1: nothing can be published before a restart",
        info.logFailed() ? 1 : 0);
    number(out, "catalog_refresh_errors_total", "counter", "Times that a followed catalogue could not be read",
        failedRefreshes);
  }

  /** The runner's queue, its batches, how busy its lanes are. */
  private static void runner(StringBuilder out, RunnerStats runner) {
    number(out, "runner_lanes", "gauge", "Batches that may run at the same time", runner.lanes());
    number(out, "runner_queued", "gauge", "Histories that wait", runner.queued());
    number(out, "runner_running", "gauge", "Histories that run", runner.running());
    number(out, "runner_lane_use", "gauge", "Share of the lanes' time that they were busy, since the start",
        seconds(runner.busy()) / (seconds(runner.up()) * runner.lanes()));
    number(out, "runner_memory_bytes", "gauge", "Memory of the runner, without the model", runner.memoryBytes());
    number(out, "runner_finished_total", "counter", "Histories that were answered", runner.finished());
    number(out, "runner_failed_total", "counter", "Histories that failed", runner.failed());
    number(out, "runner_cancelled_total", "counter", "Histories that were cancelled", runner.cancelled());
    number(out, "runner_refused_total", "counter", "Histories for which the queue had no room", runner.refused());
    number(out, "runner_batches_total", "counter", "Batches", runner.batches());
    number(out, "runner_batch_requests_total", "counter", "Histories of all batches", runner.batchRequests());
    number(out, "runner_batch_rows_total", "counter", "Rows of all batches", runner.batchRows());
    number(out, "runner_rounds_total", "counter", "Passes of the model, where there is a draft", runner.rounds());
    number(out, "runner_round_levels_total", "counter", "Levels that these passes decided", runner.roundLevels());
    number(out, "runner_drafted_levels_total", "counter", "Levels that the draft wrote", runner.draftedLevels());
    number(out, "runner_accepted_levels_total", "counter", "Of these, passes saved", runner.acceptedLevels());
    number(out, "runner_nodes_total", "counter", "Rows of logits that the passes had", runner.nodes());
    number(out, "runner_draft_seconds_total", "counter", "Time of the draft", seconds(runner.drafting()));
    percentiles(out, "runner_queue_seconds", "Time that a history waits", runner.queuedTime(), runner.finished());
    percentiles(out, "runner_run_seconds", "Time that it runs", runner.runTime(), runner.finished());
    percentiles(out, "runner_seconds", "Both", runner.totalTime(), runner.finished());
  }

  private static double seconds(Duration time) {
    return time.toNanos() / 1e9;
  }

  private static void number(StringBuilder out, String name, String type, String help, double value) {
    head(out, name, type, help);
    line(out, name, value);
  }

  private static void percentiles(StringBuilder out, String name, String help, Percentiles times, long count) {
    head(out, name, "summary", help);
    line(out, name + "{quantile=\"0.5\"}", seconds(times.p50()));
    line(out, name + "{quantile=\"0.9\"}", seconds(times.p90()));
    line(out, name + "{quantile=\"0.99\"}", seconds(times.p99()));
    line(out, name + "{quantile=\"0.999\"}", seconds(times.p999()));
    line(out, name + "_count", count);
  }

  private static void head(StringBuilder out, String name, String type, String help) {
    out.append("# HELP sidbeam_").append(name).append(' ').append(help).append('\n');
    out.append("# TYPE sidbeam_").append(name).append(' ').append(type).append('\n');
  }

  private static void line(StringBuilder out, String name, double value) {
    String number = value == Math.rint(value) ? String.format(Locale.ROOT, "%.0f", value)
        : Double.isNaN(value) ? "NaN" : String.format(Locale.ROOT, "%.9g", value);
    out.append("sidbeam_").append(name).append(' ').append(number).append('\n');
  }
}
