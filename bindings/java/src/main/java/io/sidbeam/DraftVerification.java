// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How a {@link DraftDecoder} keeps SIDs from being invalid. */
public enum DraftVerification {
  /** Exactly, at every level: the best beams among valid prefixes. Needs {@link Kind#TRIE}. */
  TRIE(Native.SIDBEAM_DRAFT_VERIFY_TRIE),
  /** At the last level, by lookups, so that fewer SIDs than beams may come back. Needs {@link Kind#HASH}. */
  HASH(Native.SIDBEAM_DRAFT_VERIFY_HASH),
  /** Not at all: SIDs that do not exist have ordinal -1. */
  NONE(Native.SIDBEAM_DRAFT_VERIFY_NONE);

  final int code;

  DraftVerification(int code) {
    this.code = code;
  }
}
