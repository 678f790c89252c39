// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.EnumSet;
import java.util.Set;

/** What is wrong with a slot's result: {@link Beams#errors(int)}. It stays until the slot is started again. */
public enum SlotError {
  /** NaN or +inf in a logits row that mattered: its beam scored at least as well as the last kept beam. */
  BAD_ROW(Native.SIDBEAM_SLOT_BAD_ROW),
  /** The same of a log-sum-exp that the caller gave. */
  BAD_LSE(Native.SIDBEAM_SLOT_BAD_LSE),
  /** On CUDA: a beam that had to be fed had no logits row, or too narrow a one. */
  BAD_MAP(Native.SIDBEAM_SLOT_BAD_MAP),
  /** An error that came with a later library. */
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
