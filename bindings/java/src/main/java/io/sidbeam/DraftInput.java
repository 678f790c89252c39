// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What the linear head of a level of a {@link DraftHead} multiplies. */
public enum DraftInput {
  /** [h_l ; s_l]. */
  BOTH(Native.SIDBEAM_DRAFT_INPUT_BOTH),
  /** h_l: no state, and so no transition. */
  HIDDEN(Native.SIDBEAM_DRAFT_INPUT_HIDDEN),
  /** s_l: no placeholders. */
  STATE(Native.SIDBEAM_DRAFT_INPUT_STATE);

  final int code;

  DraftInput(int code) {
    this.code = code;
  }

  static DraftInput of(long code) {
    return values()[(int) code];
  }
}
