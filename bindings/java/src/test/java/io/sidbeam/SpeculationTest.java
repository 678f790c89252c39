// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Strict rounds against plain search by the target alone, and relaxed draws. */
class SpeculationTest {
  static final int CODES = 6;
  static final int SLOTS = 2;

  static Index index(long seed, int levels) {
    return index(null, seed, levels);
  }

  static Index index(Runtime runtime, long seed, int levels) {
    int[] codes = new int[levels];
    Arrays.fill(codes, CODES);
    try (Builder builder = new Builder(new BuilderConfig(codes).runtime(runtime))) {
      builder.add(new Random(seed).ints(levels * 40L, 0, CODES).toArray());
      return builder.finish();
    }
  }

  /** Two models whose logits depend on the prefix alone, which they know by the tree's lists of ancestors. */
  static final class Host {
    private final long seed;
    private final Map<Integer, Integer> codes = new HashMap<>(); // by place

    Host(long seed) {
      this.seed = seed;
    }

    float[] row(int[] prefix, boolean draft) {
      Random random = new Random(seed * 1000 + Arrays.hashCode(prefix));
      Random other = new Random(seed + 7 * Arrays.hashCode(prefix));
      float[] row = new float[CODES];
      for (int i = 0; i < CODES; i++) {
        row[i] = random.nextFloat() * 4 + (draft ? other.nextFloat() * (seed % 3) : 0);
      }
      return row;
    }

    Rows rows(SpeculationTree tree, boolean draft) {
      FloatBuffer logits = Buffers.floats(tree.nodes() * CODES);
      for (int node = 0; node < tree.nodes(); node++) {
        codes.put(tree.places().get(node), tree.codes().get(node));
        int[] prefix = new int[tree.depth()];
        int length = 0;
        while (length < prefix.length && tree.ancestors().get(node * prefix.length + length) >= 0) {
          prefix[length] = codes.get(tree.ancestors().get(node * prefix.length + length));
          length++;
        }
        logits.put(node * CODES, row(Arrays.copyOf(prefix, length), draft));
      }
      return Rows.dense(logits, 0, tree.nodes(), CODES);
    }

    void plain(Session session) {
      while (session.beams().active(0) + session.beams().active(1) > 0) {
        FloatBuffer logits = Buffers.floats(SLOTS * session.width() * CODES);
        Items items = session.items();
        for (int row = 0; row < SLOTS * session.width(); row++) {
          int[] prefix = items.sid(row / session.width(), row % session.width());
          logits.put(row * CODES, row(prefix, false));
        }
        session.step(Rows.dense(logits, SLOTS, session.width(), CODES));
      }
    }

    void speculate(Speculation speculation) {
      while (speculation.begin() > 0) {
        SpeculationTree tree = speculation.tree();
        for (; !tree.isComplete(); tree = speculation.tree()) {
          speculation.draft().step(
              new Step(rows(tree, true)).slots(tree.draftSlots()).rowMap(tree.draftNodes()));
          speculation.add();
        }
        speculation.verify(rows(tree, false));
      }
    }
  }

