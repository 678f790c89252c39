/* Models and the runner through the flat layer: results, events, levels that a language answers, closes under load.
 * The model is that of tiny_model.py. Meant for ThreadSanitizer, true without it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>

#include "flat_rig.h"

enum { BEAMS = 4, THREADS = 8, REQUESTS = 50 };
static const int32_t history[] = {1, 5, 10};
#define HISTORY ((flat_in_i32){history, COUNT(history)})

/* A rig with a model and a runner over it, whose codes have the tokens from 0, 16 and 32 on. */
typedef struct runs {
  rig r;
  flat_handle *model, *runner, *events;
} runs;

static flat_handle* create(const runs* s, flat_handle* draft, int64_t* numbers) {
  return flat_runner_create(s->r.runtime, s->model, draft, NULL, s->r.constraint,
                            (flat_in_i64){numbers, FLAT_RUNNER_COUNT}, 0, 0, IN_I64(0, 16, 32), no_i32, no_i64, -1,
                            no_i32, no_i32, &err);
}

static flat_handle* make_runner(const runs* s, int32_t lanes, int32_t lane_threads, int32_t adjust, int32_t queue) {
  int64_t numbers[FLAT_RUNNER_COUNT] = {0};
  numbers[FLAT_RUNNER_BEAMS] = BEAMS;
  numbers[FLAT_RUNNER_LANES] = lanes;
  numbers[FLAT_RUNNER_LANE_THREADS] = lane_threads;
  numbers[FLAT_RUNNER_ADJUST] = adjust;
  numbers[FLAT_RUNNER_QUEUE_REQUESTS] = queue;
  return create(s, NULL, numbers);
}

static runs make_runs(int32_t lanes, int32_t lane_threads, int32_t adjust) {
  runs s = {make_rig(1), NULL, NULL, NULL};
  OKAY(s.model = flat_model_open(TINY_MODEL, SIDBEAM_WEIGHTS_STORED, SIDBEAM_DEVICE_CPU, 0, NULL, -1, &err));
  OKAY(s.runner = make_runner(&s, lanes, lane_threads, adjust, 0));
  OKAY(s.events = flat_runner_events(s.runner, &err));
  return s;
}

static void free_runs(runs* s) {
  flat_free(s->runner);
  flat_free(s->events);
  flat_free(s->model);
  free_rig(&s->r);
  CHECK_INT(returned(), 1);
}

/* What a request found. */
typedef struct found {
  int64_t numbers[FLAT_EVENT_COUNT];
  int32_t sids[3 * BEAMS];
  float scores[BEAMS];
  int64_t ordinals[BEAMS];
} found;

static void take(found* out, sidbeam_error* error) {
  flat_result_take(out->numbers[FLAT_RESULT_NUMBER], OUT_I32(out->sids), OUT_F32(out->scores), OUT_I64(out->ordinals),
                   error);
}

static found run(const runs* s) {
  found out = {{0}, {0}, {0}, {0}};
  OKAY(flat_runner_run(s->runner, 7, HISTORY, 0, 0, no_i32, 0, NULL, 0, 0, 0, OUT_I64(out.numbers), &err));
  OKAY(take(&out, &err));
  CHECK_INT(out.numbers[FLAT_RESULT_TAG], 7);
  CHECK_INT(out.numbers[FLAT_RESULT_LIVE], BEAMS);
  CHECK_INT(out.numbers[FLAT_RESULT_LEVELS], 3);
  return out;
}

static int64_t submit(const runs* s, int64_t tag, sidbeam_error* error) {
  return flat_runner_submit(s->runner, tag, HISTORY, 0, 0, no_i32, 0, NULL, 0, 0, 0, error);
}

static void info_says_what_a_model_is(void) {
  runs s = make_runs(1, 0, 0);
  int64_t numbers[FLAT_MODEL_COUNT] = {0};
  char family[FLAT_MODEL_FAMILY_BYTES] = {0};
  OKAY(flat_model_get_info(s.model, OUT_I64(numbers), OUT_BYTES(family), &err));
  CHECK_TEXT(family, "llama");
  CHECK_INT(numbers[FLAT_MODEL_VOCABULARY], 64);
  CHECK_INT(numbers[FLAT_MODEL_KV_HEADS], 2);
  CHECK(numbers[FLAT_MODEL_PARAMETERS] > 5000 && numbers[FLAT_MODEL_MEMORY_BYTES] > 4 * 5000);
  REFUSED(flat_model_get_info(s.model, (flat_out_i64){numbers, 1}, OUT_BYTES(family), &err), SIDBEAM_INVALID_ARGUMENT,
          "out has 1 elements, expected at least 11");
  flat_close(s.model);
  REFUSED(flat_model_get_info(s.model, OUT_I64(numbers), OUT_BYTES(family), &err), SIDBEAM_BAD_STATE,
          "model is closed");
  REFUSED(make_runner(&s, 1, 0, 0, 0), SIDBEAM_BAD_STATE, "model is closed");
  (void)run(&s); /* the runner holds it */
  free_runs(&s);
}

