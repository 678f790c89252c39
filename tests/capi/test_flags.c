/* What a session reports of its work: flags of slots, statistics, counters. SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

static sidbeam_session* session_of(int32_t slots, int32_t strategy, int32_t normalization) {
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session_config config = session_config(constraint);
  config.slots = slots;
  config.strategy = strategy;
  config.normalization = normalization;
  sidbeam_session* session = make_session(&config);
  sidbeam_constraint_release(constraint);
  return session;
}

static void stats_count_what_was_done(void) {
  sidbeam_session* session = session_of(2, SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_NONE);
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  CHECK_OK(sidbeam_session_get_stats(session, &stats, &err));
  CHECK(stats.steps == 0 && stats.rows_read == 0 && stats.memory_bytes > 0);
  CHECK_INT(counter_of(session, "slot_steps"), 0);
  start_all(session);
  step_all(session, halving);
  step_all(session, halving);
  CHECK_OK(sidbeam_session_get_stats(session, &stats, &err));
  CHECK_INT(stats.steps, 2);
  CHECK_INT(stats.rows_read + stats.rows_skipped, 8); /* one and three logits rows per slot */
  CHECK_INT(stats.rows_bad, 0);
  CHECK_INT(stats.dead_beams, 2);
  sidbeam_session_destroy(session);
}

static void counters_are_read_by_name(void) {
  static const struct {
    const char* name;
    int64_t value;
  } expected[] = {{"slot_steps", 5},         {"candidates", 14}, {"shrinks", 1},
                  {"list_rows", 3},          {"dense_rows", 0},  {"single_rows", 7},
                  {"unconstrained_rows", 0}, {"probed_rows", 0}, {"split_slots", 0}};
  static const int32_t prefix[1] = {3}, lengths[2] = {0, 1};
  sidbeam_session* session = session_of(2, SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_NONE);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.prefixes = prefix;
  args.prefix_stride = SIDBEAM_BROADCAST;
  args.prefix_lengths = lengths;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  /* The first slot's beams have 3, then 2 1 1, then 2 1 1 1 children, the second's one each for two steps. */
  for (int i = 0; i < 3; ++i) step_all(session, halving);
  for (size_t i = 0; i < COUNT(expected); ++i) {
    const char* name = expected[i].name;
    check_int(__FILE__, __LINE__, name, counter_of(session, name), expected[i].value);
  }
  const char* names[2] = {NULL, NULL};
  int64_t values[3] = {-7, -7, -7}, count = 0, all = 0;
  CHECK_OK(sidbeam_session_get_counters(session, 0, NULL, NULL, &all, &err));
  CHECK_INT(all, COUNT(expected));
  CHECK_OK(sidbeam_session_get_counters(session, 2, names, values, &count, &err)); /* only as many as there is room for
  */
  CHECK_INT(count, all);
  CHECK(names[0] != NULL && names[1] != NULL && strcmp(names[0], names[1]) != 0);
  CHECK(values[0] == counter_of(session, names[0]) && values[1] == counter_of(session, names[1]) && values[2] == -7);
  values[0] = -7;
  CHECK_OK(sidbeam_session_get_counters(session, 1, NULL, values, &count, &err)); /* names may be left out */
  CHECK_INT(values[0], counter_of(session, names[0]));
  sidbeam_session_destroy(session);
}

static void strategies_have_counters_of_their_own(void) {
  static const struct {
    int32_t strategy;
    int64_t list_rows, probed_rows, unconstrained_rows;
  } expected[] = {
      {SIDBEAM_STRATEGY_TRIE, 1, 0, 0}, {SIDBEAM_STRATEGY_SORTED_TOPK, 0, 1, 0}, {SIDBEAM_STRATEGY_NONE, 0, 0, 1}};
  for (size_t i = 0; i < COUNT(expected); ++i) {
    sidbeam_session* session = session_of(1, expected[i].strategy, SIDBEAM_NORMALIZE_NONE);
    start_all(session);
    step_all(session, halving);
    CHECK_INT(counter_of(session, "list_rows"), expected[i].list_rows);
    CHECK_INT(counter_of(session, "probed_rows"), expected[i].probed_rows);
    CHECK_INT(counter_of(session, "unconstrained_rows"), expected[i].unconstrained_rows);
    sidbeam_session_destroy(session);
  }
}

