// Take each beam's best K codes without a constraint, then look up which of them are valid: PPV with K = 50 (DISC), and
// FlashRec's kernel with K = 2M. Approximate unless K = V. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "beams.h"

namespace bench {

std::unique_ptr<Method> make_probe_method(const Validity* validity, const Shape& shape, int32_t probes);

}  // namespace bench
