// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.Set;

/**
 * What a host must know of a constraint to shape its arrays, so that it needs no index at hand.
 *
 * @param levels L
 * @param variableLength true: SIDs of 1 .. L codes; the vocabulary needs an end column
 * @param kinds what the index can serve
 * @param sids distinct SIDs
 * @param items item rows
 * @param codes V_l of each level, without the end
 * @param fingerprint of the index
 * @param rules whether there are a filter or lists
 * @param allowedSids without rules, as allowedItems, those of the index
 * @param allowedItems item rows
 * @param unknownExcluded entries of the list that name no item
 * @param unknownAllowed the same of the other list
 */
public record ConstraintInfo(int levels, boolean variableLength, Set<Kind> kinds, long sids, long items, int[] codes,
    String fingerprint, boolean rules, long allowedSids, long allowedItems, long unknownExcluded, long unknownAllowed) {
  static ConstraintInfo of(long[] n, byte[] fingerprint) {
    int[] codes = new int[(int) n[Native.FLAT_CONSTRAINT_LEVELS]];
    for (int l = 0; l < codes.length; l++) {
      codes[l] = (int) n[Native.FLAT_CONSTRAINT_CODES + l];
    }
    return new ConstraintInfo(codes.length, n[Native.FLAT_CONSTRAINT_VARIABLE_LENGTH] != 0,
        BuilderConfig.kinds(n[Native.FLAT_CONSTRAINT_KINDS]),
        n[Native.FLAT_CONSTRAINT_SIDS], n[Native.FLAT_CONSTRAINT_ITEMS], codes, Text.out(fingerprint),
        n[Native.FLAT_CONSTRAINT_RULES] != 0, n[Native.FLAT_CONSTRAINT_ALLOWED_SIDS],
        n[Native.FLAT_CONSTRAINT_ALLOWED_ITEMS], n[Native.FLAT_CONSTRAINT_UNKNOWN_EXCLUDED],
        n[Native.FLAT_CONSTRAINT_UNKNOWN_ALLOWED]);
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