static void run_and_submit_give_the_same(void) {
  runs s = make_runs(1, 1, 0);
  const found first = run(&s);
  found second = {{0}, {0}, {0}, {0}};
  CHECK(submit(&s, 99, &err) > 0);
  CHECK_INT(flat_events_next(s.events, OUT_I64(second.numbers), &err), FLAT_EVENT_DONE);
  CHECK_INT(second.numbers[FLAT_RESULT_TAG], 99);
  OKAY(take(&second, &err));
  CHECK_I32(second.sids, first.sids, 3 * BEAMS);
  CHECK_F32(second.scores, first.scores, BEAMS);
  CHECK_I64(second.ordinals, first.ordinals, BEAMS);
  for (int m = 1; m < BEAMS; ++m) CHECK(first.scores[m] <= first.scores[m - 1]);
  CHECK_INT(flat_runner_drain(s.runner, 0, &err), 1);
  int64_t stats[FLAT_RUNNER_STATS_COUNT] = {0};
  OKAY(flat_runner_get_stats(s.runner, OUT_I64(stats), &err));
  CHECK_INT(stats[FLAT_RUNNER_STATS_FINISHED], 2);
  CHECK(stats[FLAT_RUNNER_STATS_TOTAL_US] <= stats[FLAT_RUNNER_STATS_TOTAL_US + 3]);
  free_runs(&s);
}

/* A request whose rules allow nothing finds nothing, beside others of its batch. */
static void a_request_has_rules_of_its_own(void) {
  runs s = make_runs(1, 1, 0);
  const found plain = run(&s);
  const flat_in_bytes no_names = {NULL, 0};
  const int64_t nothing[1] = {-1};
  flat_handle *two, *none;
  OKAY(two = flat_constraint_create_ruled(s.r.index, NULL, 0, no_i64, no_names, no_i64, SIDBEAM_ITEMS_BY_ROW,
                                          IN_I64(3, 5), no_names, no_i64, &err));
  OKAY(none = flat_constraint_create_ruled(s.r.index, NULL, 0, no_i64, no_names, no_i64, SIDBEAM_ITEMS_BY_ROW,
                                           (flat_in_i64){nothing, 0}, no_names, no_i64, &err));
  flat_handle* const each[] = {none, two, NULL, none};
  const int32_t live[] = {0, 2, BEAMS, 0};
  for (int64_t i = 0; i < 4; ++i)
    CHECK(flat_runner_submit(s.runner, i, HISTORY, 0, 0, no_i32, 0, each[i], 0, 0, 0, &err) > 0);
  flat_free(two);
  flat_free(none);
  for (int i = 0; i < 4; ++i) {
    found out = {{0}, {0}, {0}, {0}};
    CHECK_INT(flat_events_next(s.events, OUT_I64(out.numbers), &err), FLAT_EVENT_DONE);
    OKAY(take(&out, &err));
    const int64_t tag = out.numbers[FLAT_RESULT_TAG];
    CHECK_INT(out.numbers[FLAT_RESULT_LIVE], live[tag]);
    if (tag == 1) CHECK(out.ordinals[0] + out.ordinals[1] == 2 + 4);
    if (tag == 2) CHECK_I64(out.ordinals, plain.ordinals, BEAMS);
  }
  free_runs(&s);
}

static void bad_requests_are_refused(void) {
  runs s = make_runs(1, 1, 0);
  int64_t numbers[FLAT_RESULT_COUNT] = {0};
  REFUSED(flat_runner_run(s.runner, 1, HISTORY, 2, 0, no_i32, 0, NULL, 0, 0, 0, OUT_I64(numbers), &err),
          SIDBEAM_INVALID_ARGUMENT, "tokens has 3 elements, expected a multiple of group, 2");
  REFUSED(flat_runner_run(s.runner, 1, HISTORY, 0, 0, no_i32, 0, NULL, 0, 0, 0, (flat_out_i64){numbers, 2}, &err),
          SIDBEAM_INVALID_ARGUMENT, "out has 2 elements, expected at least 13");
  flat_runner_submit(s.runner, 1, no_i32, 0, 0, no_i32, 0, NULL, 0, 0, 0, &err);
  CHECK_INT(err.code, SIDBEAM_INVALID_ARGUMENT);
  flat_runner_submit(s.runner, 1, HISTORY, 0, 0, no_i32, 0, NULL, -5, 0, 0, &err);
  CHECK_INT(err.code, SIDBEAM_DEADLINE_EXCEEDED);
  REFUSED(flat_runner_run(s.events, 1, HISTORY, 0, 0, no_i32, 0, NULL, 0, 0, 0, OUT_I64(numbers), &err),
          SIDBEAM_INVALID_ARGUMENT, "runner is events, expected a handle of it");
  OKAY(flat_runner_close(s.runner, &err));
  OKAY(flat_runner_close(s.runner, &err));
  REFUSED(submit(&s, 1, &err), SIDBEAM_BAD_STATE, "runner is closed");
  REFUSED(flat_runner_cancel(s.runner, 1, &err), SIDBEAM_BAD_STATE, "runner is closed");
  REFUSED(flat_runner_get_stats(s.runner, OUT_I64(numbers), &err), SIDBEAM_INVALID_ARGUMENT,
          "out has 13 elements, expected at least 33");
  free_runs(&s);
}

