// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * Samples of a {@link Disc}, arrays of [results].
 *
 * @param ordinals -1: dead
 * @param draws number of the draw that became the result; -1: dead
 * @param accepted 1: accepted; 0: resampled, or dead
 * @param drawsUsed draws that decided it, as the paper counts them
 * @param rowsRun draws that were added for it, needed or not
 * @param logProbs log P of the SID; -inf: dead
 * @param logMasses log x
 */
public record DiscResults(long[] ordinals, long[] draws, int[] accepted, long[] drawsUsed, long[] rowsRun,
    float[] logProbs, float[] logMasses) {
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
