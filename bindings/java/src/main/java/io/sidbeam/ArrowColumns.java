// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.io.ByteArrayOutputStream;

/**
 * Which columns of a table of Arrow's hold what. Those that are not named are the ones with a usual name: sid, sids,
 * semantic_id, semantic_ids, codes, tokens or token_ids for SIDs, item, item_id, iid, id, asin, docid or goods_id for
 * items, and priority. Setters return this.
 */
public final class ArrowColumns {
  private String sid;
  private String[] levels;
  private String levelPrefix;
  private String item;
  private String priority;
  private String[] attributes;
  private boolean allAttributes;

  /** The usual names. */
  public ArrowColumns() {}

  /**
   * The column of SIDs: lists of codes, or lists of such lists where an item has several.
   *
   * @param name of the column
   * @return this
   */
  public ArrowColumns sid(String name) {
    sid = name;
    return this;
  }

  /**
   * Instead of a column of SIDs, a column per level.
   *
   * @param names of the columns, level by level
   * @return this
   */
  public ArrowColumns levels(String... names) {
    levels = names.clone();
    return this;
  }

  /**
   * The same by what the names of these columns begin with, before a number that counts on from 0 or 1.
   *
   * @param prefix of the names
   * @return this
   */
  public ArrowColumns levelPrefix(String prefix) {
    levelPrefix = prefix;
    return this;
  }

  /**
   * The column of items, which are integers, or text where ids are strings.
   *
   * @param name of the column; "": there is none, and the id is the pair's number
   * @return this
   */
  public ArrowColumns item(String name) {
    item = name;
    return this;
  }

  /**
   * The column of priorities.
   *
   * @param name of the column; "": there is none
   * @return this
   */
  public ArrowColumns priority(String name) {
    priority = name;
    return this;
  }

  /**
   * Columns that are attributes of the items.
   *
   * @param names of the columns
   * @return this
   */
  public ArrowColumns attributes(String... names) {
    attributes = names.clone();
    return this;
  }

  /**
   * Makes all columns that nothing else uses attributes of the items.
   *
   * @param all true: they are
   * @return this
   */
  public ArrowColumns allAttributes(boolean all) {
    allAttributes = all;
    return this;
  }

  /**
   * Reads a stream and says what is in it, and so what a builder must be told. The stream is released.
   *
   * @param stream the address of an ArrowArrayStream
   * @return its shape
   */
  public ArrowInfo inspect(long stream) {
    return of(stream, this).call((sids, names, prefix, items, ranks) -> {
      long[] numbers = new long[NativeConstants.FLAT_ARROW_COUNT];
      int[] codes = new int[NativeConstants.SIDBEAM_MAX_LEVELS];
      Native.flat_arrow_inspect(stream, sids, names, prefix, items, ranks, numbers, codes);
      return ArrowInfo.of(numbers, codes);
    });
  }

  /** A call with the names as C takes them. */
  @FunctionalInterface
  interface Call<T> {
    T with(byte[] sid, byte[] levels, byte[] levelPrefix, byte[] item, byte[] priority);
  }

  /** Names that can be passed on; a stream that cannot be read for their sake is released. */
  record Names(byte[] sid, byte[] levels, byte[] levelPrefix, byte[] item, byte[] priority, byte[] attributes,
      boolean allAttributes) {
    <T> T call(Call<T> call) {
      return call.with(sid, levels, levelPrefix, item, priority);
    }
  }

  static Names of(long stream, ArrowColumns columns) {
    boolean usable = false;
    try {
      ArrowColumns given = Buffers.given(columns, "columns");
      Names names = new Names(Text.in(given.sid, "sid"), joined(given.levels, "levels"),
          Text.in(given.levelPrefix, "levelPrefix"), Text.in(given.item, "item"),
          Text.in(given.priority, "priority"), joined(given.attributes, "attributes"), given.allAttributes);
      usable = true;
      return names;
    } finally {
      if (!usable) {
        Native.flat_arrow_release(stream);
      }
    }
  }

  private static byte[] joined(String[] names, String what) {
    if (names == null) {
      return null;
    }
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (String name : names) {
      all.writeBytes(Text.in(Buffers.given(name, what), what));
    }
    return all.toByteArray();
  }
}
