/* What sessions do: beams, ties, dead slots, prefixes, widths, variable lengths, bad rows, slots that join and leave.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

static const float dead_score = -INFINITY;

static sidbeam_session* normalized_session_on(const catalogue* from, int32_t slots, int32_t beams, int32_t strategy,
                                              int32_t normalization) {
  sidbeam_constraint* constraint = make_constraint(from, from->variable_length ? 3 : ALL_KINDS);
  sidbeam_session_config config = session_config(constraint);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = from->levels;
  vocabulary.end_column = 4;
  config.slots = slots;
  config.beams = beams;
  config.strategy = strategy;
  config.normalization = normalization;
  config.vocabulary = &vocabulary;
  sidbeam_session* session = make_session(&config);
  sidbeam_constraint_release(constraint);
  return session;
}

static sidbeam_session* session_on(const catalogue* from, int32_t slots, int32_t beams, int32_t strategy) {
  return normalized_session_on(from, slots, beams, strategy, SIDBEAM_NORMALIZE_NONE);
}

static void step_with(sidbeam_session* session, const sidbeam_rows* rows, const int32_t* slots, int64_t count) {
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = rows;
  args.slots = slots;
  args.count = count;
  CHECK_OK(sidbeam_session_step(session, &args, &err));
}

static void check_beams(const sidbeam_session* session, int32_t slot, int32_t live, const int32_t* parents,
                        const int32_t* codes, const float* scores) {
  const sidbeam_beams beams = beams_of(session);
  const int32_t m = beams.beams;
  CHECK_INT(beams.live[slot], live);
  CHECK_I32(beams.parents + slot * m, parents, live);
  CHECK_I32(beams.codes + slot * m, codes, live);
  CHECK_F32(beams.scores + slot * m, scores, live);
  for (int32_t i = live; i < m; ++i) {
    CHECK_INT(beams.parents[slot * m + i], -1);
    CHECK_INT(beams.codes[slot * m + i], -1);
    CHECK_F32(&beams.scores[slot * m + i], &dead_score, 1);
    CHECK_INT(beams.states[slot * m + i], -1);
  }
}

/* The same search by every exact strategy, ties included: score falling, parent rising, code rising. */
static void beams_are_the_best_in_exact_order(void) {
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_SORTED; ++strategy) {
    sidbeam_session* session = session_on(&small, 1, 4, strategy);
    start_all(session);
    check_beams(session, 0, 1, (const int32_t[]){-1}, (const int32_t[]){-1}, (const float[]){0});
    CHECK_INT(beams_of(session).level[0], 0);
    step_all(session, halving);
    check_beams(session, 0, 3, (const int32_t[]){0, 0, 0}, (const int32_t[]){0, 2, 3}, (const float[]){-1, -4, -8});
    CHECK_INT(beams_of(session).active[0], 3);
    step_all(session, halving);
    check_beams(session, 0, 4, (const int32_t[]){0, 1, 0, 2}, (const int32_t[]){1, 2, 3, 0},
                (const float[]){-3, -8, -9, -9});
    step_all(session, halving);
    check_beams(session, 0, 4, (const int32_t[]){0, 1, 2, 3}, (const int32_t[]){2, 1, 0, 0},
                (const float[]){-7, -10, -10, -10});
    CHECK_INT(beams_of(session).level[0], 3);
    CHECK_INT(beams_of(session).active[0], 0);
    CHECK_INT(beams_of(session).errors[0], 0);
    sidbeam_session_destroy(session);
  }
}

static void an_idle_slot_is_dead(void) {
  sidbeam_session* session = session_on(&small, 2, 4, SIDBEAM_STRATEGY_TRIE);
  check_beams(session, 1, 0, NULL, NULL, NULL);
  CHECK_INT(beams_of(session).level[1], -1);
  CHECK_INT(beams_of(session).active[1], 0);
  sidbeam_session_destroy(session);
}

static void views_stay_at_their_addresses(void) {
  sidbeam_session* session = session_on(&small, 2, 4, SIDBEAM_STRATEGY_TRIE);
  const sidbeam_beams before = beams_of(session);
  start_all(session);
  step_all(session, halving);
  step_all(session, halving);
  CHECK_OK(sidbeam_session_stop(session, NULL, 2, NULL, &err));
  start_slot(session, 0);
  const sidbeam_beams after = beams_of(session);
  CHECK(memcmp(&before, &after, sizeof before) == 0);
  CHECK(before.slots == 2 && before.beams == 4 && before.levels == 3);
  sidbeam_session_destroy(session);
}