  @Test
  void strictRoundsArePlainSearchWhateverTheDraftSays() {
    for (int seed = 0; seed < 40; seed++) {
      Random random = new Random(seed);
      int levels = 1 + random.nextInt(4);
      int beams = 1 + random.nextInt(6);
      Mode mode = seed % 2 == 0 ? Mode.SEARCH : Mode.STOCHASTIC;
      Start start = new Start();
      if (mode == Mode.STOCHASTIC) {
        start.sampling(new Sampling().seeds(Buffers.longs(new long[] {seed, 1})).requests(Buffers.longs(2)));
      }
      try (Index index = index(seed, levels)) {
        SessionConfig config = new SessionConfig(index).slots(SLOTS).mode(mode);
        try (Session alone = new Session(config.beams(beams)); Session target = new Session(config);
            Session draft = new Session(config.beams(beams + random.nextInt(6)));
            Speculation speculation = new Speculation(target, draft, 1 + random.nextInt(3))) {
          alone.start(start);
          target.start(start);
          draft.start(start);
          new Host(seed).plain(alone);
          new Host(seed).speculate(speculation);
          assertEquals(alone.beams().scores(), target.beams().scores(), "seed " + seed);
          assertEquals(alone.beams().codes(), target.beams().codes(), "seed " + seed);
          assertEquals(alone.beams().live(), target.beams().live(), "seed " + seed);
          assertEquals(alone.beams().perturbed(), target.beams().perturbed(), "seed " + seed);
          for (int m = 0; m < beams; m++) {
            assertEquals(alone.items().ordinal(1, m), target.items().ordinal(1, m), "seed " + seed);
          }
          SpeculationStats stats = speculation.stats();
          assertEquals((long) levels * SLOTS, stats.levels());
          assertTrue(stats.rounds() <= stats.levels() && stats.acceptedLevels() <= stats.draftedLevels());
          assertTrue(seed % 3 != 0 || stats.acceptedLevels() == stats.draftedLevels(), "seed " + seed);
        }
      }
    }
  }

  private static final float[] ROW = {-1, -2, -4, -8};

  private static Index three() {
    try (Builder builder = new Builder(new BuilderConfig(4, 4, 4))) {
      builder.add(new int[] {0, 1, 2, 0, 3, 0, 2, 2, 1, 3, 0, 0});
      return builder.finish();
    }
  }

  private static Session session(Index index, int beams) {
    Session session = new Session(new SessionConfig(index).beams(beams).normalization(Normalization.NONE));
    session.start();
    return session;
  }

  private static Rows rows(int slots, int count) {
    return Rows.strided(Buffers.floats(ROW), slots, count, 4, 0, Rows.BROADCAST);
  }

  private static int[] ints(IntBuffer view) {
    int[] values = new int[view.capacity()];
    view.get(0, values);
    return values;
  }

  @Test
  void aRoundByHandShowsItsTree() {
    try (Index index = three(); Session target = session(index, 2); Session draft = session(index, 3);
        Speculation speculation = new Speculation(target, draft, 2)) {
      assertEquals(0, speculation.tree().nodes());
      assertEquals(1, speculation.begin());
      assertArrayEquals(new int[] {0, -1, -1}, ints(speculation.tree().draftNodes()));
      for (int level = 0; level < 2; level++) {
        assertFalse(speculation.tree().isComplete());
        draft.step(new Step(rows(1, 3)).slots(speculation.tree().draftSlots()));
        speculation.add();
      }
      SpeculationTree tree = speculation.tree();
      assertTrue(tree.isComplete());
      assertEquals(7, tree.nodes());
      long[] tokens = new long[7];
      tree.tokens().get(0, tokens);
      assertArrayEquals(new long[] {-1, 0, 2, 3, 1, 2, 3}, tokens);
      assertArrayEquals(new int[] {-1, 0, 2, 3, 1, 2, 3}, ints(tree.codes()));
      assertArrayEquals(new int[] {-1, 0, 0, 0, 1, 1, 1}, ints(tree.positions()));
      assertArrayEquals(new int[] {-1, 0, 0, 0, 1, 2, 1}, ints(tree.parents()));
      assertArrayEquals(new int[] {-1, 1, 2, 3, 4, 5, 6}, ints(tree.places()));
      assertEquals(7, tree.nodeOffsets().get(1));
      assertEquals(3, tree.depth());
      ByteBuffer mask = Buffers.bytes(7 * (int) tree.placeStride());
      speculation.mask(mask, tree.placeStride());
      for (int node = 0; node < 7; node++) {
        int[] path = new int[3];
        tree.ancestors().get(3 * node, path);
        for (int place = 0; place < tree.placeStride(); place++) {
          int at = place;
          boolean is = mask.get(node * (int) tree.placeStride() + place) == 1;
          assertEquals(Arrays.stream(path).anyMatch(p -> p == at), is);
        }
      }
      speculation.verify(rows(0, 7));
      assertEquals(-7, target.beams().score(0, 0));
      assertEquals(-10, target.beams().score(0, 1));
      assertEquals(0, speculation.begin());
      assertEquals(new SpeculationStats(1, 3, 2, 2, 7), speculation.stats());
    }
  }

