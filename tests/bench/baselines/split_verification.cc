// Prefix-verification in pieces split by length, as DISC-PPV's paper keeps titles to avoid padding: a prefix may go on
// in every piece of longer titles, and each is searched until one has it.
// SPDX-License-Identifier: Apache-2.0
#include "split_verification.h"

#include <algorithm>
#include <numeric>

#include "titles.h"

namespace bench {
namespace {

// A place is a row of one piece: any that has the prefix.
constexpr int kRowBits = 48;

bool below(const int32_t* row, const int32_t* prefix, int32_t level, int32_t code) {
  const auto [x, y] = std::mismatch(row, row + level, prefix);
  return x != row + level ? *x < *y : row[level] < code;
}

}  // namespace

SplitVerification::SplitVerification(const Catalogue& catalogue, std::span<const int32_t> widths)
    : end_(catalogue.codes - 1) {
  for (const int32_t width : widths) pieces_.push_back({width, {}});
  for (int64_t i = 0; i < catalogue.sids; ++i) {
    Piece& piece = pieces_[piece_of(catalogue.length(i))];
    piece.rows.insert(piece.rows.end(), catalogue.sid(i), catalogue.sid(i) + piece.width);
  }
  for (Piece& piece : pieces_) piece.rows.shrink_to_fit();
}

void SplitVerification::mask(Place place, int32_t level, uint8_t* mask) const {
  for (int32_t t = 0; t <= end_; ++t) mask[t] = find(place, level, t).has_value() ? 1 : 0;
}

std::optional<Place> SplitVerification::find(Place place, int32_t level, int32_t code) const {
  const Piece& own = pieces_[static_cast<size_t>(place >> kRowBits)];
  const int32_t* prefix = own.rows.data() + static_cast<int64_t>(place & ((Place{1} << kRowBits) - 1)) * own.width;
  if (code == end_) {  // the title is the prefix, and nothing follows it where it fills its row
    const size_t piece = piece_of(level);
    return pieces_[piece].width > level ? find_in(piece, prefix, level, end_)
                                        : find_in(piece, prefix, level - 1, prefix[level - 1]);
  }
  for (size_t piece = piece_of(level + 1); piece < pieces_.size(); ++piece)
    if (const std::optional<Place> found = find_in(piece, prefix, level, code)) return found;
  return std::nullopt;
}

size_t SplitVerification::piece_of(int32_t length) const {
  size_t piece = 0;
  while (pieces_[piece].width < length) ++piece;
  return piece;
}

// The first row of a piece that has the prefix and then the code.
std::optional<Place> SplitVerification::find_in(size_t piece, const int32_t* prefix, int32_t level,
                                                int32_t code) const {
  const auto& [width, rows] = pieces_[piece];
  int64_t low = 0, high = std::ssize(rows) / width;
  const int64_t count = high;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (below(rows.data() + middle * width, prefix, level, code)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == count) return std::nullopt;
  const int32_t* found = rows.data() + low * width;
  if (!std::equal(prefix, prefix + level, found) || found[level] != code) return std::nullopt;
  return static_cast<Place>(piece) << kRowBits | static_cast<Place>(low);
}

std::unique_ptr<Validity> make_split_verification(const Catalogue& catalogue) {
  std::vector<int32_t> widths(static_cast<size_t>(catalogue.levels));
  std::iota(widths.begin(), widths.end(), 1);
  return std::make_unique<SplitVerification>(catalogue, widths);
}

std::unique_ptr<Validity> make_pieces_verification(const Catalogue& catalogue) {
  return std::make_unique<SplitVerification>(catalogue, kTitlePieces);
}

}  // namespace bench
