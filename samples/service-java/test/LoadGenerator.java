// SPDX-License-Identifier: Apache-2.0
package test;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * Posts histories of random items to a service from several threads, and reports how it went.
 *
 * <pre>test.LoadGenerator URL [THREADS] [REQUESTS per thread] [ITEMS of the catalogue]</pre>
 */
public final class LoadGenerator {
  /**
   * What a request asks for beside its histories.
   *
   * @param members of its JSON, each after a comma
   * @param complaint of an answer: null where it keeps to them
   */
  record Rules(String members, UnaryOperator<String> complaint) {
    static final Rules NONE = new Rules("", body -> null);
  }

  private final URI uri;
  private final int items;
  private final Function<Random, Rules> rules;
  private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final AtomicBoolean stop = new AtomicBoolean();
  final AtomicInteger sent = new AtomicInteger();
  final Map<String, Integer> failures = new ConcurrentHashMap<>(); // what came instead of an answer
  final Map<String, Integer> versions = new ConcurrentHashMap<>(); // answers by version of the index

  LoadGenerator(String url, int items, Function<Random, Rules> rules) {
    uri = URI.create(url + "/recommend");
    this.items = items;
    this.rules = rules;
  }

  /** Loads until stopped. */
  CompletableFuture<long[]> start(int threads) {
    return CompletableFuture.supplyAsync(() -> {
      try {
        return run(threads, Integer.MAX_VALUE);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    });
  }

  /** Waits until this many more requests have been answered. */
  void answers(int more) {
    int until = sent.get() + more;
    while (sent.get() < until) {
      Thread.onSpinWait();
    }
  }

  /** Ends all threads after their next answer. */
  void stop() {
    stop.set(true);
  }

  /** Sends `requests` from each of `threads` threads, or until stopped; returns each answer's nanoseconds. */
  long[] run(int threads, int requests) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<Callable<List<Long>>> all = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        Random random = new Random(i);
        all.add(() -> send(random, requests));
      }
      List<Long> times = new ArrayList<>();
      for (Future<List<Long>> one : pool.invokeAll(all)) {
        times.addAll(one.get());
      }
      return times.stream().mapToLong(time -> time).sorted().toArray();
    } finally {
      pool.shutdown();
    }
  }

  private List<Long> send(Random random, int requests) {
    List<Long> times = new ArrayList<>();
    for (int i = 0; i < requests && !stop.get(); i++) {
      String histories = Arrays.toString(random.ints(3, 0, items).toArray()) + ", "
          + Arrays.toString(random.ints(1, 0, items).toArray());
      Rules drawn = rules.apply(random);
      HttpRequest request = HttpRequest.newBuilder(uri)
          .POST(HttpRequest.BodyPublishers.ofString("{\"histories\": [" + histories + "], \"k\": 5"
              + drawn.members() + "}")).build();
      long begin = System.nanoTime();
      try {
        HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
        times.add(System.nanoTime() - begin);
        check(response, drawn);
      } catch (Exception e) {
        failures.merge(e.toString(), 1, Integer::sum);
      }
      sent.incrementAndGet();
    }
    return times;
  }

  /** Two histories were asked for, five items each. */
  private void check(HttpResponse<String> response, Rules drawn) {
    String body = response.body();
    String complaint = response.statusCode() == 200 ? drawn.complaint().apply(body) : null;
    if (response.statusCode() != 200 || body.split("\"item\": ", -1).length != 11) {
      failures.merge(response.statusCode() + " " + body, 1, Integer::sum);
    } else if (complaint != null) {
      failures.merge(complaint, 1, Integer::sum);
    } else {
      versions.merge(version(body), 1, Integer::sum);
    }
  }

  /** The version that an answer names: a file's fingerprint, or the number of a live catalogue's. */
  static String version(String body) {
    return body.substring("{\"version\": ".length(), body.indexOf(", \"results\"")).replace("\"", "");
  }

  /** Loads a service that runs somewhere. */
  public static void main(String[] arguments) throws Exception {
    int threads = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 4;
    int requests = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 1000;
    LoadGenerator load = new LoadGenerator(arguments[0], arguments.length > 3 ? Integer.parseInt(arguments[3]) : 1000,
        random -> Rules.NONE);
    long begin = System.nanoTime();
    long[] times = load.run(threads, requests);
    System.out.printf("%d requests, %d failed, %.0f a second, p50 %.2f ms, p99 %.2f ms%n", load.sent.get(),
        load.failures.values().stream().mapToInt(n -> n).sum(), load.sent.get() / ((System.nanoTime() - begin) / 1e9),
        times.length == 0 ? Double.NaN : times[times.length / 2] / 1e6,
        times.length == 0 ? Double.NaN : times[times.length * 99 / 100] / 1e6);
    load.failures.forEach((what, count) -> System.out.println(count + " x " + what));
    System.exit(load.failures.isEmpty() ? 0 : 1);
  }
}
