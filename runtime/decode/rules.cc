// SPDX-License-Identifier: Apache-2.0
#include "decode/rules.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

#include "decode/version.h"
#include "index/format.h"
#include "index/rules/bits.h"
#include "index/rules/terms.h"
#include "support/error.h"

namespace sidbeam {
namespace {

// A row, and the entry of a list that named it.
struct NamedRow {
  uint64_t row;
  int64_t entry;
};

// An array that grows as rows are found: an item may have several.
class GrowingRows {
 public:
  GrowingRows(const Allocator& allocator, int64_t expected) : allocator_(allocator), rows_(allocator, expected) {}
  void add(const NamedRow& row) {
    if (count_ == rows_.size()) {
      Buffer<NamedRow> more(allocator_, std::max<int64_t>(2 * count_, 16));
      std::copy_n(rows_.data(), count_, more.data());
      rows_ = std::move(more);
    }
    rows_[count_++] = row;
  }
  NamedRow* begin() { return rows_.data(); }
  NamedRow* end() { return rows_.data() + count_; }
  // By row, those of equal rows as they came. (std::sort took two fifths of the time of 10,000 excluded items.)
  void sort(uint64_t items) {
    const auto before = [](const NamedRow& a, const NamedRow& b) {
      return a.row != b.row ? a.row < b.row : a.entry < b.entry;
    };
    if (std::is_sorted(begin(), end(), before)) return;
    if (count_ < kFewRows) return std::sort(begin(), end(), before);
    Buffer<NamedRow> other(allocator_, count_);
    for (int shift = 0; shift < static_cast<int>(std::bit_width(items - 1)); shift += kDigitBits) {
      int64_t starts[(1 << kDigitBits) + 1] = {};
      const auto digit = [&](const NamedRow& row) { return row.row >> shift & ((1 << kDigitBits) - 1); };
      for (const NamedRow& row : *this) ++starts[digit(row) + 1];
      std::partial_sum(std::begin(starts), std::end(starts), std::begin(starts));
      for (const NamedRow& row : *this) other[starts[digit(row)]++] = row;
      std::swap(rows_, other);
    }
  }
  int64_t count() const { return count_; }

 private:
  static constexpr int64_t kFewRows = 256;
  static constexpr int kDigitBits = 8;

  Allocator allocator_;
  Buffer<NamedRow> rows_;
  int64_t count_ = 0;
};

void check_list(const IndexView& index, const NamedItems& items) {
  const sidbeam_item_list& list = items.list;
  const bool by_name = list.by == SIDBEAM_ITEMS_BY_ID && index.id_type == IdType::kString;
  if (list.by != SIDBEAM_ITEMS_BY_ID && list.by != SIDBEAM_ITEMS_BY_ROW)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s.by is %d, expected %d (ids) or %d (item rows)", items.name, list.by,
         SIDBEAM_ITEMS_BY_ID, SIDBEAM_ITEMS_BY_ROW);
  if (list.count < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s.count is %lld, expected at least 0", items.name,
         static_cast<long long>(list.count));
  if (by_name ? list.numbers != nullptr : list.names != nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s gives %s, expected %s, as the index has", items.name,
         by_name ? "numbers" : "names",
         by_name                           ? "names, since its ids are strings"
         : list.by == SIDBEAM_ITEMS_BY_ROW ? "item rows as numbers"
                                           : "numbers, since its ids are integers");
  if (list.count == 0) return;
  if (by_name ? list.names == nullptr || list.offsets == nullptr : list.numbers == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s.%s is NULL, expected %lld entries", items.name,
         by_name ? "names or .offsets" : "numbers", static_cast<long long>(list.count));
  for (int64_t i = 0; by_name && i < list.count; ++i)
    if (list.offsets[i] < 0 || list.offsets[i + 1] < list.offsets[i])
      fail(SIDBEAM_INVALID_ARGUMENT, "%s.offsets[%lld] is %lld after %lld, expected offsets that rise from 0",
           items.name, static_cast<long long>(i + 1), static_cast<long long>(list.offsets[i + 1]),
           static_cast<long long>(list.offsets[i]));
}

// Calls found(i, row) for the rows of every entry that `index`, a plain one, has. What is read of an entry is fetched
// some way ahead: its place in the table, then the id that is there.
template <class Found>
void find_ids(const sidbeam_index& index, const sidbeam_item_list& list, const Found& found) {
  constexpr int64_t kTogether = 64;
  const IndexView& view = index.index.view;
  const IdTable& table = index.find_id_table();
  const RepeatsView* repeats = table.repeats() ? &index.find_repeats() : nullptr;
  uint64_t hashes[kTogether];
  for (int64_t first = 0; first < list.count; first += kTogether) {
    const int64_t n = std::min(kTogether, list.count - first);
    for (int64_t i = 0; i < n; ++i) {
      hashes[i] = table.hash(view, id_at(list, first + i));
      table.prefetch(hashes[i]);
    }
    for (int64_t i = 0; i < n; ++i) table.prefetch_id(view, hashes[i]);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = table.find(view, id_at(list, first + i), hashes[i]);
      if (row < 0) continue;
      for_each_row(view, repeats, static_cast<uint64_t>(row), [&](uint64_t each) { found(first + i, each); });
    }
  }
}

