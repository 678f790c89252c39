// The products' kernels, one table per instruction set; all give the same bits. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/math/product.h"

namespace sidbeam::runner {

// The panels [first_panel, last_panel) of a product.
struct ProductPart {
  ConstRows x;
  const Matrix* weights;
  Rows y;
  Start start;
  const float* bias;
  int64_t first_panel, last_panel;
};

struct ProductKernels {
  int32_t width;  // floats per vector
  void (*multiply)(const ProductPart& part);
};

// The table of a target. Its kernels may run only on a machine that has the target.
const ProductKernels& product_kernels_of(CpuTarget target);

}  // namespace sidbeam::runner
