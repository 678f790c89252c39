// Relaxed verification by the library, and the laws that it should have, by enumeration of every draw and decision.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace speculation {

// Log-probabilities of the same extensions.
struct Lists {
  std::vector<float> target, draft;
};
struct Form {
  int32_t beams = 1, drafts = 1;  // K and N
  bool without_replacement = false;
  float inverse_temperature = 0;  // 0: 1
};
struct Key {
  int64_t seed = 0, request = 0;
  int32_t level = 0;
};

std::vector<int64_t> drawn(const std::vector<float>& log_probs, const Form& form, const Key& key);

struct Relaxed {
  std::vector<int64_t> extensions, drafts;
  int32_t live = 0;
  bool goes_on = false;
};
// Draws drafts and verifies them.
Relaxed relaxed(const Lists& lists, const Form& form, const Key& key);

// Two levels, of three codes with two codes after each, and of a sequence that has ended, which is extension 3 of the
// first level and 6 of the second.
struct TwoLevels {
  Lists first, second;  // first: [3 + 1]; second: of codes given the first one, [3, 2]
};
TwoLevels two_levels();
// The outcome of a request by rounds of two levels, K = 2; counts in `saved` those that needed one round.
size_t two_level_outcome(const TwoLevels& model, const Key& key, int64_t& saved);

}  // namespace speculation
