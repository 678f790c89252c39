// What the writer of a live catalogue knows: the pairs that were added to a base, in the order in which they came, and
// which item rows of base and store are live. Rows are only ever appended, so that a version is the number of rows and
// the bits of the live ones, and going back to it turns bits alone.
//
//   A pair that is not live is appended or, where a row that has gone has the same values, brings that row back.
//   A pair that is live stays as it is where it is given nothing new. Otherwise its row goes, and one is appended which
//   takes what it was not given from it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "index/build/assembly.h"
#include "index/build/catalogue.h"
#include "index/index.h"
#include "index/live/pair_table.h"
#include "index/read/repeats.h"
#include "index/rules/bits.h"
#include "index/rules/id_table.h"

namespace sidbeam {

inline bool same_id(const ItemId& a, const ItemId& b) { return a.number == b.number && a.name == b.name; }

// The base, and tables of it that are made when they are first needed.
struct StoreBase {
  const Index& index;
  std::function<const IdTable&()> id_table;
  std::function<const RepeatsView&()> repeats;
};

class PairStore {
 public:
  PairStore(const StoreBase& base, int threads, const Allocator& allocator);
  PairStore(const PairStore&) = delete;
  PairStore& operator=(const PairStore&) = delete;

  // Adds pairs and the values of some of their attributes; false if all of it was there. A call that throws changes
  // nothing.
  bool add(const Catalogue::Pairs& pairs, std::span<const sidbeam_attribute_column* const> attributes);
  // Appends pairs as they are, live, with the values of attributes that they have: what an add made of its arguments.
  void append(const Catalogue::Pairs& pairs, std::span<const sidbeam_attribute_column* const> attributes);
  // Removes all pairs of items; returns how many of them had none. A call that throws changes nothing.
  int64_t remove(std::span<const ItemId> ids);
  // Rows that are not live become so, and the others go.
  template <class Rows>
  void toggle(const Rows& rows) {
    for (const uint64_t row : rows) set_live(row, !has_bit(live_.data(), row));
  }

  // A point in the changes since the last seal(), to go back to.
  struct Point {
    Catalogue::Mark pairs;
    size_t toggled;
    int64_t taken_text;
  };
  Point point() const { return {pairs_.mark(), toggled_.size(), taken_text_}; }
  void go_back(const Point& to) noexcept;

  // Sorts the rows that came or went since the last seal(), for the next one: of many it takes a moment, and memory.
  // Points from before are void.
  void sort_toggled();
  // Makes what was changed part of a version, after sort_toggled(): returns the rows that came or went, rising.
  std::vector<uint64_t> seal() noexcept;
  // Takes back what was changed since the last seal().
  void discard() noexcept { go_back({sealed_, 0, 0}); }
  // The same, and lets these rows come or go as part of a version.
  void discard_and_toggle(std::span<const uint64_t> rows) noexcept;
  // Rows that came or went since the last seal(), in any order; one that comes twice did not.
  const std::vector<uint64_t>& toggled() const { return toggled_; }

  // Item rows of base and store, and which are live: bits [rows()], to be read until the next change.
  uint64_t rows() const { return base_.index.view.items + static_cast<uint64_t>(pairs_.rows); }
  const uint64_t* live() const { return live_.data(); }
  uint64_t live_count() const { return live_count_; }
  int64_t added() const { return pairs_.rows; }
  int64_t sealed() const { return sealed_.rows; }  // of them, those of the last seal()
  int64_t bytes() const;
  const Catalogue& pairs() const { return pairs_; }
  // What the pairs since the last seal() take of a log, except the text that they were given.
  int64_t unsealed_bytes() const;
  // The item of a row, and all rows of an item.
  ItemId id_of_row(uint64_t row) const;
  std::vector<uint64_t> rows_of(const ItemId& id) const;
  const sidbeam_builder_config& config() const { return settings_.config; }
  int threads() const { return settings_.threads; }
  // The store's pairs as an index, and of each of its item rows the place among the pairs.
  Index make_delta(Buffer<uint64_t>& places);

 private:
  static constexpr uint64_t kNoRow = ~uint64_t{0};
  static constexpr int64_t kTogether = 32;  // pairs, or ids, that are looked up together
  int64_t take(const Catalogue::Pairs& pairs, std::span<const sidbeam_attribute_column* const> attributes);
  void settle(int64_t first, const TextRoom::Mark& names);
  void make_live(int64_t pair);
  void fill_tables() const;
  // A pair of the add that is under way, and what is found of it ahead of its turn.
  struct NewPair {
    int64_t pair;
    int64_t ordinal;  // of its SID in the base, or -1
    uint64_t id_hash, pair_hash;
  };
  void look_up(int64_t first, int64_t count, NewPair* pairs) const;
  bool settle_pair(const NewPair& pair, int64_t first, int64_t to, std::vector<uint64_t>& sources);
  template <class Visit>
  void for_each_row_of(const NewPair& pair, int64_t added, const Visit& visit) const;
  template <class Visit>
  void for_each_row_of(const ItemId& id, const Visit& visit) const;
  // Calls visit(row) for the base's rows of an item.
  template <class Visit>
  void for_each_base_row(const ItemId& id, const Visit& visit) const {
    const IndexView& view = base_.index.view;
    const IdTable& table = base_.id_table();
    const int64_t first = table.find(view, id, table.hash(view, id));
    const RepeatsView* const repeats = table.repeats() ? &base_.repeats() : nullptr;
    if (first >= 0) for_each_row(view, repeats, static_cast<uint64_t>(first), visit);
  }
  int64_t priority_of(uint64_t row) const;
  bool has_same_values(int64_t pair, int64_t first, uint64_t row, bool only_given) const;
  void take_values(int64_t first, const std::vector<uint64_t>& sources);
  void set_live(uint64_t row, bool live);
  void turn(uint64_t row) noexcept;
  void fetch_rows_of(const IdTable& table, std::span<const ItemId> ids) const;
  int64_t remove_all(std::span<const ItemId> ids);
  uint64_t hash_id(const ItemId& id) const;
  uint64_t hash_pair(int64_t pair, uint64_t id_hash) const;
  ItemId id_at(int64_t pair) const;

  StoreBase base_;
  BuildSettings settings_;
  Allocator allocator_;
  Catalogue pairs_;
  std::vector<uint64_t> live_;
  uint64_t live_count_ = 0;
  std::vector<uint64_t> toggled_;  // rows whose bit was turned since the last seal(), each time
  int64_t taken_text_ = 0;         // bytes of strings that new pairs took from those that they replaced, since then
  Catalogue::Mark sealed_;
  uint64_t seed_;  // secret, so that nobody can choose ids that crowd
  // Of the first pairs of the store; filled up when they are needed.
  mutable PairTable by_id_, by_pair_;
};

}  // namespace sidbeam
