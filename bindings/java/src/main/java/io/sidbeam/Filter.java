// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Which items of an index may be shown, known in advance: in stock, of a region, of a campaign. Given to a {@link
 * Constraint} by its {@link Rules}. It holds the index, which may be closed before it. Immutable; any threads may use
 * it. What a search reads is derived when the first constraint is made with it, or by {@link #prepare}.
 */
public final class Filter extends NativeObject {
  private final long unknown;

  private Filter(long handle, long unknown) {
    super(handle);
    this.unknown = unknown;
  }

  /** Of what is made while the owner stays reachable. */
  private static Filter made(NativeObject owner, LongSupplier make) {
    try {
      return new Filter(make.getAsLong(), 0);
    } finally {
      Reference.reachabilityFence(owner);
    }
  }

  /**
   * From a text, say {@code price<20 and region in (us, ca)}; sidbeam/filter.h has the grammar. Fails with {@link
   * Status#INVALID_ARGUMENT}: the byte at which the text goes wrong, an attribute that is not there, an operator that
   * its type has not, a value of another type.
   *
   * @param index held
   * @param text of the filter
   * @return a new filter
   */
  public static Filter parse(Index index, String text) {
    byte[] bytes = Buffers.given(text, "text").getBytes(StandardCharsets.UTF_8);
    return made(index, () -> Native.flat_filter_parse(Buffers.given(index, "index").handle, bytes));
  }

  /**
   * From a term. Fails as {@link #parse} does.
   *
   * @param index held
   * @param term read
   * @return a new filter
   */
  public static Filter of(Index index, Term term) {
    Buffers.given(term, "term");
    return made(index, () -> Native.flat_filter_from_term(Buffers.given(index, "index").handle, term.op,
        term.attribute, term.integers, term.doubleBits, term.bools, term.strings));
  }

  /**
   * Of the items of a list; {@link #unknown} entries of it name none.
   *
   * @param index held
   * @param items read
   * @return a new filter
   */
  public static Filter of(Index index, ItemList items) {
    Buffers.given(items, "items");
    long[] unknown = new long[1];
    try {
      long handle = Native.flat_filter_from_items(Buffers.given(index, "index").handle, items.by, items.numbers,
          items.names, items.offsets, unknown);
      return new Filter(handle, unknown[0]);
    } finally {
      Reference.reachabilityFence(index);
    }
  }

  /**
   * Of item rows. Fails with {@link Status#INVALID_ARGUMENT} where there is a row that no item has.
   *
   * @param index held
   * @param rows read
   * @return a new filter
   */
  public static Filter of(Index index, BitSet rows) {
    long items = Buffers.given(index, "index").info().items();
    if (Buffers.given(rows, "rows").length() > items) {
      throw SidbeamException.invalid("rows has row " + (rows.length() - 1) + ", expected less than " + items);
    }
    byte[] bits = Arrays.copyOf(rows.toByteArray(), Math.toIntExact((items + 7) / 8));
    return made(index, () -> Native.flat_filter_from_rows(index.handle, Native.SIDBEAM_ROWS_BITS, bits, 0));
  }

  /**
   * Of a 32-bit Roaring bitmap of item rows in its portable format, as RoaringBitmap.serialize() writes it; it may be
   * damaged. Fails with {@link Status#INVALID_ARGUMENT}: what is wrong with it, and at which byte; a row that no item
   * has.
   *
   * @param index held
   * @param bitmap read
   * @return a new filter
   */
  public static Filter ofRoaring(Index index, byte[] bitmap) {
    Buffers.given(bitmap, "bitmap");
    return made(index, () -> Native.flat_filter_from_rows(Buffers.given(index, "index").handle,
        Native.SIDBEAM_ROWS_ROARING, bitmap, 0));
  }

  /**
   * The items that are in both filters, which are of one index.
   *
   * @param other read
   * @return a new filter
   */
  public Filter and(Filter other) {
    return join(Native.SIDBEAM_FILTER_AND, other);
  }

  /**
   * The items that are in either filter, which are of one index.
   *
   * @param other read
   * @return a new filter
   */
  public Filter or(Filter other) {
    return join(Native.SIDBEAM_FILTER_OR, other);
  }

  /**
   * The items that are not in the filter.
   *
   * @return a new filter
   */
  public Filter not() {
    return made(this, () -> Native.flat_filter_combine(Native.SIDBEAM_FILTER_NOT, handle, 0));
  }

  private Filter join(int op, Filter other) {
    Buffers.given(other, "other");
    try {
      return made(this, () -> Native.flat_filter_combine(op, handle, other.handle));
    } finally {
      Reference.reachabilityFence(other);
    }
  }

  /**
   * The filter after a change of some items, at the cost of these; this one stays as it is. A filter that is prepared
   * gives one that is.
   *
   * @param items of an item that comes twice the last entry counts
   * @param allowed of each entry whether it is in
   * @return a new filter
   */
  public Filter update(ItemList items, boolean... allowed) {
    if (Buffers.given(items, "items").size() != allowed.length) {
      throw SidbeamException.invalid("allowed has " + allowed.length + " entries, expected " + items.size()
          + ", one per item");
    }
    byte[] bytes = new byte[allowed.length];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) (allowed[i] ? 1 : 0);
    }
    long[] missing = new long[1];
    try {
      long updated = Native.flat_filter_update(handle, items.by, items.numbers, items.names, items.offsets, bytes,
          missing);
      return new Filter(updated, missing[0]);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * The same filter on another version of a live {@link Catalog}, or on another index. What was made of a text or of
   * terms is asked of that index's items. A set of items or rows has the same rows where both are versions on one base,
   * or that base, and none that came later; otherwise it fails with {@link Status#INVALID_ARGUMENT}.
   *
   * @param index held
   * @return a new filter
   */
  public Filter on(Index index) {
    Buffers.given(index, "index");
    try {
      return new Filter(Native.flat_filter_on(handle, index.handle), unknown);
    } finally {
      Reference.reachabilityFence(index);
      Reference.reachabilityFence(this);
    }
  }

  /** Derives now what a search reads, on the runtime's threads, so that no request waits for it. */
  public void prepare() {
    try {
      Native.flat_filter_prepare(handle);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * What the filter holds.
   *
   * @return a snapshot
   */
  public FilterInfo info() {
    long[] n = new long[Native.FLAT_FILTER_COUNT];
    try {
      Native.flat_filter_get_info(handle, n);
    } finally {
      Reference.reachabilityFence(this);
    }
    return new FilterInfo(n[Native.FLAT_FILTER_PREPARED] != 0, n[Native.FLAT_FILTER_ITEMS],
        n[Native.FLAT_FILTER_SIDS], n[Native.FLAT_FILTER_BYTES]);
  }

  /**
   * The entries of the list, of which this filter was made or updated, that name no item.
   *
   * @return their number
   */
  public long unknown() {
    return unknown;
  }

  /**
   * The text of which {@link #parse} makes a filter of the same rows.
   *
   * @return empty for a filter of a list, of rows, or updated
   */
  public Optional<String> text() {
    try {
      byte[] text = new byte[Math.toIntExact(Native.flat_filter_text(handle, null))];
      Native.flat_filter_text(handle, text);
      return Optional.of(Text.out(text));
    } catch (SidbeamException e) {
      if (e.status() == Status.UNSUPPORTED) {
        return Optional.empty();
      }
      throw e;
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * The item rows in the filter.
   *
   * @return a copy
   */
  public BitSet rows() {
    try {
      long[] words = new long[Math.toIntExact(Native.flat_filter_rows(handle, null))];
      Native.flat_filter_rows(handle, words);
      return BitSet.valueOf(words);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /** The text, where there is one. */
  @Override
  public String toString() {
    return isClosed() ? "a closed filter" : text().orElseGet(() -> "a filter of " + info().items() + " items");
  }
}
