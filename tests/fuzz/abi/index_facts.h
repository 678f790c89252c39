// What the caller keeps of an index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.h"

namespace fuzz::abi {

// What get_info says.
Facts facts_of(sidbeam_index* index);
// Takes the one reference to an index that a call has made; releases it if there are many.
void keep_index(World& world, sidbeam_index* index);

// Writes a file, if there is a builder for it.
void write_index(World& world);

}  // namespace fuzz::abi
