// SPDX-License-Identifier: Apache-2.0
#include "sidbeam_method.h"

#include <algorithm>
#include <numeric>

namespace bench {

Session make_session(sidbeam_runtime* runtime, sidbeam_constraint* constraint, const Shape& shape, int32_t strategy,
                     int32_t top_k, int32_t mode) {
  const std::vector<int64_t> offsets(static_cast<size_t>(shape.levels), shape.offset);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = shape.levels;
  vocabulary.offsets = offsets.data();
  if (shape.ends) vocabulary.end_column = static_cast<int32_t>(shape.offset) + shape.codes - 1;
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = shape.slots;
  config.beams = shape.beams;
  config.strategy = strategy;
  config.normalization = shape.normalization;
  config.top_k = top_k;
  config.constraint = constraint;
  config.vocabulary = &vocabulary;
  config.mode = mode;
  return make<Session>("session_create", sidbeam_session_create, runtime, &config);
}

SidbeamMethod::SidbeamMethod(sidbeam_runtime* runtime, sidbeam_constraint* constraint, const Shape& shape,
                             int32_t strategy, int32_t top_k, const Drawing& drawing)
    : shape_(shape),
      drawing_(drawing),
      session_(make_session(runtime, constraint, shape, strategy, top_k, drawing.mode)),
      seeds_(static_cast<size_t>(shape.slots), kSeed),
      requests_(static_cast<size_t>(shape.slots)),
      top_ks_(static_cast<size_t>(shape.slots), drawing.top_k),
      slots_(static_cast<size_t>(shape.slots)),
      top_ps_(static_cast<size_t>(shape.slots), drawing.top_p) {
  call("get_beams", sidbeam_session_get_beams, session_.get(), &beams_);
  row_map_.resize(static_cast<size_t>(shape.slots) * static_cast<size_t>(shape.beams));
  std::iota(requests_.begin(), requests_.end(), 0);
  std::iota(slots_.begin(), slots_.end(), 0);
}

void SidbeamMethod::start() { start_slots(shape_.slots, nullptr, nullptr); }

void SidbeamMethod::start_draws(std::span<const int64_t> draws) {
  const auto width = static_cast<int32_t>(draws.size());
  start_slots(1, &width, draws.data());
}

void SidbeamMethod::start_slots(int64_t count, const int32_t* widths, const int64_t* draws) {
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = seeds_.data();
  sampling.requests = requests_.data();
  sampling.draws = draws;
  if (drawing_.mode == SIDBEAM_MODE_SAMPLE) {
    sampling.top_ks = top_ks_.data();
    sampling.top_ps = top_ps_.data();
  }
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.slots = slots_.data();
  args.count = count;
  args.widths = widths;
  if (drawing_.mode != SIDBEAM_MODE_SEARCH) args.sampling = &sampling;
  call("start", sidbeam_session_start, session_.get(), &args);
}

void SidbeamMethod::get_ordinals(int64_t* ordinals) const {
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals;
  call("get_items", sidbeam_session_get_items, session_.get(), slots_.data(), int64_t{shape_.slots}, &items);
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
  args.inverse_temperature = shape_.inverse_temperature;
  if (shape_.lse != nullptr) args.lse = shape_.lse + (dense ? rows.first : 0);
  if (!dense) {
    for (int64_t i = 0; i < all; ++i) row_map_.data()[i] = static_cast<int32_t>(rows.number(0, i));
    args.row_map = row_map_.data();
  }
  call("step", sidbeam_session_step, session_.get(), &args);
}

}  // namespace bench
