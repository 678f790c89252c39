// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * Which columns of its logits row the next step reads of each beam, of n slots with M beams: beam m of the i-th slot
 * has columns[offsets[i * M + m]] .. columns[offsets[i * M + m + 1] - 1].
 *
 * @param offsets [n * M + 1]
 * @param columns in the order of codes, the end last; one that stands for several codes is there once per code
 */
public record ChildColumns(long[] offsets, int[] columns) {
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
