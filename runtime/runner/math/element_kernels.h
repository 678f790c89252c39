// The kernels of elements, one table per instruction set; all give the same bits. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/math/elements.h"

namespace sidbeam::runner {

struct ElementKernels {
  // The elements [from, to).
  void (*multiply)(const ProductElements& all, int64_t from, int64_t to);
};

}  // namespace sidbeam::runner
