// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;

/**
 * Stateless forms, for engines that own the beam loop and keep one state per sequence. A state is a word: -1 is dead, 0
 * the beginning. It means something only with the constraint that made it; any other value is safe, and dead. Each
 * entry of a call names its constraint in `which`, by the place in the set; null: all follow the first. Any threads may
 * use a set at once.
 *
 * <p>Buffers are direct, in the machine's order, and are used from position to limit. On a set of a device
 * ({@link ConstraintSetConfig#cuda}) arrays are {@link DevicePointer}s, and work is enqueued on `stream` without
 * waiting. After a failure nothing has been written.
 */
public final class ConstraintSet extends NativeObject {
  private final int deviceType;

  /**
   * Makes a set. Fails with {@link Status#MISSING_SECTION} where an index has no trie.
   *
   * @param config read, not kept
   */
  public ConstraintSet(ConstraintSetConfig config) {
    super(create(Buffers.given(config, "config")));
    deviceType = config.deviceType;
  }

  private static long create(ConstraintSetConfig config) {
    Runtime runtime = Runtime.orDefault(config.runtime);
    Constraint[] constraints = new Constraint[config.constraints.length];
    long[] handles = new long[constraints.length];
    for (int i = 0; i < handles.length; i++) {
      constraints[i] = Constraint.of(Buffers.given(config.constraints[i], "a constraint"));
      handles[i] = constraints[i].handle;
    }
    Vocabulary v = config.vocabulary;
    try {
      return Native.flat_constraint_set_create(runtime.handle, handles, v.offsets, v.maps, v.mapCodes, v.endColumn,
          config.deviceType, config.deviceId);
    } finally {
      Reference.reachabilityFence(runtime);
      Reference.reachabilityFence(constraints);
      Reference.reachabilityFence(config.constraints);
      Log.drain();
    }
  }

  /**
   * State of each of many prefixes.
   *
   * @param which [count] or null
   * @param codes [count, stride]
   * @param stride elements from prefix to prefix; 0: the most levels of any constraint; {@link Rows#BROADCAST}: one
   *     prefix for all
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
   * @param stride elements from prefix to prefix; 0: the most levels of any constraint; {@link Rows#BROADCAST}: one
   *     prefix for all
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
   * The states after one more code each.
   *
   * @param which [count] or null
   * @param states those to continue from
   * @param parents [count] places in states; null: state i is followed by code i
   * @param codes [count]; -1 keeps an ended state
   * @param out gets [count]; -1 where the code may not follow. May be states itself unless there are parents
   */
  public void advance(IntBuffer which, LongBuffer states, IntBuffer parents, IntBuffer codes, LongBuffer out) {
    advance((Object) Buffers.in(which, "which"), Buffers.in(states, "states"), Buffers.in(parents, "parents"),
        Buffers.in(codes, "codes"), Buffers.given(codes, "codes").remaining(), Buffers.out(out, "out"), 0);
  }

  /**
   * The same on a device.
   *
   * @param which int32 [count] or null
   * @param states int64
   * @param parents int32 [count] or null
   * @param codes int32 [count]
   * @param out gets int64 [count]
   * @param stream a cudaStream_t as a number
   */
  public void advance(DevicePointer which, DevicePointer states, DevicePointer parents, DevicePointer codes,
      DevicePointer out, long stream) {
    onDevice();
    advance((Object) which, states, parents, codes, Buffers.given(codes, "codes").count(), out, stream);
  }

