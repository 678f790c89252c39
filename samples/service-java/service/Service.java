// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.CatalogInfo;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** A model, and the index that it serves. */
final class Service implements AutoCloseable {
  final Versions versions;
  final Changes changes;
  private final Options options;
  private final Metrics metrics;
  private final Events events;
  private final Executor threads;
  private final Recommender recommender;

  /** Opens both. */
  Service(Front front) {
    options = front.options;
    metrics = front.metrics;
    events = front.events;
    threads = front.answering;
    versions = new Versions(options);
    Serving first = versions.enter();
    try {
      recommender = new Recommender(options, first);
      changes = new Changes(options, versions, first, front::isDraining);
    } catch (RuntimeException e) {
      versions.close();
      throw e;
    } finally {
      first.leave();
    }
    versions.follow(metrics, events);
  }

  /**
   * The answer fails where the client hangs up, or the time of the request is over. Rules are made on threads of their
   * own: a text of a filter may cost a pass over the index.
   */
  CompletableFuture<Answer> recommend(Exchange x) {
    String body = x.body();
    long deadline = x.deadline(options.timeout);
    Question asked = Question.read(body, options);
    return asked.isPlain() ? answer(x, asked, deadline)
        : CompletableFuture.completedFuture(x).thenComposeAsync(given -> answer(x, asked, deadline), threads);
  }

  private CompletableFuture<Answer> answer(Exchange x, Question asked, long deadline) {
    Serving serving = versions.enter();
    CompletableFuture<String> answer;
    try {
      var histories = asked.known(serving);
      Scope scope = Scope.of(serving, asked);
      metrics.ruled(asked);
      answer = recommender.answer(scope, histories, asked.k(), deadline, x.loop);
    } catch (RuntimeException e) {
      serving.leave();
      throw e;
    }
    answer.whenComplete((text, failure) -> serving.leave());
    x.gone.thenRun(() -> answer.cancel(true));
    return answer.thenApply(Answer::json);
  }

  Answer reload(Exchange x) {
    x.none();
    try {
      reload();
    } catch (RuntimeException e) {
      throw e instanceof Refusal ? e : new Refusal(500, "internal", "the index stays as it is: " + e.getMessage());
    }
    return Answer.json(Json.of("version", versions.version()));
  }

  /** Opens the index anew; on a failure, which the log has, the one before stays. */
  void reload() {
    try {
      versions.reload();
    } catch (RuntimeException e) {
      metrics.reload(false);
      events.warn("reload_failed", "message", String.valueOf(e.getMessage()));
      throw e;
    }
    metrics.reload(true);
    events.info("reloaded", "version", versions.version());
  }

  void metrics(StringBuilder out) {
    CatalogInfo live = versions.live == null ? null : versions.live.info();
    long inUse = live == null ? 0 : versions.inUse(versions.live.versions());
    Serving serving = versions.enter();
    try {
      metrics.index(out, serving);
      IndexMetrics.runner(out, recommender.stats());
      if (live != null) {
        IndexMetrics.live(out, serving, live, inUse);
      }
    } finally {
      serving.leave();
    }
  }

  @Override
  public void close() {
    recommender.close();
    versions.close();
  }
}
