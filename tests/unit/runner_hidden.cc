// The step from hidden states against product and step: logits computed in double, and a session driven by hand.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "runner_hidden_case.h"

namespace sidbeam::runner::hidden {
namespace {

// A search by hand and by every path side by side. Where these are of a version of a live catalogue, that by hand is of
// an index of its items alone.
void check_case(uint64_t seed, int64_t width, bool exact) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Random random(seed);
  Case c;
  make_case(random, c);
  SCOPED_TRACE(::testing::Message() << "strategy " << c.config.strategy << ", normalization " << c.config.normalization
                                    << ", lse " << c.lse_given << ", live " << c.live << ", M " << c.config.beams);
  const Weights weights = make_weights(random, c.columns, width, exact);
  const Layer layer = weights.layer(random.below(2) == 0 ? sidbeam::cpu_target_name(sidbeam::CpuTarget::kBaseline)
                                                         : nullptr),
              other = weights.layer();
  const handles::Session by_hand = c.session(c.alone), fastest = c.session(), product = c.session(),
                         children = c.session(), crowded = c.session();
  const Hidden of_fastest = make_hidden(fastest, layer, SIDBEAM_HIDDEN_FASTEST),
               of_product = make_hidden(product, other, SIDBEAM_HIDDEN_PRODUCT),
               of_children = make_hidden(children, layer, SIDBEAM_HIDDEN_CHILDREN),
               of_crowded = make_hidden(crowded, other, SIDBEAM_HIDDEN_FASTEST, 1 + random.below(100));
  for (size_t level = 0; level < c.codes.size(); ++level) {
    const States states(random, c, weights, exact);
    const sidbeam_status expected = step_by_hand(c, weights, states, by_hand.get());
    EXPECT_EQ(step_hidden(c, weights, states, of_product.get()), expected);
    EXPECT_EQ(step_hidden(c, weights, states, of_fastest.get()), expected);
    EXPECT_EQ(step_hidden(c, weights, states, of_crowded.get()), expected);
    const sidbeam_status listed = step_hidden(c, weights, states, of_children.get());
    EXPECT_EQ(listed, c.reads_children() ? expected : SIDBEAM_UNSUPPORTED);
    expect_same_beams(c, product, fastest, "fastest");
    expect_same_beams(c, product, crowded, "crowded");
    if (c.reads_children()) expect_same_beams(c, product, children, "children");
    if (exact) expect_same_beams(c, product, by_hand, "by_hand", !c.live);
    if (expected != SIDBEAM_OK || ::testing::Test::HasFailure()) break;
  }
  if (exact) return;
  // Rounding may swap beams of nearly equal scores; the scores of each rank stay.
  const sidbeam_beams x = beams_of(product), y = beams_of(by_hand);
  for (int64_t i = 0; i < c.rows(); ++i) {
    if (x.errors[i / c.config.beams] != 0 || !std::isfinite(x.scores[i])) continue;
    EXPECT_NEAR(x.scores[i], y.scores[i], 1e-4F * (1.0F + std::fabs(y.scores[i])));
  }
}

TEST(Hidden, StepsAsProductAndStepDo) {
  for (uint64_t seed = 1; seed <= 300 && !HasFailure(); ++seed)
    check_case(seed, 1 + static_cast<int64_t>(seed % 37), true);
}

TEST(Hidden, AgreesWithProductInDoubleOnRealNumbers) {
  for (uint64_t seed = 1; seed <= 40 && !HasFailure(); ++seed)
    check_case(1000 + seed, seed % 4 == 0 ? 1000 + static_cast<int64_t>(seed) * 27 : 64, false);
}

}  // namespace
}  // namespace sidbeam::runner::hidden
