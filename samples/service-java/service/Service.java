// SPDX-License-Identifier: Apache-2.0
package service;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.sidbeam.CatalogInfo;
import io.sidbeam.SidbeamException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import sun.misc.Signal;

/**
 * Recommendations over HTTP: POST /recommend, GET /metrics, POST /reload or SIGHUP, and the changes of a live
 * catalogue. README.md has the requests.
 *
 * <pre>java -cp sidbeam.jar:service.jar service.Service MODEL INDEX [--port N] [--offsets LIST] [--beams N] ...</pre>
 */
public final class Service {
  private static final int MAX_BODY = 1 << 20;
  private static final String ITEMS = "/items/";
  private static final int CHANGING = 4; // threads; a compaction takes one
  private static final int PATIENCE = 30; // seconds that running requests get when the process is to end

  /** A client's mistake, or another reason for no answer. */
  static final class Refusal extends Exception {
    private static final long serialVersionUID = 1;
    final int status;

    Refusal(int status, String message) {
      super(message);
      this.status = status;
    }
  }

  private final Options options;
  private final Token token;
  private final Metrics metrics = new Metrics();
  private final Versions versions;
  private final Recommender recommender;
  private final Changes changes;
  private final ExecutorService answering;
  private final ExecutorService changing = Executors.newFixedThreadPool(CHANGING); // and what waits for changes

  private Service(Options options) throws Refusal {
    this.options = options;
    answering = Executors.newFixedThreadPool(2 * options.lanes() + 1);
    token = Token.read(options.tokenFile(), System.getenv(Token.VARIABLE));
    versions = new Versions(options);
    Serving first = versions.enter();
    try {
      recommender = new Recommender(options, first, metrics);
      changes = new Changes(options, versions, first);
    } catch (RuntimeException e) {
      versions.close();
      throw e;
    } finally {
      first.leave();
    }
  }

  private String reload() throws Refusal {
    try {
      String version = versions.reload();
      metrics.reload(true);
      return "{\"version\": " + version + "}\n";
    } catch (RuntimeException e) {
      metrics.reload(false);
      throw new Refusal(500, "the index before stays, for " + options.index() + " cannot be served: " + e.getMessage());
    }
  }

  private String recommend(HttpExchange exchange) throws Refusal, IOException, InterruptedException {
    long begin = System.nanoTime();
    int status = 500;
    try {
      String body = body(exchange);
      Serving serving = versions.enter();
      try {
        String answer = recommender.answer(serving, body);
        status = 200;
        return answer;
      } finally {
        serving.leave();
      }
    } catch (Refusal e) {
      status = e.status;
      throw e;
    } finally {
      metrics.request(status, System.nanoTime() - begin);
    }
  }

  private String scrape() throws Refusal {
    CatalogInfo live = versions.live == null ? null : versions.live.info();
    long inUse = live == null ? 0 : versions.inUse(versions.live.versions());
    Serving serving = versions.enter();
    try {
      return metrics.text(serving, live, inUse, recommender.stats());
    } finally {
      serving.leave();
    }
  }

  private static String body(HttpExchange exchange) throws Refusal, IOException {
    try (InputStream in = exchange.getRequestBody()) {
      byte[] bytes = in.readNBytes(MAX_BODY + 1);
      if (bytes.length > MAX_BODY) {
        throw new Refusal(413, "the body has more than " + MAX_BODY + " bytes");
      }
      return text(bytes, "the body");
    }
  }

  /** What follows ITEMS, where URI.getPath() would make U+FFFD of bytes that are not UTF-8. */
  private static String item(HttpExchange exchange) throws Refusal {
    String raw = exchange.getRequestURI().getRawPath().replace("+", "%2B");
    byte[] bytes = URLDecoder.decode(raw, StandardCharsets.ISO_8859_1).getBytes(StandardCharsets.ISO_8859_1);
    return text(bytes, "the item").substring(ITEMS.length());
  }