static void more_beams_than_items_leaves_the_rest_dead(void) {
  sidbeam_session* session = session_on(&small, 1, SIDBEAM_MAX_BEAMS, SIDBEAM_STRATEGY_TRIE);
  start_all(session);
  for (int i = 0; i < 3; ++i) step_all(session, halving);
  check_beams(session, 0, 5, (const int32_t[]){0, 1, 2, 3, 0}, (const int32_t[]){2, 1, 0, 0, 3},
              (const float[]){-7, -10, -10, -10, -11});
  sidbeam_session_destroy(session);
}

static void one_item_and_one_beam_are_enough(void) {
  static const int32_t codes[1] = {1}, sid[1] = {0};
  static const int64_t id[1] = {7};
  const catalogue one = {1, 0, SIDBEAM_ID_I64, codes, sid, NULL, id, NULL, NULL, 1};
  sidbeam_session* session = session_on(&one, 1, 1, SIDBEAM_STRATEGY_TRIE);
  start_all(session);
  step_all(session, halving);
  check_beams(session, 0, 1, (const int32_t[]){0}, (const int32_t[]){0}, (const float[]){-1});
  CHECK_INT(beams_of(session).active[0], 0);
  sidbeam_session_destroy(session);
}

static void widths_keep_fewer_beams(void) {
  sidbeam_session* session = session_on(&small, 2, 4, SIDBEAM_STRATEGY_TRIE);
  static const int32_t widths[2] = {2, 0};
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.widths = widths;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  step_all(session, halving);
  CHECK_INT(beams_of(session).live[0], 2);
  CHECK_INT(beams_of(session).live[1], 3);
  step_all(session, halving);
  check_beams(session, 0, 2, (const int32_t[]){0, 1}, (const int32_t[]){1, 2}, (const float[]){-3, -8});
  CHECK_INT(beams_of(session).live[1], 4);
  sidbeam_session_destroy(session);
}

static void prefixes_are_where_a_slot_begins(void) {
  sidbeam_session* session = session_on(&small, 3, 4, SIDBEAM_STRATEGY_TRIE);
  static const int32_t prefixes[9] = {0, 1, 0, 1, 0, 0, 2, 2, 1}, lengths[3] = {2, 1, 3};
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.prefixes = prefixes;
  args.prefix_lengths = lengths;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  sidbeam_beams beams = beams_of(session);
  CHECK_I32(beams.level, ((const int32_t[]){2, 1, 3}), 3);
  CHECK_I32(beams.live, ((const int32_t[]){1, 0, 1}), 3);   /* no SID begins with 1 */
  CHECK_I32(beams.active, ((const int32_t[]){1, 0, 0}), 3); /* the third is whole */
  CHECK_F32(&beams.scores[8], ((const float[]){0}), 1);
  step_all(session, halving);
  check_beams(session, 0, 2, (const int32_t[]){0, 0}, (const int32_t[]){2, 3}, (const float[]){-4, -8});
  check_beams(session, 1, 0, NULL, NULL, NULL);
  CHECK_INT(beams_of(session).live[2], 1);
  sidbeam_session_destroy(session);
}

static void a_prefix_that_no_sid_has_leaves_no_beam(void) {
  static const int32_t prefixes[6] = {1, 1, 1, 0, 2, 0}, lengths[2] = {3, 2};
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_HASH_FINAL; ++strategy) {
    sidbeam_session* session = session_on(&small, 2, 4, strategy);
    sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
    args.prefixes = prefixes;
    args.prefix_lengths = lengths;
    CHECK_OK(sidbeam_session_start(session, &args, &err));
    check_beams(session, 0, 0, NULL, NULL, NULL);
    check_beams(session, 1, 0, NULL, NULL, NULL);
    CHECK_I32(beams_of(session).active, ((const int32_t[]){0, 0}), 2);
    CHECK_I32(beams_of(session).level, ((const int32_t[]){3, 2}), 2);
    sidbeam_session_destroy(session);
  }
}

