// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** Type of the ids of items. */
public enum IdType {
  /** Signed 64-bit integers. */
  I64(Native.SIDBEAM_ID_I64),
  /** Unsigned 64-bit integers, in a long as the same bits: see {@link Long#toUnsignedString(long)}. */
  U64(Native.SIDBEAM_ID_U64),
  /** Strings, in UTF-8. */
  STRING(Native.SIDBEAM_ID_STRING);

  final int code;

  IdType(int code) {
    this.code = code;
  }

  static IdType of(long code) {
    for (IdType value : values()) {
      if (value.code == code) {
        return value;
      }
    }
    throw new SidbeamException(Status.UNSUPPORTED, "id type " + code + " came with a newer library");
  }
}
