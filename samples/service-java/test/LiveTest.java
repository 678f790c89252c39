// SPDX-License-Identifier: Apache-2.0
package test;

import static java.nio.charset.StandardCharsets.UTF_8;
import static test.Running.check;

import io.sidbeam.Catalog;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A service over a live catalogue, which it writes, and one that follows it. Takes what ServiceTest does. */
public final class LiveTest {
  private static final int PUBLISHES = 60;
  private static final String HISTORIES = "{\"histories\": [[0, 17, 299], [205, 210, 5], [1]], \"k\": 8";

  private final Path folder;
  private final Path model;
  private final Path live;
  private final Path filters;
  private final Path file;
  private Running service;
  private Running rebuilt; // its index holds what is live

  private LiveTest(Path folder, Path model) {
    this.folder = folder;
    this.model = model;
    live = folder.resolve("live");
    filters = folder.resolve("live_filters.json");
    file = folder.resolve("rebuilt.sidx");
  }

  private Running start(Path index, String... more) throws Exception {
    String[] options = {"--beams", "8", "--offsets", "0,16,32", "--lanes", "2", "--prompt", "9", "--where-kept", "1",
        "--filters", filters.toString()};
    return new Running(model, index, Stream.concat(Arrays.stream(options), Arrays.stream(more)).toArray(String[]::new));
  }

  private void writeFilters(String text) throws Exception {
    Path fresh = Files.writeString(Path.of(filters + ".new"), text);
    Files.move(fresh, filters, StandardCopyOption.ATOMIC_MOVE);
  }

  /** Expects a version, and the answers of a service whose index has these pairs and no others. */
  private void checkServed(Running service, long version, LivePairs pairs) throws Exception {
    pairs.write(file);
    check(rebuilt.ask("POST", "/reload", "").statusCode() == 200, "no reload");
    for (String rules : List.of("", ", \"filter\": \"cheap\"", ", \"where\": \"price>=30\", \"exclude\": [3, 4, 2000]",
        ", \"where\": \"price=77\"", ", \"allow\": [17, 205, 2000, 2001, 2002]")) {
      String expected = rebuilt.ask("POST", "/recommend", HISTORIES + rules + "}").body();
      String got = service.ask("POST", "/recommend", HISTORIES + rules + "}").body();
      check(expected.contains("\"item\"") && got.equals("{\"version\": " + version
          + expected.substring(expected.indexOf(", \"results\""))), rules + ": expected of " + version + "\n" + expected
          + "got\n" + got);
    }
  }

  private void itemsComeAndGo() throws Exception {
    LivePairs pairs = LivePairs.base();
    checkServed(service, 1, pairs);
    LivePairs added = new LivePairs().put(2000, 77, 4, 0, 0).put(2001, 5, 0, 9, 0).put(2001, 5, 8, 9, 0);
    service.does("{\"added\": 3}", "POST", "/items", added.body());
    checkServed(service, 1, pairs); // nobody sees it yet
    service.does("{\"version\": 2}", "POST", "/publish", "");
    service.does("{\"version\": 2}", "POST", "/publish", "");
    pairs.put(added);
    checkServed(service, 2, pairs);

    service.does("{\"removed\": 205}", "DELETE", "/items/205", "");
    service.refuses(404, "there is no item 205", "DELETE", "/items/205", "");
    service.does("{\"removed\": 17}", "DELETE", "/items/17", "");
    pairs.remove(205);
    pairs.remove(17);
    LivePairs changed = pairs.least(210, 77); // of two SIDs, which now is the second by row
    changed.put(17, 17, 5, 1, 1); // moves
    service.does("{\"added\": 2}", "POST", "/items", changed.body());
    service.does("{\"version\": 3}", "POST", "/publish", "");
    pairs.put(changed);
    checkServed(service, 3, pairs);

    service.does("{\"removed\": 0}", "DELETE", "/items/0", "");
    service.does("{\"version\": 4}", "POST", "/rollback", "{\"version\": 1}");
    checkServed(service, 4, LivePairs.base());
    service.does("{\"version\": 4}", "POST", "/publish", ""); // the rollback dropped what waited
    service.does("{\"version\": 5}", "POST", "/rollback", "{\"version\": 3}");
    service.does("{\"version\": 6}", "POST", "/compact", "");
    checkServed(service, 6, pairs);
    service.does("{\"version\": 7}", "POST", "/rollback", "{\"version\": 2}"); // of the generation before
    service.does("{\"version\": 8}", "POST", "/rollback", "{\"version\": 6}");
    checkServed(service, 8, pairs);
    service.does("{\"version\": 9}", "POST", "/rollback", "{\"version\": 1}");
  }

