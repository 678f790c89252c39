// The children of a beam, as an enumeration [0, count) in the order of codes. Any thread can ask for any entry:
//
//   edges     of a node of the trie with a list, or of one that the delta alone has (index/overlay.h)
//   merged    entries of a joined node's row, which are read like edges; where one leads is looked up
//   run       ordinals of a node of the trie's tail; those where the code changes count
//   codes     of the level, the end last: all of them, or those of a row's best top_k that exist
//   ordinals  of a range of the sorted columns; those where the code changes count
//   search    codes of the level, each looked up in the range, if the range is longer than the level has codes
//
// A candidate's place is its beam and its number in this enumeration (score.h). Places therefore follow the order of
// beam and code, and the number leads to the code and the next state without a search. Rules leave entries out of it,
// where there are two or more: a live beam has an allowed SID below it, and so has its only child.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/beams.h"
#include "backend/cuda/counters.h"
#include "backend/cuda/hash_key.cuh"
#include "backend/score.h"
#include "index/read/find.h"
#include "index/rules/subset.h"
#include "support/cuda/block.cuh"

namespace sidbeam::cuda {

// Keys order candidates by rising score, then falling place. No candidate has key 0.
__device__ inline uint32_t ordered(float score) {
  const uint32_t bits = __float_as_uint(score);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}
__device__ inline float unordered(uint32_t bits) {
  return __uint_as_float((bits & 0x80000000U) != 0 ? bits & 0x7FFFFFFFU : ~bits);
}
__device__ inline uint64_t key_of(float score, uint32_t place) {
  return uint64_t{ordered(score)} << 32 | static_cast<uint32_t>(~place);
}
__device__ inline float score_of_key(uint64_t key) { return unordered(static_cast<uint32_t>(key >> 32)); }
__device__ inline uint32_t place_of_key(uint64_t key) { return ~static_cast<uint32_t>(key); }

// A prefix and one code more. (A copy that a code is added to would be in local memory.)
struct Extended {
  const int32_t* prefix;
  int length;
  int32_t code;
  __device__ int32_t operator[](int l) const { return l < length ? prefix[l] : code; }
};

enum class Ways : int32_t { kNone, kEdges, kMerged, kRun, kCodes, kOrdinals, kSearch };

struct Children {
  const IndexView* index = nullptr;
  const LevelView* at = nullptr;
  int32_t level = 0, strategy = 0;
  Ways ways = Ways::kNone;
  bool ends = false;    // the end may be a child
  bool probes = false;  // codes are looked up one by one: those whose key is at least `least`
  uint32_t count = 0, codes = 0;
  uint64_t first = 0, last = 0;      // edges or ordinals; of merged rows, `last` is the delta's node
  uint64_t mark = 0;                 // kDeltaNode of edges of the delta
  uint64_t least = 0;                // set once the row has been read; see code_key()
  const int32_t* prefix = nullptr;   // the codes so far, if they are looked up in the hash set
  const RulesView* rules = nullptr;  // nullptr: every entry is allowed

  // Gets the code of child i < count; false if there is none. Does not check codes that have to be looked up.
  __device__ bool at_number(uint32_t i, uint32_t& token) const {
    switch (ways) {
      case Ways::kEdges:
      case Ways::kMerged:
        token = static_cast<uint32_t>(at->tokens[first + i]);
        return is_valid(token) && (rules == nullptr || allows_edge(i));
      case Ways::kRun:
        token = run_token(i);
        return is_valid(token) && (i == 0 || run_token(i - 1) != token) && (rules == nullptr || allows_run(i, token));
      case Ways::kOrdinals:
        token = static_cast<uint32_t>(at->column[first + i]);
        return is_valid(token) && (i == 0 || at->column[first + i - 1] != token);
      case Ways::kSearch: {
        token = i;
        const OrdinalRange found = column_range(*index, level, {first, last}, token);
        return found.lo < found.hi;
      }
      case Ways::kCodes:
        token = i;
        return true;
      default:
        return false;
    }
  }

  // Whether a code of a row's best exists.
  __device__ bool exists(uint32_t token) const {
    if (strategy == SIDBEAM_STRATEGY_SORTED_TOPK) {
      const OrdinalRange found = column_range(*index, level, {first, last}, token);
      return found.lo < found.hi;
    }
    return hash_find(*index, Extended{prefix, level, static_cast<int32_t>(token)}, HashKey()) >= 0;
  }

