// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.Arrays;
import java.util.List;

/**
 * Sizes of an index that has not been built.
 *
 * @param exact true: counted; false: expected for SIDs drawn uniformly
 * @param sids distinct SIDs
 * @param items (SID, item) pairs
 * @param fileBytes the whole file
 * @param peakBytes most memory that the build takes, the file's pages included
 * @param nodes by level: distinct prefixes of l + 1 codes
 * @param sections of the file, in its order; their checksums are 0
 */
public record Plan(boolean exact, long sids, long items, long fileBytes, long peakBytes, long[] nodes,
    List<Section> sections) {
  /** Reads one of the library's plans, and gives it back. */
  static Plan take(long plan, int levels) {
    try {
      long[] n = new long[Native.FLAT_PLAN_COUNT];
      Native.flat_plan_get_info(plan, n);
      List<Section> sections = Header.sections(n[Native.FLAT_PLAN_SECTION_COUNT],
          (i, numbers, kind, encoding) -> Native.flat_plan_get_section(plan, i, numbers, kind, encoding));
      return new Plan(n[Native.FLAT_PLAN_EXACT] != 0, n[Native.FLAT_PLAN_SIDS], n[Native.FLAT_PLAN_ITEMS],
          n[Native.FLAT_PLAN_FILE_BYTES], n[Native.FLAT_PLAN_PEAK_BYTES],
          Arrays.copyOfRange(n, Native.FLAT_PLAN_NODES, Native.FLAT_PLAN_NODES + levels), sections);
    } finally {
      Native.flat_free(plan);
    }
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