  private static String text(byte[] bytes, String what) throws Refusal {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new Refusal(400, what + " is not UTF-8");
    }
  }

  @FunctionalInterface
  private interface Answer {
    String to(HttpExchange exchange) throws Refusal, IOException, InterruptedException;
  }

  /** An answer to those that bear the token. */
  private Answer guarded(Answer answer) {
    return exchange -> {
      token.check(exchange.getRequestHeaders().getFirst("Authorization"));
      return answer.to(exchange);
    };
  }

  /** Serves a change of a live catalogue that this process writes. */
  private void change(HttpServer server, String method, String path, Answer answer) {
    serve(server, changing, method, path, "application/json", guarded(exchange -> {
      changes.checkWrites();
      return answer.to(exchange);
    }));
  }

  /** Serves a path, or where it ends with a slash what begins with it, on threads of its kind. */
  private static void serve(HttpServer server, Executor threads, String method, String path, String type,
      Answer answer) {
    Answer checked = exchange -> {
      String asked = exchange.getRequestURI().getPath();
      if (!asked.equals(path) && !path.endsWith("/")) {
        throw new Refusal(404, "there is no " + asked);
      }
      if (!exchange.getRequestMethod().equals(method)) {
        throw new Refusal(405, asked + " wants " + method);
      }
      return answer.to(exchange);
    };
    server.createContext(path, exchange -> threads.execute(() -> serve(exchange, type, checked)));
  }

  private static void serve(HttpExchange exchange, String type, Answer answer) {
    try (exchange) {
      try {
        send(exchange, 200, type, answer.to(exchange));
      } catch (Refusal e) {
        if (e.status == 401) {
          exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer");
        }
        send(exchange, e.status, "application/json", "{\"error\": " + Json.quote(e.getMessage()) + "}\n");
      } catch (InterruptedException | RuntimeException e) {
        e.printStackTrace();
        send(exchange, 500, "application/json", "{\"error\": " + Json.quote(String.valueOf(e)) + "}\n");
      }
    } catch (IOException e) {
      System.err.println("a client is gone: " + e);
    }
  }

  private static void send(HttpExchange exchange, int status, String type, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", type);
    exchange.sendResponseHeaders(status, bytes.length);
    exchange.getResponseBody().write(bytes);
  }

  private void run() throws IOException {
    HttpServer server = HttpServer.create(new InetSocketAddress(options.port()), 0);
    server.setExecutor(answering);
    serve(server, Runnable::run, "POST", "/recommend", "application/json", this::recommend);
    serve(server, changing, "POST", "/reload", "application/json", guarded(exchange -> reload()));
    change(server, "POST", "/items", exchange -> changes.add(body(exchange)));
    change(server, "DELETE", ITEMS, exchange -> changes.remove(item(exchange)));
    change(server, "POST", "/publish", exchange -> changes.publish());
    change(server, "POST", "/rollback", exchange -> changes.rollBack(body(exchange)));
    change(server, "POST", "/compact", exchange -> changes.compact());
    serve(server, changing, "GET", "/versions", "application/json", exchange -> changes.list());
    serve(server, changing, "GET", "/metrics", "text/plain; version=0.0.4", exchange -> scrape());
    Signal.handle(new Signal("HUP"), signal -> {
      try {
        System.out.print("reloaded " + reload());
      } catch (Refusal e) {
        System.err.println(e.getMessage());
      }
    });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> finish(server)));
    versions.follow(metrics);
    server.start();
    System.out.println("serving " + versions.version() + " on port " + server.getAddress().getPort());
  }

  /**
   * At SIGTERM and SIGINT: no new connections, and requests that have been read are answered. stop() closes the port at
   * once, then waits. It runs on a thread of its own; without running requests it would wait for all of PATIENCE
   * (JDK-8233185). The catalogue closes after the last request.
   */
  private void finish(HttpServer server) {
    Thread closing = new Thread(() -> server.stop(PATIENCE));
    closing.setDaemon(true);
    closing.start();
    try {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE);
      for (ExecutorService threads : List.of(answering, changing)) { // in this order: one hands over to the other
        threads.shutdown();
        if (!threads.awaitTermination(end - System.nanoTime(), TimeUnit.NANOSECONDS)) {
          System.err.println("requests are dropped: they ran for more than " + PATIENCE + " s");
          threads.shutdownNow(); // a compaction hears of it
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    recommender.close();
    versions.close();
  }

  /** Starts the service; it runs until the process is ended. */
  public static void main(String[] arguments) throws IOException, Refusal {
    System.setProperty("sun.net.httpserver.nodelay", "true");
        // Otherwise answers wait 40 ms for an ack.
    try {
      new Service(Options.parse(arguments)).run();
    } catch (IllegalArgumentException | SidbeamException e) {
      System.err.println(e.getMessage());
      System.exit(e instanceof SidbeamException ? 1 : 2);
    }
  }
}
