// What beams stand for: ordinals, SIDs, item rows; one block per slot. SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/session.cuh"
#include "index/read/item_lists.h"
#include "support/cuda/block_fold.cuh"

namespace sidbeam::cuda {
namespace {

constexpr int kThreads = 128;
// The capacity of one launch: kernel arguments may take 4 KB on every device.
constexpr int kSlots = 512;
struct SlotBatch {
  int32_t slots[kSlots];
  int64_t first;  // of the call's slots
};

struct ItemsShared {
  BlockScan<int64_t, kThreads>::Storage scan;
  int32_t codes[kMaxLevels][kThreads];  // the launch has room for the session's levels
};
static_assert(sizeof(ItemsShared) <= kSharedBytes);

// A thread's codes in shared memory. (An array of its own would be in local memory.)
struct OwnCodes {
  ItemsShared& shared;
  __device__ int32_t& operator[](int l) const { return shared.codes[l][thread_id()]; }
};

// The item rows that a beam lists: all of its SID's, or those that no beam before it has.
struct ListedRows {
  OrdinalRange rows;
  int64_t wanted = 0;
  bool cut = false;  // by the limit per SID
};

// Whether an entry of the repeats has a SID of a beam before m. (In shared memory these ordinals would need room for
// the most beams that there are.)
struct EarlierBeams {
  const RepeatsView& repeats;
  const int64_t* ordinals;
  int32_t m;
  __device__ bool operator()(uint64_t i) const {
    const OrdinalRange item = ordinals_of_repeat(repeats, i);
    for (int32_t b = 0; b < m; ++b)
      if (ordinals[b] >= 0 && item_has(repeats, item, static_cast<uint64_t>(ordinals[b]))) return true;
    return false;
  }
};

__device__ bool is_repeated(const int64_t* ordinals, int32_t m) {
  for (int32_t b = 0; b < m; ++b)
    if (ordinals[b] == ordinals[m]) return true;
  return false;
}

// Of beam m, given the ordinals of the beams up to it.
__device__ ListedRows distinct_rows(const IndexView& index, const int64_t* ordinals, int32_t m, int64_t limit) {
  if (ordinals[m] < 0 || is_repeated(ordinals, m)) return {};
  ListedRows listed{item_rows(index, static_cast<uint64_t>(ordinals[m]))};
  const int64_t most = limit > 0 ? limit : std::numeric_limits<int64_t>::max();
  const int64_t found = visit_distinct(index.repeats, listed.rows, most, EarlierBeams{index.repeats, ordinals, m},
                                       [](uint64_t /*first*/, int64_t /*rows*/) {});
  listed.wanted = std::min(found, most);
  listed.cut = found > most;
  return listed;
}

__device__ ListedRows all_rows(const IndexView* index, int64_t ordinal, int64_t limit) {
  const SidRows rows = rows_of_sid(index, ordinal, limit);
  return {{rows.first, rows.first + static_cast<uint64_t>(rows.count)}, rows.wanted, rows.wanted < rows.count};
}

// Writes the first `count` of them.
__device__ void write_rows(const IndexView& index, const int64_t* ordinals, int32_t m, const ListedRows& listed,
                           int64_t count, int64_t* out) {
  const auto write = [&](uint64_t first, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) *out++ = static_cast<int64_t>(first) + r;
  };
  if (ordinals == nullptr) return write(listed.rows.lo, count);
  if (count > 0) visit_distinct(index.repeats, listed.rows, count, EarlierBeams{index.repeats, ordinals, m}, write);
}

__global__ void __launch_bounds__(kThreads)
    items_kernel(const __grid_constant__ SessionView session, const __grid_constant__ SlotBatch batch,
                 const __grid_constant__ ItemsView items) {
  auto& shared = shared_memory<ItemsShared>();
  const int32_t slot = batch.slots[blockIdx.x];
  if (!has_slot(session, slot)) return;
  const int64_t i = batch.first + blockIdx.x, beams = session.beams;
  const IndexView* index = session.table[slot].index;
  const int64_t limit = items.limit > 0 ? items.limit : std::numeric_limits<int64_t>::max();
  int64_t* const ordinals = items.distinct ? session.ordinals + beams_at(session, slot) : nullptr;
  int64_t filled = 0;  // item rows of earlier beams, without the overall limit
  bool truncated = false;
  for (int32_t first = 0; first < session.beams; first += kThreads) {
    const int32_t m = first + thread_id();
    const int64_t at = i * beams + m;
    ListedRows listed;
    if (m < session.beams) {
      const OwnCodes codes{shared};
      const BeamSid beam = sid_of_beam(index, history_of(session, slot), session.level[slot], m,
                                       session.states[beams_at(session, slot) + m], HashKey(), codes, session.levels);
      if (ordinals == nullptr) {
        listed = all_rows(index, beam.ordinal, items.limit_per_sid);
      } else {
        ordinals[m] = beam.ordinal;
      }
      if (items.ordinals != nullptr) items.ordinals[at] = beam.ordinal;
      if (items.lengths != nullptr) items.lengths[at] = beam.length;
      for (int32_t l = 0; items.sids != nullptr && l < session.levels; ++l)
        items.sids[at * session.levels + l] = codes[l];
    }
    if (ordinals != nullptr) __syncthreads();  // a beam looks at the ordinals of those before it
    if (ordinals != nullptr && m < session.beams && index != nullptr)
      listed = distinct_rows(*index, ordinals, m, items.limit_per_sid);
    truncated = truncated || listed.cut;
    int64_t total = 0;
    const int64_t before = filled + BlockScan<int64_t, kThreads>::before(listed.wanted, total, shared.scan);
    filled += total;
    if (m >= session.beams) continue;
    const int64_t from = std::min(before, limit), to = std::min(before + listed.wanted, limit);
    truncated = truncated || to - from < listed.wanted;
    if (items.offsets != nullptr) items.offsets[i * (beams + 1) + m] = from;
    if (items.rows != nullptr && to > from)
      write_rows(*index, ordinals, m, listed, to - from, items.rows + i * items.limit + from);
  }
  truncated = __syncthreads_or(truncated) != 0;
  if (thread_id() != 0) return;
  if (items.offsets != nullptr) items.offsets[i * (beams + 1) + beams] = std::min(filled, limit);
  if (items.truncated != nullptr) items.truncated[i] = truncated ? 1 : 0;
}

}  // namespace

cudaError_t warm_items_kernels(const SessionView& session, cudaStream_t stream) {
  return launch(items_kernel, {1, kThreads, sizeof(ItemsShared)}, stream, session, SlotBatch{}, ItemsView{});
}

cudaError_t launch_items(const SessionView& session, const int32_t* slots, int64_t count, const ItemsView& items,
                         cudaStream_t stream) {
  for (int64_t i = 0; i < count; i += kSlots) {
    SlotBatch batch{};
    batch.first = i;
    const int64_t taken = std::min<int64_t>(kSlots, count - i);
    std::copy_n(slots + i, taken, batch.slots);
    const size_t bytes = offsetof(ItemsShared, codes) + static_cast<size_t>(session.levels) * sizeof(int32_t[kThreads]);
    const cudaError_t error = launch(items_kernel, {taken, kThreads, bytes}, stream, session, batch, items);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace sidbeam::cuda
