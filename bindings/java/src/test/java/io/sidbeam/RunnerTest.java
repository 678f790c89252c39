// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** A model of random weights, tests/bindings/tiny_model.py: tokens 0 .. 63. */
@EnabledIfSystemProperty(named = "sidbeam.test.model", matches = ".+",
    disabledReason = "the library was built without the runner")
class RunnerTest {
  private static final Path FOLDER = Path.of(System.getProperty("sidbeam.test.model", ""));
  private static final int[] HISTORY = {17, 25, 33, 20, 30, 39};

  /** SIDs of three codes out of eight, whose tokens begin at 16, 24 and 32. */
  private static Index index() {
    return index(null);
  }

  private static Index index(String codebook) {
    try (Builder builder = new Builder(new BuilderConfig(8, 8, 8).codebook(codebook))) {
      builder.add(new Random(1).ints(3 * 60, 0, 8).toArray());
      return builder.finish();
    }
  }

  private static RunnerConfig config(Constrainer constraint) {
    return new RunnerConfig(Model.open(FOLDER), constraint).beams(5).vocabulary(new Vocabulary().offsets(16, 24, 32));
  }

  @Test
  void requestsHaveRulesOfTheirOwn() throws Exception {
    try (Index index = index(); Runner runner = new Runner(config(index))) {
      long[] seen = runner.run(new Request(HISTORY)).itemRows();
      Constraint rules = new Constraint(index, new Rules().exclude(ItemList.ofRows(seen)));
      Result left = runner.submit(new Request(HISTORY).constraint(rules)).get();
      assertEquals(5, left.size());
      assertTrue(left.itemRows().length >= 5);
      for (long row : left.itemRows()) {
        assertTrue(java.util.Arrays.stream(seen).noneMatch(other -> other == row), "row " + row);
      }
      Constraint nothing = new Constraint(index, new Rules().allow(ItemList.ofRows()));
      assertEquals(0, runner.run(new Request(HISTORY).constraint(nothing)).size());
    }
  }

  @Test
  void modelsSayWhatTheyAreAndWhatIsWrong() {
    Model model = Model.open(FOLDER, new ModelConfig().weights(Weights.F32));
    ModelInfo info = model.info();
    assertEquals("llama", info.family());
    assertEquals(List.of(2, 0, 4, 4), List.of(info.layers(), info.encoderLayers(), info.heads(), info.headDim()));
    assertEquals(64, info.vocabulary());
    refused(Status.IO_ERROR, "No such file", () -> Model.open(Path.of("nowhere")));
    refused(Status.INVALID_ARGUMENT, "config is null", () -> Model.open(FOLDER, null));
    model.close();
    model.close();
    refused(Status.BAD_STATE, "model is closed", model::info);
    refused(Status.BAD_STATE, "model is closed", () -> new Runner(new RunnerConfig(model, index())));
  }

  @Test
  void whatIsLeftOfAModelIsLogged(@TempDir Path folder) throws IOException {
    Files.copy(FOLDER.resolve("model.safetensors"), folder.resolve("model.safetensors"));
    String config = Files.readString(FOLDER.resolve("config.json"));
    Files.writeString(folder.resolve("config.json"), config.replace("hidden_layers\": 2", "hidden_layers\": 1"));
    List<String> messages = Fixtures.logged(() -> {
      Model.open(folder).close();
      Model.open(folder, new ModelConfig().log(LogLevel.ERROR)).close();
      Model.open(folder, new ModelConfig().log(LogLevel.WARNING)).close();
    });
    assertEquals(1, messages.size(), messages.toString());
    assertTrue(messages.get(0).startsWith("WARNING "), messages.get(0));
    assertTrue(messages.get(0).contains("none of 9 tensors, which are left: model.layers.1."), messages.get(0));
    refused(Status.INVALID_ARGUMENT, "no adapter_config.json",
        () -> Model.open(folder, new ModelConfig().base(FOLDER)));
  }