  @Test
  void sessionsThatDoNotFitAreRefused() {
    Status invalid = Status.INVALID_ARGUMENT;
    try (Index index = three(); Index other = three(); Session target = session(index, 2);
        Session draft = session(index, 3)) {
      refused(invalid, "draft is target", () -> new Speculation(target, target, 1));
      refused(invalid, "draft has 2 beams, expected at least 3", () -> new Speculation(draft, target, 1));
      refused(invalid, "draft_levels is 0", () -> new Speculation(target, draft, 0));
      refused(invalid, "draft has slots 2, expected 1",
          () -> new Speculation(target, new Session(new SessionConfig(index).beams(3).slots(2)), 1));
      refused(invalid, "draft has mode 2, expected 0",
          () -> new Speculation(target, new Session(new SessionConfig(index).beams(3).mode(Mode.STOCHASTIC)), 1));
      refused(invalid, "draft has levels 2, expected 3",
          () -> new Speculation(target, new Session(new SessionConfig(Fixtures.index()).beams(3)), 1));
      refused(invalid, "target is null", () -> new Speculation(null, draft, 1));
      Speculation speculation = new Speculation(target, draft, 1);
      draft.start(new Start().constraints(other));
      refused(invalid, "slot 0 of the draft follows another constraint", speculation::begin);
      draft.stopAll();
      refused(Status.BAD_STATE, "slot 0 of the draft is not started", speculation::begin);
      refused(invalid, "slots[0] is 1, expected 0..0", () -> speculation.begin(1));
      assertEquals(0, target.beams().level().get(0));
      draft.close();
      refused(Status.BAD_STATE, "session is closed", speculation::begin);
      refused(Status.BAD_STATE, "session is closed", () -> new Speculation(target, draft, 1));
    }
  }

  @Test
  void rowsForAnotherNumberOfNodesAreRefused() {
    Status invalid = Status.INVALID_ARGUMENT;
    try (Index index = three(); Session target = session(index, 2); Session draft = session(index, 3)) {
      Speculation speculation = new Speculation(target, draft, 2);
      refused(Status.BAD_STATE, "no round is under way", () -> speculation.verify(rows(0, 1)));
      refused(Status.BAD_STATE, "no round is under way", speculation::add);
      speculation.begin();
      draft.step(rows(1, 3));
      speculation.add();
      SpeculationTree tree = speculation.tree();
      refused(invalid, "rows are [0, 3, ...], expected [4, ...]", () -> speculation.verify(rows(0, 3)));
      refused(invalid, "a logits row per node of the tree", () -> speculation.verify(rows(1, 4)));
      refused(invalid, "logits has 4 elements, too few",
          () -> speculation.verify(Rows.dense(Buffers.floats(ROW), 0, 4, 4)));
      refused(invalid, "lse has 3 elements, expected at least 4",
          () -> speculation.verify(rows(0, 4), Buffers.floats(3)));
      refused(invalid, "columns is 14, expected at least 15", () -> speculation.mask(Buffers.bytes(100), 14));
      refused(invalid, "mask has 59 elements, expected at least 60", () -> speculation.mask(Buffers.bytes(59), 15));
      refused(invalid, "mask is read-only", () -> speculation.mask(Buffers.bytes(60).asReadOnlyBuffer(), 15));
      assertEquals(0, target.beams().level().get(0));
      speculation.verify(rows(0, 4), null); // the round goes on
      assertEquals(2, target.beams().level().get(0));
      speculation.close();
      speculation.close();
      refused(Status.BAD_STATE, "speculation is closed", speculation::begin);
      refused(Status.BAD_STATE, "speculation is closed", speculation::tree);
      refused(Status.BAD_STATE, "speculation is closed", () -> speculation.verify(rows(0, 4)));
      refused(Status.BAD_STATE, "speculation is closed", speculation::stats);
      assertEquals(4, tree.nodes()); // the view keeps its memory
      target.step(rows(1, 2));
    }
  }

