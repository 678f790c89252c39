// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** A runner whose model carries a draft head, on a model of random weights; the head's biases alone decide. */
@EnabledIfSystemProperty(named = "sidbeam.test.model", matches = ".+",
    disabledReason = "the library was built without the runner")
class RunnerHeadTest {
  private static final Path FOLDER = Path.of(System.getProperty("sidbeam.test.model", ""));
  private static final int[] HISTORY = {17, 25, 33, 20, 30, 39};
  private static final int[] PLACEHOLDERS = {40, 41, 42};
  private static final int[] SIDS = new Random(1).ints(3 * 60, 0, 8).toArray();
  private static final int HIDDEN = 16;

  @TempDir
  Path folder;

  private static RunnerConfig config() {
    try (Builder builder = new Builder(new BuilderConfig(8, 8, 8))) {
      builder.add(SIDS);
      return new RunnerConfig(Model.open(FOLDER), builder.finish()).beams(5);
    }
  }

  /** Prefers the codes of the first item. */
  private DraftHead head(int hidden) {
    DraftWeights weights = new DraftWeights(DType.F32, hidden, 8, 8, 8).input(DraftInput.HIDDEN)
        .transition(DraftTransition.NONE, 0);
    for (int level = 0; level < 3; level++) {
      float[] biases = new float[8];
      biases[SIDS[level]] = 3;
      weights.put(DraftArray.HEAD_WEIGHT, level, new float[8 * hidden]).put(DraftArray.HEAD_BIAS, level, biases);
    }
    DraftHead.write(folder.resolve("head.sdraft"), weights);
    return DraftHead.open(folder.resolve("head.sdraft"));
  }

  @Test
  void theHeadDecides() throws Exception {
    DraftHead head = head(HIDDEN);
    AtomicInteger columns = new AtomicInteger();
    try (Runner runner = new Runner(config().head(head, PLACEHOLDERS));
        Runner adjusted = new Runner(config().head(head, PLACEHOLDERS)
            .adjust(level -> columns.addAndGet(level.logits(0).remaining())))) {
      head.close(); // the runners hold it
      for (Result got : List.of(runner.run(new Request(HISTORY)), runner.submit(new Request(HISTORY)).get(),
          adjusted.run(new Request(HISTORY)))) {
        assertArrayEquals(Arrays.copyOf(SIDS, 3), Arrays.copyOf(got.sids(), 3));
        assertTrue(got.ordinals()[0] >= 0 && got.scores()[0] > got.scores()[1], got.toString());
        assertEquals(0, got.rounds());
      }
      assertEquals(3 * 8, columns.get());
    }
  }

  @Test
  void headsThatMakeNoSenseAreRefused() {
    DraftHead head = head(HIDDEN);
    refused(Status.INVALID_ARGUMENT, "the number of placeholders is 2, expected 3, one per level",
        () -> new Runner(config().head(head, 40, 41)));
    refused(Status.INVALID_ARGUMENT, "placeholders[1] is 64, expected 0..63",
        () -> new Runner(config().head(head, 40, 64, 41)));
    refused(Status.INVALID_ARGUMENT, "head is null, expected one",
        () -> new Runner(config().head(null, PLACEHOLDERS)));
    refused(Status.INVALID_ARGUMENT, "head is for hidden states of 4 elements, expected 16",
        () -> new Runner(config().head(head(4), PLACEHOLDERS)));
    refused(Status.INVALID_ARGUMENT, "draft is given, expected null beside head",
        () -> new Runner(config().head(head, PLACEHOLDERS).draft(Model.open(FOLDER))));
    refused(Status.INVALID_ARGUMENT, "top_k is -1, expected 0",
        () -> new Runner(config().head(head, PLACEHOLDERS).topK(-1)));
    head.close();
    refused(Status.BAD_STATE, "draft head is closed", () -> new Runner(config().head(head, PLACEHOLDERS)));
  }

  @Test
  void theOutputPathChangesNoBit() {
    RunnerConfig config = config().vocabulary(new Vocabulary().offsets(16, 24, 32)).normalization(Normalization.VALID);
    float[] scores = null;
    for (HiddenPath path : HiddenPath.values()) {
      try (Runner runner = new Runner(config.outputPath(path))) {
        Result got = runner.run(new Request(HISTORY));
        assertArrayEquals(scores == null ? got.scores() : scores, got.scores());
        scores = got.scores();
      }
    }
    refused(Status.UNSUPPORTED, "HiddenPath.CHILDREN, expected another, since normalization",
        () -> new Runner(config.normalization(Normalization.FULL).outputPath(HiddenPath.CHILDREN)));
  }
}
