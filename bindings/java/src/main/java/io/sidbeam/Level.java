// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Arrays;

/**
 * One request at one level, between the model and the step: what {@link RunnerConfig#adjust} gets. Its memory is
 * Java's. It may be kept, and what its logits are when the call returns is copied to the lane.
 */
public final class Level {
  private final long[] numbers;
  private final Object context;
  private final int[] codes;
  private final float[][] logits; // [rows][columns]
  private final int[] prefixes;   // [rows, level]
  private final int[] map;        // [codes] columns; null: the offset says it

  /** Copies the level, while the lane waits: a buffer of its memory could not be taken back. */
  Level(long[] numbers, Object context, int[] codes) {
    this.numbers = numbers;
    this.context = context;
    this.codes = codes;
    logits = new float[rows()][number(Native.FLAT_ADJUST_COLUMNS)];
    for (int row = 0; row < logits.length; row++) {
      laneLogits(row).get(logits[row]);
    }
    prefixes = ints(numbers[Native.FLAT_ADJUST_PREFIXES], rows() * level());
    long address = numbers[Native.FLAT_ADJUST_MAP];
    map = address == 0 ? null : ints(address, number(Native.FLAT_ADJUST_MAP_CODES));
  }

  /** Copies the logits back to the lane, which must still wait. */
  void giveBack() {
    for (int row = 0; row < logits.length; row++) {
      laneLogits(row).put(logits[row]);
    }
  }

  private int number(int place) {
    return Math.toIntExact(numbers[place]);
  }

  /**
   * Codes decided so far.
   *
   * @return 0 .. L - 1
   */
  public int level() {
    return number(Native.FLAT_ADJUST_LEVEL);
  }

  /**
   * Number of the request.
   *
   * @return as in {@link Result#request}
   */
  public long request() {
    return numbers[Native.FLAT_ADJUST_REQUEST];
  }

  /**
   * What {@link Request#context} was given.
   *
   * @return may be null
   */
  public Object context() {
    return context;
  }

  /**
   * Logits rows: one at level 0, then one per beam that goes on.
   *
   * @return at least 1
   */
  public int rows() {
    return number(Native.FLAT_ADJUST_ROWS);
  }

  /**
   * Codes of the level.
   *
   * @return V_l, without the end
   */
  public int codes() {
    return codes[level()];
  }

  /**
   * The logits of a row, to be changed in place.
   *
   * @param row 0 .. rows - 1
   * @return [columns], of a Java array
   */
  public FloatBuffer logits(int row) {
    return FloatBuffer.wrap(logits[checked(row)]);
  }

  /**
   * The codes so far of a row.
   *
   * @param row 0 .. rows - 1
   * @return [level], a new array
   */
  public int[] prefix(int row) {
    int begin = checked(row) * level();
    return Arrays.copyOfRange(prefixes, begin, begin + level());
  }

  /**
   * The place of a code in a row.
   *
   * @param code 0 .. codes - 1
   * @return -1: it has none
   */
  public int column(int code) {
    if (code < 0 || code >= codes()) {
      throw SidbeamException.invalid("code is " + code + ", expected 0 .. " + (codes() - 1));
    }
    return map == null ? Math.toIntExact(numbers[Native.FLAT_ADJUST_OFFSET] + code) : map[code];
  }

  /**
   * The place of the end in a row.
   *
   * @return -1: there is none
   */
  public int endColumn() {
    return number(Native.FLAT_ADJUST_END_COLUMN);
  }

  private int checked(int row) {
    if (row < 0 || row >= rows()) {
      throw SidbeamException.invalid("row is " + row + ", expected 0 .. " + (rows() - 1));
    }
    return row;
  }

  private FloatBuffer laneLogits(int row) {
    long begin = numbers[Native.FLAT_ADJUST_LOGITS] + Float.BYTES * row * numbers[Native.FLAT_ADJUST_ROW_STRIDE];
    return view(begin, Float.BYTES * numbers[Native.FLAT_ADJUST_COLUMNS]).asFloatBuffer();
  }

  private static int[] ints(long address, int count) {
    int[] copy = new int[count];
    if (count > 0) {
      view(address, (long) Integer.BYTES * count).asIntBuffer().get(copy);
    }
    return copy;
  }

  private static ByteBuffer view(long address, long bytes) {
    return ((ByteBuffer) Native.java_view(address, bytes)).order(ByteOrder.nativeOrder());
  }
}
