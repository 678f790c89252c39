// What beams stand for: ordinals, SIDs, item rows; one block per slot. SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/session.cuh"
#include "index/read/item_lists.h"
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

// Whether the item of entry i of the repeats has an allowed row at this ordinal.
__device__ bool has_row(const IndexView& index, const RulesView& rules, uint64_t i, uint64_t ordinal) {
  const RepeatsView& repeats = index.repeats;
  const ItemRows rows(index, ordinal);
  for (uint64_t k = 0; k < rows.count(); ++k) {
    const uint64_t row = rows[k], at = repeat_of(repeats, row);
    if (at < repeats.count && repeats.items[at] == repeats.items[i] && allows_row(index, rules, row)) return true;
  }
  return false;
}

// Whether an entry of the repeats has a SID of a beam before m. (In shared memory these ordinals would need room for
// the most beams that there are.)
struct EarlierBeams {
  const IndexView& index;
  const RulesView* rules;  // then only its allowed rows there count
  const int64_t* ordinals;
  int32_t m;
  __device__ bool operator()(uint64_t i) const {
    const RepeatsView& repeats = index.repeats;
    const OrdinalRange item = ordinals_of_repeat(repeats, i);
    for (int32_t b = 0; b < m; ++b) {
      const auto ordinal = static_cast<uint64_t>(ordinals[b]);
      if (ordinals[b] >= 0 && item_has(repeats, item, ordinal) &&
          (rules == nullptr || has_row(index, *rules, i, ordinal)))
        return true;
    }
    return false;
  }
};

__device__ bool is_repeated(const int64_t* ordinals, int32_t m) {
  for (int32_t b = 0; b < m; ++b)
    if (ordinals[b] == ordinals[m]) return true;
  return false;
}

// Writes runs of item rows, one after the other; to nullptr: only counts them.
struct WriteRows {
  int64_t* out;
  __device__ void operator()(uint64_t first, int64_t rows) {
    for (int64_t r = 0; out != nullptr && r < rows; ++r) *out++ = static_cast<int64_t>(first) + r;
  }
};

// Row by row: under rules any may be forbidden, and those of a snapshot are in two places.
template <bool kDistinct>
__device__ int64_t list_each_row(const Slot& held, const EarlierBeams& earlier, uint64_t ordinal, int64_t most,
                                 int64_t* out) {
  const IndexView& index = *held.index;
  const ItemRows rows(index, ordinal);
  int64_t found = 0;
  for (uint64_t i = 0; i < rows.count() && found <= most; ++i) {
    const uint64_t row = rows[i];
    if (held.rules != nullptr && !allows_row(index, *held.rules, row)) continue;
    if constexpr (kDistinct) {
      const uint64_t repeat = repeat_of(index.repeats, row);
      if (repeat < index.repeats.count && earlier(repeat)) continue;
    }
    if (found < most && out != nullptr) out[found] = static_cast<int64_t>(row);
    ++found;
  }
  return found;
}

// Writes at most `most` item rows of beam m; returns how many there are or, if they are more, some number above it.
// `ordinals` are those of the slot's beams, of which a distinct list leaves items out: known up to m.
template <bool kDistinct>
__device__ int64_t list_rows(const Slot& held, const int64_t* ordinals, int32_t m, int64_t ordinal, int64_t most,
                             int64_t* out) {
  const IndexView* index = held.index;
  if (index == nullptr || ordinal < 0) return 0;
  if (kDistinct && is_repeated(ordinals, m)) return 0;
  const EarlierBeams earlier{*index, held.rules, ordinals, m};
  if (held.rules != nullptr || index->overlay != nullptr)
    return list_each_row<kDistinct>(held, earlier, static_cast<uint64_t>(ordinal), most, out);
  const OrdinalRange all = item_rows(*index, static_cast<uint64_t>(ordinal));
  if constexpr (kDistinct) {
    return visit_distinct(index->repeats, all, most, earlier, WriteRows{out});
  } else {
    const auto count = static_cast<int64_t>(all.hi - all.lo);
    WriteRows{out}(all.lo, std::min(count, most));
    return count;
  }
}

template <int kThreads, bool kDistinct>
__global__ void __launch_bounds__(kThreads, kThreads == kFewThreads ? 24 : 7)  // or it would use local memory
    items_kernel(const __grid_constant__ SessionView session, const __grid_constant__ SlotBatch batch,
                 const __grid_constant__ ItemsView items) {
  constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
  auto& shared = shared_memory<ItemsShared<kThreads>>();
  const int32_t slot = batch.slots[blockIdx.x];
  if (!has_slot(session, slot)) return;
  const int64_t i = batch.first + blockIdx.x, beams = session.beams;
  const Slot held = session.table[slot];
  int64_t* const ordinals = session.ordinals + beams_at(session, slot);
  const int64_t limit = items.limit > 0 ? items.limit : kUnlimited;
  const int64_t of_sid = items.limit_per_sid > 0 ? items.limit_per_sid : kUnlimited;
  int64_t filled = 0;  // item rows of earlier beams, without the overall limit
  bool truncated = false;
  for (int32_t first = 0; first < session.beams; first += kThreads) {
    const int32_t m = first + thread_id();
    const int64_t at = i * beams + m;
    int64_t ordinal = -1;
    if (m < session.beams) {
      const OwnCodes<kThreads> codes{shared};
      const BeamSid beam = sid_of_beam(held.index, history_of(session, slot), session.level[slot], m,
                                       session.states[beams_at(session, slot) + m], HashKey(), codes, session.levels);
      ordinal = beam.ordinal;
      if (items.ordinals != nullptr) items.ordinals[at] = ordinal;
      if (items.lengths != nullptr) items.lengths[at] = beam.length;
      for (int32_t l = 0; items.sids != nullptr && l < session.levels; ++l)
        items.sids[at * session.levels + l] = codes[l];
      if (kDistinct) ordinals[m] = ordinal;
    }
    if (kDistinct) __syncthreads();  // a beam looks at the ordinals of those before it
    const int64_t found = list_rows<kDistinct>(held, ordinals, m, ordinal, of_sid, nullptr);
    const int64_t wanted = std::min(found, of_sid);
    int64_t total = 0;
    const int64_t before = filled + BlockScan<int64_t, kThreads>::before(wanted, total, shared.scan);
    filled += total;
    if (m >= session.beams) continue;
    const int64_t from = std::min(before, limit), to = std::min(before + wanted, limit);
    truncated = truncated || to - from < found;
    if (items.offsets != nullptr) items.offsets[i * (beams + 1) + m] = from;
    if (items.rows != nullptr && to > from)
      list_rows<kDistinct>(held, ordinals, m, ordinal, to - from, items.rows + i * items.limit + from);
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
  const LaunchShape shape{count, kThreads, bytes};
  return items.distinct ? launch(items_kernel<kThreads, true>, shape, stream, session, batch, items)
                        : launch(items_kernel<kThreads, false>, shape, stream, session, batch, items);
}

}  // namespace

cudaError_t warm_items_kernels(const SessionView& session, cudaStream_t stream) {
  for (const bool distinct : {false, true}) {
    ItemsView items;
    items.distinct = distinct;
    cudaError_t error = launch_batch<kManyThreads>(session, 1, SlotBatch{}, items, stream);
    if (error == cudaSuccess) error = launch_batch<kFewThreads>(session, 1, SlotBatch{}, items, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
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
