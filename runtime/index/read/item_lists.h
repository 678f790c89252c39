// The item rows of several SIDs, one after the other, as far as a cap and limits go; on request without the items of
// the SIDs before. Device kernels have lists and a cap of their own, and what looks into the repeats from here. Safe on
// damaged contents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "index/read/find.h"
#include "index/read/value_cap.h"
#include "index/rules/subset.h"
#include "index/views.h"
#include "support/memory.h"

namespace sidbeam {

// Visits the item rows of one SID that earlier(i) does not leave out, in runs visit(first, count) of at most `most`
// rows altogether. earlier(i) is asked about entry i of the repeats. Returns how many rows there are or, once they are
// more than `most`, some number above it.
template <class Earlier, class Visit>
SIDBEAM_HD int64_t visit_distinct(const RepeatsView& repeats, const OrdinalRange& rows, int64_t most,
                                  const Earlier& earlier, Visit&& visit) {
  int64_t found = 0;
  const auto take = [&](uint64_t first, uint64_t count) {
    const auto wanted = static_cast<int64_t>(count);
    if (found < most && wanted > 0) visit(first, std::min(wanted, most - found));
    found += wanted;
  };
  uint64_t row = rows.lo, i = first_where(0, repeats.count, [&](uint64_t k) { return repeats.rows[k] >= rows.lo; });
  while (row < rows.hi && found <= most) {
    const uint64_t next = i < repeats.count ? std::min<uint64_t>(repeats.rows[i], rows.hi) : rows.hi;
    take(row, next - row);
    row = next;
    if (row == rows.hi || found > most) break;
    if (!earlier(i)) take(row, 1);
    ++row;
    ++i;
  }
  return found;
}

// The ordinals of the item that entry i of the repeats belongs to, as places in repeats.ordinals.
SIDBEAM_HD inline OrdinalRange ordinals_of_repeat(const RepeatsView& repeats, uint64_t i) {
  const uint64_t item = repeats.items[i];
  return {repeats.offsets[item], repeats.offsets[item + 1]};
}

// Whether an item, given by such places, has the SID of this ordinal.
SIDBEAM_HD inline bool item_has(const RepeatsView& repeats, const OrdinalRange& item, uint64_t ordinal) {
  const uint64_t at = first_where(item.lo, item.hi, [&](uint64_t k) { return repeats.ordinals[k] >= ordinal; });
  return at < item.hi && repeats.ordinals[at] == ordinal;
}

// Visits the item rows of one SID that rules allow and earlier(i) does not leave out, one by one, at most `most`; an
// index without `repeats` (count 0) has no entries to ask about. Returns how many there are or, once they are more than
// `most`, some number above it.
template <class Earlier, class Visit>
int64_t visit_allowed(const RepeatsView& repeats, const RulesView& rules, const OrdinalRange& rows, int64_t most,
                      const Earlier& earlier, const Visit& visit) {
  uint64_t i = first_where(0, repeats.count, [&](uint64_t k) { return repeats.rows[k] >= rows.lo; });
  int64_t found = 0;
  for (uint64_t row = rows.lo; row < rows.hi && found <= most; ++row) {
    const bool repeated = i < repeats.count && repeats.rows[i] == row;
    const uint64_t repeat = i;
    i += repeated ? 1 : 0;
    if (!rules.allows(rules.rows, row) || (repeated && earlier(repeat))) continue;
    if (found < most) visit(row);
    ++found;
  }
  return found;
}

// Whether rules allow an item row, of a snapshot one of either trie.
SIDBEAM_HD inline bool allows_row(const IndexView& index, const RulesView& rules, uint64_t row) {
  if (row < index.items) return rules.allows(rules.rows, row);
  return rules.delta->allows(rules.delta->rows, delta_row(index, row));
}

// The entry of a row among the repeats; their number where its item has no other.
SIDBEAM_HD inline uint64_t repeat_of(const RepeatsView& repeats, uint64_t row) {
  const uint64_t at = first_where(0, repeats.count, [&](uint64_t k) { return repeats.rows[k] >= row; });
  return at < repeats.count && repeats.rows[at] == row ? at : repeats.count;
}

// Finds rows among the repeats, one after the other; quickest where they rise.
class RepeatCursor {
 public:
  explicit RepeatCursor(const RepeatsView* repeats) : repeats_(repeats) {}
  // The entry of a row, or -1 where its item has no other.
  int64_t find(uint64_t row) {
    const uint64_t count = repeats_ != nullptr ? repeats_->count : 0;
    const auto is_behind = [&](uint64_t k) { return repeats_->rows[k] >= row; };
    at_ = row >= last_ ? first_where_near(at_, count, is_behind) : first_where(0, count, is_behind);
    last_ = row;
    return at_ < count && repeats_->rows[at_] == row ? static_cast<int64_t>(at_) : -1;
  }

