// A model's draws by the library, through its C ABI: whole SIDs, stochastic beams and DISC.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "../handles.h"
#include "sample.h"

namespace sampling {

// An index of the model's catalogue, and the logits rows of all prefixes.
struct Library {
  handles::Runtime runtime;
  handles::Index index;
  handles::Constraint constraint;
  oracle::Model model;
  std::vector<float> rows;                     // [nodes, columns]; node 0 is the empty prefix
  std::vector<std::vector<int32_t>> children;  // [nodes][code] nodes, -1 none
  int64_t columns = 0;
};
// live: of a version of a live catalogue, which has ordinals of its own.
Library make_library(const oracle::Model& model, bool live = false);

struct Draws {
  std::vector<int64_t> ordinals;  // -1: dead
  std::vector<float> log_p, log_x;
  int64_t live = 0;    // as the sessions count them
  int32_t errors = 0;  // of the slots, or'ed
};
struct DrawRun {
  oracle::Sid prefix;           // what is decided beforehand
  bool without_arrays = false;  // of truncation: NULL, not values that mean none
};
// The draws of these numbers.
Draws draw(const Library& library, const oracle::DrawKey& request, std::span<const int64_t> numbers,
           const DrawRun& run = {});
// Those of numbers 0 .. count - 1.
Draws draw_first(const Library& library, const oracle::DrawKey& request, int64_t count, const DrawRun& run = {});

// Stochastic beams of many requests, `width` each.
struct Beams {
  Draws draws;                                      // [requests, width]
  std::vector<float> perturbed, log_q, thresholds;  // [requests, width], the same, [requests]
};
Beams stochastic_beams(const Library& library, int64_t seed, std::span<const int64_t> requests, int32_t width);

struct DiscRun {
  int32_t results = 1, rounds = 1, side_by_side = 1;
  bool without_replacement = false;
  bool beams_of_two = false;  // a draw is the better of two stochastic beams, whose request is the draw's number
  float tilt = 0;             // is added to log x of SID 0, which makes another sampler
};
struct DiscResults {
  Draws draws;
  std::vector<int64_t> numbers, used, rows;
  std::vector<int32_t> accepted;
};
DiscResults disc(const Library& library, const oracle::DrawKey& request, const DiscRun& run);

// 0 .. count - 1.
std::vector<int64_t> first_numbers(int64_t count);

// How often each ordinal came, the dead last.
std::vector<int64_t> count(const Draws& draws, size_t sids);
// The same of each two of them, 2i and 2i + 1, none of which are dead: [first * sids + second].
std::vector<int64_t> count_pairs(const Draws& draws, size_t sids);

}  // namespace sampling
