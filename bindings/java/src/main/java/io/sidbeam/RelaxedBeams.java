// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * What {@link Relaxed#verify} gives.
 *
 * @param extensions [K] the beams' extensions, then -1
 * @param live beams there are
 * @param accepted drafts that were accepted
 * @param goesOn whether there are beams, all accepted drafts, so that the next level may be verified
 */
public record RelaxedBeams(long[] extensions, int live, int accepted, boolean goesOn) {
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
