// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** Why a call failed: {@link SidbeamException#status()}. */
public enum Status {
  /** No failure. */
  OK(Native.SIDBEAM_OK, "ok"),
  /** An argument, or a value in a buffer of the caller's; the message names it. */
  INVALID_ARGUMENT(Native.SIDBEAM_INVALID_ARGUMENT, "invalid argument"),
  /** The allocator returned nothing, or a build would exceed its memory limit. */
  OUT_OF_MEMORY(Native.SIDBEAM_OUT_OF_MEMORY, "out of memory"),
  /** The operating system refused: no such file, no space, no permission. */
  IO_ERROR(Native.SIDBEAM_IO_ERROR, "i/o error"),
  /** The bytes of an index are damaged, or are not an index. */
  CORRUPT(Native.SIDBEAM_CORRUPT, "corrupt"),
  /** Made for a newer library, or a combination that is not offered. */
  UNSUPPORTED(Native.SIDBEAM_UNSUPPORTED, "unsupported"),
  /** The index was built without what the call needs; the message names the option. */
  MISSING_SECTION(Native.SIDBEAM_MISSING_SECTION, "missing section"),
  /** Two items share a SID and the builder was told to refuse that. */
  COLLISION(Native.SIDBEAM_COLLISION, "collision"),
  /** A build or a request was cancelled, or a build's thread interrupted. */
  CANCELLED(Native.SIDBEAM_CANCELLED, "cancelled"),
  /** Called at the wrong time: an object that is closed or in use by another thread, a slot that is done. */
  BAD_STATE(Native.SIDBEAM_BAD_STATE, "bad state"),
  /** The device, its driver or its plugin is missing. */
  NO_DEVICE(Native.SIDBEAM_NO_DEVICE, "no device"),
  /** A defect of the library. */
  INTERNAL(Native.SIDBEAM_INTERNAL, "internal error"),
  /** The device reported an error, in this call or in work enqueued before it. */
  DEVICE_ERROR(Native.SIDBEAM_DEVICE_ERROR, "device error"),
  /** The runner holds as many requests as it may; nothing was taken. */
  QUEUE_FULL(Native.SIDBEAM_QUEUE_FULL, "queue full"),
  /** The request's deadline passed before it could start. */
  DEADLINE_EXCEEDED(Native.SIDBEAM_DEADLINE_EXCEEDED, "deadline exceeded"),
  /** A failure that this version does not know; see {@link SidbeamException#code()}. */
  UNKNOWN(-1, "unknown status");

  final int code;
  private final String words;

  Status(int code, String words) {
    this.code = code;
    this.words = words;
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
    return words;
  }
}
