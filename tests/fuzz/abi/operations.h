// The calls of the random caller, by header. Each draws its arguments and their faults, says what the contract then
// allows, and calls; if an object is missing it does nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "world.h"

namespace fuzz::abi {

using Operation = void (*)(World& world);

std::span<const Operation> runtime_operations();
std::span<const Operation> builder_operations();
std::span<const Operation> index_operations();
std::span<const Operation> filter_operations();
std::span<const Operation> catalog_operations();
std::span<const Operation> session_operations();
std::span<const Operation> stateless_operations();
std::span<const Operation> disc_operations();
std::span<const Operation> speculation_operations();

// Makes what everything else needs, as far as the input allows.
void make_runtime(World& world);
void make_index(World& world);
void make_constraint(World& world);
void make_session(World& world);
void make_set(World& world);

}  // namespace fuzz::abi
