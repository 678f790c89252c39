// SPDX-License-Identifier: Apache-2.0
package service; // whose classes are its own

import io.sidbeam.AttributeType;
import io.sidbeam.AttributeValues;
import io.sidbeam.Builder;
import io.sidbeam.BuilderConfig;
import io.sidbeam.Catalog;
import io.sidbeam.Index;
import io.sidbeam.ItemList;
import io.sidbeam.Pairs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** A running request keeps its version. Takes a folder to work in, and a model. */
public final class VersionsTest {
  private static final int ITEMS = 64; // whose prices are their ids
  private static final ScheduledExecutorService THREADS = Executors.newSingleThreadScheduledExecutor();

  private VersionsTest() {}

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  /** Waits for what another thread does. */
  private static void until(String what, BooleanSupplier holds) {
    for (long begin = System.nanoTime(); !holds.getAsBoolean();) {
      check(System.nanoTime() - begin < 60e9, "not within a minute: " + what);
      Thread.onSpinWait();
    }
  }

  private static Options live(Path folder, String model, String... more) throws Exception {
    Path live = Files.createTempDirectory(folder, "live");
    try (Builder builder = new Builder(new BuilderConfig(16, 16, 16))) {
      builder.declareAttribute("price", AttributeType.I64);
      builder.add(IntStream.range(0, ITEMS).flatMap(id -> IntStream.of(id / 16, id % 16, id % 7)).toArray(), null,
          LongStream.range(0, ITEMS).toArray(), null);
      builder.setAttribute("price", AttributeValues.of(LongStream.range(0, ITEMS).toArray()));
      try (Index base = builder.finish()) {
        Catalog.create(base, live).close();
      }
    }
    String[] options = {"--model", model, "--index", live.toString(), "--offsets", "0,16,32", "--beams", "8",
        "--lanes", "1", "--prompt", "9"};
    String[] all = Arrays.copyOf(options, options.length + more.length);
    System.arraycopy(more, 0, all, options.length, more.length);
    return new Options(all);
  }

  private static void publish(Versions versions, long id) {
    versions.live.add(new Pairs(4, 0, 0).ids(id).attribute("price", AttributeValues.of(1L)));
    versions.live.publish();
    versions.advance();
  }

  private static long pinned(Versions versions) {
    return versions.inUse(versions.live.versions());
  }

  private static String answer(Recommender recommender, Serving serving, Options options) {
    Question asked = Question.read("{\"histories\": [[[1, 2, 3]]], \"k\": 8, \"filter\": \"cheap\"}", options);
    return recommender.answer(Scope.of(serving, asked), asked.known(serving), asked.k(),
        System.nanoTime() + 60_000_000_000L, THREADS).join();
  }

  private static void runningRequestsKeepTheirVersion(Path folder, String model) throws Exception {
    Path settings = Files.writeString(folder.resolve("versions.json"), "{\"cheap\": \"price<40\"}");
    Options options = live(folder, model, "--keep", "2", "--filters", settings.toString());
    try (Versions versions = new Versions(options)) {
      Serving first = versions.enter();
      try (Recommender recommender = new Recommender(options, first)) {
        String before = answer(recommender, first, options);
        long[] found = Pattern.compile("\"id\":(\\d+)").matcher(before).results()
            .mapToLong(item -> Long.parseLong(item.group(1))).toArray();
        check(found.length == 8, before);
        versions.live.remove(ItemList.ofIds(found));
        publish(versions, 2000);
        Serving next = versions.enter();
        try (Filters.Use use = next.filters.use("cheap", null)) {
          check(use.filter.info().prepared(), "a request would wait for its filter");
        }
        check(pinned(versions) == 2, "both versions are in use: " + versions.live.versions());
        String after = answer(recommender, next, options);
        check(answer(recommender, first, options).equals(before), "the first version has changed");
        check(before.startsWith("{\"version\":1,") && after.startsWith("{\"version\":2,"), before + after);
        for (long id : found) {
          check(!after.contains("\"id\":" + id + ","), id + " is gone: " + after);
          check(first.sid(id) != null && next.sid(id) == null, id + " is known to the first version alone");
        }
        check(first.sid(2000L) == null && Arrays.equals(next.sid(2000L), new int[] {4, 0, 0}), "the new item");
        next.leave();
        first.leave();
        check(first.index.isClosed(), "the first version went with its last request");
        until("it is no longer in use", () -> pinned(versions) == 1); // the lane gives it up after its answer
      }
    }
  }

  /** A version that is too old can no longer be gone back to, and counts as in use as long as a request holds it. */
  private static void requestsOutliveTheAgeOfTheirVersion(Path folder, String model) throws Exception {
    try (Versions versions = new Versions(live(folder, model, "--keep", "10000", "--keep-age", "1ms"))) {
      Serving first = versions.enter();
      for (int i = 0; versions.live.info().oldestVersion() == 1; i++) {
        check(i < 1000, "version 1 is kept after " + i + " publishes");
        publish(versions, 2000 + i);
      }
      check(pinned(versions) == 2, "the first version and the newest are in use: " + versions.live.versions());
      first.leave();
      check(pinned(versions) == 1, "the newest alone is in use: " + versions.live.versions());
    }
  }

  private static void closedVersionsRefuse(Path folder, String model) throws Exception {
    Versions versions = new Versions(live(folder, model));
    Serving running = versions.enter();
    versions.close();
    check(!running.index.isClosed(), "a request that runs keeps its version");
    running.leave();
    refuses(versions::enter);
    refuses(versions::reload);
    refuses(versions::advance);
  }

  private static void refuses(Runnable call) {
    try {
      call.run();
      check(false, "expected a closed service to refuse");
    } catch (Refusal e) {
      check(e == Refusal.DRAINING, e.toString());
    }
  }

  private static void precedence() {
    int[][] rising = {{0, 1}, {0, 2, 1}, {0, 2, 3}, {0, 2}, {0}, {1}}; // the end after every code
    for (int i = 0; i < rising.length; i++) {
      for (int j = 0; j < rising.length; j++) {
        check(Serving.precedes(rising[i], rising[j]) == i < j, Arrays.toString(rising[i]) + Arrays.toString(rising[j]));
      }
    }
  }

  /** Exits with 1, and says why, unless all holds. */
  public static void main(String[] arguments) throws Exception {
    Path folder = Files.createDirectories(Path.of(arguments[0]));
    try {
      runningRequestsKeepTheirVersion(folder, arguments[1]);
      requestsOutliveTheAgeOfTheirVersion(folder, arguments[1]);
      closedVersionsRefuse(folder, arguments[1]);
      precedence();
    } finally {
      THREADS.shutdown();
    }
  }
}
