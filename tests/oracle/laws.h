// The laws of sampling, by enumeration of every outcome: the model's, plain constrained sampling's, DISC's, and the
// perturbed scores of stochastic beams. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sample.h"

namespace oracle {

// By ordinal.
using Law = std::vector<double>;

struct Laws {
  Law p;            // P of the SID; does not sum to 1
  Law x;            // the valid mass on its way
  Law plain;        // of plain constrained sampling, as the product of its choices
  double dead = 0;  // that a plain draw dies
};
Laws enumerate(const Sampler& sampler);
// P of the catalogue.
double mass_of(const Laws& laws);
// P restricted to the catalogue: what DISC aims at.
Law exact_law(const Laws& laws);

// Of one result of DISC, whose draws follow `law` and may die.
struct DiscLaw {
  Law law;
  double dead = 0;
  double accepted = 0;  // probability
  double draws = 0;     // expectation of draws_used
};
DiscLaw disc_law(const Law& law, const Law& x, double dead, int rounds);
// The two parts: the law if the result is resampled, with its probability of being dead last.
Law resampled_law(const Law& law, const Law& x, double dead, int rounds);

// Of the better by P, of equal ones the lower ordinal, of two different SIDs drawn without replacement from `law`,
// which sums to 1; of the only one where there is one.
Law better_of_two(const Law& law, const Law& p);

double kl(const Law& target, const Law& law);
// Theorem 3.1 with the constants of its proof; bad_mass is 1 - P of the catalogue.
double kl_bound(double bad_mass, int rounds);

// G of each SID, -inf where it has no mass: its log-probability under plain constrained sampling plus Gumbel noise.
// SIDs arrive at the rates of their probabilities, the first one below a prefix at time T: G = -log T, and the G of a
// prefix is the largest of its SIDs'. (Kool et al. condition Gumbel variables on their largest instead, section 4.1:
// the same law.) The noise of a prefix is exponentially distributed with mean 1; a SID that ends early has codes[level]
// last.
using NoiseOf = std::function<double(const Sid& prefix)>;
Law perturbed_scores(const Sampler& sampler, const NoiseOf& noise_of);
// The noise of a request: -log(1 - u), with u of a prefix's counter.
NoiseOf noise_of_request(int64_t seed, int64_t request);

}  // namespace oracle