  private void advance(Object which, Object states, Object parents, Object codes, long count, Object out,
      long stream) {
    try {
      Native.flat_constraint_set_advance(handle, which, states, parents, codes, count, out, stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Sets every column that is not a valid code of its logits row's state to -inf, in place.
   *
   * @param which [rows] or null
   * @param states [rows]
   * @param logits [rows, columns], slots 0; in a writable buffer
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
      Native.flat_constraint_set_mask(handle, which, states, logits.memory, logits.elements, logits.dtype,
          logits.deviceType,
          logits.deviceId, logits.rows, logits.columns, logits.rowStride, stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /** On the CPU, a device's address would be read as the host's. */
  private void onDevice() {
    if (deviceType == Native.SIDBEAM_DEVICE_CPU) {
      throw SidbeamException.invalid("the constraint set is on the CPU, expected buffers in place of device pointers");
    }
  }

  private static void flat(Rows logits) {
    if (logits.slots != 0) {
      throw SidbeamException.invalid("logits has " + logits.slots + " slots, expected 0: [rows, columns]");
    }
  }

  /**
   * The same as bits: column c of entry i is bit c % 32 of words[i * wordsPerRow + c / 32], 1 where valid.
   *
   * @param which [count] or null
   * @param states [count]
   * @param wordsPerRow 32 times this covers the columns of every level of every constraint
   * @param words gets [count, wordsPerRow]
   */
  public void bitmask(IntBuffer which, LongBuffer states, long wordsPerRow, IntBuffer words) {
    bitmask((Object) Buffers.in(which, "which"), Buffers.in(states, "states"),
        Buffers.given(states, "states").remaining(), wordsPerRow, Buffers.out(words, "words"), 0);
  }

  /**
   * The same on a device.
   *
   * @param which int32 [count] or null
   * @param states int64 [count]
   * @param wordsPerRow 32 times this covers the columns of every level of every constraint
   * @param words gets int32 [count, wordsPerRow]
   * @param stream a cudaStream_t as a number
   */
  public void bitmask(DevicePointer which, DevicePointer states, long wordsPerRow, DevicePointer words, long stream) {
    onDevice();
    bitmask((Object) which, states, Buffers.given(states, "states").count(), wordsPerRow, words, stream);
  }

  private void bitmask(Object which, Object states, long count, long wordsPerRow, Object words, long stream) {
    try {
      Native.flat_constraint_set_bitmask(handle, which, states, count, wordsPerRow, words, stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * The k best valid codes of each logits row, log-probability falling, then code rising. Places left over: code -1,
   * -inf, -1. A bad row (NaN or +inf) has none, and log-probability NaN in its first place.
   *
   * @param which [rows] or null
   * @param states [rows]
   * @param logits [rows, columns], slots 0
   * @param normalization how logits rows become log-probabilities
   * @param k 1 .. 2^24
   * @param codes gets [rows, k]
   * @param logProbs gets [rows, k]
   * @param next gets the state after each, [rows, k]; may be null
   */
  public void topK(IntBuffer which, LongBuffer states, Rows logits, Normalization normalization, int k,
      IntBuffer codes,
      FloatBuffer logProbs, LongBuffer next) {
    topK((Object) Buffers.in(which, "which"), Buffers.in(states, "states"), logits, normalization, k,
        Buffers.out(codes, "codes"), Buffers.out(logProbs, "logProbs"), Buffers.out(next, "next"), 0);
  }

  /**
   * The same on a device.
   *
   * @param which int32 [rows] or null
   * @param states int64 [rows]
   * @param logits [rows, columns], slots 0
   * @param normalization how logits rows become log-probabilities
   * @param k 1 .. 2^24
   * @param codes gets int32 [rows, k]
   * @param logProbs gets float [rows, k]
   * @param next gets int64 [rows, k]; may be null
   * @param stream a cudaStream_t as a number
   */
  public void topK(DevicePointer which, DevicePointer states, Rows logits, Normalization normalization, int k,
      DevicePointer codes, DevicePointer logProbs, DevicePointer next, long stream) {
    onDevice();
    topK((Object) which, states, logits, normalization, k, codes, logProbs, next, stream);
  }

  private void topK(Object which, Object states, Rows logits, Normalization normalization, int k, Object codes,
      Object logProbs, Object next, long stream) {
    flat(logits);
    try {
      Native.flat_constraint_set_topk(handle, which, states, logits.memory, logits.elements, logits.dtype,
          logits.deviceType,
          logits.deviceId, logits.rows, logits.columns, logits.rowStride, normalization.code, k, codes, logProbs, next,
          stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Draws one code for each logits row, as a session of {@link Mode#SAMPLE} does for the level of the row's state: the
   * same code from the same row, seed, request and draw.
   *
   * @param which [rows] or null
   * @param states [rows]
   * @param logits [rows, columns], slots 0
   * @param normalization what P is normalized over
   * @param inverseTemperatures [rows], 0 for 1; null: 1
   * @param sampling of [rows]
   * @param out gets [rows]
   */
  public void sample(IntBuffer which, LongBuffer states, Rows logits, Normalization normalization,
      FloatBuffer inverseTemperatures, Sampling sampling, Sampled out) {
    sample((Object) Buffers.in(which, "which"), Buffers.in(states, "states"), logits, normalization,
        Buffers.in(inverseTemperatures, "inverseTemperatures"), sampling, out, 0);
  }

  /**
   * The same on a device.
   *
   * @param which int32 [rows] or null
   * @param states int64 [rows]
   * @param logits [rows, columns], slots 0
   * @param normalization what P is normalized over
   * @param inverseTemperatures float [rows], 0 for 1; null: 1
   * @param sampling of [rows], in the device's memory
   * @param out gets [rows]
   * @param stream a cudaStream_t as a number
   */
  public void sample(DevicePointer which, DevicePointer states, Rows logits, Normalization normalization,
      DevicePointer inverseTemperatures, Sampling sampling, Sampled out, long stream) {
    onDevice();
    sample((Object) which, states, logits, normalization, inverseTemperatures, sampling, out, stream);
  }

  private void sample(Object which, Object states, Rows logits, Normalization normalization,
      Object inverseTemperatures, Sampling sampling, Sampled out, long stream) {
    flat(logits);
    sampling.check(deviceType);
    out.check(deviceType);
    if (sampling.drawStride > 1 || sampling.noiseScales != null) {
      throw SidbeamException.invalid("sampling has strided draws or noise scales, expected one draw per logits row");
    }
    try {
      Native.flat_constraint_set_sample(handle, which, states, logits.memory, logits.elements, logits.dtype,
          logits.deviceType, logits.deviceId, logits.rows, logits.columns, logits.rowStride, normalization.code,
          inverseTemperatures, sampling.seeds, sampling.requests, sampling.draws, sampling.topKs, sampling.topPs,
          out.codes, out.logProbs, out.logMasses, out.next, stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }
}
