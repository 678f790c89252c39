// The kernels of attention for one type of elements, and their launches. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/attention_rows.cuh"
#include "runner/cuda/attention_shared.cuh"
#include "runner/cuda/attention_wide.cuh"
#include "support/cuda/launch.h"

namespace sidbeam::runner::cuda {

using sidbeam::cuda::launch;

template <class T, int kDim>
struct StageMemory {
  using Tiles = SharedTiles<T, kDim>;
};
template <int kDim>
struct StageMemory<float, kDim> {
  using Tiles = WideTiles<kDim>;
};

// Blocks before `shared_blocks` do the shared stage, those after it the unshared one.
template <class T, int kDim>
__global__ void __launch_bounds__(kThreads) attention_stages(AttentionView view, int64_t shared_blocks) {
  const int64_t block = blockIdx.x;
  if (block >= shared_blocks) {
    attend_unshared<T, kDim>(view, block - shared_blocks, int64_t{gridDim.x} - shared_blocks);
    return;
  }
  using Tiles = typename StageMemory<T, kDim>::Tiles;
  const int64_t items = view.parts[view.requests].first_item;
  for (int64_t number = block; number < items; number += shared_blocks) {
    const Item item = find_item<Tile<T, kDim>>(view, number);
    if constexpr (Tile<T, kDim>::kWide) {
      attend_wide<kDim>(view, item, shared_memory<Tiles>());
    } else {
      attend_shared<T, kDim>(view, item, shared_memory<Tiles>());
    }
  }
}

template <class T, int kDim>
__global__ void __launch_bounds__(kThreads) attention_merge(AttentionView view) {
  for_rows(view, blockIdx.x, gridDim.x, [&](int64_t row, int32_t head) { merge_row<T, kDim>(view, row, head); });
}

template <class T, int kDim>
cudaError_t launch_of_dim(const AttentionView& view, const StageBlocks& blocks, bool merged, cudaStream_t stream) {
  const size_t bytes = sizeof(typename StageMemory<T, kDim>::Tiles);
  cudaError_t error = launch(attention_stages<T, kDim>, {blocks.shared + blocks.unshared, kThreads, bytes}, stream,
                             view, blocks.shared);
  if (error == cudaSuccess && merged) error = launch(attention_merge<T, kDim>, {blocks.merge, kThreads}, stream, view);
  return error;
}

template <class T, int kDim>
cudaError_t warm_of_dim(const AttentionView& view, cudaStream_t stream) {
  const size_t bytes = sizeof(typename StageMemory<T, kDim>::Tiles);
  const cudaError_t error = cudaFuncSetAttribute(attention_stages<T, kDim>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(bytes));
  return error != cudaSuccess ? error : launch_of_dim<T, kDim>(view, {1, 0, 1}, true, stream);
}

template <class T>
cudaError_t launch_of_type(const AttentionView& view, const StageBlocks& blocks, bool merged, cudaStream_t stream) {
  if (view.head_dim <= 64) return launch_of_dim<T, 64>(view, blocks, merged, stream);
  if (view.head_dim <= 128) return launch_of_dim<T, 128>(view, blocks, merged, stream);
  return launch_of_dim<T, 256>(view, blocks, merged, stream);
}

template <class T>
cudaError_t warm_of_type(const AttentionView& view, cudaStream_t stream) {
  cudaError_t error = warm_of_dim<T, 64>(view, stream);
  if (error == cudaSuccess) error = warm_of_dim<T, 128>(view, stream);
  return error == cudaSuccess ? warm_of_dim<T, 256>(view, stream) : error;
}

// One translation unit per type.
#define SIDBEAM_ATTENTION_TYPE(name)                                                                     \
  cudaError_t launch_attention_##name(const AttentionView& view, const StageBlocks& blocks, bool merged, \
                                      cudaStream_t stream);                                              \
  cudaError_t warm_attention_##name(const AttentionView& view, cudaStream_t stream);
SIDBEAM_ATTENTION_TYPE(f32)
SIDBEAM_ATTENTION_TYPE(f16)
SIDBEAM_ATTENTION_TYPE(bf16)
#undef SIDBEAM_ATTENTION_TYPE

}  // namespace sidbeam::runner::cuda
