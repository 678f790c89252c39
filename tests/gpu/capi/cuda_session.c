/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_session.h"

void check_nothing_is_left(void) { CHECK_INT(live_allocations(), 0); }

sidbeam_session_config cuda_config(sidbeam_constraint* constraint) {
  sidbeam_session_config config = session_config(constraint);
  config.slots = SLOTS;
  config.beams = BEAMS;
  config.device_type = SIDBEAM_DEVICE_CUDA;
  return config;
}

sidbeam_status create(const sidbeam_session_config* config) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_session* session = NULL;
  const sidbeam_status status = sidbeam_session_create(runtime, config, &session, &err);
  sidbeam_runtime_release(runtime);
  sidbeam_session_destroy(session);
  return status;
}

sidbeam_rows device_rows(const float* row) {
  sidbeam_rows rows = same_row(row, SLOTS, BEAMS, CODES);
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  return rows;
}

static moment copy_of(const sidbeam_beams* beams) {
  moment now;
  memcpy(now.parents, beams->parents, sizeof now.parents);
  memcpy(now.codes, beams->codes, sizeof now.codes);
  memcpy(now.scores, beams->scores, sizeof now.scores);
  memcpy(now.states, beams->states, sizeof now.states);
  memcpy(now.live, beams->live, sizeof now.live);
  memcpy(now.active, beams->active, sizeof now.active);
  memcpy(now.level, beams->level, sizeof now.level);
  memcpy(now.errors, beams->errors, sizeof now.errors);
  return now;
}

moment moment_of(sidbeam_session* session) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  wait_device(); /* the work may be on another stream */
  CHECK_OK(sidbeam_session_fetch(session, &beams, NULL, &err));
  wait_device();
  return copy_of(&beams);
}

void check_same(const moment* actual, const moment* expected) {
  CHECK_I32(actual->level, expected->level, SLOTS);
  CHECK_I32(actual->live, expected->live, SLOTS);
  CHECK_I32(actual->active, expected->active, SLOTS);
  CHECK_I32(actual->errors, expected->errors, SLOTS);
  CHECK_I32(actual->parents, expected->parents, SLOTS * BEAMS);
  CHECK_I32(actual->codes, expected->codes, SLOTS * BEAMS);
  CHECK_F32(actual->scores, expected->scores, SLOTS * BEAMS);
  CHECK_I64(actual->states, expected->states, SLOTS * BEAMS);
}

void check_unmoved(sidbeam_session* session, const moment* before) {
  const moment now = moment_of(session);
  check_same(&now, before);
}

moment on_cpu(const catalogue* from, int steps) {
  sidbeam_constraint* constraint = make_constraint(from, SIDBEAM_KIND_TRIE);
  const moment now = under_on_cpu(constraint, steps);
  sidbeam_constraint_release(constraint);
  return now;
}

moment under_on_cpu(sidbeam_constraint* constraint, int steps) {
  sidbeam_session_config config = cuda_config(constraint);
  config.device_type = SIDBEAM_DEVICE_CPU;
  sidbeam_session* session = make_session(&config);
  start_all(session);
  for (int i = 0; i < steps; ++i) step_all(session, halving);
  const sidbeam_beams beams = beams_of(session);
  const moment now = copy_of(&beams);
  sidbeam_session_destroy(session);
  return now;
}

sidbeam_status step(sidbeam_session* session, const sidbeam_rows* rows, void* stream) {
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = rows;
  args.stream = stream;
  return sidbeam_session_step(session, &args, &err);
}

sidbeam_status start_under(sidbeam_session* session, int32_t slot, sidbeam_constraint* constraint, void* stream) {
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.slots = &slot;
  args.count = 1;
  args.constraints = &constraint;
  args.stream = stream;
  return sidbeam_session_start(session, &args, &err);
}

bench set_up(void) { return set_up_with(SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_NONE); }

bench set_up_with(int32_t strategy, int32_t normalization) {
  bench b;
  b.constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session_config config = cuda_config(b.constraint);
  config.strategy = strategy;
  config.normalization = normalization;
  b.session = make_session(&config);
  b.row = on_device(halving, sizeof halving);
  b.rows = device_rows(b.row);
  start_all(b.session);
  CHECK_OK(step(b.session, &b.rows, NULL));
  wait_device(); /* what follows may be on another stream */
  return b;
}

void tear_down(bench* b) {
  sidbeam_session_destroy(b->session);
  sidbeam_constraint_release(b->constraint);
  release_device(b->row);
  check_nothing_is_left();
}
