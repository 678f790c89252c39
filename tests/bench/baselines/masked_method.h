// Mask, then top-k: the log-sum-exp of a row, a mask of its columns, a selection over all of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "beams.h"

namespace bench {

using MakeSelector = std::unique_ptr<Selector> (*)(int32_t beams, int64_t width);

// validity null: unconstrained, without a mask. Borrowed.
std::unique_ptr<Method> make_masked_method(const Validity* validity, const Shape& shape, MakeSelector make_selector);

}  // namespace bench
