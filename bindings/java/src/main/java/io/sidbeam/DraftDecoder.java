// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;

/**
 * Beam search through a draft head: from the hidden states of the prompt and of L placeholders, all levels of many
 * requests in one call, on the CPU. One thread at a time, any thread: a second one gets {@link Status#BAD_STATE}, but
 * {@link #close} is allowed at any time.
 */
public final class DraftDecoder extends NativeObject {
  private final int beams;
  private final int levels;

  /**
   * Makes a decoder and all its memory. It holds the head and the index, which may be closed before it. Fails with
   * {@link Status#INVALID_ARGUMENT} (another number of levels or codes, another codebook: the message says which),
   * {@link Status#MISSING_SECTION} (the index was built without what the verification needs) or
   * {@link Status#UNSUPPORTED} (SIDs of variable length).
   *
   * @param config read, not kept
   */
  public DraftDecoder(DraftConfig config) {
    super(create(Buffers.given(config, "config")));
    beams = config.beams;
    levels = config.head.info().levels();
  }

  private static long create(DraftConfig config) {
    Runtime runtime = Runtime.orDefault(config.runtime);
    try {
      return Native.flat_draft_decoder_create(runtime.handle, config.head.handle, config.index.handle, config.requests,
          config.beams, config.verification.code, config.normalization.code, config.topK);
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
   * the decoder has, a width, a constraint of another shape or codebook) and others; the decoder can be used as before.
   *
   * @param hidden [requests, L + 1, D]: h_0, then a state per placeholder, of any type
   * @param catalogues [requests], an entry null: the decoder's index; null: that for all
   * @param widths [requests] beams, 1 .. M, or 0 for M; null: M
   * @return new arrays
   */
  public Drafts run(Rows hidden, Catalogue[] catalogues, int[] widths) {
    Rows rows = Buffers.given(hidden, "hidden");
    Constraint[] constraints = Constraint.of(catalogues);
    int requests = Math.toIntExact(rows.slots);
    int all = Math.multiplyExact(requests, beams);
    Drafts drafts = new Drafts(beams, levels, new int[requests], new int[requests],
        new int[Math.multiplyExact(all, levels)], new float[all], new long[all]);
    try {
      Native.flat_draft_decoder_run(handle, rows.memory, rows.elements, rows.dtype, rows.deviceType, rows.deviceId,
          rows.slots, rows.rows, rows.columns, rows.slotStride, rows.rowStride, Constraint.handles(constraints), widths,
          drafts.live(), drafts.errors(), drafts.sids(), drafts.scores(), drafts.ordinals());
    } finally {
      Reference.reachabilityFence(constraints);
      Reference.reachabilityFence(this);
    }
    return drafts;
  }
}
