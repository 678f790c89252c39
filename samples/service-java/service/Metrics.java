// SPDX-License-Identifier: Apache-2.0
package service;

import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** What /metrics says of requests and reloads, in Prometheus' text format. */
final class Metrics {
  /** Of the histogram's buckets, in seconds. */
  private static final double[] BOUNDS = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

  private static final class Histogram {
    final long[] counts = new long[BOUNDS.length + 1]; // by the first bound that a time does not exceed, or of longer
    double sum;
  }

  private final Map<String, Map<Integer, Long>> requests = new TreeMap<>(); // by route and HTTP status
  private final Map<String, Histogram> times = new TreeMap<>(); // by route
  private long reloads;
  private long failedReloads;
  private long failedRefreshes;
  private long lists; // requests with lists of items
  private long texts; // requests with a filter's text
  private final Map<String, Long> filters = new TreeMap<>(); // requests by named filter

  synchronized void request(String route, int status, long nanos) {
    requests.computeIfAbsent(route, name -> new TreeMap<>()).merge(status, 1L, Long::sum);
    Histogram histogram = times.computeIfAbsent(route, name -> new Histogram());
    double seconds = nanos / 1e9;
    int place = Arrays.binarySearch(BOUNDS, seconds);
    histogram.counts[place < 0 ? -place - 1 : place]++;
    histogram.sum += seconds;
  }

  /**
   * Counts a request whose rules were understood. Filters are counted by their names, which the settings bound; texts
   * are the clients', without bound.
   */
  synchronized void ruled(Question asked) {
    lists += asked.exclude() != null || asked.allow() != null ? 1 : 0;
    texts += asked.where() != null ? 1 : 0;
    if (asked.filter() != null) {
      filters.merge(asked.filter(), 1L, Long::sum);
    }
  }

  synchronized void reload(boolean done) {
    reloads += done ? 1 : 0;
    failedReloads += done ? 0 : 1;
  }

  synchronized void refreshFailed() {
    failedRefreshes++;
  }

  synchronized void requests(StringBuilder out) {
    head(out, "requests_total", "counter", "Requests by route of the contract and HTTP status.");
    requests.forEach((route, counts) -> counts.forEach((status, count) ->
        line(out, "requests_total{route=\"" + route + "\",code=\"" + status + "\"}", count)));
    head(out, "request_seconds", "histogram", "Time from the arrival of a request to its answer.");
    times.forEach((route, histogram) -> {
      String label = "route=\"" + route + "\"";
      long count = 0;
      for (int i = 0; i <= BOUNDS.length; i++) {
        String bound = i == BOUNDS.length ? "+Inf" : Double.toString(BOUNDS[i]).replaceFirst("\\.0$", "");
        count += histogram.counts[i];
        line(out, "request_seconds_bucket{" + label + ",le=\"" + bound + "\"}", count);
      }
      line(out, "request_seconds_sum{" + label + "}", histogram.sum);
      line(out, "request_seconds_count{" + label + "}", count);
    });
  }

  /** What is served, the reloads that have been, and requests under rules. */
  synchronized void index(StringBuilder out, Serving serving) {
    head(out, "index_info", "gauge", "1, of the version that is served.");
    line(out, "index_info{version=\"" + serving.version + "\"}", 1);
    number(out, "index_items", "gauge", "Items of the index that is served.", serving.info.liveItems());
    number(out, "reloads_total", "counter", "Reloads of the index.", reloads);
    number(out, "reload_failures_total", "counter", "Reloads that failed; the index before them stayed.",
        failedReloads);
    number(out, "list_requests_total", "counter", "Requests with excluded or allowed items.", lists);
    number(out, "where_requests_total", "counter", "Requests with a filter's text.", texts);
    head(out, "filter_requests_total", "counter", "Requests with a filter of the settings.");
    for (String name : serving.filters.names()) {
      line(out, "filter_requests_total{filter=\"" + name + "\"}", filters.getOrDefault(name, 0L));
    }
    if (serving.published != null) {
      number(out, "catalog_refresh_errors_total", "counter", "Times that a followed catalogue could not be read.",
          failedRefreshes);
    }
  }

  static void number(StringBuilder out, String name, String type, String help, double value) {
    head(out, name, type, help);
    line(out, name, value);
  }

  static void head(StringBuilder out, String name, String type, String help) {
    out.append("# HELP sidbeam_").append(name).append(' ').append(help).append('\n');
    out.append("# TYPE sidbeam_").append(name).append(' ').append(type).append('\n');
  }

  static void line(StringBuilder out, String name, double value) {
    String number = value == Math.rint(value) ? String.format(Locale.ROOT, "%.0f", value)
        : Double.isNaN(value) ? "NaN" : String.format(Locale.ROOT, "%.9g", value);
    out.append("sidbeam_").append(name).append(' ').append(number).append('\n');
  }
}
