// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What an index can hold. Each kind serves the strategies named. */
public enum Kind {
  /** Stacked CSR with dense masks where children are many: {@link Strategy#TRIE}, {@link ConstraintSet}. */
  TRIE(Native.SIDBEAM_KIND_TRIE),
  /** The SIDs in order, by columns: {@link Strategy#SORTED}, {@link Strategy#SORTED_TOPK}. */
  SORTED(Native.SIDBEAM_KIND_SORTED),
  /** A hash set of whole SIDs: {@link Strategy#HASH_FINAL}. */
  HASH(Native.SIDBEAM_KIND_HASH),
  /** The trie in less than half the space, with the same results. Brings {@link #TRIE} along. */
  COMPACT_TRIE(Native.SIDBEAM_KIND_COMPACT_TRIE);

  final int code;

  Kind(int code) {
    this.code = code;
  }
}
