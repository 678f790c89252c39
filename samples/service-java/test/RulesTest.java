// SPDX-License-Identifier: Apache-2.0
package test;

import static java.nio.charset.StandardCharsets.UTF_8;
import static test.Running.check;

import io.sidbeam.AttributeType;
import io.sidbeam.AttributeValues;
import io.sidbeam.Builder;
import io.sidbeam.BuilderConfig;
import io.sidbeam.IdType;
import io.sidbeam.Index;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongPredicate;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.LongStream;

/** Requests under rules: excluded and allowed items, filters by text and by name. Takes what ServiceTest does. */
public final class RulesTest {
  private static final int ITEMS = 500;
  private static final int RELOADS = 9;
  private static final String[] OPTIONS = {"--beams", "8", "--offsets", "0,16,32", "--lanes", "2", "--prompt", "9",
      "--listed", "300", "--where-bytes", "200", "--where-kept", "4"};

  private final Path folder;
  private final Path model;
  private final Path file;
  private final Path filters;
  private Running service;

  private RulesTest(Path folder, Path model) {
    this.folder = folder;
    this.model = model;
    file = folder.resolve("ruled.sidx");
    filters = folder.resolve("filters.json");
  }

  /** Replaces a catalogue by the items that are kept, whose prices are their ids modulo 100, and gives its version. */
  private static String write(Path file, LongPredicate kept) {
    Random random = new Random(7);
    int[][] sids = new int[ITEMS][]; // several items per SID
    for (int id = 0; id < ITEMS; id++) {
      sids[id] = new int[] {random.nextInt(4), random.nextInt(4), random.nextInt(16)};
    }
    long[] ids = LongStream.range(0, ITEMS).filter(kept).toArray();
    try (Builder builder = new Builder(new BuilderConfig(16, 16, 16))) {
      builder.declareAttribute("price", AttributeType.I64);
      builder.add(LongStream.of(ids).boxed().flatMapToInt(id -> Arrays.stream(sids[id.intValue()])).toArray(),
          null, ids, null);
      builder.setAttribute("price", AttributeValues.of(LongStream.of(ids).map(id -> id % 100).toArray()));
      builder.write(file);
    }
    return Index.peek(file).fingerprint();
  }

  private void writeFilters(String text) throws Exception {
    Path fresh = Files.writeString(Path.of(filters + ".new"), text);
    Files.move(fresh, filters, StandardCopyOption.ATOMIC_MOVE);
  }

  private String[] options() {
    List<String> all = new ArrayList<>(List.of(OPTIONS));
    all.addAll(List.of("--filters", filters.toString()));
    return all.toArray(String[]::new);
  }

  private static String recommend(Running service, String rules) throws Exception {
    HttpResponse<String> response =
        service.ask("POST", "/recommend", "{\"histories\": [[0, 17], [300]], \"k\": 8" + rules + "}");
    check(response.statusCode() == 200, rules + " gave " + response.statusCode() + " " + response.body());
    return response.body();
  }

  /** The results of an answer, and what follows them. */
  private static String results(String answer) {
    return answer.substring(answer.indexOf("\"results\""), answer.lastIndexOf(']') + 1);
  }

  private record Case(String rules, String counts, LongPredicate kept) {}

  /** The items and scores of a service whose index holds the allowed items alone. What histories hold stays in it: the
   * model reads it. */
  private void findsWhatAnIndexOfTheAllowedItemsHas() throws Exception {
    LongPredicate all = id -> true;
    List<Case> cases = List.of(new Case("", "", all),
        new Case(", \"exclude\": null, \"allow\": null, \"where\": null, \"filter\": null", "", all),
        new Case(", \"exclude\": [ 1 , 2, 1, 777, 778]", ", \"unknown_excluded\": 2", id -> id != 1 && id != 2),
        new Case(", \"exclude\": []", ", \"unknown_excluded\": 0", all),
        new Case(", \"filter\": \"cheap\"", "", id -> id % 100 < 40),
        new Case(", \"where\": \"price between 17 and 60 or price=0\"", "",
            id -> id % 100 >= 17 && id % 100 <= 60 || id % 100 == 0),
        new Case(", \"where\": \"price>10 or price=0\", \"filter\": \"cheap\", \"exclude\": [20, -5]",
            ", \"unknown_excluded\": 1", id -> id % 100 < 40 && (id % 100 > 10 || id % 100 == 0) && id != 20),
        new Case(", \"allow\": [0, 17, 300, 301, 302, 303, 304, 999], \"exclude\": [303]",
            ", \"unknown_excluded\": 0, \"unknown_allowed\": 1",
            id -> id == 0 || id == 17 || id >= 300 && id <= 304 && id != 303));
    Path alone = folder.resolve("alone.sidx");
    write(alone, all);
    try (Running other = new Running(model, alone, OPTIONS)) {
      for (Case one : cases) {
        check(one.kept.test(0) && one.kept.test(17) && one.kept.test(300), "histories hold what is left out");
        write(alone, one.kept);
        check(other.ask("POST", "/reload", "").statusCode() == 200, "no reload");
        String expected = results(recommend(other, ""));
        String got = recommend(service, one.rules);
        check(results(got).equals(expected) && got.endsWith("]" + one.counts + "}\n"),
            one.rules + ": expected\n" + expected + one.counts + ", got\n" + got);
      }
    }
    for (String nothing : List.of("\"allow\": []", "\"allow\": [-5]", "\"filter\": \"none\"", "\"where\": \"false\"")) {
      check(results(recommend(service, ", " + nothing)).equals("\"results\": [[], []]"), nothing + " left something");
    }
    check(service.metric("filter_requests_total{filter=\"cheap\"}") == 2, "cheap");
    check(service.metric("filter_requests_total{filter=\"none\"}") == 1, "none");
    check(service.metric("where_requests_total") == 3, "texts " + service.metric("where_requests_total"));
    check(service.metric("list_requests_total") == 6, "lists " + service.metric("list_requests_total"));
  }

