// Pairs and their values as a caller of an add has them, from rows of a base and of what was added to it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/build/catalogue.h"
#include "index/index.h"
#include "index/live/attribute_values.h"

namespace sidbeam {

// A base, whose item rows come first, and the pairs behind them. Without a base the pairs are all there are.
struct PairSource {
  const Index* base;
  const Catalogue& pairs;

  uint64_t base_items() const { return base != nullptr ? base->view.items : 0; }
};

// The attributes that a source has any value of, with those of some of its rows.
class GatheredColumns {
 public:
  GatheredColumns(const PairSource& from, std::span<const uint64_t> rows);
  GatheredColumns(const GatheredColumns&) = delete;
  GatheredColumns& operator=(const GatheredColumns&) = delete;

  const std::vector<const sidbeam_attribute_column*>& columns() const { return columns_; }
  int64_t bytes() const;

 private:
  std::vector<CopiedValues> values_;
  std::vector<sidbeam_attribute_column> arrays_;
  std::vector<const sidbeam_attribute_column*> columns_;
};

// The pairs of item rows of an index without an overlay, rising, as a catalogue reads them for itself. Both must stay,
// and so must `names`, which it fills where ids are strings.
Catalogue::Pairs read_pairs(const Index& index, std::span<const uint64_t> rows, std::vector<std::string_view>& names);

class GatheredPairs {
 public:
  // The pairs of these rows, in this order, with all attributes that the source has any value of. `with_priorities`:
  // those of the base are 0 where it does not keep them.
  GatheredPairs(const PairSource& from, std::span<const uint64_t> rows, bool with_priorities);
  GatheredPairs(const GatheredPairs&) = delete;
  GatheredPairs& operator=(const GatheredPairs&) = delete;

  const Catalogue::Pairs& pairs() const { return pairs_; }
  const std::vector<const sidbeam_attribute_column*>& attributes() const { return columns_.columns(); }

 private:
  void add_base_pair(const Index& base, uint64_t row);
  void add_pair(const Catalogue& pairs, int64_t pair);

  std::vector<int32_t> codes_, lengths_;
  std::vector<int64_t> ids_, offsets_ = {0}, priorities_;
  std::string names_;
  GatheredColumns columns_;
  Catalogue::Pairs pairs_;
};

}  // namespace sidbeam