  // The state after child i, with its code.
  __device__ BeamState next(uint32_t i, uint32_t token) const {
    if (ways != Ways::kEdges && ways != Ways::kMerged && ways != Ways::kRun)
      return next_without_trie(strategy, *index, level, {first, last}, token);
    if (ways == Ways::kMerged) return {next_in_tries(token), 0};
    State state{level + 1, index->variable_length && token == codes, NodeKind::kTrie, (first + i) | mark};
    if (ways == Ways::kRun) {
      state.kind = NodeKind::kTail;
      state.node = pack_run(run_from(i, token));
    }
    return {encode_state(state), 0};
  }

  // Opens a node that the delta does not have.
  __device__ void open_base(uint64_t node) {
    at = &index->level[level];
    if (is_tail_level(*index, level)) {
      const Run run = run_of(*index, level, node);
      ways = Ways::kRun;
      first = run.lo;
      count = run.count;
    } else {
      open_row(Ways::kEdges, *at, node);
    }
  }
  // Opens a node of the delta; its own rules are those of one of the three.
  __device__ void open_added(uint64_t node) {
    const NodePlace place = node_place(*index, level, node);
    open_row(place.joined ? Ways::kMerged : Ways::kEdges, *place.level, place.node);
    last = node;
    mark = kDeltaNode;
    if (rules != nullptr) rules = place.joined ? rules->merged : rules->delta;
  }

 private:
  __device__ void open_row(Ways way, const LevelView& rows, uint64_t node) {
    const sidbeam::Row row = row_of(rows, node);
    ways = way;
    at = &rows;
    first = row.begin;
    count = row.count;
  }
  __device__ int64_t next_in_tries(uint32_t token) const {
    State state{level, false, NodeKind::kTrie, last};
    return follow(*index, state, token) ? encode_state(state) : kDeadState;
  }
  __device__ bool is_valid(uint32_t token) const { return token < codes || (ends && token == codes); }
  __device__ uint32_t run_token(uint32_t i) const {
    const uint64_t entry = tail_entry(*index, first + i, level);
    return read_tail(index->tail, [&](const auto& entries) { return entries.token(entry); });
  }
  // The ordinals from number i on that have this code.
  __device__ Run run_from(uint32_t i, uint32_t token) const {
    uint32_t end = i + 1;
    while (end < count && run_token(end) == token) ++end;
    return {first + i, end - i};
  }
  __device__ bool allows_edge(uint32_t i) const { return rules->allows(rules->level[level].edges, first + i); }
  __device__ bool allows_run(uint32_t i, uint32_t token) const {
    const Run run = run_from(i, token);
    return rules->allowed_of(rules->sids, run.lo, run.count) != 0;
  }
};

// The counter of rows with such children. (On a device no children are found by a mask.)
__device__ inline Counter kind_of(const Children& children) {
  if (children.probes) return kProbedRows;
  if (children.ways == Ways::kCodes) return kUnconstrainedRows;
  const bool of_trie = children.ways == Ways::kEdges || children.ways == Ways::kMerged || children.ways == Ways::kRun;
  return of_trie && children.count == 1 ? kSingleRows : kListRows;
}

// The children of a live beam that has not ended and is at `level`, a level of the index. Only strategy TRIE has rules.
__device__ inline Children children_of(const IndexView& index, const RulesView* rules, int32_t strategy, int32_t level,
                                       const LevelColumns& columns, int64_t state, uint64_t range_end) {
  Children children;
  children.index = &index;
  children.at = &index.level[level];
  children.level = level;
  children.strategy = strategy;
  children.codes = children.at->codes;
  children.ends = has_end(index, columns);
  children.probes = probes_codes(strategy, index, level);
  const uint64_t node = state_node(state);
  const uint32_t all = children.codes + (children.ends ? 1 : 0);
  if (strategy == SIDBEAM_STRATEGY_TRIE) {
    children.rules = rules;
    if (in_delta(index, level, node)) {
      children.open_added(node);
    } else {
      children.open_base(node);
    }
    if (children.count <= 1) children.rules = nullptr;
  } else if (uses_columns(strategy)) {
    children.first = node;
    children.last = std::min(range_end, index.sids);
    const uint64_t ordinals = children.last > node ? children.last - node : 0;
    children.ways = children.probes ? Ways::kCodes : ordinals <= all ? Ways::kOrdinals : Ways::kSearch;
    children.count = children.ways == Ways::kOrdinals ? static_cast<uint32_t>(ordinals) : all;
  } else {
    children.ways = Ways::kCodes;
    children.count = children.codes;
  }
  return children;
}

}  // namespace sidbeam::cuda
