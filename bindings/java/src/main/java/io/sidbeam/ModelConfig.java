// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How a {@link Model} is opened; every setter returns this object. */
public final class ModelConfig {
  Weights weights = Weights.STORED;
  int deviceType = Native.SIDBEAM_DEVICE_CPU;
  int deviceId;

  /** Weights as stored, on the CPU. */
  public ModelConfig() {}

  /**
   * How weights are held.
   *
   * @param weights default {@link Weights#STORED}
   * @return this
   */
  public ModelConfig weights(Weights weights) {
    this.weights = Buffers.given(weights, "weights");
    return this;
  }

  /**
   * Puts the model on a CUDA device.
   *
   * @param deviceId number of the device
   * @return this
   */
  public ModelConfig cuda(int deviceId) {
    deviceType = Native.SIDBEAM_DEVICE_CUDA;
    this.deviceId = deviceId;
    return this;
  }
}
