// SPDX-License-Identifier: Apache-2.0
package service;

import java.nio.FloatBuffer;
import java.util.List;

/**
 * Stands in for a neural model, as samples/recommend/model.h does for the C++ sample, but learns nothing: the same
 * history always gets the same logits. They favour codes that the latest items share, over noise that is a hash. Like a
 * neural model it gives every code of a level some probability, even after a prefix where that code leads to no item.
 */
final class Model {
  private static final int RECENT = 5; // items of a history that count
  private static final float DECAY = 0.7f; // weight of an item against the one after it
  private static final float SAME_PREFIX = 4; // the code that follows this very prefix in a history's item
  private static final float SAME_CODE = 1; // a code at the same level, whatever came before it

  private final int columns;

  Model(int columns) {
    this.columns = columns;
  }

  /** Writes logits of the code that follows a prefix of `level` codes to `columns` floats from `at` on. */
  void logits(List<int[]> history, int[] prefix, int level, FloatBuffer out, int at) {
    long seed = level;
    for (int l = 0; l < level; l++) {
      seed = mix(seed * 31 + prefix[l] + 1);
    }
    for (int c = 0; c < columns; c++) {
      out.put(at + c, (mix(seed + c) >>> 40) / (float) (1 << 24));
    }
    float weight = 1;
    for (int i = history.size() - 1; i >= Math.max(0, history.size() - RECENT); i--, weight *= DECAY) {
      int[] sid = history.get(i);
      if (sid.length > level) {
        int column = at + sid[level];
        out.put(column, out.get(column) + weight * (follows(sid, prefix, level) ? SAME_PREFIX : SAME_CODE));
      }
    }
  }

  private static boolean follows(int[] sid, int[] prefix, int level) {
    for (int l = 0; l < level; l++) {
      if (sid[l] != prefix[l]) {
        return false;
      }
    }
    return true;
  }

  private static long mix(long x) {
    long z = x + 0x9e3779b97f4a7c15L;
    z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
    return z ^ z >>> 31;
  }
}
