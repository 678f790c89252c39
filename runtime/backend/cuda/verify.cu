// Checks the structure of an index on the device: everything that verify=full checks except the checksums, the counts
// and the fingerprint, which belong to the file. Every element is checked by itself against its neighbours, in
// parallel; a sound index has no damage, and how much a damaged one has is not promised.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/hash_key.cuh"
#include "backend/cuda/kernels.h"
#include "index/read/find.h"
#include "index/verify/checks.h"
#include "support/cuda/block.cuh"
#include "support/cuda/launch.h"

namespace sidbeam::cuda {
namespace {

#if defined(SIDBEAM_EMULATED)
constexpr int kThreads = 32, kBlocks = 2;  // so that small tests go round, and do not wait for 147456 threads
#else
constexpr int kThreads = 256, kBlocks = 64;
#endif
// Rows of blocks. Levels are distributed over all but the last row, which checks what belongs to no level. The number
// is fixed because the host cannot see how many levels there are.
constexpr unsigned kRows = 9;

// The faults that a thread has found. Elements are distributed over all threads of the grid.
struct Damage {
  uint64_t count = 0;
  __device__ bool need(bool holds) {
    count += holds ? 0 : 1;
    return holds;
  }
  // The Report of checks.h; it does not say which rule is broken.
  template <class Kind, class... Numbers>
  __device__ bool need(bool holds, Kind, int, Message<Numbers...>, Numbers...) {
    return need(holds);
  }
};

template <class Visit>
__device__ void for_each(uint64_t n, const Visit& visit) {
  const uint64_t step = uint64_t{gridDim.x} * kThreads;
  for (uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += step) visit(i);
}

__device__ void check_rows(const IndexView& index, int l, Damage& damage) {
  const LevelView& level = index.level[l];
  for_each(1, [&](uint64_t) {
    check_first_pointer(damage, level, l);
    check_last_pointer(damage, level, l);
  });
  for_each(level.nodes, [&](uint64_t node) {
    const uint64_t before = level.row_pointers[node], pointer = level.row_pointers[node + 1];
    check_row_pointer(damage, level, l, node + 1, before, pointer);
    // Beyond the bound on children one breaks a rule anyway, and long rows are rare.
    const uint64_t begin = std::min(before, level.edges);
    const uint64_t end = clamped(pointer, begin, std::min(level.edges, begin + tokens_of(index, l) + 1));
    check_row(damage, index, l, node, begin, end, level.tokens);
  });
}

// The list of ends names every end once: it has the right length, its entries are ends, and they rise.
__device__ void check_ends(const IndexView& index, int l, Damage& damage) {
  const LevelView& level = index.level[l];
  if (!index.variable_length) return;
  for_each(level.ends, [&](uint64_t i) {
    const uint64_t edge = level.end_edges[i], ordinal = level.end_ordinals[i];
    damage.need(edge < level.edges && level.tokens[edge] == level.codes);
    damage.need(i == 0 || (rises(level.end_edges[i - 1], edge) && rises(level.end_ordinals[i - 1], ordinal)));
    damage.need(ordinal < index.sids);
    // The list has as many ends as all levels together, so it is the same set if every level's ends are in it.
    const uint64_t before = first_where(0, index.ends, [&](uint64_t k) { return index.end_ordinals[k] >= ordinal; });
    damage.need(index.ends == 0 || (before < index.ends && index.end_ordinals[before] == ordinal));
  });
  for_each(level.edges, [&](uint64_t edge) {
    if (level.tokens[edge] != level.codes) return;
    check_end(damage, level, l, first_where(0, level.ends, [&](uint64_t k) { return level.end_edges[k] >= edge; }),
              edge);
  });
}

__device__ void check_ordinals(const IndexView& index, int l, Damage& damage) {
  const LevelView& level = index.level[l];
  if (!level.ordinals) return;
  for_each(1, [&](uint64_t) { check_outer_ordinals(damage, index, l); });
  for_each(level.nodes, [&](uint64_t node) { damage.need(rises(level.ordinals[node], level.ordinals[node + 1])); });
}

__device__ void check_dense(const LevelView& level, int l, Damage& damage) {
  if (level.dense_nodes == 0) return;
  const uint64_t groups = (level.nodes + kRankBits - 1) / kRankBits, words = (level.nodes + 63) / 64;
  for_each(groups, [&](uint64_t g) {
    // Ranks are checked one by one: each group's is the previous rank plus the bits in between.
    uint64_t dense = level.dense_ranks[g];
    if (g == 0) check_dense_rank(damage, level, l, 0, 0);
    for (uint64_t w = g * (kRankBits / 64); w < (g + 1) * (kRankBits / 64) && w < words; ++w)
      dense += bits_set(level.dense_bits[w]);
    if (g + 1 < groups) {
      check_dense_rank(damage, level, l, g + 1, dense);
    } else {
      check_dense_count(damage, level, l, dense);
    }
  });
  for_each(words * 64, [&](uint64_t node) {
    if ((level.dense_bits[node / 64] >> node % 64 & 1) == 0) return;
    const int64_t rank = dense_rank(level, node);
    const uint64_t dense = rank < 0 ? level.dense_nodes : static_cast<uint64_t>(rank);
    if (check_dense_bit(damage, level, l, node, dense)) check_mask(damage, level, l, node, dense);
  });
}

__device__ void check_tail(const IndexView& index, Damage& damage) {
  const LevelView& level = index.level[index.csr_levels];
  for_each(index.sids, [&](uint64_t i) {
    const uint64_t after = first_where(0, level.nodes, [&](uint64_t n) { return level.ordinals[n] > i; });
    const uint64_t node = after > 0 ? after - 1 : 0, begin = level.ordinals[node];
    const bool ends = is_end_node(index, index.csr_levels, node);
    const bool above = begin == i ? ends : ended_above_tail(index, i);
    // A node's own SIDs come first, then those that ended above the next; before all nodes are such SIDs alone.
    if (!damage.need(after > 0 || above)) return;
    damage.need(begin == i || above || (!ends && !ended_above_tail(index, i - 1)));
    if (!above) check_run(damage, index, node, i - begin + 1);
    read_tail(index.tail, [&](const auto& entries) {
      check_tail_row(damage, index, entries, i, begin == i || above, above);
      return 0;
    });
  });
  for_each(1, [&](uint64_t) { damage.need(!has_tail_padding(index)); });
}

// With a trie, the columns must agree with it.
__device__ void check_columns(const IndexView& index, Damage& damage) {
  for_each(index.sids, [&](uint64_t i) {
    bool differs = i == 0, ended = false;
    State state;
    bool found = true;
    for (int l = 0; l < index.levels; ++l) {
      const LevelView& level = index.level[l];
      const uint64_t code = level.column[i], before = i == 0 ? code : level.column[i - 1];
      check_code(damage, index, l, i, code, ended);
      check_code_order(damage, l, i, differs, before, code);
      differs = begins_edge(differs, before, code);
      if (index.has_trie && found && !ended) found = follow_base(index, state, static_cast<uint32_t>(code));
      ended = ended || code == level.codes;
    }
    check_distinct(damage, i, differs);
    if (index.has_trie) damage.need(found && base_ordinal(index, state) == i);
  });
}

// The codes of an ordinal. (A copy of them would be in local memory.)
struct CodesOf {
  const IndexView& index;
  uint64_t ordinal;
  __device__ int32_t operator[](int l) const { return static_cast<int32_t>(index.level[l].column[ordinal]); }
};

__device__ uint64_t key_of_ordinal(const IndexView& index, uint64_t ordinal) {
  return HashKey()(index, CodesOf{index, ordinal});
}

// Every SID is in the hash set, which holds nothing else.
__device__ void check_hash(const IndexView& index, Damage& damage) {
  if (!index.has_columns) return;
  for_each(index.sids, [&](uint64_t i) {
    damage.need(hash_find(index, CodesOf{index, i}, HashKey()) == static_cast<int64_t>(i));
  });
  for_each(index.hash.capacity, [&](uint64_t slot) {
    check_empty_slot(damage, index.hash, slot);
    if (is_used(index.hash.keys[slot]) && check_slot_ordinal(damage, index, slot))
      check_slot_key(damage, index, slot, key_of_ordinal);
  });
}

__device__ void check_level(const IndexView& index, int l, Damage& damage) {
  if (!index.has_trie) return;
  check_ordinals(index, l, damage);
  if (l >= index.csr_levels) return;
  check_rows(index, l, damage);
  check_ends(index, l, damage);
  check_dense(index.level[l], l, damage);
}

__global__ void __launch_bounds__(kThreads) verify_kernel(const IndexView* view, unsigned long long* damaged) {
  const IndexView& index = *view;
  Damage damage;
  if (blockIdx.y + 1 < kRows) {
    for (int l = static_cast<int>(blockIdx.y); l < index.levels; l += static_cast<int>(kRows) - 1)
      check_level(index, l, damage);
  } else {
    if (index.has_trie && index.csr_levels < index.levels) check_tail(index, damage);
    if (index.has_columns) check_columns(index, damage);
    if (index.hash.keys != nullptr) check_hash(index, damage);
    if (index.item_offsets) for_each(index.sids + 1, [&](uint64_t o) { check_item_offset(damage, index, o); });
  }
  if (damage.count != 0) atomicAdd(damaged, static_cast<unsigned long long>(damage.count));
}

}  // namespace

cudaError_t launch_verify(const IndexView* index, uint64_t* damage, cudaStream_t stream) {
  LaunchShape shape{kBlocks, kThreads};
  shape.rows = kRows;
  return launch(verify_kernel, shape, stream, index, reinterpret_cast<unsigned long long*>(damage));
}

}  // namespace sidbeam::cuda