  private static FloatBuffer logs(double... probabilities) {
    FloatBuffer logs = Buffers.floats(probabilities.length);
    for (int i = 0; i < probabilities.length; i++) {
      logs.put(i, (float) Math.log(probabilities[i]));
    }
    return logs;
  }

  private static double chiSquare(int[] counts, double... law) {
    double all = Arrays.stream(counts).sum();
    double sum = 0;
    for (int i = 0; i < law.length; i++) {
      sum += law[i] == 0 ? counts[i] * 1e9 : Math.pow(counts[i] - all * law[i], 2) / (all * law[i]);
    }
    return sum;
  }

  /** 1e-4 of chi-square with three degrees of freedom. */
  private static final double BOUND = 21.1;

  @Test
  void relaxedDrawsFollowTheTarget() {
    double[] p = {0.4, 0.3, 0.2, 0.1, 0};
    double[] q = {0.1, 0.5, 0, 0.2, 0.2};
    int[] drawn = new int[5];
    int[] found = new int[5];
    for (int request = 0; request < 60; request++) {
      Relaxed with = new Relaxed(7, request).level(1);
      long[] drafts = with.draw(logs(q), 100);
      assertArrayEquals(drafts, with.draw(logs(q), 100));
      RelaxedBeams beams = with.verify(logs(p), logs(q), drafts, 100);
      assertEquals(100, beams.live());
      assertEquals(beams.accepted() == 100, beams.goesOn());
      Arrays.stream(drafts).forEach(draft -> drawn[(int) draft]++);
      Arrays.stream(beams.extensions()).forEach(extension -> found[(int) extension]++);
      Relaxed without = new Relaxed(7, request).withoutReplacement(true);
      long[] different = without.draw(logs(q), 5);
      assertEquals(5, Arrays.stream(different).distinct().count());
      assertEquals(-1, different[4]);
      RelaxedBeams few = without.verify(logs(p), logs(q), Arrays.copyOf(different, 3), 3);
      assertEquals(3, Arrays.stream(few.extensions()).filter(e -> e >= 0 && e < 4).distinct().count());
    }
    assertTrue(chiSquare(drawn, q) < BOUND);
    assertTrue(chiSquare(found, p) < BOUND);
    RelaxedBeams all = new Relaxed(1, 2).withoutReplacement(true).verify(logs(p), logs(q), new long[0], 5);
    assertEquals(4, all.live());
    assertEquals(-1, all.extensions()[4]);
  }

  @Test
  void relaxedCallsRefuseWhatIsNoDistribution() {
    Status invalid = Status.INVALID_ARGUMENT;
    FloatBuffer p = logs(0.5, 0.5, 0);
    Relaxed relaxed = new Relaxed(1, 2);
    refused(invalid, "log_probs[1] is nan", () -> relaxed.draw(Buffers.floats(new float[] {0, Float.NaN}), 1));
    refused(invalid, "draws is 0", () -> relaxed.draw(p, 0));
    refused(invalid, "log_probs is null", () -> relaxed.draw(null, 1));
    refused(invalid, "logProbs is a heap buffer", () -> relaxed.draw(FloatBuffer.allocate(3), 1));
    refused(invalid, "draft has 2 elements, expected 3", () -> relaxed.verify(p, logs(0.5, 0.5), new long[1], 1));
    refused(invalid, "drafts[0] is 3, expected 0..2", () -> relaxed.verify(p, p, new long[] {3}, 1));
    refused(invalid, "drafts[0] is 2, which the draft gives no probability",
        () -> relaxed.verify(p, p, new long[] {2}, 1));
    refused(invalid, "the number of drafts is 1, expected 2", () -> relaxed.verify(p, p, new long[1], 2));
    refused(invalid, "level is 255", () -> new Relaxed(1, 2).level(255).draw(p, 1));
    refused(invalid, "inverse_temperature is -1",
        () -> new Relaxed(1, 2).inverseTemperature(-1).verify(p, p, new long[1], 1));
  }
}
