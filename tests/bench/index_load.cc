// SPDX-License-Identifier: Apache-2.0
#include "index_load.h"

#include <random>

#include "index_tables.h"
#include "mix.h"

namespace bench {
namespace {

constexpr size_t kPool = size_t{1} << 22;  // logits; a step's rows begin anywhere in the first half
constexpr size_t kStep = size_t{Load::kSlots} * Load::kBeams * kCodes;
static_assert(kStep <= kPool / 2);

std::vector<float> draw_pool() {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<float> pool(kPool);
  for (float& logit : pool) logit = normal(random);
  return pool;
}

Session make_session(sidbeam_runtime* runtime, sidbeam_constraint* constraint) {
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = Load::kSlots;
  config.beams = Load::kBeams;
  config.constraint = constraint;
  return make<Session>("session_create", sidbeam_session_create, runtime, &config);
}

}  // namespace

Load::Load(sidbeam_runtime* runtime, sidbeam_constraint* constraint)
    : constraint_(constraint), session_(make_session(runtime, constraint)), pool_(draw_pool()) {
  call("session_get_beams", sidbeam_session_get_beams, session_.get(), &beams_);
  start(constraint);
}

double Load::start(sidbeam_constraint* constraint) {
  constraint_ = constraint;
  sidbeam_constraint* const constraints[kSlots] = {constraint, constraint};
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.constraints = constraints;
  return 1e6 * seconds_of([&] { call("session_start", sidbeam_session_start, session_.get(), &args); });
}

double Load::step() {
  if (beams_.active[0] == 0 && beams_.active[1] == 0) start(constraint_);
  const float* data = pool_.data() + mix(steps_++) % (kPool / 2);
  const sidbeam_rows rows = sidbeam_rows_dense(data, SIDBEAM_DTYPE_F32, kSlots, kBeams, kCodes);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  return 1e6 * seconds_of([&] { call("session_step", sidbeam_session_step, session_.get(), &args); });
}

void Load::expect_items(const sidbeam_index* index) {
  while (beams_.active[0] > 0) step();
  std::vector<int64_t> ordinals(kBeams);
  std::vector<int32_t> sids(size_t{kBeams} * kLevels);
  const int32_t first = 0;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals.data();
  items.sids = sids.data();
  call("session_get_items", sidbeam_session_get_items, session_.get(), &first, 1, &items);
  if (beams_.live[0] == 0) throw std::runtime_error("a decode ended without a live beam");
  for (size_t m = 0; m < static_cast<size_t>(beams_.live[0]); ++m) {
    int64_t found = -1;
    call("index_find_sid", sidbeam_index_find_sid, index, sids.data() + size_t{kLevels} * m, kLevels, &found);
    if (found < 0 || found != ordinals[m]) throw std::runtime_error("a beam ended at a SID that is not in its index");
  }
}

}  // namespace bench
