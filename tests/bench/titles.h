// A made-up catalogue of titles: SIDs of 1 .. 64 tokens of a text vocabulary, as DISC-PPV's paper has six million of.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catalogue.h"

namespace bench {

constexpr int32_t kTitleTokens = 128256, kLongestTitle = 64;
// Longest titles of the few pieces that DISC-PPV's paper splits its array into. It does not say which ones.
constexpr int32_t kTitlePieces[] = {8, 16, 32, kLongestTitle};

// `draws` titles, of which equal ones count once; the same on every machine. Lengths are log-normal with a mean of
// about 7.7. A title takes its first tokens from one drawn before it, any of them with equal chance (so that a prefix
// is taken up in proportion to the titles that have it, as tables are in a Chinese restaurant), and the rest are
// Zipf's.
Catalogue draw_titles(int64_t draws);

}  // namespace bench
