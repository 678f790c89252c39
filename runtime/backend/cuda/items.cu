// What beams stand for: ordinals, SIDs, item rows; one block per slot. SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/session.cuh"
#include "support/cuda/block_fold.cuh"

namespace sidbeam::cuda {
namespace {

// Threads of a block: fewer where SIDs are long, so that shared memory has room for one per thread.
constexpr int kManyThreads = 128, kFewThreads = 32, kLevelsOfMany = 64;
// The capacity of one launch: kernel arguments may take 4 KB on every device.
constexpr int kSlots = 512;
struct SlotBatch {
  int32_t slots[kSlots];
  int64_t first;  // of the call's slots
};

template <int kThreads>
struct ItemsShared {
  static constexpr int kMostLevels = kThreads == kFewThreads ? kMaxLevels : kLevelsOfMany;
  typename BlockScan<int64_t, kThreads>::Storage scan;
  int32_t codes[kMostLevels][kThreads];  // the launch has room for the session's levels
};
static_assert(sizeof(ItemsShared<kManyThreads>) <= kSharedBytes && sizeof(ItemsShared<kFewThreads>) <= kSharedBytes);

// A thread's codes in shared memory. (An array of its own would be in local memory.)
template <int kThreads>
struct OwnCodes {
  ItemsShared<kThreads>& shared;
  __device__ int32_t& operator[](int l) const { return shared.codes[l][thread_id()]; }
};

template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    items_kernel(const __grid_constant__ SessionView session, const __grid_constant__ SlotBatch batch,
                 const __grid_constant__ ItemsView items) {
  auto& shared = shared_memory<ItemsShared<kThreads>>();
  const int32_t slot = batch.slots[blockIdx.x];
  if (!has_slot(session, slot)) return;
  const int64_t i = batch.first + blockIdx.x, beams = session.beams;
  const IndexView* index = session.table[slot].index;
  const int64_t limit = items.limit > 0 ? items.limit : std::numeric_limits<int64_t>::max();
  int64_t filled = 0;  // item rows of earlier beams, without the overall limit
  bool truncated = false;
  for (int32_t first = 0; first < session.beams; first += kThreads) {
    const int32_t m = first + thread_id();
    const int64_t at = i * beams + m;
    SidRows rows;
    if (m < session.beams) {
      const OwnCodes<kThreads> codes{shared};
      const BeamSid beam = sid_of_beam(index, history_of(session, slot), session.level[slot], m,
                                       session.states[beams_at(session, slot) + m], HashKey(), codes, session.levels);
      rows = rows_of_sid(index, beam.ordinal, items.limit_per_sid);
      truncated = truncated || rows.wanted < rows.count;
      if (items.ordinals != nullptr) items.ordinals[at] = beam.ordinal;
      if (items.lengths != nullptr) items.lengths[at] = beam.length;
      for (int32_t l = 0; items.sids != nullptr && l < session.levels; ++l)
        items.sids[at * session.levels + l] = codes[l];
    }
    int64_t total = 0;
    const int64_t before = filled + BlockScan<int64_t, kThreads>::before(rows.wanted, total, shared.scan);
    filled += total;
    if (m >= session.beams) continue;
    const int64_t from = std::min(before, limit), to = std::min(before + rows.wanted, limit);
    truncated = truncated || to - from < rows.wanted;
    if (items.offsets != nullptr) items.offsets[i * (beams + 1) + m] = from;
    for (int64_t r = from; items.rows != nullptr && r < to; ++r)
      items.rows[i * items.limit + r] = static_cast<int64_t>(rows.first) + (r - from);
  }
  truncated = __syncthreads_or(truncated) != 0;
  if (thread_id() != 0) return;
  if (items.offsets != nullptr) items.offsets[i * (beams + 1) + beams] = std::min(filled, limit);
  if (items.truncated != nullptr) items.truncated[i] = truncated ? 1 : 0;
}

template <int kThreads>
cudaError_t launch_batch(const SessionView& session, int64_t count, const SlotBatch& batch, const ItemsView& items,
                         cudaStream_t stream) {
  const int32_t levels = std::min(session.levels, ItemsShared<kThreads>::kMostLevels);  // more where kernels warm up
  const size_t bytes = offsetof(ItemsShared<kThreads>, codes) + static_cast<size_t>(levels) * sizeof(int32_t[kThreads]);
  return launch(items_kernel<kThreads>, {count, kThreads, bytes}, stream, session, batch, items);
}

}  // namespace

cudaError_t warm_items_kernels(const SessionView& session, cudaStream_t stream) {
  const cudaError_t error = launch_batch<kManyThreads>(session, 1, SlotBatch{}, ItemsView{}, stream);
  return error != cudaSuccess ? error : launch_batch<kFewThreads>(session, 1, SlotBatch{}, ItemsView{}, stream);
}

cudaError_t launch_items(const SessionView& session, const int32_t* slots, int64_t count, const ItemsView& items,
                         cudaStream_t stream) {
  for (int64_t i = 0; i < count; i += kSlots) {
    SlotBatch batch{};
    batch.first = i;
    const int64_t taken = std::min<int64_t>(kSlots, count - i);
    std::copy_n(slots + i, taken, batch.slots);
    const bool fits = session.levels <= kLevelsOfMany;
    const cudaError_t error = fits ? launch_batch<kManyThreads>(session, taken, batch, items, stream)
                                   : launch_batch<kFewThreads>(session, taken, batch, items, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace sidbeam::cuda
