// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How a session finds the codes that may follow a beam. */
public enum Strategy {
  /** Exact, and the fastest. Needs {@link Kind#TRIE}. */
  TRIE(Native.SIDBEAM_STRATEGY_TRIE),
  /** Exact, by binary search in the sorted columns. Needs {@link Kind#SORTED}. */
  SORTED(Native.SIDBEAM_STRATEGY_SORTED),
  /** Approximate: only the top_k best codes of a beam are looked up. Needs {@link Kind#SORTED}. */
  SORTED_TOPK(Native.SIDBEAM_STRATEGY_SORTED_TOPK),
  /** Unconstrained until the last level; there each beam's top_k best codes are looked up, so fewer may live. Fixed
   * length only. Needs {@link Kind#HASH}. */
  HASH_FINAL(Native.SIDBEAM_STRATEGY_HASH_FINAL),
  /** Unconstrained, the baseline: SIDs that do not exist have ordinal -1. Fixed length only. */
  NONE(Native.SIDBEAM_STRATEGY_NONE);

  final int code;

  Strategy(int code) {
    this.code = code;
  }
}
