// Versions of live catalogues: draws, stochastic beams and results of DISC are those of an index of the items alone.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "../random_version.h"
#include "library.h"
#include "models.h"
#include "papers.h"

namespace sampling {
namespace {

// A model's catalogue as an index, and as a version with ordinals of its own.
struct Both {
  Library plain, live;
  std::vector<int64_t> ordinals;  // of the SIDs in the version

  explicit Both(const oracle::Model& model) : plain(make_library(model)), live(make_library(model, true)) {
    for (const oracle::Sid& sid : model.catalogue.sids) {
      const std::vector<int32_t> codes(sid.begin(), sid.end());
      ordinals.push_back(handles::ordinals_in(live.index.get(), codes, static_cast<int32_t>(codes.size()))[0]);
    }
  }
  void expect_same(const Draws& found, const Draws& wanted) const {
    std::vector<int64_t> own;
    for (const int64_t ordinal : wanted.ordinals)
      own.push_back(ordinal < 0 ? -1 : ordinals.at(static_cast<size_t>(ordinal)));
    EXPECT_EQ(found.ordinals, own);
    EXPECT_EQ(found.log_p, wanted.log_p);
    EXPECT_EQ(found.log_x, wanted.log_x);
    EXPECT_EQ(found.live, wanted.live);
    EXPECT_EQ(found.errors, wanted.errors);
  }
};

std::vector<oracle::Model> models() {
  return {random_model(1, false), random_model(2, true), oracle::figure_one(),
          truncated(random_model(3, false), 3, 0.9F), deadly_model(4, true)};
}

TEST(Versions, HaveTheDrawsOfTheirItems) {
  for (const oracle::Model& model : models()) {
    const Both both(model);
    both.expect_same(draw_first(both.live, {1, 7, 0}, 5000), draw_first(both.plain, {1, 7, 0}, 5000));
  }
}

TEST(Versions, HaveTheStochasticBeamsOfTheirItems) {
  const std::vector<int64_t> requests = first_numbers(1000);
  for (const oracle::Model& model : {random_model(1, false), random_model(2, true)}) {
    const Both both(model);
    const Beams found = stochastic_beams(both.live, 5, requests, 3),
                wanted = stochastic_beams(both.plain, 5, requests, 3);
    both.expect_same(found.draws, wanted.draws);
    EXPECT_EQ(found.perturbed, wanted.perturbed);
    EXPECT_EQ(found.log_q, wanted.log_q);
    EXPECT_EQ(found.thresholds, wanted.thresholds);
  }
}

TEST(Versions, HaveTheResultsOfDiscOfTheirItems) {
  DiscRun run;
  run.rounds = 3;
  for (const oracle::Model& model : models()) {
    const Both both(model);
    for (const bool without : {false, true}) {
      run.without_replacement = without;
      run.results = without ? 3 : 500;
      const DiscResults found = disc(both.live, {9, 10, 0}, run), wanted = disc(both.plain, {9, 10, 0}, run);
      both.expect_same(found.draws, wanted.draws);
      EXPECT_EQ(found.numbers, wanted.numbers);
      EXPECT_EQ(found.accepted, wanted.accepted);
      EXPECT_EQ(found.used, wanted.used);
    }
  }
}

}  // namespace
}  // namespace sampling
