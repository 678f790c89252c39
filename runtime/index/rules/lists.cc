// SPDX-License-Identifier: Apache-2.0
#include "index/rules/lists.h"

#include <algorithm>
#include <bit>

#include "index/read/find.h"
#include "index/rules/bits.h"
#include "index/rules/derived.h"

namespace sidbeam {
namespace {

constexpr size_t kRowList = 0, kSidList = 1, kFirstLevel = 2;

template <class T>
void make_room(Buffer<T>& buffer, int64_t count, const Allocator& allocator) {
  if (buffer.size() < count)
    buffer = Buffer<T>(allocator, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count))));
}

}  // namespace

NumberList StoredList::store(const uint64_t* from, int64_t count, uint64_t universe, const Allocator& allocator) {
  universe = std::max<uint64_t>(universe, 1);  // a level where lengths vary may have no edges
  const int32_t width = universe <= uint64_t{1} << 32 ? 4 : 8;
  NumberList view;
  view.count = static_cast<uint64_t>(count);
  const int bucket_bits = std::clamp(static_cast<int>(std::bit_width(view.count)) - 1, 0, 16);
  view.shift = std::max(0, static_cast<int>(std::bit_width(universe - 1)) - bucket_bits);
  view.buckets = ((universe - 1) >> view.shift) + 1;
  make_room(numbers, count * width, allocator);
  make_room(first, static_cast<int64_t>(view.buckets) + 1, allocator);
  const auto write = [&](auto* to) {
    std::copy_n(from, count, to);
    // Without a branch that depends on how many a bucket has: where each ends that has some, and then where all begin.
    std::fill_n(first.data(), view.buckets + 1, 0U);
    for (uint64_t i = 0; i < view.count; ++i)
      first[static_cast<int64_t>(std::min<uint64_t>(to[i] >> view.shift, view.buckets - 1)) + 1] =
          static_cast<uint32_t>(i + 1);
    for (uint64_t bucket = 0; bucket < view.buckets; ++bucket) {
      uint32_t* pair = first.data() + bucket;
      pair[1] = std::max(pair[0], pair[1]);
    }
  };
  width == 4 ? write(reinterpret_cast<uint32_t*>(numbers.data())) : write(reinterpret_cast<uint64_t*>(numbers.data()));
  view.numbers = {numbers.data(), width};
  view.first = first.data();
  return view;
}

void RequestLists::begin(const FilteredIndex& of, bool only_listed, int64_t count, const Allocator& allocator) {
  view_ = of.filter != nullptr ? *of.filter : RulesView();
  if (of.filter == nullptr) view_.sids_left = of.index.sids;
  view_.only_listed = only_listed;
  lists_.resize(kFirstLevel + static_cast<size_t>(of.index.csr_levels));
  make_room(levels_, of.index.csr_levels, allocator);
  for (int32_t l = 0; l < of.index.csr_levels; ++l)
    levels_[l] = of.filter != nullptr ? of.filter->level[l] : LevelRules();
  view_.level = levels_.data();
  for (Buffer<uint64_t>* each : {&work_.fresh, &work_.all, &sids_}) make_room(*each, count, allocator);
}

// Joins the new numbers with those of `before`.
void RequestLists::merge(const NumberList* before, const Allocator& allocator) {
  const auto old = static_cast<int64_t>(before != nullptr ? before->count : 0);
  make_room(work_.all, old + work_.fresh_count, allocator);
  work_.count = old + work_.fresh_count;
  const uint64_t *fresh = work_.fresh.data(), *fresh_end = fresh + work_.fresh_count;
  if (old == 0) {
    std::copy(fresh, fresh_end, work_.all.data());
    return;
  }
  with_type(before->numbers,
            [&](const auto* numbers) { std::merge(numbers, numbers + old, fresh, fresh_end, work_.all.data()); });
}

// Keeps all numbers of the work, which are below `universe`.
NumberList RequestLists::store(size_t place, uint64_t universe, const Allocator& allocator) {
  return lists_[place].store(work_.all.data(), work_.count, universe, allocator);
}

void RequestLists::exclude(const FilteredIndex& of, const SortedRows& rows, const RequestLists* before,
                           const Allocator& allocator) {
  const IndexView& index = of.index;
  begin(of, false, rows.count, allocator);
  work_.fresh_count = 0;
  for (int64_t i = 0; i < rows.count; ++i) {
    const bool known = before != nullptr && !before->view_.allows({nullptr, before->view_.rows.listed}, rows.rows[i]);
    if (!known && (of.row_bits() == nullptr || has_bit(of.row_bits(), rows.rows[i])))
      work_.fresh[work_.fresh_count++] = rows.rows[i];
  }
  merge(before != nullptr ? &before->view_.rows.listed : nullptr, allocator);
  view_.rows.listed = store(kRowList, index.items, allocator);
  list_sids(of);
  sid_count_ = fresh_sids_ + (before != nullptr ? before->sid_count_ : 0);
  list_levels(of, before, allocator);
}

void RequestLists::allow_only(const FilteredIndex& of, const SortedRows& rows, const Allocator& allocator) {
  const IndexView& index = of.index;
  begin(of, true, rows.count, allocator);
  work_.fresh_count = 0;
  for (int64_t i = 0; i < rows.count; ++i)
    if (of.row_bits() == nullptr || has_bit(of.row_bits(), rows.rows[i]))
      work_.fresh[work_.fresh_count++] = rows.rows[i];
  merge(nullptr, allocator);
  view_.rows.listed = store(kRowList, index.items, allocator);
  list_sids(of);
  sid_count_ = fresh_sids_;
  list_levels(of, nullptr, allocator);
}

