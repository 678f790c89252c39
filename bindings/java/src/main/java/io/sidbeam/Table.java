// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;

/**
 * Stateless forms, for engines that own the beam loop and keep one state a sequence. A state is a word: -1 is dead, 0
 * the beginning; it means something only with the catalogue that made it, and any other value is safe and dead. Of each
 * row, `which` names the catalogue by its place in the table; null: the first for all. Any threads may use a table at
 * once.
 *
 * <p>Buffers are direct, in the machine's order, and are used from position to limit. On a table of a device
 * ({@link TableConfig#cuda}) arrays are {@link DevicePointer}s, and work is enqueued on `stream` without waiting. After
 * a failure nothing has been written.
 */
public final class Table extends NativeObject {
  private final int deviceType;

  /**
   * Makes a table. Fails with {@link Status#MISSING_SECTION} where an index has no trie.
   *
   * @param config read, not kept
   */
  public Table(TableConfig config) {
    super(create(Buffers.given(config, "config")));
    deviceType = config.deviceType;
  }

  private static long create(TableConfig config) {
    Runtime runtime = Runtime.orDefault(config.runtime);
    Constraint[] constraints = new Constraint[config.catalogues.length];
    long[] handles = new long[constraints.length];
    for (int i = 0; i < handles.length; i++) {
      constraints[i] = Constraint.of(Buffers.given(config.catalogues[i], "a catalogue"));
      handles[i] = constraints[i].handle;
    }
    Vocabulary v = config.vocabulary;
    try {
      return Native.flat_constraint_set_create(runtime.handle, handles, v.offsets, v.maps, v.mapCodes, v.endColumn,
          config.deviceType, config.deviceId);
    } finally {
      Reference.reachabilityFence(runtime);
      Reference.reachabilityFence(constraints);
      Reference.reachabilityFence(config.catalogues);
      Log.drain();
    }
  }

  /**
   * State of each of many prefixes.
   *
   * @param which [count] or null
   * @param codes [count, stride]
   * @param stride elements from prefix to prefix
   * @param lengths [count] codes of each prefix, 0 for the beginning
   * @param out gets [count]; -1 for a prefix that no SID has
   */
  public void prefixes(IntBuffer which, IntBuffer codes, long stride, IntBuffer lengths, LongBuffer out) {
    prefixes((Object) Buffers.in(which, "which"), Buffers.in(codes, "codes"), stride, Buffers.in(lengths, "lengths"),
        Buffers.given(lengths, "lengths").remaining(), Buffers.out(out, "out"), 0);
  }

  /**
   * The same on a device.
   *
   * @param which int32 [count] or null
   * @param codes int32 [count, stride]
   * @param stride elements from prefix to prefix
   * @param lengths int32 [count]
   * @param out gets int64 [count]
   * @param stream a cudaStream_t as a number
   */
  public void prefixes(DevicePointer which, DevicePointer codes, long stride, DevicePointer lengths, DevicePointer out,
      long stream) {
    onDevice();
    prefixes((Object) which, codes, stride, lengths, Buffers.given(lengths, "lengths").count(), out, stream);
  }

