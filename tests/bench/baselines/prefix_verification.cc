// Parallel prefix-verification (DISC, Algorithm 2): a candidate is the beam's prefix and one code. A binary search over
// all sorted SIDs finds the first that is not below it; the candidate is valid if that SID begins with it. The search
// compares by the first code that differs; the paper's listing sums signs, which is wrong if two codes differ.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "validity.h"

namespace bench {
namespace {

// A place is the ordinal of the first SID with the prefix.
class PrefixVerification final : public Validity {
 public:
  explicit PrefixVerification(const Catalogue& catalogue) : catalogue_(catalogue) {}

  Place root() const override { return 0; }

  void mask(Place place, int32_t level, uint8_t* mask) const override {
    for (int32_t t = 0; t < catalogue_.codes; ++t) mask[t] = find(place, level, t).has_value() ? 1 : 0;
  }

  std::optional<Place> find(Place place, int32_t level, int32_t code) const override {
    const int32_t* prefix = catalogue_.sid(static_cast<int64_t>(place));
    int64_t low = 0, high = catalogue_.sids;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (below(catalogue_.sid(middle), prefix, level, code)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == catalogue_.sids) return std::nullopt;
    const int32_t* found = catalogue_.sid(low);
    if (!std::equal(prefix, prefix + level, found) || found[level] != code) return std::nullopt;
    return static_cast<Place>(low);
  }

 private:
  static bool below(const int32_t* sid, const int32_t* prefix, int32_t level, int32_t code) {
    for (int32_t l = 0; l < level; ++l)
      if (sid[l] != prefix[l]) return sid[l] < prefix[l];
    return sid[level] < code;
  }

  const Catalogue& catalogue_;
};

}  // namespace

std::unique_ptr<Validity> make_prefix_verification(const Catalogue& catalogue) {
  return std::make_unique<PrefixVerification>(catalogue);
}

}  // namespace bench
