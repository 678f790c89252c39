// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * What may follow a prefix.
 *
 * @param codes rising
 * @param end whether the prefix is itself a SID
 */
public record Children(int[] codes, boolean end) {
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
