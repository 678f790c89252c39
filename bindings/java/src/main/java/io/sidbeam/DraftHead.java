// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.nio.file.Path;

/**
 * The weights of NEZHA's draft head, which writes SIDs from the hidden states of one prefill, with no further pass of
 * the model: see {@link DraftDecoder}. Immutable; any number of decoders and threads may share it. Decoders hold what
 * they need of it, so it may be closed before them.
 */
public final class DraftHead extends NativeObject {
  private DraftHead(long handle) {
    super(handle);
  }

  /**
   * Opens a file and checks all of it; the file is not needed afterwards. Fails with {@link Status#IO_ERROR},
   * {@link Status#CORRUPT} or {@link Status#UNSUPPORTED} (a newer format, or no libsidbeam_runner.so.1).
   *
   * @param file as {@link #write} makes it, or sidbeam.draft.write of the Python package
   * @return to be closed by the caller
   */
  public static DraftHead open(Path file) {
    byte[] name = Text.in(file);
    NativeLibrary.loadRunner();
    return new DraftHead(Native.flat_draft_head_open(name));
  }

  /**
   * Writes a file, which appears whole or not at all. The same weights give the same bytes. Fails with
   * {@link Status#INVALID_ARGUMENT} (the message names what is missing or wrong) or {@link Status#IO_ERROR}.
   *
   * @param file to be written or replaced
   * @param weights read, not kept
   */
  public static void write(Path file, DraftWeights weights) {
    byte[] name = Text.in(file);
    DraftWeights w = Buffers.given(weights, "weights");
    NativeLibrary.loadRunner();
    long[] shape = {w.codes.length, w.hidden, w.embedding, w.input.code, w.transition.code, w.dtype.code};
    Native.flat_draft_head_write(name, shape, w.codes, w.bytes(), w.offsets, Text.in(w.codebook, "codebook"),
        w.allowAttributeLoss ? 1 : 0);
  }

  /**
   * What the head is.
   *
   * @return a snapshot
   */
  public DraftInfo info() {
    long[] numbers = new long[Native.FLAT_DRAFT_COUNT];
    int[] codes = new int[Native.SIDBEAM_MAX_LEVELS];
    try {
      long bytes = Native.flat_draft_head_get_info(handle, numbers, codes, null);
      byte[] codebook = new byte[Math.toIntExact(bytes)];
      Native.flat_draft_head_get_info(handle, numbers, codes, codebook);
      return DraftInfo.of(numbers, codes, codebook);
    } finally {
      Reference.reachabilityFence(this);
    }
  }
}
