/* The driver's contexts: a thread has after each call the one that it had before, or none, and no device but the one
 * that is asked for gets a primary context. SPDX-License-Identifier: Apache-2.0 */
#include "cuda_session.h"

#define CHECK_STAYS(context, call)            \
  do {                                        \
    CHECK_OK(call);                           \
    CHECK(current_context() == (context));    \
    CHECK_INT(primary_contexts(), primaries); \
  } while (0)

/* Everything that reaches device 1, in a thread whose context is `context`. */
static void check_context_stays(void* context) {
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_session_config config = cuda_config(constraint);
  sidbeam_session* session = NULL;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  const int32_t slots[SLOTS] = {0, 1};
  use_device(1);
  float* row = on_device(halving, sizeof halving);
  void* stream = make_stream();
  wait_device();
  sidbeam_rows rows = device_rows(row);
  use_context(NULL);
  use_context(context);
  const int primaries = primary_contexts();
  config.device_id = rows.device_id = 1;
  start.slots = slots; /* which CUDA is asked about: are they the host's? */
  start.count = SLOTS;
  start.stream = stream;
  CHECK_STAYS(context, sidbeam_session_create(runtime, &config, &session, &err));
  CHECK_STAYS(context, sidbeam_session_start(session, &start, &err));
  CHECK_STAYS(context, step(session, &rows, stream));
  CHECK_STAYS(context, sidbeam_session_fetch(session, &beams, stream, &err));
  CHECK_STAYS(context, sidbeam_session_get_stats(session, &stats, &err));
  CHECK_INT(stats.steps, 1);
  CHECK_STAYS(context, sidbeam_session_stop(session, slots, SLOTS, stream, &err));
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  sidbeam_runtime_release(runtime);
  CHECK_STAYS(context, SIDBEAM_OK);
  use_device(1);
  release_device(row);
  release_stream(stream);
  check_nothing_is_left();
}

static void a_thread_without_a_context_gets_none(void) {
  set_devices(2);
  check_context_stays(NULL);
  CHECK_INT(primary_contexts(), 1);
}

static void a_callers_own_context_stays_whatever_its_device_is(void) {
  set_devices(2);
  check_context_stays(make_context(0));
  check_context_stays(make_context(1));
  CHECK_INT(primary_contexts(), 1);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_thread_without_a_context_gets_none),
      TEST(a_callers_own_context_stays_whatever_its_device_is),
  };
  return RUN_TESTS(tests);
}
