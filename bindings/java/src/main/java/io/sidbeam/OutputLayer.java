// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;

/**
 * The weights that turn hidden states into logits, for {@link HiddenStep}. Immutable; any number of steps and threads
 * may share it. A step holds its layer, which may be closed before it.
 */
public final class OutputLayer extends NativeObject {
  private final Rows weights; // holds the buffer

  /**
   * A layer without bias and soft-cap.
   *
   * @param weights as below
   */
  public OutputLayer(Rows weights) {
    this(weights, null, 0);
  }

  /**
   * Makes a layer, and on the CPU measures what products cost, for about a millisecond. Fails with
   * {@link Status#INVALID_ARGUMENT}, {@link Status#NO_DEVICE} or {@link Status#UNSUPPORTED} (no
   * libsidbeam_runner.so.1).
   *
   * @param weights [columns, width] with slots 0: row c has the inputs of column c. Read in place and held: they must
   *     not change while a step runs, and memory that is not the collector's must stay until the layer and its steps
   *     are closed; on CUDA each row is aligned to 16 bytes
   * @param bias [columns], copied; null: none; on CUDA see {@link #device}
   * @param softCap of the logits, as {@link Step#softCap}; 0: none
   */
  public OutputLayer(Rows weights, float[] bias, float softCap) {
    this(weights, bias, bias == null ? 0 : bias.length, softCap);
  }

  private OutputLayer(Rows weights, Object bias, long biases, float softCap) {
    super(create(Buffers.given(weights, "weights"), bias, biases, softCap));
    this.weights = weights;
  }

  /**
   * A layer on CUDA.
   *
   * @param weights [columns, width] with slots 0, of {@link Rows#device}; as above
   * @param bias [columns], in the device's memory too, read in place like the weights; null: none
   * @param softCap of the logits, as {@link Step#softCap}; 0: none
   * @return to be closed by the caller
   */
  public static OutputLayer device(Rows weights, DevicePointer bias, float softCap) {
    DevicePointer.check(Buffers.given(weights, "weights").deviceType, bias, "bias");
    return new OutputLayer(weights, bias, bias == null ? 0 : bias.count(), softCap);
  }

  private static long create(Rows weights, Object bias, long biases, float softCap) {
    if (weights.slots != 0) {
      throw SidbeamException.invalid("weights has " + weights.slots + " slots, expected 0: [columns, width]");
    }
    if (bias != null && biases != weights.rows) {
      throw SidbeamException.invalid("bias has " + biases + " elements, expected " + weights.rows);
    }
    NativeLibrary.loadRunner();
    try {
      return Native.flat_output_layer_create(weights.memory, weights.elements, weights.dtype, weights.deviceType,
          weights.deviceId, weights.rows, weights.columns, weights.rowStride, bias, softCap, 0);
    } finally {
      Reference.reachabilityFence(weights);
    }
  }

  /**
   * Columns of a logits row.
   *
   * @return rows of the weights
   */
  public long columns() {
    return weights.rows;
  }

  /**
   * Elements of a hidden state.
   *
   * @return columns of the weights
   */
  public long width() {
    return weights.columns;
  }
}
