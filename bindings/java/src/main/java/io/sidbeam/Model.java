// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.nio.file.Path;

/**
 * A model's weights. Immutable: open it once, share it with every runner and thread. Runners hold what they need of it,
 * so it may be closed before them.
 */
public final class Model extends NativeObject {
  private Model(long handle) {
    super(handle);
  }

  /**
   * Opens a checkpoint with its weights as stored, on the CPU.
   *
   * @param folder of the checkpoint
   * @return to be closed by the caller
   */
  public static Model open(Path folder) {
    return open(folder, new ModelConfig());
  }

  /**
   * Opens the folder of a checkpoint: config.json, and model.safetensors or its shards, of a T5, mT5, umT5, Llama,
   * Mistral, Qwen2, Qwen3 or Phi-3, or of a LoRA adapter of one, which is merged. Nothing of the folder is needed
   * afterwards. Fails with {@link Status#IO_ERROR}, {@link Status#CORRUPT} (the message names the tensor that is
   * missing, has another shape or is not finite), {@link Status#INVALID_ARGUMENT} (16-bit weights do not hold a
   * number), {@link Status#UNSUPPORTED} (another family, a setting that is not implemented, or no
   * libsidbeam_runner.so.1), {@link Status#NO_DEVICE} or {@link Status#OUT_OF_MEMORY}.
   *
   * @param folder of the checkpoint
   * @param config read, not kept
   * @return to be closed by the caller
   */
  public static Model open(Path folder, ModelConfig config) {
    byte[] name = Text.in(folder);
    Buffers.given(config, "config");
    NativeLibrary.loadRunner();
    byte[] base = config.base == null ? null : Text.in(config.base);
    int level = config.logLevel == null ? -1 : config.logLevel.code;
    Model model = new Model(
        Native.flat_model_open(name, config.weights.code, config.deviceType, config.deviceId, base, level));
    Log.drain();
    return model;
  }

  /**
   * What the model is.
   *
   * @return a snapshot
   */
  public ModelInfo info() {
    long[] numbers = new long[Native.FLAT_MODEL_COUNT];
    byte[] family = new byte[Native.FLAT_MODEL_FAMILY_BYTES];
    try {
      Native.flat_model_get_info(handle, numbers, family);
    } finally {
      Reference.reachabilityFence(this);
    }
    return ModelInfo.of(numbers, family);
  }
}
