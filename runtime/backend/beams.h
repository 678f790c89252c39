// The rules of beams, for every backend: how they begin, what follows them, when they end, and which SID and ordinal
// they stand for. All of it is safe on damaged contents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/level_columns.h"
#include "index/read/find.h"
#include "index/read/state.h"
#include "index/views.h"
#include "sidbeam/session.h"
#include "support/host_device.h"

namespace sidbeam {

// Whether a strategy walks the sorted columns. A beam then has, besides its state, the end of its range of ordinals.
SIDBEAM_HD inline bool uses_columns(int32_t strategy) {
  return strategy == SIDBEAM_STRATEGY_SORTED || strategy == SIDBEAM_STRATEGY_SORTED_TOPK;
}

// Whether a strategy looks up only the best codes of a row, one by one, at a level of an index.
SIDBEAM_HD inline bool probes_codes(int32_t strategy, const IndexView& index, int32_t level) {
  return strategy == SIDBEAM_STRATEGY_SORTED_TOPK ||
         (strategy == SIDBEAM_STRATEGY_HASH_FINAL && level == index.levels - 1);
}

// Whether the end may follow: an index of variable length has ends, and the vocabulary has a column for them.
SIDBEAM_HD inline bool has_end(const IndexView& index, const LevelColumns& columns) {
  return index.variable_length && columns.end_column >= 0;
}

// A beam's state and, if the strategy uses columns, the end of its ordinals.
struct BeamState {
  int64_t state = kDeadState;
  uint64_t range_end = 0;
};

// The first beam of a slot that begins at a prefix; dead if no SID has the prefix.
SIDBEAM_HD inline BeamState beginning_of(int32_t strategy, const IndexView& index, const int32_t* prefix,
                                         int32_t length) {
  State state;
  if (strategy == SIDBEAM_STRATEGY_TRIE)
    return {follow_prefix(index, prefix, length, state) ? encode_state(state) : kDeadState, 0};
  const int64_t opaque = encode_state({length, false, NodeKind::kOpaque, 0});
  if (strategy == SIDBEAM_STRATEGY_NONE) return {opaque, 0};
  if (!index.has_columns) return {follow_prefix(index, prefix, length, state) ? opaque : kDeadState, 0};
  const OrdinalRange range = prefix_in_columns(index, prefix, length);
  if (range.lo >= range.hi) return {};
  if (strategy == SIDBEAM_STRATEGY_HASH_FINAL) return {opaque, 0};
  return {encode_state({length, false, NodeKind::kSorted, range.lo}), range.hi};
}

// The state that follows a beam by a code (V_l: the end), for strategies other than the trie. `before` are the beam's
// ordinals, if the strategy uses columns.
SIDBEAM_HD inline BeamState next_without_trie(int32_t strategy, const IndexView& index, int32_t level,
                                              const OrdinalRange& before, uint32_t code) {
  const bool ends = index.variable_length && code == index.level[level].codes;
  State next{level + 1, ends, NodeKind::kOpaque, 0};
  if (!uses_columns(strategy)) return {encode_state(next), 0};
  const OrdinalRange found = column_range(index, level, before, code);
  next.kind = NodeKind::kSorted;
  next.node = found.lo;
  return {encode_state(next), found.hi};
}

// The number of beams that must be fed after a step of `level`, given `live` beams of which `ended` have ended.
SIDBEAM_HD inline int32_t active_after(const IndexView& index, int32_t level, int32_t live, int32_t ended) {
  return level + 1 == index.levels ? 0 : live - ended;
}

// The parents and tokens of a slot's beams, [L, M].
struct History {
  const int32_t *parents, *tokens;
  int32_t beams;  // M
};

// The tokens of a beam before `level`, by walking its parents back. A slot that was named twice in one step may have
// invalid parents; their tokens are arbitrary.
template <class Codes>
SIDBEAM_HD void tokens_of_beam(const History& history, int32_t level, int32_t beam, Codes&& tokens) {
  for (int32_t l = level - 1; l >= 0; --l) {
    if (beam < 0 || beam >= history.beams) beam = 0;
    tokens[l] = history.tokens[int64_t{l} * history.beams + beam];
    beam = history.parents[int64_t{l} * history.beams + beam];
  }
}

// A beam's SID, apart from its codes.
struct BeamSid {
  int32_t length = 0;
  int64_t ordinal = -1;  // -1: no SID of the index, or not a whole one
};

template <class Codes, class Key>
SIDBEAM_HD int64_t ordinal_of_beam(const IndexView& index, int64_t word, const Codes& codes, int32_t length,
                                   const Key& hash_key) {
  const State state = decode_state(word);
  if (!state.ended && state.level < index.levels) return -1;
  if (state.kind == NodeKind::kOpaque) return find_sid(index, codes, length, hash_key);
  const uint64_t ordinal = state.kind == NodeKind::kSorted ? state.node : sid_ordinal(index, state);
  return ordinal < sid_count(index) ? static_cast<int64_t>(ordinal) : -1;
}

// The SID of a beam in `state` at `level`; none if the beam is dead or its slot has no index (nullptr). Fills
// codes[0 .. levels), -1 after the SID's last: the end and anything after it are not codes. hash_key(index, codes) is
// the key of a SID.
template <class Codes, class Key>
SIDBEAM_HD BeamSid sid_of_beam(const IndexView* index, const History& history, int32_t level, int32_t beam,
                               int64_t state, const Key& hash_key, Codes&& codes, int32_t levels) {
  BeamSid sid;
  level = index != nullptr && is_live(state) ? std::min(level, std::min(index->levels, levels)) : 0;
  tokens_of_beam(history, level, beam, codes);
  for (int32_t l = 0; l < levels; ++l) {
    if (l < level && is_code(index->level[l], codes[l])) {
      sid.length = l + 1;
    } else {
      codes[l] = -1;
    }
  }
  if (level > 0) sid.ordinal = ordinal_of_beam(*index, state, codes, sid.length, hash_key);
  return sid;
}

}  // namespace sidbeam