  @Test
  void itemsComeOutHoweverItRuns() throws Exception {
    Index index = index();
    try (Runner runner = new Runner(config(index)); Runner here = new Runner(config(index).laneThreads(false))) {
      Result result = runner.run(new Request(HISTORY));
      assertEquals(5, result.size());
      for (int i = 0; i < 5; i++) {
        assertArrayEquals(index.sid(result.ordinals()[i]), result.sid(i));
        assertTrue(i == 0 || result.scores()[i] <= result.scores()[i - 1]);
      }
      long first = result.ordinals()[0];
      assertEquals(index.itemRows(first).begin(), result.itemRows()[0]);
      assertTrue(result.request() >= 1 && result.batch() >= 1);
      assertArrayEquals(result.scores(), runner.submit(new Request(HISTORY)).get().scores());
      assertArrayEquals(result.scores(), here.run(new Request(HISTORY)).scores());
      assertEquals(2, runner.run(new Request(HISTORY).beams(2)).size());
      Result narrow = runner.run(new Request(HISTORY).widths(1, 5));
      assertTrue(narrow.size() > 0);
      for (int i = 0; i < narrow.size(); i++) {
        assertEquals(narrow.sid(0)[0], narrow.sid(i)[0]);
      }
      assertEquals(1, runner.submit(new Request(HISTORY).widths(1)).get().size());
      Constraint constraint = new Constraint(index);
      Result under = runner.run(new Request(HISTORY).constraint(constraint));
      assertArrayEquals(result.ordinals(), under.ordinals());
      assertArrayEquals(result.itemRows(), under.itemRows());
      constraint.close();
      refused(Status.BAD_STATE, "constraint is closed", under::itemRows);
      assertTrue(runner.drain(null));
      RunnerStats stats = runner.stats();
      assertEquals(List.of(1, 0, 6L, 6L),
          List.of(stats.lanes(), stats.queued(), stats.submitted(), stats.finished()));
      refused(Status.BAD_STATE, "needs lane_threads", () -> here.submit(new Request(HISTORY)));
    }
  }

  @Test
  void distinctItemsComeWithTheBestOfTheirSids() {
    try (Builder builder = new Builder(new BuilderConfig(8, 8, 8))) {
      builder.add(new Random(1).ints(3 * 60, 0, 8).toArray(), null, new Random(2).longs(60, 0, 7).toArray(), null);
      Index index = builder.finish();
      try (Runner runner = new Runner(config(index))) {
        Result result = runner.run(new Request(HISTORY));
        long[] all = index.itemIds(result.itemRows());
        long[] once = index.itemIds(result.itemRowsOf(0, 0, true));
        assertTrue(once.length < all.length);
        assertArrayEquals(java.util.Arrays.stream(all).distinct().toArray(), once);
        assertArrayEquals(java.util.Arrays.copyOf(once, 2), index.itemIds(result.itemRowsOf(0, 2, true)));
        assertEquals(5, result.itemRowsOf(1, 0, false).length);
      }
    }
  }

  @Test
  void resultsAreListedUnderACap() {
    try (Builder builder = new Builder(new BuilderConfig(8, 8, 8))) {
      builder.declareAttribute("maker", AttributeType.I64);
      builder.add(new Random(1).ints(3 * 60, 0, 8).toArray());
      builder.setAttribute("maker", AttributeValues.of(java.util.stream.LongStream.range(0, 60).map(i -> i % 3)
          .toArray()));
      Index index = builder.finish();
      try (Runner runner = new Runner(config(index).beams(20))) {
        Result result = runner.run(new Request(HISTORY));
        ItemRows found = result.itemRowsOf(new ItemLimits().cap(1, "maker"));
        long[] ids = index.itemIds(found.rows());
        assertEquals(3, java.util.Arrays.stream(ids).map(id -> id % 3).distinct().count());
        assertEquals(3, ids.length);
        assertTrue(found.cameShort());
        assertEquals(result.itemRows()[0], found.rows()[0]);
      }
    }
  }

  @Test
  void badRequestsAreRefusedAndTouchNoOther() {
    Runner runner = new Runner(config(index()));
    refused(Status.INVALID_ARGUMENT, "an empty prompt needs begin_tokens", () -> runner.run(new Request()));
    refused(Status.INVALID_ARGUMENT, "64, expected", () -> runner.run(new Request(1, 64)));
    refused(Status.INVALID_ARGUMENT, "64, expected", () -> runner.submit(new Request(1, 64)));
    refused(Status.INVALID_ARGUMENT, "expected a multiple of group, 2",
        () -> runner.run(new Request(1, 2, 3).group(2)));
    refused(Status.INVALID_ARGUMENT, "beams is 6", () -> runner.run(new Request(HISTORY).beams(6)));
    refused(Status.INVALID_ARGUMENT, "widths[1] is 6, expected 0..5",
        () -> runner.run(new Request(HISTORY).widths(1, 6)));
    refused(Status.INVALID_ARGUMENT, "tokens is null", () -> new Request((int[]) null));
    SidbeamException late = assertThrows(SidbeamException.class,
        () -> runner.run(new Request(HISTORY).deadline(Duration.ofNanos(-1))));
    assertEquals(Status.DEADLINE_EXCEEDED, late.status());
    assertEquals(5, runner.run(new Request(HISTORY)).size());
    runner.close();
    runner.close();
    refused(Status.BAD_STATE, "runner is closed", () -> runner.run(new Request(HISTORY)));
    refused(Status.BAD_STATE, "runner is closed", () -> runner.submit(new Request(HISTORY)));
    refused(Status.BAD_STATE, "runner is closed", runner::stats);
  }