static void slots_join_leave_and_restart_a_running_batch(void) {
  sidbeam_session* session = session_on(&small, 2, 4, SIDBEAM_STRATEGY_TRIE);
  static const int32_t first[1] = {0}, second[1] = {1}, swapped[2] = {1, 0};
  const sidbeam_rows one = same_row(halving, 1, 4, 4), two = same_row(halving, 2, 4, 4);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.count = 1;
  args.slots = first;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  step_with(session, &one, first, 1);
  args.slots = second;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  step_with(session, &two, swapped, 2);
  CHECK_I32(beams_of(session).level, ((const int32_t[]){2, 1}), 2);
  check_beams(session, 0, 4, (const int32_t[]){0, 1, 0, 2}, (const int32_t[]){1, 2, 3, 0},
              (const float[]){-3, -8, -9, -9});
  check_beams(session, 1, 3, (const int32_t[]){0, 0, 0}, (const int32_t[]){0, 2, 3}, (const float[]){-1, -4, -8});
  args.slots = first;
  CHECK_OK(sidbeam_session_start(session, &args, &err)); /* running: begins anew */
  check_beams(session, 0, 1, (const int32_t[]){-1}, (const int32_t[]){-1}, (const float[]){0});
  CHECK_OK(sidbeam_session_stop(session, second, 1, NULL, &err));
  check_beams(session, 1, 0, NULL, NULL, NULL);
  CHECK_I32(beams_of(session).level, ((const int32_t[]){0, -1}), 2);
  CHECK_OK(sidbeam_session_stop(session, second, 1, NULL, &err)); /* idle: nothing to do */
  sidbeam_session_destroy(session);
}

static void parents_reorder_the_cache_of_the_model(void) {
  sidbeam_session* session = session_on(&small, 1, 4, SIDBEAM_STRATEGY_TRIE);
  int32_t cache[4][3] = {{-1, -1, -1}};
  start_all(session);
  for (int level = 0; level < 3; ++level) {
    int32_t next[4][3];
    step_all(session, halving);
    const sidbeam_beams beams = beams_of(session);
    memset(next, -1, sizeof next);
    for (int m = 0; m < beams.live[0]; ++m) {
      memcpy(next[m], cache[beams.parents[m]], sizeof next[m]);
      next[m][level] = beams.codes[m];
    }
    memcpy(cache, next, sizeof cache);
  }
  CHECK_I32(&cache[0][0], ((const int32_t[]){0, 1, 2, 2, 2, 1, 0, 3, 0, 3, 0, 0}), 12);
  sidbeam_session_destroy(session);
}

static void constraints_mix_in_one_batch(void) {
  sidbeam_session* session = session_on(&small, 2, 4, SIDBEAM_STRATEGY_TRIE);
  sidbeam_constraint* other = make_constraint(&two_levels, SIDBEAM_KIND_TRIE);
  sidbeam_constraint* const constraints[2] = {NULL, other};
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.constraints = constraints;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  sidbeam_constraint_release(other); /* the slot holds it */
  step_all(session, halving);
  check_beams(session, 1, 2, (const int32_t[]){0, 0}, (const int32_t[]){1, 3}, (const float[]){-2, -8});
  step_all(session, halving);
  check_beams(session, 1, 3, (const int32_t[]){0, 0, 1}, (const int32_t[]){0, 2, 1}, (const float[]){-3, -6, -10});
  CHECK_I32(beams_of(session).active, ((const int32_t[]){4, 0}), 2);
  step_all(session, halving); /* slot 1 is done and passed over */
  CHECK_I32(beams_of(session).level, ((const int32_t[]){3, 2}), 2);
  check_beams(session, 1, 3, (const int32_t[]){0, 0, 1}, (const int32_t[]){0, 2, 1}, (const float[]){-3, -6, -10});
  sidbeam_session_destroy(session);
}

static void ended_beams_stay_at_their_score_and_need_no_logits_row(void) {
  static const float row[5] = {-1, -2, -4, -8, -0.5f};
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_SORTED; ++strategy) {
    sidbeam_session* session = session_on(&small_variable, 1, 4, strategy);
    const sidbeam_rows rows = same_row(row, 1, 4, 5);
    start_all(session);
    step_with(session, &rows, NULL, 0);
    check_beams(session, 0, 3, (const int32_t[]){0, 0, 0}, (const int32_t[]){0, 2, 3}, (const float[]){-1, -4, -8});
    step_with(session, &rows, NULL, 0); /* (0) ends, (0,1), (2,2), (3,0) */
    check_beams(session, 0, 4, (const int32_t[]){0, 0, 1, 2}, (const int32_t[]){4, 1, 2, 0},
                (const float[]){-1.5f, -3, -8, -9});
    CHECK_INT(beams_of(session).active[0], 3);
    step_with(session, &rows, NULL, 0); /* itself; (0,1) ends; (0,1,2); (3,0) ends; (2,2,1) is too late */
    check_beams(session, 0, 4, (const int32_t[]){0, 1, 1, 3}, (const int32_t[]){-1, 4, 2, 4},
                (const float[]){-1.5f, -3.5f, -7, -9.5f});
    CHECK_INT(beams_of(session).active[0], 0);
    sidbeam_session_destroy(session);
  }
}

