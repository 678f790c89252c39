// SPDX-License-Identifier: Apache-2.0
package test;

import static java.nio.charset.StandardCharsets.UTF_8;
import static test.Running.check;

import io.sidbeam.Builder;
import io.sidbeam.BuilderConfig;
import io.sidbeam.Index;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Starts the service, loads it while it reloads, and asks it for nonsense. Takes a folder to work in, a model of
 * tests/bindings/tiny_model.py, whose tokens are 0 .. 63, and what tests/bindings/trained.sh wrote. */
public final class ServiceTest {
  private static final int ITEMS = 2000;
  private static final int RELOADS = 12;

  private final Path model;
  private final Path file;
  private Running service;

  private ServiceTest(Path folder, Path model) {
    this.model = model;
    file = folder.resolve("catalogue.sidx");
  }

  /** Replaces the file, as builders do, and gives the new version. */
  private String write(long seed) {
    try (Builder builder = new Builder(new BuilderConfig(16, 16, 16))) {
      int[] codes = new Random(seed).ints(3L * ITEMS, 0, 16).toArray();
      builder.add(codes);
      builder.write(file);
    }
    return Index.peek(file).fingerprint();
  }

  private void start(Path model, Path file, String... options) throws Exception {
    service = new Running(model, file, options);
  }

  private HttpResponse<String> ask(String method, String path, String body) throws Exception {
    return service.ask(method, path, body);
  }

  private void refuses(int status, String message, String method, String path, String body) throws Exception {
    service.refuses(status, message, method, path, body);
  }

  private double metric(String name) throws Exception {
    return service.metric(name);
  }

  private void answersAndRefuses() throws Exception {
    String first = ask("POST", "/recommend", "{\"histories\": [[1, 2, [3, 4, 5]]], \"k\": 3}").body();
    String again = ask("POST", "/recommend", " {\"k\":3,\"histories\":[[1,2,[3,4,5]]]} ").body();
    check(first.equals(again), "the same request gave\n" + first + again);
    Matcher scores = Pattern.compile("\\{\"item\": \\d+, \"score\": (-\\d+\\.\\d+)}").matcher(first);
    double last = 0;
    for (int i = 0; i < 3; i++) {
      check(scores.find() && Double.parseDouble(scores.group(1)) <= last, "scores do not fall: " + first);
      last = Double.parseDouble(scores.group(1));
    }
    refuses(400, "JSON, character 0: expected a value, came the end", "POST", "/recommend", "");
    refuses(400, "JSON, character 18: expected ']', came the end", "POST", "/recommend", "{\"histories\": [[1]");
    refuses(400, "expected an object", "POST", "/recommend", "[1]");
    refuses(400, "at most 32 levels", "POST", "/recommend", "[".repeat(100_000));
    refuses(400, "histories is missing", "POST", "/recommend", "{}");
    refuses(400, "histories[1] is no array", "POST", "/recommend", "{\"histories\": [[], 3]}");
    refuses(400, "item a is neither a SID nor an integer", "POST", "/recommend", "{\"histories\": [[\"a\"]]}");
    refuses(400, "SID [1, 16] is none of at most 3 codes", "POST", "/recommend", "{\"histories\": [[[1, 16]]]}");
    refuses(400, "k is 21, expected 1 .. 20", "POST", "/recommend", "{\"histories\": [[]], \"k\": 21}");
    refuses(413, "more than 1048576 bytes", "POST", "/recommend", " ".repeat((1 << 20) + 1));
    refuses(405, "/recommend wants POST", "GET", "/recommend", "");
    refuses(404, "there is no /metrics/x", "GET", "/metrics/x", "");
    // Items that are not in the catalogue (any more) are passed over; of a history without any there are no items.
    String unknown = ask("POST", "/recommend", "{\"histories\": [[123456789], []]}").body();
    check(unknown.contains("\"results\": [[], []]"), "an unknown item: " + unknown);
    // The model reads the latest nine tokens: three SIDs.
    check(ask("POST", "/recommend", "{\"histories\": [[9, 8, 7, 1, 2, [3, 4, 5]]], \"k\": 3}").body().equals(first),
        "what is before the prompt counted");
  }

