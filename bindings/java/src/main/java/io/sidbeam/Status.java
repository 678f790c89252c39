// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.Locale;

/** Why a call failed: {@link SidbeamException#status()}. */
public enum Status {
  /** No failure. */
  OK(Native.SIDBEAM_OK),
  /** An argument, or a value in a buffer of the caller's; the message names it. */
  INVALID_ARGUMENT(Native.SIDBEAM_INVALID_ARGUMENT),
  /** The allocator gave nothing, or a build would pass its memory limit. */
  OUT_OF_MEMORY(Native.SIDBEAM_OUT_OF_MEMORY),
  /** The operating system refused: no such file, no space, no permission. */
  IO_ERROR(Native.SIDBEAM_IO_ERROR),
  /** The bytes of an index are damaged, or are none. */
  CORRUPT(Native.SIDBEAM_CORRUPT),
  /** Made for a newer library, or a combination that is not offered. */
  UNSUPPORTED(Native.SIDBEAM_UNSUPPORTED),
  /** The index was built without what the call needs; the message names the option. */
  MISSING_SECTION(Native.SIDBEAM_MISSING_SECTION),
  /** Two items share a SID and the builder was told to refuse that. */
  COLLISION(Native.SIDBEAM_COLLISION),
  /** A build was cancelled, or its thread interrupted. */
  CANCELLED(Native.SIDBEAM_CANCELLED),
  /** At the wrong time: an object that is closed or in use by another thread, a slot that is done. */
  BAD_STATE(Native.SIDBEAM_BAD_STATE),
  /** The device, or the plugin that drives it, is not there. */
  NO_DEVICE(Native.SIDBEAM_NO_DEVICE),
  /** A defect of the library. */
  INTERNAL(Native.SIDBEAM_INTERNAL),
  /** The device reported an error, in this call or in work enqueued before it. */
  DEVICE_ERROR(Native.SIDBEAM_DEVICE_ERROR),
  /** A failure of a kind that came with a later library; see {@link SidbeamException#code()}. */
  UNKNOWN(-1);

  final int code;

  Status(int code) {
    this.code = code;
  }

  static Status of(int code) {
    for (Status status : values()) {
      if (status.code == code) {
        return status;
      }
    }
    return UNKNOWN;
  }

  /**
   * The name in words.
   *
   * @return for instance "invalid argument"
   */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ').replace("io ", "i/o ");
  }
}
