// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.file.Path;

/** How a {@link Model} is opened; every setter returns this object. */
public final class ModelConfig {
  Weights weights = Weights.STORED;
  int deviceType = Native.SIDBEAM_DEVICE_CPU;
  int deviceId;
  Path base;
  LogLevel logLevel;

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

  /**
   * The folder of the model that a LoRA adapter changes.
   *
   * @param base default null: found beside the adapter's folder
   * @return this
   */
  public ModelConfig base(Path base) {
    this.base = base;
    return this;
  }

  /**
   * Sends messages up to a level to the {@link System.Logger} "io.sidbeam", after the model is open: a warning names
   * the tensors that the file has and the config does not ask for.
   *
   * @param level null, the default: none
   * @return this
   */
  public ModelConfig log(LogLevel level) {
    logLevel = level;
    return this;
  }
}
