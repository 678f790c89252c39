// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;

/**
 * One request at one level, between the model and the step: what {@link RunnerConfig#adjust} gets. It is valid during
 * the call alone, and so are its buffers: using them later reads memory that is somebody else's.
 */
public final class Level {
  private final long[] numbers;
  private final Object context;
  private final int[] codes;

  Level(long[] numbers, Object context, int[] codes) {
    this.numbers = numbers;
    this.context = context;
    this.codes = codes;
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
   * @return native memory
   */
  public FloatBuffer logits(int row) {
    long begin = numbers[Native.FLAT_ADJUST_LOGITS] + Float.BYTES * row(row) * numbers[Native.FLAT_ADJUST_ROW_STRIDE];
    return view(begin, Float.BYTES * numbers[Native.FLAT_ADJUST_COLUMNS]).asFloatBuffer();
  }

  /**
   * The codes so far of a row.
   *
   * @param row 0 .. rows - 1
   * @return [level], a new array
   */
  public int[] prefix(int row) {
    int[] prefix = new int[level()];
    if (prefix.length > 0) {
      long bytes = (long) Integer.BYTES * prefix.length;
      view(numbers[Native.FLAT_ADJUST_PREFIXES] + row(row) * bytes, bytes).asIntBuffer().get(prefix);
    }
    return prefix;
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
    if (numbers[Native.FLAT_ADJUST_MAP] == 0) {
      return Math.toIntExact(numbers[Native.FLAT_ADJUST_OFFSET] + code);
    }
    IntBuffer map = view(numbers[Native.FLAT_ADJUST_MAP], Integer.BYTES * numbers[Native.FLAT_ADJUST_MAP_CODES])
        .asIntBuffer();
    return map.get(code);
  }

  /**
   * The place of the end in a row.
   *
   * @return -1: there is none
   */
  public int endColumn() {
    return number(Native.FLAT_ADJUST_END_COLUMN);
  }

  private long row(int row) {
    if (row < 0 || row >= rows()) {
      throw SidbeamException.invalid("row is " + row + ", expected 0 .. " + (rows() - 1));
    }
    return row;
  }

  private static ByteBuffer view(long address, long bytes) {
    return ((ByteBuffer) Native.java_view(address, bytes)).order(ByteOrder.nativeOrder());
  }
}
