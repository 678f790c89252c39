// Logits rows of which few elements exist, laid over each other so that they fill little memory.
//
// A step finds the element of a column at the row's beginning plus the column. Where rows begin is free, and elements
// that no step reads may be anything; so rows may overlap where only one of them has an element. Rows of few elements
// are packed like the rows of a parser's table, each by the first place that fits; others follow one another.
// (Rows of all columns apiece were tried: each element is then a cache line of its own, in pages of its own.)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sidbeam/rows.h"
#include "support/memory.h"

namespace sidbeam::runner {

// One thread at a time.
class SparseRows {
 public:
  // Floats from one row's beginning to the next: rows are numbered, and their numbers are those of a caller's lse.
  static constexpr int64_t kStep = 16;

  SparseRows(const Allocator& allocator, int64_t rows, int64_t columns);
  void begin();
  // The number of a row with these elements, each in [0, columns), which no other row of some elements has; at most
  // `rows` rows.
  int32_t add(const int32_t* columns, const float* values, int64_t count);
  // All rows, as a step takes them: [rows, columns].
  sidbeam_rows rows() const;
  int64_t row_limit() const { return limit_; }

  // The same memory as dense rows, [rows, columns].
  float* dense() { return elements_.data(); }

  int64_t memory_bytes() const { return elements_.bytes() + taken_.bytes() + begun_.bytes(); }

 private:
  bool fits(const int32_t* columns, int64_t count, int64_t start) const;
  int64_t pack(const int32_t* columns, int64_t count);
  int64_t follow(const int32_t* columns, int64_t count);

  int64_t columns_ = 0, lead_ = 0, packed_ = 0, limit_ = 0;
  int64_t next_[kStep] = {};    // per remainder of the first element's place: the first that may be free, in steps
  int64_t last_ = 0, end_ = 0;  // of the rows that follow one another, in steps: the last, and the end of its elements
  Buffer<float> elements_;
  Buffer<uint64_t> taken_;  // [packed_] bits, of the elements from lead_ on
  Buffer<uint64_t> begun_;  // bits, of the numbers of packed rows
};

}  // namespace sidbeam::runner
