// SPDX-License-Identifier: Apache-2.0
package test;

import static java.nio.charset.StandardCharsets.UTF_8;
import static test.Running.check;

import io.sidbeam.AttributeType;
import io.sidbeam.Builder;
import io.sidbeam.BuilderConfig;
import io.sidbeam.Catalog;
import io.sidbeam.IdType;
import io.sidbeam.Index;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Changes of a live catalogue: what items may have, what is refused, and the token. Takes what ServiceTest does. */
public final class ChangesTest {
  /** Requests that need the token, and their answers in this order. */
  private static final String[][] CHANGING = {{"POST", "/reload", "", "{\"version\": 1}"},
      {"POST", "/items", "{\"items\": [{\"id\": 7000, \"sid\": [1, 2, 3]}]}", "{\"added\": 1}"},
      {"DELETE", "/items/7000", "", "{\"removed\": 7000}"}, {"POST", "/publish", "", "{\"version\": 2}"},
      {"POST", "/rollback", "{\"version\": 1}", "{\"version\": 3}"}, {"POST", "/compact", "", "{\"version\": 4}"}};
  private static final String[] OPTIONS = {"--beams", "8", "--lanes", "1", "--prompt", "9"};

  private final Path folder;
  private final Path model;

  private ChangesTest(Path folder, Path model) {
    this.folder = folder;
    this.model = model;
  }

  private Running start(String token, Path index, String... more) throws Exception {
    return new Running(token, model, index,
        Stream.concat(Arrays.stream(OPTIONS), Arrays.stream(more)).toArray(String[]::new));
  }

  private Path empty(String name) throws Exception {
    Path empty = folder.resolve(name);
    if (Files.exists(empty)) {
      try (Stream<Path> old = Files.walk(empty)) {
        old.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
      }
    }
    return empty;
  }

  private void needsTheToken() throws Exception {
    Path live = empty("token_live");
    LivePairs.base().create(live);
    try (Running without = start("", live, "--offsets", "0,16,32")) {
      for (String[] one : CHANGING) {
        without.refuses(403, "no token is configured, so that nobody may change", one[0], one[1], one[2]);
      }
    }
    Path token = Files.writeString(folder.resolve("token"), "of-the-file\n");
    try (Running service = start("of-the-environment", live, "--offsets", "0,16,32", "--token-file",
        token.toString())) {
      for (String[] one : CHANGING) {
        for (String header : new String[] {null, "Bearer", "Bearer ", "Bearer of-the-environment",
            "Bearer of-the-file2", "Bearer of-the-fil", "Basic of-the-file", "of-the-file",
            "Bearer of-the-file of-the-file"}) {
          HttpResponse<String> answer = service.ask(one[0], one[1], one[2], header);
          check(answer.statusCode() == 401 && answer.headers().allValues("WWW-Authenticate").equals(List.of("Bearer"))
              && answer.body().startsWith("{\"error\": \"expected the header Authorization: Bearer TOKEN"),
              one[1] + " by " + header + " gave " + answer.statusCode() + " " + answer.body());
        }
      }
      for (int i = 0; i < CHANGING.length; i++) {
        String[] one = CHANGING[i];
        HttpResponse<String> answer = service.ask(one[0], one[1], one[2],
            i % 2 == 0 ? "Bearer of-the-file" : "bearer  of-the-file");
        check(answer.statusCode() == 200 && answer.body().equals(one[3] + "\n"), one[1] + " gave " + answer.body());
      }
      for (String open : List.of("/metrics", "/versions")) {
        check(service.ask("GET", open, "", null).statusCode() == 200, open + " wants a token");
      }
    }
  }

  /** Without a live catalogue there is nothing to change but the file. */
  private void refusesChangesOfAFile() throws Exception {
    Path file = folder.resolve("file.sidx");
    LivePairs.base().write(file);
    try (Running service = start(Running.TOKEN, file, "--offsets", "0,16,32")) {
      for (String[] one : Arrays.copyOfRange(CHANGING, 1, CHANGING.length)) {
        service.refuses(409, "file.sidx is an index file, expected the folder of a live catalogue", one[0], one[1],
            one[2]);
      }
      service.refuses(409, "is an index file, expected the folder of a live catalogue", "GET", "/versions", "");
      check(!service.ask("GET", "/metrics", "").body().contains("sidbeam_catalog_"), "metrics of a live catalogue");
    }
  }

