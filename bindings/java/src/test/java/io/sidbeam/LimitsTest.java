// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.FloatBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Catalogues at the limits: SIDs of 255 codes, and levels of 2^24 codes. */
class LimitsTest {
  private static final int CODES = 1 << 24;
  private static final int LEVELS = 255;

  private static Index build(int[] codes, int[] sids) {
    try (Builder builder = new Builder(new BuilderConfig(codes))) {
      builder.add(sids);
      return builder.finish();
    }
  }

  @Test
  void aLevelOf16777216Codes() {
    int[] codes = {5, (1 << 20) + 5, CODES - 1};
    FloatBuffer logits = Buffers.floats(CODES);
    for (int i = 0; i < CODES; i++) {
      logits.put(i, -9);
    }
    logits.put(codes[0], -3).put(codes[1], -1).put(codes[2], -2);
    try (Index index = build(new int[] {CODES}, codes);
        Session session = new Session(new SessionConfig(index).beams(3).normalization(Normalization.NONE))) {
      assertArrayEquals(new int[] {CODES}, index.info().codes());
      assertArrayEquals(codes, index.children().codes());
      session.start();
      session.step(new Step(Rows.strided(logits, 1, 3, CODES, 0, Rows.BROADCAST)));
      Beams beams = session.beams();
      int[] best = {codes[1], codes[2], codes[0]};
      for (int m = 0; m < 3; m++) {
        assertEquals(best[m], beams.code(0, m));
        assertEquals(-1 - m, beams.score(0, m));
      }
    }
    refused(Status.INVALID_ARGUMENT, "codes[0] is 16777217, expected 1 to 16777216",
        () -> new Builder(new BuilderConfig(CODES + 1)));
  }

  @Test
  void sidsOf255Codes() {
    int[] codes = new int[LEVELS];
    Arrays.fill(codes, 2);
    int[] sids = new int[3 * LEVELS];
    sids[LEVELS + 254] = 1;
    sids[2 * LEVELS + 63] = 1;
    try (Index index = build(codes, sids);
        Session session = new Session(new SessionConfig(index).beams(3).normalization(Normalization.NONE))) {
      assertEquals(LEVELS, index.info().levels());
      assertEquals(3, index.info().nodes()[254]);
      assertEquals(2, index.findSid(Arrays.copyOfRange(sids, 2 * LEVELS, 3 * LEVELS)));
      session.start();
      Step step = new Step(Rows.strided(Buffers.floats(new float[] {-1, -2}), 1, 3, 2, 0, Rows.BROADCAST));
      for (int l = 0; l < LEVELS; l++) {
        session.step(step);
      }
      Beams beams = session.beams();
      assertEquals(0, beams.active(0));
      assertEquals(-255, beams.score(0, 0));
      assertEquals(-256, beams.score(0, 2));
    }
    refused(Status.INVALID_ARGUMENT, "levels is 256, expected 1 to 255",
        () -> new Builder(new BuilderConfig(Arrays.copyOf(codes, LEVELS + 1))));
  }
}
