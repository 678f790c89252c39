// What calls of builders share: streams into them, and plans, which they make.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.h"

namespace fuzz::abi {

// A builder's, and a compaction's.
int32_t check_progress(void* context, int32_t phase, int64_t done, int64_t total);
void draw_builder_config(World& world, Builder& builder);
// Puts one thing wrong, for `fault` in 1 .. 8; the caller handles any other fault, and expects the same refusal.
void spoil_builder_config(World& world, int32_t fault, sidbeam_builder_config& config, std::vector<int32_t>& codes);
// What plan, write and finish may say of the pairs that they sort.
void expect_sorted(World& world, Builder& builder);
void note_sorted(Builder& builder, sidbeam_status status);

void add_arrow(World& world);
void inspect_arrow(World& world);

void declare_attribute(World& world);
void set_attribute(World& world);

void plan(World& world);
void estimate(World& world);
void describe_plan(World& world);
void destroy_plan(World& world);

}  // namespace fuzz::abi
