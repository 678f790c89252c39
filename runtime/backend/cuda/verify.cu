// The structure of an index on the device: what verify=full checks of a file, less the checksums, the counts and the
// fingerprint, which are the file's. Every element is checked by itself against its neighbours, in parallel; a sound
// index has no damage, and how much a damaged one has is not promised. SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/block.cuh"
#include "backend/cuda/hash_key.cuh"
#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"
#include "index/read/find.h"

namespace sidbeam::cuda {
namespace {

constexpr int kThreads = 256, kBlocks = 64;
// Rows of blocks: levels are dealt out to all but the last, which checks what belongs to no level. The host cannot see
// how many levels there are.
constexpr unsigned kRows = 9;

// What a thread has found; elements are dealt out to all threads of the grid.
struct Damage {
  uint64_t count = 0;
  __device__ void need(bool sound) { count += sound ? 0 : 1; }
};

template <class Visit>
__device__ void for_each(uint64_t n, const Visit& visit) {
  const uint64_t step = uint64_t{gridDim.x} * kThreads;
  for (uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += step) visit(i);
}

// Row pointers begin at 0, do not fall and end at the edges; ends have no children, others some. Children rise and stay
// below the bound.
__device__ void check_rows(const IndexView& index, int l, Damage& damage) {
  const LevelView& level = index.level[l];
  const uint64_t bound = uint64_t{level.codes} + (index.variable_length && l > 0 ? 1 : 0);
  for_each(
      1, [&](uint64_t) { damage.need(level.row_pointers[0] == 0 && level.row_pointers[level.nodes] == level.edges); });
  for_each(level.nodes, [&](uint64_t node) {
    const uint64_t begin = level.row_pointers[node], end = level.row_pointers[node + 1];
    damage.need(begin <= end && end <= level.edges);
    damage.need((begin == end) == is_end_node(index, l, node));
    // Long rows are few, or none: V_l + 1 is all that a row may have.
    const Row row = row_of(level, node);
    for (uint64_t edge = row.begin + 1; edge < row.begin + row.count; ++edge)
      damage.need(level.tokens[edge - 1] < level.tokens[edge]);
  });
  for_each(level.edges, [&](uint64_t edge) { damage.need(level.tokens[edge] < bound); });
}

// The list of ends names every end once: as many as there are, each an end, rising.
__device__ void check_ends(const IndexView& index, int l, Damage& damage) {
  const LevelView& level = index.level[l];
  if (!index.variable_length) return;
  for_each(level.ends, [&](uint64_t i) {
    const uint64_t edge = level.end_edges[i];
    damage.need(edge < level.edges && level.tokens[edge] == level.codes);
    damage.need(i == 0 || level.end_edges[i - 1] < edge);
    damage.need(level.end_ordinals[i] < index.sids);
    damage.need(i == 0 || level.end_ordinals[i - 1] < level.end_ordinals[i]);
    // As many ends as all levels together have are in the list of all: that each level's are there makes them the same.
    const uint64_t before =
        first_where(0, index.ends, [&](uint64_t k) { return index.end_ordinals[k] >= level.end_ordinals[i]; });
    damage.need(index.ends == 0 || (before < index.ends && index.end_ordinals[before] == level.end_ordinals[i]));
  });
  for_each(level.edges, [&](uint64_t edge) {
    if (level.tokens[edge] == level.codes) damage.need(end_ordinal(index, l, edge) < index.sids);
  });
}

__device__ void check_ordinals(const IndexView& index, int l, Damage& damage) {
  const LevelView& level = index.level[l];
  if (!level.ordinals) return;
  for_each(1, [&](uint64_t) { damage.need(level.ordinals[level.nodes] == index.sids); });
  for_each(level.nodes, [&](uint64_t node) {
    damage.need(level.ordinals[node] < level.ordinals[node + 1]);
    damage.need(node != 0 || level.ordinals[0] == 0 || l > 0);
  });
}

// The mask of a dense node is its list: every child's bit is set, and as many bits as there are children.
__device__ void check_mask(const LevelView& level, uint64_t node, uint64_t dense, Damage& damage) {
  const uint64_t* mask = level.masks + dense * level.mask_words();
  const uint32_t* ranks = level.mask_ranks + dense * level.mask_rank_count();
  const Row row = row_of(level, node);
  uint64_t set = 0;
  for (uint64_t w = 0; w < level.mask_words(); ++w) {
    if (w % (kRankBits / 64) == 0) damage.need(ranks[w / (kRankBits / 64)] == set);
    set += bits_set(mask[w]);
  }
  damage.need(set == row.count);
  for (uint64_t edge = row.begin; edge < row.begin + row.count; ++edge) {
    const uint64_t token = level.tokens[edge];
    damage.need(token <= level.codes && (mask[token / 64] >> token % 64 & 1) != 0);
  }
}

__device__ void check_dense(const LevelView& level, Damage& damage) {
  if (level.dense_nodes == 0) return;
  const uint64_t groups = (level.nodes + kRankBits - 1) / kRankBits, words = (level.nodes + 63) / 64;
  for_each(groups, [&](uint64_t g) {
    // Ranks follow from those before: each group's is the one before and the bits between.
    uint64_t bits = 0;
    for (uint64_t w = g * (kRankBits / 64); w < (g + 1) * (kRankBits / 64) && w < words; ++w)
      bits += bits_set(level.dense_bits[w]);
    const uint64_t next = g + 1 < groups ? level.dense_ranks[g + 1] : level.dense_nodes;
    damage.need((g != 0 || level.dense_ranks[0] == 0) && level.dense_ranks[g] + bits == next);
  });
  for_each(words * 64, [&](uint64_t node) {
    if ((level.dense_bits[node / 64] >> node % 64 & 1) == 0) return;
    const int64_t dense = dense_rank(level, node);
    damage.need(dense >= 0);
    if (dense >= 0) check_mask(level, node, static_cast<uint64_t>(dense), damage);
  });
}

// A row of the tail against the one before: it rises from the first level in which it differs, which its split bits
// name; what has ended stays ended.
__device__ void check_tail_row(const IndexView& index, uint64_t i, bool begins, bool ended, Damage& damage) {
  const uint64_t width = tail_width(index), first = tail_entry(index, i, index.csr_levels);
  read_tail(index.tail, [&](const auto& entries) {
    bool differs = begins;
    for (int l = index.csr_levels; l < index.levels; ++l) {
      const uint64_t at = first + static_cast<uint64_t>(l - index.csr_levels);
      const uint32_t token = entries.token(at), codes = index.level[l].codes;
      damage.need(token <= codes && (ended ? token == codes : token < codes || index.variable_length));
      if (!differs && token != entries.token(at - width)) {
        differs = true;
        damage.need(token > entries.token(at - width));
      }
      damage.need(entries.split(at) == (differs && !ended));
      ended = ended || token == codes;
    }
    damage.need(differs);
    return 0;
  });
}

__device__ void check_tail(const IndexView& index, Damage& damage) {
  const LevelView& level = index.level[index.csr_levels];
  for_each(index.sids, [&](uint64_t i) {
    const uint64_t after = first_where(0, level.nodes, [&](uint64_t n) { return level.ordinals[n] > i; });
    damage.need(after > 0);
    if (after == 0) return;
    const uint64_t node = after - 1, begin = level.ordinals[node];
    const bool ends = is_end_node(index, index.csr_levels, node);
    const bool above = begin == i ? ends : ended_above_tail(index, i);
    // A node's own SIDs come first, then those that ended above the next.
    damage.need(begin == i || above || (!ends && !ended_above_tail(index, i - 1)));
    damage.need(above || i - begin < kMaxRun);
    check_tail_row(index, i, begin == i || above, above, damage);
  });
}

// Columns are in range, ended SIDs stay ended, and SIDs rise. With a trie, they are the trie's.
__device__ void check_columns(const IndexView& index, Damage& damage) {
  for_each(index.sids, [&](uint64_t i) {
    bool differs = i == 0, ended = false;
    State state;
    bool found = true;
    for (int l = 0; l < index.levels; ++l) {
      const LevelView& level = index.level[l];
      const uint64_t code = level.column[i], bound = uint64_t{level.codes} + (index.variable_length && l > 0 ? 1 : 0);
      damage.need(code < bound && (!ended || code == level.codes));
      if (!differs && code != level.column[i - 1]) {
        differs = true;
        damage.need(code > level.column[i - 1]);
      }
      if (index.has_trie && found && !ended) found = follow(index, state, static_cast<uint32_t>(code));
      ended = ended || code == level.codes;
    }
    damage.need(differs);
    if (index.has_trie) damage.need(found && sid_ordinal(index, state) == i);
  });
}

// Every SID is found in the hash set, and no more are there.
__device__ void check_hash(const IndexView& index, Damage& damage) {
  if (!index.has_columns) return;
  for_each(index.sids, [&](uint64_t i) {
    int32_t codes[kMaxLevels];
    for (int l = 0; l < index.levels; ++l) codes[l] = static_cast<int32_t>(index.level[l].column[i]);
    damage.need(hash_find(index, codes, HashKey()) == static_cast<int64_t>(i));
  });
  for_each(index.hash.capacity, [&](uint64_t slot) {
    if (index.hash.keys[slot] == ~uint64_t{0}) return damage.need(index.hash.ordinals[slot] == 0);
    const uint64_t i = index.hash.ordinals[slot];
    damage.need(i < index.sids);
    if (i >= index.sids) return;
    int32_t codes[kMaxLevels];
    for (int l = 0; l < index.levels; ++l) codes[l] = static_cast<int32_t>(index.level[l].column[i]);
    damage.need(HashKey()(index, codes) == index.hash.keys[slot]);
  });
}

__device__ void check_items(const IndexView& index, Damage& damage) {
  if (!index.item_offsets) return;
  for_each(index.sids, [&](uint64_t i) {
    damage.need(index.item_offsets[i] < index.item_offsets[i + 1]);
    damage.need(i != 0 || index.item_offsets[0] == 0);
    damage.need(i + 1 != index.sids || index.item_offsets[i + 1] == index.items);
  });
}

__device__ void check_level(const IndexView& index, int l, Damage& damage) {
  if (!index.has_trie) return;
  check_ordinals(index, l, damage);
  if (l >= index.csr_levels) return;
  check_rows(index, l, damage);
  check_ends(index, l, damage);
  check_dense(index.level[l], damage);
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
    check_items(index, damage);
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
