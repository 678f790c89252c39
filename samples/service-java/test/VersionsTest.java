// SPDX-License-Identifier: Apache-2.0
package service; // whose classes are its own

import io.sidbeam.ItemList;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.regex.Pattern;
import test.LivePairs;
import test.Running;

/** A running request keeps its version. And tokens that cannot be used. Takes what ServiceTest does. */
public final class VersionsTest {
  private VersionsTest() {}

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  private static long pinned(Versions versions) {
    return versions.inUse(versions.live.versions());
  }

  private static void runningRequestsKeepTheirVersion(Path folder, String model) throws Exception {
    Path live = Files.createTempDirectory(folder, "versions");
    LivePairs.base().create(live);
    Path settings = Files.writeString(folder.resolve("versions.json"), "{\"cheap\": \"price<40\"}");
    Options options = Options.parse(new String[] {model, live.toString(), "--offsets", "0,16,32", "--beams", "8",
        "--lanes", "1", "--prompt", "9", "--keep", "2", "--filters", settings.toString()});
    try (Versions versions = new Versions(options)) {
      Serving first = versions.enter();
      try (Recommender recommender = new Recommender(options, first, new Metrics())) {
        String body = "{\"histories\": [[[1, 2, 3]]], \"k\": 8, \"filter\": \"cheap\"}";
        String before = recommender.answer(first, body);
        long[] found = Pattern.compile("\"item\": (\\d+)").matcher(before).results()
            .mapToLong(item -> Long.parseLong(item.group(1))).toArray();
        versions.live.remove(ItemList.ofIds(found));
        new Changes(options, versions, first).add("{\"items\": [{\"id\": 2000, \"sid\": [4, 0, 0], \"attributes\": "
            + "{\"price\": 1}}]}");
        versions.live.publish();
        versions.advance();
        Serving next = versions.enter();
        try (Filters.Use use = next.filters.use("cheap", null)) {
          check(use.filter.info().prepared(), "a request would wait for its filter");
        }
        check(pinned(versions) == 2, "both versions are in use: " + versions.live.versions());
        String after = recommender.answer(next, body);
        check(recommender.answer(first, body).equals(before), "the first version has changed");
        check(before.startsWith("{\"version\": 1,") && after.startsWith("{\"version\": 2,"), before + after);
        for (long id : found) {
          check(!after.contains("\"item\": " + id + ","), id + " is gone: " + after);
          check(first.sid(id) != null && next.sid(id) == null, id + " is known to the first version alone");
        }
        check(first.sid(2000L) == null && Arrays.equals(next.sid(2000L), new int[] {4, 0, 0}), "the new item");
        next.leave();
        first.leave();
        check(first.index.isClosed(), "the first version went with its last request");
        Running.until("it is no longer in use", () -> pinned(versions) == 1); // the lane gives it up after its answer
      }
    }
  }

  /** A version that is too old can no longer be gone back to, and counts as in use as long as a request holds it. */
  private static void requestsOutliveTheAgeOfTheirVersion(Path folder, String model) throws Exception {
    Path live = Files.createTempDirectory(folder, "old");
    LivePairs.base().create(live);
    Options options = Options.parse(new String[] {model, live.toString(), "--keep", "10000", "--keep-age", "0.001s"});
    try (Versions versions = new Versions(options)) {
      Serving first = versions.enter();
      Changes changes = new Changes(options, versions, first);
      for (int i = 0; versions.live.info().oldestVersion() == 1; i++) {
        check(i < 1000, "version 1 is kept after " + i + " publishes");
        changes.add(new LivePairs().put(2000 + i, 77, 4, 0, 0).body());
        versions.live.publish();
        versions.advance();
      }
      check(pinned(versions) == 2, "the first version and the newest are in use: " + versions.live.versions());
      first.leave();
      check(pinned(versions) == 1, "the newest alone is in use: " + versions.live.versions());
    }
    try {
      check(false, "" + Options.parse(new String[] {model, live.toString(), "--keep-age", "3600"}));
    } catch (IllegalArgumentException e) {
      check(e.getMessage().startsWith("cannot use --keep-age 3600\nusage: "), e.getMessage());
    }
  }

  private static void closedVersionsRefuse(Path folder, String model) throws Exception {
    Path live = Files.createTempDirectory(folder, "closed");
    LivePairs.base().create(live);
    Versions versions = new Versions(Options.parse(new String[] {model, live.toString()}));
    Serving running = versions.enter();
    versions.close();
    check(!running.index.isClosed(), "a request that runs keeps its version");
    running.leave();
    try {
      versions.enter();
      check(false, "entered a closed version");
    } catch (Service.Refusal e) {
      check(e.status == 503 && e.getMessage().equals("the service is closed"), e.status + " " + e.getMessage());
    }
    try {
      check(false, "reloaded " + versions.reload());
    } catch (IllegalStateException e) {
      check(e.getMessage().equals("the service is closed"), e.getMessage());
    }
  }

  private static void refusesTokens(Path folder) throws Exception {
    Path file = folder.resolve("no_token");
    Files.deleteIfExists(file);
    refusesToken(file, "given", "cannot read the token: java.nio.file.NoSuchFileException: " + file);
    for (String text : new String[] {"", "\n", "two words", "\u00e9", "a\nb"}) {
      Files.writeString(file, text);
      refusesToken(file, "given", "the token in " + file + " is empty, or has other characters than printable ASCII");
    }
    refusesToken(null, "two words", "the token in SIDBEAM_TOKEN is empty, or");
    for (Map.Entry<String, String> one : Map.of("", "null", " a-b\n", "a-b").entrySet()) {
      check(String.valueOf(Token.read(null, one.getKey()).text()).equals(one.getValue()), one.getKey());
    }
  }

  private static void refusesToken(Path file, String variable, String message) {
    try {
      check(false, Token.read(file, variable).text() + " was taken, expected " + message);
    } catch (IllegalArgumentException e) {
      check(e.getMessage().startsWith(message), e.getMessage());
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
    runningRequestsKeepTheirVersion(folder, arguments[1]);
    requestsOutliveTheAgeOfTheirVersion(folder, arguments[1]);
    closedVersionsRefuse(folder, arguments[1]);
    refusesTokens(folder);
    precedence();
  }
}
