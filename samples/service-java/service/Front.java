// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.JsonObject;
import io.sidbeam.SidbeamException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;

/** Takes requests to their routes, and notes every answer. It is there before the service is. */
final class Front {
  private static final int CHANGING = 4; // threads; a compaction takes one

  final Options options;
  final Events events;
  final Metrics metrics = new Metrics();
  final Executor answering; // what would hold up the connections of a thread
  private final Executor changing = pool(CHANGING, "changing"); // what may take long
  private final Executor telling = pool(1, "telling"); // what shall wait for neither
  private final Token token;
  private final AtomicInteger running = new AtomicInteger();
  private volatile IntSupplier connections = () -> 0;
  private volatile Service service; // null: it is being opened
  private volatile boolean draining;

  /** Fails with an IllegalArgumentException where the token cannot be used. */
  Front(Options options, Events events) {
    this.options = options;
    this.events = events;
    token = Token.read(options.tokenFile, System.getenv(Token.VARIABLE));
    answering = pool(2 * options.lanes + 1, "answering");
  }

  private static Executor pool(int threads, String name) {
    return Executors.newFixedThreadPool(threads, task -> {
      Thread thread = new Thread(task, name);
      thread.setDaemon(true);
      return thread;
    });
  }

  /** From where it knows how many connections are open. */
  void watch(IntSupplier connections) {
    this.connections = connections;
  }

  void open(Service service) {
    this.service = service;
  }

  Service service() {
    return service;
  }

  void drain() {
    draining = true;
  }

  boolean isDraining() {
    return draining;
  }

  int running() {
    return running.get();
  }

  /** Refuses a request for the first reason that its headers show. */
  void admit(Exchange x) {
    Route to = x.route;
    if (to == null) {
      throw new Refusal(404, "not_found", "there is no " + x.target);
    }
    if (!x.head.method().name().equals(to.method)) {
      throw new Refusal(405, "method_not_allowed", to.path + " is for " + to.method);
    }
    x.service = service;
    if (x.service == null && to != Route.HEALTHZ) {
      throw Refusal.STARTING;
    }
    if (to.isGuarded()) {
      token.check(x.head.headers().get("Authorization"));
    }
    if (!to.isProbe()) {
      x.counted = true;
      if (running.incrementAndGet() > options.requests) {
        throw Refusal.TOO_MANY_REQUESTS;
      }
    }
    if (to.needs == Route.Needs.WRITER) {
      x.service.changes.checkWrites();
    } else if (to.needs == Route.Needs.LIVE) {
      x.service.changes.checkLive();
    }
    x.checkBody();
  }

  /** Answers a request that was admitted, and has its body. What is given never fails. */
  CompletableFuture<Answer> serve(Exchange x) {
    Executor threads = switch (x.route) {
      case HEALTHZ, READYZ -> Runnable::run;
      case RECOMMEND -> x.isShort() ? Runnable::run : answering;
      case METRICS, VERSIONS -> telling;
      default -> changing;
    };
    return CompletableFuture.completedFuture(x).thenComposeAsync(given -> x.route.answer(this, x), threads)
        .handle((answer, failure) -> failure == null ? noted(x, answer, null) : refuse(x, failure));
  }

  /** The answer to a request that cannot be served. */
  Answer refuse(Exchange x, Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    Refusal refusal = x.gone.isDone() ? Refusal.HUNG_UP : Refusal.of(cause);
    if (refusal.code.equals("internal") && !(cause instanceof Refusal || cause instanceof SidbeamException)) {
      events.failed(x.trace.requestId(), cause);
    }
    return noted(x, Answer.of(refusal, x.trace.requestId()), refusal);
  }

  /** Counts an answer, and has a line of the log for it, before the client can know. */
  private Answer noted(Exchange x, Answer answer, Refusal refusal) {
    JsonObject line = Json.of("request_id", x.trace.requestId());
    if (x.trace.traceId() != null) {
      line.addProperty("trace_id", x.trace.traceId());
      line.addProperty("parent_id", x.trace.parentId());
    }
    line.addProperty("method", x.head.method().name());
    if (answer.status() == 405) {
      answer.headers().put("Allow", x.route.method);
    }
    Answer noted = noted(line, x.route, System.nanoTime() - x.begin, answer, refusal, x.trace.requestId());
    if (x.counted) {
      running.decrementAndGet();
    }
    return noted;
  }

  private Answer noted(JsonObject line, Route route, long nanos, Answer answer, Refusal refusal, String requestId) {
    String name = route == null ? "other" : route.path;
    metrics.request(name, answer.status(), nanos);
    line.addProperty("route", name);
    line.addProperty("status", answer.status());
    line.addProperty("seconds", nanos / 1e9);
    if (refusal != null) {
      line.addProperty("code", refusal.code);
      line.addProperty("message", refusal.getMessage());
    }
    events.info("request", line);
    answer.headers().put("X-Request-Id", requestId);
    return answer;
  }

  /** The answer to what never became a request. */
  Answer refuse(Refusal refusal) {
    String id = Trace.newId();
    return noted(Json.of("request_id", id), null, 0, Answer.of(refusal, id), refusal, id);
  }

  Answer healthy() {
    return Answer.json(Json.of("status", "ok"));
  }

  Answer ready(Exchange x) {
    if (draining) {
      throw Refusal.DRAINING;
    }
    return Answer.json(Json.of("status", "ready", "version", x.service.versions.version()));
  }

  Answer metrics(Exchange x) {
    StringBuilder out = new StringBuilder();
    metrics.requests(out);
    Metrics.number(out, "requests_running", "gauge",
        "Requests that run, without those for health, readiness and metrics.", running.get());
    Metrics.number(out, "connections", "gauge", "Connections that are open.", connections.getAsInt());
    Metrics.number(out, "draining", "gauge", "1: the service is about to end.", draining ? 1 : 0);
    x.service.metrics(out);
    return Answer.text(out.toString());
  }
}
