// Ways of choosing the best M of a slot among the masked rows of its beams. All give the order of the contract.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "score.h"

namespace bench {

struct Candidate {
  float score = 0;
  int32_t beam = 0;
  int64_t column = 0;
};

class Selector {
 public:
  virtual ~Selector() = default;
  virtual void begin() = 0;
  // Columns of a row whose mask is not 0 (all of them where there is no mask) become candidates. Beams come in order.
  virtual void add(int32_t beam, const RowScale& row, const float* x, const uint8_t* mask) = 0;
  // The best, at most M; returns how many.
  virtual int32_t finish(Candidate* best) = 0;
};

// Rows of `width` columns. torch: as PyTorch does on a CPU (except for ties, which it leaves open): log-probabilities
// are written, then masked scores, then (score, index) pairs, which are sorted in part. nth: one key per column, valid
// or not, and std::nth_element. scan: masked scores are compared with the M-th best so far, one block at a time, and
// only those above it are kept. heap: xBeam's, each beam's candidates sorted, then one min-heap that ends a beam early;
// fresh_heap: with arrays that are made anew.
std::unique_ptr<Selector> make_torch_selector(int32_t beams, int64_t width);
std::unique_ptr<Selector> make_nth_selector(int32_t beams, int64_t width);
std::unique_ptr<Selector> make_scan_selector(int32_t beams, int64_t width);
std::unique_ptr<Selector> make_heap_selector(int32_t beams, int64_t width);
std::unique_ptr<Selector> make_fresh_heap_selector(int32_t beams, int64_t width);

// The best `most` of keys[0, count) as candidates, falling; those of score -inf are none. Reorders the keys.
int32_t take_best(uint64_t* keys, int64_t count, int32_t most, int64_t width, Candidate* best);

}  // namespace bench
