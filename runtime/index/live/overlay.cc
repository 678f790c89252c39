// SPDX-License-Identifier: Apache-2.0
#include "index/live/overlay.h"

#include <algorithm>
#include <numeric>

#include "index/format.h"
#include "index/live/base_children.h"
#include "index/read/find.h"
#include "index/read/state.h"
#include "support/parallel.h"

namespace sidbeam {

// Joined nodes of one level.
struct LevelJoin {
  const IndexView& base;
  const IndexView& delta;
  int32_t number;
  const uint64_t *nodes, *base_nodes;  // the delta's and the base's

  const LevelView& own() const { return delta.level[number]; }
  Row own_row(int64_t k) const { return row_of(own(), nodes[k]); }
};

// What is found of some joined nodes that follow each other.
struct JoinedPiece {
  int64_t first = 0, end = 0;         // their places among the joined nodes of the level
  std::vector<uint8_t> tokens;        // of their merged rows, and room for more
  size_t bytes = 0;                   // of the tokens
  std::vector<uint64_t> nodes, base;  // joined ones of the next level

  // Room for some more tokens. (A resize() per row would fill it with zeros first, which takes as long as the merge.)
  template <class Token>
  Token* room_for(size_t count) {
    const size_t most = bytes + count * sizeof(Token);
    if (most > tokens.size()) tokens.resize(std::max(most, 2 * tokens.size()));
    return reinterpret_cast<Token*>(tokens.data() + bytes);
  }
  // Takes what was written there, up to `behind`; returns the number of tokens.
  template <class Token>
  uint32_t take(const Token* begin, const Token* behind) {
    bytes += static_cast<size_t>(behind - begin) * sizeof(Token);
    return static_cast<uint32_t>(behind - begin);
  }
  void join(uint64_t node, uint64_t in_base) {
    nodes.push_back(node);
    base.push_back(in_base);
  }
};

namespace {

// How many joined nodes make a piece: those of so many children in the delta that the piece grows in a core's cache.
int64_t piece_nodes(const LevelView& delta) {
  constexpr uint64_t kPieceEdges = 1024;
  return static_cast<int64_t>(std::max<uint64_t>(delta.nodes * kPieceEdges / (delta.edges + 1), 1));
}

// Appends the codes of a merged row, those of both in order, and the nodes that both lead to; returns its length.
template <class Token, class BaseToken>
uint32_t merge_row(const LevelJoin& join, const Row& own, const Row& in_base, const BaseToken* tokens,
                   JoinedPiece& piece) {
  Token* const begin = piece.room_for<Token>(size_t{in_base.count} + own.count);
  Token* out = begin;
  uint64_t at = 0;
  // Few codes of the base lie between two of the delta: to copy them one by one beats a search and a call.
  const bool copies_singly = in_base.count / 16 < own.count;
  for (uint64_t edge = own.begin; edge < own.begin + own.count; ++edge) {
    const uint64_t token = join.own().tokens[edge];
    if (copies_singly) {
      while (at < in_base.count && tokens[at] < token) *out++ = static_cast<Token>(tokens[at++]);
    } else {
      const uint64_t next = first_where_near(at, in_base.count, [&](uint64_t i) { return tokens[i] >= token; });
      out = std::copy(tokens + at, tokens + next, out);
      at = next;
    }
    *out++ = static_cast<Token>(token);
    if (at < in_base.count && tokens[at] == token) piece.join(edge, in_base.begin + at++);
  }
  out = std::copy(tokens + at, tokens + in_base.count, out);
  return piece.take(begin, out);
}

// The same where the base's children are in its tail.
template <class Token, class Entries>
uint32_t merge_run(const LevelJoin& join, const Row& own, const Run& run, const Entries& entries, JoinedPiece& piece) {
  Token* const begin = piece.room_for<Token>(size_t{run.count} + own.count);
  Token* out = begin;
  RunChildren<Entries> child(join.base, join.number, run, entries);
  for (uint64_t edge = own.begin; edge < own.begin + own.count; ++edge) {
    const uint64_t token = join.own().tokens[edge];
    for (; child.is_there() && child.token() < token; child.next()) *out++ = static_cast<Token>(child.token());
    *out++ = static_cast<Token>(token);
    if (!child.is_there() || child.token() != token) continue;
    const uint32_t first = child.sid();
    child.next();
    piece.join(edge, pack_run({run.lo + first, child.sid() - first}));
  }
  for (; child.is_there(); child.next()) *out++ = static_cast<Token>(child.token());
  return piece.take(begin, out);
}

// Calls merge(row, the base's node) for each node of a piece; ends of SIDs have no row.
template <class Merge>
void join_nodes(const LevelJoin& join, const JoinedPiece& piece, int64_t nodes, uint32_t* counts, const Merge& merge) {
  for (int64_t k = piece.first; k < piece.end; ++k) {
    fetch_children_ahead(join.base, join.number, join.base_nodes, k, nodes);
    const Row own = join.own_row(k);
    counts[k] = own.count > 0 ? merge(own, join.base_nodes[k]) : 0;
  }
}

template <class Token>
void join_piece(const LevelJoin& join, JoinedPiece& piece, int64_t nodes, uint32_t* counts) {
  if (is_tail_level(join.base, join.number)) {
    read_tail(join.base.tail, [&](const auto& entries) {
      join_nodes(join, piece, nodes, counts, [&](const Row& own, uint64_t node) {
        return merge_run<Token>(join, own, run_of(join.base, join.number, node), entries, piece);
      });
    });
    return;
  }
  const LevelView& level = join.base.level[join.number];
  with_type(level.tokens, [&](const auto* tokens) {
    join_nodes(join, piece, nodes, counts, [&](const Row& own, uint64_t node) {
      const Row in_base = node_row(level, node).row;
      return merge_row<Token>(join, own, in_base, tokens + in_base.begin, piece);
    });
  });
}

// Codes of a damaged base may be too large.
void set_codes(const LevelView& level, const Row& row, uint64_t* mask) {
  for (uint64_t edge = row.begin; edge < row.begin + row.count; ++edge) {
    const uint64_t code = std::min<uint64_t>(level.tokens[edge], level.codes);
    mask[code / 64] |= uint64_t{1} << code % 64;
  }
}

// The mask of a dense merged row: that of the base, where it has one there too, and the codes that were added.
void merge_mask(const LevelJoin& join, int64_t k, const LevelView& merged, uint64_t* mask) {
  const bool in_tail = is_tail_level(join.base, join.number);
  const int64_t dense = in_tail ? -1 : node_row(join.base.level[join.number], join.base_nodes[k]).dense;
  if (dense < 0) return set_codes(merged, row_of(merged, static_cast<uint64_t>(k)), mask);
  std::copy_n(mask_of(join.base.level[join.number], dense), merged.mask_words(), mask);
  set_codes(join.own(), join.own_row(k), mask);
}

std::vector<JoinedPiece> join_level(const LevelJoin& join, int64_t nodes, int threads, uint32_t* counts) {
  const bool wide = join.own().tokens.width == 4;
  const int64_t together = piece_nodes(join.own());
  std::vector<JoinedPiece> pieces(static_cast<size_t>((nodes + together - 1) / together));
  parallel_for(threads, std::ssize(pieces), [&](int64_t i) {
    JoinedPiece& piece = pieces[static_cast<size_t>(i)];
    piece.first = i * together;
    piece.end = std::min(nodes, piece.first + together);
    wide ? join_piece<uint32_t>(join, piece, nodes, counts) : join_piece<uint16_t>(join, piece, nodes, counts);
  });
  return pieces;
}

}  // namespace

Overlay::Overlay(const IndexView& base, const IndexView& delta, int threads, const Allocator& allocator)
    : base_(base),
      delta_(delta),
      rows_(static_cast<size_t>(delta.levels) + 1),
      levels_(static_cast<size_t>(delta.levels) + 1),
      base_ordinals_(allocator, static_cast<int64_t>(delta.sids)) {
  std::fill(base_ordinals_.begin(), base_ordinals_.end(), kNoNode);
  rows_[0].nodes = Buffer<uint64_t>::zeroed(allocator, 1);
  rows_[0].base = Buffer<uint64_t>::zeroed(allocator, 1);
  set_joined(0, 1, allocator);
  for (int32_t l = 0; l < delta.levels; ++l) {
    LevelRows& rows = rows_[static_cast<size_t>(l)];
    const auto joined = static_cast<int64_t>(rows.nodes.size());
    const LevelJoin join{base, delta, l, rows.nodes.data(), rows.base.data()};
    Buffer<uint32_t> counts(allocator, joined);
    const std::vector<JoinedPiece> pieces = join_level(join, joined, threads, counts.data());
    merge_rows(join, pieces, counts.data(), threads, allocator);
    join_next(l, pieces, allocator);
    note_leaves(l + 1);
  }
  for (LevelRows& rows : rows_) rows.nodes = {};
  view_.delta = &delta_;
  view_.level = levels_.data();
}

// Notes which of the delta's nodes at a level are joined.
void Overlay::set_joined(int32_t number, uint64_t delta_nodes, const Allocator& allocator) {
  LevelRows& rows = rows_[static_cast<size_t>(number)];
  rows.joined = Buffer<uint64_t>::zeroed(allocator, static_cast<int64_t>(divide_up(delta_nodes, 64)));
  rows.ranks = Buffer<uint32_t>(allocator, static_cast<int64_t>(divide_up(delta_nodes, kRankBits)));
  for (const uint64_t node : rows.nodes) rows.joined[static_cast<int64_t>(node / 64)] |= uint64_t{1} << node % 64;
  uint64_t rank = 0;
  for (int64_t w = 0; w < rows.joined.size(); ++w) {
    if (w % (kRankBits / 64) == 0) rows.ranks[w / (kRankBits / 64)] = static_cast<uint32_t>(rank);
    rank += bits_set(rows.joined[w]);
  }
  OverlayLevel& level = levels_[static_cast<size_t>(number)];
  level.base = rows.base.data();
  level.joined = rows.joined.data();
  level.ranks = rows.ranks.data();
}

// Puts the merged rows of a level together, of which `counts` are the lengths.
void Overlay::merge_rows(const LevelJoin& join, const std::vector<JoinedPiece>& pieces, const uint32_t* counts,
                         int threads, const Allocator& allocator) {
  LevelRows& rows = rows_[static_cast<size_t>(join.number)];
  LevelView& merged = levels_[static_cast<size_t>(join.number)].rows;
  const LevelView& own = join.own();
  const int64_t nodes = rows.nodes.size();
  merged.codes = own.codes;
  merged.nodes = static_cast<uint64_t>(nodes);
  rows.dense_bits = Buffer<uint64_t>::zeroed(allocator, (nodes + 63) / 64);
  rows.dense_ranks = Buffer<uint32_t>(allocator, (nodes + kRankBits - 1) / kRankBits);
  merged.edges = std::accumulate(counts, counts + nodes, uint64_t{0});
  rows.row_pointers = UintBuffer(allocator, merged.nodes + 1, uint_width(merged.edges));
  uint64_t edges = 0;
  for (int64_t k = 0; k < nodes; ++k) {
    rows.row_pointers.set(static_cast<uint64_t>(k), edges);
    edges += counts[k];
    merged.max_children = std::max(merged.max_children, counts[k]);
    if (k % kRankBits == 0) rows.dense_ranks[k / kRankBits] = static_cast<uint32_t>(merged.dense_nodes);
    if (!is_dense(counts[k], own.codes)) continue;
    rows.dense_bits[k / 64] |= uint64_t{1} << k % 64;
    ++merged.dense_nodes;
  }
  rows.row_pointers.set(merged.nodes, edges);
  rows.tokens = Buffer<uint8_t>(allocator, checked_bytes(static_cast<int64_t>(edges), own.tokens.width));
  rows.masks = Buffer<uint64_t>::zeroed(
      allocator, checked_bytes(static_cast<int64_t>(merged.dense_nodes), static_cast<int64_t>(own.mask_words())));
  merged.row_pointers = rows.row_pointers.view();
  merged.tokens = {rows.tokens.data(), own.tokens.width};
  merged.dense_bits = rows.dense_bits.data();
  merged.dense_ranks = rows.dense_ranks.data();
  merged.masks = rows.masks.data();
  parallel_for(threads, std::ssize(pieces), [&](int64_t i) {
    const JoinedPiece& piece = pieces[static_cast<size_t>(i)];
    const uint64_t begin = merged.row_pointers[static_cast<uint64_t>(piece.first)];
    std::copy_n(piece.tokens.data(), piece.bytes, rows.tokens.data() + begin * static_cast<uint64_t>(own.tokens.width));
    for (int64_t k = piece.first; k < piece.end; ++k) {
      const int64_t dense = dense_rank(merged, static_cast<uint64_t>(k));
      if (dense >= 0) merge_mask(join, k, merged, rows.masks.data() + static_cast<uint64_t>(dense) * own.mask_words());
    }
  });
}

// Joins the nodes of the next level, or the ends of SIDs of full length, where both tries go.
void Overlay::join_next(int32_t number, const std::vector<JoinedPiece>& pieces, const Allocator& allocator) {
  LevelRows& to = rows_[static_cast<size_t>(number) + 1];
  int64_t count = 0;
  for (const JoinedPiece& piece : pieces) count += std::ssize(piece.nodes);
  to.nodes = Buffer<uint64_t>(allocator, count);
  to.base = Buffer<uint64_t>(allocator, count);
  count = 0;
  for (const JoinedPiece& piece : pieces) {
    std::copy(piece.nodes.begin(), piece.nodes.end(), to.nodes.data() + count);
    std::copy(piece.base.begin(), piece.base.end(), to.base.data() + count);
    count += std::ssize(piece.nodes);
  }
  set_joined(number + 1, delta_.level[number].edges, allocator);
}

// Notes the base's ordinals of SIDs that both have and that end at a level.
void Overlay::note_leaves(int32_t number) {
  const LevelRows& rows = rows_[static_cast<size_t>(number)];
  const LevelView& above = delta_.level[number - 1];
  for (int64_t k = 0; k < rows.nodes.size(); ++k) {
    const bool ended = delta_.variable_length && above.tokens[rows.nodes[k]] == above.codes;
    if (!ended && number < delta_.levels) continue;
    const uint64_t ordinal = base_ordinal(delta_, {number, ended, NodeKind::kTrie, rows.nodes[k]});
    const uint64_t in_base = base_ordinal(base_, base_state(base_, number, rows.base[k], ended));
    if (ordinal < delta_.sids && in_base < base_.sids) base_ordinals_[static_cast<int64_t>(ordinal)] = in_base;
  }
}

void Overlay::set_numbers(const OverlayNumbers& numbers, const Allocator& allocator) {
  const uint64_t sids = numbers.sids - base_.sids, items = numbers.items - base_.items;
  view_.sids = numbers.sids;
  view_.items = numbers.items;
  ordinals_ = UintBuffer(allocator, delta_.sids, uint_width(numbers.sids));
  row_numbers_ = UintBuffer(allocator, delta_.items, uint_width(numbers.items));
  delta_ordinals_ = UintBuffer(allocator, sids, uint_width(delta_.sids));
  delta_rows_ = UintBuffer(allocator, items, uint_width(delta_.items));
  for (uint64_t i = 0; i < delta_.sids; ++i) {
    ordinals_.set(i, numbers.ordinals[i]);
    if (numbers.ordinals[i] >= base_.sids) {
      delta_ordinals_.set(numbers.ordinals[i] - base_.sids, i);
    } else {
      ++view_.shared;
    }
  }
  for (uint64_t i = 0; i < delta_.items; ++i) {
    row_numbers_.set(i, numbers.rows[i]);
    delta_rows_.set(numbers.rows[i] - base_.items, i);
  }
  shared_ = UintBuffer(allocator, view_.shared, uint_width(base_.sids));
  shared_delta_ = UintBuffer(allocator, view_.shared, uint_width(delta_.sids));
  uint64_t shared = 0;
  for (uint64_t i = 0; i < delta_.sids; ++i) {  // both tries are in the order of their SIDs
    if (numbers.ordinals[i] >= base_.sids) continue;
    shared_.set(shared, numbers.ordinals[i]);
    shared_delta_.set(shared++, i);
  }
  base_ordinals_ = {};  // the ordinals say it
  view_.ordinals = ordinals_.view();
  view_.rows = row_numbers_.view();
  view_.delta_ordinals = delta_ordinals_.view();
  view_.delta_rows = delta_rows_.view();
  view_.shared_ordinals = shared_.view();
  view_.shared_delta_ordinals = shared_delta_.view();
}

int64_t Overlay::bytes() const {
  int64_t bytes = ordinals_.bytes() + row_numbers_.bytes() + delta_ordinals_.bytes() + delta_rows_.bytes() +
                  shared_.bytes() + shared_delta_.bytes();
  for (const LevelRows& rows : rows_)
    bytes += rows.nodes.bytes() + rows.base.bytes() + rows.joined.bytes() + rows.ranks.bytes() +
             rows.row_pointers.bytes() + rows.tokens.bytes() + rows.dense_bits.bytes() + rows.masks.bytes() +
             rows.dense_ranks.bytes();
  return bytes;
}

}  // namespace sidbeam
