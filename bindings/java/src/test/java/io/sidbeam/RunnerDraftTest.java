// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** A runner whose draft writes levels ahead, on a model of random weights, tests/bindings/tiny_model.py. */
@EnabledIfSystemProperty(named = "sidbeam.test.model", matches = ".+",
    disabledReason = "the library was built without the runner")
class RunnerDraftTest {
  private static final Path FOLDER = Path.of(System.getProperty("sidbeam.test.model", ""));
  private static final int[] HISTORY = {17, 25, 33, 20, 30, 39};
  private static final int LEVELS = 3;

  @TempDir
  Path folder;

  private static RunnerConfig config() {
    try (Builder builder = new Builder(new BuilderConfig(8, 8, 8))) {
      builder.add(new Random(1).ints(LEVELS * 60, 0, 8).toArray());
      return new RunnerConfig(Model.open(FOLDER), builder.finish()).beams(5)
          .vocabulary(new Vocabulary().offsets(16, 24, 32));
    }
  }

  /** The model without its second layer. */
  private Model shallow() throws IOException {
    String config = Files.readString(FOLDER.resolve("config.json"));
    String changed = config.replace("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1");
    assertTrue(!changed.equals(config), config);
    Files.writeString(folder.resolve("config.json"), changed);
    Files.copy(FOLDER.resolve("model.safetensors"), folder.resolve("model.safetensors"));
    Model model = Model.open(folder);
    assertEquals(1, model.info().layers());
    return model;
  }

  private static void assertSame(Result expected, Result got) {
    assertArrayEquals(expected.sids(), got.sids());
    assertArrayEquals(expected.scores(), got.scores());
    assertArrayEquals(expected.ordinals(), got.ordinals());
  }

  @Test
  void aDraftChangesRoundsAlone() throws Exception {
    Result plain;
    try (Runner alone = new Runner(config())) {
      plain = alone.run(new Request(HISTORY));
      assertEquals(List.of(0, 0, 0, Duration.ZERO),
          List.of(plain.rounds(), plain.draftedLevels(), plain.acceptedLevels(), plain.drafting()));
      assertEquals(List.of(0L, 0L), List.of(alone.stats().rounds(), alone.stats().nodes()));
    }
    Model same = Model.open(FOLDER);
    for (Model draft : List.of(same, shallow())) {
      for (int draftBeams : new int[] {0, 8}) {
        RunnerConfig config = config().draft(draft).draftBeams(draftBeams).speculate(Speculate.STRICT);
        try (Runner runner = new Runner(config)) {
          Result got = runner.run(new Request(HISTORY));
          assertSame(plain, got);
          assertSame(plain, runner.submit(new Request(HISTORY)).get());
          assertTrue(got.rounds() >= 1 && got.acceptedLevels() <= got.draftedLevels(), got.toString());
          assertEquals(LEVELS, got.rounds() + got.acceptedLevels());
          assertTrue(!got.drafting().isNegative() && got.drafting().compareTo(got.ran()) <= 0, got.toString());
          if (draft == same) { // always right
            assertEquals(List.of(1, 2, 2), List.of(got.rounds(), got.draftedLevels(), got.acceptedLevels()));
          }
        }
      }
    }
  }

  @Test
  void roundsAreCounted() throws Exception {
    Model draft = shallow();
    try (Runner runner = new Runner(config().draft(draft).draftBeams(8))) {
      draft.close(); // the runner holds it
      Result first = runner.run(new Request(HISTORY));
      Result second = runner.run(new Request(20, 30, 39));
      RunnerStats stats = runner.stats();
      assertEquals(first.rounds() + second.rounds(), stats.rounds());
      assertEquals(first.draftedLevels() + second.draftedLevels(), stats.draftedLevels());
      assertEquals(first.acceptedLevels() + second.acceptedLevels(), stats.acceptedLevels());
      assertEquals(2 * LEVELS, stats.roundLevels());
      assertEquals(stats.acceptedLevels(), stats.roundLevels() - stats.rounds());
      assertTrue(stats.acceptedLevels() > 0 && stats.nodes() > stats.rounds(), stats.toString());
      assertTrue(stats.drafting().compareTo(first.drafting().plus(second.drafting())) >= 0, stats.toString());
    }
  }