/* A model that is its own draft is always right: all levels in a round. The runner holds its draft. */
static void drafts_change_rounds_alone(void) {
  runs s = make_runs(1, 0, 0);
  flat_handle* draft;
  int64_t numbers[FLAT_RUNNER_COUNT] = {0}, stats[FLAT_RUNNER_STATS_COUNT] = {0};
  const found plain = run(&s);
  for (int i = FLAT_RESULT_ROUNDS; i < FLAT_RESULT_COUNT; ++i) CHECK_INT(plain.numbers[i], 0);
  numbers[FLAT_RUNNER_BEAMS] = BEAMS;
  numbers[FLAT_RUNNER_DRAFT_BEAMS] = BEAMS + 2;
  flat_free(s.runner);
  OKAY(draft = flat_model_open(TINY_MODEL, SIDBEAM_WEIGHTS_STORED, SIDBEAM_DEVICE_CPU, 0, NULL, -1, &err));
  OKAY(s.runner = create(&s, draft, numbers));
  flat_close(draft);
  const found got = run(&s);
  CHECK_I32(got.sids, plain.sids, 3 * BEAMS);
  CHECK_F32(got.scores, plain.scores, BEAMS);
  CHECK_INT(got.numbers[FLAT_RESULT_ROUNDS], 1);
  CHECK_INT(got.numbers[FLAT_RESULT_DRAFTED_LEVELS], 2);
  CHECK_INT(got.numbers[FLAT_RESULT_ACCEPTED_LEVELS], 2);
  CHECK(got.numbers[FLAT_RESULT_DRAFT_US] <= got.numbers[FLAT_RESULT_RUN_US]);
  OKAY(flat_runner_get_stats(s.runner, OUT_I64(stats), &err));
  CHECK_INT(stats[FLAT_RUNNER_STATS_ROUNDS], 1);
  CHECK_INT(stats[FLAT_RUNNER_STATS_ROUND_LEVELS], 3);
  CHECK_INT(stats[FLAT_RUNNER_STATS_DRAFTED_LEVELS], 2);
  CHECK_INT(stats[FLAT_RUNNER_STATS_ACCEPTED_LEVELS], 2);
  CHECK(stats[FLAT_RUNNER_STATS_NODES] > BEAMS && stats[FLAT_RUNNER_STATS_DRAFT_US] >= 0);
  REFUSED(create(&s, draft, numbers), SIDBEAM_BAD_STATE, "draft model is closed");
  flat_free(draft);
  REFUSED(create(&s, s.r.constraint, numbers), SIDBEAM_INVALID_ARGUMENT,
          "draft model is constraint, expected a handle of it");
  numbers[FLAT_RUNNER_WITHOUT_REPLACEMENT] = 1;
  REFUSED(create(&s, s.model, numbers), SIDBEAM_INVALID_ARGUMENT,
          "config.without_replacement is 1, expected 0, since config.speculate is not SIDBEAM_SPECULATE_RELAXED");
  numbers[FLAT_RUNNER_SPECULATE] = SIDBEAM_SPECULATE_RELAXED;
  numbers[FLAT_RUNNER_MODE] = SIDBEAM_MODE_STOCHASTIC;
  REFUSED(create(&s, s.model, numbers), SIDBEAM_INVALID_ARGUMENT,
          "config.mode is 2, expected SIDBEAM_MODE_SEARCH, 0, with SIDBEAM_SPECULATE_RELAXED, which draws itself");
  free_runs(&s);
}

/* A language: takes events until the end, gives the codes of a SID a bonus, and counts. */
typedef struct server {
  const runs* s;
  int32_t sid[3];
  int32_t refuse; /* answers levels by ending their requests */
  atomic_int done, failed, levels, wrong;
} server;

