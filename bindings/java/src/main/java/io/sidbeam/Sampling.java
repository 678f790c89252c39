// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;

/**
 * How the slots of a {@link Start}, or the logits rows of {@link ConstraintSet#sample}, are sampled; every setter
 * returns this object, count is the number of these. A draw depends on its seed, request, number and level alone: it is
 * the same in any batch, slot or session, and on any device. Lists of a start are in the host's memory, those of a
 * constraint set on a device in that device's.
 */
public final class Sampling {
  Object seeds;
  Object requests;
  Object draws;
  long drawStride;
  Object topKs;
  Object topPs;
  Object noiseScales;

  /** Nothing is given yet. */
  public Sampling() {}

  /**
   * Keys of the random numbers. Needed, as {@link #requests} are: equal pairs of them draw alike.
   *
   * @param seeds [count]
   * @return this
   */
  public Sampling seeds(LongBuffer seeds) {
    this.seeds = Buffers.in(seeds, "seeds");
    return this;
  }

  /**
   * The same for a constraint set on a device.
   *
   * @param seeds long [count] in the device's memory
   * @return this
   */
  public Sampling seeds(DevicePointer seeds) {
    this.seeds = seeds;
    return this;
  }

  /**
   * The other half of the keys.
   *
   * @param requests [count]
   * @return this
   */
  public Sampling requests(LongBuffer requests) {
    this.requests = Buffers.in(requests, "requests");
    return this;
  }

  /**
   * The same for a constraint set on a device.
   *
   * @param requests long [count] in the device's memory
   * @return this
   */
  public Sampling requests(DevicePointer requests) {
    this.requests = requests;
    return this;
  }

  /**
   * The draw that each row of a slot makes. Not with {@link Mode#STOCHASTIC}.
   *
   * @param draws [count, stride] 0 .. 2^52 - 1; null: 0 .. M - 1. Of a constraint set [count]; null: 0
   * @param stride elements from slot to slot; 0: M, or 1 of a constraint set
   * @return this
   */
  public Sampling draws(LongBuffer draws, long stride) {
    this.draws = Buffers.in(draws, "draws");
    drawStride = stride;
    return this;
  }

  /**
   * The same for a constraint set on a device.
   *
   * @param draws long [count] in the device's memory
   * @return this
   */
  public Sampling draws(DevicePointer draws) {
    this.draws = draws;
    drawStride = 0;
    return this;
  }

  /**
   * How many of the largest elements of the model's row are kept, before anything is masked. Not with
   * {@link Mode#STOCHASTIC}.
   *
   * @param topKs [count] at least 1, or 0 for none; null: none
   * @return this
   */
  public Sampling topKs(IntBuffer topKs) {
    this.topKs = Buffers.in(topKs, "topKs");
    return this;
  }

  /**
   * The same for a constraint set on a device.
   *
   * @param topKs int [count] in the device's memory
   * @return this
   */
  public Sampling topKs(DevicePointer topKs) {
    this.topKs = topKs;
    return this;
  }

  /**
   * How much of the mass of the model's row is kept, the largest elements first, before anything is masked. Not with
   * {@link Mode#STOCHASTIC}.
   *
   * @param topPs [count] above 0 and at most 1, which is none; null: none
   * @return this
   */
  public Sampling topPs(FloatBuffer topPs) {
    this.topPs = Buffers.in(topPs, "topPs");
    return this;
  }

  /**
   * The same for a constraint set on a device.
   *
   * @param topPs float [count] in the device's memory
   * @return this
   */
  public Sampling topPs(DevicePointer topPs) {
    this.topPs = topPs;
    return this;
  }

  /**
   * What the noise is multiplied by; only with {@link Mode#STOCHASTIC}.
   *
   * @param noiseScales [count] at least 0, which is the search under {@link Normalization#VALID}; null: 1
   * @return this
   */
  public Sampling noiseScales(FloatBuffer noiseScales) {
    this.noiseScales = Buffers.in(noiseScales, "noiseScales");
    return this;
  }

  void check(int deviceType) {
    DevicePointer.check(deviceType, seeds, "seeds");
    DevicePointer.check(deviceType, requests, "requests");
    DevicePointer.check(deviceType, draws, "draws");
    DevicePointer.check(deviceType, topKs, "topKs");
    DevicePointer.check(deviceType, topPs, "topPs");
  }
}
