// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How a model's weights are held in memory. Products are in 32-bit floats whatever they are. */
public enum Weights {
  /** As in the file. */
  STORED(Native.SIDBEAM_WEIGHTS_STORED),
  /** 32-bit floats. */
  F32(Native.SIDBEAM_WEIGHTS_F32),
  /** 16-bit floats, rounded to nearest where the file's are wider. */
  F16(Native.SIDBEAM_WEIGHTS_F16),
  /** bfloat16, likewise. */
  BF16(Native.SIDBEAM_WEIGHTS_BF16),
  /** Matrices as 8-bit integers with a scale per output. Approximate. */
  INT8(Native.SIDBEAM_WEIGHTS_INT8);

  final int code;

  Weights(int code) {
    this.code = code;
  }

  static Weights of(long code) {
    return values()[(int) code];
  }
}