/* The rows lie at the end of their memory, which a sanitizer watches. */
static void rows_may_end_before_beams_that_have_ended(void) {
  static const float row[5] = {-1, -2, -4, -8, -20};
  const size_t bytes = 3 * sizeof row;
  float* rows = malloc(bytes);
  CHECK(rows != NULL);
  for (int m = 0; m < 3; ++m) memcpy(rows + m * 5, row, sizeof row);
  for (int32_t normalization = SIDBEAM_NORMALIZE_FULL; normalization <= SIDBEAM_NORMALIZE_LEVEL; ++normalization) {
    sidbeam_session* session = normalized_session_on(&small_variable, 1, 4, SIDBEAM_STRATEGY_TRIE, normalization);
    const sidbeam_rows one = make_rows(rows, 1, 1, 5), three = make_rows(rows, 1, 3, 5);
    start_all(session);
    step_with(session, &one, NULL, 0);
    step_with(session, &three, NULL, 0); /* (0,1), (2,2), (3,0); (0) ends */
    CHECK_I32(beams_of(session).codes, ((const int32_t[]){1, 2, 0, 4}), 4);
    step_with(session, &three, NULL, 0); /* (0,1,2), (2,2,1); (0), ended; (0,1) ends; (3,0) would be the fifth */
    CHECK_I32(beams_of(session).codes, ((const int32_t[]){2, 1, -1, 4}), 4);
    CHECK_I32(beams_of(session).parents, ((const int32_t[]){0, 1, 3, 0}), 4);
    CHECK_INT(beams_of(session).errors[0], 0);
    sidbeam_session_destroy(session);
  }
  free(rows);
}

