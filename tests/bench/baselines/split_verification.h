// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "validity.h"

namespace bench {

// A catalogue of titles (Catalogue::ends) in pieces by length.
class SplitVerification final : public Validity {
 public:
  // Each title is in the first piece that is wide enough for it, padded with the end. Widths rise, the last one takes
  // the longest title.
  SplitVerification(const Catalogue& catalogue, std::span<const int32_t> widths);

  Place root() const override { return 0; }
  void mask(Place place, int32_t level, uint8_t* mask) const override;
  std::optional<Place> find(Place place, int32_t level, int32_t code) const override;

 private:
  struct Piece {
    int32_t width;
    std::vector<int32_t> rows;  // titles in order
  };
  size_t piece_of(int32_t length) const;
  std::optional<Place> find_in(size_t piece, const int32_t* prefix, int32_t level, int32_t code) const;

  int32_t end_;
  std::vector<Piece> pieces_;
};

// One array per length, without padding.
std::unique_ptr<Validity> make_split_verification(const Catalogue& catalogue);
// Those of kTitlePieces.
std::unique_ptr<Validity> make_pieces_verification(const Catalogue& catalogue);

}  // namespace bench