  private String cheap() throws Exception {
    String answer = service.ask("POST", "/recommend", HISTORIES + ", \"filter\": \"cheap\"}").body();
    return answer.substring(answer.indexOf("\"results\""));
  }

  /** A publish keeps the filters that were read, and a reload reads them again. */
  private void keepsFilters() throws Exception {
    String nothing = "\"results\": [[], [], []]}\n";
    String before = cheap();
    writeFilters("{\"cheap\": \"price<0\"}");
    service.does("{\"added\": 1}", "POST", "/items", new LivePairs().put(2000, 99, 15, 15, 15).body());
    service.does("{\"version\": 10}", "POST", "/publish", "");
    check(cheap().equals(before) && !before.equals(nothing), "expected the filter that was read: " + cheap());
    service.does("{\"version\": 10}", "POST", "/reload", "");
    check(cheap().equals(nothing), "expected the new filter: " + cheap());
    writeFilters("{\"cheap\": \"price<\"}");
    service.refuses(500, "filter \\\"cheap\\\"", "POST", "/reload", "");
    service.does("{\"version\": 11}", "POST", "/rollback", "{\"version\": 9}");
    check(cheap().equals(nothing), "expected the filter that was read last: " + cheap());
    writeFilters("{\"cheap\": \"price<40\"}");
    service.does("{\"version\": 11}", "POST", "/reload", "");
    check(cheap().equals(before), "expected the first filter: " + cheap());
  }

  private void tellsHowItStands() throws Exception {
    check(service.metric("catalog_version") == 11 && service.metric("index_info{version=\"11\"}") == 1, "version");
    check(service.metric("index_items") == LivePairs.base().size(), "items " + service.metric("index_items"));
    check(service.metric("catalog_pinned_versions") == 1, "pinned " + service.metric("catalog_pinned_versions"));
    double age = service.metric("catalog_age_seconds");
    check(age >= 0 && age < 600, "age " + age);
    check(service.metric("catalog_changes") == 0 && service.metric("catalog_compact_soon") == 0
        && service.metric("catalog_unsynced_bytes") == 0 && service.metric("catalog_log_failed") == 0
        && service.metric("catalog_refresh_errors_total") == 0, "metrics");
    double log = service.metric("catalog_log_bytes");
    LivePairs many = new LivePairs();
    for (int i = 0; i < 20; i++) {
      many.put(3000 + i, 1, 9, 9, i % 10);
    }
    service.does("{\"added\": 20}", "POST", "/items", many.body());
    service.does("{\"removed\": 1}", "DELETE", "/items/1", "");
    check(service.metric("catalog_changes") == 2 && service.metric("catalog_version") == 11, "changes");
    service.does("{\"version\": 12}", "POST", "/publish", "");
    check(service.metric("catalog_changes") == 0 && service.metric("catalog_compact_soon") == 1
        && service.metric("index_items") == LivePairs.base().size() + 19, "published");
    check(log > 0 && service.metric("catalog_log_bytes") > log, "log " + log);
    String versions = service.ask("GET", "/versions", "", null).body();
    check(versions.startsWith("{\"version\": 12, \"versions\": [{\"version\": 1, \"generation\": 1, \"published\": \"")
        && versions.split("\"generation\": ", -1).length == 13 && versions.contains("\"changed\": 21, "), versions);
    service.does("{\"version\": 13}", "POST", "/rollback", "{\"version\": 1}");
  }

