// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/attention_plan.h"

#include <algorithm>

namespace sidbeam::runner::cuda {
namespace {

#include "runner/cuda/attention_plan_table.inc"

constexpr int64_t kWarpsOfBlock = 4;

constexpr int64_t divided(int64_t value, int64_t by) { return (value + by - 1) / by; }
int64_t of_processors(const AttentionShape& shape, int32_t quarters) {
  return std::max<int64_t>(1, int64_t{quarters} * shape.processors / 4);
}

}  // namespace

std::span<const StagePlan> plan_table() { return kTable; }
const char* plan_origin() { return kOrigin; }

const StagePlan& plan_of(int64_t prompt, int32_t unshared) {
  const StagePlan* found = kTable;
  for (const StagePlan& line : kTable)
    if (line.prompt <= prompt && line.unshared <= unshared) found = &line;
  return *found;
}

int32_t most_planned_items() {
  return std::max_element(std::begin(kTable), std::end(kTable),
                          [](const StagePlan& a, const StagePlan& b) { return a.items < b.items; })
      ->items;
}

int32_t least_items(const AttentionShape& shape, const StagePlan& plan) {
  return static_cast<int32_t>(of_processors(shape, plan.items));
}

int64_t most_items(const AttentionShape& shape, int64_t requests, int64_t rows) {
  const int64_t tiles = divided(rows * (shape.heads / shape.kv_heads), attention_tile_rows(shape.dtype)) + requests;
  return requests * of_processors(shape, most_planned_items()) + tiles * shape.kv_heads;
}

StageBlocks blocks_of(const AttentionShape& shape, const StagePlan& plan, int64_t items, int64_t row_heads) {
  const int64_t of_rows = std::max<int64_t>(1, divided(row_heads, kWarpsOfBlock));
  StageBlocks blocks;
  blocks.shared = std::clamp<int64_t>(of_processors(shape, plan.shared), 1, std::max<int64_t>(1, items));
  if (plan.unshared_blocks > 0 && shape.depth > 0)
    blocks.unshared = std::min(of_processors(shape, plan.unshared_blocks), of_rows);
  blocks.merge = std::min(of_processors(shape, plan.merge), of_rows);
  return blocks;
}

}  // namespace sidbeam::runner::cuda
