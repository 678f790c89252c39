// Logits without a model: a ring of rows of N(0, 3), from which every step takes the next ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "pages.h"
#include "sidbeam/rows.h"

namespace bench {

// The rows of one step: row (slot, beam) is number first + slot * beams + beam, modulo the ring.
struct Rows {
  const char* ring = nullptr;
  int64_t ring_rows = 0, first = 0;
  int64_t beams = 0, columns = 0;
  int32_t dtype = SIDBEAM_DTYPE_F32;

  int64_t number(int64_t slot, int64_t beam) const {
    const int64_t row = first + slot * beams + beam;
    return row < ring_rows ? row : row % ring_rows;
  }
  int64_t row_bytes() const { return columns * (dtype == SIDBEAM_DTYPE_F32 ? 4 : 2); }
  const void* row(int64_t slot, int64_t beam) const { return ring + number(slot, beam) * row_bytes(); }
};

// Where the rows of a step are when it begins.
//   kHot     one step's rows for every step: in the cache nearest to the core that holds them.
//   kLevels  other rows at every level, the same at every decode: a cache, if they fit.
//   kMemory  other rows at every step, until more has passed by than any cache holds: memory.
// A ring never takes more than kRingBytes; a step that needs more meets its own rows again.
inline constexpr int64_t kRingBytes = 1250000000;  // beyond any cache
enum class Source { kHot, kLevels, kMemory };
std::string name_of(Source source);

class Logits {
 public:
  Logits(Source source, int64_t slots, int64_t beams, int64_t columns, int32_t levels,
         int32_t dtype = SIDBEAM_DTYPE_F32, int64_t ring_bytes = kRingBytes);

  // The rows of the step-th step ever taken.
  Rows at(int64_t step) const;
  // The rows of the next step, whoever takes it.
  Rows next() { return at(step_++); }
  // All rows, for what is computed beforehand.
  Rows ring() const { return {ring_.data(), ring_rows_, 0, ring_rows_, columns_, dtype_}; }

 private:
  int64_t slots_, beams_, columns_;
  int32_t dtype_;
  int64_t ring_rows_ = 0, step_ = 0;
  Pages<char> ring_;
};

}  // namespace bench