  /** An attribute of each type; SIDs are of any length, and ids are names. */
  private Path attributed() throws Exception {
    Path live = empty("attributed");
    BuilderConfig config = new BuilderConfig(4, 4).variableLength(true).idType(IdType.STRING);
    try (Builder builder = new Builder(config)) {
      builder.declareAttribute("price", AttributeType.I64);
      builder.declareAttribute("rating", AttributeType.F32);
      builder.declareAttribute("new", AttributeType.BOOL);
      builder.declareAttribute("brand", AttributeType.STRING);
      builder.declareAttribute("tags", AttributeType.STRING_LIST);
      builder.addNamed(new int[] {0, 0}, null, List.of("hat"), null);
      try (Index base = builder.finish()) {
        Catalog.create(base, live).close();
      }
    }
    return live;
  }

  private static void finds(Running service, String where, String expected) throws Exception {
    String answer = service.ask("POST", "/recommend", "{\"histories\": [[\"hat\"]], \"where\": \"" + where
        + "\", \"k\": 8}").body();
    String found = Pattern.compile("\"item\": (\"[^\"]*\")").matcher(answer).results().map(item -> item.group(1))
        .collect(Collectors.joining(" "));
    check(found.equals(expected), where + ": expected " + expected + ", got " + answer);
  }

  /** What an update does not give stays. */
  private static void takesAttributes(Running service) throws Exception {
    service.does("{\"added\": 2}", "POST", "/items", "{\"items\": [{\"id\": \"a/b\", \"sid\": [1], \"priority\": 3, "
        + "\"attributes\": {\"price\": -5, \"rating\": 0.5, \"new\": true, \"brand\": \"\u00e9\", \"tags\": [\"x\", "
        + "\"y\"]}}, {\"id\": \"\", \"sid\": [1], \"priority\": 9223372036854775807, \"attributes\": {\"price\": null, "
        + "\"rating\": 2, \"new\": null, \"brand\": null, \"tags\": []}}]}");
    service.does("{\"version\": 2}", "POST", "/publish", "");
    finds(service, "price=-5 and rating=0.5 and new and brand=\u00e9 and tags contains x and tags contains y",
        "\"a/b\"");
    finds(service, "price is null and rating=2 and new is null and brand is null and tags is not null", "\"\"");
    finds(service, "rating<=2", "\"\" \"a/b\""); // by priority
    service.does("{\"added\": 1}", "POST", "/items",
        "{\"items\": [{\"attributes\": {\"price\": 7}, \"sid\": [1], \"id\": \"a/b\"}]}");
    service.does("{\"version\": 3}", "POST", "/publish", "");
    finds(service, "price=7 and rating=0.5 and new and brand=\u00e9 and tags contains y", "\"a/b\"");
    finds(service, "rating<=2", "\"\" \"a/b\"");
    service.does("{\"removed\": \"a/b\"}", "DELETE", "/items/a%2Fb", "");
    service.does("{\"removed\": \"\"}", "DELETE", "/items/", "");
    service.does("{\"added\": 1}", "POST", "/items", "{\"items\": [{\"id\": \"\\ud83d\\uDE00\", \"sid\": [3]}]}");
    service.does("{\"removed\": \"\ud83d\ude00\"}", "DELETE", "/items/%F0%9F%98%80", "");
    service.refuses(404, "there is no item \\\"..//\\\\\\\"\u00e9\\\"", "DELETE", "/items/..//%22%C3%A9", "");
    service.does("{\"version\": 4}", "POST", "/publish", "");
    finds(service, "true", "\"hat\"");
  }

  private static String item(String members) {
    return "{\"items\": [{\"id\": \"a\", \"sid\": [1, 2]}, {" + members + "}]}";
  }

  private static String valued(String members) {
    return "{\"items\": [{\"id\": \"a\", \"sid\": [1], " + members + "}]}";
  }

