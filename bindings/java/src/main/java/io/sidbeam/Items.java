// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;

/**
 * Buffers for what beams stand for: {@link Session#items(Items)}. Make one and reuse it. C is the number of slots
 * asked for, M and L the session's beams and levels. A beam has an ordinal once its SID is complete and in the index.
 */
public final class Items {
  private final int count;
  private final int beams;
  private final int levels;
  private final long limit;
  private final Object ordinals;
  private final Object sids;
  private final Object lengths;
  private final Object itemRows;
  private final Object offsets;
  private final Object truncated;
  private IntBuffer cameShort;
  private IntBuffer slots;
  private long limitPerSid;
  private boolean distinct;
  private long cap;
  private byte[] capAttribute;
  private long stream;

  private Items(Session session, int count, long limit, Object[] buffers) {
    this.count = count;
    this.limit = limit;
    beams = session.width();
    levels = session.levels();
    ordinals = buffers[0];
    sids = buffers[1];
    lengths = buffers[2];
    itemRows = buffers[3];
    offsets = buffers[4];
    truncated = buffers[5];
  }

  /**
   * New buffers.
   *
   * @param session whose shape they get
   * @param count C, slots asked for
   * @param limit most item rows of a slot; 0: no item rows, only the offsets at which they would end
   */
  public Items(Session session, int count, long limit) {
    this(session, count, limit, allocate(session, count, limit));
    cameShort = Buffers.ints(count);
  }

  /**
   * The caller's buffers, each or null, filled in place.
   *
   * @param session whose shape they have
   * @param count C, slots asked for
   * @param limit most item rows of a slot
   * @param ordinals [C, M] -1: none
   * @param sids [C, M, L] codes so far, -1 beyond the length
   * @param lengths [C, M] codes so far; 0 dead
   * @param itemRows [C, limit] item rows by beam, then priority
   * @param offsets [C, M + 1] beam m has itemRows[offsets[m] .. offsets[m + 1]) of its slot; needed with itemRows
   * @param truncated [C] 1 where a limit left item rows out
   */
  public Items(Session session, int count, long limit, LongBuffer ordinals, IntBuffer sids, IntBuffer lengths,
      LongBuffer itemRows, LongBuffer offsets, IntBuffer truncated) {
    this(session, count, limit, new Object[] {Buffers.out(ordinals, "ordinals"), Buffers.out(sids, "sids"),
        Buffers.out(lengths, "lengths"), Buffers.out(itemRows, "itemRows"), Buffers.out(offsets, "offsets"),
        Buffers.out(truncated, "truncated")});
  }

  /**
   * Arrays in a device's memory, each or null, for a session on that device. The accessors of such an object do not
   * work.
   *
   * @param session whose shape they have
   * @param count C, slots asked for
   * @param limit most item rows of a slot
   * @param ordinals int64 [C, M]
   * @param sids int32 [C, M, L]
   * @param lengths int32 [C, M]
   * @param itemRows int64 [C, limit]
   * @param offsets int64 [C, M + 1]
   * @param truncated int32 [C]
   */
  public Items(Session session, int count, long limit, DevicePointer ordinals, DevicePointer sids,
      DevicePointer lengths,
      DevicePointer itemRows, DevicePointer offsets, DevicePointer truncated) {
    this(session, count, limit, new Object[] {ordinals, sids, lengths, itemRows, offsets, truncated});
  }

  private static Object[] allocate(Session session, int count, long limit) {
    if (count < 0 || limit < 0) {
      throw SidbeamException.invalid("count is " + count + " and limit " + limit + ", expected at least 0");
    }
    int all = Math.multiplyExact(count, session.width());
    return new Object[] {Buffers.longs(all), Buffers.ints(Math.multiplyExact(all, session.levels())), Buffers.ints(all),
        limit == 0 ? null : Buffers.longs(Math.toIntExact(Math.multiplyExact(count, limit))),
        Buffers.longs(Math.addExact(all, count)), Buffers.ints(count)};
  }

  /**
   * The slots that are asked for.
   *
   * @param slots [C]; null (the default): all of the session's, so that C is their number
   * @return this
   */
  public Items slots(IntBuffer slots) {
    this.slots = Buffers.in(slots, "slots");
    return this;
  }

  /**
   * Most item rows of one SID.
   *
   * @param limitPerSid 0 (the default): no limit
   * @return this
   */
  public Items limitPerSid(long limitPerSid) {
    this.limitPerSid = limitPerSid;
    return this;
  }

  /**
   * Whether an item that several SIDs have is listed once, with the best of them; limits cut what is left.
   *
   * @param distinct false (the default): with each of them
   * @return this
   */
  public Items distinct(boolean distinct) {
    this.distinct = distinct;
    return this;
  }

