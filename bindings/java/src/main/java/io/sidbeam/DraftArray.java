// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * The arrays of a level of {@link DraftWeights}, dense, rows in PyTorch's order. V: the level's codes, D: hidden, E:
 * embedding, I: 2 D with {@link DraftInput#BOTH} (the columns of h_l first), else D; G: 3 D with
 * {@link DraftTransition#GRU}, else D. All but the first two are of every level except the last.
 */
public enum DraftArray {
  /** [V, I], needed. */
  HEAD_WEIGHT,
  /** [V]; none: 0. */
  HEAD_BIAS,
  /** [V, E], needed except with {@link DraftTransition#NONE}. */
  EMBEDDING,
  /** W_i [G, E], needed with RNN and GRU. */
  INPUT_WEIGHT,
  /** b_i [G]; none: 0. */
  INPUT_BIAS,
  /** W_r [G, D], needed with RNN and GRU. */
  RECURRENT_WEIGHT,
  /** b_r [G]; none: 0. */
  RECURRENT_BIAS
}