// Adds the rows of every known entry, as far as they have not gone; returns the number of the others.
int64_t find_ids(const sidbeam_index& index, const sidbeam_item_list& list, GrowingRows& rows) {
  const uint64_t* live = index.live_rows();
  const OverlayView* overlay = index.index.view.overlay;
  int64_t known = 0, last = -1;
  Buffer<uint64_t> of_base = zero_bits(overlay != nullptr ? static_cast<uint64_t>(list.count) : 0,
                                       index.runtime->allocator);  // entries that the base knows
  find_ids(index.base(), list, [&](int64_t i, uint64_t row) {
    if (live != nullptr && !has_bit(live, row)) return;
    rows.add({row, i});
    known += i != last ? 1 : 0;
    last = i;
    if (overlay != nullptr) put_bit(of_base.data(), static_cast<uint64_t>(i), true);
  });
  if (overlay == nullptr) return list.count - known;
  last = -1;
  find_ids(*index.delta(), list, [&](int64_t i, uint64_t own) {
    const uint64_t row = overlay->rows[own];
    if (live != nullptr && !has_bit(live, row)) return;
    rows.add({row, i});
    known += i != last && !has_bit(of_base.data(), static_cast<uint64_t>(i)) ? 1 : 0;
    last = i;
  });
  return list.count - known;
}

int64_t find_rows(const sidbeam_index& index, const sidbeam_item_list& list, GrowingRows& rows) {
  const uint64_t items = index.row_count();
  int64_t unknown = 0;
  for (int64_t i = 0; i < list.count; ++i) {
    const auto row = static_cast<uint64_t>(list.numbers[i]);
    if (row < items) {
      rows.add({row, i});
    } else {
      ++unknown;
    }
  }
  return unknown;
}

}  // namespace

ItemId id_at(const sidbeam_item_list& list, int64_t i) {
  if (list.names == nullptr) return {list.numbers[i], {}};
  return {0, {list.names + list.offsets[i], static_cast<size_t>(list.offsets[i + 1] - list.offsets[i])}};
}

void check_ids(const IndexView& index, const NamedItems& items) {
  check_list(index, items);
  if (items.list.by != SIDBEAM_ITEMS_BY_ID)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s.by is %d, expected %d: items are removed by id", items.name, items.list.by,
         SIDBEAM_ITEMS_BY_ID);
  if (static_cast<uint64_t>(items.list.count) >= kMaxItems)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s.count is %lld, a catalogue holds fewer than 2^40 items", items.name,
         static_cast<long long>(items.list.count));
}

void require_trie(const sidbeam_index& index) {
  if (!index.index.view.has_trie)
    fail(SIDBEAM_MISSING_SECTION, "the index has no trie, which rules need: build it with SIDBEAM_KIND_TRIE");
}

