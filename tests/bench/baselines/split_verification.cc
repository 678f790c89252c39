// Prefix-verification in arrays split by length, as DISC-PPV's paper keeps titles: no padding, but a prefix may go on
// in every array of longer titles, and each is searched until one has it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "split_verification.h"

namespace bench {
namespace {

// A place is a row of one array: any that has the prefix.
constexpr int kRowBits = 48;

bool below(const int32_t* row, const int32_t* prefix, int32_t level, int32_t code) {
  const auto [x, y] = std::mismatch(row, row + level, prefix);
  return x != row + level ? *x < *y : row[level] < code;
}

}  // namespace

SplitVerification::SplitVerification(const Catalogue& catalogue)
    : end_(catalogue.codes - 1), arrays_(static_cast<size_t>(catalogue.levels) + 1) {
  for (int64_t i = 0; i < catalogue.sids; ++i) {
    const int32_t length = catalogue.length(i);
    auto& array = arrays_[static_cast<size_t>(length)];
    array.insert(array.end(), catalogue.sid(i), catalogue.sid(i) + length);
  }
  for (auto& array : arrays_) array.shrink_to_fit();
}

int64_t SplitVerification::bytes() const {
  int64_t bytes = 0;
  for (const auto& array : arrays_) bytes += std::ssize(array) * 4;
  return bytes;
}

void SplitVerification::mask(Place place, int32_t level, uint8_t* mask) const {
  for (int32_t t = 0; t <= end_; ++t) mask[t] = find(place, level, t).has_value() ? 1 : 0;
}

std::optional<Place> SplitVerification::find(Place place, int32_t level, int32_t code) const {
  const auto length = static_cast<int32_t>(place >> kRowBits);
  const auto row = static_cast<int64_t>(place & ((Place{1} << kRowBits) - 1));
  const int32_t* prefix = arrays_[static_cast<size_t>(length)].data() + row * length;
  const bool ends = code == end_;
  const int32_t last = ends ? level : static_cast<int32_t>(arrays_.size()) - 1;
  for (int32_t n = ends ? level : level + 1; n <= last; ++n) {
    const std::optional<int64_t> found =
        ends ? find_in(n, prefix, level - 1, prefix[level - 1]) : find_in(n, prefix, level, code);
    if (found) return static_cast<Place>(n) << kRowBits | static_cast<Place>(*found);
  }
  return std::nullopt;
}

// The first row of the titles of `length` that has the prefix and then the code.
std::optional<int64_t> SplitVerification::find_in(int32_t length, const int32_t* prefix, int32_t level,
                                                  int32_t code) const {
  const auto& array = arrays_[static_cast<size_t>(length)];
  int64_t low = 0, high = length > 0 ? std::ssize(array) / length : 0;
  const int64_t rows = high;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (below(array.data() + middle * length, prefix, level, code)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == rows) return std::nullopt;
  const int32_t* found = array.data() + low * length;
  if (!std::equal(prefix, prefix + level, found) || found[level] != code) return std::nullopt;
  return low;
}

std::unique_ptr<Validity> make_split_verification(const Catalogue& catalogue) {
  return std::make_unique<SplitVerification>(catalogue);
}

}  // namespace bench
