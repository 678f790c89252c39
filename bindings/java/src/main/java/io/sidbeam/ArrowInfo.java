// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.List;
import java.util.stream.IntStream;

/**
 * What a table of Arrow's holds, by {@link ArrowColumns#inspect}.
 *
 * @param levels codes of the longest SID
 * @param shortest codes of the shortest one; less than levels: lengths vary
 * @param codes per level, as many as occur
 * @param idType what suits the column of items
 * @param items there is a column of items
 * @param priorities there is a column of priorities
 * @param pairs (SID, item) pairs
 */
public record ArrowInfo(int levels, int shortest, List<Integer> codes, IdType idType, boolean items,
    boolean priorities, long pairs) {
  static ArrowInfo of(long[] numbers, int[] codes) {
    int levels = (int) numbers[NativeConstants.FLAT_ARROW_LEVELS];
    return new ArrowInfo(levels, (int) numbers[NativeConstants.FLAT_ARROW_SHORTEST],
        IntStream.of(codes).limit(levels).boxed().toList(),
        IdType.of(numbers[NativeConstants.FLAT_ARROW_ID_TYPE]),
        numbers[NativeConstants.FLAT_ARROW_ITEMS] != 0, numbers[NativeConstants.FLAT_ARROW_PRIORITIES] != 0,
        numbers[NativeConstants.FLAT_ARROW_PAIRS]);
  }
}