ListedRows rows_of_items(const sidbeam_index& index, const NamedItems& items, Buffer<int64_t>* entries) {
  const IndexView& view = index.index.view;
  const Allocator& allocator = index.runtime->allocator;
  check_list(view, items);
  GrowingRows found(allocator, items.list.count);
  ListedRows listed;
  if (items.list.count > 0)
    listed.unknown =
        items.list.by == SIDBEAM_ITEMS_BY_ID ? find_ids(index, items.list, found) : find_rows(index, items.list, found);
  found.sort(index.row_count());
  listed.rows = Buffer<uint64_t>(allocator, found.count());
  if (entries != nullptr) *entries = Buffer<int64_t>(allocator, found.count());
  for (const NamedRow& each : found) {
    if (listed.count == 0 || listed.rows[listed.count - 1] != each.row) listed.rows[listed.count++] = each.row;
    if (entries != nullptr) (*entries)[listed.count - 1] = each.entry;
  }
  return listed;
}

namespace {

uint64_t count_live(const uint64_t* rows, const uint64_t* live, uint64_t items) {
  if (live == nullptr) return count_bits(rows, items);
  uint64_t set = 0;
  for (uint64_t w = 0; w < row_words(items); ++w) set += bits_set(rows[w] & live[w]);
  return set;
}

// Adds to rows of the base those of the delta, if there is one, for which an expression holds.
RowBits with_delta(const Expression& expression, const sidbeam_index& index, const uint64_t* of_base) {
  const Allocator& allocator = index.runtime->allocator;
  RowBits all = zero_bits(index.row_count(), allocator);
  const uint64_t items = index.index.view.items;
  for (uint64_t w = 0; w < row_words(items); ++w) all[static_cast<int64_t>(w)] = of_base[w] & row_mask(w, items);
  if (index.delta() == nullptr) return all;
  const Index& delta = index.delta()->index;
  const RowBits of_delta =
      sidbeam::rows_of(expression, delta.attributes, delta.view.items, allocator, index.runtime->threads);
  for (uint64_t row = 0; row < delta.view.items; ++row)
    if (has_bit(of_delta.data(), row)) put_bit(all.data(), index.index.view.overlay->rows[row], true);
  return all;
}

// The rows for which an expression holds, of a plain index or of base and delta.
RowBits rows_of(const Expression& expression, const sidbeam_index& index) {
  const Index& base = index.base().index;
  RowBits of_base =
      sidbeam::rows_of(expression, base.attributes, base.view.items, index.runtime->allocator, index.runtime->threads);
  return index.delta() == nullptr ? std::move(of_base) : with_delta(expression, index, of_base.data());
}

}  // namespace

std::unique_ptr<sidbeam_filter> make_filter(sidbeam_index& index, Buffer<uint64_t> rows) {
  auto filter = std::make_unique<sidbeam_filter>();
  filter->index = Ref<sidbeam_index>::share(&index);
  filter->items = static_cast<int64_t>(count_live(rows.data(), index.live_rows(), index.row_count()));
  filter->rows = std::move(rows);
  return filter;
}

std::unique_ptr<sidbeam_filter> make_filter(sidbeam_index& index, Expression expression) {
  auto filter = make_filter(index, rows_of(expression, index));
  filter->expression = std::make_unique<const Expression>(std::move(expression));
  return filter;
}

namespace {

// What a combination is made of; null where one of the filters is of rows, or where it would be too large for a text.
std::unique_ptr<const Expression> combined(int32_t op, sidbeam_filter* const* filters, int64_t count) {
  Expression all;
  all.kind = op == SIDBEAM_FILTER_AND  ? Expression::Kind::kAnd
             : op == SIDBEAM_FILTER_OR ? Expression::Kind::kOr
                                       : Expression::Kind::kNot;
  for (int64_t i = 0; i < count; ++i) {
    if (filters[i]->expression == nullptr) return nullptr;
    all.operands.push_back(*filters[i]->expression);
  }
  try {
    check_expression(all);
  } catch (const Failure&) {
    return nullptr;
  }
  return std::make_unique<const Expression>(std::move(all));
}

}  // namespace

