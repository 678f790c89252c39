// What becomes of pairs that are added: new, updated, or there already.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "index/live/attribute_values.h"
#include "index/live/base_children.h"
#include "index/live/pair_store.h"
#include "index/read/find.h"
#include "index/rules/bits.h"
#include "support/error.h"

namespace sidbeam {
namespace {

// As a builder checks its pairs; here they need ids, of the kind that the base has.
void check(const Catalogue::Pairs& pairs, bool named) {
  const auto count = static_cast<long long>(pairs.count);
  if (pairs.count < 0) fail(SIDBEAM_INVALID_ARGUMENT, "count is %lld, expected 0 or more", count);
  if (pairs.count > 0 && pairs.codes == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "codes is NULL, expected %lld rows", count);
  if (named ? pairs.has_ids() : pairs.has_names())
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is given, expected %s, since ids of the catalogue are %s",
         named ? "ids" : "names", named ? "names" : "ids", named ? "strings" : "integers");
  if (pairs.count > 0 && (named ? !pairs.has_names() : !pairs.has_ids())) {
    const char* const kind = named ? "names" : "ids";
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is NULL, expected the %s of %lld items", kind, kind, count);
  }
}

}  // namespace

// Calls visit(row) for the rows of a pair, those of the store below `added` from the newest on and then those of the
// base, until it returns false. Where a SID of the base has few items, their ids are compared: a table of all ids is
// dear.
template <class Visit>
void PairStore::for_each_row_of(const NewPair& pair, int64_t added, const Visit& visit) const {
  constexpr uint64_t kFew = 64;
  const IndexView& view = base_.index.view;
  const ItemId id = id_at(pair.pair);
  bool goes_on = true;
  by_pair_.for_each(pair.pair_hash, [&](int64_t known) {
    const auto same_words = [&](const auto& word) { return word[known] == word[pair.pair]; };
    if (known < added && same_id(id, id_at(known)) && std::all_of(pairs_.words.begin(), pairs_.words.end(), same_words))
      goes_on = visit(view.items + static_cast<uint64_t>(known));
    return goes_on;
  });
  if (!goes_on || pair.ordinal < 0) return;
  const OrdinalRange rows = item_rows(view, static_cast<uint64_t>(pair.ordinal));
  if (rows.hi - rows.lo > kFew) {
    for_each_base_row(id, [&](uint64_t row) {
      if (goes_on && rows.lo <= row && row < rows.hi) goes_on = visit(row);
    });
    return;
  }
  for (uint64_t row = rows.lo; row < rows.hi && goes_on; ++row)
    if (same_id(id, id_of(view, row))) goes_on = visit(row);
}

// Finds the SIDs of pairs in the base, level by level for all of them, so that cache misses overlap.
void PairStore::look_up(int64_t first, int64_t count, NewPair* pairs) const {
  const IndexView& view = base_.index.view;
  State states[kTogether];
  int32_t codes[kTogether][kMaxLevels];
  int lengths[kTogether];
  bool there[kTogether];
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t id_hash = hash_id(id_at(first + i));
    pairs[i] = {first + i, -1, id_hash, hash_pair(first + i, id_hash)};
    by_pair_.prefetch(pairs[i].pair_hash);
    by_id_.prefetch(id_hash);
    states[i] = {};
    lengths[i] = pairs_.sid_of(first + i, codes[i]);
    there[i] = true;
  }
  for (int l = 0; l < view.levels; ++l) {
    for (int64_t i = 0; i < count; ++i)
      if (there[i]) fetch_row_place(view, l, states[i].node);
    for (int64_t i = 0; i < count; ++i)
      if (there[i]) fetch_row(view, l, states[i].node);
    for (int64_t i = 0; i < count; ++i) {
      if (!there[i] || l > lengths[i]) continue;
      const auto token = l < lengths[i] ? static_cast<uint32_t>(codes[i][l]) : view.level[l].codes;
      there[i] = follow_base(view, states[i], token);
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    by_pair_.prefetch_first(pairs[i].pair_hash);
    const uint64_t ordinal = there[i] ? base_ordinal(view, states[i]) : view.sids;
    if (ordinal < view.sids) pairs[i].ordinal = static_cast<int64_t>(ordinal);
  }
}

// 0 of the base's where it keeps none.
int64_t PairStore::priority_of(uint64_t row) const {
  const Index& base = base_.index;
  if (row >= base.view.items) return pairs_.priority(static_cast<int64_t>(row - base.view.items));
  return has_priorities(base.priorities) ? item_priority(base.priorities, row) : 0;
}