 private:
  const RepeatsView* repeats_;
  uint64_t at_ = 0, last_ = ~uint64_t{0};  // the first search is one over all
};

// has_allowed_row() of an item of a snapshot.
inline bool has_live_row(const IndexView& index, const RepeatsView& repeats, const RulesView& rules, uint64_t i,
                         uint64_t ordinal) {
  RepeatCursor cursor(&repeats);
  bool has_one = false;
  for_each_item_row(index, ordinal, [&](uint64_t row) {
    const int64_t at = cursor.find(row);
    has_one = at >= 0 && repeats.items[static_cast<uint64_t>(at)] == repeats.items[i] && allows_row(index, rules, row);
    return !has_one;
  });
  return has_one;
}

// Whether the item of entry i of the repeats has an allowed row at this ordinal.
inline bool has_allowed_row(const IndexView& index, const RepeatsView& repeats, const RulesView& rules, uint64_t i,
                            uint64_t ordinal) {
  const OrdinalRange rows = item_rows(index, ordinal);
  uint64_t at = first_where(0, repeats.count, [&](uint64_t k) { return repeats.rows[k] >= rows.lo; });
  for (; at < repeats.count && repeats.rows[at] < rows.hi; ++at)
    if (repeats.items[at] == repeats.items[i] && rules.allows(rules.rows, repeats.rows[at])) return true;
  return false;
}

// A set of at most `most` ordinals, sized once.
class OrdinalSet {
 public:
  OrdinalSet() = default;
  OrdinalSet(const Allocator& allocator, int64_t most)
      : places_(allocator, static_cast<int64_t>(std::bit_ceil(2 * static_cast<uint64_t>(most)))) {}
  void clear() { std::fill(places_.begin(), places_.end(), kNone); }
  void insert(int64_t ordinal) { places_[place_of(ordinal)] = ordinal; }
  bool contains(int64_t ordinal) const { return places_[place_of(ordinal)] == ordinal; }
  // Whether the item of a repeat has one of them; by the shorter way.
  bool meets(const RepeatsView& repeats, uint64_t i) const {
    const OrdinalRange item = ordinals_of_repeat(repeats, i);
    if (item.hi - item.lo > static_cast<uint64_t>(places_.size()))
      return std::any_of(places_.begin(), places_.end(), [&](int64_t ordinal) {
        return ordinal != kNone && item_has(repeats, item, static_cast<uint64_t>(ordinal));
      });
    for (uint64_t k = item.lo; k < item.hi; ++k)
      if (contains(static_cast<int64_t>(repeats.ordinals[k]))) return true;
    return false;
  }
  int64_t bytes() const { return places_.bytes(); }

 private:
  static constexpr int64_t kNone = -1;

  // Where the ordinal is, or where it would be put.
  int64_t place_of(int64_t ordinal) const {
    const auto last = static_cast<uint64_t>(places_.size()) - 1;
    uint64_t place = mix_key({}, static_cast<uint64_t>(ordinal)) & last;
    while (places_[static_cast<int64_t>(place)] != kNone && places_[static_cast<int64_t>(place)] != ordinal)
      place = (place + 1) & last;
    return static_cast<int64_t>(place);
  }

  Buffer<int64_t> places_;
};

struct ItemLimits {
  int64_t per_sid = 0, total = 0;  // 0: none
};

// Throws where the arguments of a list of items, named as in sidbeam_items, do not go together.
void check_item_lists(const ItemLimits& limits, int32_t distinct, const int64_t* item_rows, const int64_t* offsets);

// A list that SIDs are appended to; -1 appends nothing. `rows` may be null, and so may `rules`, which then allow all
// items, and `cap`.
class ItemList {
 public:
  ItemList(const ItemLimits& limits, const RulesView* rules, ValueCap* cap, int64_t* rows)
      : limits_(limits), rules_(rules), cap_(cap), rows_(rows) {
    if (cap != nullptr) cap->begin();
  }
  int64_t count() const { return count_; }
  bool truncated() const { return truncated_; }
  bool came_short() const { return capped_ && !full(); }

  // With repeats only distinct items, as far as they are no items of `earlier`, where the ordinal is then put.
  void append(const IndexView& index, const RepeatsView* repeats, OrdinalSet& earlier, int64_t ordinal) {
    if (ordinal < 0) return;
    if (cap_ != nullptr || index.overlay != nullptr) return append_each(index, repeats, earlier, ordinal);
    if (rules_ != nullptr) return append_allowed(index, repeats, earlier, ordinal);
    if (repeats != nullptr) return append_distinct(index, *repeats, earlier, ordinal);
    const OrdinalRange all = item_rows(index, static_cast<uint64_t>(ordinal));
    write(all.lo, std::min(static_cast<int64_t>(all.hi - all.lo), room()));
    finish(static_cast<int64_t>(all.hi - all.lo));
  }

