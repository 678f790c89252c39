// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.Arrays;

/**
 * Sizes of an index that has not been built. Arrays are by level.
 *
 * @param exact true: counted; false: expected for SIDs drawn uniformly
 * @param sids distinct SIDs
 * @param items (SID, item) pairs
 * @param fileBytes the whole file
 * @param peakBytes memory that the build takes at most, the file's pages included
 * @param nodes distinct prefixes of l + 1 codes
 * @param rowPointerBytes of the trie
 * @param tokenBytes of the trie
 * @param denseBytes of the trie
 * @param ordinalBytes of the trie
 * @param endBytes of the trie
 * @param sortedBytes of the sorted columns
 * @param hashBytes of the hash set
 * @param itemBytes item rows, ids, names
 */
public record Plan(boolean exact, long sids, long items, long fileBytes, long peakBytes, long[] nodes,
    long[] rowPointerBytes, long[] tokenBytes, long[] denseBytes, long[] ordinalBytes, long[] endBytes,
    long[] sortedBytes, long hashBytes, long itemBytes) {
  static Plan of(long[] numbers, int levels) {
    return new Plan(numbers[Native.FLAT_PLAN_EXACT] != 0, numbers[Native.FLAT_PLAN_SIDS],
        numbers[Native.FLAT_PLAN_ITEMS], numbers[Native.FLAT_PLAN_FILE_BYTES], numbers[Native.FLAT_PLAN_PEAK_BYTES],
        from(numbers, Native.FLAT_PLAN_NODES, levels), from(numbers, Native.FLAT_PLAN_ROW_POINTER_BYTES, levels),
        from(numbers, Native.FLAT_PLAN_TOKEN_BYTES, levels), from(numbers, Native.FLAT_PLAN_DENSE_BYTES, levels),
        from(numbers, Native.FLAT_PLAN_ORDINAL_BYTES, levels), from(numbers, Native.FLAT_PLAN_END_BYTES, levels),
        from(numbers, Native.FLAT_PLAN_SORTED_BYTES, levels), numbers[Native.FLAT_PLAN_HASH_BYTES],
        numbers[Native.FLAT_PLAN_ITEM_BYTES]);
  }

  static long[] from(long[] numbers, int begin, int count) {
    return Arrays.copyOfRange(numbers, begin, begin + count);
  }
}
