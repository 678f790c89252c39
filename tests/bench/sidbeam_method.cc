// SPDX-License-Identifier: Apache-2.0
#include "sidbeam_method.h"

#include <algorithm>

namespace bench {
namespace {

Session make_session(sidbeam_runtime* runtime, sidbeam_constraint* constraint, const Shape& shape, int32_t strategy,
                     int32_t top_k) {
  const std::vector<int64_t> offsets(static_cast<size_t>(shape.levels), shape.offset);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = shape.levels;
  vocabulary.offsets = offsets.data();
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = shape.slots;
  config.beams = shape.beams;
  config.strategy = strategy;
  config.normalization = shape.normalization;
  config.top_k = top_k;
  config.constraint = constraint;
  config.vocabulary = &vocabulary;
  sidbeam_session* session;
  call("session_create", sidbeam_session_create, runtime, &config, &session);
  return Session(session);
}

}  // namespace

SidbeamMethod::SidbeamMethod(sidbeam_runtime* runtime, sidbeam_constraint* constraint, const Shape& shape,
                             int32_t strategy, int32_t top_k)
    : shape_(shape), session_(make_session(runtime, constraint, shape, strategy, top_k)) {
  call("get_beams", sidbeam_session_get_beams, session_.get(), &beams_);
  row_map_.resize(static_cast<size_t>(shape.slots) * static_cast<size_t>(shape.beams));
}

void SidbeamMethod::start() {
  const sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  call("start", sidbeam_session_start, session_.get(), &args);
}

void SidbeamMethod::step(int32_t, const Rows& rows) {
  // A search that has run out of beams has nothing left to step, which the library calls a bad state.
  if (std::all_of(beams_.active, beams_.active + shape_.slots, [](int32_t active) { return active == 0; })) return;
  const int64_t all = int64_t{shape_.slots} * shape_.beams;
  const bool dense = rows.first + all <= rows.ring_rows;
  sidbeam_rows logits = dense ? sidbeam_rows_dense(rows.row(0, 0), rows.dtype, shape_.slots, shape_.beams, rows.columns)
                              : sidbeam_rows_dense(rows.ring, rows.dtype, 0, rows.ring_rows, rows.columns);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &logits;
  if (shape_.lse != nullptr) args.lse = shape_.lse + (dense ? rows.first : 0);
  if (!dense) {
    for (int64_t i = 0; i < all; ++i) row_map_.data()[i] = static_cast<int32_t>(rows.number(0, i));
    args.row_map = row_map_.data();
  }
  call("step", sidbeam_session_step, session_.get(), &args);
}

}  // namespace bench
