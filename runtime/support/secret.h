// Numbers that nobody outside this process knows. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sidbeam {

// 64 bits of the kernel's. (Where it gives none, early at boot or under seccomp: of the process and the time.)
uint64_t secret_number();

}  // namespace sidbeam