  private void refusesRules() throws Exception {
    double before = service.metric("list_requests_total") + service.metric("where_requests_total");
    Map<String, String> refused = new TreeMap<>();
    refused.put("\"exclude\": 5", "exclude is no array of ids");
    refused.put("\"exclude\": {\"id\": 5}", "exclude is no array of ids");
    refused.put("\"exclude\": [1, \"2\"]",
        "exclude[1] is \\\"2\\\", expected an integer, as the ids of this index are");
    refused.put("\"allow\": [null]", "allow[0] is null, expected an integer");
    refused.put("\"allow\": [1.5]", "allow[0] is 1.5, expected an integer");
    refused.put("\"allow\": [[1]]", "allow[0] is [1], expected an integer");
    refused.put("\"exclude\": [" + "1,".repeat(300) + "1]", "exclude has 301 ids, expected at most 300");
    refused.put("\"where\": \"" + "(".repeat(201) + "\"", "where has 201 bytes, expected at most 200");
    refused.put("\"where\": 5", "where is 5, expected a text");
    refused.put("\"where\": \"\"", "where: at byte 0");
    refused.put("\"where\": \"price<\"", "where: at byte 6 (after `price<`): expected");
    refused.put("\"where\": \"price<1\\u0000\"", "where: at byte 7");
    refused.put("\"where\": \"cost<5\"", "where: column 'cost' is not there, expected one of 'price'");
    refused.put("\"where\": \"price=red\"", "where: column 'price' holds integers, expected an integer after =");
    refused.put("\"filter\": \"new\"", "filter is \\\"new\\\", expected one of [cheap, none]");
    refused.put("\"filter\": \"\"", "filter is \\\"\\\", expected one of [cheap, none]");
    refused.put("\"filter\": [\"cheap\"]", "filter is [cheap], expected a text");
    refused.put("\"filter\": \"cheap\", \"where\": \")\"", "where: at byte 0");
    refused.put("\"excluded\": [1]", "there is no member excluded, expected some of [histories, k, exclude, allow");
    for (Map.Entry<String, String> one : refused.entrySet()) {
      service.refuses(400, one.getValue(), "POST", "/recommend", "{\"histories\": [[1]], " + one.getKey() + "}");
    }
    check(service.metric("list_requests_total") + service.metric("where_requests_total") == before, "counted");
  }

  /** Filters that cannot be made refuse the catalogue: the old one stays with its own. */
  private void refusesFiltersOfTheSettings() throws Exception {
    Map<String, String> refused = Map.of(
        "{\"cheap\": \"price<40\", \"broken\": \"price<\"}", "filter \"broken\" of " + filters + ": at byte 6",
        "{\"gone\": \"cost<40\"}", "filter \"gone\" of " + filters + ": column 'cost' is not there",
        "{\"a b\": \"price<40\"}", "filter \"a b\" of " + filters + ": expected a name of 1 .. 64 letters",
        "{\"cheap\": 5}", "filter \"cheap\" of " + filters + ": expected a text",
        "[\"price<40\"]", "the filters of " + filters + ", expected {\"name\": \"text\"}: it is no object",
        "{", "the filters of " + filters + ", expected {\"name\": \"text\"}: JSON, character 1");
    String before = recommend(service, ", \"filter\": \"cheap\"");
    write(file, id -> id != 444);
    for (Map.Entry<String, String> one : refused.entrySet()) {
      writeFilters(one.getKey());
      service.refuses(500, one.getValue().replace("\"", "\\\""), "POST", "/reload", "");
      check(recommend(service, ", \"filter\": \"cheap\"").equals(before), "the old catalogue is gone");
      refusesToStart(one.getValue());
    }
    Files.delete(filters);
    service.refuses(500, "the filters of " + filters, "POST", "/reload", "");
    refusesToStart("the filters of " + filters);
    writeFilters("{\"cheap\": \"price<0\", \"dear\": \"price>=0\"}");
    check(service.ask("POST", "/reload", "").statusCode() == 200, "no reload");
    check(results(recommend(service, ", \"filter\": \"cheap\"")).equals("\"results\": [[], []]"), "the old filter");
    check(recommend(service, ", \"filter\": \"dear\"").contains("\"item\""), "the new filter leaves nothing");
  }

