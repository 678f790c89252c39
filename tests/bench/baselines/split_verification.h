// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "validity.h"

namespace bench {

// A catalogue of titles (Catalogue::ends) as one array per length.
class SplitVerification final : public Validity {
 public:
  explicit SplitVerification(const Catalogue& catalogue);

  Place root() const override { return 0; }
  void mask(Place place, int32_t level, uint8_t* mask) const override;
  std::optional<Place> find(Place place, int32_t level, int32_t code) const override;
  int64_t bytes() const;

 private:
  std::optional<int64_t> find_in(int32_t length, const int32_t* prefix, int32_t level, int32_t code) const;

  int32_t end_;
  std::vector<std::vector<int32_t>> arrays_;  // [length] titles of that length, in order
};

std::unique_ptr<Validity> make_split_verification(const Catalogue& catalogue);

}  // namespace bench
