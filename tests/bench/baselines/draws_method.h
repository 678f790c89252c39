// Plain constrained sampling as others do it, with the library's random numbers and weights, so that every draw is
// equal to the library's. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "method.h"
#include "validity.h"

namespace bench {

// probes 0: the row is masked by what may follow, and a code drawn among all columns. Otherwise the row is truncated to
// that many codes, those are looked up, and one that may follow is drawn (PPV with its top codes).
std::unique_ptr<Method> make_draws_method(const Validity* validity, const Shape& shape, int32_t probes);

// The random numbers of a step alone.
std::unique_ptr<Method> make_random_numbers(const Shape& shape);

}  // namespace bench
