/* The C library's allocator, which operator new takes from: a failure at any call is OUT_OF_MEMORY and leaks nothing,
 * and steps allocate nothing. Not built with sanitizers (malloc_faults.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "failing_allocations.h"
#include "script.h"

typedef struct world {
  int32_t threads;
  const char* path;
} world;

static sidbeam_status use(void* context, sidbeam_error* error) {
  const world* w = context;
  return run_script(NULL, w->threads, w->path, error);
}

static void fail_at_every_call(int32_t threads, int forever) {
  world w = {threads, temporary_path("script.sidx")};
  const allocating_work work = {use, &w, forever, threads > 1};
  CHECK(fail_every_allocation(&work) > 10);
}

static void everything_that_was_taken_comes_back(void) {
  world w = {1, temporary_path("script.sidx")};
  CHECK_OK(use(&w, &err));
  malloc_faults_begin(-1, 0);
  CHECK_OK(use(&w, &err));
  malloc_faults_end();
  CHECK(malloc_calls() > 0);
  CHECK_INT(malloc_live(), 0);
}

static void a_failure_at_any_call_is_out_of_memory_and_leaks_nothing(void) { fail_at_every_call(1, 0); }
static void failing_from_any_call_on_is_out_of_memory_and_leaks_nothing(void) { fail_at_every_call(1, 1); }
static void failures_on_building_threads_do_not_crash(void) { fail_at_every_call(3, 0); }

static void steps_of(int32_t mode, int32_t strategy) {
  static const int64_t keys[4] = {0};
  static const float top_ps[4] = {0.5f, 1, 1, 1};
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session_config config = session_config(constraint);
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  config.strategy = strategy;
  config.normalization = SIDBEAM_NORMALIZE_FULL;
  config.mode = mode;
  config.slots = 4;
  config.beams = 64;
  sidbeam_session* session = make_session(&config);
  sidbeam_constraint_release(constraint);
  int64_t ordinals[256];
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals;
  sampling.seeds = sampling.requests = keys;
  if (mode == SIDBEAM_MODE_SAMPLE) sampling.top_ps = top_ps;
  if (mode != SIDBEAM_MODE_SEARCH) start.sampling = &sampling;
  CHECK_OK(sidbeam_session_start(session, &start, &err));
  malloc_faults_begin(-1, 0);
  for (int i = 0; i < 3; ++i) step_all(session, halving);
  CHECK_OK(sidbeam_session_get_items(session, NULL, 4, &items, &err));
  malloc_faults_end();
  CHECK_INT(malloc_calls(), 0);
  sidbeam_session_destroy(session);
}

/* The first draw takes the memory that later ones use. */
static void draws_of_a_set_call_no_allocator_but_at_first(void) {
  static const int64_t keys[2] = {0, 1};
  static const float top_ps[2] = {0.5f, 1};
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_constraint_set* set = make_set(&constraint, 1, NULL);
  const sidbeam_rows rows = same_row(halving, 0, 2, 4);
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
  sidbeam_state states[2] = {0, 0};
  int32_t codes[2];
  sidbeam_constraint_release(constraint);
  sampling.seeds = sampling.requests = keys;
  sampling.top_ps = top_ps;
  out.codes = codes;
  out.next = states;
  for (int level = 0; level < 3; ++level) {
    malloc_faults_begin(-1, 0);
    CHECK_OK(sidbeam_constraint_set_sample(set, NULL, states, &rows, SIDBEAM_NORMALIZE_FULL, NULL, &sampling, &out,
                                           NULL, &err));
    malloc_faults_end();
    CHECK(level == 0 ? malloc_calls() > 0 : malloc_calls() == 0);
  }
  sidbeam_constraint_set_destroy(set);
}

static void steps_call_no_allocator_at_all(void) {
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_NONE; ++strategy)
    steps_of(SIDBEAM_MODE_SEARCH, strategy);
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_SORTED; ++strategy) {
    steps_of(SIDBEAM_MODE_SAMPLE, strategy);
    steps_of(SIDBEAM_MODE_STOCHASTIC, strategy);
  }
}

int main(void) {
  static const test_case tests[] = {
      TEST(everything_that_was_taken_comes_back),
      TEST(a_failure_at_any_call_is_out_of_memory_and_leaks_nothing),
      TEST(failing_from_any_call_on_is_out_of_memory_and_leaks_nothing),
      TEST(failures_on_building_threads_do_not_crash),
      TEST(steps_call_no_allocator_at_all),
      TEST(draws_of_a_set_call_no_allocator_but_at_first),
  };
  return RUN_TESTS(tests);
}
