// Which kernel attends; descriptors; the permutation in place. SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/attention.h"

#include <algorithm>

#include "runner/cuda/attention_kernels.cuh"
#include "runner/cuda/permute.h"
#include "sidbeam/rows.h"

namespace sidbeam::runner::cuda {
namespace {

constexpr int kDescribed = 40;  // descriptors that fit among a kernel's arguments

struct Described {
  SharedPart parts[kDescribed];
};

__global__ void __launch_bounds__(kDescribed) describe_kernel(Described described, int32_t count, SharedPart* out) {
  if (thread_id() < count) out[thread_id()] = described.parts[thread_id()];
}

// A block holds some words of every beam of one level of one request, and writes them where they belong.
template <class Word>
__global__ void __launch_bounds__(kPermuteThreads) permute_kernel(PermuteView view) {
  Word* held = reinterpret_cast<Word*>(&shared_memory<uint4>());
  const auto words = static_cast<uint32_t>(view.words_of_block);
  const uint32_t blocks_of_row = static_cast<uint32_t>(view.blocks_of_row), chunk = blockIdx.x % blocks_of_row;
  const uint32_t place = blockIdx.x / blocks_of_row, depth = static_cast<uint32_t>(view.depth);
  const int64_t request = place / depth, level = place % depth;
  const int64_t first = int64_t{chunk} * words;
  const auto beams = static_cast<uint32_t>(view.beams), here = beams * words;
  const int32_t* parents = view.parents + request * beams;
  for (void* array : {view.keys, view.values}) {
    Word* rows = static_cast<Word*>(array) + (request * view.request_stride + level * beams) * view.row_words + first;
    for (uint32_t i = threadIdx.x; i < here; i += kPermuteThreads) {
      const uint32_t beam = i / words, word = i % words;
      if (first + word < view.row_words) held[i] = rows[int64_t{beam} * view.row_words + word];
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < here; i += kPermuteThreads) {
      const uint32_t beam = i / words, word = i % words;
      const auto parent = static_cast<uint32_t>(parents[beam]);
      if (first + word < view.row_words && parent < beams)
        rows[int64_t{beam} * view.row_words + word] = held[parent * words + word];
    }
    __syncthreads();
  }
}

template <class Word>
cudaError_t launch_permute_words(const PermuteView& view, cudaStream_t stream) {
  const int64_t blocks = view.requests * view.depth * view.blocks_of_row;
  return launch(permute_kernel<Word>,
                {blocks, kPermuteThreads,
                 static_cast<size_t>(view.beams) * static_cast<size_t>(view.words_of_block) * sizeof(Word)},
                stream, view);
}

}  // namespace

int32_t attention_tile_rows(int32_t dtype) {
  return dtype == SIDBEAM_DTYPE_F32 ? Tile<float, 64>::kRows : Tile<F16, 64>::kRows;
}

cudaError_t launch_describe(const SharedPart* parts, int64_t count, SharedPart* out, cudaStream_t stream) {
  for (int64_t done = 0; done < count; done += kDescribed) {
    Described described;
    const int64_t some = std::min<int64_t>(kDescribed, count - done);
    std::copy_n(parts + done, some, described.parts);
    const cudaError_t error =
        launch(describe_kernel, {1, kDescribed}, stream, described, static_cast<int32_t>(some), out + done);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t launch_attention(const AttentionView& view, const StageBlocks& blocks, bool merged, cudaStream_t stream) {
  switch (view.dtype) {
    case SIDBEAM_DTYPE_F32:
      return launch_attention_f32(view, blocks, merged, stream);
    case SIDBEAM_DTYPE_F16:
      return launch_attention_f16(view, blocks, merged, stream);
    default:
      return launch_attention_bf16(view, blocks, merged, stream);
  }
}

cudaError_t launch_permute(const PermuteView& view, int32_t word_bytes, cudaStream_t stream) {
  if (view.requests == 0 || view.depth == 0) return cudaSuccess;
  return word_bytes == 4 ? launch_permute_words<uint32_t>(view, stream) : launch_permute_words<uint16_t>(view, stream);
}

cudaError_t warm_attention(const SharedPart* memory, cudaStream_t stream) {
  AttentionView nothing;
  nothing.heads = nothing.kv_heads = nothing.head_dim = 1;
  nothing.parts = memory;
  cudaError_t error =
      launch(describe_kernel, {1, kDescribed}, stream, Described{}, 0, static_cast<SharedPart*>(nullptr));
  if (error == cudaSuccess) error = warm_attention_f32(nothing, stream);
  if (error == cudaSuccess) error = warm_attention_f16(nothing, stream);
  if (error == cudaSuccess) error = warm_attention_bf16(nothing, stream);
  PermuteView empty;
  empty.requests = empty.depth = empty.blocks_of_row = 1;
  if (error == cudaSuccess) error = launch_permute_words<uint32_t>(empty, stream);
  if (error == cudaSuccess) error = launch_permute_words<uint16_t>(empty, stream);
  return error;
}

}  // namespace sidbeam::runner::cuda