  private void prefixes(Object which, Object codes, long stride, Object lengths, long count, Object out, long stream) {
    try {
      Native.flat_constraint_set_prefixes(handle, which, codes, stride, lengths, count, out, stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * The states after one more token each.
   *
   * @param which [count] or null
   * @param states those to go on from
   * @param parents [count] places in states; null: state i is followed by token i
   * @param tokens [count]; -1 keeps an ended state
   * @param out gets [count]; -1 where the token may not follow. May be states itself unless there are parents
   */
  public void advance(IntBuffer which, LongBuffer states, LongBuffer parents, IntBuffer tokens, LongBuffer out) {
    advance((Object) Buffers.in(which, "which"), Buffers.in(states, "states"), Buffers.in(parents, "parents"),
        Buffers.in(tokens, "tokens"), Buffers.given(tokens, "tokens").remaining(), Buffers.out(out, "out"), 0);
  }

  /**
   * The same on a device.
   *
   * @param which int32 [count] or null
   * @param states int64
   * @param parents int64 [count] or null
   * @param tokens int32 [count]
   * @param out gets int64 [count]
   * @param stream a cudaStream_t as a number
   */
  public void advance(DevicePointer which, DevicePointer states, DevicePointer parents, DevicePointer tokens,
      DevicePointer out, long stream) {
    onDevice();
    advance((Object) which, states, parents, tokens, Buffers.given(tokens, "tokens").count(), out, stream);
  }

  private void advance(Object which, Object states, Object parents, Object tokens, long count, Object out,
      long stream) {
    try {
      Native.flat_constraint_set_advance(handle, which, states, parents, tokens, count, out, stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Sets every column that is not a valid code of its row's state to -inf, in place.
   *
   * @param which [rows] or null
   * @param states [rows]
   * @param logits [rows, columns], slots 0; of a buffer that may be written to
   */
  public void mask(IntBuffer which, LongBuffer states, Rows logits) {
    mask((Object) Buffers.in(which, "which"), Buffers.in(states, "states"), logits, 0);
  }

  /**
   * The same on a device.
   *
   * @param which int32 [rows] or null
   * @param states int64 [rows]
   * @param logits [rows, columns], slots 0
   * @param stream a cudaStream_t as a number
   */
  public void mask(DevicePointer which, DevicePointer states, Rows logits, long stream) {
    onDevice();
    mask((Object) which, states, logits, stream);
  }

  private void mask(Object which, Object states, Rows logits, long stream) {
    if (logits.readOnly) {
      throw SidbeamException.invalid("logits is read-only, expected a buffer to write to");
    }
    flat(logits);
    try {
      Native.flat_constraint_set_mask(handle, which, states, logits.memory, logits.elements, logits.dtype, logits.deviceType,
          logits.deviceId, logits.rows, logits.columns, logits.rowStride, stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /** On the CPU an address of a device's would be read as the host's. */
  private void onDevice() {
    if (deviceType == Native.SIDBEAM_DEVICE_CPU) {
      throw SidbeamException.invalid("the table is on the CPU, expected buffers in place of device pointers");
    }
  }

  private static void flat(Rows logits) {
    if (logits.slots != 0) {
      throw SidbeamException.invalid("logits has " + logits.slots + " slots, expected 0: [rows, columns]");
    }
  }

  /**
   * The same as bits: column c of row i is bit c % 32 of words[i * wordsPerRow + c / 32], 1 where valid.
   *
   * @param which [count] or null
   * @param states [count]
   * @param words gets [count, wordsPerRow]
   * @param wordsPerRow 32 times that covers the columns of every level of every catalogue
   */
  public void bitmask(IntBuffer which, LongBuffer states, IntBuffer words, long wordsPerRow) {
    bitmask((Object) Buffers.in(which, "which"), Buffers.in(states, "states"),
        Buffers.given(states, "states").remaining(), Buffers.out(words, "words"), wordsPerRow, 0);
  }

  /**
   * The same on a device.
   *
   * @param which int32 [count] or null
   * @param states int64 [count]
   * @param words gets int32 [count, wordsPerRow]
   * @param wordsPerRow 32 times that covers the columns of every level of every catalogue
   * @param stream a cudaStream_t as a number
   */
  public void bitmask(DevicePointer which, DevicePointer states, DevicePointer words, long wordsPerRow, long stream) {
    onDevice();
    bitmask((Object) which, states, Buffers.given(states, "states").count(), words, wordsPerRow, stream);
  }

  private void bitmask(Object which, Object states, long count, Object words, long wordsPerRow, long stream) {
    try {
      Native.flat_constraint_set_bitmask(handle, which, states, count, words, wordsPerRow, stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * The k best valid codes of each row, log-probability falling, then token rising. Places left over: token -1, -inf,
   * -1. A bad row (NaN or +inf) has none, and log-probability NaN in its first place.
   *
   * @param which [rows] or null
   * @param states [rows]
   * @param logits [rows, columns], slots 0
   * @param normalization what rows are turned into
   * @param k 1 .. 2^20
   * @param tokens gets [rows, k]
   * @param logProbs gets [rows, k]
   * @param next gets the state after each, [rows, k]; may be null
   */
  public void topK(IntBuffer which, LongBuffer states, Rows logits, Normalization normalization, int k,
      IntBuffer tokens,
      FloatBuffer logProbs, LongBuffer next) {
    topK((Object) Buffers.in(which, "which"), Buffers.in(states, "states"), logits, normalization, k,
        Buffers.out(tokens, "tokens"), Buffers.out(logProbs, "logProbs"), Buffers.out(next, "next"), 0);
  }

  /**
   * The same on a device.
   *
   * @param which int32 [rows] or null
   * @param states int64 [rows]
   * @param logits [rows, columns], slots 0
   * @param normalization what rows are turned into
   * @param k 1 .. 2^20
   * @param tokens gets int32 [rows, k]
   * @param logProbs gets float [rows, k]
   * @param next gets int64 [rows, k]; may be null
   * @param stream a cudaStream_t as a number
   */
  public void topK(DevicePointer which, DevicePointer states, Rows logits, Normalization normalization, int k,
      DevicePointer tokens, DevicePointer logProbs, DevicePointer next, long stream) {
    onDevice();
    topK((Object) which, states, logits, normalization, k, tokens, logProbs, next, stream);
  }

  private void topK(Object which, Object states, Rows logits, Normalization normalization, int k, Object tokens,
      Object logProbs, Object next, long stream) {
    flat(logits);
    try {
      Native.flat_constraint_set_topk(handle, which, states, logits.memory, logits.elements, logits.dtype, logits.deviceType,
          logits.deviceId, logits.rows, logits.columns, logits.rowStride, normalization.code, k, tokens, logProbs, next,
          stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }
}
