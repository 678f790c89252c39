// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.stream.JsonWriter;
import io.sidbeam.Index;
import io.sidbeam.ItemRows;
import io.sidbeam.Model;
import io.sidbeam.Request;
import io.sidbeam.Result;
import io.sidbeam.Runner;
import io.sidbeam.RunnerConfig;
import io.sidbeam.RunnerStats;
import io.sidbeam.SidbeamException;
import io.sidbeam.Vocabulary;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * From histories to the JSON of their answers, by a model and its runner, which serve all versions of the index: each
 * request names the one that it runs under.
 */
final class Recommender implements AutoCloseable {
  private final Options options;
  private final Runner runner;

  Recommender(Options options, Serving first) {
    this.options = options;
    Vocabulary vocabulary = new Vocabulary().endColumn(options.endColumn);
    if (options.offsets != null) {
      vocabulary.offsets(options.offsets);
    }
    try (Model model = Model.open(options.model); // the runner holds them
        Model draft = options.draft == null ? null : Model.open(options.draft); Index like = first.like()) {
      RunnerConfig config = new RunnerConfig(model, like).vocabulary(vocabulary).beams(options.beams)
          .maxGroup(options.group).maxPrompt(positions(start()) + options.prompt)
          .normalization(options.normalization).lanes(options.lanes).queueRequests(options.queue).draft(draft);
      if (options.beginTokens != null) {
        config.beginTokens(options.beginTokens);
      }
      runner = new Runner(config);
    }
  }

  RunnerStats stats() {
    return runner.stats();
  }

  /** Ends the histories that wait. */
  @Override
  public void close() {
    runner.close();
  }

  /**
   * The k best items of each history, which run side by side, as JSON. Where one of them fails, the time is over, or
   * the answer is cancelled, all of them end.
   *
   * @param scope closed with the answer
   * @param deadline by System.nanoTime()
   * @param threads that write the answer
   */
  CompletableFuture<String> answer(Scope scope, List<List<int[]>> histories, int k, long deadline,
      ScheduledExecutorService threads) {
    Duration time = Duration.ofNanos(deadline - System.nanoTime());
    var results = histories.stream().map(history -> submit(tokens(history), scope, time)).toList();
    CompletableFuture<String> answer = all(results).thenApplyAsync(done -> json(scope, results, k), threads);
    Future<?> late = threads.schedule(() -> answer.completeExceptionally(Refusal.TOO_LATE), time.toNanos(),
        TimeUnit.NANOSECONDS);
    answer.whenComplete((text, failure) -> {
      late.cancel(false);
      results.forEach(result -> result.cancel(true));
      scope.close();
    });
    return answer;
  }

  private CompletableFuture<Result> submit(int[] tokens, Scope scope, Duration time) {
    if (tokens.length == 0) { // without items the model would have nothing to read
      return CompletableFuture.completedFuture(null);
    }
    try {
      return runner.submit(new Request(tokens).group(options.group).constraint(scope.constrainer()).deadline(time));
    } catch (SidbeamException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Is done when all of them are, or one has failed. */
  private static CompletableFuture<Void> all(List<CompletableFuture<Result>> results) {
    CompletableFuture<Void> all = CompletableFuture.allOf(results.toArray(CompletableFuture[]::new));
    for (CompletableFuture<Result> result : results) {
      result.exceptionally(failure -> {
        all.completeExceptionally(failure);
        return null;
      });
    }
    return all;
  }

  private int[] start() {
    return options.startTokens == null ? new int[0] : options.startTokens;
  }

  /** The start tokens and those of the SIDs, whole ones, as many of the latest as the model reads; none of no SID. */
  private int[] tokens(List<int[]> history) {
    int begin = history.size();
    for (int count = 0; begin > 0 && count + positions(history.get(begin - 1)) <= options.prompt; begin--) {
      count += positions(history.get(begin - 1));
    }
    if (begin == history.size()) {
      return new int[0];
    }
    IntStream sids = history.subList(begin, history.size()).stream()
        .flatMapToInt(sid -> filled(IntStream.range(0, sid.length).map(l -> token(l, sid[l])).toArray()));
    return IntStream.concat(filled(start()), sids).toArray();
  }

  /** To the end of a position: -1 is no token. */
  private IntStream filled(int[] tokens) {
    int missing = positions(tokens) * options.group - tokens.length;
    return IntStream.concat(IntStream.of(tokens), IntStream.generate(() -> -1).limit(missing));
  }

  private int positions(int[] tokens) {
    return (tokens.length + options.group - 1) / options.group;
  }

  private int token(int level, int code) {
    return options.offsets == null ? code : Math.toIntExact(options.offsets[level] + code);
  }

  private static String json(Scope scope, List<CompletableFuture<Result>> results, int k) {
    StringWriter text = new StringWriter();
    try {
      JsonWriter out = new JsonWriter(text);
      out.beginObject().name("version").jsonValue(scope.serving().versionJson().toString());
      out.name("results").beginArray();
      for (CompletableFuture<Result> result : results) {
        out.beginArray();
        if (result.join() != null) {
          write(out, scope, result.join(), k);
        }
        out.endArray();
      }
      out.endArray();
      out.setSerializeNulls(false); // the lists that there are not
      out.name("unknown_excluded").value(scope.unknownExcluded());
      out.name("unknown_allowed").value(scope.unknownAllowed());
      out.endObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a string can always be written
    }
    return text.toString();
  }

  private static void write(JsonWriter out, Scope scope, Result result, int k) throws IOException {
    ItemRows found = scope.items(result.ordinals(), k);
    List<?> ids = scope.serving().ids(found.rows());
    for (int i = 0; i < result.size(); i++) {
      for (Object id : ids.subList((int) found.offsets()[i], (int) found.offsets()[i + 1])) {
        Ids.write(out.beginObject().name("id"), id, scope.serving().idType);
        out.name("score").value(result.scores()[i]).endObject();
      }
    }
  }
}
