// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.ArrayList;
import java.util.List;

/** A column of values by item row, of an index that it needs open. Made by {@link Index#attributes}. */
public final class Attribute {
  private final Index index;
  private final long number;
  private final long items;
  private final String name;
  private final long[] numbers = new long[Native.FLAT_ATTRIBUTE_COUNT];
  private final float[] range = new float[2];

  Attribute(Index index, long number, long items) {
    this.index = index;
    this.number = number;
    this.items = items;
    name = index.call(() -> {
      byte[] bytes = new byte[Math.toIntExact(
          Native.flat_index_get_attribute(index.handle, number, numbers, range, null))];
      Native.flat_index_get_attribute(index.handle, number, numbers, range, bytes);
      return Text.out(bytes);
    });
  }

  /**
   * Its name.
   *
   * @return as it was declared
   */
  public String name() {
    return name;
  }

  /**
   * What it holds.
   *
   * @return a type
   */
  public AttributeType type() {
    return AttributeType.of(numbers[Native.FLAT_ATTRIBUTE_TYPE]);
  }

  /**
   * Rows without a value.
   *
   * @return as many
   */
  public long nulls() {
    return numbers[Native.FLAT_ATTRIBUTE_NULLS];
  }

  /**
   * Different values, of lists the strings in them.
   *
   * @return -1 for numbers, which nobody counts
   */
  public long distinct() {
    return numbers[Native.FLAT_ATTRIBUTE_DISTINCT];
  }

  /**
   * The least value of numbers and bools.
   *
   * @return 0 where there is none
   */
  public double least() {
    return type() == AttributeType.F32 ? range[0] : numbers[Native.FLAT_ATTRIBUTE_LEAST];
  }

  /**
   * The greatest value of numbers and bools.
   *
   * @return 0 where there is none
   */
  public double greatest() {
    return type() == AttributeType.F32 ? range[1] : numbers[Native.FLAT_ATTRIBUTE_GREATEST];
  }

  /**
   * The distinct strings, sorted by bytes (of a version of a live catalogue those of its base, and behind them what
   * came since, sorted too); codes are their numbers.
   *
   * @return a new list, empty where the type has no strings
   */
  public List<String> strings() {
    int count = type().code < AttributeType.STRING.code ? 0 : Math.toIntExact(distinct());
    return index.call(() -> {
      long[] offsets = new long[count + 1];
      byte[] text = new byte[Math.toIntExact(
          Native.flat_index_attribute_strings(index.handle, number, 0, count, offsets, null))];
      Native.flat_index_attribute_strings(index.handle, number, 0, count, offsets, text);
      List<String> all = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        all.add(Text.out(java.util.Arrays.copyOfRange(text, (int) offsets[i], (int) offsets[i + 1])));
      }
      return all;
    });
  }

  /**
   * Values of item rows: integers, 1 and 0 of bools, and codes of strings. Not of {@link AttributeType#F32} and lists.
   *
   * @param itemRow the first row
   * @param values gets as many as it is long; 0 where a row has none
   * @param valid gets 1, or 0 where a row has none; null: not wanted
   */
  public void integers(long itemRow, long[] values, byte[] valid) {
    index.call(() -> {
      Native.flat_index_attribute_integers(index.handle, number, itemRow, values.length, values, valid);
      return null;
    });
  }

  /**
   * The same of {@link AttributeType#F32}.
   *
   * @param itemRow the first row
   * @param values gets as many as it is long
   * @param valid gets 1, or 0 where a row has none; null: not wanted
   */
  public void numbers(long itemRow, float[] values, byte[] valid) {
    index.call(() -> {
      Native.flat_index_attribute_numbers(index.handle, number, itemRow, values.length, values, valid);
      return null;
    });
  }

  /**
   * The value of an item row.
   *
   * @param itemRow 0 .. items - 1
   * @return a Long, Float, Boolean, String or list of strings; null where the row has none
   */
  public Object value(long itemRow) {
    byte[] valid = new byte[1];
    Object value = switch (type()) {
      case F32 -> number(itemRow, valid);
      case STRING_LIST -> list(itemRow, valid);
      default -> {
        long[] integer = new long[1];
        integers(itemRow, integer, valid);
        yield type() == AttributeType.BOOL ? (Object) (integer[0] != 0)
            : type() == AttributeType.I64 || valid[0] == 0 ? (Object) integer[0] : string(integer[0]);
      }
    };
    return valid[0] == 0 ? null : value;
  }

  private float number(long itemRow, byte[] valid) {
    float[] number = new float[1];
    numbers(itemRow, number, valid);
    return number[0];
  }

  private String string(long code) {
    return index.call(() -> {
      long[] offsets = new long[2];
      byte[] text = new byte[Math.toIntExact(
          Native.flat_index_attribute_strings(index.handle, number, code, 1, offsets, null))];
      Native.flat_index_attribute_strings(index.handle, number, code, 1, offsets, text);
      return Text.out(text);
    });
  }

  private List<String> list(long itemRow, byte[] valid) {
    long[] codes = index.call(() -> {
      long[] offsets = new long[2];
      Native.flat_index_attribute_lists(index.handle, number, itemRow, 1, offsets, null, valid);
      long[] all = new long[Math.toIntExact(offsets[1])];
      Native.flat_index_attribute_lists(index.handle, number, itemRow, 1, offsets, all, valid);
      return all;
    });
    List<String> list = new ArrayList<>();
    for (long code : codes) {
      list.add(string(code));
    }
    return list;
  }

  @Override
  public String toString() {
    return "Attribute " + name + " (" + type() + ", " + nulls() + " of " + items + " rows null)";
  }
}
