// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How the embedding of the chosen code changes the state of a {@link DraftHead}. */
public enum DraftTransition {
  /** PyTorch's RNNCell, with tanh. */
  RNN(Native.SIDBEAM_DRAFT_TRANSITION_RNN),
  /** PyTorch's GRUCell; its rows are those of the gates reset, update, new. */
  GRU(Native.SIDBEAM_DRAFT_TRANSITION_GRU),
  /** The embedding is added. */
  ADD(Native.SIDBEAM_DRAFT_TRANSITION_ADD),
  /** The state stays h_0. */
  NONE(Native.SIDBEAM_DRAFT_TRANSITION_NONE);

  final int code;

  DraftTransition(int code) {
    this.code = code;
  }

  static DraftTransition of(long code) {
    return values()[(int) code];
  }
}
