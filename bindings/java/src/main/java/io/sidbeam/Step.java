// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.FloatBuffer;
import java.nio.IntBuffer;

/**
 * Arguments of {@link Session#step(Step)}; every setter returns this object. Make one and use it for every step: a step
 * then allocates nothing. Position and limit of the buffers are read when the step is made. One thread at a time.
 */
public final class Step {
  Rows rows;
  Object slots;
  Object rowMap;
  Object lse;
  float inverseTemperature;
  float softCap;
  Object inverseTemperatures;
  Object softCaps;
  long stream;

  /**
   * All slots of a session, with their temperatures and soft-caps.
   *
   * @param rows logits
   */
  public Step(Rows rows) {
    rows(rows);
  }

  /**
   * Logits.
   *
   * @param rows rows.slots is the number of slots of the step, or 0 with a row map
   * @return this
   */
  public Step rows(Rows rows) {
    this.rows = Buffers.given(rows, "rows");
    return this;
  }

  /**
   * Which slots: different ones that are started and not done.
   *
   * @param slots [count]; null: all, except those that are idle or done
   * @return this
   */
  public Step slots(IntBuffer slots) {
    this.slots = Buffers.in(slots, "slots");
    return this;
  }

  /**
   * The same for a session on a device.
   *
   * @param slots [count] in the device's memory
   * @return this
   */
  public Step slots(DevicePointer slots) {
    this.slots = slots;
    return this;
  }

  /**
   * Which logits row each beam is fed; with rows of slots 0.
   *
   * @param rowMap [count, beams], -1 for beams that are not fed; null: none
   * @return this
   */
  public Step rowMap(IntBuffer rowMap) {
    this.rowMap = Buffers.in(rowMap, "rowMap");
    return this;
  }

  /**
   * The same for a session on a device.
   *
   * @param rowMap [count, beams] in the device's memory
   * @return this
   */
  public Step rowMap(DevicePointer rowMap) {
    this.rowMap = rowMap;
    return this;
  }

  /**
   * Log-sum-exp of every logits row, where the caller has it; only the elements of valid codes are then read.
   *
   * @param lse [rows.slots, rows.rows], or [rows.rows] with slots 0; null: computed
   * @return this
   */
  public Step lse(FloatBuffer lse) {
    this.lse = Buffers.in(lse, "lse");
    return this;
  }

  /**
   * The same for a session on a device.
   *
   * @param lse in the device's memory
   * @return this
   */
  public Step lse(DevicePointer lse) {
    this.lse = lse;
    return this;
  }

  /**
   * What soft-capped elements are multiplied by.
   *
   * @param inverseTemperature finite, above 0; 0 (the default): the slot's, see {@link Start}
   * @return this
   */
  public Step inverseTemperature(float inverseTemperature) {
    this.inverseTemperature = inverseTemperature;
    return this;
  }

  /**
   * Turns v into softCap * tanh(v / softCap).
   *
   * @param softCap above 0; 0 (the default): the slot's; infinite: none, whatever the slot has
   * @return this
   */
  public Step softCap(float softCap) {
    this.softCap = softCap;
    return this;
  }

  /**
   * Inverse temperature of each slot of the step, instead of one for all.
   *
   * @param inverseTemperatures [count], 0: the slot's; null: none
   * @return this
   */
  public Step inverseTemperatures(FloatBuffer inverseTemperatures) {
    this.inverseTemperatures = Buffers.in(inverseTemperatures, "inverseTemperatures");
    return this;
  }

  /**
   * The same for a session on a device.
   *
   * @param inverseTemperatures [count] in the device's memory
   * @return this
   */
  public Step inverseTemperatures(DevicePointer inverseTemperatures) {
    this.inverseTemperatures = inverseTemperatures;
    return this;
  }

  /**
   * Soft-cap of each slot of the step, instead of one for all.
   *
   * @param softCaps [count], 0: the slot's; null: none
   * @return this
   */
  public Step softCaps(FloatBuffer softCaps) {
    this.softCaps = Buffers.in(softCaps, "softCaps");
    return this;
  }

  /**
   * The same for a session on a device.
   *
   * @param softCaps [count] in the device's memory
   * @return this
   */
  public Step softCaps(DevicePointer softCaps) {
    this.softCaps = softCaps;
    return this;
  }

  /**
   * Stream of the work, on CUDA.
   *
   * @param stream a cudaStream_t as a number
   * @return this
   */
  public Step stream(long stream) {
    this.stream = stream;
    return this;
  }
}
