// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;

/**
 * What a beam must stay inside: an index, whole or under rules. It holds the index, which may be closed before it.
 * Immutable; any threads may use it.
 */
public final class Constraint extends NativeObject implements Constrainer {
  /**
   * Makes a constraint of all of an index.
   *
   * @param index held
   */
  public Constraint(Index index) {
    this(index, new Rules());
  }

  /**
   * Makes a constraint under rules, for one request: {@link Start#constraints}, {@link Request#constraint}, a {@link
   * ConstraintSet}. A search under it returns, bit for bit, what a search of an index of the allowed items alone would;
   * only ordinals and item rows are the index's. It is cheap; closed, it gives its memory back to the index. On the
   * CPU, with {@link Strategy#TRIE}; fails with {@link Status#MISSING_SECTION} on an index without {@link Kind#TRIE}.
   *
   * @param index held
   * @param rules read; entries of its lists that name no item are counted in {@link #info}
   */
  public Constraint(Index index, Rules rules) {
    super(create(Buffers.given(index, "index"), Buffers.given(rules, "rules")));
  }

  private Constraint(long handle) {
    super(handle);
  }

  private static long create(Index index, Rules rules) {
    ItemList out = ItemList.orNone(rules.excluded);
    ItemList in = ItemList.orNone(rules.allowed);
    Filter filter = rules.filter;
    try {
      return Native.flat_constraint_create_ruled(index.handle, filter == null ? 0 : filter.handle, out.by, out.numbers,
          out.names, out.offsets, in.by, in.numbers, in.names, in.offsets);
    } finally {
      Reference.reachabilityFence(index);
      Reference.reachabilityFence(filter);
    }
  }

  /**
   * The same constraint with further excluded items, at the cost of these: what a user has clicked since.
   *
   * @param items read
   * @return a new constraint; this one stays as it is
   */
  public Constraint exclude(ItemList items) {
    Buffers.given(items, "items");
    try {
      return new Constraint(
          Native.flat_constraint_exclude(handle, items.by, items.numbers, items.names, items.offsets));
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * {@link Index#itemRowsOf(long[], long, long, boolean)} of the rows that the rules allow.
   *
   * @param ordinals [n], each 0 .. sids - 1, or -1 for none
   * @param limitPerSid most item rows of one SID; 0: no limit
   * @param limit most item rows of all; 0: no limit
   * @param distinct whether an item that several SIDs have is listed once, with the first of them
   * @return the rows, and where those of each ordinal are
   */
  public ItemRows itemRowsOf(long[] ordinals, long limitPerSid, long limit, boolean distinct) {
    return itemRowsOf(ordinals, new ItemLimits().perSid(limitPerSid).limit(limit).distinct(distinct));
  }

  /**
   * {@link Index#itemRowsOf(long[], ItemLimits)} of the rows that the rules allow.
   *
   * @param ordinals [n], each 0 .. sids - 1, or -1 for none
   * @param limits read
   * @return the rows, and where those of each ordinal are
   */
  public ItemRows itemRowsOf(long[] ordinals, ItemLimits limits) {
    Buffers.given(limits, "limits");
    try {
      return ItemRows.of(ordinals.length, limits.limit, (most, rows, offsets, truncated, cameShort) -> Native
          .flat_constraint_items(handle, ordinals, limits.perSid, most, limits.distinct ? 1 : 0, limits.capAttribute,
              limits.cap, rows, offsets, truncated, cameShort));
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Levels, codes and kinds.
   *
   * @return a snapshot, read once
   */
  public ConstraintInfo info() {
    long[] numbers = new long[Native.FLAT_CONSTRAINT_COUNT];
    byte[] fingerprint = new byte[IndexInfo.FINGERPRINT_BYTES];
    try {
      Native.flat_constraint_get_info(handle, numbers, fingerprint);
    } finally {
      Reference.reachabilityFence(this);
    }
    return ConstraintInfo.of(numbers, fingerprint);
  }

  /** An index or a constraint as a constraint: itself, or the one that an index keeps. */
  static Constraint of(Constrainer given) {
    return given instanceof Index index ? index.constraint() : (Constraint) given;
  }

  /** The same for a list, which may be null, as any entry may. */
  static Constraint[] of(Constrainer[] given) {
    if (given == null) {
      return null;
    }
    Constraint[] constraints = new Constraint[given.length];
    for (int i = 0; i < given.length; i++) {
      constraints[i] = given[i] == null ? null : of(given[i]);
    }
    return constraints;
  }

  /** Their handles, for a call during which the caller keeps them reachable; 0 for null. */
  static long[] handles(Constraint[] constraints) {
    if (constraints == null) {
      return null;
    }
    long[] handles = new long[constraints.length];
    for (int i = 0; i < handles.length; i++) {
      handles[i] = constraints[i] == null ? 0 : constraints[i].handle;
    }
    return handles;
  }
}
