// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.Index;
import io.sidbeam.ItemRows;
import io.sidbeam.Model;
import io.sidbeam.Request;
import io.sidbeam.Result;
import io.sidbeam.Runner;
import io.sidbeam.RunnerConfig;
import io.sidbeam.RunnerStats;
import io.sidbeam.SidbeamException;
import io.sidbeam.Status;
import io.sidbeam.Vocabulary;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.stream.IntStream;
import service.Service.Refusal;

/**
 * From a request's JSON to its answer's, by a model and its runner, which serve all versions of the index: each request
 * names the one that it runs under.
 */
final class Recommender implements AutoCloseable {
  private static final int DEFAULT_K = 10;
  private static final int MAX_HISTORIES = 256;
  private static final List<String> MEMBERS = List.of("histories", "k", "exclude", "allow", "where", "filter");

  private final Options options;
  private final Metrics metrics;
  private final Runner runner;

  Recommender(Options options, Serving first, Metrics metrics) {
    this.options = options;
    this.metrics = metrics;
    Vocabulary vocabulary = new Vocabulary().endColumn(options.endColumn());
    if (options.offsets() != null) {
      vocabulary.offsets(options.offsets());
    }
    try (Model model = Model.open(options.model()); // the runner holds them
        Model draft = options.draft() == null ? null : Model.open(options.draft()); Index like = first.like()) {
      RunnerConfig config = new RunnerConfig(model, like).vocabulary(vocabulary).beams(options.beams())
          .maxGroup(options.group()).maxPrompt(positions(options.startTokens()) + options.prompt())
          .normalization(options.normalization()).lanes(options.lanes()).queueRequests(options.queue())
          .draft(draft);
      if (options.beginTokens() != null) {
        config.beginTokens(options.beginTokens());
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

  String answer(Serving serving, String body) throws Refusal, InterruptedException {
    Map<?, ?> request = request(body);
    int k = k(request.get("k"));
    List<List<int[]>> histories = histories(serving, request.get("histories"));
    List<CompletableFuture<Result>> results = new ArrayList<>();
    try (Scope scope = Scope.of(serving, options, request)) {
      metrics.rules(request);
      for (List<int[]> history : histories) {
        int[] tokens = tokens(history);
        // Of a history without items the model would have nothing to read.
        results.add(tokens.length == 0 ? CompletableFuture.completedFuture(null)
            : runner.submit(new Request(tokens).group(options.group()).catalogue(scope.catalogue())));
      }
      StringBuilder out = new StringBuilder("{\"version\": ").append(serving.versionJson())
          .append(", \"results\": [");
      for (CompletableFuture<Result> result : results) {
        out.append(result == results.get(0) ? "[" : ", [").append(String.join(", ", items(scope, result.get(), k)))
            .append(']');
      }
      return out.append("]").append(scope.counts()).append("}\n").toString();
    } catch (ExecutionException e) {
      throw refused(e.getCause());
    } catch (SidbeamException e) {
      throw refused(e);
    } finally {
      results.forEach(result -> result.cancel(true)); // of an answer that fails
    }
  }

  /** A full queue is no failure of the service: the client may try again. */
  private static Refusal refused(Throwable e) {
    boolean busy = e instanceof SidbeamException failed
        && (failed.status() == Status.QUEUE_FULL || failed.status() == Status.CANCELLED);
    return new Refusal(busy ? 503 : 500, e.getMessage());
  }

  /** The start tokens and those of the SIDs, whole ones, as many of the latest as the model reads; none of no SID. */
  private int[] tokens(List<int[]> history) {
    int begin = history.size();
    for (int count = 0; begin > 0 && count + positions(history.get(begin - 1)) <= options.prompt(); begin--) {
      count += positions(history.get(begin - 1));
    }
    if (begin == history.size()) {
      return new int[0];
    }
    IntStream sids = history.subList(begin, history.size()).stream()
        .flatMapToInt(sid -> filled(IntStream.range(0, sid.length).map(l -> token(l, sid[l])).toArray()));
    return IntStream.concat(filled(options.startTokens()), sids).toArray();
  }

  /** To the end of a position: -1 is no token. */
  private IntStream filled(int[] tokens) {
    int missing = positions(tokens) * options.group() - tokens.length;
    return IntStream.concat(IntStream.of(tokens), IntStream.generate(() -> -1).limit(missing));
  }

  private int positions(int[] tokens) {
    return (tokens.length + options.group() - 1) / options.group();
  }

  private int token(int level, int code) {
    return options.offsets() == null ? code : Math.toIntExact(options.offsets()[level] + code);
  }

  /** What is not known is refused: a rule that is misspelt would be no rule. */
  private static Map<?, ?> request(String body) throws Refusal {
    try {
      if (Json.parse(body) instanceof Map<?, ?> map) {
        for (Object member : map.keySet()) {
          if (!MEMBERS.contains(member)) {
            throw new Refusal(400, "there is no member " + Json.cut((String) member) + ", expected some of " + MEMBERS);
          }
        }
        return map;
      }
    } catch (IllegalArgumentException e) {
      throw new Refusal(400, e.getMessage());
    }
    throw new Refusal(400, "expected an object {\"histories\": [[item or SID, ...], ...], \"k\": number}");
  }

  private int k(Object k) throws Refusal {
    if (k == null) {
      return Math.min(DEFAULT_K, options.beams());
    }
    if (k instanceof Long number && number >= 1 && number <= options.beams()) {
      return number.intValue();
    }
    throw new Refusal(400, "k is " + k + ", expected 1 .. " + options.beams());
  }

  private static List<List<int[]>> histories(Serving serving, Object histories) throws Refusal {
    if (!(histories instanceof List<?> lists) || lists.isEmpty() || lists.size() > MAX_HISTORIES) {
      throw new Refusal(400, "histories is missing, no array, or has not 1 .. " + MAX_HISTORIES + " entries");
    }
    List<List<int[]>> all = new ArrayList<>();
    for (Object entry : lists) {
      if (!(entry instanceof List<?> list)) {
        throw new Refusal(400, "histories[" + all.size() + "] is no array of items");
      }
      List<int[]> history = new ArrayList<>();
      for (Object item : list) {
        int[] sid = item instanceof List<?> codes ? codes(serving, codes) : byId(serving, item);
        if (sid != null) {
          history.add(sid);
        }
      }
      all.add(history);
    }
    return all;
  }

  /** An item that this version of the catalogue lacks says nothing about those that it has. */
  private static int[] byId(Serving serving, Object id) throws Refusal {
    Object known = Ids.read(id, serving.idType);
    if (known == null) {
      throw new Refusal(400, "item " + Json.cut(String.valueOf(id)) + " is neither a SID nor "
          + Ids.expected(serving.idType));
    }
    return serving.sid(known);
  }

  private static int[] codes(Serving serving, List<?> codes) throws Refusal {
    int[] limits = serving.codes;
    int[] sid = new int[codes.size()];
    for (int l = 0; l < sid.length; l++) {
      if (l >= limits.length || !(codes.get(l) instanceof Long code) || code < 0 || code >= limits[l]) {
        throw new Refusal(400, "SID " + codes + " is none of at most " + limits.length + " codes, or out of range");
      }
      sid[l] = code.intValue();
    }
    return sid;
  }

  private static List<String> items(Scope scope, Result result, int k) {
    List<String> items = new ArrayList<>();
    if (result == null) {
      return items;
    }
    ItemRows found = scope.items(result.ordinals(), k);
    List<?> ids = scope.serving().ids(found.rows());
    for (int i = 0; i < result.size(); i++) {
      for (Object id : ids.subList((int) found.offsets()[i], (int) found.offsets()[i + 1])) {
        items.add(String.format(Locale.ROOT, "{\"item\": %s, \"score\": %.5f}",
            Ids.json(id, scope.serving().idType), result.scores()[i]));
      }
    }
    return items;
  }
}
