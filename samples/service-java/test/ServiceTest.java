// SPDX-License-Identifier: Apache-2.0
package test;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sidbeam.Builder;
import io.sidbeam.BuilderConfig;
import io.sidbeam.Index;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Starts the service, loads it while it reloads, and asks it for nonsense. Takes a folder to work in. */
public final class ServiceTest {
  private static final int ITEMS = 2000;
  private static final int RELOADS = 12;

  private final HttpClient client = HttpClient.newHttpClient();
  private final Path file;
  private Process process;
  private BufferedReader output;
  private String url;

  private ServiceTest(Path folder) {
    file = folder.resolve("catalogue.sidx");
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  /** Replaces the file, as builders do, and gives the new version. */
  private String write(long seed) {
    try (Builder builder = new Builder(new BuilderConfig(64, 64, 64))) {
      int[] codes = new Random(seed).ints(3L * ITEMS, 0, 64).toArray();
      builder.add(codes);
      builder.write(file);
    }
    return Index.peek(file).fingerprint();
  }

  private void start() throws Exception {
    // If started with SIGHUP ignored, as under nohup, Java goes on ignoring it, and the test would wait for a reload.
    process = new ProcessBuilder("env", "--default-signal=HUP",
        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
        System.getProperty("java.class.path"), "service.Service", file.toString(), "--port", "0", "--beams", "20")
        .redirectError(new File(file + ".log")).start();
    output = process.inputReader();
    String line = output.readLine();
    check(line != null && line.startsWith("serving "), "no start: " + Files.readString(Path.of(file + ".log")));
    url = "http://localhost:" + line.substring(line.lastIndexOf(' ') + 1);
  }

  private HttpResponse<String> ask(String method, String path, String body) throws Exception {
    return client.send(HttpRequest.newBuilder(URI.create(url + path))
        .method(method, HttpRequest.BodyPublishers.ofString(body)).build(), HttpResponse.BodyHandlers.ofString());
  }

  private void refuses(int status, String message, String method, String path, String body) throws Exception {
    HttpResponse<String> response = ask(method, path, body);
    check(response.statusCode() == status && response.body().contains(message),
        method + " " + path + " " + body + " gave " + response.statusCode() + " " + response.body());
  }

  private double metric(String name) throws Exception {
    String text = ask("GET", "/metrics", "").body();
    Matcher matcher = Pattern.compile("^sidbeam_" + Pattern.quote(name) + " (\\S+)$", Pattern.MULTILINE).matcher(text);
    check(matcher.find(), "no " + name + " in\n" + text);
    return Double.parseDouble(matcher.group(1));
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
    refuses(400, "item a is neither a SID nor a number", "POST", "/recommend", "{\"histories\": [[\"a\"]]}");
    refuses(400, "SID [1, 64] is none of at most 3 codes", "POST", "/recommend", "{\"histories\": [[[1, 64]]]}");
    refuses(400, "k is 21, expected 1 .. 20", "POST", "/recommend", "{\"histories\": [[]], \"k\": 21}");
    refuses(413, "more than 1048576 bytes", "POST", "/recommend", " ".repeat((1 << 20) + 1));
    refuses(405, "/recommend wants POST", "GET", "/recommend", "");
    refuses(404, "there is no /metrics/x", "GET", "/metrics/x", "");
    // Items that are not in the catalogue (any more) are passed over.
    check(ask("POST", "/recommend", "{\"histories\": [[123456789]]}").statusCode() == 200, "an unknown item");
  }

  private void reloadsUnderLoad() throws Exception {
    LoadGenerator load = new LoadGenerator(url, ITEMS);
    CompletableFuture<long[]> done = CompletableFuture.supplyAsync(() -> {
      try {
        return load.run(4, Integer.MAX_VALUE);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    });
    String version = "";
    for (int i = 0; i < RELOADS; i++) {
      answers(load, 50);
      version = write(100 + i);
      if (i % 2 == 0) {
        check(ask("POST", "/reload", "").body().contains(version), "the reload answered another version");
      } else {
        new ProcessBuilder("kill", "-HUP", Long.toString(process.pid())).start().waitFor();
        check(output.readLine().contains(version), "the signal brought another version");
      }
    }
    check(ask("POST", "/recommend", "{\"histories\": [[]]}").body().contains(version), "the new version is not served");
    answers(load, 50);
    load.stop();
    long[] times = done.get();
    check(load.failures.isEmpty(), "failed requests: " + load.failures);
    check(load.versions.size() > RELOADS / 2, "few versions were seen under load: " + load.versions);
    System.out.printf("%d requests during %d reloads, none failed, %d versions seen%n", times.length, RELOADS,
        load.versions.size());
    checkMetrics(version, times.length);
  }

  /** Waits until this many more requests have been answered. */
  private static void answers(LoadGenerator load, int more) {
    int until = load.sent.get() + more;
    while (load.sent.get() < until) {
      Thread.onSpinWait();
    }
  }

  private void checkMetrics(String version, int requests) throws Exception {
    double p50 = metric("request_seconds{quantile=\"0.5\"}");
    double p90 = metric("request_seconds{quantile=\"0.9\"}");
    double p99 = metric("request_seconds{quantile=\"0.99\"}");
    check(0 < p50 && p50 <= p90 && p90 <= p99 && p99 < 60, "percentiles " + p50 + ", " + p90 + ", " + p99);
    check(metric("requests_total{code=\"200\"}") == requests + 4, "answered " + metric("requests_total{code=\"200\"}"));
    check(metric("requests_total{code=\"400\"}") == 9, "refused " + metric("requests_total{code=\"400\"}"));
    check(metric("request_seconds_count") == requests + 4, "measured " + metric("request_seconds_count"));
    check(metric("legal_share") == 1, "legal share " + metric("legal_share"));
    check(metric("index_info{version=\"" + version + "\"}") == 1, "version");
    check(metric("index_items") == ITEMS, "items " + metric("index_items"));
    check(metric("reloads_total") == RELOADS, "reloads " + metric("reloads_total"));
  }

  private void aFileThatIsNoneLeavesTheOldVersion() throws Exception {
    String before = ask("POST", "/recommend", "{\"histories\": [[]]}").body();
    Path wrong = Files.writeString(Path.of(file + ".wrong"), "no index");
    Files.move(wrong, file, java.nio.file.StandardCopyOption.ATOMIC_MOVE);
    refuses(500, "the index before stays", "POST", "/reload", "");
    check(ask("POST", "/recommend", "{\"histories\": [[]]}").body().equals(before), "the old version is gone");
    check(metric("reload_failures_total") == 1, "failures");
  }

  /** SIGTERM while a request is being read. */
  private void answersWhatRunsWhenItIsEnded() throws Exception {
    URI address = URI.create(url);
    String body = "{\"histories\": [[1, 2]], \"k\": 1}";
    try (Socket socket = new Socket(address.getHost(), address.getPort())) {
      BufferedReader answer = new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8));
      socket.getOutputStream().write(("POST /recommend HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + body.length()
          + "\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n").getBytes(UTF_8));
      check(answer.readLine().contains("100 Continue"), "the request is not read"); // by a thread that now waits for it
      process.destroy();
      while (connects(address)) {
        Thread.onSpinWait();
      }
      socket.getOutputStream().write(body.getBytes(UTF_8));
      String all = answer.lines().collect(Collectors.joining("\n"));
      check(all.contains("HTTP/1.1 200") && all.contains("\"score\""), "a request under way was answered: " + all);
    }
    check(process.waitFor(20, TimeUnit.SECONDS), "the service waits for nothing");
  }

  private static boolean connects(URI address) {
    try (Socket socket = new Socket(address.getHost(), address.getPort())) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }

  private void run() throws Exception {
    write(1);
    start();
    try {
      answersAndRefuses();
      reloadsUnderLoad();
      aFileThatIsNoneLeavesTheOldVersion();
      check(process.isAlive(), "the service is gone");
      answersWhatRunsWhenItIsEnded();
    } finally {
      process.destroy();
      check(process.waitFor(60, TimeUnit.SECONDS), "the service does not end");
    }
    check(Files.size(Path.of(file + ".log")) == 0 || errors() <= 1, "unexpected:\n" + Files.readString(Path.of(file
        + ".log")));
  }

  private long errors() throws Exception {
    return Files.readAllLines(Path.of(file + ".log")).size();
  }

  /** Exits with 1, and says why, unless all holds. */
  public static void main(String[] arguments) throws Exception {
    new ServiceTest(Files.createDirectories(Path.of(arguments[0]))).run();
  }
}
