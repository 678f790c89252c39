// What was added to an index since it was built, as a search reads it. The added (SID, item) pairs make a plain trie of
// their own, the delta. Its nodes of a prefix that the base has too are joined: they have merged rows, made when a
// version is published, with the children of both. So a step scans one row, as of any index, and only winners ask where
// they lead: to a node of the delta, joined or not, or to one that the base alone has.
//
// A SID, and a node, are allowed if they are in the base or in the delta; each of the two follows rules by itself.
//
// A snapshot is an index with an overlay. A version of a live catalogue (decode/version.h) is one, or its base alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/trie.h"
#include "index/views.h"

namespace sidbeam {

// In the node of a state: the node is the delta's. Above all numbers of nodes and all runs, so that what looks up nodes
// of the base finds none there.
inline constexpr uint64_t kDeltaNode = uint64_t{1} << 47;
inline constexpr uint64_t kNoNode = ~uint64_t{0};

// The joined nodes of one level.
struct OverlayLevel {
  // Their merged rows. Edges are entries of these rows alone: follow() asks where one leads. No ordinals, ends or ranks
  // within masks.
  LevelView rows;
  const uint64_t* base = nullptr;    // [rows.nodes] the base's node of the same prefix, numbered as in a state
  const uint64_t* joined = nullptr;  // [ceil(nodes / 64)] bits of the delta's nodes
  const uint32_t* ranks = nullptr;   // [ceil(nodes / 512)]
};

struct OverlayView {
  const IndexView* delta = nullptr;
  // [levels + 1]; at the last one are the ends of SIDs of full length, which have no rows. The root is always joined.
  const OverlayLevel* level = nullptr;
  uint64_t sids = 0, items = 0;  // of base and delta together
  // Numbers of added SIDs and item rows go on from the base's in the order in which they came, and stay while versions
  // share a base. A SID that both have keeps the base's.
  UintArray ordinals;        // [delta->sids] of the delta's SIDs
  UintArray rows;            // [delta->items] of the delta's item rows
  UintArray delta_ordinals;  // [sids - base.sids] and back
  UintArray delta_rows;      // [items - base.items]
  // SIDs that both have, by the base's ordinal, rising.
  UintArray shared_ordinals, shared_delta_ordinals;  // [shared]
  uint64_t shared = 0;
};

// Whether a node of a level is one of the delta, as the root is where there is one. (What is at hand is asked first,
// since few nodes need the overlay, a load.)
SIDBEAM_HD inline bool in_delta(const IndexView& index, int level, uint64_t node) {
  return (node >= kDeltaNode || level == 0) && index.overlay != nullptr;
}

// The place of a node of the delta among the joined ones of its level, or kNoNode.
SIDBEAM_HD inline uint64_t joined_place(const OverlayView& overlay, int level, uint64_t node) {
  const OverlayLevel& at = overlay.level[level];
  if (!has_bit(at.joined, node)) return kNoNode;
  return at.ranks[node / kRankBits] + BitsBefore()(at.joined, node);
}

// The base's node of the same prefix as one of the delta, numbered as in a state, or kNoNode.
SIDBEAM_HD inline uint64_t base_of(const OverlayView& overlay, int level, uint64_t node) {
  const uint64_t place = joined_place(overlay, level, node);
  return place != kNoNode ? overlay.level[level].base[place] : kNoNode;
}

// Where the row of a node above the tail, or of the delta, is.
struct NodePlace {
  const LevelView* level = nullptr;
  uint64_t node = 0;  // there
  bool added = false, joined = false;
};
SIDBEAM_HD inline NodePlace node_place(const IndexView& index, int level, uint64_t node) {
  if (!in_delta(index, level, node)) return {&index.level[level], node, false, false};
  const OverlayView& overlay = *index.overlay;
  const LevelView& own = overlay.delta->level[level];
  node &= ~kDeltaNode;
  if (node >= own.nodes) return {&own, own.nodes, true, false};  // which has no row
  const uint64_t place = joined_place(overlay, level, node);
  if (place == kNoNode) return {&own, node, true, false};
  return {&overlay.level[level].rows, place, true, true};
}

// The delta's item row of a snapshot's row >= index.items.
SIDBEAM_HD inline uint64_t delta_row(const IndexView& index, uint64_t row) {
  return index.overlay->delta_rows[row - index.items];
}

// SIDs of an index, or of a snapshot.
SIDBEAM_HD inline uint64_t sid_count(const IndexView& index) {
  return in_delta(index, 0, 0) ? index.overlay->sids : index.sids;
}

// The same of item rows.
SIDBEAM_HD inline uint64_t row_count(const IndexView& index) {
  return in_delta(index, 0, 0) ? index.overlay->items : index.items;
}

}  // namespace sidbeam
