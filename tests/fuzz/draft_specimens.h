// Small draft heads of every kind, as files. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace fuzz {

std::vector<std::vector<uint8_t>> draft_specimens();

}  // namespace fuzz
