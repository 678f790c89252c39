// Writes the sections of attributes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index/build/attribute_scan.h"
#include "index/build/progress.h"
#include "index/header.h"

namespace sidbeam {

// Fills the sections at base + offset, after header.attributes, which come from the scans in the same order.
void emit_attributes(const Catalogue& catalogue, const SortedCatalogue& sorted, const std::vector<AttributeScan>& scans,
                     const FileHeader& header, uint8_t* base, int threads, Progress& progress);

}  // namespace sidbeam
