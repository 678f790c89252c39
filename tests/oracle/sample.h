// The oracle's sampling, in float64: random numbers, truncation, a draw of a SID, and DISC's results one by one. It
// models what include/sidbeam/sampling.h and disc.h say. The laws of all this are in laws.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <map>

#include "oracle.h"

namespace oracle {

// Philox4x32-10.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

enum class RandomUse { kCode, kAccept, kResample, kNoise };

// Whose random numbers they are: those of one draw of a request.
struct DrawKey {
  int64_t seed = 0, request = 0, draw = 0;
};
uint64_t random_bits(const DrawKey& key, RandomUse use, int level);

struct Truncation {
  int top_k = 0;     // 0: none
  double top_p = 1;  // 1: none
};

// Which elements of a row are left, and how near a decision was to falling otherwise.
struct Kept {
  std::vector<bool> which;
  double margin = std::numeric_limits<double>::infinity();  // least distance of a cumulative mass from top_p
};
// The k largest, then the fewest largest of them with top_p of their mass; of equal elements the earlier one is kept.
Kept truncated(const std::vector<float>& row, const Truncation& truncation);

// What may follow a prefix.
struct Level {
  std::vector<int> codes;  // valid and not of mass 0, rising; codes[level] of the catalogue stands for the end
  std::vector<double> p;   // their P
  double mass = 0;         // the sum of these
  double margin = std::numeric_limits<double>::infinity();  // that of the truncation
};

// The logits row that the model gives for a prefix.
using RowOf = std::function<std::vector<float>(const Sid& prefix)>;

struct Model {
  Catalogue catalogue;
  Rules rules;
  RowOf row_of;
  Truncation truncation;
};

struct Sampler {
  Catalogue catalogue;
  std::map<Sid, Level> levels;  // of every prefix of a SID that is not of full length
};
Sampler make_sampler(const Model& model);
Level make_level(const Model& model, const Sid& prefix);

// The place in Level::codes of the code that a draw takes at this level, whose codes are not empty; `margin` as below.
size_t choose_code(const Level& level, const DrawKey& key, int l, double& margin);

struct Drawn {
  Sid prefix;        // where it ended, or died
  int ordinal = -1;  // -1: dead
  double log_p = 0, log_x = 0;
  // Least distance of a random number or a cumulative mass from where the outcome changes: rounding that is larger may
  // give another one.
  double margin = std::numeric_limits<double>::infinity();
};
Drawn draw(const Sampler& sampler, const DrawKey& key);

// Result j of DISC with K rounds; repeats stay.
struct DiscResult {
  Drawn winner;  // dead if none
  int64_t draw = -1;
  bool accepted = false;
  int used = 0;
  double margin = std::numeric_limits<double>::infinity();  // of all that decided it
};
DiscResult disc_result(const Sampler& sampler, const DrawKey& request, int64_t j, int rounds);

}  // namespace oracle
