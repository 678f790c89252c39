// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/attention_kernels.cuh"

namespace sidbeam::runner::cuda {

cudaError_t launch_attention_f32(const AttentionView& view, const StageBlocks& blocks, bool merged,
                                 cudaStream_t stream) {
  return launch_of_type<float>(view, blocks, merged, stream);
}
cudaError_t warm_attention_f32(const AttentionView& view, cudaStream_t stream) {
  return warm_of_type<float>(view, stream);
}

}  // namespace sidbeam::runner::cuda