std::unique_ptr<sidbeam_filter> combine_filters(int32_t op, sidbeam_filter* const* filters, int64_t count) {
  sidbeam_index& index = *filters[0]->index;
  const uint64_t items = index.row_count();
  Buffer<uint64_t> rows = make_bits(items, index.runtime->allocator);
  std::copy(filters[0]->rows.begin(), filters[0]->rows.end(), rows.begin());
  const auto words = static_cast<int64_t>((items + 63) / 64);
  for (int64_t i = 1; i < count; ++i) {
    const uint64_t* other = filters[i]->rows.data();
    for (int64_t w = 0; w < words; ++w) rows[w] = op == SIDBEAM_FILTER_AND ? rows[w] & other[w] : rows[w] | other[w];
  }
  if (op == SIDBEAM_FILTER_NOT) {
    for (int64_t w = 0; w < words; ++w) rows[w] = ~rows[w];
    if (items % 64 != 0) rows[words - 1] &= (uint64_t{1} << items % 64) - 1;
  }
  auto filter = make_filter(index, std::move(rows));
  filter->expression = combined(op, filters, count);
  return filter;
}

namespace {

// The rows of a filter on another index; what it is made of is asked of the items that its own index has not.
Buffer<uint64_t> rows_on(const sidbeam_filter& filter, const sidbeam_index& index) {
  const bool same_base = &filter.index->base() == &index.base();
  if (filter.expression != nullptr)
    return same_base ? with_delta(*filter.expression, index, filter.rows.data()) : rows_of(*filter.expression, index);
  if (!same_base)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "the filter is a set of items of an index on another base, expected one on the same, or a filter of terms");
  const uint64_t rows = std::min(filter.index->row_count(), index.row_count());
  Buffer<uint64_t> bits = zero_bits(index.row_count(), index.runtime->allocator);
  for (uint64_t w = 0; w < row_words(rows); ++w)
    bits[static_cast<int64_t>(w)] = filter.rows[static_cast<int64_t>(w)] & row_mask(w, rows);
  return bits;
}

}  // namespace

std::unique_ptr<sidbeam_filter> filter_on(const sidbeam_filter& filter, sidbeam_index& index) {
  std::unique_ptr<sidbeam_filter> on = make_filter(index, rows_on(filter, index));
  if (filter.expression != nullptr) on->expression = std::make_unique<const Expression>(*filter.expression);
  const FilterBits* before = filter.derived.known();
  if (before != nullptr && index.index.view.has_trie)
    on->derived.get([&] {
      return derive_from(index, {on->rows.data(), index.live_rows()}, *filter.index,
                         {filter.rows.data(), filter.index->live_rows()}, *before);
    });
  return on;
}

std::unique_ptr<sidbeam_filter> update_filter(const sidbeam_filter& filter, const NamedItems& items,
                                              const uint8_t* allowed, int64_t& unknown) {
  sidbeam_index& index = *filter.index;
  const Allocator& allocator = index.runtime->allocator;
  Buffer<int64_t> entries;
  ListedRows listed = rows_of_items(index, items, &entries);
  unknown = listed.unknown;
  Buffer<uint64_t> rows(allocator, filter.rows.size());
  std::copy(filter.rows.begin(), filter.rows.end(), rows.begin());
  int64_t changed = 0;
  for (int64_t i = 0; i < listed.count; ++i) {
    const bool value = allowed[entries[i]] != 0;
    if (has_bit(rows.data(), listed.rows[i]) == value) continue;
    put_bit(rows.data(), listed.rows[i], value);
    if (index.live_rows() == nullptr || has_bit(index.live_rows(), listed.rows[i]))
      listed.rows[changed++] = listed.rows[i];
  }
  std::unique_ptr<sidbeam_filter> updated = make_filter(index, std::move(rows));
  const FilterBits* before = filter.derived.known();
  if (before != nullptr)
    updated->derived.get([&] {
      return std::make_unique<const FilterBits>(index.tries(), updated->rows.data(), index.live_rows(), *before,
                                                ChangedRows{listed.rows.data(), changed, true}, index.runtime->threads,
                                                allocator);
    });
  return updated;
}

