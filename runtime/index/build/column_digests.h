// The column digests from which a build computes the fingerprint.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index/build/sorted.h"
#include "support/hashing.h"

namespace sidbeam {

// [levels] The XXH3-128 of each level's codes as u32.
std::vector<Hash128> column_digests(const SortedCatalogue& sorted, const sidbeam_builder_config& config,
                                    CpuTarget target, int threads);

}  // namespace sidbeam
