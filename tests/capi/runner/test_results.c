/* What comes back of a request, whichever way it runs. That scores are the model's is tested in tests/unit.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fenv.h>

#include "runner_rig.h"

static void the_best_items_come_back(void) {
  const sidbeam_runner_config config = settings();
  make_runner(&config);
  const outcome got = run_once();
  CHECK_INT(got.calls, 1);
  CHECK_INT(got.status, SIDBEAM_OK);
  CHECK_TEXT(got.message, "");
  CHECK_INT(got.request, 1);
  CHECK_INT(got.levels, LEVELS);
  CHECK_INT(got.live, BEAMS); /* of five items */
  CHECK_INT(got.batch, 1);
  for (int32_t m = 0; m < BEAMS; ++m) {
    const int64_t ordinal = got.ordinals[m];
    CHECK(ordinal >= 0 && ordinal < 5);
    CHECK(got.scores[m] < 0 && got.scores[m] > -60);
    if (m > 0) CHECK(got.scores[m] <= got.scores[m - 1]);
    for (int32_t n = 0; n < m; ++n) CHECK(got.ordinals[n] != ordinal);
  }
  static const int32_t sids[5][LEVELS] = {{0, 1, 2}, {0, 1, 3}, {0, 3, 0}, {2, 2, 1}, {3, 0, 0}};
  for (int32_t m = 0; m < BEAMS; ++m) CHECK_I32(got.sids + m * LEVELS, sids[got.ordinals[m]], LEVELS);
}

static void a_request_may_ask_for_fewer_beams(void) {
  const sidbeam_runner_config config = settings();
  outcome got;
  make_runner(&config);
  const outcome all = run_once();
  sidbeam_request request = ask(&got);
  request.beams = 1;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  CHECK_INT(got.live, 1);
  CHECK(got.scores[0] <= all.scores[0]);
}

/* One beam at the first level leaves the SIDs of its code, two at the last the better of these. */
static void a_request_may_ask_for_beams_per_level(void) {
  const sidbeam_runner_config config = settings();
  outcome got;
  make_runner(&config);
  const int32_t widths[3] = {1, 0, 2};
  sidbeam_request request = ask(&got);
  request.widths = widths;
  request.width_levels = 1;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err)); /* the best at every level */
  CHECK_INT(got.live, 1);
  const int32_t first = got.sids[0];
  request.width_levels = 3;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  static const int32_t of_code[4] = {3, 0, 1, 1};
  CHECK_INT(got.live, of_code[first] < 2 ? of_code[first] : 2);
  for (int32_t m = 0; m < got.live; ++m) CHECK_INT(got.sids[m * LEVELS], first);
}

static void no_way_of_running_changes_a_bit(void) {
  outcome got[6];
  sidbeam_runner_config config = settings();
  make_runner(&config);
  const outcome expected = run_once();
  sidbeam_runner_destroy(runner);
  config.lane_threads = 1;
  config.lanes = 2;
  config.batch_requests = 3;
  config.wait_us = 1000;
  make_runner(&config);
  for (size_t i = 0; i < COUNT(got); ++i) {
    const sidbeam_request request = ask(&got[i]);
    int64_t id = 0;
    CHECK_OK(sidbeam_runner_submit(runner, &request, &id, &err));
    CHECK_INT(id, (int64_t)i + 1);
  }
  drain();
  for (size_t i = 0; i < COUNT(got); ++i) {
    check_same(&got[i], &expected);
    CHECK(got[i].batch >= 1 && got[i].batch <= 3);
  }
  const outcome blocking = run_once();
  check_same(&blocking, &expected);
}

static void round_up(void* context, int32_t count, void (*task)(void* data, int32_t i), void* data) {
  const int before = fegetround();
  *(int*)context += count;
  fesetround(FE_UPWARD);
  for (int32_t i = 0; i < count; ++i) task(data, i);
  fesetround(before);
}

static void the_rounding_of_the_hosts_threads_changes_no_bit(void) {
  sidbeam_runner_config config = settings();
  int tasks = 0;
  make_runner(&config);
  const outcome expected = run_once();
  sidbeam_runner_destroy(runner);
  config.request_threads = 2;
  config.execute = round_up;
  config.execute_context = &tasks;
  make_runner(&config);
  const outcome got = run_once();
  CHECK(tasks > 0);
  check_same(&got, &expected);
}

static void a_group_is_the_sum_of_its_tokens(void) {
  static const int32_t pairs[] = {1, -1, -1, 5, 2, -1, -1, 7, 3, -1};
  sidbeam_runner_config config = settings();
  outcome got;
  config.max_group = 2;
  make_runner(&config);
  const outcome expected = run_once();
  sidbeam_request request = ask(&got);
  request.tokens = pairs;
  request.group = 2;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  check_same(&got, &expected);
}

static void begin_tokens_follow_every_prompt(void) {
  sidbeam_runner_config config = settings();
  make_runner(&config);
  const outcome expected = run_once();
  sidbeam_runner_destroy(runner);
  outcome got;
  config.begin_tokens = history + 3;
  config.begin_count = 2;
  make_runner(&config);
  sidbeam_request request = ask(&got);
  request.positions = 3;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  check_same(&got, &expected);
}