  /**
   * At most so many item rows of a slot per value of an attribute of its index, best first: say 2 of a brand. Null is
   * no value, and of a list each string counts. Rules are inside the search; this is after it, and makes room for what
   * comes later, so that a list may come short: {@link #cameShort}. On the CPU.
   *
   * @param most 0 (the default): no cap
   * @param attribute of any type but {@link AttributeType#F32}; null: no cap
   * @return this
   */
  public Items cap(long most, String attribute) {
    cap = most;
    capAttribute = Text.in(attribute, "attribute");
    return this;
  }

  /**
   * The caller's buffer for {@link #cameShort(int)}, filled in place.
   *
   * @param cameShort [C] 1 where the cap left item rows out and there are fewer than the limit
   * @return this
   */
  public Items cameShort(IntBuffer cameShort) {
    this.cameShort = Buffers.out(cameShort, "cameShort");
    return this;
  }

  /**
   * Stream of the work, on CUDA.
   *
   * @param stream a cudaStream_t as a number
   * @return this
   */
  public Items stream(long stream) {
    this.stream = stream;
    return this;
  }

  void fill(Session session, int deviceType) {
    if (session.width() != beams || session.levels() != levels) {
      throw SidbeamException.invalid("items are for sessions of " + beams + " beams and " + levels
          + " levels, this has "
          + session.width() + " and " + session.levels());
    }
    for (Object array : new Object[] {ordinals, sids, lengths, itemRows, offsets, truncated}) {
      DevicePointer.check(deviceType, array, "an array of items");
    }
    try {
      Native.flat_session_get_items(session.handle, slots, count, limitPerSid, limit, distinct ? 1 : 0, capAttribute,
          cap, ordinals, sids, lengths, itemRows, offsets, truncated, cameShort, stream);
    } finally {
      java.lang.ref.Reference.reachabilityFence(session);
    }
  }

  private static <T> T host(Object buffer, Class<T> type, String name) {
    if (!type.isInstance(buffer)) {
      throw new SidbeamException(Status.BAD_STATE, name + " was not asked for, or is on a device");
    }
    return type.cast(buffer);
  }

  private int at(int slot, int beam) {
    if (slot < 0 || slot >= count || beam < 0 || beam >= beams) {
      throw SidbeamException.invalid("slot " + slot + ", beam " + beam + " of " + count + " slots of " + beams
          + " beams");
    }
    return slot * beams + beam;
  }

  private static int from(java.nio.Buffer buffer, long i) {
    return buffer.position() + Math.toIntExact(i);
  }

  /**
   * Ordinal of a beam's SID.
   *
   * @param slot 0 .. C - 1, in the order that was asked for
   * @param beam 0 .. M - 1
   * @return -1: none
   */
  public long ordinal(int slot, int beam) {
    LongBuffer buffer = host(ordinals, LongBuffer.class, "ordinals");
    return buffer.get(from(buffer, at(slot, beam)));
  }

  /**
   * Codes of a beam so far.
   *
   * @param slot 0 .. C - 1, in the order that was asked for
   * @param beam 0 .. M - 1
   * @return a new array, empty for a dead beam
   */
  public int[] sid(int slot, int beam) {
    IntBuffer codes = host(sids, IntBuffer.class, "sids");
    IntBuffer ends = host(lengths, IntBuffer.class, "lengths");
    int[] sid = new int[levels];
    codes.get(from(codes, (long) at(slot, beam) * levels), sid);
    return Arrays.copyOf(sid, ends.get(from(ends, at(slot, beam))));
  }

  /**
   * Item rows of a beam, to be looked up by {@link Index#itemIds} or {@link Index#itemNames}.
   *
   * @param slot 0 .. C - 1, in the order that was asked for
   * @param beam 0 .. M - 1
   * @return a new array, best priority first
   */
  public long[] itemRowsOf(int slot, int beam) {
    LongBuffer found = host(itemRows, LongBuffer.class, "itemRows");
    LongBuffer ends = host(offsets, LongBuffer.class, "offsets");
    int place = at(slot, beam) + slot; // M + 1 offsets per slot
    long begin = ends.get(from(ends, place));
    long[] of = new long[Math.toIntExact(ends.get(from(ends, place + 1)) - begin)];
    found.get(from(found, slot * limit + begin), of);
    return of;
  }

  /**
   * Whether the cap left item rows of a slot out and there are fewer than the limit.
   *
   * @param slot 0 .. C - 1, in the order that was asked for
   * @return true: more beams may find more
   */
  public boolean cameShort(int slot) {
    IntBuffer flags = host(cameShort, IntBuffer.class, "cameShort");
    return flags.get(from(flags, slot)) != 0;
  }

  /**
   * Whether a limit left item rows of a slot out (that the cap would have listed).
   *
   * @param slot 0 .. C - 1, in the order that was asked for
   * @return true: there are more
   */
  public boolean truncated(int slot) {
    IntBuffer flags = host(truncated, IntBuffer.class, "truncated");
    return flags.get(from(flags, slot)) != 0;
  }
}
