// SPDX-License-Identifier: Apache-2.0
#include "index/live/pair_store.h"

#include <algorithm>
#include <utility>

#include "index/read/items.h"
#include "index/rules/bits.h"
#include "index/rules/row_bits.h"
#include "support/hashing.h"
#include "support/secret.h"

namespace sidbeam {
namespace {

sidbeam_builder_config config_of(const Index& base) {
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = base.view.levels;
  config.codes = base.header.codes.data();
  config.variable_length = base.view.variable_length ? 1 : 0;
  config.id_type = static_cast<int32_t>(base.view.id_type);
  config.kinds = SIDBEAM_KIND_TRIE;
  config.collisions = kKeepIdentical;
  config.keep_priorities = 1;
  return config;
}

}  // namespace

PairStore::PairStore(const StoreBase& base, int threads, const Allocator& allocator)
    : base_(base),
      settings_{config_of(base.index), base.index.header.codebook, {}, base.index.view.target, threads},
      allocator_(allocator),
      pairs_(settings_.config, allocator),
      sealed_(pairs_.mark()),
      seed_(secret_number()),
      by_id_(allocator),
      by_pair_(allocator) {
  pairs_.has_priorities = has_priorities(base.index.priorities);
  sealed_ = pairs_.mark();
  for (const Attribute& attribute : base.index.attributes)
    pairs_.attributes.declare(std::string(attribute.name).c_str(), static_cast<int32_t>(attribute.type), 0);
  live_.assign(row_words(rows()) + 1, 0);
  for (uint64_t w = 0; w < row_words(rows()); ++w) live_[w] = row_mask(w, rows());
  live_count_ = rows();
}

ItemId PairStore::id_at(int64_t pair) const {
  return pairs_.id_type == IdType::kString ? ItemId{0, pairs_.names[pair]} : ItemId{pairs_.ids[pair], {}};
}

uint64_t PairStore::hash_id(const ItemId& id) const {
  if (pairs_.id_type == IdType::kString) return xxh3_64(settings_.target, id.name.data(), id.name.size(), seed_);
  return xxh3_64(settings_.target, &id.number, sizeof id.number, seed_);
}

uint64_t PairStore::hash_pair(int64_t pair, uint64_t id_hash) const {
  uint64_t key[kMaxLevels];
  size_t words = 0;
  for (const auto& word : pairs_.words) key[words++] = word[pair];
  return xxh3_64(settings_.target, key, words * sizeof *key, id_hash);
}

void PairStore::set_live(uint64_t row, bool live) {
  if (has_bit(live_.data(), row) == live) return;
  toggled_.push_back(row);
  turn(row);
}

void PairStore::turn(uint64_t row) noexcept {
  const bool live = !has_bit(live_.data(), row);
  put_bit(live_.data(), row, live);
  live_count_ += live ? 1 : ~uint64_t{0};
}

void PairStore::go_back(const Point& to) noexcept {
  for (; toggled_.size() > to.toggled; toggled_.pop_back()) turn(toggled_.back());
  by_pair_.cut(to.pairs.rows);
  by_id_.cut(to.pairs.rows);
  pairs_.rewind(to.pairs);
  taken_text_ = to.taken_text;
}

// Many by their bits: an order by comparison takes ten times as long.
void PairStore::sort_toggled() {
  if (toggled_.size() < row_words(rows()) / 16) return keep_odd(toggled_);
  Buffer<uint64_t> bits = zero_bits(rows(), allocator_);
  for (const uint64_t row : toggled_) bits[static_cast<int64_t>(row / 64)] ^= uint64_t{1} << row % 64;
  toggled_.clear();
  for (uint64_t w = 0; w < row_words(rows()); ++w)
    for (uint64_t word = bits[static_cast<int64_t>(w)]; word != 0; word &= word - 1)
      toggled_.push_back(w * 64 + bits_set((word & (0 - word)) - 1));
}

std::vector<uint64_t> PairStore::seal() noexcept {
  sealed_ = pairs_.mark();
  taken_text_ = 0;
  return std::exchange(toggled_, {});
}

void PairStore::discard_and_toggle(std::span<const uint64_t> rows) noexcept {
  discard();
  for (const uint64_t row : rows) turn(row);
}

void PairStore::make_live(int64_t pair) {
  const uint64_t row = base_.index.view.items + static_cast<uint64_t>(pair);
  if (live_.size() < row / 64 + 2) live_.resize(row / 64 + 2);
  set_live(row, true);
}

// Enters all pairs into the tables; those that were read from a log are not there yet.
void PairStore::fill_tables() const {
  by_pair_.reserve(pairs_.rows);
  by_id_.reserve(pairs_.rows);
  for (int64_t pair = by_id_.count(); pair < pairs_.rows; ++pair) {
    const uint64_t id_hash = hash_id(id_at(pair));
    by_pair_.add(hash_pair(pair, id_hash));
    by_id_.add(id_hash);
  }
}

int64_t PairStore::remove(std::span<const ItemId> ids) {
  const Point before = point();
  try {
    return remove_all(ids);
  } catch (...) {
    go_back(before);
    throw;
  }
}

ItemId PairStore::id_of_row(uint64_t row) const {
  const IndexView& view = base_.index.view;
  return row < view.items ? id_of(view, row) : id_at(static_cast<int64_t>(row - view.items));
}

// Calls visit(row) for the rows of an item, those of the base first.
template <class Visit>
void PairStore::for_each_row_of(const ItemId& id, const Visit& visit) const {
  for_each_base_row(id, visit);
  fill_tables();
  by_id_.for_each(hash_id(id), [&](int64_t pair) {
    if (same_id(id, id_at(pair))) visit(base_.index.view.items + static_cast<uint64_t>(pair));
    return true;
  });
}

std::vector<uint64_t> PairStore::rows_of(const ItemId& id) const {
  std::vector<uint64_t> rows;
  for_each_row_of(id, [&](uint64_t row) { rows.push_back(row); });
  return rows;
}

// Fetches what will be read to find the base's rows of some ids.
void PairStore::fetch_rows_of(const IdTable& table, std::span<const ItemId> ids) const {
  const IndexView& view = base_.index.view;
  uint64_t hashes[kTogether];
  for (size_t i = 0; i < ids.size(); ++i) table.prefetch(hashes[i] = table.hash(view, ids[i]));
  for (size_t i = 0; i < ids.size(); ++i) table.prefetch_id(view, hashes[i]);
}

int64_t PairStore::remove_all(std::span<const ItemId> ids) {
  const size_t first = toggled_.size();
  std::vector<ItemId> without;  // a live row; perhaps they came before
  const IdTable& table = base_.id_table();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i % kTogether == 0) fetch_rows_of(table, ids.subspan(i, std::min<size_t>(kTogether, ids.size() - i)));
    const size_t before = toggled_.size();
    for_each_row_of(ids[i], [&](uint64_t row) { set_live(row, false); });
    if (toggled_.size() == before) without.push_back(ids[i]);
  }
  if (without.empty()) return 0;
  std::vector<uint64_t> gone(toggled_.begin() + static_cast<std::ptrdiff_t>(first), toggled_.end());
  std::sort(gone.begin(), gone.end());
  return std::count_if(without.begin(), without.end(), [&](const ItemId& id) {
    const std::vector<uint64_t> rows = rows_of(id);
    return std::none_of(rows.begin(), rows.end(),
                        [&](uint64_t row) { return std::binary_search(gone.begin(), gone.end(), row); });
  });
}

int64_t PairStore::unsealed_bytes() const {
  int64_t each = pairs_.layout.levels * int64_t{4} + 4 + 8 + 8;  // codes, length, id, priority
  for (const AttributeColumn& column : pairs_.attributes.all()) each += column.filled() > 0 ? 1 + 8 + 8 : 0;
  return (pairs_.rows - sealed_.rows) * each + std::ssize(toggled_) * int64_t{8} + taken_text_;
}

int64_t PairStore::bytes() const {
  return pairs_.bytes() + by_id_.bytes() + by_pair_.bytes() +
         static_cast<int64_t>((live_.capacity() + toggled_.capacity()) * sizeof(uint64_t));
}

Index PairStore::make_delta(Buffer<uint64_t>& places) {
  Assembly assembly(pairs_, settings_, true);
  Index delta = assemble(assembly, allocator_);
  places = Buffer<uint64_t>(allocator_, pairs_.rows);
  std::copy_n(assembly.rows().data(), pairs_.rows, places.data());
  return delta;
}

}  // namespace sidbeam
