// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SamplingTest {
  private Index index;

  @BeforeEach
  void open() {
    index = Fixtures.index();
  }

  @AfterEach
  void close() {
    index.close();
  }

  private Session session(Mode mode, int beams) {
    return new Session(new SessionConfig(index).beams(beams).mode(mode));
  }

  private static Sampling keys(long seed, long request) {
    return new Sampling().seeds(Buffers.longs(new long[] {seed})).requests(Buffers.longs(new long[] {request}));
  }

  private static long[] run(Session session, Start start) {
    Rows rows = Rows.strided(Buffers.floats(new float[] {0, 1, 0, 2}), 1, session.width(), 4, 0, Rows.BROADCAST);
    session.start(start);
    while (session.beams().active(0) > 0) {
      session.step(rows);
    }
    Items items = session.items();
    long[] ordinals = new long[session.width()];
    for (int m = 0; m < ordinals.length; m++) {
      ordinals[m] = items.ordinal(0, m);
    }
    return ordinals;
  }

  @Test
  void drawsAreThoseOfTheirNumbers() {
    try (Session wide = session(Mode.SAMPLE, 20); Session narrow = session(Mode.SAMPLE, 2)) {
      long[] all = run(wide, new Start().sampling(keys(-3, 4)));
      long[] few = run(narrow, new Start().sampling(keys(-3, 4).draws(Buffers.longs(new long[] {19, 7, 0}), 3)));
      assertArrayEquals(new long[] {all[19], all[7]}, few);
      assertNotEquals(Arrays.toString(all), Arrays.toString(run(wide, new Start().sampling(keys(-2, 4)))));
      assertTrue(wide.beams().logMasses().get(0) < 0);
      assertNull(wide.beams().perturbed());
    }
  }

  @Test
  void stochasticBeamsAreDifferent() {
    try (Session session = session(Mode.STOCHASTIC, 4)) {
      Set<Long> found = new HashSet<>();
      Arrays.stream(run(session, new Start().sampling(keys(1, 1)))).forEach(found::add);
      assertEquals(4, found.size());
      FloatBuffer perturbed = session.beams().perturbed();
      for (int m = 0; m < 4; m++) {
        assertTrue(perturbed.get(m) >= session.beams().thresholds().get(0));
        assertTrue(session.beams().logInclusions().get(m) < 0);
      }
    }
    try (Session search = session(Mode.SEARCH, 4)) {
      assertNull(search.beams().logMasses());
      assertNull(search.beams().thresholds());
    }
  }

  private DiscResults disc(Session session, int sideBySide) {
    try (Disc disc = new Disc(new DiscConfig(3, 8, 9).results(30).sideBySide(sideBySide))) {
      refused(Status.BAD_STATE, "not decided", disc::results);
      for (long[] draws = disc.next(session.width()); draws.length > 0; draws = disc.next(session.width())) {
        LongBuffer numbers = Buffers.longs(session.width());
        numbers.put(0, draws);
        long[] ordinals = run(session, new Start().widths(Buffers.ints(new int[] {draws.length}))
            .sampling(keys(8, 9).draws(numbers, 0)));
        float[] logProbs = new float[draws.length];
        float[] logMasses = new float[draws.length];
        session.beams().scores().get(0, logProbs);
        session.beams().logMasses().get(0, logMasses);
        disc.add(draws, Arrays.copyOf(ordinals, draws.length), logProbs, logMasses);
      }
      return disc.results();
    }
  }

  @Test
  void discGivesTheSameResultsHoweverItsDrawsAreRun() {
    try (Session narrow = session(Mode.SAMPLE, 3); Session wide = session(Mode.SAMPLE, 50)) {
      DiscResults one = disc(narrow, 1);
      DiscResults all = disc(wide, 6);
      assertArrayEquals(one.ordinals(), all.ordinals());
      assertArrayEquals(one.drawsUsed(), all.drawsUsed());
      assertTrue(Arrays.stream(one.ordinals()).allMatch(ordinal -> ordinal >= 0));
      assertTrue(Arrays.stream(one.ordinals()).distinct().count() > 1);
      assertTrue(Arrays.stream(all.rowsRun()).sum() > Arrays.stream(one.rowsRun()).sum());
      assertNotNull(one.accepted());
    }
  }

  @Test
  void refusesWhatCannotBeDrawn() {
    Status invalid = Status.INVALID_ARGUMENT;
    try (Session session = session(Mode.SAMPLE, 2); Session search = session(Mode.SEARCH, 2);
        ConstraintSet set = new ConstraintSet(new ConstraintSetConfig(index))) {
      refused(invalid, "sampling is null, expected seeds and requests in mode SAMPLE", session::start);
      refused(invalid, "sampling is given, expected null in mode SEARCH",
          () -> search.start(new Start().sampling(keys(1, 2))));
      refused(invalid, "top_ps[0] is 2, expected a number above 0 and at most 1",
          () -> session.start(new Start().sampling(keys(1, 2).topPs(Buffers.floats(new float[] {2})))));
      refused(invalid, "top_ks[0] is -1, expected at least 1",
          () -> session.start(new Start().sampling(keys(1, 2).topKs(Buffers.ints(new int[] {-1})))));
      refused(invalid, "draws has 1 elements, expected at least 2",
          () -> session.start(new Start().sampling(keys(1, 2).draws(Buffers.longs(1), 0))));
      refused(invalid, "seeds is a heap buffer", () -> new Sampling().seeds(LongBuffer.allocate(1)));
      refused(invalid, "seeds is in a device's memory, expected a buffer",
          () -> session.start(new Start().sampling(keys(1, 2).seeds(new DevicePointer(64, 1)))));
      refused(invalid, "rounds is 0", () -> new Disc(new DiscConfig(0, 1, 2)));
      Rows rows = Rows.dense(Buffers.floats(4), 0, 1, 4);
      Sampled out = new Sampled(Buffers.ints(1), null, null, null);
      refused(invalid, "expected one draw per logits row", () -> set.sample(null, Buffers.longs(1), rows,
          Normalization.FULL, null, keys(1, 2).noiseScales(Buffers.floats(1)), out));
      refused(invalid, "seeds is null, expected an array", () -> set.sample(null, Buffers.longs(1), rows,
          Normalization.FULL, null, new Sampling(), out));
      refused(invalid, "on the CPU, expected buffers", () -> set.sample((DevicePointer) null,
          new DevicePointer(64, 1), rows, Normalization.FULL, null, keys(1, 2), out, 0));
    }
  }
}