/* A user without a history: in a batch with one that has some, and by speculation. */
static void an_empty_prompt_begins_with_the_begin_tokens(void) {
  outcome cold[2], warm, expected_warm;
  sidbeam_runner_config config = settings();
  make_runner(&config);
  const outcome expected = run_once();
  sidbeam_request request = ask(&expected_warm);
  static const int32_t longer[6] = {4, 1, 5, 2, 7, 3}; /* a token, then the history */
  request.tokens = longer;
  request.positions = 6;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  sidbeam_runner_destroy(runner);
  config.begin_tokens = history;
  config.begin_count = COUNT(history);
  for (int speculates = 0; speculates < 2; ++speculates) {
    config.draft = speculates ? model : NULL;
    config.lane_threads = 1;
    config.batch_requests = 3;
    config.wait_us = 60000000; /* no pause is as long: the third request ends the wait */
    make_runner(&config);
    for (int i = 0; i < 2; ++i) {
      request = ask(&cold[i]);
      request.tokens = i == 0 ? NULL : history; /* of which nothing is read */
      request.positions = 0;
      CHECK_OK(sidbeam_runner_submit(runner, &request, NULL, &err));
    }
    request = ask(&warm);
    request.tokens = longer;
    request.positions = 1;
    CHECK_OK(sidbeam_runner_submit(runner, &request, NULL, &err));
    drain();
    check_same(&cold[0], &expected);
    check_same(&cold[1], &expected);
    check_same(&warm, &expected_warm);
    CHECK_INT(cold[0].batch, 3);
    sidbeam_runner_destroy(runner);
    runner = NULL;
  }
}

/* Code 3 of level 0, which the SID of ordinal 4 alone begins with, has no token. */
static const int32_t with_hole[4] = {8, 9, 10, -1}, *const hole_maps[LEVELS] = {with_hole, NULL, NULL};
static const int64_t hole_codes[LEVELS] = {4, 0, 0};

static sidbeam_runner_config settings_with_hole(int32_t normalization) {
  sidbeam_runner_config config = settings();
  vocabulary.maps = hole_maps;
  vocabulary.map_codes = hole_codes;
  config.beams = 5;
  config.normalization = normalization;
  return config;
}

/* As many as there are items, so that one that is missing was not chosen. */
typedef struct found_items {
  int32_t live;
  int64_t ordinals[5];
  float scores[5];
} found_items;

static void keep_items(void* context, const sidbeam_result* result) {
  found_items* const to = context;
  to->live = result->live;
  memcpy(to->ordinals, result->ordinals, sizeof(int64_t) * (size_t)result->live);
  memcpy(to->scores, result->scores, sizeof(float) * (size_t)result->live);
}

static void a_code_without_a_token_is_never_chosen(void) {
  static const int32_t normalizations[] = {SIDBEAM_NORMALIZE_LEVEL, SIDBEAM_NORMALIZE_VALID};
  for (size_t i = 0; i < COUNT(normalizations); ++i) {
    const sidbeam_runner_config config = settings_with_hole(normalizations[i]);
    found_items got = {0};
    outcome unused;
    make_runner(&config);
    sidbeam_request request = ask(&unused);
    request.done = keep_items;
    request.context = &got;
    CHECK_OK(sidbeam_runner_run(runner, &request, &err));
    CHECK_INT(got.live, 4);
    for (int32_t m = 0; m < got.live; ++m) CHECK(got.ordinals[m] != 4 && isfinite(got.scores[m]));
    clean_up();
  }
}

static void with_full_normalization_a_sid_without_a_token_is_refused(void) {
  const sidbeam_runner_config config = settings_with_hole(SIDBEAM_NORMALIZE_FULL);
  CHECK_FAILS(
      sidbeam_runner_create(runtime, &config, &runner, &err), SIDBEAM_INVALID_ARGUMENT,
      "vocabulary.maps[0][3] is -1, expected a column, since config.constraint has SIDs with code 3 at level 0");
  CHECK(runner == NULL);
}

/* The runner's own constraint lacks the code; the request's has it. */
static void with_full_normalization_a_request_for_such_a_sid_fails_alone(void) {
  static const int32_t codes[] = {4, 4, 4}, sids[] = {0, 1, 2, 2, 2, 1};
  const catalogue other = {3, 0, SIDBEAM_ID_I64, codes, sids, NULL, NULL, NULL, NULL, 2};
  sidbeam_runner_config config = settings_with_hole(SIDBEAM_NORMALIZE_FULL);
  sidbeam_constraint* const whole = constraint;
  constraint = config.constraint = make_constraint(&other, SIDBEAM_KIND_TRIE);
  config.beams = BEAMS;
  make_runner(&config);
  outcome got;
  sidbeam_request request = ask(&got);
  request.constraint = whole;
  CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_INVALID_ARGUMENT,
              "vocabulary.maps[0][3] is -1, expected a column", "SIDs with code 3 at level 0");
  CHECK_INT(got.calls, 1);
  CHECK_INT(run_once().live, 2);
  sidbeam_constraint_release(whole);
}

int main(void) {
  static const test_case tests[] = {
      TEST(the_best_items_come_back),
      TEST(a_request_may_ask_for_fewer_beams),
      TEST(a_request_may_ask_for_beams_per_level),
      TEST(no_way_of_running_changes_a_bit),
      TEST(the_rounding_of_the_hosts_threads_changes_no_bit),
      TEST(a_group_is_the_sum_of_its_tokens),
      TEST(begin_tokens_follow_every_prompt),
      TEST(an_empty_prompt_begins_with_the_begin_tokens),
      TEST(a_code_without_a_token_is_never_chosen),
      TEST(with_full_normalization_a_sid_without_a_token_is_refused),
      TEST(with_full_normalization_a_request_for_such_a_sid_fails_alone),
  };
  after_test = clean_up;
  return RUN_TESTS(tests);
}
