// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What is wrong with a slot's result: {@link Beams#error(int)}. It stays until the slot is started again. */
public enum SlotError {
  /** Nothing. */
  OK(Native.SIDBEAM_SLOT_OK),
  /** NaN or +inf in a row that mattered: some such row's beam scored at least as well as the last kept beam. */
  BAD_ROW(Native.SIDBEAM_SLOT_BAD_ROW),
  /** On CUDA: a beam that had to be fed had no row, or too narrow a one. */
  BAD_MAP(Native.SIDBEAM_SLOT_BAD_MAP),
  /** An error that came with a later library. */
  UNKNOWN(-1);

  final int code;

  SlotError(int code) {
    this.code = code;
  }

  static SlotError of(int code) {
    for (SlotError error : values()) {
      if (error.code == code) {
        return error;
      }
    }
    return UNKNOWN;
  }
}
