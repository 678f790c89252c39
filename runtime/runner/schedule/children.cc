// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/children.h"

#include <algorithm>

#include "support/error.h"

namespace sidbeam::runner {
namespace {

bool reads_children(const LaneConfig& config) {
  return config.normalization == SIDBEAM_NORMALIZE_VALID && config.strategy == SIDBEAM_STRATEGY_TRIE &&
         config.mode == SIDBEAM_MODE_SEARCH && config.adjust == nullptr;  // which sees whole rows
}

// With CHILDREN all elements of a product may be listed, with FASTEST as many as cost no more than it.
int64_t cost_of(const LaneConfig& config, const Forward& forward) {
  if (config.output_path == SIDBEAM_HIDDEN_PRODUCT || !reads_children(config) || !forward.has_elements()) return 0;
  return config.output_path == SIDBEAM_HIDDEN_CHILDREN ? 1 : forward.element_cost();
}

}  // namespace

Children::Children(const Allocator& allocator, const LaneSession& session, const Forward& forward)
    : session_(session), cost_(cost_of(session.config(), forward)) {
  const LaneConfig& config = session.config();
  if (cost_ == 0) return;
  const int64_t beams = int64_t{config.requests} * config.beams;
  most_ = checked_bytes(beams, config.output->most_columns()) / cost_;
  offsets_ = Buffer<int64_t>::zeroed(allocator, beams + 1);
  rows_ = Buffer<int32_t>::zeroed(allocator, most_);
  columns_ = Buffer<int32_t>::zeroed(allocator, most_);
}

// Writes the first `capacity` children, and how many there are.
void Children::find(const int32_t* slots, int32_t count, int64_t capacity) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_session_children(session_.get(), slots, count, 0, capacity, offsets_.data(),
                                        capacity > 0 ? columns_.data() : nullptr, nullptr, &error),
               error);
}

LogitElements Children::list(const int32_t* slots, int32_t count, const int32_t* row_map, int64_t rows,
                             int64_t columns) {
  if (cost_ == 0) return {};
  const int64_t beams = int64_t{count} * session_.config().beams;
  find(slots, count, 0);
  const int64_t children = offsets_[beams];
  if (children > rows * columns / cost_ || children > most_ || children == 0) return {};
  find(slots, count, children);
  for (int64_t beam = 0; beam < beams; ++beam)
    std::fill(rows_.data() + offsets_[beam], rows_.data() + offsets_[beam + 1], row_map[beam]);
  return {rows_.data(), columns_.data(), children};
}

}  // namespace sidbeam::runner
