// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;

/**
 * Steps a session from hidden states, for engines that have their own model: instead of logits the beams' last hidden
 * states are given, and once the weights of the output layer. Where a step reads the children's columns alone
 * ({@link Normalization#VALID}, or {@link Step#lse}), only their rows of weights are read.
 *
 * <pre>
 * HiddenStep hidden = new HiddenStep(session, new OutputLayer(Rows.dense(weights, 0, columns, width)));
 * hidden.step(new Step(Rows.dense(states, slots, beams, width)));  // instead of session.step
 * </pre>
 *
 * <p>It has the memory of the session's steps and is used by the thread that uses the session: a second one gets
 * {@link Status#BAD_STATE}. Closing it leaves the session as it is; it keeps the memory of a session that is closed
 * before it, which it then refuses to step. On CUDA it is closed when its work has ended.
 */
public final class HiddenStep extends NativeObject {
  private final Session session;
  private final OutputLayer layer;

  /**
   * The path that is expected to be fastest.
   *
   * @param session as below
   * @param layer as below
   */
  public HiddenStep(Session session, OutputLayer layer) {
    this(session, layer, HiddenPath.FASTEST, 0);
  }

  /**
   * Takes all memory: about that of one slot's logits, on CUDA of all slots'. Fails with
   * {@link Status#INVALID_ARGUMENT}, {@link Status#UNSUPPORTED} (a session on another device than the layer) or
   * {@link Status#NO_DEVICE}.
   *
   * @param session held
   * @param layer of the columns that the session's vocabulary has, on the session's device; held
   * @param path how logits are computed
   * @param children products of beam and child that are held at a time, 20 bytes each, on CUDA 4; 0: 2^22, or as many
   *     as there can be
   */
  public HiddenStep(Session session, OutputLayer layer, HiddenPath path, long children) {
    super(create(Buffers.given(session, "session"), Buffers.given(layer, "layer"), Buffers.given(path, "path"),
        children));
    this.session = session;
    this.layer = layer;
  }

  private static long create(Session session, OutputLayer layer, HiddenPath path, long children) {
    try {
      return Native.flat_hidden_create(session.handle, layer.handle, path.code, children);
    } finally {
      Reference.reachabilityFence(session);
      Reference.reachabilityFence(layer);
    }
  }

  /**
   * Advances slots of the session by one level; allocates nothing. Everything in {@link Step} means what it does there,
   * with hidden states, {@link DType#F32}, on CUDA of any type, in the place of logits; the soft-cap is the layer's.
   * Fails as {@link Session#step(Step)} does, and with {@link Status#INVALID_ARGUMENT} (hidden states of another width
   * or type, a child without a row of weights), {@link Status#NO_DEVICE} (hidden states on another device) or
   * {@link Status#UNSUPPORTED} ({@link HiddenPath#CHILDREN} where a step reads more); then no slot has changed, except
   * as sidbeam/hidden.h says.
   *
   * @param step hidden states [slots, rows, width], or [rows, width] with a row map
   */
  public void step(Step step) {
    step(step, HiddenPath.FASTEST);
  }

  /**
   * The same by a path of its own.
   *
   * @param step hidden states [slots, rows, width], or [rows, width] with a row map
   * @param path {@link HiddenPath#FASTEST}: the object's
   */
  public void step(Step step, HiddenPath path) {
    int way = Buffers.given(path, "path").code;
    Rows rows = step.rows;
    if (step.softCap != 0 || step.softCaps != null) {
      throw SidbeamException.invalid("softCap is given, expected none: that of the output layer counts");
    }
    DevicePointer.check(session.deviceType, step.slots, "slots");
    DevicePointer.check(session.deviceType, step.rowMap, "rowMap");
    DevicePointer.check(session.deviceType, step.lse, "lse");
    DevicePointer.check(session.deviceType, step.inverseTemperatures, "inverseTemperatures");
    try {
      Native.flat_hidden_step(handle, way, step.slots, rows.memory, rows.elements, rows.dtype, rows.deviceType,
          rows.deviceId, rows.slots, rows.rows, rows.columns, rows.slotStride, rows.rowStride, step.rowMap, step.lse,
          step.inverseTemperature, step.inverseTemperatures, step.stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * The session that it steps.
   *
   * @return as given
   */
  public Session session() {
    return session;
  }

  /**
   * The weights that it multiplies.
   *
   * @return as given
   */
  public OutputLayer layer() {
    return layer;
  }

  /**
   * Counts since it was made.
   *
   * @return the current counts
   */
  public HiddenStats stats() {
    try {
      long[] numbers = new long[Native.FLAT_HIDDEN_STATS_COUNT];
      float[] breakEven = new float[1];
      Native.flat_hidden_get_stats(handle, numbers, breakEven);
      return HiddenStats.of(numbers, breakEven[0]);
    } finally {
      Reference.reachabilityFence(this);
    }
  }
}
