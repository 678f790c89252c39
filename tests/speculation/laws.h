// Laws of relaxed verification: probabilities of ordered outcomes, K extensions each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "relaxed.h"

namespace speculation {

// [n^K] by outcome_of().
using Law = std::vector<double>;
size_t outcomes(size_t n, int32_t beams);
size_t outcome_of(size_t n, const std::vector<int64_t>& extensions);

// An inverse temperature of 0 is 1.
std::vector<double> probabilities(const std::vector<float>& log_probs, float inverse_temperature = 0);
// Of drawing from the target alone, K times.
Law independent_draws(const Lists& lists, const Form& form);
Law draws_without_replacement(const Lists& lists, const Form& form);
// Of the two forms of verification.
Law law_with_replacement(const Lists& lists, const Form& form);
Law law_without_replacement(const Lists& lists, const Form& form);
Law two_level_law(const TwoLevels& model);

// The same law without the order within an outcome.
Law as_sets(size_t n, const Law& law);
// Total variation.
double distance(const Law& a, const Law& b);

}  // namespace speculation