  private static Map<String, String> refusedItems() {
    Map<String, String> refused = new TreeMap<>();
    for (String body : List.of("", "null", "[]", "{\"items\": []} x")) {
      refused.put(body, "the body is no JSON object with [items]");
    }
    refused.put("{\"items\": [], \"items\": []}", "expected no second member \\\"items\\\", came");
    refused.put(item("\"id\": \"b\", \"sid\": [1], \"i\\u0064\": \"c\""),
        "character 72: expected no second member \\\"id\\\", came");
    for (String half : List.of("ud800", "uDC00", "ud83d\\n\\ude00", "ud83d\\ud83d\\ude00")) {
      refused.put(item("\"id\": \"\\" + half + "\", \"sid\": [1]"), "expected no half of a surrogate pair in a string");
    }
    refused.put("{\"" + "x".repeat(41) + "\": 1}", "there is no member " + "x".repeat(40) + ", expected some of");
    refused.put("{}", "items is missing, expected an array of items");
    refused.put("{\"items\": null}", "items is null, expected an array of items");
    refused.put("{\"items\": {}}", "items is {}, expected an array of items");
    refused.put("{\"items\": []}", "items has 0 elements, expected 1 or more");
    refused.put("{\"items\": [5]}", "items[0] is 5, expected an object");
    refused.put("{\"items\": [], \"publish\": 1}", "there is no member publish, expected some of [items]");
    refused.put(item("\"id\": \"b\", \"sids\": [1]"),
        "there is no member items[1].sids, expected some of [id, sid, priority, attributes]");
    refused.put(item("\"id\": \"b\""), "items[1].sid is missing, expected an array of codes");
    refused.put(item("\"sid\": [1]"), "items[1].id is missing, expected a string, as the ids of this index are");
    refused.put(item("\"id\": 5, \"sid\": [1]"), "items[1].id is 5, expected a string, as the ids of this index are");
    refused.put(item("\"id\": null, \"sid\": [1]"), "items[1].id is null, expected a string");
    refused.put(item("\"id\": \"b\", \"sid\": 1"), "items[1].sid is 1, expected an array of codes");
    refused.put(item("\"id\": \"b\", \"sid\": []"), "items[1].sid has 0 codes, expected 1 .. 2");
    refused.put(item("\"id\": \"b\", \"sid\": [1, 2, 3]"), "items[1].sid has 3 codes, expected 1 .. 2");
    refused.put(item("\"id\": \"b\", \"sid\": [1, 4]"), "items[1].sid[1] is 4, expected 0 .. 3");
    refused.put(item("\"id\": \"b\", \"sid\": [-1]"), "items[1].sid[0] is -1, expected 0 .. 3");
    refused.put(item("\"id\": \"b\", \"sid\": [1.5]"), "items[1].sid[0] is 1.5, expected 0 .. 3");
    refused.put(item("\"id\": \"b\", \"sid\": [null]"), "items[1].sid[0] is null, expected 0 .. 3");
    refused.put(item("\"id\": \"b\", \"sid\": [4294967297]"), "items[1].sid[0] is 4294967297, expected 0 .. 3");
    refused.put(item("\"id\": \"b\", \"sid\": [1], \"priority\": 1"),
        "items[1] gives [priority], expected [] as items[0] does");
    refused.put(item("\"id\": \"b\", \"sid\": [1], \"attributes\": 5"),
        "items[1].attributes is 5, expected an object");
    refused.put(valued("\"priority\": \"x\""), "items[0].priority is \\\"x\\\", expected an integer");
    refused.put(valued("\"priority\": 9223372036854775808"), "items[0].priority is 9223372036854775808");
    Map<String, String> values = Map.of("\"price\": 1.5", "price is 1.5, expected an integer",
        "\"price\": \"1\"", "price is \\\"1\\\", expected an integer",
        "\"rating\": 1e39", "rating is 1.0E39, expected a number of 32 bits",
        "\"rating\": true", "rating is true, expected a number of 32 bits",
        "\"new\": 1", "new is 1, expected true or false", "\"brand\": 5", "brand is 5, expected a string",
        "\"tags\": \"x\"", "tags is \\\"x\\\", expected an array of strings",
        "\"tags\": [\"x\", null]", "tags[1] is null, expected a string");
    values.forEach((value, text) -> refused.put(valued("\"attributes\": {" + value + "}"),
        "items[0].attributes." + text));
    refused.put(valued("\"attributes\": {\"cost\": 5}"),
        "there is no member items[0].attributes.cost, expected some of [brand, new, price, rating, tags]");
    return refused;
  }

