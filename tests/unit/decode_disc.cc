// What DISC remembers of the results before. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "../handles.h"
#include "decode/disc.h"

namespace sidbeam {
namespace {

// Ordinals that begin at one slot of a table which begins ordinal o at o * 0x9e3779b97f4a7c15 >> 32, as ours once did:
// a caller could choose them so that each result took as long as all before it.
TEST(Disc, ChosenOrdinalsDoNotCluster) {
  constexpr uint64_t kInverse = 0xf1de83e19937733d;  // of that factor
  constexpr int64_t kResults = 4096, kMostInARow = 256;
  sidbeam_runtime* made = nullptr;
  ASSERT_EQ(sidbeam_runtime_create(nullptr, &made, nullptr), SIDBEAM_OK);
  const handles::Runtime runtime(made);
  sidbeam_disc_config config = SIDBEAM_DISC_CONFIG_INIT;
  config.results = kResults;
  config.without_replacement = 1;
  const std::unique_ptr<sidbeam_disc> disc = create_disc(runtime.get(), config);
  std::vector<int64_t> draws(kResults), ordinals;
  ASSERT_EQ(next_draws(*disc, kResults, draws.data()), kResults);
  for (uint64_t k = 1; std::ssize(ordinals) < kResults; ++k)
    if (static_cast<int64_t>(k * kInverse) >= 0) ordinals.push_back(static_cast<int64_t>(k * kInverse));
  const std::vector<float> certain(kResults, 0.0F);  // each is accepted
  sidbeam_disc_draws add = SIDBEAM_DISC_DRAWS_INIT;
  add.count = kResults;
  add.draws = draws.data();
  add.ordinals = ordinals.data();
  add.log_probs = add.log_masses = certain.data();
  add_draws(*disc, add);
  EXPECT_EQ(disc->undecided, kResults);

  int64_t used = 0, run = 0, longest = 0;
  for (const int64_t mark : disc->taken) {
    run = mark != 0 ? run + 1 : 0;
    used += mark != 0 ? 1 : 0;
    longest = std::max(longest, run);
  }
  EXPECT_EQ(used, kResults);
  EXPECT_LT(longest, kMostInARow);
}

}  // namespace
}  // namespace sidbeam