  private static double metric(Running service, String name) {
    try {
      return service.metric(name);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private void isFollowed() throws Exception {
    try (Running follower = start(live, "--follow", "true")) {
      LivePairs pairs = LivePairs.base();
      checkServed(follower, 13, pairs);
      for (String[] change : new String[][] {{"POST", "/items", "{}"}, {"DELETE", "/items/0", ""},
          {"POST", "/publish", ""}, {"POST", "/rollback", "{\"version\": 1}"}, {"POST", "/compact", ""}}) {
        follower.refuses(409, "live is followed: expected changes by the process that writes it", change[0], change[1],
            change[2]);
      }
      service.does("{\"removed\": 205}", "DELETE", "/items/205", "");
      pairs.remove(205);
      service.does("{\"version\": 14}", "POST", "/publish", "");
      Running.until("version 14", () -> metric(follower, "catalog_version") == 14);
      checkServed(follower, 14, pairs);
      // A folder that cannot be read leaves the version.
      Path manifest = live.resolve("catalog.live");
      Path away = Files.move(manifest, folder.resolve("manifest.away"));
      follower.refuses(500, "catalog.live", "POST", "/reload", "");
      Running.until("a failure", () -> metric(follower, "catalog_refresh_errors_total") > 0);
      checkServed(follower, 14, pairs);
      Files.move(away, manifest);
      service.does("{\"version\": 15}", "POST", "/compact", "");
      Running.until("version 15", () -> metric(follower, "catalog_version") == 15);
      checkServed(follower, 15, pairs);
      LivePairs added = new LivePairs().put(2000, 77, 4, 0, 0);
      service.does("{\"added\": 1}", "POST", "/items", added.body());
      service.does("{\"version\": 16}", "POST", "/publish", "");
      follower.does("{\"version\": 16}", "POST", "/reload", "");
      pairs.put(added);
      checkServed(follower, 16, pairs);
    }
    service.does("{\"version\": 17}", "POST", "/rollback", "{\"version\": 13}");
  }

  /** What a request asks for, and whether each item of its answer is live in the version that it names. */
  private static LoadGenerator.Rules draw(Random random, Map<String, LivePairs> versions) {
    String members = List.of("", ", \"filter\": \"cheap\"", ", \"where\": \"price<40\", \"exclude\": [1]")
        .get(random.nextInt(3));
    return new LoadGenerator.Rules(members, body -> {
      LivePairs pairs = versions.get(LoadGenerator.version(body));
      for (MatchResult item : Pattern.compile("\"item\": (\\d+)").matcher(body).results().toList()) {
        if (!pairs.has(Long.parseLong(item.group(1)), members.isEmpty() ? Long.MAX_VALUE : 40)) {
          return item.group(1) + " has no place in " + body;
        }
      }
      return null;
    });
  }

  private void publishesUnderLoad() throws Exception {
    LivePairs pairs = LivePairs.base();
    Map<String, LivePairs> versions = new ConcurrentHashMap<>(Map.of("17", pairs.copy()));
    LoadGenerator load = new LoadGenerator(service.url, 100, random -> draw(random, versions)); // items that stay
    CompletableFuture<long[]> done = load.start(4);
    Random random = new Random(9);
    for (int version = 18; version < 18 + PUBLISHES; version++) {
      long gone = 100 + random.nextInt(200);
      service.ask("DELETE", "/items/" + gone, "");
      pairs.remove(gone);
      LivePairs added = new LivePairs().put(100 + random.nextInt(200), random.nextInt(80), random.nextInt(4),
          random.nextInt(4), random.nextInt(8));
      pairs.put(added);
      service.does("{\"added\": 1}", "POST", "/items", added.body());
      versions.put(Integer.toString(version), pairs.copy());
      service.does("{\"version\": " + version + "}", "POST", "/publish", "");
      load.answers(5);
    }
    load.stop();
    long[] times = done.get();
    check(load.failures.isEmpty(), "failed requests: " + load.failures);
    check(load.versions.size() > PUBLISHES / 4, "few versions were seen under load: " + load.versions);
    int last = 18 + PUBLISHES;
    service.does("{\"version\": " + last + "}", "POST", "/compact", ""); // which orders a SID's items
    checkServed(service, last, pairs);
    System.out.printf("%d requests during %d publishes, none failed, %d versions seen%n", times.length, PUBLISHES,
        load.versions.size());
  }

  /** There is one writer, and it closes the catalogue when it ends. */
  private void ends() throws Exception {
    Process second = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
        System.getProperty("java.class.path"), "service.Service", model.toString(), live.toString())
        .redirectErrorStream(true).start();
    String text = new String(second.getInputStream().readAllBytes(), UTF_8);
    check(second.waitFor() == 1 && text.contains("process " + service.process.pid()), "a second writer: " + text);
    service.close();
    try (Catalog catalog = Catalog.open(live)) {
      check(catalog.info().version() == 18 + PUBLISHES && catalog.info().unsyncedBytes() == 0, "" + catalog.info());
    }
    check(Files.readString(Path.of(live + ".log")).lines().allMatch(line -> line.contains("version 14 stays")),
        "unexpected:\n" + Files.readString(Path.of(live + ".log")));
  }

  private void run() throws Exception {
    if (Files.exists(live)) {
      try (Stream<Path> old = Files.walk(live)) {
        old.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
      }
    }
    LivePairs.base().create(live);
    LivePairs.base().write(file);
    writeFilters("{\"cheap\": \"price<40\"}");
    try (Running first = start(live, "--keep", "100"); Running second = start(file)) {
      service = first;
      rebuilt = second;
      itemsComeAndGo();
      keepsFilters();
      tellsHowItStands();
      isFollowed();
      publishesUnderLoad();
      ends();
    }
  }

  /** Exits with 1, and says why, unless all holds. */
  public static void main(String[] arguments) throws Exception {
    new LiveTest(Files.createDirectories(Path.of(arguments[0])), Path.of(arguments[1])).run();
  }
}