  private void reloadsUnderLoad() throws Exception {
    LoadGenerator load = new LoadGenerator(service.url, ITEMS, random -> LoadGenerator.Rules.NONE);
    CompletableFuture<long[]> done = load.start(4);
    String version = "";
    for (int i = 0; i < RELOADS; i++) {
      load.answers(50);
      version = write(100 + i);
      if (i % 2 == 0) {
        check(ask("POST", "/reload", "").body().contains(version), "the reload answered another version");
      } else {
        new ProcessBuilder("kill", "-HUP", Long.toString(service.process.pid())).start().waitFor();
        check(service.output.readLine().contains(version), "the signal brought another version");
      }
    }
    check(ask("POST", "/recommend", "{\"histories\": [[]]}").body().contains(version), "the new version is not served");
    load.answers(50);
    load.stop();
    long[] times = done.get();
    check(load.failures.isEmpty(), "failed requests: " + load.failures);
    check(load.versions.size() > RELOADS / 2, "few versions were seen under load: " + load.versions);
    System.out.printf("%d requests during %d reloads, none failed, %d versions seen%n", times.length, RELOADS,
        load.versions.size());
    checkMetrics(version, times.length);
  }

  private void checkMetrics(String version, int requests) throws Exception {
    double p50 = metric("request_seconds{quantile=\"0.5\"}");
    double p90 = metric("request_seconds{quantile=\"0.9\"}");
    double p99 = metric("request_seconds{quantile=\"0.99\"}");
    check(0 < p50 && p50 <= p90 && p90 <= p99 && p99 < 60, "percentiles " + p50 + ", " + p90 + ", " + p99);
    check(metric("requests_total{code=\"200\"}") == requests + 5, "answered " + metric("requests_total{code=\"200\"}"));
    check(metric("requests_total{code=\"400\"}") == 9, "refused " + metric("requests_total{code=\"400\"}"));
    check(metric("request_seconds_count") == requests + 5, "measured " + metric("request_seconds_count"));
    check(metric("runner_lanes") == 2 && metric("runner_queued") == 0 && metric("runner_failed_total") == 0, "lanes");
    check(metric("runner_finished_total") >= 2.0 * requests, "histories " + metric("runner_finished_total"));
    check(metric("runner_batch_rows_total") >= metric("runner_finished_total"), "rows");
    double rounds = metric("runner_rounds_total");
    double accepted = metric("runner_accepted_levels_total");
    check(rounds > 0 && accepted > 0 && metric("runner_round_levels_total") == rounds + accepted, "rounds " + rounds);
    check(metric("runner_drafted_levels_total") >= accepted && metric("runner_nodes_total") >= rounds, "nodes");
    check(metric("runner_draft_seconds_total") > 0, "time of the draft");
    check(metric("runner_lane_use") > 0 && metric("runner_lane_use") <= 1.01, "use " + metric("runner_lane_use"));
    check(metric("runner_seconds{quantile=\"0.5\"}") <= metric("runner_seconds{quantile=\"0.99\"}"), "percentiles");
    check(metric("index_info{version=\"" + version + "\"}") == 1, "version");
    check(metric("index_items") == ITEMS, "items " + metric("index_items"));
    check(metric("reloads_total") == RELOADS, "reloads " + metric("reloads_total"));
  }

  private void aDamagedFileLeavesTheOldVersion() throws Exception {
    String before = ask("POST", "/recommend", "{\"histories\": [[]]}").body();
    Path wrong = Files.writeString(Path.of(file + ".wrong"), "no index");
    Files.move(wrong, file, java.nio.file.StandardCopyOption.ATOMIC_MOVE);
    refuses(500, "the index before stays", "POST", "/reload", "");
    // The checksums of this one are right.
    Files.copy(Path.of("tests/cli/data/out_of_order.sidx"), wrong);
    Files.move(wrong, file, java.nio.file.StandardCopyOption.ATOMIC_MOVE);
    refuses(500, "entry 2 falls", "POST", "/reload", "");
    check(ask("POST", "/recommend", "{\"histories\": [[]]}").body().equals(before), "the old version is gone");
    try (Builder builder = new Builder(new BuilderConfig(16, 16, 17))) { // the model has an output for every code
      builder.add(new int[] {1, 2, 3});
      builder.write(file);
    }
    refuses(500, "[16, 16, 17] codes per level, expected [16, 16, 16]", "POST", "/reload", "");
    check(metric("reload_failures_total") == 3, "failures");
  }