/* Two slots, whose logits rows and normalisers are given, after one step at the first level. */
static int32_t error_after(const float (*logits)[4], const float* lse) {
  sidbeam_session* session = session_of(2, SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_FULL);
  const sidbeam_rows rows = make_rows(&logits[0][0], 2, 1, 4);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  start_all(session);
  args.rows = &rows;
  args.lse = lse;
  CHECK_OK(sidbeam_session_step(session, &args, &err));
  const int32_t error = beams_of(session).errors[0];
  CHECK_INT(beams_of(session).errors[1], 0); /* the other slot has no flag */
  CHECK_INT(beams_of(session).live[1], 3);
  sidbeam_session_destroy(session);
  return error;
}

static void a_bad_lse_and_a_bad_row_have_flags_of_their_own(void) {
  static const float good[2][4] = {{-1, -2, -4, -8}, {-1, -2, -4, -8}},
                     bad[2][4] = {{-1, -2, NAN, -8}, {-1, -2, -4, -8}},
                     unread[2][4] = {{-1, NAN, -4, -8}, {-1, -2, -4, -8}};
  CHECK_INT(error_after(good, NULL), 0);
  CHECK_INT(error_after(good, (const float[]){0.5f, 0.5f}), 0);
  CHECK_INT(error_after(good, (const float[]){-INFINITY, 0.5f}), 0); /* a row without candidates */
  CHECK_INT(error_after(good, (const float[]){NAN, 0.5f}), SIDBEAM_SLOT_BAD_LSE);
  CHECK_INT(error_after(good, (const float[]){INFINITY, 0.5f}), SIDBEAM_SLOT_BAD_LSE);
  CHECK_INT(error_after(bad, NULL), SIDBEAM_SLOT_BAD_ROW);
  CHECK_INT(error_after(bad, (const float[]){0.5f, 0.5f}), SIDBEAM_SLOT_BAD_ROW);
  CHECK_INT(error_after(unread, (const float[]){0.5f, 0.5f}), 0); /* no SID begins with 1 */
  CHECK_INT(error_after(unread, NULL), SIDBEAM_SLOT_BAD_ROW);
}

/* One beam with a bad row, another with a bad lse: both flags, whether in one step or one after the other. */
static void flags_of_a_slot_come_together(void) {
  for (int at_once = 0; at_once < 2; ++at_once) {
    sidbeam_session* session = session_of(1, SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_FULL);
    float logits[3][4] = {{-1, -2, -4, -8}, {-1, -2, -4, -8}, {-1, -2, -4, -8}}, lse[3] = {0, 0, 0};
    const sidbeam_rows rows = make_rows(&logits[0][0], 1, 3, 4);
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    start_all(session);
    step_all(session, halving);
    args.rows = &rows;
    args.lse = lse;
    logits[1][2] = NAN; /* the only child of beam (2) */
    if (at_once) lse[2] = NAN;
    CHECK_OK(sidbeam_session_step(session, &args, &err));
    CHECK_INT(beams_of(session).errors[0], SIDBEAM_SLOT_BAD_ROW | (at_once ? SIDBEAM_SLOT_BAD_LSE : 0));
    CHECK_INT(beams_of(session).live[0], at_once ? 2 : 3);
    lse[0] = INFINITY;
    logits[1][2] = -4;
    CHECK_OK(sidbeam_session_step(session, &args, &err));
    CHECK_INT(beams_of(session).errors[0], SIDBEAM_SLOT_BAD_ROW | SIDBEAM_SLOT_BAD_LSE);
    start_all(session);
    CHECK_INT(beams_of(session).errors[0], 0);
    sidbeam_session_destroy(session);
  }
}

int main(void) {
  static const test_case tests[] = {
      TEST(stats_count_what_was_done),
      TEST(counters_are_read_by_name),
      TEST(strategies_have_counters_of_their_own),
      TEST(a_bad_lse_and_a_bad_row_have_flags_of_their_own),
      TEST(flags_of_a_slot_come_together),
  };
  return RUN_TESTS(tests);
}