namespace {

std::unique_ptr<sidbeam_constraint::Lists> take_lists(sidbeam_index& index) {
  return std::unique_ptr<sidbeam_constraint::Lists>(
      new sidbeam_constraint::Lists(index.lists.take([] { return RequestRules(); })));
}

// Gives a constraint an allow list of `rows`, which it may change, without the excluded ones.
void allow_without(sidbeam_constraint& constraint, uint64_t* rows, int64_t count, const SortedRows& excluded) {
  uint64_t* end = std::set_difference(rows, rows + count, excluded.rows, excluded.rows + excluded.count, rows);
  auto lists = take_lists(*constraint.index);
  (**lists).allow_only({constraint.index->tries(), constraint.filtered()}, {rows, end - rows},
                       constraint.index->runtime->allocator);
  constraint.lists = std::move(lists);
}

// Gives it excluded rows, besides those of `before` (may be null).
void exclude_besides(sidbeam_constraint& constraint, const SortedRows& excluded, const RequestRules* before) {
  auto lists = take_lists(*constraint.index);
  (**lists).exclude({constraint.index->tries(), constraint.filtered()}, excluded, before,
                    constraint.index->runtime->allocator);
  constraint.lists = std::move(lists);
}

}  // namespace

namespace {

// Whether rules allow a row of a SID of a plain index.
bool allows_sid(const IndexView& index, const RulesView& rules, uint64_t ordinal) {
  const OrdinalRange rows = item_rows(index, ordinal);
  for (uint64_t row = rows.lo; row < rows.hi; ++row)
    if (rules.allows(rules.rows, row)) return true;
  return false;
}

}  // namespace

int64_t allowed_sids(const sidbeam_constraint& constraint) {
  const IndexView& view = constraint.index->index.view;
  const RulesView* rules = constraint.rules();
  if (rules == nullptr) return static_cast<int64_t>(sid_count(view));
  if (constraint.lists == nullptr)
    return static_cast<int64_t>(
        (constraint.filter ? constraint.filter->prepare() : *constraint.index->version->live).sids());
  if (rules->delta == nullptr) return static_cast<int64_t>(rules->sids_left);
  const OverlayView& overlay = *view.overlay;
  uint64_t both = 0;
  for (uint64_t i = 0; i < overlay.shared; ++i)
    both += allows_sid(view, *rules, overlay.shared_ordinals[i]) &&
                    allows_sid(*overlay.delta, *rules->delta, overlay.shared_delta_ordinals[i])
                ? 1
                : 0;
  return static_cast<int64_t>(rules->sids_left + rules->delta->sids_left - both);
}

int64_t allowed_items(const sidbeam_constraint& constraint) {
  const sidbeam_index& index = *constraint.index;
  const int64_t live = index.version != nullptr ? index.version->live_items : static_cast<int64_t>(index.row_count());
  const int64_t filtered = constraint.filter ? constraint.filter->items : live;
  if (constraint.lists == nullptr) return filtered;
  const RequestRules& lists = **constraint.lists;
  return lists.view().only_listed ? lists.rows() : filtered - lists.rows();
}

void set_lists(sidbeam_constraint& constraint, const NamedItems* excluded, const NamedItems* allowed) {
  ListedRows out, in;
  if (excluded != nullptr) out = rows_of_items(*constraint.index, *excluded);
  if (allowed != nullptr) in = rows_of_items(*constraint.index, *allowed);
  constraint.unknown_excluded = out.unknown;
  constraint.unknown_allowed = in.unknown;
  if (allowed != nullptr) return allow_without(constraint, in.rows.data(), in.count, out.view());
  exclude_besides(constraint, out.view(), nullptr);
}

std::unique_ptr<sidbeam_constraint> exclude_more(const sidbeam_constraint& constraint, const NamedItems& excluded) {
  const ListedRows out = rows_of_items(*constraint.index, excluded);
  auto more = std::make_unique<sidbeam_constraint>();
  more->index = Ref<sidbeam_index>::share(constraint.index.get());
  more->filter = Ref<sidbeam_filter>::share(constraint.filter.get());
  more->unknown_excluded = constraint.unknown_excluded + out.unknown;
  more->unknown_allowed = constraint.unknown_allowed;
  const RequestRules* before = constraint.lists != nullptr ? &**constraint.lists : nullptr;
  if (before == nullptr || !before->view().only_listed) {
    exclude_besides(*more, out.view(), before);
    return more;
  }
  Buffer<uint64_t> rows(constraint.index->runtime->allocator, before->rows());
  before->listed_rows(constraint.index->index.view, rows.data());
  allow_without(*more, rows.data(), rows.size(), out.view());
  return more;
}

}  // namespace sidbeam