static void a_masked_code_is_no_candidate_and_no_error(void) {
  static const float masked[4] = {-INFINITY, -2, -4, -INFINITY}, all[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  sidbeam_session* session = session_on(&small, 1, 4, SIDBEAM_STRATEGY_TRIE);
  start_all(session);
  step_all(session, masked);
  check_beams(session, 0, 1, (const int32_t[]){0}, (const int32_t[]){2}, (const float[]){-4});
  step_all(session, all);
  check_beams(session, 0, 0, NULL, NULL, NULL);
  CHECK_INT(beams_of(session).active[0], 0);
  CHECK_INT(beams_of(session).errors[0], 0);
  sidbeam_session_destroy(session);
}

/* Where the row is normalised as a whole, a bad element matters even if it is no child's. */
static void an_element_that_only_the_normaliser_reads_can_be_bad(void) {
  const float values[2] = {NAN, INFINITY};
  for (int32_t normalization = SIDBEAM_NORMALIZE_FULL; normalization <= SIDBEAM_NORMALIZE_LEVEL; ++normalization) {
    for (size_t i = 0; i < COUNT(values); ++i) {
      const float row[4] = {-1, values[i], -4, -8}; /* no SID begins with 1 */
      sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
      sidbeam_session_config config = session_config(constraint);
      config.normalization = normalization;
      sidbeam_session* session = make_session(&config);
      sidbeam_constraint_release(constraint);
      start_all(session);
      step_all(session, row);
      check_beams(session, 0, 0, NULL, NULL, NULL);
      CHECK_INT(beams_of(session).errors[0], SIDBEAM_SLOT_BAD_ROW);
      sidbeam_session_destroy(session);
    }
  }
}

static void a_bad_row_flags_its_slot_until_it_starts_again(void) {
  sidbeam_session* session = session_on(&small, 2, 4, SIDBEAM_STRATEGY_TRIE);
  const float logits[2][4] = {{NAN, -2, -4, -8}, {-1, -2, -4, -8}};
  const sidbeam_rows rows = make_rows(&logits[0][0], 2, 1, 4);
  static const int32_t first[1] = {0};
  start_all(session);
  step_with(session, &rows, NULL, 0);
  CHECK_I32(beams_of(session).errors, ((const int32_t[]){SIDBEAM_SLOT_BAD_ROW, 0}), 2);
  check_beams(session, 0, 0, NULL, NULL, NULL);
  step_all(session, halving);
  CHECK_INT(beams_of(session).errors[0], SIDBEAM_SLOT_BAD_ROW);
  check_beams(session, 1, 4, (const int32_t[]){0, 1, 0, 2}, (const int32_t[]){1, 2, 3, 0},
              (const float[]){-3, -8, -9, -9});
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.slots = first;
  args.count = 1;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  CHECK_INT(beams_of(session).errors[0], 0);
  sidbeam_session_destroy(session);
}

static void row_maps_and_slot_rows_agree(void) {
  const float logits[3][4] = {{-1, -2, -4, -8}, {-2, -1, -8, -4}, {-8, -4, -2, -1}};
  static const int32_t map[8] = {2, 0, 1, -1, 1, 1, 1, 1};
  const float slots_of_rows[2][4][4] = {{{-8, -4, -2, -1}, {-1, -2, -4, -8}, {-2, -1, -8, -4}, {0}},
                                        {{-2, -1, -8, -4}, {-2, -1, -8, -4}, {-2, -1, -8, -4}, {0}}};
  sidbeam_session* sessions[2];
  for (int i = 0; i < 2; ++i) {
    sessions[i] = session_on(&small, 2, 4, SIDBEAM_STRATEGY_TRIE);
    start_all(sessions[i]);
    step_all(sessions[i], halving);
  }
  const sidbeam_rows mapped = make_rows(&logits[0][0], 0, 3, 4), dense = make_rows(&slots_of_rows[0][0][0], 2, 4, 4);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &mapped;
  args.row_map = map;
  CHECK_OK(sidbeam_session_step(sessions[0], &args, &err));
  step_with(sessions[1], &dense, NULL, 0);
  const sidbeam_beams a = beams_of(sessions[0]), b = beams_of(sessions[1]);
  CHECK_I32(a.parents, b.parents, 8);
  CHECK_I32(a.codes, b.codes, 8);
  CHECK_F32(a.scores, b.scores, 8);
  sidbeam_session_destroy(sessions[0]);
  sidbeam_session_destroy(sessions[1]);
}

static void unconstrained_beams_may_name_nothing(void) {
  sidbeam_session* session = session_on(&small, 1, 2, SIDBEAM_STRATEGY_NONE);
  int64_t ordinals[2] = {7, 7};
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals;
  start_all(session);
  for (int i = 0; i < 3; ++i) step_all(session, halving);
  check_beams(session, 0, 2, (const int32_t[]){0, 0}, (const int32_t[]){0, 1}, (const float[]){-3, -4});
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  CHECK_I64(ordinals, ((const int64_t[]){-1, -1}), 2);
  sidbeam_session_destroy(session);
}

static void hash_final_keeps_what_exists_of_the_last_level(void) {
  sidbeam_session* session = session_on(&small, 1, 4, SIDBEAM_STRATEGY_HASH_FINAL);
  start_all(session);
  step_all(session, halving);
  CHECK_INT(beams_of(session).live[0], 4); /* code 1 too, which leads nowhere */
  step_all(session, halving);              /* (0,0) -2, (0,1) -3, (1,0) -3, (1,1) -4 */
  step_all(session, halving);
  check_beams(session, 0, 2, (const int32_t[]){1, 1}, (const int32_t[]){2, 3}, (const float[]){-7, -11});
  sidbeam_session_destroy(session);
}

int main(void) {
  static const test_case tests[] = {
      TEST(beams_are_the_best_in_exact_order),
      TEST(an_idle_slot_is_dead),
      TEST(views_stay_at_their_addresses),
      TEST(more_beams_than_items_leaves_the_rest_dead),
      TEST(one_item_and_one_beam_are_enough),
      TEST(widths_keep_fewer_beams),
      TEST(prefixes_are_where_a_slot_begins),
      TEST(a_prefix_that_no_sid_has_leaves_no_beam),
      TEST(slots_join_leave_and_restart_a_running_batch),
      TEST(parents_reorder_the_cache_of_the_model),
      TEST(constraints_mix_in_one_batch),
      TEST(ended_beams_stay_at_their_score_and_need_no_logits_row),
      TEST(rows_may_end_before_beams_that_have_ended),
      TEST(a_masked_code_is_no_candidate_and_no_error),
      TEST(an_element_that_only_the_normaliser_reads_can_be_bad),
      TEST(a_bad_row_flags_its_slot_until_it_starts_again),
      TEST(row_maps_and_slot_rows_agree),
      TEST(unconstrained_beams_may_name_nothing),
      TEST(hash_final_keeps_what_exists_of_the_last_level),
  };
  return RUN_TESTS(tests);
}
