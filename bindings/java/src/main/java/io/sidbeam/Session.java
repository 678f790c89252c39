// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.nio.IntBuffer;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The decoder session: slots x beams, one level per step.
 *
 * <pre>
 * start slots -&gt; [ the model's logits -&gt; step -&gt; parents, codes, scores ] per level -&gt; items -&gt; stop or
 * start
 * </pre>
 *
 * <p>A slot holds a request. Each has its own level, so that requests join and leave a running batch. Creation takes
 * all memory: a step never allocates, never copies logits, and reads only logits rows of beams that are alive and not
 * ended. It keeps the best of all (beam, code that may follow it), by score falling, then parent rising, then code
 * rising; places left over are dead. One thread at a time, any thread: a second one gets {@link Status#BAD_STATE}.
 * {@link #close} is allowed at any time; memory is given back when the running call has returned and the last view
 * ({@link Beams}) is collected.
 *
 * <p>On CUDA ({@link SessionConfig#cuda}) work is enqueued on the caller's stream and nothing waits for it; logits and
 * the arrays of a {@link Step} are then in the device's memory, see sidbeam/session.h.
 */
public final class Session extends NativeObject {
  final int deviceType;
  private final int slots;
  private final int beams;
  private final int levels;
  private volatile Beams views;

  /**
   * Makes a session and all its memory. It holds the constraint, which may be closed before it. Fails with
   * {@link Status#MISSING_SECTION} where the strategy needs a kind that the index was built without.
   *
   * @param config read, not kept
   */
  public Session(SessionConfig config) {
    super(create(Buffers.given(config, "config")));
    deviceType = config.deviceType;
    long[] shape = layout();
    slots = (int) shape[Native.FLAT_BEAMS_SLOTS];
    beams = (int) shape[Native.FLAT_BEAMS_BEAMS];
    levels = (int) shape[Native.FLAT_BEAMS_LEVELS];
  }

  private static long create(SessionConfig config) {
    Runtime runtime = Runtime.orDefault(config.runtime);
    Constraint constraint = Constraint.of(config.constraint);
    Vocabulary v = config.vocabulary;
    try {
      return Native.flat_session_create(runtime.handle, constraint.handle, config.slots, config.beams,
          config.strategy.code, config.normalization.code, config.topK, v.offsets, v.maps, v.mapCodes, v.endColumn,
          config.deviceType, config.deviceId, config.logProbsPromised ? 1 : 0, config.mode.code, config.maxListed);
    } finally {
      Reference.reachabilityFence(runtime);
      Reference.reachabilityFence(constraint);
      Reference.reachabilityFence(config.constraint);
      Log.drain();
    }
  }

  /**
   * Requests at a time.
   *
   * @return S
   */
  public int slots() {
    return slots;
  }

  /**
   * Beams of a request.
   *
   * @return M
   */
  public int width() {
    return beams;
  }

  /**
   * Codes of the longest SID.
   *
   * @return L
   */
  public int levels() {
    return levels;
  }

  /** Starts all slots, with all their beams and no prefix. */
  public void start() {
    start(new Start());
  }

  /**
   * Starts slots at their prefix: one live beam of score 0, or none where no SID has that prefix. Running ones are
   * restarted. After a failure no slot has changed.
   *
   * @param start which slots, and how
   */
  public void start(Start start) {
    Constraint[] constraints = Constraint.of(start.constraints);
    long[] handles = Constraint.handles(constraints);
    Sampling sampling = start.sampling;
    sampling.check(deviceType);
    try {
      Native.flat_session_start(handle, start.slots, start.slots == null ? 0 : start.slots.remaining(), handles,
          start.widths, start.widthLevels, start.prefixes, start.prefixLengths,
          start.prefixStride, start.inverseTemperatures, start.softCaps, start.stream,
          sampling.seeds, sampling.requests, sampling.draws, sampling.drawStride, sampling.topKs, sampling.topPs,
          sampling.noiseScales);
    } finally {
      Reference.reachabilityFence(constraints);
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Advances slots by one level. Allocates nothing. Fails with {@link Status#INVALID_ARGUMENT} or {@link
   * Status#BAD_STATE} (a slot that is idle or done or, if no slots are named, no slot that is left to step); then no
   * slot has changed.
   *
   * @param step logits and which slots
   */
  public void step(Step step) {
    Rows rows = step.rows;
    DevicePointer.check(deviceType, step.slots, "slots");
    DevicePointer.check(deviceType, step.rowMap, "rowMap");
    DevicePointer.check(deviceType, step.lse, "lse");
    DevicePointer.check(deviceType, step.inverseTemperatures, "inverseTemperatures");
    DevicePointer.check(deviceType, step.softCaps, "softCaps");
    try {
      Native.flat_session_step(handle, step.slots, rows.memory, rows.elements, rows.dtype, rows.deviceType,
          rows.deviceId, rows.slots, rows.rows, rows.columns, rows.slotStride, rows.rowStride, step.rowMap, step.lse,
          step.inverseTemperature, step.softCap, step.inverseTemperatures, step.softCaps, step.stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Advances all slots that are running by one level.
   *
   * @param rows logits [slots, rows, columns]
   */
  public void step(Rows rows) {
    step(new Step(rows));
  }

  /**
   * Which columns of its logits row the next step reads of each beam, for hosts that compute no others. Beams that are
   * dead, ended, or of a slot that is idle or done have none. Fails with {@link Status#UNSUPPORTED} where a step reads
   * more: {@link Normalization#FULL} or LEVEL without lse, another strategy than {@link Strategy#TRIE}, a mode that
   * samples, a session on CUDA.
   *
   * @param slots different ones; null: all
   * @param lseGiven whether that step will bring {@link Step#lse}
   * @return new arrays
   */
  public ChildColumns children(int[] slots, boolean lseGiven) {
    try {
      int count = slots == null ? this.slots : slots.length;
      int lse = lseGiven ? 1 : 0;
      long[] offsets = new long[Math.addExact(Math.multiplyExact(count, beams), 1)];
      long found = Native.flat_session_children(handle, slots, count, lse, offsets, null);
      int[] columns = new int[Math.toIntExact(found)];
      Native.flat_session_children(handle, slots, count, lse, offsets, columns);
      return new ChildColumns(offsets, columns);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /** Where the arrays are: numbers by FLAT_BEAMS_*. */
  private long[] layout() {
    try {
      long[] numbers = new long[Native.FLAT_BEAMS_COUNT];
      Native.flat_session_get_beams(handle, numbers);
      return numbers;
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Views of the session's arrays, without a copy; contents change with start, step and stop. They stay readable after
   * the session is closed, which keeps its memory until they are collected.
   *
   * @return always the same, for a session on the CPU
   */
  public Beams beams() {
    if (deviceType != Native.SIDBEAM_DEVICE_CPU) {
      throw new SidbeamException(Status.BAD_STATE, "the session's beams are on a device: deviceBeams() or fetch()");
    }
    Beams beams = views;
    if (beams == null) {
      beams = new Beams(handle, layout());
      Reference.reachabilityFence(this);
      views = isClosed() ? null : beams;
    }
    return beams;
  }

  /**
   * The addresses of a session's arrays on its device. They are fixed; use them for the model's next forward pass.
   *
   * @return holds the session
   */
  public DeviceBeams deviceBeams() {
    if (deviceType == Native.SIDBEAM_DEVICE_CPU) {
      throw new SidbeamException(Status.BAD_STATE, "the session is on the CPU: beams()");
    }
    return new DeviceBeams(this, layout());
  }

  /**
   * Enqueues copies of a device's beams to pinned memory of the session. Read them once the stream has reached that
   * point. On the CPU the same as {@link #beams}.
   *
   * @param stream a cudaStream_t as a number
   * @return views of the pinned memory, always the same
   */
  public Beams fetch(long stream) {
    try {
      long[] numbers = new long[Native.FLAT_BEAMS_COUNT];
      Native.flat_session_fetch(handle, numbers, stream);
      if (deviceType == Native.SIDBEAM_DEVICE_CPU) {
        return beams();
      }
      if (views == null) {
        views = new Beams(handle, numbers);
      }
      return views;
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * What the beams of all slots stand for, at any level, without item rows.
   *
   * @return new buffers
   */
  public Items items() {
    Items items = new Items(this, slots, 0);
    items(items);
    return items;
  }

  /**
   * Fills buffers for all slots, or those that the buffers name, at any level.
   *
   * @param out made for a session of this shape
   */
  public void items(Items out) {
    out.fill(this, deviceType);
  }

  /** Makes all slots idle and releases their constraints. */
  public void stopAll() {
    try {
      Native.flat_session_stop(handle, null, 0, 0);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Makes slots idle and releases their constraints. Stopping an idle slot does nothing.
   *
   * @param slots different ones
   */
  public void stop(int... slots) {
    try {
      Native.flat_session_stop(handle, slots, slots.length, 0);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * The same, for a session on a device.
   *
   * @param slots direct, in the host's memory
   * @param stream a cudaStream_t as a number
   */
  public void stop(IntBuffer slots, long stream) {
    try {
      Native.flat_session_stop(handle, Buffers.in(Buffers.given(slots, "slots"), "slots"), slots.remaining(), stream);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Counts since the session was made; on CUDA it waits for the session's work.
   *
   * @return the current counts
   */
  public Stats stats() {
    try {
      long[] numbers = new long[Native.FLAT_STATS_COUNT];
      Native.flat_session_get_stats(handle, numbers);
      return Stats.of(numbers);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Internal counters by name, for tuning; they come and go with versions.
   *
   * @return the current counts
   */
  public Map<String, Long> counters() {
    try {
      long[] values = new long[Native.FLAT_COUNTERS];
      byte[] names = new byte[Native.FLAT_COUNTER_NAME_BYTES];
      long count = Native.flat_session_get_counters(handle, values, names);
      String[] texts = Text.out(names).split("\0");
      Map<String, Long> counters = new LinkedHashMap<>();
      for (int i = 0; i < count; i++) {
        counters.put(texts[i], values[i]);
      }
      return counters;
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /** Closes the session; see {@link Beams} for views that live on. */
  @Override
  public void close() {
    super.close();
    views = null;
  }
}
