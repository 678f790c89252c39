// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.EnumSet;
import java.util.Set;

/** What is wrong with a slot's result: {@link Beams#errors(int)}. It stays until the slot is started again. */
public enum SlotError {
  /** NaN or +inf in a logits row that mattered: its beam scored at least as well as the last kept beam. */
  BAD_ROW(Native.SIDBEAM_SLOT_BAD_ROW),
  /** NaN or +inf in a log-sum-exp that the caller gave, where it mattered in the same sense. */
  BAD_LSE(Native.SIDBEAM_SLOT_BAD_LSE),
  /** On CUDA: a beam that had to be fed had no logits row, or one that is too narrow, or too wide to be truncated. */
  BAD_MAP(Native.SIDBEAM_SLOT_BAD_MAP),
  /** An error that this version does not know. */
  UNKNOWN(~(Native.SIDBEAM_SLOT_BAD_ROW | Native.SIDBEAM_SLOT_BAD_LSE | Native.SIDBEAM_SLOT_BAD_MAP));

  final int flags;

  SlotError(int flags) {
    this.flags = flags;
  }

  static Set<SlotError> of(int errors) {
    Set<SlotError> found = EnumSet.noneOf(SlotError.class);
    for (SlotError error : values()) {
      if ((error.flags & errors) != 0) {
        found.add(error);
      }
    }
    return found;
  }
}
