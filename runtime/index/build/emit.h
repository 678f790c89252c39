// From sorted SIDs to sections: fills arrays whose exact sizes a scan has counted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/build/catalogue.h"
#include "index/build/scan.h"
#include "index/build/sorted.h"
#include "index/header.h"

namespace sidbeam {

// Fills the header's sections at base + offset, and sets the header's seed of a hash set. Touches nothing else.
void emit_sections(const Catalogue& catalogue, const SortedCatalogue& sorted, const LevelScan& scan, FileHeader& header,
                   uint8_t* base, const sidbeam_builder_config& config, int threads);

}  // namespace sidbeam