  /** Lanes, batches and the order of requests change nothing: random numbers are those of the seeds. */
  private static void assertRepeats(RunnerConfig config) throws Exception {
    List<CompletableFuture<Result>> pending = new ArrayList<>();
    boolean differs = false;
    try (Runner alone = new Runner(config);
        Runner together = new Runner(config.lanes(2).batch(3, 0, Duration.ofMillis(1)))) {
      for (int i = 11; i >= 0; i--) {
        pending.add(together.submit(new Request(HISTORY).seed(5, i)));
      }
      for (int i = 0; i < pending.size(); i++) {
        Result got = pending.get(i).get();
        assertSame(alone.run(new Request(HISTORY).seed(5, 11 - i)), got);
        differs |= !Arrays.equals(got.sids(), alone.run(new Request(HISTORY).seed(6, 11 - i)).sids());
      }
    }
    assertTrue(differs, "another seed draws otherwise");
  }

  @Test
  void drawsRepeatByTheirSeeds() throws Exception {
    Model draft = shallow();
    assertRepeats(config().draft(draft).speculate(Speculate.RELAXED));
    assertRepeats(config().draft(draft).speculate(Speculate.RELAXED).withoutReplacement(true).draftBeams(8));
    assertRepeats(config().draft(draft).mode(Mode.STOCHASTIC));
    try (Runner runner = new Runner(config().draft(draft).speculate(Speculate.RELAXED));
        Runner different = new Runner(
            config().draft(draft).speculate(Speculate.RELAXED).withoutReplacement(true).draftBeams(8))) {
      for (int i = 0; i < 20; i++) {
        Result draws = runner.run(new Request(HISTORY).seed(1, i));
        assertEquals(5, draws.scores().length);
        assertEquals(LEVELS, draws.rounds() + draws.acceptedLevels());
        long[] ordinals = different.run(new Request(HISTORY).seed(1, i)).ordinals();
        assertEquals(ordinals.length, Arrays.stream(ordinals).distinct().count());
      }
    }
  }

  @Test
  void stochasticBeamsAreTheSameWithADraft() throws Exception {
    try (Runner plain = new Runner(config().mode(Mode.STOCHASTIC));
        Runner drafted = new Runner(config().mode(Mode.STOCHASTIC).draft(shallow()).draftBeams(8))) {
      for (int i = 0; i < 20; i++) {
        Result got = drafted.run(new Request(HISTORY).seed(i, 2));
        assertSame(plain.run(new Request(HISTORY).seed(i, 2)), got);
        assertTrue(got.rounds() >= 1);
      }
    }
  }

  @Test
  void seedsAreOfRunnersThatDraw() {
    try (Runner runner = new Runner(config())) {
      refused(Status.INVALID_ARGUMENT, "seed is 5, expected 0: the runner searches, and draws nothing",
          () -> runner.run(new Request(HISTORY).seed(5, 0)));
    }
  }

  @Test
  void draftsThatMakeNoSenseAreRefused() throws Exception {
    Model draft = shallow();
    refused(Status.INVALID_ARGUMENT, "draft_beams is 4, expected at least 5, beams",
        () -> new Runner(config().draft(draft).draftBeams(4)));
    refused(Status.INVALID_ARGUMENT, "expected a model, since draft_beams is 6",
        () -> new Runner(config().draftBeams(6)));
    refused(Status.INVALID_ARGUMENT, "draft_beams is 6, expected 5, beams, or without_replacement",
        () -> new Runner(config().draft(draft).speculate(Speculate.RELAXED).draftBeams(6)));
    refused(Status.INVALID_ARGUMENT, "without_replacement is 1, expected 0",
        () -> new Runner(config().draft(draft).withoutReplacement(true)));
    refused(Status.UNSUPPORTED, "mode is Mode.SAMPLE", () -> new Runner(config().mode(Mode.SAMPLE)));
    refused(Status.INVALID_ARGUMENT, "speculate is null", () -> config().speculate(null));
    refused(Status.INVALID_ARGUMENT, "adjust is given, expected null beside draft",
        () -> new Runner(config().draft(draft).adjust(level -> { })));
    draft.close();
    refused(Status.BAD_STATE, "draft model is closed", () -> new Runner(config().draft(draft)));
  }
}
