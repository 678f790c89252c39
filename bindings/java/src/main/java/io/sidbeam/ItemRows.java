// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * The item rows of n ordinals: ordinal i has rows[offsets[i] .. offsets[i + 1]).
 *
 * @param rows of all of them, in their order
 * @param offsets [n + 1]
 * @param truncated whether a limit left rows out (that the cap would have listed)
 * @param cameShort whether the cap left rows out and there are fewer than the limit: more beams may find more
 */
public record ItemRows(long[] rows, long[] offsets, boolean truncated, boolean cameShort) {
  /** A call of C that lists them. */
  interface Lister {
    void list(long limit, long[] rows, long[] offsets, int[] truncated, int[] cameShort);
  }

  /** As many as there are, or as the limit lets through. */
  static ItemRows of(int ordinals, long limit, Lister lister) {
    long[] offsets = new long[ordinals + 1];
    int[] truncated = new int[1];
    int[] cameShort = new int[1];
    lister.list(limit, null, offsets, truncated, cameShort);
    long[] rows = new long[Math.toIntExact(offsets[ordinals])];
    if (rows.length > 0) {
      lister.list(rows.length, rows, offsets, truncated, null); // of a list that is full
    }
    return new ItemRows(rows, offsets, truncated[0] != 0, cameShort[0] != 0);
  }

  /** By content, arrays too. */
  @Override
  public boolean equals(Object other) {
    return Records.equal(this, other);
  }

  @Override
  public int hashCode() {
    return Records.hash(this);
  }

  @Override
  public String toString() {
    return Records.text(this);
  }
}
