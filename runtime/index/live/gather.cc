// SPDX-License-Identifier: Apache-2.0
#include "index/live/gather.h"

#include "index/read/items.h"
#include "index/read/lookup.h"
#include "index/read/rising_sids.h"
#include "index/rules/id_table.h"

namespace sidbeam {

GatheredPairs::GatheredPairs(const PairSource& from, std::span<const uint64_t> rows, bool with_priorities)
    : columns_(from, rows) {
  const uint64_t items = from.base_items();
  const int levels = from.pairs.layout.levels;
  codes_.reserve(rows.size() * static_cast<size_t>(levels));
  for (const uint64_t row : rows) {
    codes_.resize(codes_.size() + static_cast<size_t>(levels));
    row < items ? add_base_pair(*from.base, row) : add_pair(from.pairs, static_cast<int64_t>(row - items));
  }
  pairs_.count = std::ssize(rows);
  pairs_.codes = codes_.data();
  pairs_.lengths = lengths_.data();
  if (with_priorities) pairs_.priorities = priorities_.data();
  if (from.pairs.id_type == IdType::kString) {
    pairs_.id_bytes = names_.data();
    pairs_.id_offsets = offsets_.data();
  } else {
    pairs_.ids = ids_.data();
  }
}

void GatheredPairs::add_base_pair(const Index& index, uint64_t row) {
  const IndexView& base = index.view;
  const auto levels = static_cast<size_t>(base.levels);
  lengths_.push_back(sid_of(base, item_ordinal(base, row), codes_.data() + codes_.size() - levels));
  const ItemId id = id_of(base, row);
  ids_.push_back(id.number);
  names_ += id.name;
  offsets_.push_back(std::ssize(names_));
  priorities_.push_back(has_priorities(index.priorities) ? item_priority(index.priorities, row) : 0);
}

void GatheredPairs::add_pair(const Catalogue& pairs, int64_t pair) {
  const auto levels = static_cast<size_t>(pairs.layout.levels);
  lengths_.push_back(pairs.sid_of(pair, codes_.data() + codes_.size() - levels));
  if (pairs.id_type == IdType::kString) {
    names_ += pairs.names[pair];
    offsets_.push_back(std::ssize(names_));
  } else {
    ids_.push_back(pairs.id(pair));
  }
  priorities_.push_back(pairs.priority(pair));
}

GatheredColumns::GatheredColumns(const PairSource& from, std::span<const uint64_t> rows) {
  const std::vector<AttributeColumn>& all = from.pairs.attributes.all();
  for (size_t i = 0; i < all.size(); ++i) {
    if (from.base == nullptr && all[i].filled() == 0) continue;  // never given
    CopiedValues& values =
        values_.emplace_back(all[i], from.base != nullptr ? &from.base->attributes[i] : nullptr, from.base_items());
    for (const uint64_t row : rows) values.add(row);
  }
  for (CopiedValues& values : values_) arrays_.push_back(values.arrays());
  for (const sidbeam_attribute_column& column : arrays_) columns_.push_back(&column);
}

int64_t GatheredColumns::bytes() const {
  int64_t bytes = 0;
  for (const CopiedValues& values : values_) bytes += values.bytes();
  return bytes;
}

Catalogue::Pairs read_pairs(const Index& index, std::span<const uint64_t> rows, std::vector<std::string_view>& names) {
  const IndexView& view = index.view;
  const auto some = [rows](int64_t begin, int64_t count) {
    return rows.subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
  };
  Catalogue::Pairs pairs;
  pairs.count = std::ssize(rows);
  pairs.read_codes = [&view, some](int64_t begin, int64_t count, int32_t* codes, int32_t* lengths) {
    RisingOrdinals ordinals(view);
    RisingSids sids(view);
    bool full = true;
    for (const uint64_t row : some(begin, count)) {
      *lengths = sids.read(ordinals.of(row), codes);
      full &= *lengths++ == view.levels;
      codes += view.levels;
    }
    return full;
  };
  if (has_priorities(index.priorities))
    pairs.read_priorities = [&index, some](int64_t begin, int64_t count, int64_t* out) {
      for (const uint64_t row : some(begin, count)) *out++ = item_priority(index.priorities, row);
    };
  if (view.id_type != IdType::kString) {
    pairs.read_ids = [&view, some](int64_t begin, int64_t count, int64_t* out) {
      for (const uint64_t row : some(begin, count)) *out++ = view.ids[row];
    };
    return pairs;
  }
  names.clear();
  for (const uint64_t row : rows) names.push_back(item_name(view, row));
  pairs.names = names.data();
  return pairs;
}

}  // namespace sidbeam