 private:
  void append_distinct(const IndexView& index, const RepeatsView& repeats, OrdinalSet& earlier, int64_t ordinal) {
    if (earlier.contains(ordinal)) return;
    int64_t written = 0;
    finish(visit_distinct(
        repeats, item_rows(index, static_cast<uint64_t>(ordinal)), room(),
        [&](uint64_t i) { return earlier.meets(repeats, i); },
        [&](uint64_t first, int64_t rows) {
          write(first, rows, written);
          written += rows;
        }));
    earlier.insert(ordinal);
  }
  // Row by row, since any of them may be forbidden.
  void append_allowed(const IndexView& index, const RepeatsView* repeats, OrdinalSet& earlier, int64_t ordinal) {
    if (repeats != nullptr && earlier.contains(ordinal)) return;
    int64_t written = 0;
    finish(visit_allowed(
        repeats != nullptr ? *repeats : RepeatsView(), *rules_, item_rows(index, static_cast<uint64_t>(ordinal)),
        room(), [&](uint64_t i) { return was_listed(index, *repeats, earlier, i); },
        [&](uint64_t row) { write(row, 1, written++); }));
    if (repeats != nullptr) earlier.insert(ordinal);
  }
  // Row by row, since the cap may leave out any of them, and those of a snapshot are in two places.
  void append_each(const IndexView& index, const RepeatsView* repeats, OrdinalSet& earlier, int64_t ordinal) {
    if ((full() && truncated_) || (repeats != nullptr && earlier.contains(ordinal))) return;
    const int64_t most = room();
    int64_t found = 0;
    RepeatCursor cursor(repeats);
    for_each_item_row(index, static_cast<uint64_t>(ordinal), [&](uint64_t row) {
      if (found > most && !may_cap(most)) return false;
      const int64_t repeat = cursor.find(row);
      if (rules_ != nullptr && !allows_row(index, *rules_, row)) return true;
      if (repeat >= 0 && was_listed(index, *repeats, earlier, static_cast<uint64_t>(repeat))) return true;
      if (leaves_out(row)) return true;
      if (found < most) list(row, found);
      ++found;
      return true;
    });
    finish(found);
    if (repeats != nullptr) earlier.insert(ordinal);
  }
  bool leaves_out(uint64_t row) {
    const bool out = cap_ != nullptr && cap_->leaves_out(row);
    capped_ = capped_ || out;
    return out;
  }
  void list(uint64_t row, int64_t after) {
    if (cap_ != nullptr) cap_->list(row);
    write(row, 1, after);
  }
  // Whether rows beyond those of a SID that fit may tell that the cap leaves something out of a list that is not full.
  bool may_cap(int64_t most) const {
    return cap_ != nullptr && !capped_ && (limits_.total == 0 || count_ + most < limits_.total);
  }
  // Whether the item of a repeat has an allowed row at one of the earlier ordinals.
  bool was_listed(const IndexView& index, const RepeatsView& repeats, const OrdinalSet& earlier, uint64_t i) const {
    if (rules_ == nullptr) return earlier.meets(repeats, i);
    const OrdinalRange item = ordinals_of_repeat(repeats, i);
    for (uint64_t k = item.lo; k < item.hi; ++k) {
      if (!earlier.contains(static_cast<int64_t>(repeats.ordinals[k]))) continue;
      const auto is_there = index.overlay != nullptr ? has_live_row : has_allowed_row;
      if (is_there(index, repeats, *rules_, i, repeats.ordinals[k])) return true;
    }
    return false;
  }
  bool full() const { return limits_.total > 0 && count_ == limits_.total; }
  int64_t room() const {
    const int64_t of_sid = limits_.per_sid > 0 ? limits_.per_sid : std::numeric_limits<int64_t>::max();
    return limits_.total > 0 ? std::min(of_sid, limits_.total - count_) : of_sid;
  }
  void write(uint64_t first, int64_t rows, int64_t after = 0) {
    for (int64_t r = 0; rows_ != nullptr && r < rows; ++r) rows_[count_ + after + r] = static_cast<int64_t>(first) + r;
  }
  // A SID has `found` rows.
  void finish(int64_t found) {
    const int64_t kept = std::min(found, room());
    truncated_ = truncated_ || kept < found;
    count_ += kept;
  }

  ItemLimits limits_;
  const RulesView* rules_;
  ValueCap* cap_;
  int64_t* rows_;
  int64_t count_ = 0;
  bool truncated_ = false, capped_ = false;  // whether a limit, or the cap, left rows out
};

}  // namespace sidbeam
