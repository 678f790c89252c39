// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * What a model is.
 *
 * @param family "t5", "llama", "qwen2" or "qwen3"
 * @param layers of the decoder
 * @param encoderLayers 0: a decoder alone
 * @param hidden elements of a hidden state
 * @param heads of the attention
 * @param kvHeads heads of the keys and values
 * @param headDim elements of a head
 * @param weights of the matrices, as held
 * @param vocabulary token ids are 0 .. vocabulary - 1
 * @param maxPositions that the config names; 0: none
 * @param parameters elements of all weights
 * @param memoryBytes that the model holds
 */
public record ModelInfo(String family, int layers, int encoderLayers, int hidden, int heads, int kvHeads, int headDim,
    Weights weights, long vocabulary, long maxPositions, long parameters, long memoryBytes) {
  static ModelInfo of(long[] n, byte[] family) {
    return new ModelInfo(Text.ofBuffer(family), (int) n[Native.FLAT_MODEL_LAYERS],
        (int) n[Native.FLAT_MODEL_ENCODER_LAYERS], (int) n[Native.FLAT_MODEL_HIDDEN], (int) n[Native.FLAT_MODEL_HEADS],
        (int) n[Native.FLAT_MODEL_KV_HEADS], (int) n[Native.FLAT_MODEL_HEAD_DIM],
        Weights.of(n[Native.FLAT_MODEL_WEIGHTS]), n[Native.FLAT_MODEL_VOCABULARY], n[Native.FLAT_MODEL_MAX_POSITIONS],
        n[Native.FLAT_MODEL_PARAMETERS], n[Native.FLAT_MODEL_MEMORY_BYTES]);
  }
}