  private static void refusesMistakes(Running service, int version) throws Exception {
    for (Map.Entry<String, String> one : refusedItems().entrySet()) {
      service.refuses(400, one.getValue(), "POST", "/items", one.getKey());
    }
    String expected = "expected the number of a version";
    String kept = ", expected one of those that are kept, 1 to " + version;
    Map<String, String> refused = Map.of("", "the body is no JSON object with [version]",
        "{}", "version is missing, " + expected, "{\"version\": \"1\"}", "version is \\\"1\\\", " + expected,
        "{\"version\": 1.5}", "version is 1.5, " + expected, "{\"version\": 0}", "version is 0" + kept,
        "{\"version\": 99}", "version is 99" + kept, "{\"to\": 1}",
        "there is no member to, expected some of [version]");
    for (Map.Entry<String, String> one : refused.entrySet()) {
      service.refuses(400, one.getValue(), "POST", "/rollback", one.getKey());
    }
    service.refuses(400, "the item is not UTF-8", "DELETE", "/items/a%FF", "");
    service.refuses(404, "there is no item \\\"+\uFFFD\\\"", "DELETE", "/items/+%EF%BF%BD", "");
    service.refuses(413, "more than 1048576 bytes", "POST", "/items", " ".repeat((1 << 20) + 1));
    service.refuses(405, "/items wants POST", "GET", "/items", "");
    service.refuses(405, "/items/hat wants DELETE", "POST", "/items/hat", "");
    service.refuses(405, "/versions wants GET", "POST", "/versions", "");
    service.refuses(404, "there is no /publish/x", "POST", "/publish/x", "");
    service.does("{\"version\": " + version + "}", "POST", "/publish", ""); // nothing of a refused call was added
  }

  /** Ids of 64 bits without a sign, in requests and answers. */
  private void takesUnsignedIds() throws Exception {
    Path live = empty("unsigned");
    try (Builder builder = new Builder(new BuilderConfig(4, 4).idType(IdType.U64))) {
      builder.add(new int[] {0, 0}, null, new long[] {5}, null);
      try (Index base = builder.finish()) {
        Catalog.create(base, live).close();
      }
    }
    String largest = "18446744073709551615";
    try (Running service = start(Running.TOKEN, live, "--offsets", "0,4")) {
      service.does("{\"added\": 1}", "POST", "/items", "{\"items\": [{\"id\": " + largest + ", \"sid\": [1, 1]}]}");
      service.does("{\"version\": 2}", "POST", "/publish", "");
      String found = service.ask("POST", "/recommend", "{\"histories\": [[" + largest + "]], \"exclude\": [5]}").body();
      check(found.contains("[[{\"item\": " + largest + ", ") && found.split("\"item\"", -1).length == 2, found);
      for (String id : List.of("hat", "1.0", "", "%201000", "1000/", "-1", "18446744073709551616", "005", "+5",
          "-0")) {
        service.refuses(400, ", expected an integer, as the ids of this index are", "DELETE", "/items/" + id, "");
      }
      service.refuses(400, "items[0].id is -1, expected an integer, as the ids of this index are", "POST", "/items",
          "{\"items\": [{\"id\": -1, \"sid\": [1, 1]}]}");
      service.refuses(400, "items[0].sid has 1 codes, expected 2", "POST", "/items",
          "{\"items\": [{\"id\": 1, \"sid\": [1]}]}");
      service.does("{\"removed\": " + largest + "}", "DELETE", "/items/" + largest, "");
    }
  }

  /** As many clients that never end their changes as /recommend has threads. */
  private void changesStarveNobody() throws Exception {
    Path live = empty("starving");
    LivePairs.base().create(live);
    List<Socket> slow = new ArrayList<>();
    try (Running service = start(Running.TOKEN, live, "--offsets", "0,16,32")) {
      for (int i = 0; i < 3; i++) {
        Socket socket = new Socket("localhost", URI.create(service.url).getPort());
        slow.add(socket);
        socket.getOutputStream().write(("POST /items HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
            + "Content-Length: 9\r\nAuthorization: Bearer " + Running.TOKEN + "\r\n\r\n").getBytes(UTF_8));
        String line = new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8)).readLine();
        check(line.startsWith("HTTP/1.1 100"), line); // a thread is about to read the body
      }
      check(service.ask("POST", "/recommend", "{\"histories\": [[[1, 2, 3]]]}").statusCode() == 200, "no answer");
      check(service.metric("catalog_version") == 1, "no metrics");
      for (Socket socket : slow) {
        socket.close();
      }
    }
  }

  private void run() throws Exception {
    needsTheToken();
    changesStarveNobody();
    refusesChangesOfAFile();
    try (Running service = start(Running.TOKEN, attributed(), "--offsets", "0,4", "--end-column", "8")) {
      takesAttributes(service);
      refusesMistakes(service, 4);
    }
    takesUnsignedIds();
  }

  /** Exits with 1, and says why, unless all holds. */
  public static void main(String[] arguments) throws Exception {
    new ChangesTest(Files.createDirectories(Path.of(arguments[0])), Path.of(arguments[1])).run();
  }
}
