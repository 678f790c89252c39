// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * Counted since a {@link HiddenStep} was made.
 *
 * @param steps calls
 * @param childSlots slots stepped by products of beam and child alone
 * @param unionSlots by all products of their beams and the children of any of them
 * @param productSlots by the products with all columns
 * @param products inner products computed
 * @param weightRows rows of weights read: distinct children, columns of a union, or all of a product
 * @param weightBytes bytes of them
 * @param memoryBytes that the object holds
 * @param breakEven measured cost of a product by itself, in those within a tile
 */
public record HiddenStats(long steps, long childSlots, long unionSlots, long productSlots, long products,
    long weightRows, long weightBytes, long memoryBytes, float breakEven) {
  static HiddenStats of(long[] n, float breakEven) {
    return new HiddenStats(n[Native.FLAT_HIDDEN_STATS_STEPS], n[Native.FLAT_HIDDEN_STATS_CHILD_SLOTS],
        n[Native.FLAT_HIDDEN_STATS_UNION_SLOTS], n[Native.FLAT_HIDDEN_STATS_PRODUCT_SLOTS],
        n[Native.FLAT_HIDDEN_STATS_PRODUCTS], n[Native.FLAT_HIDDEN_STATS_WEIGHT_ROWS],
        n[Native.FLAT_HIDDEN_STATS_WEIGHT_BYTES], n[Native.FLAT_HIDDEN_STATS_MEMORY_BYTES], breakEven);
  }
}
