// Products with packed weights. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/math/matrix.h"
#include "runner/math/view.h"
#include "runner/math/workers.h"

namespace sidbeam::runner {

// What a product is added to.
enum class Start : uint8_t {
  kZero,
  kBias,  // an f32 per output
  kY      // what y holds: a residual
};

// Floats from one row of `columns` inputs to the next, as a product likes them: never half a page or a multiple of it,
// so that the lines which a tile of rows reads at a time lie in different sets of the first-level cache (with AVX-512,
// whose tiles have 12 rows, a product of 1024 inputs is 7 % faster for it).
inline int64_t input_stride(int64_t columns) { return columns % 512 == 0 ? columns + 16 : columns; }

// y[r, o] = start + sum over i of x[r, i] * weights[o, i], for every row of x. y has as many rows as x and
// weights.outputs columns; it must not overlap x. Allocates nothing.
//
// The inputs are summed in blocks of kBlock, each by one chain of fused multiply-adds from 0 on in rising order; a
// block's sum is multiplied by the output's scale, if there is one, in the addition to the start and the blocks before.
// So the bits of a row depend on that row and the weights alone.
void multiply(const Workers& workers, ConstRows x, const Matrix& weights, Rows y, Start start = Start::kZero,
              const float* bias = nullptr);

}  // namespace sidbeam::runner
