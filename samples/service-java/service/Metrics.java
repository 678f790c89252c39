// SPDX-License-Identifier: Apache-2.0
package service;

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
  private long beams;
  private long legalBeams;
  private long reloads;
  private long failedReloads;

  synchronized void request(int status, long took) {
    requests.merge(status, 1L, Long::sum);
    if (status == 200) {
      nanos[(int) (answered++ % WINDOW)] = took;
      seconds += took / 1e9;
    }
  }

  synchronized void beams(long all, long legal) {
    beams += all;
    legalBeams += legal;
  }

  synchronized void reload(boolean done) {
    if (done) {
      reloads++;
    } else {
      failedReloads++;
    }
  }

  synchronized String text(String version, long items) {
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
    head(out, "legal_share", "gauge", "Share of returned beams that are items");
    line(out, "legal_share", beams == 0 ? Double.NaN : (double) legalBeams / beams);
    head(out, "index_info", "gauge", "Fingerprint of the index that is served");
    line(out, "index_info{version=\"" + version + "\"}", 1);
    head(out, "index_items", "gauge", "Items of the index that is served");
    line(out, "index_items", items);
    head(out, "reloads_total", "counter", "Reloads of the index");
    line(out, "reloads_total", reloads);
    head(out, "reload_failures_total", "counter", "Reloads that failed; the index before them stayed");
    line(out, "reload_failures_total", failedReloads);
    return out.toString();
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
