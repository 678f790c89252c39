// One of those who search without rest, and compare what they find.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <vector>

#include "searcher.h"
#include "shared.h"

namespace bench::soak {

// A version and what it has to have.
struct Known {
  Version version;
  Content content;
};

class Reader {
 public:
  Reader(Shared& shared, uint64_t seed) : shared_(shared), random_(seed) {}
  void run();

  int64_t checked = 0, items = 0;  // requests, and items that they have found

 private:
  Known known(int64_t version);
  Known older();
  std::vector<int64_t> some_ids(const LiveSet& live);
  void check(const Request& request, const Known& known, const std::vector<Found>& found);

  Shared& shared_;
  std::mt19937_64 random_;
};

}  // namespace bench::soak
