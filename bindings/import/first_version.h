// The size that each struct of import.h had in its first version, which the oldest callers have. A struct that grows
// keeps its line; tests/abi has the same numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/import.h"
#include "support/structs.h"

namespace sidbeam {

// The core's, whose own list is not for other libraries.
template <>
inline constexpr size_t kFirstBytes<sidbeam_builder_config> = 88;

template <>
inline constexpr size_t kFirstBytes<sidbeam_import_config> = 112;
template <>
inline constexpr size_t kFirstBytes<sidbeam_import_info> = 80;

}  // namespace sidbeam
