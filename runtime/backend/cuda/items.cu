// What beams stand for: ordinals, SIDs, item rows; a block a slot. SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/session.cuh"

namespace sidbeam::cuda {
namespace {

constexpr int kThreads = 256;
// What one launch takes: arguments of a kernel have room for 4 KB on every device.
constexpr int kSlots = 512;
struct SlotBatch {
  int32_t slots[kSlots];
  int64_t first;  // of the call's slots
};

struct ItemsShared {
  BlockScan<int64_t, kThreads>::Storage scan;
};
static_assert(sizeof(ItemsShared) <= kSharedBytes);

struct Beam {
  int32_t codes[kMaxLevels];
  int32_t length = 0;
  int64_t ordinal = -1;
};

// Codes so far. The end, and what comes after it, are no codes.
__device__ void read_codes(const SessionView& session, const IndexView& index, int32_t slot, int32_t m, Beam& beam) {
  const int64_t history = history_at(session, slot);
  const int32_t level = std::min(session.level[slot], std::min(index.levels, session.levels));
  beam_codes(session.history_parents + history, session.history_tokens + history, session.beams, level, m, beam.codes);
  for (int32_t l = 0; l < kMaxLevels; ++l) {
    if (l < level && beam.codes[l] >= 0 && static_cast<uint32_t>(beam.codes[l]) < index.level[l].codes) {
      beam.length = l + 1;
    } else {
      beam.codes[l] = -1;
    }
  }
}

__device__ int64_t ordinal_of(const IndexView& index, int64_t word, const Beam& beam) {
  const State state = decode_state(word);
  if (!state.ended && state.level < index.levels) return -1;
  if (state.kind == NodeKind::kOpaque) return find_sid(index, beam.codes, beam.length, HashKey());
  const uint64_t ordinal = state.kind == NodeKind::kSorted ? state.node : sid_ordinal(index, state);
  return ordinal < index.sids ? static_cast<int64_t>(ordinal) : -1;
}

__device__ void read_beam(const SessionView& session, const IndexView* index, int32_t slot, int32_t m, Beam& beam) {
  const int64_t word = session.states[beams_at(session, slot) + m];
  if (index == nullptr || !is_live(word)) {
    for (int32_t l = 0; l < kMaxLevels; ++l) beam.codes[l] = -1;
    return;
  }
  read_codes(session, *index, slot, m, beam);
  beam.ordinal = ordinal_of(*index, word, beam);
}

__global__ void __launch_bounds__(kThreads)
    items_kernel(const __grid_constant__ SessionView session, const __grid_constant__ SlotBatch batch,
                 const __grid_constant__ ItemsView items) {
  auto& shared = shared_memory<ItemsShared>();
  const int32_t slot = batch.slots[blockIdx.x];
  const int64_t i = batch.first + blockIdx.x, beams = session.beams;
  const IndexView* index = session.table[slot].index;
  const int64_t limit = items.limit > 0 ? items.limit : std::numeric_limits<int64_t>::max();
  int64_t filled = 0;  // item rows of the beams before, were there no limit on all
  bool truncated = false;
  for (int32_t first = 0; first < session.beams; first += kThreads) {
    const int32_t m = first + thread_id();
    const int64_t at = i * beams + m;
    OrdinalRange all;
    int64_t wanted = 0;
    if (m < session.beams) {
      Beam beam;
      read_beam(session, index, slot, m, beam);
      if (beam.ordinal >= 0) all = item_rows(*index, static_cast<uint64_t>(beam.ordinal));
      const auto count = static_cast<int64_t>(all.hi - all.lo);
      wanted = items.limit_per_sid > 0 ? std::min(count, items.limit_per_sid) : count;
      truncated = truncated || wanted < count;
      if (items.ordinals != nullptr) items.ordinals[at] = beam.ordinal;
      if (items.lengths != nullptr) items.lengths[at] = beam.length;
      for (int32_t l = 0; items.sids != nullptr && l < session.levels; ++l)
        items.sids[at * session.levels + l] = beam.codes[l];
    }
    int64_t total = 0;
    const int64_t before = filled + BlockScan<int64_t, kThreads>::before(wanted, total, shared.scan);
    filled += total;
    if (m >= session.beams) continue;
    const int64_t from = std::min(before, limit), to = std::min(before + wanted, limit);
    truncated = truncated || to - from < wanted;
    if (items.offsets != nullptr) items.offsets[i * (beams + 1) + m] = from;
    for (int64_t r = from; items.rows != nullptr && r < to; ++r)
      items.rows[i * items.limit + r] = static_cast<int64_t>(all.lo) + (r - from);
  }
  truncated = __syncthreads_or(truncated) != 0;
  if (thread_id() != 0) return;
  if (items.offsets != nullptr) items.offsets[i * (beams + 1) + beams] = std::min(filled, limit);
  if (items.truncated != nullptr) items.truncated[i] = truncated ? 1 : 0;
}

}  // namespace

cudaError_t load_items_kernels() { return load(items_kernel); }

cudaError_t launch_items(const SessionView& session, const int32_t* slots, int64_t count, const ItemsView& items,
                         cudaStream_t stream) {
  for (int64_t i = 0; i < count; i += kSlots) {
    SlotBatch batch{};
    batch.first = i;
    const int64_t taken = std::min<int64_t>(kSlots, count - i);
    std::copy_n(slots + i, taken, batch.slots);
    const cudaError_t error =
        launch(items_kernel, {taken, kThreads, sizeof(ItemsShared)}, stream, session, batch, items);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace sidbeam::cuda
