// How attention is spread over a device: into how many items a request's shared stage is cut, and how many blocks each
// stage gets (xGR, section 5.2). Looked up by the lengths of the prompt and of the unshared KV in a table, which
// tests/gpu/bench/fit_attention.py makes: of measurements, or, where there are none, of a model.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "runner/cuda/attention_cut.h"

namespace sidbeam::runner::cuda {

// One line of the table, for prompts from `prompt` and lists of ancestors from `unshared` on. All but these two are in
// quarters of the device's multiprocessors, so that a table serves devices of several sizes.
struct StagePlan {
  int32_t prompt, unshared;
  int32_t items;                           // that a request is cut into at least, where its keys are enough
  int32_t shared, unshared_blocks, merge;  // blocks; without unshared ones that stage is fused with merging
};

// The line with the greatest prompt, then unshared, that are not above these.
const StagePlan& plan_of(int64_t prompt, int32_t unshared);
// The default table, in order, and how it was made.
std::span<const StagePlan> plan_table();
const char* plan_origin();

// The most items that any line asks for.
int32_t most_planned_items();

// Items that a request is cut into at least: with the plan for its own lengths, cut_keys() then depends on the request
// alone.
int32_t least_items(const AttentionShape& shape, const StagePlan& plan);
// Items that any requests with so many rows together have at most.
int64_t most_items(const AttentionShape& shape, int64_t requests, int64_t rows);
// Blocks for a batch, by the plan for its longest prompt, with so many items, and so many rows times heads.
StageBlocks blocks_of(const AttentionShape& shape, const StagePlan& plan, int64_t items, int64_t row_heads);

}  // namespace sidbeam::runner::cuda
