// An index as flat arrays for lookups and kernels. The views are plain pointers into a mapping, valid as long as the
// index.
//
// After verify=header the arrays have the sizes that the counts below give, but their contents are unchecked. A reader
// therefore loads each value once and clamps it, as trie.h does. A node is a distinct prefix of l codes. Edge i of
// level l is node i of level l+1, so next nodes are not stored. At the last level of a fixed-length index the edge is
// the ordinal.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/cpu_target.h"
#include "support/hashing.h"
#include "support/host_device.h"

namespace sidbeam {

inline constexpr int kMaxLevels = 255;
inline constexpr int kRankBits = 512;        // bits of a mask per rank
inline constexpr uint32_t kLeastDense = 64;  // fewest children of a node with a mask

// An array of unsigned integers stored in 2, 4 or 8 bytes each.
struct UintArray {
  const void* data = nullptr;
  int32_t width = 0;  // bytes per element; 0: absent

  SIDBEAM_HD explicit operator bool() const { return width != 0; }
  SIDBEAM_HD uint64_t operator[](uint64_t i) const {
    if (width == 2) return static_cast<const uint16_t*>(data)[i];
    if (width == 4) return static_cast<const uint32_t*>(data)[i];
    return static_cast<const uint64_t*>(data)[i];
  }
  const void* address(uint64_t i) const { return static_cast<const char*>(data) + i * static_cast<uint64_t>(width); }
};

// Whether bit i of words is set, the lowest first.
SIDBEAM_HD inline bool has_bit(const uint64_t* words, uint64_t i) { return (words[i / 64] >> i % 64 & 1) != 0; }

// Calls visit(values) with a pointer of the array's element type.
template <class Visit>
void with_type(const UintArray& array, Visit&& visit) {
  if (array.width == 2) return visit(static_cast<const uint16_t*>(array.data));
  if (array.width == 4) return visit(static_cast<const uint32_t*>(array.data));
  visit(static_cast<const uint64_t*>(array.data));
}

// The edges that leave the nodes of one level.
struct LevelView {
  uint32_t codes = 0;         // V_l, not including the end
  uint32_t max_children = 0;  // longest row, including the end; an untrusted hint
  uint64_t nodes = 0;         // includes the ends of the level above, whose rows are empty
  uint64_t edges = 0;

  // Stacked CSR of a trie.
  UintArray row_pointers;  // [nodes + 1], 4 or 8 bytes
  UintArray tokens;        // [edges], 2 or 4 bytes; V_l is the end

  // Dense masks in addition to the list; absent if dense_nodes is 0.
  uint64_t dense_nodes = 0;
  const uint64_t* dense_bits = nullptr;   // [ceil(nodes / 64)]
  const uint32_t* dense_ranks = nullptr;  // [ceil(nodes / 512)]
  const uint64_t* masks = nullptr;        // [dense_nodes, mask_words()]
  const uint32_t* mask_ranks = nullptr;   // [dense_nodes, mask_rank_count()]

  // [nodes + 1] The first ordinal of each node, 4 or 8 bytes; absent at levels with many nodes. With variable lengths
  // the next entry is no upper bound, since SIDs that ended above may lie between (use trie_ordinals()).
  UintArray ordinals;
  uint64_t ends = 0;       // edges that are ends; 0 with fixed lengths
  UintArray end_edges;     // [ends], ascending
  UintArray end_ordinals;  // [ends]

  UintArray column;  // [sids] of a sorted index, 2 or 4 bytes; V_l from the end of a SID on

  SIDBEAM_HD uint64_t mask_words() const { return (uint64_t{codes} + 1 + 63) / 64; }
  SIDBEAM_HD uint64_t mask_rank_count() const { return (uint64_t{codes} + 1 + kRankBits - 1) / kRankBits; }
};

// The codes of a compact trie's deep levels, per SID: [sids, levels - csr_levels] (see tail.h).
struct TailView {
  UintArray tokens;                  // 2 or 4 bytes; the top bit is set if the SID begins an edge
  const uint64_t* splits = nullptr;  // if present, holds the split bits; tokens are then plain codes
};

// Item rows whose item has several; see read/repeats.h. Derived from sound or damaged ids alike, and so itself sound.
struct RepeatsView {
  uint64_t count = 0;           // rows; 0: every item has one
  uint64_t repeated = 0;        // items that have several
  UintArray rows, items;        // [count] ascending; which of the repeated items each belongs to
  UintArray offsets, ordinals;  // [repeated + 1], [count]: of each of these items, ascending
};

struct OverlayView;

enum class IdType : uint8_t { kI64 = 0, kU64 = 1, kString = 2 };

struct HashView {
  const uint64_t* keys = nullptr;  // [capacity], a power of two; ~0: empty slot. nullptr: no hash set
  UintArray ordinals;              // [capacity]
  uint64_t capacity = 0;
  bool hashed = false;  // keys are seeded XXH3-64 and a match needs the columns; otherwise mixed radix
  uint64_t seed = 0;
  KeyMix mix;           // determines where a key begins
  uint64_t probes = 0;  // the number of slots from there on that may hold the key
  // The bits of XXH3-64 that make a hashed key. All but the one that marks empty slots; a test may cut it, so that keys
  // collide.
  uint64_t key_mask = ~uint64_t{0} >> 1;
};

struct IndexView {
  CpuTarget target = CpuTarget::kBaseline;  // the CPU hashes and verifies the index with its instructions
  uint64_t sids = 0, items = 0;
  int32_t levels = 0;
  int32_t csr_levels = 0;  // number of a trie's levels that have rows; deeper levels are the tail
  bool variable_length = false;
  bool has_trie = false, has_columns = false;
  LevelView level[kMaxLevels];
  uint64_t ends = 0;       // of all levels; 0 if there is a tail
  UintArray end_ordinals;  // [ends] of all levels, ascending
  TailView tail;
  HashView hash;
  UintArray item_offsets;  // [sids + 1]; absent: ordinal o has exactly one item, row o
  IdType id_type = IdType::kI64;
  const int64_t* ids = nullptr;            // [items], with integer ids
  const uint64_t* name_offsets = nullptr;  // [items + 1], with string ids
  const char* names = nullptr;             // [name_bytes]
  uint64_t name_bytes = 0;
  RepeatsView repeats;                   // of a copy on a device, once it is there; the host's are ItemRepeats
  const OverlayView* overlay = nullptr;  // of a snapshot: what was added since; the rest is the base alone
};

// The number of values that a code may take at a level, including the end, which counts at every level.
SIDBEAM_HD inline uint32_t symbols_at(const IndexView& index, int level) {
  return index.level[level].codes + (index.variable_length ? 1 : 0);
}

// The largest number of codes of any level, not including the end.
inline uint32_t widest_level(const IndexView& index) {
  uint32_t widest = 0;
  for (int l = 0; l < index.levels; ++l) widest = index.level[l].codes > widest ? index.level[l].codes : widest;
  return widest;
}

}  // namespace sidbeam
