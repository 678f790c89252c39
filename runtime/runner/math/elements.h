// Some elements of a product, each by itself. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/math/matrix.h"
#include "runner/math/view.h"
#include "runner/math/workers.h"

namespace sidbeam::runner {

// Elements (rows[i], columns[i]) of y, 0 <= i < count.
struct ProductElements {
  ConstRows x;
  Tensor weights;  // rows as a checkpoint has them
  const int32_t* tokens =
      nullptr;  // [columns of y] row of `weights` of each column; of one that is -1 any number comes
  Rows y;
  const int32_t *rows = nullptr, *columns = nullptr;  // [count]
  int64_t count = 0;
};

// Writes what multiply() writes there where its matrix has been packed of the same weights in their own type, to the
// bit: sums in blocks of kBlock inputs, each one chain of fused multiply-adds. Reads no other rows of weights.
void multiply_elements(const Workers& workers, const ProductElements& elements);

}  // namespace sidbeam::runner
