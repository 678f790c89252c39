// Attributes of items: of builders, and of indexes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.h"

namespace fuzz::abi {

void declare_attribute(World& world);
// Values for the rows of the builder's last add, which were `count`.
void set_attributes(World& world, Builder& builder, int64_t count);
void read_attributes(World& world);

}  // namespace fuzz::abi
