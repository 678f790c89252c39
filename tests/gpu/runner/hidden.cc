// The step from hidden states on a CUDA device against the CPU's: enqueued call by call, and by one graph that was
// captured before anything was started. Scores have the same bits where the log-sum-exp is given or not needed.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>

#include "hidden_case.h"
#include "program.h"

namespace gpu {
namespace {

// The same beams, except where neighbours are near each other, after which nothing more is compared.
bool near(const Snapshot& there, const Snapshot& here, const std::string& what) {
  expect(there.live == here.live && there.error == here.error && there.level == here.level, what, ": live ", there.live,
         ", expected ", here.live);
  for (size_t m = 0; m < static_cast<size_t>(here.live); ++m)
    expect(std::fabs(there.scores[m] - here.scores[m]) <= 2e-5F * std::max(1.0F, std::fabs(here.scores[m])), what,
           ": score ", m, " is ", there.scores[m], ", expected ", here.scores[m]);
  return there.codes == here.codes && there.parents == here.parents;
}

void compare(const HiddenCase& c, const std::vector<Snapshot>& there, const std::vector<Snapshot>& here,
             std::vector<bool>& astray, const std::string& what) {
  const bool exact = c.lse || c.normalization == SIDBEAM_NORMALIZE_NONE;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    if (exact) {
      expect_same(there[slot], here[slot], true, what);
    } else if (!astray[slot]) {
      astray[slot] = !near(there[slot], here[slot], what);
    }
  }
}

// Returns how many slots were compared with the CPU to their end.
int run_case(const HiddenCase& c) {
  const differential::Runtime runtime = differential::make_runtime(nullptr);
  const differential::Constraint many = make_constraint(runtime.get(), 300, c.seed, c.variable, true),
                                 few = make_constraint(runtime.get(), 4, c.seed + 1, c.variable, true);
  const Place here_place;
  const DevicePlace device(0);
  HiddenSide here(c, runtime.get(), many.get(), here_place), eager(c, runtime.get(), many.get(), device),
      graphed(c, runtime.get(), many.get(), device);
  std::vector<bool> astray(kSlots);
  std::optional<Graph> graph;
  for (int life = 0; life < 2; ++life) {
    // The first life of the graph's session begins after the capture; libraries have loaded their kernels by then.
    eager.start(few.get());
    if (!graph) {
      eager.fill(99, eager.live());
      eager.step();
      eager.start(few.get());
      graph.emplace(static_cast<cudaStream_t>(device.stream()), [&] { graphed.step(); });
    }
    graphed.start(few.get());
    here.start(few.get());
    astray.assign(kSlots, false);
    for (uint64_t level = 0; level < 3; ++level) {
      const uint64_t round = static_cast<uint64_t>(life) * 10 + level;
      for (HiddenSide* side : {&here, &eager, &graphed}) side->fill(round, side->live());
      here.step();
      eager.step();
      graph->launch();
      const std::string what = c.text() + ", life " + std::to_string(life) + ", level " + std::to_string(level);
      const std::vector<Snapshot> there = eager.look(), replayed = graphed.look();
      for (size_t slot = 0; slot < kSlots; ++slot) expect_same(replayed[slot], there[slot], true, what + ", graph");
      compare(c, there, here.look(), astray, what);
    }
  }
  const sidbeam_hidden_stats stats = eager.stats();
  expect(stats.steps == 7 && stats.child_slots + stats.product_slots == 7 * kSlots, c.text(), ": ", stats.steps,
         " steps of ", stats.child_slots, " and ", stats.product_slots, " slots");
  const bool children = c.lse || c.normalization >= SIDBEAM_NORMALIZE_VALID;
  const bool product = !children || (c.step_path != 0 ? c.step_path : c.path) == SIDBEAM_HIDDEN_PRODUCT;
  expect((stats.product_slots > 0) == product, c.text(), ": took the other path");
  return static_cast<int>(std::count(astray.begin(), astray.end(), false));
}

void cases() {
  constexpr int64_t kWidths[] = {8, 5, 20, 67, 300};
  constexpr int32_t kNormalizations[] = {SIDBEAM_NORMALIZE_NONE, SIDBEAM_NORMALIZE_VALID, SIDBEAM_NORMALIZE_FULL,
                                         SIDBEAM_NORMALIZE_LEVEL};
  int compared = 0, all = 0;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return static_cast<int32_t>(random() % n); };
    HiddenCase c;
    c.seed = seed * 100;
    c.width = kWidths[below(5)];
    c.dtype = below(3), c.hidden_dtype = below(3);
    c.normalization = kNormalizations[below(4)];
    c.lse = c.normalization != SIDBEAM_NORMALIZE_NONE && below(2) == 0;
    c.bias = below(2) == 0, c.mapped = below(2) == 0, c.variable = below(2) == 0;
    c.soft_cap = c.normalization == SIDBEAM_NORMALIZE_VALID && below(2) == 0 ? 8.0F : 0.0F;
    c.path = below(2) == 0 ? SIDBEAM_HIDDEN_FASTEST : SIDBEAM_HIDDEN_PRODUCT;
    const bool children = c.lse || c.normalization >= SIDBEAM_NORMALIZE_VALID;
    if (children && below(2) == 0) c.step_path = SIDBEAM_HIDDEN_CHILDREN;
    if (children && below(2) == 0) c.children = 1 + below(60);
    compared += run_case(c);
    all += kSlots;
  }
  expect(compared * 2 > all, "only ", compared, " of ", all, " slots were compared to their end");
  std::cout << "hidden: " << compared << " of " << all << " slots compared with the CPU to their end\n";
}

int run_all() {
  cases();
  std::cout << "hidden: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() { return gpu::run_program(gpu::run_all); }
