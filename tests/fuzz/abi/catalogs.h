// What calls of live catalogues and other calls share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.h"

namespace fuzz::abi {

void add_arrow_to_catalog(World& world, World::Catalog& catalog);

// Takes the one reference to a filter that a call has made; releases it if there are many.
void keep_filter(World& world, World::Filter filter);

}  // namespace fuzz::abi
