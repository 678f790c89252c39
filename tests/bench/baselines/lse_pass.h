// The floor of a step without a given log-sum-exp: the log-sum-exp of its rows and nothing else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "method.h"

namespace bench {

std::unique_ptr<Method> make_lse_pass(const Shape& shape);

}  // namespace bench
