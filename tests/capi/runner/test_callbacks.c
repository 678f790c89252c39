/* What a host does within done() and adjust().
 * SPDX-License-Identifier: Apache-2.0 */
#include "runner_rig.h"

static sidbeam_status closed_within, drained_within, ran_within;

static void close_within(void* context, const sidbeam_result* result) {
  outcome ignored;
  const sidbeam_request request = ask(&ignored);
  keep(context, result);
  closed_within = sidbeam_runner_close(runner, NULL);
  drained_within = sidbeam_runner_drain(runner, 0, NULL, NULL);
  ran_within = sidbeam_runner_run(runner, &request, NULL);
  sidbeam_runner_destroy(runner); /* does nothing */
}

static void a_callback_cannot_close_its_runner(void) {
  outcome got;
  sidbeam_runner_config config = settings();
  config.lane_threads = 1;
  make_runner(&config);
  sidbeam_request request = ask(&got);
  request.done = close_within;
  CHECK_OK(sidbeam_runner_submit(runner, &request, NULL, &err));
  drain();
  CHECK_INT(got.status, SIDBEAM_OK);
  CHECK_INT(closed_within, SIDBEAM_BAD_STATE);
  CHECK_INT(drained_within, SIDBEAM_BAD_STATE);
  CHECK_INT(ran_within, SIDBEAM_BAD_STATE);
  CHECK_INT(run_once().status, SIDBEAM_OK);
}

static int levels_seen;

/* Leaves only the SID (2, 2, 1) with a chance. */
static int32_t prefer_one(void* context, const sidbeam_level* level) {
  static const int32_t wanted[LEVELS] = {2, 2, 1};
  CHECK(context == &levels_seen);
  CHECK_INT(level->level, levels_seen++);
  CHECK(level->struct_size == sizeof *level && level->beams != NULL && level->stream == NULL);
  CHECK_INT(level->beams->level[level->slot], level->level);
  CHECK_INT(level->row_beams[0], 0);
  for (int64_t r = 0; r < level->rows; ++r)
    level->logits[r * level->row_stride + level->columns_of->offsets[level->level] + wanted[level->level]] += 100;
  return 0;
}

static void adjust_changes_the_logits(void) {
  for (int32_t normalization = SIDBEAM_NORMALIZE_FULL; normalization <= SIDBEAM_NORMALIZE_VALID; ++normalization) {
    sidbeam_runner_config config = settings();
    config.adjust = prefer_one;
    config.adjust_context = &levels_seen;
    config.normalization = normalization;
    levels_seen = 0;
    make_runner(&config);
    const outcome got = run_once();
    CHECK_INT(levels_seen, LEVELS);
    CHECK_INT(got.status, SIDBEAM_OK);
    CHECK_INT(got.ordinals[0], 3);
    CHECK(got.scores[0] > -0.001f);
    clean_up();
  }
}

static int32_t stop_at_level_1(void* context, const sidbeam_level* level) {
  (void)context;
  return level->level == 1;
}

static int32_t write_nan(void* context, const sidbeam_level* level) {
  (void)context;
  level->logits[0] = level->logits[level->columns - 1] = NAN;
  for (int64_t c = 0; c < level->columns; ++c) level->logits[c] = NAN;
  return 0;
}

static void adjust_may_stop_a_request_or_spoil_it(void) {
  outcome got;
  sidbeam_runner_config config = settings();
  config.adjust = stop_at_level_1;
  make_runner(&config);
  sidbeam_request request = ask(&got);
  CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_CANCELLED, "config.adjust ended the request");
  CHECK_INT(got.status, SIDBEAM_CANCELLED);
  clean_up();
  config = settings();
  config.adjust = write_nan;
  make_runner(&config);
  request = ask(&got);
  CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_INVALID_ARGUMENT, "NaN or +inf");
  CHECK_INT(got.calls, 1);
  CHECK_INT(got.live, 0);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_callback_cannot_close_its_runner),
      TEST(adjust_changes_the_logits),
      TEST(adjust_may_stop_a_request_or_spoil_it),
  };
  after_test = clean_up;
  return RUN_TESTS(tests);
}