  private void refusesToStart(String message) throws Exception {
    List<String> command = new ArrayList<>(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
        System.getProperty("java.class.path"), "service.Service", model.toString(), file.toString()));
    command.addAll(List.of(options()));
    Process refused = new ProcessBuilder(command).redirectErrorStream(true).start();
    String text = new String(refused.getInputStream().readAllBytes(), UTF_8);
    check(refused.waitFor() == 2 && text.startsWith(message), "expected " + message + ", got " + text);
  }

  /** The i-th catalogue and its filter: gives the version, and puts the filter's bound into `most` by it. */
  private String replace(int i, Map<String, Integer> most) throws Exception {
    int bound = 30 + 20 * (i % 3);
    writeFilters("{\"cheap\": \"price<" + bound + "\"}");
    String version = write(file, id -> id != 400 + i % 3);
    most.put(version, bound);
    return version;
  }

  /** Rules of every kind, and whether an answer keeps to them, by the filter of the version that it names. */
  private static LoadGenerator.Rules draw(Random random, Map<String, Integer> most) {
    int from = random.nextInt(400);
    int least = random.nextInt(15); // more texts than are kept
    String excluded = LongStream.range(from, from + 60).boxed().toList().toString();
    String members = ", \"exclude\": " + excluded + ", \"where\": \"price>=" + least + "\", \"filter\": \"cheap\"";
    return new LoadGenerator.Rules(members, body -> {
      Integer bound = most.get(body.split("\"")[3]);
      for (MatchResult item : Pattern.compile("\"item\": (\\d+)").matcher(body).results().toList()) {
        int id = Integer.parseInt(item.group(1));
        if (bound == null || id % 100 < least || id % 100 >= bound || id >= from && id < from + 60) {
          return id + " has no place in the answer to " + members + ": " + body;
        }
      }
      return null;
    });
  }

  private void reloadsUnderLoad() throws Exception {
    Map<String, Integer> most = new ConcurrentHashMap<>();
    for (int i = 2; i >= 0; i--) {
      replace(i, most);
    }
    check(service.ask("POST", "/reload", "").statusCode() == 200, "no reload");
    double before = service.metric("filter_requests_total{filter=\"cheap\"}");
    LoadGenerator load = new LoadGenerator(service.url, 400, random -> draw(random, most)); // items of every version
    CompletableFuture<long[]> done = load.start(4);
    for (int i = 1; i <= RELOADS; i++) {
      load.answers(20);
      String version = replace(i, most);
      check(service.ask("POST", "/reload", "").body().contains(version), "the reload answered another version");
    }
    load.answers(20);
    load.stop();
    long[] times = done.get();
    check(load.failures.isEmpty(), "failed requests: " + load.failures);
    check(load.versions.size() == 3, "few versions were seen under load: " + load.versions);
    check(service.metric("filter_requests_total{filter=\"cheap\"}") == before + times.length, "counted");
    System.out.printf("%d requests under rules during %d reloads, none failed%n", times.length, RELOADS);
  }

  private void takesNames() throws Exception {
    Path names = folder.resolve("names.sidx");
    try (Builder builder = new Builder(new BuilderConfig(16, 16, 16).idType(IdType.STRING))) {
      builder.addNamed(new int[] {0, 0, 0, 0, 0, 0, 1, 2, 3}, null, List.of("shoe", "\"sock\"", "hat"), null);
      builder.write(names);
    }
    try (Running other = new Running(model, names, OPTIONS)) {
      String found = other.ask("POST", "/recommend",
          "{\"histories\": [[\"hat\"]], \"exclude\": [\"shoe\", \"hat\", \"\u00e9\", \"\"]}").body();
      check(found.contains("\"results\": [[{\"item\": \"\\\"sock\\\"\"") && found.split("\"item\"", -1).length == 2
          && found.contains("\"unknown_excluded\": 2"), "expected the sock alone, got " + found);
      other.refuses(400, "allow[1] is 5, expected a string", "POST", "/recommend",
          "{\"histories\": [[\"hat\"]], \"allow\": [\"hat\", 5]}");
      other.refuses(400, "since the index has no attributes", "POST", "/recommend",
          "{\"histories\": [[\"hat\"]], \"where\": \"price<5\"}");
    }
  }

  private void run() throws Exception {
    write(file, id -> true);
    writeFilters("{\"cheap\": \"price<40\", \"none\": \"price<0\"}");
    service = new Running(model, file, options());
    try {
      findsWhatAnIndexOfTheAllowedItemsHas();
      refusesRules();
      refusesFiltersOfTheSettings();
      reloadsUnderLoad();
    } finally {
      service.close();
    }
    takesNames();
    String errors = Files.readString(Path.of(file + ".log"));
    check(errors.isEmpty(), "unexpected:\n" + errors);
  }

  /** Exits with 1, and says why, unless all holds. */
  public static void main(String[] arguments) throws Exception {
    new RulesTest(Files.createDirectories(Path.of(arguments[0])), Path.of(arguments[1])).run();
  }
}
