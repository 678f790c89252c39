// RoPE with the scaling that a config names. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/formats/config.h"
#include "runner/math/rows.h"

namespace sidbeam::runner {

RopeTable make_model_rope(const Allocator& allocator, const ModelConfig& config, int64_t positions);

}  // namespace sidbeam::runner
