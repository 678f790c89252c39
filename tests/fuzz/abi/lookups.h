// Questions to an index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.h"

namespace fuzz::abi {

void describe(World& world);
void look_up_sid(World& world);
void look_up_prefix(World& world);
void look_up_item(World& world);
void read_attribute(World& world);

}  // namespace fuzz::abi
