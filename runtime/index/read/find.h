// Finds SIDs and ordinals. Device kernels and CPU lookups share these functions. All are safe on damaged contents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/read/state.h"
#include "index/views.h"
#include "support/hashing.h"

namespace sidbeam {

struct OrdinalRange {
  uint64_t lo = 0, hi = 0;
};

// The first i in [lo, hi) for which holds(i), or hi if there is none. Once true, holds must stay true.
template <class Holds>
SIDBEAM_HD uint64_t first_where(uint64_t lo, uint64_t hi, Holds&& holds) {
  while (lo < hi) {
    const uint64_t middle = lo + (hi - lo) / 2;
    if (holds(middle)) {
      hi = middle;
    } else {
      lo = middle + 1;
    }
  }
  return lo;
}

// The same where it is likely to be near lo.
template <class Holds>
SIDBEAM_HD uint64_t first_where_near(uint64_t lo, uint64_t hi, Holds&& holds) {
  uint64_t end = lo;
  for (uint64_t step = 1; end < hi && !holds(end); step *= 2) {
    lo = end + 1;
    end = hi - end > step ? end + step : hi;
  }
  return first_where(lo, end, holds);
}

// The SIDs in [lo, hi) that have `token` (V_l: the end) at `level`. All of [lo, hi) must have the same codes above.
SIDBEAM_HD inline OrdinalRange column_range(const IndexView& index, int level, OrdinalRange within, uint32_t token) {
  const UintArray& column = index.level[level].column;
  const uint64_t end = std::min(within.hi, index.sids);
  const uint64_t lo = first_where(within.lo, end, [&](uint64_t i) { return column[i] >= token; });
  const uint64_t hi = first_where(lo, end, [&](uint64_t i) { return column[i] > token; });
  return {lo, hi};
}

template <class Codes>
SIDBEAM_HD OrdinalRange prefix_in_columns(const IndexView& index, const Codes& prefix, int length) {
  OrdinalRange range{0, index.sids};
  for (int l = 0; l < length; ++l) {
    if (!is_code(index.level[l], prefix[l])) return {};
    range = column_range(index, l, range, static_cast<uint32_t>(prefix[l]));
  }
  return range;
}

// The ordinal of the end at edge `edge` of level `level`; sids if that edge is no end.
SIDBEAM_HD inline uint64_t end_ordinal(const IndexView& index, int level, uint64_t edge) {
  const LevelView& at = index.level[level];
  if (at.ends == 0) return index.sids;
  const uint64_t i = first_where(0, at.ends, [&](uint64_t k) { return at.end_edges[k] >= edge; });
  if (i == at.ends || at.end_edges[i] != edge) return index.sids;
  return std::min(at.end_ordinals[i], index.sids);
}

// The ordinal of a leaf. A leaf is an edge of the last level, numbered as a node of level `levels`.
SIDBEAM_HD inline uint64_t leaf_ordinal(const IndexView& index, uint64_t node) {
  if (!index.variable_length || index.ends == 0) return std::min(node, index.sids);
  const int last = index.levels - 1;
  if (is_end_node(index, index.levels, node)) return end_ordinal(index, last, node);
  const LevelView& level = index.level[last];
  uint64_t leaf = node;
  if (level.ends != 0) leaf -= first_where(0, level.ends, [&](uint64_t i) { return level.end_edges[i] >= node; });
  // The ends before the leaf are those with at most `leaf` full-length SIDs before them.
  const uint64_t ends = first_where(0, index.ends, [&](uint64_t i) {
    const uint64_t ordinal = index.end_ordinals[i];
    return ordinal >= i && ordinal - i > leaf;
  });
  return std::min(leaf + ends, index.sids);
}

// sid_ordinal() in the base alone.
SIDBEAM_HD inline uint64_t base_ordinal(const IndexView& index, const State& state) {
  if (state.kind == NodeKind::kTail) return std::min(unpack_run(state.node).lo, index.sids);
  return state.ended ? end_ordinal(index, state.level - 1, state.node) : leaf_ordinal(index, state.node);
}

// The ordinal of a trie state that is a whole SID (ended, or at the last level); sid_count() if damage makes it
// impossible to tell.
SIDBEAM_HD inline uint64_t sid_ordinal(const IndexView& index, const State& state) {
  const bool added = in_delta(index, state.level, state.node);
  const IndexView& trie = added ? *index.overlay->delta : index;
  const uint64_t ordinal = base_ordinal(trie, added ? delta_state(state) : state);
  if (ordinal >= trie.sids) return sid_count(index);
  return added ? index.overlay->ordinals[ordinal] : ordinal;
}

// The delta's ordinal of an ordinal < sid_count() of a snapshot with an overlay; delta->sids if the base alone has it.
SIDBEAM_HD inline uint64_t delta_ordinal(const IndexView& index, uint64_t ordinal) {
  const OverlayView& overlay = *index.overlay;
  if (ordinal >= index.sids) return overlay.delta_ordinals[ordinal - index.sids];
  const uint64_t at = first_where(0, overlay.shared, [&](uint64_t i) { return overlay.shared_ordinals[i] >= ordinal; });
  const bool is_shared = at < overlay.shared && overlay.shared_ordinals[at] == ordinal;
  return is_shared ? overlay.shared_delta_ordinals[at] : overlay.delta->sids;
}

// The item rows of an ordinal < sids, clamped to the items; of a snapshot those of the base.
SIDBEAM_HD inline OrdinalRange item_rows(const IndexView& index, uint64_t ordinal) {
  if (!index.item_offsets) return {ordinal, ordinal + 1};
  const uint64_t lo = std::min(index.item_offsets[ordinal], index.items);
  return {lo, clamped(index.item_offsets[ordinal + 1], lo, index.items)};
}

// The item rows of an ordinal, of a snapshot those of the base first.
struct ItemRows {
  OrdinalRange base, added;  // the latter are the delta's
  const OverlayView* overlay = nullptr;

