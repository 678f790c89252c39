// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How logits rows become log-probabilities; score = parent's score + log-probability, in f32. */
public enum Normalization {
  /** Log-softmax over all columns of the logits row, then restricted to valid codes. */
  FULL(Native.SIDBEAM_NORMALIZE_FULL),
  /** Log-softmax over the columns of the level's codes, and the end's where lengths vary. */
  LEVEL(Native.SIDBEAM_NORMALIZE_LEVEL),
  /** Log-softmax over the valid codes of the beam. */
  VALID(Native.SIDBEAM_NORMALIZE_VALID),
  /** Rows are log-probabilities already. */
  NONE(Native.SIDBEAM_NORMALIZE_NONE);

  final int code;

  Normalization(int code) {
    this.code = code;
  }
}
