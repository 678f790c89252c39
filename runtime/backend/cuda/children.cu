// The columns that a session's next step reads, where it reads children alone: counted, summed, written.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/session.cuh"
#include "support/cuda/block_fold.cuh"

namespace sidbeam::cuda {
namespace {

constexpr int kListThreads = 256, kListWarps = kListThreads / kWarp;
// Threads of the block that sums, and consecutive beams of each.
#if defined(SIDBEAM_EMULATED)
constexpr int kSumThreads = 32, kSumBeams = 2;  // so that small tests go on behind the first sums
#else
constexpr int kSumThreads = 512, kSumBeams = 8;
#endif

struct ListView {
  const int32_t* slots = nullptr;
  int64_t count = 0, capacity = 0;
  int64_t* offsets = nullptr;
  int32_t* columns = nullptr;
};

// Calls give(column, its number) for every child of a beam, a lane for each; returns how many there are. Called by a
// warp, whose lanes have the same arguments.
template <class Give>
__device__ uint32_t for_each_child(const SessionView& session, const Entry& entry, int32_t m, const Give& give) {
  const int64_t state = session.states[beams_at(session, entry.slot) + m];
  if (is_ended(state) || !is_live(state)) return 0;
  const Children children = children_of_beam(session, entry, m);
  const LevelColumns columns = session.columns[entry.level];
  uint32_t found = 0;
  for (uint32_t first = 0; first < children.count; first += kWarp) {
    const uint32_t i = first + static_cast<uint32_t>(lane_id());
    uint32_t code = 0;
    int64_t column = -1;
    if (i < children.count && children.at_number(i, code))
      column = code == children.codes ? columns.end_column : columns.column(code);
    const unsigned there = __ballot_sync(kAllLanes, column >= 0);
    if (column >= 0) give(column, found + static_cast<uint32_t>(__popc(there & ((1U << lane_id()) - 1))));
    found += static_cast<uint32_t>(__popc(there));
  }
  return found;
}

// Calls work(entry, m, its place in the lists) with this warp's beam; the entry is valid if `runs`.
template <class Work>
__device__ __forceinline__ void with_beam(const SessionView& session, const ListView& list, const Work& work) {
  const unsigned parts = static_cast<unsigned>(session.beams + kListWarps - 1) / kListWarps;
  const int64_t batch = blockIdx.x / parts;
  const auto m = static_cast<int32_t>(blockIdx.x % parts) * kListWarps + warp_id();
  if (m >= session.beams) return;
  StepView step;
  step.slots = list.slots;
  Entry entry;
  const bool runs = find_entry(session, step, batch, entry) && m < entry.live;
  work(entry, m, batch * session.beams + m, runs);
}

// Leaves each beam's number of children where the sum of those before it will be.
__global__ void __launch_bounds__(kListThreads, 4)
    count_kernel(const __grid_constant__ SessionView session, ListView list) {
  with_beam(session, list, [&](const Entry& entry, int32_t m, int64_t at, bool runs) {
    const uint32_t found = runs ? for_each_child(session, entry, m, [](int64_t, uint32_t) {}) : 0;
    if (lane_id() == 0) list.offsets[at] = found;
  });
}

// One block, which goes through all beams.
__global__ void __launch_bounds__(kSumThreads) sum_kernel(int64_t* offsets, int64_t beams) {
  using Scan = BlockScan<int64_t, kSumThreads>;
  auto& storage = shared_memory<typename Scan::Storage>();
  int64_t before = 0;
  for (int64_t first = 0; first < beams; first += kSumThreads * kSumBeams) {
    const int64_t at = first + int64_t{thread_id()} * kSumBeams;
    int64_t counts[kSumBeams], sum = 0, total = 0;
#pragma unroll
    for (int i = 0; i < kSumBeams; ++i) {
      counts[i] = at + i < beams ? offsets[at + i] : 0;
      sum += counts[i];
    }
    int64_t next = before + Scan::before(sum, total, storage);
#pragma unroll
    for (int i = 0; i < kSumBeams; ++i) {
      if (at + i < beams) offsets[at + i] = next;
      next += counts[i];
    }
    before += total;
  }
  if (thread_id() == 0) offsets[beams] = before;
}

__global__ void __launch_bounds__(kListThreads, 4)
    list_kernel(const __grid_constant__ SessionView session, ListView list) {
  with_beam(session, list, [&](const Entry& entry, int32_t m, int64_t at, bool runs) {
    const int64_t first = runs ? list.offsets[at] : list.capacity;
    if (first >= list.capacity) return;
    for_each_child(session, entry, m, [&](int64_t column, uint32_t i) {
      if (first + i < list.capacity) list.columns[first + i] = column <= INT32_MAX ? static_cast<int32_t>(column) : -1;
    });
  });
}

cudaError_t launch_all(const SessionView& session, const ListView& list, cudaStream_t stream) {
  const LaunchShape shape{list.count * ((session.beams + kListWarps - 1) / kListWarps), kListThreads};
  cudaError_t error = launch(count_kernel, shape, stream, session, list);
  if (error != cudaSuccess) return error;
  const LaunchShape one{1, kSumThreads, sizeof(BlockScan<int64_t, kSumThreads>::Storage)};
  error = launch(sum_kernel, one, stream, list.offsets, list.count * session.beams);
  return error == cudaSuccess ? launch(list_kernel, shape, stream, session, list) : error;
}

}  // namespace

cudaError_t launch_children(const SessionView& session, const int32_t* slots, int64_t count, const ChildColumns& out,
                            cudaStream_t stream) {
  return launch_all(session, {slots, count, out.capacity, out.offsets, out.columns}, stream);
}

// The session's counters are memory for the offsets of one beam, which no slot has; they are cleared afterwards.
cudaError_t warm_children_kernels(const SessionView& session, cudaStream_t stream) {
  ListView list;
  list.count = 1;
  list.offsets = session.counters;
  return launch_all(session, list, stream);
}

}  // namespace sidbeam::cuda
