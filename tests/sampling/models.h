// Small models whose laws can be enumerated. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sample.h"

namespace sampling {

// Eight SIDs of three codes out of four, in rows of six columns; the catalogue has a large share of P. With `variable`
// some SIDs end early.
oracle::Model random_model(uint64_t seed, bool variable);
// Four likely SIDs of two codes out of four and an unlikely one, of masses x between 0.6 and 0.9; truncation to top-k 3
// or top-p 0.9 takes some of it away.
oracle::Model two_levels();
// The same with every element equal.
oracle::Model flat_model(uint64_t seed, bool variable);
// Random SIDs of 16 codes, under rows of which every weight is 1 or 0: a power of two of a prefix's valid codes have
// the row's largest element, which is dyadic, and so does a power of two of all columns. Others are so low that their
// exp is 0 in float64 too, or -inf.
oracle::Model dyadic_model(uint64_t seed);
// The first valid code of every prefix 1 % more likely, relative to each other.
oracle::Model tilted(const oracle::Model& model);
// A random model of which top-k 2 leaves nothing valid after the likeliest first code.
oracle::Model deadly_model(uint64_t seed, bool variable);
oracle::Model truncated(const oracle::Model& model, int top_k, float top_p);

}  // namespace sampling
