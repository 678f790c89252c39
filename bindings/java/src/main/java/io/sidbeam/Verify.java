// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How much of an index is checked. Whatever the depth, a damaged file never makes a reader touch memory outside it. */
public enum Verify {
  /** The header, and every section's bounds, alignment and size; constant time. */
  HEADER(Native.SIDBEAM_VERIFY_HEADER),
  /** And every section's checksum; reads the whole file. */
  CHECKSUMS(Native.SIDBEAM_VERIFY_CHECKSUMS),
  /** And the structure itself: order, ranges, counts, agreement between sections. */
  FULL(Native.SIDBEAM_VERIFY_FULL);

  final int code;

  Verify(int code) {
    this.code = code;
  }

  static Verify of(long code) {
    for (Verify value : values()) {
      if (value.code == code) {
        return value;
      }
    }
    throw new SidbeamException(Status.UNSUPPORTED, "verify " + code + " came with a newer library");
  }
}
