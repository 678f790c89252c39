// What an element of a product costs by itself. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "runner/math/matrix.h"
#include "support/cpu_target.h"

namespace sidbeam::runner {

// How many elements of a whole product of `rows` rows take as long as one by itself: measured with some of the columns
// that `tokens` names, at least one, in about a millisecond, or some tens where no instruction does a multiply-add.
int32_t measure_element_cost(CpuTarget target, const Tensor& weights, std::span<const int32_t> tokens, int64_t rows);

}  // namespace sidbeam::runner
