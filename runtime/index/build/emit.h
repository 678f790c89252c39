// From sorted SIDs to sections: fills arrays of exactly the size that a scan has counted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/build/catalogue.h"
#include "index/build/scan.h"
#include "index/build/sorted.h"
#include "index/header.h"

namespace sidbeam {

// Fills the header's sections at base + offset, and the seed of a hash set into the header. Touches nothing else.
void emit_sections(const Catalogue& catalogue, const SortedCatalogue& sorted, const LevelScan& scan, FileHeader& header,
                   uint8_t* base, const sidbeam_builder_config& config, int threads);

}  // namespace sidbeam
