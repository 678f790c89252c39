/* Vocabulary maps with holes: tokenizers have only the codes that occur; -1 stands for the others.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

enum { BEAMS = 6, COLUMNS = 9, HOLE = 7 };

/* For two_levels, whose SIDs have the codes 1 and 3 at level 0 and all at level 1: columns of codes with holes, and
 * columns for every code, where those that replace a hole are -inf in every logits row. */
static const int32_t first_holes[4] = {-1, 5, -1, 2}, first_whole[4] = {HOLE, 5, HOLE + 1, 2}, second[3] = {3, 1, 4};
static const int64_t map_codes[2] = {4, 3};

typedef struct maps {
  const int32_t* by_level[2];
  sidbeam_vocabulary vocabulary;
} maps;

static const sidbeam_vocabulary* vocabulary_of(maps* of, const int32_t* first, const int32_t* last) {
  const sidbeam_vocabulary empty = SIDBEAM_VOCABULARY_INIT;
  of->vocabulary = empty;
  of->by_level[0] = first;
  of->by_level[1] = last;
  of->vocabulary.levels = 2;
  of->vocabulary.maps = of->by_level;
  of->vocabulary.map_codes = map_codes;
  return &of->vocabulary;
}

/* Logits rows preceded by NaN, which column -1 would read. */
static const float* level_row(int level) {
  static float rows[2][1 + COLUMNS] = {{NAN, 0.5f, -1, 2, 1, 0.25f, 3, 1.5f, -INFINITY, -INFINITY},
                                       {NAN, 1, 2, -1, 0.5f, 4, 0.125f, -2, -INFINITY, -INFINITY}};
  return rows[level] + 1;
}

static void search(sidbeam_session* session) {
  start_all(session);
  for (int level = 0; level < 2; ++level) {
    const sidbeam_rows rows = same_row(level_row(level), 1, BEAMS, COLUMNS);
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.rows = &rows;
    args.inverse_temperature = 0.5f;
    CHECK_OK(sidbeam_session_step(session, &args, &err));
  }
}

static void check_same_search(const sidbeam_session_config* with_holes, const sidbeam_session_config* whole) {
  sidbeam_session *holes = make_session(with_holes), *reference = make_session(whole);
  search(holes);
  search(reference);
  const sidbeam_beams found = beams_of(holes), expected = beams_of(reference);
  CHECK(expected.live[0] > 0);
  CHECK_INT(found.errors[0], 0);
  CHECK_INT(found.live[0], expected.live[0]);
  CHECK_F32(found.scores, expected.scores, BEAMS);
  CHECK_I32(found.codes, expected.codes, BEAMS);
  CHECK_I32(found.parents, expected.parents, BEAMS);
  sidbeam_session_destroy(holes);
  sidbeam_session_destroy(reference);
}

static void a_code_without_a_column_is_as_if_its_element_were_minus_infinity(void) {
  sidbeam_constraint* constraint = make_constraint(&two_levels, ALL_KINDS);
  sidbeam_session_config with_holes = session_config(constraint), whole;
  maps holes, complete;
  with_holes.beams = BEAMS;
  with_holes.vocabulary = vocabulary_of(&holes, first_holes, second);
  whole = with_holes;
  whole.vocabulary = vocabulary_of(&complete, first_whole, second);
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_NONE; ++strategy) {
    for (int32_t normalization = SIDBEAM_NORMALIZE_FULL; normalization <= SIDBEAM_NORMALIZE_NONE; ++normalization) {
      if (strategy >= SIDBEAM_STRATEGY_HASH_FINAL && normalization == SIDBEAM_NORMALIZE_VALID) continue; /* refused */
      with_holes.strategy = whole.strategy = strategy;
      with_holes.normalization = whole.normalization = normalization;
      check_same_search(&with_holes, &whole);
    }
  }
  sidbeam_constraint_release(constraint);
}

static void check_refused(sidbeam_constraint* constraint, int32_t strategy, const int32_t* first, const int32_t* last,
                          const char* message) {
  sidbeam_session_config config = session_config(constraint);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_session* session = NULL;
  maps holes;
  config.strategy = strategy;
  config.vocabulary = vocabulary_of(&holes, first, last);
  CHECK_FAILS(sidbeam_session_create(runtime, &config, &session, &err), SIDBEAM_INVALID_ARGUMENT, message);
  CHECK(session == NULL);
  sidbeam_runtime_release(runtime);
}

