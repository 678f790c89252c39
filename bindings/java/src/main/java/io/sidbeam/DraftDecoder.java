// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;

/**
 * Beam search through a draft head: from the hidden states of the prompt and of L placeholders, all levels of many
 * requests in one call. One thread at a time, any thread: a second one gets {@link Status#BAD_STATE}, but
 * {@link #close} is allowed at any time. On CUDA it is closed when its work has ended, and products are rounded to the
 * type of the weights.
 */
public final class DraftDecoder extends NativeObject {
  private final int deviceType;
  private final int requests;
  private final int beams;
  private final int levels;

  /**
   * Makes a decoder and all its memory. It holds the head and the index, which may be closed before it. Fails with
   * {@link Status#INVALID_ARGUMENT} (another number of levels or codes, another codebook: the message says which),
   * {@link Status#MISSING_SECTION} (the index was built without what the verification needs),
   * {@link Status#UNSUPPORTED} (SIDs of variable length) or {@link Status#NO_DEVICE}.
   *
   * @param config read, not kept
   */
  public DraftDecoder(DraftConfig config) {
    super(create(Buffers.given(config, "config")));
    deviceType = config.deviceType;
    requests = config.requests == 0 ? 1 : config.requests;
    beams = config.beams;
    levels = config.head.info().levels();
  }

  private static long create(DraftConfig config) {
    Runtime runtime = Runtime.orDefault(config.runtime);
    try {
      return Native.flat_draft_decoder_create(runtime.handle, config.head.handle, config.index.handle, config.requests,
          config.beams, config.verification.code, config.normalization.code, config.topK, config.maxListed,
          config.deviceType, config.deviceId);
    } finally {
      Reference.reachabilityFence(runtime);
      Reference.reachabilityFence(config.head);
      Reference.reachabilityFence(config.index);
    }
  }

  /**
   * Decodes requests under all of the decoder's index, with all beams.
   *
   * @param hidden [requests, L + 1, D]: h_0, then a state per placeholder, of any type
   * @return new arrays
   */
  public Drafts run(Rows hidden) {
    return run(hidden, null, null);
  }

  /**
   * Decodes requests. Fails with {@link Status#INVALID_ARGUMENT} (hidden states of another shape, more requests than
   * the decoder has, a width, a constraint of another shape or codebook), {@link Status#NO_DEVICE} (hidden states of
   * another device), {@link Status#BAD_STATE} (a decoder on CUDA, whose drafts are there) and others; the decoder can
   * be used as before.
   *
   * @param hidden [requests, L + 1, D]: h_0, then a state per placeholder, of any type
   * @param constraints [requests], an entry null: the decoder's index; null: that for all
   * @param widths [requests] beams, 1 .. M, or 0 for M; null: M; or [requests, W] per level, as in {@link
   *     Start#widths(java.nio.IntBuffer, int)}
   * @return new arrays
   */
  public Drafts run(Rows hidden, Constrainer[] constraints, int[] widths) {
    if (deviceType != Native.SIDBEAM_DEVICE_CPU) {
      throw new SidbeamException(Status.BAD_STATE, "the decoder's drafts are on a device: runOn()");
    }
    Rows rows = Buffers.given(hidden, "hidden");
    Constraint[] held = Constraint.of(constraints);
    if (rows.slots < 1 || rows.slots > requests) {
      throw SidbeamException.invalid("the number of slots of hidden is " + rows.slots + ", expected 1.." + requests);
    }
    int count = (int) rows.slots;
    int all = Math.multiplyExact(count, beams);
    Drafts drafts = new Drafts(beams, levels, new int[count], new int[count],
        new int[Math.multiplyExact(all, levels)], new float[all], new long[all]);
    try {
      Native.flat_draft_decoder_run(handle, rows.memory, rows.elements, rows.dtype, rows.deviceType, rows.deviceId,
          rows.slots, rows.rows, rows.columns, rows.slotStride, rows.rowStride, Constraint.handles(held), widths,
          widthLevels(widths, rows.slots), drafts.live(), drafts.errors(), drafts.sids(), drafts.scores(),
          drafts.ordinals());
    } finally {
      Reference.reachabilityFence(held);
      Reference.reachabilityFence(this);
    }
    return drafts;
  }

  /**
   * Enqueues a run of a decoder on CUDA, and does not wait for it. Fails as {@link #run(Rows, Constrainer[], int[])}
   * does, and with {@link Status#UNSUPPORTED} (a decoder on the CPU), {@link Status#BAD_STATE} (an index that is
   * not on the device, a stream that is being captured) or {@link Status#DEVICE_ERROR}.
   *
   * @param hidden [requests, L + 1, D], of {@link Rows#device}
   * @param constraints [requests], an entry null: the decoder's index; null: that for all
   * @param widths [requests] beams, 1 .. M, or 0 for M; null: M; or [requests, W] per level, as in {@link
   *     Start#widths(java.nio.IntBuffer, int)}
   * @param stream a cudaStream_t as a number
   * @return always the same addresses, to be read in the order of the stream
   */
  public DeviceDrafts runOn(Rows hidden, Constrainer[] constraints, int[] widths, long stream) {
    return enqueue(Native.FLAT_DRAFT_RUN, hidden, constraints, widths, stream);
  }

  /**
   * The first half of {@link #runOn}, for CUDA graphs, which hold the second alone: starts as many requests as there
   * are hidden states, which it does not read, and holds the constraints until the next start.
   *
   * @param hidden as above
   * @param constraints as above
   * @param widths as above
   * @param stream as above
   */
  public void startOn(Rows hidden, Constrainer[] constraints, int[] widths, long stream) {
    enqueue(Native.FLAT_DRAFT_START, hidden, constraints, widths, stream);
  }

  /**
   * The second half: decodes the requests that were started. It may be captured, after a run of as many requests;
   * sidbeam/draft.h says what a graph fixes.
   *
   * @param hidden as above
   * @param stream as above
   * @return as above
   */
  public DeviceDrafts decodeOn(Rows hidden, long stream) {
    return enqueue(Native.FLAT_DRAFT_DECODE, hidden, null, null, stream);
  }

  /** W of [requests, W], and 0 of [requests]. */
  private static int widthLevels(int[] widths, long requests) {
    boolean several = widths != null && requests > 0 && widths.length > requests;
    return several && widths.length % requests == 0 ? (int) (widths.length / requests) : 0;
  }

  /** What a half of a run gives, or both; a start gives null. */
  private DeviceDrafts enqueue(int what, Rows hidden, Constrainer[] constraints, int[] widths, long stream) {
    Rows rows = Buffers.given(hidden, "hidden");
    Constraint[] held = Constraint.of(constraints);
    long[] places = new long[Native.FLAT_DRAFTS_COUNT];
    try {
      Native.flat_draft_decoder_enqueue(handle, what, rows.memory, rows.elements, rows.dtype, rows.deviceType,
          rows.deviceId, rows.slots, rows.rows, rows.columns, rows.slotStride, rows.rowStride,
          Constraint.handles(held), widths, widthLevels(widths, rows.slots), stream, places);
    } finally {
      Reference.reachabilityFence(held);
      Reference.reachabilityFence(this);
    }
    return what == Native.FLAT_DRAFT_START ? null : DeviceDrafts.of(this, places, rows.slots, beams, levels);
  }
}