  @Test
  void adjustChangesLogitsAndItsExceptionsReachTheCaller() throws Exception {
    Index index = index();
    int[] worst;
    try (Runner plain = new Runner(config(index))) {
      worst = plain.run(new Request(HISTORY)).sid(4);
    }
    Runner[] self = new Runner[1];
    RuntimeException refusal = new IllegalStateException("not this one");
    Consumer<Level> adjust = level -> {
      if ("refuse".equals(level.context())) {
        throw refusal;
      } else if ("close".equals(level.context())) {
        self[0].close();
      }
      assertTrue(level.level() > 0 || level.rows() == 1);
      assertEquals(8, level.codes());
      for (int row = 0; row < level.rows(); row++) {
        assertEquals(level.level(), level.prefix(row).length);
        int column = level.column(worst[level.level()]);
        level.logits(row).put(column, level.logits(row).get(column) + 1000);
      }
      refused(Status.INVALID_ARGUMENT, "row is " + level.rows(), () -> level.logits(level.rows()));
    };
    try (Runner runner = new Runner(config(index).lanes(2).adjust(adjust));
        Runner here = new Runner(config(index).laneThreads(false).adjust(adjust))) {
      self[0] = runner;
      assertArrayEquals(worst, runner.run(new Request(HISTORY)).sid(0));
      assertArrayEquals(worst, runner.submit(new Request(HISTORY)).get().sid(0));
      assertArrayEquals(worst, here.run(new Request(HISTORY)).sid(0));
      Request bad = new Request(HISTORY).context("refuse");
      assertSame(refusal, assertThrows(IllegalStateException.class, () -> runner.run(bad)));
      assertSame(refusal, assertThrows(ExecutionException.class, () -> runner.submit(bad).get()).getCause());
      refused(Status.BAD_STATE, "close is called within a callback",
          () -> runner.run(new Request(HISTORY).context("close")));
    }
  }

  @Test
  void whatAdjustWasGivenMayBeKept() {
    Index index = index();
    float[] expected;
    try (Runner plain = new Runner(config(index))) {
      expected = plain.run(new Request(HISTORY)).scores();
    }
    List<Level> levels = new ArrayList<>();
    List<FloatBuffer> kept = new ArrayList<>();
    float[] before = new float[8];
    Consumer<Level> adjust = level -> {
      for (FloatBuffer logits : kept) { // of earlier levels and requests: nobody reads them any more
        logits.put(0, Float.NaN);
      }
      levels.add(level);
      kept.add(level.logits(0));
      level.logits(0).get(0, before);
    };
    try (Runner runner = new Runner(config(index).normalization(Normalization.LEVEL).adjust(adjust))) {
      for (int i = 0; i < 3; i++) {
        runner.run(new Request(HISTORY));
      }
    }
    try (Runner runner = new Runner(config(index).adjust(level -> kept.get(0).put(0, 7)))) {
      assertArrayEquals(expected, runner.run(new Request(HISTORY)).scores());
    }
    Level last = levels.get(levels.size() - 1);
    float[] after = new float[8];
    last.logits(0).get(0, after);
    assertArrayEquals(before, after);
    assertEquals(2, last.prefix(0).length);
    assertEquals(last.column(2) + 1, last.column(3));
  }

  @Test
  void aUserWithoutAHistoryBeginsWithTheBeginTokens() {
    Index index = index();
    try (Runner plain = new Runner(config(index)); Runner cold = new Runner(config(index).beginTokens(HISTORY))) {
      assertArrayEquals(plain.run(new Request(HISTORY)).scores(), cold.run(new Request()).scores());
    }
  }

