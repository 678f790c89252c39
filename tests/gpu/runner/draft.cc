// NEZHA's draft head on a CUDA device against the CPU's and the oracle's: enqueued, and by one graph that was captured
// before anything was started. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <optional>

#include "../../cut_hash.h"
#include "draft_case.h"
#include "program.h"

namespace gpu {
namespace {

using differential::expect;
using differential::Place;

constexpr int32_t kVerifications[] = {SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_DRAFT_VERIFY_HASH, SIDBEAM_DRAFT_VERIFY_NONE};

// To nearest, ties to even, with so many significant bits and this smallest step.
double rounded(double x, int bits, int least) {
  int exponent = 0;
  std::frexp(x, &exponent);
  const int step = std::max(exponent - bits, least);
  return std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
}
double as_f16(double x) { return rounded(x, 11, -24); }
double as_bf16(double x) { return rounded(x, 8, -133); }

struct Counts {
  int requests = 0, astray = 0;  // astray: other SIDs than on the CPU, for rounding
  int64_t sids = 0, near = 0;    // near: with the score that the oracle gives with rounded inputs
};

// How far scores may be from the CPU's, where inputs of products are rounded to the type of the weights.
double tolerance(const DraftCase& c) {
  // States are sums of multiples of 1/64, three of which bf16 holds.
  const bool exact = c.shape.transition == SIDBEAM_DRAFT_TRANSITION_NONE ||
                     (c.shape.transition == SIDBEAM_DRAFT_TRANSITION_ADD && c.levels() <= 3);
  if (exact || c.dtype == SIDBEAM_DTYPE_F32) return 2e-5;
  return c.dtype == SIDBEAM_DTYPE_F16 ? 0.02 : 0.15;
}

bool is_near(double a, double b, double by) { return std::fabs(a - b) <= by * (1.0 + std::fabs(b)); }

void expect_no_sid(const DraftCase& c, const Drafted& there, size_t beam, const std::string& what) {
  expect(there.ordinals[beam] == -1 && there.scores[beam] == -std::numeric_limits<float>::infinity() &&
             there.sid(c, beam) == std::vector<int>(static_cast<size_t>(c.levels()), -1),
         what, ": beam ", beam, " is no SID and not marked so");
}

// What a request found, against what it found on the CPU, and each SID's score against the oracle's.
void compare(const DraftCase& c, const oracle::DraftModel& model, const States& states, const Drafted& there,
             const Drafted& here, Counts& counts, const std::string& what) {
  const auto beams = static_cast<size_t>(c.beams);
  for (size_t i = 0; i < states.size(); ++i) {
    expect(there.errors[i] == 0 && here.errors[i] == 0, what, ": errors ", there.errors[i]);
    bool same = there.live[i] == here.live[i];
    for (size_t beam = i * beams; beam < (i + 1) * beams; ++beam) {
      if (beam - i * beams >= static_cast<size_t>(there.live[i])) {
        expect_no_sid(c, there, beam, what);
        continue;
      }
      same = same && there.sid(c, beam) == here.sid(c, beam) && there.ordinals[beam] == here.ordinals[beam];
      const float score = there.scores[beam];
      if (same)
        expect(is_near(score, here.scores[beam], tolerance(c)), what, ": score ", score, ", expected ",
               here.scores[beam]);
      if (c.normalization == SIDBEAM_NORMALIZE_VALID) continue;
      const double expected = oracle::draft_score(model, states[i], there.sid(c, beam));
      expect(is_near(score, expected, tolerance(c)), what, ": score ", score, ", the oracle's is ", expected);
      ++counts.sids;
      if (is_near(score, expected, 2e-5)) ++counts.near;
    }
    ++counts.requests;
    if (!same) ++counts.astray;
  }
}

// Two lives of a decoder of each kind; the second with constraints and widths of its own.
void run_case(const DraftCase& c, Counts& counts) {
  std::mt19937_64 random(c.seed);
  oracle::DraftModel model = heads::random_head(c.shape, random);
  if (c.dtype == SIDBEAM_DTYPE_F16) model.rounded = as_f16;
  if (c.dtype == SIDBEAM_DTYPE_BF16) model.rounded = as_bf16;
  const handles::Runtime runtime = differential::make_runtime(nullptr);
  const handles::Index index =
                           heads::make_index(runtime.get(), model.codes, heads::random_sids(model.codes, 60, random)),
                       few = heads::make_index(runtime.get(), model.codes, heads::random_sids(model.codes, 5, random));
  const Place here_place;
  const DevicePlace device(0);
  device.prepare(few.get());
  const handles::Constraint of_few = differential::constrain(few.get());
  const heads::DraftHead head = heads::DraftFile(model, c.dtype).head();
  DraftSide here(c, runtime.get(), head.get(), index.get(), here_place),
      eager(c, runtime.get(), head.get(), index.get(), device),
      graphed(c, runtime.get(), head.get(), index.get(), device);
  const Start others = {{nullptr, of_few.get(), nullptr}, {0, 0, 2}};
  eager.run({});  // libraries have loaded their kernels afterwards
  const Graph graph(static_cast<cudaStream_t>(device.stream()), [&] { graphed.decode(); });
  for (int life = 0; life < 2; ++life) {
    const std::string what = c.text() + ", life " + std::to_string(life);
    const Start start = life == 0 ? Start{} : others;
    const States states = random_states(c, c.seed * 10 + static_cast<uint64_t>(life));
    for (DraftSide* side : {&here, &eager, &graphed}) side->fill(states);
    here.run(start);
    eager.run(start);
    graphed.start(start);
    graph.launch();
    const Drafted there = eager.look();
    graphed.look().expect_same_bits(there, what + ", graph");
    compare(c, model, states, there, here.look(), counts, what);
  }
}

DraftCase random_case(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return static_cast<int32_t>(random() % n); };
  constexpr int kWidths[] = {12, 8, 17, 1, 40};
  DraftCase c;
  c.seed = seed;
  c.shape.codes = std::vector<int>{7, 5, 9};
  if (below(4) == 0) c.shape.codes = {6, 1, 6, 10};
  c.shape.hidden = kWidths[below(5)];
  c.shape.embedding = kWidths[below(5)];
  c.shape.biases = below(3) > 0;
  c.hidden_dtype = below(3);
  c.verification = kVerifications[below(3)];
  if (c.verification == SIDBEAM_DRAFT_VERIFY_TRIE && below(2) == 0) c.normalization = SIDBEAM_NORMALIZE_VALID;
  if (c.verification == SIDBEAM_DRAFT_VERIFY_HASH) c.top_k = below(4);
  c.beams = 2 + below(30);
  c.is_spread = below(2) == 0;
  return c;
}

void cases() {
  Counts counts;
  uint64_t seed = 1;
  for (const int32_t dtype : {SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_F16, SIDBEAM_DTYPE_BF16}) {
    for (int32_t input = SIDBEAM_DRAFT_INPUT_BOTH; input <= SIDBEAM_DRAFT_INPUT_STATE; ++input) {
      for (int32_t transition = SIDBEAM_DRAFT_TRANSITION_RNN; transition <= SIDBEAM_DRAFT_TRANSITION_NONE;
           ++transition) {
        if (input == SIDBEAM_DRAFT_INPUT_HIDDEN && transition != SIDBEAM_DRAFT_TRANSITION_NONE) continue;
        for (int i = 0; i < 2; ++i) {
          DraftCase c = random_case(seed++);
          c.dtype = dtype, c.shape.input = input, c.shape.transition = transition;
          if (transition == SIDBEAM_DRAFT_TRANSITION_ADD) c.shape.embedding = c.shape.hidden;
          run_case(c, counts);
        }
      }
    }
  }
  std::cout << "draft: " << counts.requests << " requests, " << counts.astray << " with other SIDs than on the CPU; "
            << counts.near << " of " << counts.sids << " scores near the oracle's\n";
  expect(counts.astray * 10 < counts.requests, counts.astray, " of ", counts.requests, " requests are astray");
  expect(counts.near * 100 > counts.sids * 95, "only ", counts.near, " of ", counts.sids, " scores are near");
}

// Of hashed keys few bits are left in the second index, so that most keys looked up there are other SIDs' too.
void colliding_keys() {
  std::mt19937_64 random(1);
  const oracle::DraftModel model = heads::deep_head(random);
  DraftCase c;
  c.shape = {model.codes, model.hidden, model.embedding};
  c.verification = SIDBEAM_DRAFT_VERIFY_HASH;
  c.beams = 48, c.top_k = 8;
  const handles::Runtime runtime = differential::make_runtime(nullptr);
  const std::set<std::vector<int>> sids = heads::deep_sids(300, random);
  const handles::Index whole = heads::make_index(runtime.get(), model.codes, sids),
                       few = heads::make_index(runtime.get(), model.codes, sids);
  expect(cut::hash_of(few.get()).hashed, "keys are not hashed");
  cut::cut_hash(few.get(), 6);
  const DevicePlace device(0);
  const heads::DraftHead head = heads::DraftFile(model, c.dtype).head();
  DraftSide of_whole(c, runtime.get(), head.get(), whole.get(), device),
      of_few(c, runtime.get(), head.get(), few.get(), device);
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}}) {
    const States states = random_states(c, seed);
    for (DraftSide* side : {&of_whole, &of_few}) side->fill(states), side->run({});
    const Drafted found = of_few.look();
    found.expect_same_bits(of_whole.look(), "colliding keys, seed " + std::to_string(seed));
    expect(found.live[0] > 20, "only ", found.live[0], " SIDs");
  }
}

int run_all() {
  cases();
  colliding_keys();
  std::cout << "draft: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() { return gpu::run_program(gpu::run_all); }
