// An index as flat arrays: what lookups and kernels read. Plain pointers into a mapping, valid as long as the index.
//
// After verify=header the arrays have the sizes that the counts below give, and nothing is known of their contents: a
// reader loads each value once and clamps it (trie.h does). A node is a distinct prefix of l codes; edge i of level l
// is node i of level l+1, so next nodes are not stored. At the last level of a fixed-length index the edge is the
// ordinal. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/cpu_target.h"
#include "support/hashing.h"
#include "support/host_device.h"

namespace sidbeam {

inline constexpr int kMaxLevels = 64;
inline constexpr int kRankBits = 512;        // bits of a mask that share a rank
inline constexpr uint32_t kLeastDense = 64;  // children of a node with a mask, at least

// An array of unsigned integers stored in 2, 4 or 8 bytes each.
struct UintArray {
  const void* data = nullptr;
  int32_t width = 0;  // bytes of an element; 0: absent

  SIDBEAM_HD explicit operator bool() const { return width != 0; }
  SIDBEAM_HD uint64_t operator[](uint64_t i) const {
    if (width == 2) return static_cast<const uint16_t*>(data)[i];
    if (width == 4) return static_cast<const uint32_t*>(data)[i];
    return static_cast<const uint64_t*>(data)[i];
  }
};

// Calls visit(values) with the typed pointer.
template <class Visit>
void with_type(const UintArray& array, Visit&& visit) {
  if (array.width == 2) return visit(static_cast<const uint16_t*>(array.data));
  if (array.width == 4) return visit(static_cast<const uint32_t*>(array.data));
  visit(static_cast<const uint64_t*>(array.data));
}

// The edges that leave the nodes of one level.
struct LevelView {
  uint32_t codes = 0;         // V_l, the end not counted
  uint32_t max_children = 0;  // longest row, the end counted; a hint, not to be trusted
  uint64_t nodes = 0;         // with the ends of the level above, whose rows are empty
  uint64_t edges = 0;

  // stacked CSR, of a trie
  UintArray row_pointers;  // [nodes + 1], 4 or 8 bytes
  UintArray tokens;        // [edges], 2 or 4 bytes; V_l is the end

  // dense masks, beside the list; absent where dense_nodes is 0
  uint64_t dense_nodes = 0;
  const uint64_t* dense_bits = nullptr;   // [ceil(nodes / 64)]
  const uint32_t* dense_ranks = nullptr;  // [ceil(nodes / 512)]
  const uint64_t* masks = nullptr;        // [dense_nodes, mask_words()]
  const uint32_t* mask_ranks = nullptr;   // [dense_nodes, mask_rank_count()]

  // [nodes + 1] first ordinal of a node, 4 or 8 bytes; absent at levels with many nodes. With variable lengths the next
  // entry is no upper bound: SIDs that ended above may lie between (use trie_ordinals()).
  UintArray ordinals;
  uint64_t ends = 0;       // of variable length: edges that are ends
  UintArray end_edges;     // [ends], rising
  UintArray end_ordinals;  // [ends]

  UintArray column;  // [sids] of a sorted index, 2 or 4 bytes; V_l from the end of a SID on

  SIDBEAM_HD uint64_t mask_words() const { return (uint64_t{codes} + 1 + 63) / 64; }
  SIDBEAM_HD uint64_t mask_rank_count() const { return (uint64_t{codes} + 1 + kRankBits - 1) / kRankBits; }
};

// The codes of the deep levels of a compact trie, per SID: [sids, levels - csr_levels] (tail.h).
struct TailView {
  UintArray tokens;                  // 2 or 4 bytes; the top bit says where a SID begins an edge
  const uint64_t* splits = nullptr;  // if present, holds the split bits, and tokens are codes in full
};

enum class IdType : uint8_t { kI64 = 0, kU64 = 1, kString = 2 };

struct HashView {
  const uint64_t* keys = nullptr;  // [capacity], a power of two; ~0 empty. nullptr: no hash set
  UintArray ordinals;              // [capacity]
  uint64_t capacity = 0;
  bool hashed = false;  // keys are XXH3-64 with the seed and need the columns; else mixed radix
  uint64_t seed = 0;
  KeyMix mix;           // where a key begins
  uint64_t probes = 0;  // slots from there on that may hold the key
};

struct IndexView {
  CpuTarget target = CpuTarget::kBaseline;  // whose instructions hash and verify it on the CPU
  uint64_t sids = 0, items = 0;
  int32_t levels = 0;
  int32_t csr_levels = 0;  // of a trie: levels from here on are the tail
  bool variable_length = false;
  bool has_trie = false, has_columns = false;
  LevelView level[kMaxLevels];
  uint64_t ends = 0;       // of all levels; 0 where there is a tail
  UintArray end_ordinals;  // [ends] of all levels, rising
  TailView tail;
  HashView hash;
  UintArray item_offsets;  // [sids + 1]; absent: ordinal o has the one item row o
  IdType id_type = IdType::kI64;
  const int64_t* ids = nullptr;            // [items], with integer ids
  const uint64_t* name_offsets = nullptr;  // [items + 1], with string ids
  const char* names = nullptr;             // [name_bytes]
  uint64_t name_bytes = 0;
};

// Codes of the widest level, the end not counted.
inline uint32_t widest_level(const IndexView& index) {
  uint32_t widest = 0;
  for (int l = 0; l < index.levels; ++l) widest = index.level[l].codes > widest ? index.level[l].codes : widest;
  return widest;
}

}  // namespace sidbeam
