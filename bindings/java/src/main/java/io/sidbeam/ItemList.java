// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.Arrays;

/**
 * Names items of an index, for filters and rules. An entry that names no item is ignored and counted, one that comes
 * twice is ignored. Immutable.
 */
public final class ItemList {
  final int by;
  final long[] numbers;
  final byte[] names;
  final long[] offsets;

  /** No list, as C has it. */
  static final ItemList NONE = new ItemList(Native.SIDBEAM_ITEMS_BY_ID, null, null, null);

  private ItemList(int by, long[] numbers, byte[] names, long[] offsets) {
    this.by = by;
    this.numbers = numbers;
    this.names = names;
    this.offsets = offsets;
  }

  /**
   * By the caller's ids, where these are integers.
   *
   * @param ids unsigned ids as the same bits; copied
   * @return the list
   */
  public static ItemList ofIds(long... ids) {
    return ids.length == 0 ? ofRows() : new ItemList(Native.SIDBEAM_ITEMS_BY_ID, ids.clone(), null, null);
  }

  /**
   * By the caller's ids, where these are strings.
   *
   * @param names the ids
   * @return the list
   */
  public static ItemList ofNames(String... names) {
    if (names.length == 0) {
      return ofRows();
    }
    Text.Joined joined = Text.join(Arrays.asList(names), "names");
    return new ItemList(Native.SIDBEAM_ITEMS_BY_ID, null, joined.bytes(), joined.offsets());
  }

  /**
   * By item rows; quickest where they rise.
   *
   * @param rows copied
   * @return the list
   */
  public static ItemList ofRows(long... rows) {
    return new ItemList(Native.SIDBEAM_ITEMS_BY_ROW, rows.clone(), null, null);
  }

  /**
   * The number of entries.
   *
   * @return as many as were given
   */
  public int size() {
    return offsets == null ? numbers.length : offsets.length - 1;
  }

  /** How many entries, and what they are. */
  @Override
  public String toString() {
    return size() + (by == Native.SIDBEAM_ITEMS_BY_ROW ? " item rows" : " ids");
  }

  static ItemList orNone(ItemList list) {
    return list == null ? NONE : list;
  }
}
