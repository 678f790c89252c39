// Catalogues to search in: drawn at random, or read from files. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pages.h"

namespace bench {

// Distinct SIDs in order, row-major.
struct Catalogue {
  std::string name;
  int32_t levels = 0, codes = 0;  // L, and V of every level
  int64_t sids = 0;               // N
  Pages<int32_t> rows;            // [N, L]
  bool ends = false;              // SIDs of 1 .. L codes: code V - 1 is the end, which fills the rest of the row

  const int32_t* sid(int64_t ordinal) const { return rows.data() + ordinal * levels; }
  int32_t length(int64_t ordinal) const;  // codes before the end
};

// N draws, of which equal ones count once. zipf: the children of every prefix come with probability 1 / rank, in an
// order that differs from prefix to prefix, so that prefixes cluster as those of real items do.
enum class Skew { kUniform, kZipf };
Catalogue draw_catalogue(Skew skew, int64_t draws, int32_t levels, int32_t codes);

// LC-Rec's format: {"item": ["<a_1>", "<b_2>", "<c_3>"], ...}.
Catalogue read_catalogue(const std::string& path, int32_t codes);
// The files of that format in $SIDBEAM_DATA, or else in the data folder beside the checkout; none where there are none.
std::vector<std::string> real_catalogues();

}  // namespace bench