static void a_code_that_a_sid_has_needs_a_column(void) {
  static const int32_t without_3[4] = {-1, 5, -1, -1}, without_2[3] = {3, 1, -1};
  static const struct {
    int32_t kinds, strategy;
  } indexes[] = {{SIDBEAM_KIND_TRIE, SIDBEAM_STRATEGY_TRIE},
                 {SIDBEAM_KIND_COMPACT_TRIE, SIDBEAM_STRATEGY_TRIE},
                 {SIDBEAM_KIND_SORTED, SIDBEAM_STRATEGY_SORTED},
                 {SIDBEAM_KIND_HASH, SIDBEAM_STRATEGY_HASH_FINAL},
                 {ALL_KINDS, SIDBEAM_STRATEGY_NONE}};
  for (size_t i = 0; i < COUNT(indexes); ++i) {
    sidbeam_constraint* constraint = make_constraint(&two_levels, indexes[i].kinds);
    check_refused(constraint, indexes[i].strategy, without_3, second,
                  "vocabulary.maps[0][3] is -1, expected a column, since config.constraint has SIDs with code 3 at "
                  "level 0");
    check_refused(constraint, indexes[i].strategy, first_holes, without_2,
                  "vocabulary.maps[1][2] is -1, expected a column, since config.constraint has SIDs with code 2 at "
                  "level 1");
    sidbeam_constraint_release(constraint);
  }
}

static void any_other_negative_column_is_refused(void) {
  static const int32_t negative[4] = {-2, 5, -1, 2};
  sidbeam_constraint* constraint = make_constraint(&two_levels, SIDBEAM_KIND_TRIE);
  check_refused(constraint, SIDBEAM_STRATEGY_TRIE, negative, second,
                "vocabulary.maps[0][0] is -2, expected a column >= 0, or -1 for none");
  sidbeam_constraint_release(constraint);
}

/* Codes 0 and 2 at level 0, which two_levels lacks. */
static sidbeam_constraint* other_constraint(void) {
  static const int32_t codes[] = {4, 3}, sids[] = {0, 0, 2, 1};
  const catalogue other = {2, 0, SIDBEAM_ID_I64, codes, sids, NULL, NULL, NULL, NULL, 2};
  return make_constraint(&other, SIDBEAM_KIND_TRIE);
}

static void a_slot_that_brings_a_constraint_with_such_codes_is_refused(void) {
  sidbeam_constraint *constraint = make_constraint(&two_levels, SIDBEAM_KIND_TRIE), *other = other_constraint();
  sidbeam_session_config config = session_config(constraint);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  maps holes;
  config.vocabulary = vocabulary_of(&holes, first_holes, second);
  sidbeam_session* session = make_session(&config);
  args.constraints = &other;
  for (int twice = 0; twice < 2; ++twice)
    CHECK_FAILS(sidbeam_session_start(session, &args, &err), SIDBEAM_INVALID_ARGUMENT,
                "vocabulary.maps[0][0] is -1, expected a column, since constraints[0] has SIDs with code 0 at level 0");
  args.constraints = &constraint;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  sidbeam_constraint_release(other);
}

static void a_constraint_set_has_the_same_rule(void) {
  sidbeam_constraint* both[] = {make_constraint(&two_levels, SIDBEAM_KIND_TRIE), other_constraint()};
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint_set* set = NULL;
  maps holes;
  config.constraints = both;
  config.constraint_count = 2;
  config.vocabulary = vocabulary_of(&holes, first_holes, second);
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, &set, &err), SIDBEAM_INVALID_ARGUMENT,
              "vocabulary.maps[0][0] is -1, expected a column, since a constraint has SIDs with code 0 at level 0");
  config.constraint_count = 1;
  CHECK_OK(sidbeam_constraint_set_create(runtime, &config, &set, &err));
  const sidbeam_rows rows = make_rows(level_row(0), 0, 1, COLUMNS);
  const sidbeam_state beginning = 0;
  const int32_t best[] = {1, 3, -1};
  uint32_t word = 0;
  int32_t codes[3];
  float log_probs[3];
  CHECK_OK(sidbeam_constraint_set_bitmask(set, NULL, &beginning, 1, 1, &word, NULL, &err));
  CHECK_INT(word, 1 << 5 | 1 << 2);
  CHECK_OK(sidbeam_constraint_set_topk(set, NULL, &beginning, &rows, SIDBEAM_NORMALIZE_LEVEL, 3, codes, log_probs, NULL,
                                       NULL, &err));
  CHECK_I32(codes, best, 3);
  sidbeam_constraint_set_destroy(set);
  sidbeam_runtime_release(runtime);
  sidbeam_constraint_release(both[0]);
  sidbeam_constraint_release(both[1]);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_code_without_a_column_is_as_if_its_element_were_minus_infinity),
      TEST(a_code_that_a_sid_has_needs_a_column),
      TEST(any_other_negative_column_is_refused),
      TEST(a_slot_that_brings_a_constraint_with_such_codes_is_refused),
      TEST(a_constraint_set_has_the_same_rule),
  };
  return RUN_TESTS(tests);
}
