// Writes the sections of an index from sorted SIDs. The scan has already counted the exact size of every array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/build/attribute_scan.h"
#include "index/build/catalogue.h"
#include "index/build/scan.h"
#include "index/build/sorted.h"
#include "index/header.h"

namespace sidbeam {

// Fills the sections at base + offset and, if there is a hash set, sets its seed in the header. Changes nothing else.
void emit_sections(const Catalogue& catalogue, const SortedCatalogue& sorted, const LevelScan& scan,
                   const std::vector<AttributeScan>& attributes, FileHeader& header, uint8_t* base,
                   const sidbeam_builder_config& config, int threads);

}  // namespace sidbeam
