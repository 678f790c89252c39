// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/attention_kernels.cuh"

namespace sidbeam::runner::cuda {

cudaError_t launch_attention_bf16(const AttentionView& view, const StageBlocks& blocks, bool merged,
                                  cudaStream_t stream) {
  return launch_of_type<Bf16>(view, blocks, merged, stream);
}
cudaError_t warm_attention_bf16(const AttentionView& view, cudaStream_t stream) {
  return warm_of_type<Bf16>(view, stream);
}

}  // namespace sidbeam::runner::cuda
