// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** Type of the elements of logits. */
public enum DType {
  /** IEEE single precision: 4 bytes. */
  F32(Native.SIDBEAM_DTYPE_F32, 4),
  /** IEEE half precision: 2 bytes. */
  F16(Native.SIDBEAM_DTYPE_F16, 2),
  /** The upper half of an F32: 2 bytes. */
  BF16(Native.SIDBEAM_DTYPE_BF16, 2);

  final int code;
  final int bytes;

  DType(int code, int bytes) {
    this.code = code;
    this.bytes = bytes;
  }
}
