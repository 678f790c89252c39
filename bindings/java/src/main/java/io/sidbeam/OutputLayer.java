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
   * Makes a layer, and measures what products cost, for about a millisecond. Fails with
   * {@link Status#INVALID_ARGUMENT} or {@link Status#UNSUPPORTED} (weights on CUDA, or no libsidbeam_runner.so.1).
   *
   * @param weights [columns, width] with slots 0: row c has the inputs of column c. Read in place and held: they must
   *     not change while a step runs, and memory that is not the collector's must stay until the layer and its steps
   *     are closed
   * @param bias [columns], copied; null: none
   * @param softCap of the logits, as {@link Step#softCap}; 0: none
   */
  public OutputLayer(Rows weights, float[] bias, float softCap) {
    super(create(Buffers.given(weights, "weights"), bias, softCap));
    this.weights = weights;
  }

  private static long create(Rows weights, float[] bias, float softCap) {
    if (weights.slots != 0) {
      throw SidbeamException.invalid("weights has " + weights.slots + " slots, expected 0: [columns, width]");
    }
    if (bias != null && bias.length != weights.rows) {
      throw SidbeamException.invalid("bias has " + bias.length + " elements, expected " + weights.rows);
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
