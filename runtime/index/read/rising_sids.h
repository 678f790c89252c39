// SIDs and item rows read in their order, each found near the one before. Safe on damaged contents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/read/find.h"
#include "index/views.h"

namespace sidbeam {

// sid_of() of ordinals of an index without an overlay that do not fall.
class RisingSids {
 public:
  static constexpr int kPlaces = 2 * kMaxLevels + 2;

  explicit RisingSids(const IndexView& index) : index_(index) {}
  int read(uint64_t ordinal, int32_t* codes);

 private:
  const IndexView& index_;
  uint64_t places_[kPlaces] = {};  // where each array was left
};

// item_ordinal() of rows of an index without an overlay that do not fall.
class RisingOrdinals {
 public:
  explicit RisingOrdinals(const IndexView& index) : index_(index) {}
  uint64_t of(uint64_t row) {
    if (!index_.item_offsets) return std::min(row, index_.sids - 1);
    after_ = first_where_near(after_, index_.sids, [&](uint64_t sid) { return index_.item_offsets[sid] > row; });
    return after_ - 1;
  }

 private:
  const IndexView& index_;
  uint64_t after_ = 1;  // the first SID whose items come later
};

}  // namespace sidbeam
