// Compaction: a base of all live pairs, and what has changed since then carried over to it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "live/generation.h"
#include "sidbeam/catalog.h"

namespace sidbeam {

// An index in memory of the live pairs of a version, as a builder would make it of them. Reads nothing that changes.
// `shape` is of the version's generation.
Ref<sidbeam_index> build_base(const sidbeam_index& version, const Catalogue& shape,
                              const sidbeam_compact_config& config);
// Writes it to a file, at the pace of the configuration.
void write_base(const sidbeam_index& base, const std::string& path, const sidbeam_compact_config& config);

// Gives the items that have one of these rows the pairs in another generation that they have in this one, where those
// rows are live whose bits are set. Returns whether anything was changed by that.
bool carry_over(const Generation& from, const std::vector<uint64_t>& rows, const uint64_t* live, Generation& to);

}  // namespace sidbeam