  @Test
  void aConstraintOfAnotherCodebookIsRefused() {
    try (Index books = index("books"); Index films = index("films"); Runner runner = new Runner(config(books))) {
      String expected = "constraint is of codebook 'films', expected 'books', that of the runner's constraint";
      refused(Status.INVALID_ARGUMENT, expected, () -> runner.run(new Request(HISTORY).constraint(films)));
      refused(Status.INVALID_ARGUMENT, expected, () -> runner.submit(new Request(HISTORY).constraint(films)));
      assertEquals(5, runner.run(new Request(HISTORY).constraint(index())).size());
      refused(Status.INVALID_ARGUMENT, "is of codebook 'films', expected 'books', that of constraints[0]",
          () -> new ConstraintSet(new ConstraintSetConfig(books, films)));
      try (Session session = new Session(new SessionConfig(books).beams(2))) {
        refused(Status.INVALID_ARGUMENT, "is of codebook 'films', expected 'books', that of the session's constraint",
            () -> session.start(new Start().constraints(films)));
      }
    }
  }

  @Test
  void futuresCanBeCancelled() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    Consumer<Level> adjust = level -> {
      begun.countDown();
      try {
        go.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    };
    try (Runner runner = new Runner(config(index()).queueRequests(1).adjust(adjust))) {
      CompletableFuture<Result> running = runner.submit(new Request(HISTORY));
      begun.await();
      CompletableFuture<Result> waiting = runner.submit(new Request(HISTORY));
      SidbeamException full = assertThrows(SidbeamException.class, () -> runner.submit(new Request(HISTORY)));
      assertEquals(Status.QUEUE_FULL, full.status());
      assertTrue(waiting.cancel(true));
      assertThrows(CancellationException.class, waiting::get);
      assertFalse(runner.drain(Duration.ofNanos(1000)));
      runner.cancel(1);
      go.countDown();
      SidbeamException ended = (SidbeamException) assertThrows(ExecutionException.class, running::get).getCause();
      assertEquals(Status.CANCELLED, ended.status());
      assertTrue(runner.drain(null));
      assertEquals(2, runner.stats().cancelled());
      refused(Status.INVALID_ARGUMENT, "id is 99", () -> runner.cancel(99));
    }
  }

  @Test
  void sixtyFourThreadsLoadItUntilItIsClosed() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(64);
    for (boolean adjusts : new boolean[] {false, true}) {
      AtomicBoolean closed = new AtomicBoolean();
      AtomicBoolean late = new AtomicBoolean();
      RunnerConfig config = config(index()).lanes(2).queueRequests(16);
      if (adjusts) {
        config.adjust(level -> late.compareAndSet(false, closed.get()));
      }
      Runner runner = new Runner(config);
      float[] want = runner.run(new Request(HISTORY)).scores();
      CountDownLatch enough = new CountDownLatch(200);
      List<Future<?>> workers = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        int worker = i;
        workers.add(pool.submit(() -> load(runner, worker, want, enough)));
      }
      enough.await();
      runner.close();
      closed.set(true);
      for (Future<?> worker : workers) {
        worker.get();
      }
      assertFalse(late.get(), "adjust was called after close");
    }
    pool.shutdown();
    assertTrue(pool.awaitTermination(60, TimeUnit.SECONDS));
  }

  /** Runs or submits until the runner is closed; anything but what may happen then is thrown. */
  private static void load(Runner runner, int worker, float[] want, CountDownLatch enough) {
    while (true) {
      try {
        Result result;
        if (worker % 2 == 0) {
          result = runner.run(new Request(HISTORY));
        } else {
          CompletableFuture<Result> future = runner.submit(new Request(HISTORY));
          if (worker % 16 == 1) {
            future.cancel(false);
          }
          result = future.get();
        }
        assertArrayEquals(want, result.scores());
        enough.countDown();
      } catch (CancellationException e) {
        Thread.yield();
      } catch (ExecutionException | InterruptedException e) {
        assertEquals(Status.CANCELLED, ((SidbeamException) e.getCause()).status(), e.toString());
      } catch (SidbeamException e) {
        if (e.status() == Status.BAD_STATE) {
          return;
        }
        assertTrue(e.status() == Status.QUEUE_FULL || e.status() == Status.CANCELLED, e.toString());
      }
    }
  }

  @Test
  void requestsKeepTheirRunnerAndNobodyElseDoes() throws Exception {
    Runner runner = new Runner(config(index()));
    CompletableFuture<Result> future = runner.submit(new Request(HISTORY));
    WeakReference<Runner> weak = new WeakReference<>(runner);
    runner = null;
    assertEquals(5, future.get().size());
    future = null;
    while (weak.get() != null) {
      Fixtures.collect();
    }
  }
}