// Whether a pair of the add under way, whose pairs begin at `first`, has the values of a row; with only_given, as far
// as it was given any.
bool PairStore::has_same_values(int64_t pair, int64_t first, uint64_t row, bool only_given) const {
  const uint64_t items = base_.index.view.items;
  const int64_t place = row < items ? -1 : static_cast<int64_t>(row - items);
  const int64_t priority = priority_of(row);
  if ((pairs_.gave_priorities || !only_given) && (pairs_.gave_priorities ? pairs_.priority(pair) : 0) != priority)
    return false;
  const std::vector<AttributeColumn>& columns = pairs_.attributes.all();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (only_given && columns[i].filled() <= first) continue;
    if (place < 0 ? !equals(columns[i], pair, base_.index.attributes[i], row) : !columns[i].equal(pair, place))
      return false;
  }
  return true;
}

// Decides what becomes of a pair; where it is kept, it goes to place `to`, and sources[to - first] is the row whose
// values it takes.
bool PairStore::settle_pair(const NewPair& pair, int64_t first, int64_t to, std::vector<uint64_t>& sources) {
  const uint64_t items = base_.index.view.items;
  uint64_t live_row = kNoRow, same_row = kNoRow;
  for_each_row_of(pair, to, [&](uint64_t row) {
    if (has_bit(live_.data(), row)) {
      live_row = row;
    } else if (same_row == kNoRow && has_same_values(pair.pair, first, row, false)) {
      same_row = row;
    }
    return live_row == kNoRow;
  });
  if (live_row != kNoRow && has_same_values(pair.pair, first, live_row, true)) return false;
  if (live_row == kNoRow && same_row != kNoRow) {
    set_live(same_row, true);
    return false;
  }
  if (live_row != kNoRow) set_live(live_row, false);
  uint64_t source = live_row;
  if (source != kNoRow && source >= items + static_cast<uint64_t>(first))
    source = sources[source - items - static_cast<uint64_t>(first)];  // of this add itself
  sources.push_back(source);
  return true;
}

// Lets the pairs from `first` on take effect, whose names came after a mark.
void PairStore::settle(int64_t first, const TextRoom::Mark& names) {
  std::vector<uint64_t> sources;
  by_pair_.reserve(pairs_.rows);
  by_id_.reserve(pairs_.rows);
  NewPair together[kTogether];
  int64_t to = first;
  for (int64_t pair = first; pair < pairs_.rows; ++pair) {
    const int64_t place = (pair - first) % kTogether;
    if (place == 0) look_up(pair, std::min(kTogether, pairs_.rows - pair), together);
    if (!settle_pair(together[place], first, to, sources)) continue;
    if (to != pair) {
      pairs_.move_row(pair, to);
      pairs_.attributes.move_row(pair, to);
    }
    by_pair_.add(together[place].pair_hash);
    by_id_.add(together[place].id_hash);
    make_live(to++);
  }
  const bool dropped = to < pairs_.rows;
  pairs_.rows = to;
  pairs_.attributes.rewind(to);
  if (dropped) pairs_.gather_names(first, names);
  take_values(first, sources);
}

// Gives the new pairs what they were not given, from the rows that they replace.
void PairStore::take_values(int64_t first, const std::vector<uint64_t>& sources) {
  const uint64_t items = base_.index.view.items;
  const auto is_row = [](uint64_t row) { return row != kNoRow; };
  if (std::none_of(sources.begin(), sources.end(), is_row)) return;
  for (size_t i = 0; i < sources.size() && pairs_.has_priorities && !pairs_.gave_priorities; ++i)
    if (is_row(sources[i])) pairs_.priorities[first + static_cast<int64_t>(i)] = priority_of(sources[i]);
  for (size_t k = 0; k < pairs_.attributes.all().size(); ++k) {
    AttributeColumn& column = pairs_.attributes.at(k);
    if (column.filled() > first) continue;
    CopiedValues values(column, &base_.index.attributes[k], items);
    for (const uint64_t row : sources) is_row(row) ? values.add(row) : values.add_null();
    values.set(column, first);
    taken_text_ += values.text_bytes();
  }
}

// Puts pairs behind the others; returns the place of the first.
int64_t PairStore::take(const Catalogue::Pairs& pairs, std::span<const sidbeam_attribute_column* const> attributes) {
  const int64_t first = pairs_.rows;
  pairs_.add(pairs, settings_.threads);
  for (const sidbeam_attribute_column* column : attributes) pairs_.attributes.set(*column, first, pairs.count);
  return first;
}

bool PairStore::add(const Catalogue::Pairs& pairs, std::span<const sidbeam_attribute_column* const> attributes) {
  check(pairs, pairs_.id_type == IdType::kString);
  if (pairs.count == 0) return false;
  const Point before = point();
  try {
    fill_tables();
    settle(take(pairs, attributes), before.pairs.name_text);
  } catch (...) {
    go_back(before);
    throw;
  }
  return toggled_.size() != before.toggled;
}

void PairStore::append(const Catalogue::Pairs& pairs, std::span<const sidbeam_attribute_column* const> attributes) {
  const Point before = point();
  try {
    check(pairs, pairs_.id_type == IdType::kString);
    for (int64_t pair = take(pairs, attributes); pair < pairs_.rows; ++pair) make_live(pair);
  } catch (...) {
    go_back(before);
    throw;
  }
}

}  // namespace sidbeam