  /** SIGTERM while a request is being read. */
  private void answersWhatRunsWhenItIsEnded() throws Exception {
    URI address = URI.create(service.url);
    String body = "{\"histories\": [[1, 2]], \"k\": 1}";
    try (Socket socket = new Socket(address.getHost(), address.getPort())) {
      BufferedReader answer = new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8));
      socket.getOutputStream().write(("POST /recommend HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + body.length()
          + "\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n").getBytes(UTF_8));
      check(answer.readLine().contains("100 Continue"), "the request is not read"); // by a thread that now waits for it
      service.process.destroy();
      while (connects(address)) {
        Thread.onSpinWait();
      }
      socket.getOutputStream().write(body.getBytes(UTF_8));
      String all = answer.lines().collect(Collectors.joining("\n"));
      check(all.contains("HTTP/1.1 200") && all.contains("\"score\""), "a request under way was answered: " + all);
    }
    check(service.process.waitFor(20, TimeUnit.SECONDS), "the service waits for nothing");
  }

  private static boolean connects(URI address) {
    try (Socket socket = new Socket(address.getHost(), address.getPort())) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }

  private void stop() {
    service.close();
  }

  /** The trained model of samples/train finds the items that sidbeam run does, and their scores. */
  private void findsWhatTheCommandFinds(Path trained, String group) throws Exception {
    start(Path.of("samples/train/made_up"), trained.resolve("made_up.sidx"), "--start-tokens", "192", "--offsets",
        "0,64,128", "--group", group, "--prompt", "30", "--normalize", "level", "--lanes", "1");
    try {
      String found = ask("POST", "/recommend", "{\"histories\": [[13, 18, 26]], \"k\": 3}").body();
      String lines = Pattern.compile("\\{\"item\": (\\d+), \"score\": ([-.\\d]+)}").matcher(found).results()
          .map(item -> item.group(1) + " " + item.group(2) + "\n").collect(Collectors.joining());
      String expected = Files.readAllLines(trained.resolve("group" + group + ".txt")).stream()
          .map(line -> line.split(" "))
          .map(item -> String.format(Locale.ROOT, "%s %.5f%n", item[0], Float.parseFloat(item[1])))
          .collect(Collectors.joining());
      check(lines.equals(expected), "group " + group + ": expected\n" + expected + "got " + found);
    } finally {
      stop();
    }
  }

  private void refusesOptions(String message, String... options) throws Exception {
    List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-cp", System.getProperty("java.class.path"), "service.Service"));
    command.addAll(List.of(options));
    Process refused = new ProcessBuilder(command).redirectErrorStream(true).start();
    String text = new String(refused.getInputStream().readAllBytes(), UTF_8);
    check(refused.waitFor() == 2 && text.contains(message), "options " + command + " gave " + text);
  }

  private void run() throws Exception {
    refusesOptions("cannot use --group 0", "m", "i", "--group", "0");
    refusesOptions("cannot use --start-tokens 1,x", "m", "i", "--start-tokens", "1,x");
    refusesOptions("cannot use --normalize all", "m", "i", "--normalize", "all");
    refusesOptions("there is no --beam\n", "m", "i", "--beam", "3");
    write(1);
    start(model, file, "--beams", "20", "--offsets", "0,16,32", "--lanes", "2", "--prompt", "9", "--draft",
        model.toString());
    try {
      answersAndRefuses();
      reloadsUnderLoad();
      aDamagedFileLeavesTheOldVersion();
      check(service.process.isAlive(), "the service is gone");
      answersWhatRunsWhenItIsEnded();
    } finally {
      stop();
    }
    check(Files.size(Path.of(file + ".log")) == 0 || errors() <= 1, "unexpected:\n" + Files.readString(Path.of(file
        + ".log")));
  }

  private long errors() throws Exception {
    return Files.readAllLines(Path.of(file + ".log")).size();
  }

  /** Exits with 1, and says why, unless all holds. */
  public static void main(String[] arguments) throws Exception {
    ServiceTest test = new ServiceTest(Files.createDirectories(Path.of(arguments[0])), Path.of(arguments[1]));
    test.run();
    test.findsWhatTheCommandFinds(Path.of(arguments[2]), "1");
    test.findsWhatTheCommandFinds(Path.of(arguments[2]), "3");
  }
}
