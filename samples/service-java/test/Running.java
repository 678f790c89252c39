// SPDX-License-Identifier: Apache-2.0
package test;

import java.io.BufferedReader;
import java.io.File;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A service in a process of its own, and what tests ask it. The errors that it prints go to a file by the index. */
public final class Running implements AutoCloseable {
  static final String TOKEN = "a-token-of-tests";

  final Process process;
  final BufferedReader output;
  final String url;
  private final HttpClient client = HttpClient.newHttpClient();

  Running(Path model, Path file, String... options) throws Exception {
    this(TOKEN, model, file, options);
  }

  /** With a token in the environment; "": none. */
  Running(String token, Path model, Path file, String... options) throws Exception {
    // If started with SIGHUP ignored, as under nohup, Java goes on ignoring it, and the test would wait for a reload.
    List<String> command = new ArrayList<>(List.of("env", "--default-signal=HUP",
        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
        System.getProperty("java.class.path"), "service.Service", model.toString(), file.toString(), "--port", "0"));
    command.addAll(List.of(options));
    ProcessBuilder builder = new ProcessBuilder(command).redirectError(new File(file + ".log"));
    builder.environment().put("SIDBEAM_TOKEN", token);
    process = builder.start();
    output = process.inputReader();
    String line = output.readLine();
    check(line != null && line.startsWith("serving "), "no start: " + Files.readString(Path.of(file + ".log")));
    url = "http://localhost:" + line.substring(line.lastIndexOf(' ') + 1);
  }

  static void check(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  /** Waits for what another thread or process does. */
  public static void until(String what, BooleanSupplier holds) {
    for (long begin = System.nanoTime(); !holds.getAsBoolean();) {
      check(System.nanoTime() - begin < 60e9, "not within a minute: " + what);
    }
  }

  HttpResponse<String> ask(String method, String path, String body) throws Exception {
    return ask(method, path, body, "Bearer " + TOKEN);
  }

  HttpResponse<String> ask(String method, String path, String body, String authorization) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path))
        .method(method, HttpRequest.BodyPublishers.ofString(body));
    if (authorization != null) {
      request.header("Authorization", authorization);
    }
    return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  /** Sends a change, and expects an answer. */
  void does(String expected, String method, String path, String body) throws Exception {
    HttpResponse<String> response = ask(method, path, body);
    check(response.statusCode() == 200 && response.body().equals(expected + "\n"), "expected " + expected + ": "
        + method + " " + path + " " + body + " gave " + response.statusCode() + " " + response.body());
  }

  void refuses(int status, String message, String method, String path, String body) throws Exception {
    HttpResponse<String> response = ask(method, path, body);
    check(response.statusCode() == status && response.body().contains(message), "expected " + status + " " + message
        + ": " + method + " " + path + " " + body + " gave " + response.statusCode() + " " + response.body());
  }

  double metric(String name) throws Exception {
    String text = ask("GET", "/metrics", "").body();
    Matcher matcher = Pattern.compile("^sidbeam_" + Pattern.quote(name) + " (\\S+)$", Pattern.MULTILINE).matcher(text);
    check(matcher.find(), "no " + name + " in\n" + text);
    return Double.parseDouble(matcher.group(1));
  }

  @Override
  public void close() {
    process.destroy();
    try {
      check(process.waitFor(60, TimeUnit.SECONDS), "the service does not end");
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