static void answer(server* to, const int64_t* numbers) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  const int64_t level = numbers[FLAT_ADJUST_LEVEL], rows = numbers[FLAT_ADJUST_ROWS];
  float* logits = (float*)(intptr_t)numbers[FLAT_ADJUST_LOGITS];
  const int32_t* prefixes = (const int32_t*)(intptr_t)numbers[FLAT_ADJUST_PREFIXES];
  atomic_fetch_add(&to->levels, 1);
  if (numbers[FLAT_ADJUST_OFFSET] != 16 * level || numbers[FLAT_ADJUST_MAP] != 0 ||
      (level > 0 && memcmp(prefixes, to->sid, (size_t)level * sizeof(*prefixes)) != 0))
    atomic_fetch_add(&to->wrong, 1);
  for (int64_t r = 0; r < rows; ++r)
    logits[r * numbers[FLAT_ADJUST_ROW_STRIDE] + numbers[FLAT_ADJUST_OFFSET] + to->sid[level]] += 1000;
  flat_adjust_answer(to->s->events, numbers[FLAT_ADJUST_NUMBER], to->refuse, &error);
}

static void* serve(void* argument) {
  server* to = (server*)argument;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  found out = {{0}, {0}, {0}, {0}};
  for (int32_t kind; (kind = flat_events_next(to->s->events, OUT_I64(out.numbers), &error)) != FLAT_EVENT_END;) {
    if (kind == FLAT_EVENT_ADJUST) {
      answer(to, out.numbers);
    } else {
      take(&out, &error);
      atomic_fetch_add(error.code == 0 ? &to->done : &to->failed, 1);
    }
  }
  return NULL;
}

static void levels_are_adjusted(void) {
  for (int32_t lane_threads = 0; lane_threads < 2; ++lane_threads) {
    runs s = make_runs(2, lane_threads, 1);
    server to = {&s, {2, 2, 1}, 0, 0, 0, 0, 0};
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) CHECK_INT(pthread_create(&threads[i], NULL, serve, &to), 0);
    const found got = run(&s);
    CHECK_I32(got.sids, to.sid, 3);
    CHECK_INT(atomic_load(&to.levels), 3);
    to.refuse = 1;
    REFUSED(flat_runner_run(s.runner, 1, HISTORY, 0, 0, no_i32, 0, NULL, 0, 0, 0,
                            OUT_I64(((int64_t[FLAT_RESULT_COUNT]){0})), &err),
            SIDBEAM_CANCELLED, "config.adjust ended the request");
    OKAY(flat_runner_close(s.runner, &err));
    for (int i = 0; i < 2; ++i) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(atomic_load(&to.wrong), 0);
    free_runs(&s);
  }
}

static void* submit_often(void* argument) {
  server* to = (server*)argument;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  for (int i = 0; i < REQUESTS; ++i) {
    const int64_t id = submit(to->s, i, &error);
    if (error.code != 0 && error.code != SIDBEAM_BAD_STATE && error.code != SIDBEAM_QUEUE_FULL)
      atomic_fetch_add(&to->wrong, 1);
    if (error.code == 0 && i % 5 == 0) flat_runner_cancel(to->s->runner, id, &error);
  }
  return NULL;
}

/* Every request that was taken has one event, before the end; a runner that is closed under its users is safe. */
static void a_runner_may_be_closed_under_load(void) {
  for (int32_t adjust = 0; adjust < 2; ++adjust) {
    runs s = make_runs(2, 1, adjust);
    server to = {&s, {2, 2, 1}, 0, 0, 0, 0, 0};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
      CHECK_INT(pthread_create(&threads[i], NULL, i < 2 ? serve : submit_often, &to), 0);
    while (atomic_load(&to.done) < REQUESTS) sched_yield();
    OKAY(flat_runner_close(s.runner, &err));
    for (int i = 0; i < THREADS; ++i) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(atomic_load(&to.wrong), 0);
    CHECK_INT(flat_events_next(s.events, OUT_I64(((int64_t[FLAT_EVENT_COUNT]){0})), &err), FLAT_EVENT_END);
    free_runs(&s);
  }
}

/* Nobody waits for the events: the results go with the last handle of them, in either order. */
static void results_that_nobody_takes_are_given_back(void) {
  for (int order = 0; order < 2; ++order) {
    runs s = make_runs(1, 1, 0);
    for (int i = 0; i < 3; ++i) CHECK(submit(&s, i, &err) > 0);
    if (order == 0) {
      flat_free(s.events);
      s.events = NULL;
    }
    free_runs(&s);
  }
}

int main(void) {
  static const test_case tests[] = {
      TEST(info_says_what_a_model_is),         TEST(run_and_submit_give_the_same),
      TEST(a_request_has_rules_of_its_own),    TEST(bad_requests_are_refused),
      TEST(drafts_change_rounds_alone),        TEST(levels_are_adjusted),
      TEST(a_runner_may_be_closed_under_load), TEST(results_that_nobody_takes_are_given_back),
  };
  return RUN_TESTS(tests);
}
