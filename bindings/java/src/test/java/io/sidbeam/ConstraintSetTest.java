// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import org.junit.jupiter.api.Test;

/** What the shared cases do not cover. */
class ConstraintSetTest {
  @Test
  void masksBitsAndTopKAgree() {
    try (Index index = Fixtures.index(); ConstraintSet set = new ConstraintSet(new ConstraintSetConfig(index))) {
      LongBuffer states = Buffers.longs(1);
      set.prefixes(null, Buffers.ints(new int[] {0}), 1, Buffers.ints(new int[] {1}), states);
      FloatBuffer logits = Buffers.floats(new float[] {9, 1, 9, 2});
      Rows rows = Rows.dense(logits, 0, 1, 4);
      IntBuffer codes = Buffers.ints(2);
      FloatBuffer logProbs = Buffers.floats(2);
      LongBuffer next = Buffers.longs(2);
      set.topK(null, states, rows, Normalization.VALID, 2, codes, logProbs, next);
      assertEquals(Buffers.ints(new int[] {3, 1}), codes);
      IntBuffer words = Buffers.ints(1);
      set.bitmask(null, states, 1, words);
      assertEquals(0b1010, words.get(0));
      set.mask(null, states, rows);
      float none = Float.NEGATIVE_INFINITY;
      assertEquals(Buffers.floats(new float[] {none, 1, none, 2}), logits);
      LongBuffer after = Buffers.longs(1);
      set.advance(null, states, null, Buffers.ints(new int[] {3}), after);
      assertEquals(next.get(0), after.get(0));
    }
  }

  @Test
  void refusesWhatItCannotWriteOrRead() {
    try (Index index = Fixtures.index(); ConstraintSet set = new ConstraintSet(new ConstraintSetConfig(index))) {
      LongBuffer states = Buffers.longs(1);
      FloatBuffer logits = Buffers.floats(4);
      refused(Status.INVALID_ARGUMENT, "logits is read-only",
          () -> set.mask(null, states, Rows.dense(logits.asReadOnlyBuffer(), 0, 1, 4)));
      refused(Status.INVALID_ARGUMENT, "logits has 1 slots, expected 0",
          () -> set.mask(null, states, Rows.dense(logits, 1, 1, 4)));
      refused(Status.INVALID_ARGUMENT, "states has 1 elements, expected at least 2",
          () -> set.mask(null, states, Rows.strided(logits, 0, 2, 4, 0, Rows.BROADCAST)));
      refused(Status.INVALID_ARGUMENT, "codes has 1 elements, expected at least 2",
          () -> set.topK(null, states, Rows.dense(logits, 0, 1, 4), Normalization.FULL, 2, Buffers.ints(1),
              Buffers.floats(2), null));
      refused(Status.INVALID_ARGUMENT, "out is missing", () -> set.advance(null, states, null, Buffers.ints(1),
          null));
      refused(Status.INVALID_ARGUMENT, "the number of constraints is 0, expected 1..",
          () -> new ConstraintSet(new ConstraintSetConfig()));
      try (Index sorted = Fixtures.index(Kind.SORTED)) {
        refused(Status.MISSING_SECTION, "expected an index built with kinds trie",
            () -> new ConstraintSet(new ConstraintSetConfig(sorted)));
      }
      set.close();
      refused(Status.BAD_STATE, "constraint set is closed", () -> set.bitmask(null, states, 1, Buffers.ints(1)));
    }
  }
}
