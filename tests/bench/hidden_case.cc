// SPDX-License-Identifier: Apache-2.0
#include "hidden_case.h"

#include <random>
#include <utility>

namespace bench {
namespace {

handles::Constraint make_constraint(sidbeam_runtime* runtime, const HiddenShape& shape) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  const std::vector<int32_t> codes(HiddenCase::kLevels, static_cast<int32_t>(shape.columns));
  config.levels = HiddenCase::kLevels, config.codes = codes.data();
  sidbeam_builder* builder = nullptr;
  check(sidbeam_builder_create(runtime, &config, &builder, &error), error);
  const handles::Builder owned(builder);
  std::mt19937_64 random(5);
  const auto code = [&] { return static_cast<int32_t>(random() % static_cast<uint64_t>(shape.columns)); };
  std::vector<int32_t> sids, last_prefix(static_cast<size_t>(shape.columns), -1);
  for (int32_t i = 0; i < shape.prefixes; ++i) {
    const int32_t first = code(), second = code();
    for (int32_t child = 0; child < shape.children;) {
      const int32_t third = code();
      if (std::exchange(last_prefix[static_cast<size_t>(third)], i) == i) continue;
      sids.insert(sids.end(), {first, second, third});
      ++child;
    }
  }
  const auto count = static_cast<int64_t>(sids.size()) / HiddenCase::kLevels;
  check(sidbeam_builder_add(builder, sids.data(), nullptr, count, nullptr, nullptr, &error), error);
  sidbeam_index* index = nullptr;
  check(sidbeam_builder_finish(builder, &index, &error), error);
  const handles::Index held(index);
  sidbeam_constraint_config of = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  of.index = index;
  sidbeam_constraint* constraint = nullptr;
  check(sidbeam_constraint_create(&of, &constraint, &error), error);
  return handles::Constraint(constraint);
}

// Aligned to cache lines, as tensors are. (Where every vector lies across two lines, everything takes longer, the
// floors too.)
sidbeam::Buffer<float> random_floats(int64_t count, float scale) {
  sidbeam::Buffer<float> values(sidbeam::default_allocator(), count);
  uint32_t state = 12345;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = (static_cast<float>(state >> 8) * 0x1p-24F - 0.5F) * scale;
  }
  return values;
}

}  // namespace

handles::Runtime make_hidden_runtime() {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = 1;
  sidbeam_runtime* made = nullptr;
  check(sidbeam_runtime_create(&config, &made, &error), error);
  return handles::Runtime(made);
}

HiddenCase::HiddenCase(sidbeam_runtime* runtime, const HiddenShape& shape)
    : shape_(shape),
      constraint_(make_constraint(runtime, shape)),
      weights_(random_floats(shape.columns * shape.width, 0.1F)),
      hidden_(random_floats(rows() * shape.width, 4.0F)) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = shape.slots, config.beams = shape.beams, config.normalization = SIDBEAM_NORMALIZE_VALID;
  config.constraint = constraint_.get();
  sidbeam_session* session = nullptr;
  check(sidbeam_session_create(runtime, &config, &session, &error), error);
  session_.reset(session);
  sidbeam_output_layer_config layer = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
  layer.weights = weights_.data(), layer.columns = shape.columns, layer.width = shape.width;
  sidbeam_output_layer* made_layer = nullptr;
  check(sidbeam_output_layer_create(&layer, &made_layer, &error), error);
  layer_.reset(made_layer);
  sidbeam_hidden_config how = SIDBEAM_HIDDEN_CONFIG_INIT;
  how.session = session, how.layer = made_layer;
  sidbeam_hidden* made = nullptr;
  check(sidbeam_hidden_create(&how, &made, &error), error);
  step_.reset(made);
}

sidbeam_hidden_stats HiddenCase::stats() const {
  sidbeam_hidden_stats stats = SIDBEAM_HIDDEN_STATS_INIT;
  check(sidbeam_hidden_get_stats(step_.get(), &stats, nullptr), sidbeam_error());
  return stats;
}

void HiddenCase::to_last_level() {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  check(sidbeam_session_start(session_.get(), &start, &error), error);
  for (int32_t level = 0; level < kLevels - 1; ++level) step();
}

void HiddenCase::step(int32_t path) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  const sidbeam_rows rows =
      sidbeam_rows_dense(hidden_.data(), SIDBEAM_DTYPE_F32, shape_.slots, shape_.beams, shape_.width);
  sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
  args.hidden = &rows;
  args.path = path;
  check(sidbeam_hidden_step(step_.get(), &args, &error), error);
}

HiddenCase::Children HiddenCase::children() const {
  Children all;
  all.offsets.resize(static_cast<size_t>(rows() + 1));
  all.columns.resize(static_cast<size_t>(rows() * 1024));
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check(sidbeam_session_children(session_.get(), nullptr, 0, 0, static_cast<int64_t>(all.columns.size()),
                                 all.offsets.data(), all.columns.data(), nullptr, &error),
        error);
  all.columns.resize(static_cast<size_t>(all.offsets.back()));
  return all;
}

}  // namespace bench
