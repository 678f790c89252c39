// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;

/** Where {@link ConstraintSet#sample} writes: the caller's arrays, [rows] each. */
public final class Sampled {
  final Object codes;
  final Object logProbs;
  final Object logMasses;
  final Object next;

  /**
   * Buffers.
   *
   * @param codes the number of codes of the level stands for the end; -1 dead
   * @param logProbs log P of the code; -inf dead, NaN a bad row; may be null
   * @param logMasses log of the valid mass; -inf dead; may be null
   * @param next the state after each code, -1 dead; may be null, or the states of the call
   */
  public Sampled(IntBuffer codes, FloatBuffer logProbs, FloatBuffer logMasses, LongBuffer next) {
    this.codes = Buffers.out(Buffers.given(codes, "codes"), "codes");
    this.logProbs = Buffers.out(logProbs, "logProbs");
    this.logMasses = Buffers.out(logMasses, "logMasses");
    this.next = Buffers.out(next, "next");
  }

  /**
   * The same on a device.
   *
   * @param codes int32
   * @param logProbs float; may be null
   * @param logMasses float; may be null
   * @param next int64; may be null
   */
  public Sampled(DevicePointer codes, DevicePointer logProbs, DevicePointer logMasses, DevicePointer next) {
    this.codes = Buffers.given(codes, "codes");
    this.logProbs = logProbs;
    this.logMasses = logMasses;
    this.next = next;
  }

  void check(int deviceType) {
    DevicePointer.check(deviceType, codes, "codes");
    DevicePointer.check(deviceType, logProbs, "logProbs");
    DevicePointer.check(deviceType, logMasses, "logMasses");
    DevicePointer.check(deviceType, next, "next");
  }
}
