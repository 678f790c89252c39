// The stateless calls on the CPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"

namespace sidbeam::cpu {

std::unique_ptr<SetBackend> make_cpu_set(const Kernels& kernels, const SetShape& shape, const Allocator& allocator);

}  // namespace sidbeam::cpu
