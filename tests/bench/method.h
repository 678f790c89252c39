// A way of taking the steps of a decode; every one that a table compares is behind this.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "logits.h"

namespace bench {

// What is searched, the same for all methods of a case. Code t stands in column offset + t.
struct Shape {
  int32_t slots = 1, beams = 1, levels = 1, codes = 1;  // B, M, L, V
  int64_t columns = 1, offset = 0;
  int32_t normalization = SIDBEAM_NORMALIZE_FULL;  // or LEVEL
  int32_t dtype = SIDBEAM_DTYPE_F32;
  const float* lse = nullptr;     // of every row of the ring, where the caller knows it
  bool ends = false;              // code V - 1 is the end of a SID (Catalogue::ends)
  float inverse_temperature = 0;  // the library's alone; 0: 1
};

// Views of a method's arrays, [slots, beams]; live beams of a slot come first, in the order of the contract
// (session.h).
struct BeamsView {
  const int32_t *parents = nullptr, *codes = nullptr;
  const float* scores = nullptr;
  const int32_t* live = nullptr;  // [slots]
};

class Method {
 public:
  virtual ~Method() = default;
  virtual void start() = 0;  // all slots, at level 0
  virtual void step(int32_t level, const Rows& rows) = 0;
  virtual BeamsView beams() const = 0;
};

}  // namespace bench