// Writes the nodes above the new numbers: those that have no allowed child left or, of an allow list, all. `bits` are
// those of a filter, parent_of(i) is the node above new number i, with end 0 where there is none. Returns how many. (In
// a damaged index they need not rise; those that do not are left out.)
template <class ParentOf>
int64_t RequestLists::nodes_above(const uint64_t* bits, const ParentOf& parent_of, uint64_t* nodes) const {
  const uint64_t *at = work_.all.data(), *all_end = at + work_.count;
  int64_t kept = 0;
  for (int64_t i = 0; i < work_.fresh_count;) {
    const EdgeParents::Parent parent = parent_of(i);
    if (parent.end == 0) {
      ++i;
      continue;
    }
    const uint64_t end = std::max(parent.end, work_.fresh[i] + 1), children = end - parent.begin;
    bool listed = view_.only_listed || children == 1;
    if (!listed) {
      while (at < all_end && *at < parent.begin) ++at;
      const uint64_t* to = at;
      while (to < all_end && *to < end) ++to;
      const auto gone = static_cast<uint64_t>(to - at);
      listed = gone >= (bits != nullptr && gone < children ? count_of(bits, parent.begin, end) : children);
      at = to;
    }
    while (i < work_.fresh_count && work_.fresh[i] < end) ++i;
    if (listed && (kept == 0 || nodes[kept - 1] < parent.node)) nodes[kept++] = parent.node;
  }
  return kept;
}

// The SIDs of the new rows.
void RequestLists::list_sids(const FilteredIndex& of) {
  const auto parent_of = [&](int64_t i) {
    of.parents.item_starts().fetch_ahead(work_.fresh.data(), i, work_.fresh_count);
    return of.parents.sid_of(of.index, work_.fresh[i]);
  };
  fresh_sids_ = nodes_above(of.row_bits(), parent_of, sids_.data());
}

// From the new numbers of a level, or the SIDs below the nodes of the tail's first, to those of the level before.
void RequestLists::climb(const FilteredIndex& of, int32_t level) {
  const IndexView& index = of.index;
  const bool is_tail = level == index.csr_levels;
  const auto parent_of = [&](int64_t i) {
    const uint64_t number = work_.fresh[i];
    of.parents.starts(level).fetch_ahead(work_.fresh.data(), i, work_.fresh_count);
    if (is_tail && ended_above_tail(index, number)) return EdgeParents::Parent();
    EdgeParents::Parent parent = of.parents.parent_of(index, level, number);
    if (is_tail && index.variable_length) parent.end = parent.begin + run_of(index, level, parent.node).count;
    return parent;
  };
  work_.fresh_count = nodes_above(is_tail ? view_.sids.bits : of.edge_bits(level), parent_of, work_.fresh.data());
}

// Adds the edges to which the new SIDs themselves lead.
void RequestLists::add_leaves(const FilteredIndex& of, int32_t level) {
  const IndexView& index = of.index;
  const bool has_tail = index.csr_levels < index.levels, last = level + 1 == index.csr_levels;
  if (!index.variable_length) {
    if (!last || has_tail) return;
    std::copy_n(sids_.data(), fresh_sids_, work_.fresh.data());
    work_.fresh_count = fresh_sids_;
    return;
  }
  // Both rise; what does not, in a damaged index, is left out.
  std::copy_n(work_.fresh.data(), work_.fresh_count, work_.all.data());
  const uint64_t *at = work_.all.data(), *end = at + work_.fresh_count;
  int64_t count = 0;
  const auto add = [&](uint64_t edge) {
    if (count == 0 || work_.fresh[count - 1] < edge) work_.fresh[count++] = edge;
  };
  for (int64_t i = 0; i < fresh_sids_; ++i) {
    if (leaves_[i].level != level || (has_tail && !ended_above_tail(index, sids_[i]))) continue;
    while (at < end && *at < leaves_[i].edge) add(*at++);
    add(leaves_[i].edge);
  }
  while (at < end) add(*at++);
  work_.fresh_count = count;
}

// From the new SIDs to the lists of all levels.
void RequestLists::list_levels(const FilteredIndex& of, const RequestLists* before, const Allocator& allocator) {
  const IndexView& index = of.index;
  work_.fresh_count = 0;
  if (index.variable_length) {
    make_room(leaves_, fresh_sids_, allocator);
    of.parents.leaves_of(index, sids_.data(), fresh_sids_, leaves_.data());
  }
  if (index.csr_levels < index.levels) {
    std::copy_n(sids_.data(), fresh_sids_, work_.fresh.data());
    work_.fresh_count = fresh_sids_;
    merge(before != nullptr ? &before->view_.sids.listed : nullptr, allocator);
    view_.sids.listed = store(kSidList, index.sids, allocator);
  }
  for (int32_t l = index.csr_levels - 1; l >= 0; --l) {
    if (shares_next(index, l)) {
      levels_[l].edges.listed = levels_[l + 1].edges.listed;
      continue;
    }
    if (l + 1 < index.levels) climb(of, l + 1);
    add_leaves(of, l);
    merge(before != nullptr ? &before->view_.level[l].edges.listed : nullptr, allocator);
    levels_[l].edges.listed = store(kFirstLevel + static_cast<size_t>(l), index.level[l].edges, allocator);
  }
  view_.sids_left = view_.only_listed ? static_cast<uint64_t>(sid_count_)
                                      : view_.sids_left - std::min(view_.sids_left, static_cast<uint64_t>(sid_count_));
}

int64_t RequestLists::bytes() const {
  int64_t bytes = levels_.bytes() + work_.fresh.bytes() + work_.all.bytes() + sids_.bytes() + leaves_.bytes();
  for (const StoredList& list : lists_) bytes += list.bytes();
  return bytes;
}

}  // namespace sidbeam
