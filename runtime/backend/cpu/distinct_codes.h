// The distinct codes of a range of a sorted column, which may be damaged.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/views.h"

namespace sidbeam::cpu {

// The end of the run of equal codes that begins at `lo`; `length` is that of the previous run. Runs of a range are
// about equally long, so the search starts at that length and goes outwards, then halves the interval without branches,
// which would be unpredictable.
template <class Code>
uint64_t run_end(const Code* column, uint64_t lo, uint64_t hi, uint64_t length) {
  const Code code = column[lo];
  uint64_t in, out, step = length / 8 + 1;  // column[in] is of the run, column[out] is not, or is out of range
  if (lo + length < hi && column[lo + length] == code) {
    for (in = lo + length; hi - in > step && column[in + step] == code; step *= 2) in += step;
    out = std::min(hi, in + step);
  } else {
    for (out = std::min(hi, lo + length); out - lo > step && column[out - step] != code; step *= 2) out -= step;
    in = out - std::min(step, out - lo);
  }
  uint64_t left = out - in;  // the last of the run is in [in, in + left)
  while (left > 1) {
    const uint64_t half = left / 2;
    in += column[in + half] == code ? half : 0;
    left -= half;
  }
  return in + 1;
}

// Writes the codes of column[lo, hi) once each, at most `most`; returns their number. In a damaged column, which may
// not be sorted, a code may be written again.
template <class Code>
uint32_t distinct_codes(const Code* column, uint64_t lo, uint64_t hi, uint32_t most, uint32_t* codes) {
  constexpr uint64_t kShortRun = 32;  // up to this many SIDs per code, reading is faster than searching
  uint32_t n = 0;
  if (hi - lo > most * kShortRun) {
    for (uint64_t length = (hi - lo) / most; lo < hi && n < most;) {
      codes[n++] = column[lo];
      const uint64_t end = run_end(column, lo, hi, length);
      length = end - lo;
      lo = end;
    }
    return n;
  }
  if (lo < hi) codes[n++] = column[lo++];
  while (lo < hi && n < most) {
    // At most as many as fit if all differ, so that no code needs a check.
    const uint64_t end = lo + std::min<uint64_t>(hi - lo, most - n);
    for (; lo < end; ++lo) {
      codes[n] = column[lo];
      n += column[lo] != column[lo - 1];
    }
  }
  return n;
}

inline uint32_t distinct_codes(const UintArray& column, uint64_t lo, uint64_t hi, uint32_t most, uint32_t* codes) {
  if (column.width == 2) return distinct_codes(static_cast<const uint16_t*>(column.data), lo, hi, most, codes);
  return distinct_codes(static_cast<const uint32_t*>(column.data), lo, hi, most, codes);
}

}  // namespace sidbeam::cpu
