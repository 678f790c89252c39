// The hash set, when it is built (find.h reads it).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/build/progress.h"
#include "index/build/sorted.h"
#include "index/header.h"

namespace sidbeam {

// Fills the sections of the hash set with the header's seed where it is the caller's own, else with the first of the
// list with which no key lies far from where it begins, and puts that into the header. Throws where there is none.
void emit_hash(const SortedCatalogue& sorted, FileHeader& header, uint8_t* base, Progress& progress);

}  // namespace sidbeam