  SIDBEAM_HD ItemRows(const IndexView& index, uint64_t ordinal) : overlay(index.overlay) {
    if (ordinal < index.sids) base = item_rows(index, ordinal);
    if (overlay == nullptr) return;
    const uint64_t own = delta_ordinal(index, ordinal);
    if (own < overlay->delta->sids) added = item_rows(*overlay->delta, own);
  }
  SIDBEAM_HD uint64_t count() const { return (base.hi - base.lo) + (added.hi - added.lo); }
  SIDBEAM_HD uint64_t operator[](uint64_t i) const {
    const uint64_t of_base = base.hi - base.lo;
    return i < of_base ? base.lo + i : overlay->rows[added.lo + (i - of_base)];
  }
};

// Calls visit(row) for the item rows of an ordinal until that returns false.
template <class Visit>
SIDBEAM_HD void for_each_item_row(const IndexView& index, uint64_t ordinal, const Visit& visit) {
  const ItemRows rows(index, ordinal);
  for (uint64_t i = 0; i < rows.count(); ++i)
    if (!visit(rows[i])) return;
}

template <class Codes>
SIDBEAM_HD int64_t find_sid_in_trie(const IndexView& index, const Codes& codes, int length) {
  State state;
  if (!follow_prefix(index, codes, length, state)) return -1;
  if (length < index.levels && !follow(index, state, index.level[length].codes)) return -1;
  const uint64_t ordinal = sid_ordinal(index, state);
  return ordinal < sid_count(index) ? static_cast<int64_t>(ordinal) : -1;
}

template <class Codes>
SIDBEAM_HD int64_t find_sid_in_columns(const IndexView& index, const Codes& codes, int length) {
  OrdinalRange range = prefix_in_columns(index, codes, length);
  if (length < index.levels) range = column_range(index, length, range, index.level[length].codes);
  return range.lo < range.hi ? static_cast<int64_t>(range.lo) : -1;
}

template <class Codes>
SIDBEAM_HD bool matches(const IndexView& index, uint64_t ordinal, const Codes& codes) {
  for (int l = 0; l < index.levels; ++l) {
    if (index.level[l].column[ordinal] != static_cast<uint32_t>(codes[l])) return false;
  }
  return true;
}

// Walks the slots of the hash set. The walk is bounded, so SIDs that crowd at one slot cannot make it long.
// codes[l] is the code of level l (an array, or what computes it); hash_key(index, codes) returns the key of a SID.
template <class Codes, class Key>
SIDBEAM_HD int64_t hash_find(const IndexView& index, const Codes& codes, const Key& hash_key) {
  for (int l = 0; l < index.levels; ++l) {
    // Mixed radix is unambiguous only for codes in range.
    const uint32_t most = index.level[l].codes - (index.variable_length ? 0 : 1);
    if (codes[l] < 0 || static_cast<uint32_t>(codes[l]) > most) return -1;
  }
  const uint64_t key = hash_key(index, codes), slots = index.hash.capacity - 1, probes = index.hash.probes;
  for (uint64_t probe = 0, slot = mix_key(index.hash.mix, key) & slots; probe < probes;
       ++probe, slot = (slot + 1) & slots) {
    const uint64_t found = index.hash.keys[slot];
    if (found == ~uint64_t{0}) return -1;
    if (found != key) continue;
    const uint64_t ordinal = index.hash.ordinals[slot];
    if (ordinal < index.sids && (!index.hash.hashed || matches(index, ordinal, codes)))
      return static_cast<int64_t>(ordinal);
  }
  return -1;
}

// The codes of a SID, then the ends that fill it up in the hash set.
template <class Codes>
struct FilledUp {
  const IndexView& index;
  const Codes& codes;
  int length;
  SIDBEAM_HD int32_t operator[](int l) const {
    return l < length ? codes[l] : static_cast<int32_t>(index.level[l].codes);
  }
};

// The ordinal of a whole SID, or -1. Searches the trie, the hash set or the columns, whichever exists.
template <class Codes, class Key>
SIDBEAM_HD int64_t find_sid(const IndexView& index, const Codes& codes, int length, const Key& hash_key) {
  if (length < 1 || length > index.levels || (length < index.levels && !index.variable_length)) return -1;
  if (index.has_trie) return find_sid_in_trie(index, codes, length);
  if (index.hash.keys == nullptr) return find_sid_in_columns(index, codes, length);
  for (int l = 0; l < length; ++l) {
    if (!is_code(index.level[l], codes[l])) return -1;
  }
  return hash_find(index, FilledUp<Codes>{index, codes, length}, hash_key);
}

}  // namespace sidbeam
