// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** Draft heads, against their equations in doubles. */
@EnabledIfSystemProperty(named = "sidbeam.test.model", matches = ".+",
    disabledReason = "the library was built without the runner")
class DraftTest {
  static final int LEVELS = 3;
  static final int CODES = 8;
  static final int HIDDEN = 6;
  private static final int EMBEDDING = 5;
  static final int BEAMS = 4;

  @TempDir
  Path folder;

  private final Random random = new Random(2);
  private final Map<String, float[]> arrays = new HashMap<>();
  private Index index;

  @BeforeEach
  void build() {
    index = index("books", Kind.TRIE, Kind.HASH);
  }

  @AfterEach
  void close() {
    index.close();
  }

  private static Index index(String codebook, Kind... kinds) {
    BuilderConfig config = new BuilderConfig(CODES, CODES, CODES).kinds(kinds).codebook(codebook);
    try (Builder builder = new Builder(config)) {
      builder.add(new Random(1).ints(LEVELS * 100, 0, CODES).toArray());
      return builder.finish();
    }
  }

  private float[] numbers(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (random.nextInt(161) - 80) / 64f; // exact in bfloat16 too
    }
    return values;
  }

  /** A head with a GRU, of one type or the other, always of the same numbers. */
  DraftWeights weights(DType dtype) {
    DraftWeights weights = new DraftWeights(dtype, HIDDEN, CODES, CODES, CODES).codebook("books")
        .transition(DraftTransition.GRU, EMBEDDING);
    int[] sizes = {CODES * 2 * HIDDEN, CODES, CODES * EMBEDDING, 3 * HIDDEN * EMBEDDING, 3 * HIDDEN,
        3 * HIDDEN * HIDDEN, 3 * HIDDEN};
    for (DraftArray which : DraftArray.values()) {
      for (int level = 0; level < (which.ordinal() < 2 ? LEVELS : LEVELS - 1); level++) {
        float[] values = arrays.computeIfAbsent(which + " " + level, name -> numbers(sizes[which.ordinal()]));
        if (dtype == DType.F32) {
          weights.put(which, level, values);
        } else {
          short[] bits = new short[values.length];
          for (int i = 0; i < bits.length; i++) {
            bits[i] = (short) (Float.floatToIntBits(values[i]) >>> 16);
          }
          weights.put(which, level, bits);
        }
      }
    }
    return weights;
  }

  private DraftHead head(DType dtype) {
    Path file = folder.resolve(dtype + ".sdraft");
    DraftHead.write(file, weights(dtype));
    return DraftHead.open(file);
  }

  private float[] array(DraftArray which, int level) {
    return arrays.get(which + " " + level);
  }

  /** W x + b of rows from `first` on. */
  private double[] affine(DraftArray weight, DraftArray bias, int level, int first, int rows, double[] x) {
    double[] y = new double[rows];
    for (int i = 0; i < rows; i++) {
      y[i] = array(bias, level)[first + i];
      for (int j = 0; j < x.length; j++) {
        y[i] += (double) array(weight, level)[(first + i) * x.length + j] * x[j];
      }
    }
    return y;
  }

  private double[] transit(int level, double[] state, int code) {
    double[] e = new double[EMBEDDING];
    for (int j = 0; j < EMBEDDING; j++) {
      e[j] = array(DraftArray.EMBEDDING, level)[code * EMBEDDING + j];
    }
    double[] i = affine(DraftArray.INPUT_WEIGHT, DraftArray.INPUT_BIAS, level, 0, 3 * HIDDEN, e);
    double[] r = affine(DraftArray.RECURRENT_WEIGHT, DraftArray.RECURRENT_BIAS, level, 0, 3 * HIDDEN, state);
    double[] next = new double[HIDDEN];
    for (int d = 0; d < HIDDEN; d++) {
      double reset = 1 / (1 + Math.exp(-i[d] - r[d]));
      double update = 1 / (1 + Math.exp(-i[HIDDEN + d] - r[HIDDEN + d]));
      double fresh = Math.tanh(i[2 * HIDDEN + d] + reset * r[2 * HIDDEN + d]);
      next[d] = (1 - update) * fresh + update * state[d];
    }
    return next;
  }

  private record Beam(double score, int[] sid, double[] state) {}

  private List<Beam> reference(float[] hidden, int request) {
    int at = request * (LEVELS + 1) * HIDDEN;
    double[] first = new double[HIDDEN];
    Arrays.setAll(first, d -> hidden[at + d]);
    List<Beam> live = List.of(new Beam(0, new int[0], first));
    for (int level = 0; level < LEVELS; level++) {
      List<Beam> found = new ArrayList<>();
      for (Beam beam : live) {
        double[] x = new double[2 * HIDDEN];
        int from = at + (level + 1) * HIDDEN;
        Arrays.setAll(x, d -> d < HIDDEN ? hidden[from + d] : beam.state[d - HIDDEN]);
        double[] logits = affine(DraftArray.HEAD_WEIGHT, DraftArray.HEAD_BIAS, level, 0, CODES, x);
        double total = Math.log(Arrays.stream(logits).map(Math::exp).sum());
        for (int code : index.children(beam.sid).codes()) {
          int[] sid = Arrays.copyOf(beam.sid, level + 1);
          sid[level] = code;
          double[] state = level + 1 < LEVELS ? transit(level, beam.state, code) : beam.state;
          found.add(new Beam(beam.score + logits[code] - total, sid, state));
        }
      }
      found.sort(Comparator.comparingDouble(beam -> -beam.score));
      live = found.subList(0, Math.min(BEAMS, found.size()));
    }
    return live;
  }

  @Test
  void draftsAreAsTheEquationsSay() {
    float[] hidden = numbers(3 * (LEVELS + 1) * HIDDEN);
    Rows rows = Rows.dense(Buffers.floats(hidden), 3, LEVELS + 1, HIDDEN);
    float[] scores = null;
    for (DType dtype : new DType[] {DType.F32, DType.BF16}) {
      DraftHead head = head(dtype);
      DraftInfo info = head.info();
      assertEquals(List.of(LEVELS, HIDDEN, EMBEDDING), List.of(info.levels(), info.hidden(), info.embedding()));
      assertEquals(List.of(DraftInput.BOTH, DraftTransition.GRU, dtype, "books"),
          List.of(info.input(), info.transition(), info.dtype(), info.codebook()));
      try (DraftDecoder decoder = new DraftDecoder(new DraftConfig(head, index).requests(3).beams(BEAMS))) {
        head.close(); // it is held
        Drafts drafts = decoder.run(rows);
        for (int request = 0; request < 3; request++) {
          List<Beam> expected = reference(hidden, request);
          assertEquals(BEAMS, drafts.live()[request]);
          for (int m = 0; m < BEAMS; m++) {
            assertArrayEquals(expected.get(m).sid, drafts.sid(request, m));
            assertEquals(expected.get(m).score, drafts.scores()[request * BEAMS + m], 1e-4);
            assertArrayEquals(drafts.sid(request, m), index.sid(drafts.ordinals()[request * BEAMS + m]));
          }
        }
        scores = scores == null ? drafts.scores() : scores;
        assertArrayEquals(scores, drafts.scores()); // the same weights
      }
    }
  }

  @Test
  void constraintsWidthsAndBadRows() {
    float[] hidden = numbers(2 * (LEVELS + 1) * HIDDEN);
    try (Builder builder = new Builder(new BuilderConfig(CODES, CODES, CODES));
        DraftHead head = head(DType.F32);
        DraftDecoder decoder = new DraftDecoder(new DraftConfig(head, index).requests(2).beams(BEAMS)
            .verification(DraftVerification.TRIE).normalization(Normalization.VALID))) {
      builder.add(new int[] {0, 1, 2, 7, 7, 7});
      try (Index two = builder.finish()) {
        Rows rows = Rows.dense(Buffers.floats(hidden), 2, LEVELS + 1, HIDDEN);
        Drafts drafts = decoder.run(rows, new Constrainer[] {null, two}, new int[] {1, 0});
        assertArrayEquals(new int[] {1, 2}, drafts.live());
        assertArrayEquals(new long[] {-1, -1}, Arrays.copyOfRange(drafts.ordinals(), 6, 8));
        assertEquals(1, drafts.ordinals()[4] + drafts.ordinals()[5]);
      }
      hidden[0] = Float.NaN;
      Drafts drafts = decoder.run(Rows.dense(Buffers.floats(hidden), 2, LEVELS + 1, HIDDEN));
      assertArrayEquals(new int[] {0, BEAMS}, drafts.live());
      assertEquals(EnumSet.of(SlotError.BAD_ROW), drafts.errors(0));
      assertEquals(EnumSet.noneOf(SlotError.class), drafts.errors(1));
    }
  }

  @Test
  void whatDoesNotFitIsRefused() throws Exception {
    Status invalid = Status.INVALID_ARGUMENT;
    DraftHead head = head(DType.F32);
    DraftDecoder decoder = new DraftDecoder(new DraftConfig(head, index).beams(BEAMS));
    refused(invalid, "the number of columns of hidden is 7, expected 6",
        () -> decoder.run(Rows.dense(Buffers.floats(28), 1, LEVELS + 1, 7)));
    refused(invalid, "the number of rows of hidden is 3, expected 4",
        () -> decoder.run(Rows.dense(Buffers.floats(18), 1, 3, HIDDEN)));
    refused(invalid, "the number of slots of hidden is 2, expected 1..1",
        () -> decoder.run(Rows.dense(Buffers.floats(48), 2, LEVELS + 1, HIDDEN)));
    refused(invalid, "the number of slots of hidden is 1099511627776, expected 1..1",
        () -> decoder.run(Rows.dense(Buffers.floats(24), 1L << 40, LEVELS + 1, HIDDEN)));
    refused(invalid, "hidden has 20 elements, too few",
        () -> decoder.run(Rows.dense(Buffers.floats(20), 1, LEVELS + 1, HIDDEN)));
    Rows good = Rows.dense(Buffers.floats(24), 1, LEVELS + 1, HIDDEN);
    refused(invalid, "widths[0] is 5, expected", () -> decoder.run(good, null, new int[] {5}));
    refused(invalid, "constraints[0] is of codebook 'others', expected 'books'",
        () -> decoder.run(good, new Constrainer[] {index("others", Kind.TRIE)}, null));
    assertEquals(BEAMS, decoder.run(good).live()[0]);
    decoder.close();
    refused(Status.BAD_STATE, "draft decoder is closed", () -> decoder.run(good));
    refused(invalid, "beams is 0", () -> new DraftDecoder(new DraftConfig(head, index).beams(0)));
    refused(invalid, "codebook 'others', expected 'books'",
        () -> new DraftDecoder(new DraftConfig(head, index("others", Kind.TRIE))));
    refused(Status.MISSING_SECTION, "has no hash set", () -> new DraftDecoder(
        new DraftConfig(head, index("books", Kind.TRIE)).verification(DraftVerification.HASH)));
    refused(invalid, "has 2 levels, expected 3",
        () -> new DraftDecoder(new DraftConfig(head, Fixtures.index())));
    refused(Status.IO_ERROR, "No such file", () -> DraftHead.open(folder.resolve("nowhere")));
    byte[] bytes = Files.readAllBytes(folder.resolve("F32.sdraft"));
    Path cut = Files.write(folder.resolve("cut"), Arrays.copyOf(bytes, bytes.length - 64));
    refused(Status.CORRUPT, "the file has", () -> DraftHead.open(cut));
    head.close();
    refused(Status.BAD_STATE, "draft head is closed", head::info);
    refused(Status.BAD_STATE, "draft head is closed", () -> new DraftDecoder(new DraftConfig(head, index)));
  }

  @Test
  void keepsTheModeOfTheFileThatItReplaces() throws Exception {
    Path file = Files.writeString(folder.resolve("old"), "old");
    Set<PosixFilePermission> mode = PosixFilePermissions.fromString("rw----r--");
    Files.setPosixFilePermissions(file, mode);
    for (boolean allow : new boolean[] {false, true}) {
      DraftHead.write(file, weights(DType.F32).allowAttributeLoss(allow));
      assertEquals(mode, Files.getPosixFilePermissions(file));
      DraftHead.open(file).close();
    }
  }

  @Test
  void weightsThatAreNoHeadAreRefused() {
    Status invalid = Status.INVALID_ARGUMENT;
    DraftWeights weights = new DraftWeights(DType.F32, HIDDEN, CODES, CODES);
    Path file = folder.resolve("none");
    refused(invalid, "HEAD_WEIGHT of level 1 has 95 elements, expected 96",
        () -> weights.put(DraftArray.HEAD_WEIGHT, 1, new float[95]));
    refused(invalid, "has elements of 2 bytes, expected 4", () -> weights.put(DraftArray.HEAD_BIAS, 0, new short[8]));
    refused(invalid, "level is 2, expected 0..1", () -> weights.put(DraftArray.HEAD_BIAS, 2, new float[8]));
    weights.put(DraftArray.HEAD_WEIGHT, 0, new float[96]).put(DraftArray.HEAD_WEIGHT, 1, new float[96]);
    refused(invalid, "weights.embeddings is null", () -> DraftHead.write(file, weights));
    refused(invalid, "weights.head_weights is null, or null at level 0, expected an array of 8 by 12",
        () -> DraftHead.write(file, new DraftWeights(DType.F32, HIDDEN, CODES)));
    refused(invalid, "expected NONE", () -> DraftHead.write(file, weights.input(DraftInput.HIDDEN)));
    assertFalse(Files.exists(file));
  }
}
