/* The stateless forms: prefixes, advances, masks, bitmasks and the best codes of a logits row.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

/* Every test is run with both forms of a trie. */
static int32_t form = SIDBEAM_KIND_TRIE;

/* Of small, then two_levels. */
static sidbeam_constraint_set* make_two(const sidbeam_vocabulary* vocabulary) {
  sidbeam_constraint* constraints[2] = {make_constraint(&small, form), make_constraint(&two_levels, form)};
  sidbeam_constraint_set* set = make_set(constraints, 2, vocabulary);
  sidbeam_constraint_release(constraints[0]); /* the set holds them */
  sidbeam_constraint_release(constraints[1]);
  return set;
}

static const int32_t prefixes[6][2] = {{0, 0}, {0, 0}, {0, 1}, {1, 1}, {2, 9}, {1, 0}};
static const int32_t lengths[6] = {0, 1, 2, 1, 2, 1}, which[6] = {0, 0, 0, 0, 0, 1};

/* States of: the beginning, (0), (0,1), none, none, and (1) of the second constraint. */
static void states_of(const sidbeam_constraint_set* set, sidbeam_state* states) {
  CHECK_OK(sidbeam_constraint_set_prefixes(set, which, &prefixes[0][0], 2, lengths, 6, states, NULL, &err));
}

static void prefixes_become_states(void) {
  sidbeam_state states[6];
  sidbeam_constraint_set* set = make_two(NULL);
  states_of(set, states);
  CHECK_INT(states[0], 0);
  CHECK(states[1] > 0 && states[2] > 0 && states[1] != states[2]);
  CHECK_INT(states[3], -1);
  CHECK_INT(states[4], -1);
  CHECK(states[5] >= 0);
  sidbeam_constraint_set_destroy(set);
}

static void advancing_is_the_same_as_a_longer_prefix(void) {
  static const int32_t parents[4] = {0, 1, 1, 7};
  static const int32_t codes[4] = {0, 1, 2, 0};
  sidbeam_state states[6], next[4];
  sidbeam_constraint_set* set = make_two(NULL);
  states_of(set, states);
  CHECK_OK(sidbeam_constraint_set_advance(set, NULL, states, 6, parents, codes, 4, next, NULL, &err));
  CHECK_INT(next[0], states[1]);
  CHECK_INT(next[1], states[2]);
  CHECK_INT(next[2], -1); /* (0,2) leads nowhere */
  CHECK_INT(next[3], -1); /* no such parent */
  sidbeam_constraint_set_destroy(set);
}

static void advancing_in_place_needs_no_parents(void) {
  static const int32_t codes[6] = {0, 1, 2, 0, 0, 2}, after[6] = {-1, 4, -5, 99, INT32_MAX, INT32_MIN};
  sidbeam_state states[6], expected[2];
  sidbeam_constraint_set* set = make_two(NULL);
  states_of(set, states);
  memcpy(expected, states + 1, sizeof expected);
  CHECK_OK(sidbeam_constraint_set_advance(set, which, states, 6, NULL, codes, 6, states, NULL, &err));
  CHECK_I64(states, expected, 2);
  CHECK(states[2] > 0 && states[5] > 0); /* whole SIDs */
  CHECK_INT(states[3], -1);
  CHECK_OK(sidbeam_constraint_set_advance(set, which, states, 6, NULL, after, 6, states, NULL, &err));
  CHECK_I64(states, ((const int64_t[]){-1, -1, -1, -1, -1, -1}), 6);
  sidbeam_constraint_set_destroy(set);
}

static void strange_states_are_dead(void) {
  static const sidbeam_state strange[6] = {INT64_MAX, INT64_MIN, 1LL << 48, 1LL << 52, 1LL << 54, 999999};
  static const int32_t codes[6] = {0, 0, 0, 0, 0, 0};
  sidbeam_state next[6];
  uint32_t words[6];
  sidbeam_constraint_set* set = make_two(NULL);
  CHECK_OK(sidbeam_constraint_set_advance(set, NULL, strange, 6, NULL, codes, 6, next, NULL, &err));
  CHECK_I64(next, ((const int64_t[]){-1, -1, -1, -1, -1, -1}), 6);
  CHECK_OK(sidbeam_constraint_set_bitmask(set, NULL, strange, 6, 1, words, NULL, &err));
  for (int i = 0; i < 6; ++i) CHECK_INT(words[i], 0);
  sidbeam_constraint_set_destroy(set);
}

static void masks_keep_valid_columns_alone(void) {
  float row[6][4], expected[6][4];
  static const int valid[6][4] = {{1, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 1, 0}};
  sidbeam_state states[6];
  sidbeam_constraint_set* set = make_two(NULL);
  states_of(set, states);
  for (int i = 0; i < 24; ++i) row[i / 4][i % 4] = (float)i;
  for (int i = 0; i < 24; ++i) expected[i / 4][i % 4] = valid[i / 4][i % 4] ? (float)i : -INFINITY;
  const sidbeam_rows rows = make_rows(&row[0][0], 0, 6, 4);
  CHECK_OK(sidbeam_constraint_set_mask(set, which, states, &rows, row, NULL, &err));
  CHECK_F32(&row[0][0], &expected[0][0], 24);
  sidbeam_constraint_set_destroy(set);
}

static void masks_are_written_in_the_rows_own_type(void) {
  for (int32_t dtype = SIDBEAM_DTYPE_F16; dtype <= SIDBEAM_DTYPE_BF16; ++dtype) {
    const uint16_t low = dtype == SIDBEAM_DTYPE_F16 ? 0xfc00 : 0xff80; /* -inf */
    uint16_t row[6] = {1, 2, 3, 4, 5, 6};
    const sidbeam_state root = 0;
    sidbeam_rows rows = make_rows(NULL, 0, 1, 6);
    sidbeam_constraint_set* set = make_two(NULL);
    rows.dtype = dtype;
    rows.data = row;
    CHECK_OK(sidbeam_constraint_set_mask(set, NULL, &root, &rows, row, NULL, &err));
    const uint16_t expected[6] = {1, low, 3, 4, low, low};
    CHECK(memcmp(row, expected, sizeof row) == 0);
    sidbeam_constraint_set_destroy(set);
  }
}

static void bitmasks_agree_with_masks_at_offsets(void) {
  static const int64_t offsets[3] = {30, 40, 50};
  sidbeam_state states[6];
  uint32_t words[12];
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = 3;
  vocabulary.offsets = offsets;
  sidbeam_constraint_set* set = make_two(&vocabulary);
  memset(&vocabulary, 0, sizeof vocabulary); /* it was copied */
  states_of(set, states);
  memset(words, 0xff, sizeof words);
  CHECK_OK(sidbeam_constraint_set_bitmask(set, which, states, 6, 2, words, NULL, &err));
  CHECK(words[0] == 1u << 30 && words[1] == 3);              /* 30 32 33 */
  CHECK(words[2] == 0 && words[3] == (1u << 9 | 1u << 11));  /* 41 43 */
  CHECK(words[4] == 0 && words[5] == (1u << 20 | 1u << 21)); /* 52 53 */
  CHECK(words[6] == 0 && words[7] == 0 && words[8] == 0 && words[9] == 0);
  CHECK(words[10] == 0 && words[11] == (1u << 8 | 1u << 10)); /* 40 42 */
  CHECK_FAILS(sidbeam_constraint_set_bitmask(set, which, states, 6, 1, words, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "words_per_row is 32, expected at least 34 for the codes of level 0 of constraint 0");
  sidbeam_constraint_set_destroy(set);
}

static void the_end_is_a_code_of_its_own_column(void) {
  static const int32_t prefix[6] = {0, 0, 0, 0, 0, 1}, length[3] = {0, 1, 2}, end[1] = {4}, none[1] = {-1};
  sidbeam_constraint* constraint = make_constraint(&small_variable, form);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  sidbeam_state states[3], ended = 0, kept = 0;
  uint32_t words[3];
  vocabulary.levels = 3;
  vocabulary.end_column = 20;
  sidbeam_constraint_set* set = make_set(&constraint, 1, &vocabulary);
  CHECK_OK(sidbeam_constraint_set_prefixes(set, NULL, prefix, 2, length, 3, states, NULL, &err));
  CHECK_OK(sidbeam_constraint_set_bitmask(set, NULL, states, 3, 1, words, NULL, &err));
  CHECK(words[0] == 0xd && words[1] == (2u | 1u << 20) && words[2] == (4u | 1u << 20));
  CHECK_OK(sidbeam_constraint_set_advance(set, NULL, states + 1, 1, NULL, end, 1, &ended, NULL, &err));
  CHECK(ended > 0);
  CHECK_OK(sidbeam_constraint_set_advance(set, NULL, &ended, 1, NULL, none, 1, &kept, NULL, &err));
  CHECK_INT(kept, ended);
  CHECK_OK(sidbeam_constraint_set_bitmask(set, NULL, &ended, 1, 1, words, NULL, &err));
  CHECK_INT(words[0], 0);
  sidbeam_constraint_set_destroy(set);
  sidbeam_constraint_release(constraint);
}

static void topk_gives_the_best_valid_codes_of_a_row(void) {
  sidbeam_state states[6], next[18], longer[1];
  int32_t codes[18];
  float log_probs[18];
  const float dead = -INFINITY;
  sidbeam_constraint_set* set = make_two(NULL);
  states_of(set, states);
  const sidbeam_rows rows = same_row(halving, 0, 6, 4);
  CHECK_OK(sidbeam_constraint_set_topk(set, which, states, &rows, SIDBEAM_NORMALIZE_NONE, 3, codes, log_probs, next,
                                       NULL, &err));
  CHECK_I32(codes, ((const int32_t[]){0, 2, 3, 1, 3, -1, 2, 3, -1, -1, -1, -1, -1, -1, -1, 0, 2, -1}), 18);
  CHECK_F32(log_probs,
            ((const float[]){-1, -4, -8, -2, -8, dead, -4, -8, dead, dead, dead, dead, dead, dead, dead, -1, -4, dead}),
            18);
  for (int i = 0; i < 18; ++i) CHECK((next[i] < 0) == (codes[i] < 0));
  CHECK_INT(next[0], states[1]);
  CHECK_OK(sidbeam_constraint_set_advance(set, NULL, states + 2, 1, NULL, codes + 6, 1, longer, NULL, &err));
  CHECK_INT(next[6], longer[0]);
  CHECK_OK(sidbeam_constraint_set_topk(set, which, states, &rows, SIDBEAM_NORMALIZE_NONE, 1, codes, log_probs, NULL,
                                       NULL, &err));
  CHECK_I32(codes, ((const int32_t[]){0, 1, 2, -1, -1, 0}), 6);
  sidbeam_constraint_set_destroy(set);
}

static void topk_marks_a_bad_row(void) {
  const float logits[2][4] = {{-1, NAN, -4, -8}, {-1, -2, -4, -8}};
  const sidbeam_state roots[2] = {0, 0};
  int32_t codes[4];
  float log_probs[4];
  sidbeam_constraint_set* set = make_two(NULL);
  const sidbeam_rows rows = make_rows(&logits[0][0], 0, 2, 4);
  CHECK_OK(sidbeam_constraint_set_topk(set, NULL, roots, &rows, SIDBEAM_NORMALIZE_FULL, 2, codes, log_probs, NULL, NULL,
                                       &err));
  CHECK_I32(codes, ((const int32_t[]){-1, -1, 0, 2}), 4);
  CHECK(isnan(log_probs[0]) && isinf(log_probs[1]) && log_probs[2] > log_probs[3] && log_probs[2] < 0);
  sidbeam_constraint_set_destroy(set);
}

static void arguments_are_checked(void) {
  sidbeam_state states[6], next[6];
  int32_t numbers[6] = {0, 0, 2, 0, 0, 0}, codes[6] = {0, 0, 0, 0, 0, 0};
  float log_probs[24], other[24];
  uint32_t words[6];
  sidbeam_rows rows = same_row(halving, 0, 6, 4);
  sidbeam_constraint_set* set = make_two(NULL);
  states_of(set, states);
#define REFUSED(call, ...) CHECK_FAILS(sidbeam_constraint_set_##call, SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__)
  REFUSED(prefixes(NULL, which, &prefixes[0][0], 2, lengths, 6, next, NULL, &err), "set is NULL");
  REFUSED(prefixes(set, numbers, &prefixes[0][0], 2, lengths, 6, next, NULL, &err), "which[2] is 2, expected 0..1");
  REFUSED(prefixes(set, which, NULL, 2, lengths, 6, next, NULL, &err), "codes is NULL, expected the codes of prefixes");
  REFUSED(prefixes(set, which, &prefixes[0][0], 2, NULL, 6, next, NULL, &err), "lengths is NULL");
  REFUSED(prefixes(set, which, &prefixes[0][0], 2, lengths, 6, NULL, NULL, &err), "out is NULL");
  REFUSED(prefixes(set, which, &prefixes[0][0], 2, lengths, -1, next, NULL, &err),
          "count is -1, expected 0..4294967296");
  numbers[2] = -1;
  REFUSED(advance(NULL, which, states, 6, NULL, codes, 6, next, NULL, &err), "set is NULL");
  REFUSED(advance(set, numbers, states, 6, NULL, codes, 6, next, NULL, &err), "which[2] is -1, expected 0..1");
  REFUSED(advance(set, which, NULL, 6, NULL, codes, 6, next, NULL, &err), "in is NULL");
  REFUSED(advance(set, which, states, 6, NULL, NULL, 6, next, NULL, &err), "codes is NULL");
  REFUSED(advance(set, which, states, 6, NULL, codes, 6, NULL, NULL, &err), "out is NULL");
  REFUSED(advance(set, which, states, 6, NULL, codes, -1, next, NULL, &err), "count is -1, expected 0..4294967296");
  REFUSED(advance(set, which, states, 5, NULL, codes, 6, next, NULL, &err), "in_count is 5, expected at least 6");
  REFUSED(mask(NULL, which, states, &rows, NULL, NULL, &err), "set is NULL");
  REFUSED(mask(set, which, NULL, &rows, (void*)(uintptr_t)rows.data, NULL, &err), "states is NULL");
  REFUSED(mask(set, which, states, NULL, NULL, NULL, &err), "logits is NULL");
  REFUSED(mask(set, which, states, &rows, other, NULL, &err), "data is not logits.data, expected the same address");
  REFUSED(mask(set, which, states, &rows, NULL, NULL, &err), "data is not logits.data, expected the same address");
  REFUSED(bitmask(NULL, which, states, 6, 1, words, NULL, &err), "set is NULL");
  REFUSED(bitmask(set, which, NULL, 6, 1, words, NULL, &err), "states is NULL");
  REFUSED(bitmask(set, which, states, 6, 1, NULL, NULL, &err), "words is NULL");
  REFUSED(bitmask(set, which, states, -1, 1, words, NULL, &err), "count is -1, expected 0..4294967296");
  REFUSED(bitmask(set, which, states, 6, -1, words, NULL, &err), "words_per_row is -1, expected 0..");
  REFUSED(bitmask(set, which, states, 6, 0, words, NULL, &err),
          "words_per_row is 0, expected at least 4 for the codes");
  REFUSED(topk(NULL, which, states, &rows, 0, 1, codes, log_probs, NULL, NULL, &err), "set is NULL");
  REFUSED(topk(set, which, states, &rows, 0, 0, codes, log_probs, NULL, NULL, &err), "k is 0, expected 1..16777216");
  REFUSED(topk(set, which, states, &rows, 0, SIDBEAM_MAX_CODES + 1, codes, log_probs, NULL, NULL, &err),
          "k is 16777217, expected 1..16777216");
  REFUSED(topk(set, which, states, &rows, 4, 1, codes, log_probs, NULL, NULL, &err),
          "normalization is 4, expected FULL");
  REFUSED(topk(set, which, states, &rows, 0, 1, NULL, log_probs, NULL, NULL, &err), "codes is NULL");
  REFUSED(topk(set, which, states, &rows, 0, 1, codes, NULL, NULL, NULL, &err), "log_probs is NULL");
  rows.columns = 3;
  REFUSED(topk(set, which, states, &rows, 0, 1, codes, log_probs, NULL, NULL, &err),
          "logits.columns is 3, expected at least 4 for the codes of level 0 of constraint 0");
  rows.columns = 4;
  rows.slots = 1;
  REFUSED(topk(set, which, states, &rows, 0, 1, codes, log_probs, NULL, NULL, &err), "logits.slots is 1, expected 0");
  rows.slots = 0;
  rows.dtype = 9;
  REFUSED(mask(set, which, states, &rows, (void*)(uintptr_t)rows.data, NULL, &err), "logits.dtype is 9, expected F32");
  rows.dtype = SIDBEAM_DTYPE_F32;
  rows.rows = -1;
  REFUSED(mask(set, which, states, &rows, (void*)(uintptr_t)rows.data, NULL, &err), "logits.rows is -1, expected 0..");
#undef REFUSED
  sidbeam_constraint_set_destroy(set);
}

/* The last entry is wrong; those before it stay as they were. */
static void an_error_has_written_nothing(void) {
  static const int32_t wrong[6] = {0, 0, 0, 0, 0, 2}, too_long[6] = {0, 1, 2, 1, 2, 3};
  sidbeam_state states[6], before[6], next[6] = {7, 7, 7, 7, 7, 7};
  int32_t codes[6] = {7, 7, 7, 7, 7, 7};
  float row[6][4], copy[6][4], log_probs[6] = {7, 7, 7, 7, 7, 7};
  uint32_t words[6] = {7, 7, 7, 7, 7, 7};
  sidbeam_constraint_set* set = make_two(NULL);
  states_of(set, states);
  memcpy(before, states, sizeof before);
  for (int i = 0; i < 24; ++i) row[i / 4][i % 4] = (float)i;
  memcpy(copy, row, sizeof copy);
  const sidbeam_rows rows = make_rows(&row[0][0], 0, 6, 4);
#define REFUSED(call, text) CHECK_FAILS(sidbeam_constraint_set_##call, SIDBEAM_INVALID_ARGUMENT, text)
  REFUSED(prefixes(set, wrong, &prefixes[0][0], 2, lengths, 6, next, NULL, &err), "which[5] is 2");
  REFUSED(prefixes(set, which, &prefixes[0][0], 2, too_long, 6, next, NULL, &err), "lengths[5] is 3, expected 0..2");
  REFUSED(advance(set, wrong, states, 6, NULL, codes, 6, states, NULL, &err), "which[5] is 2");
  REFUSED(mask(set, wrong, states, &rows, row, NULL, &err), "which[5] is 2");
  REFUSED(bitmask(set, wrong, states, 6, 1, words, NULL, &err), "which[5] is 2");
  REFUSED(topk(set, wrong, states, &rows, 0, 1, codes, log_probs, next, NULL, &err), "which[5] is 2");
#undef REFUSED
  for (int i = 0; i < 6; ++i) CHECK(next[i] == 7 && codes[i] == 7 && words[i] == 7 && log_probs[i] == 7);
  CHECK_I64(states, before, 6);
  CHECK_F32(&row[0][0], &copy[0][0], 24);
  sidbeam_constraint_set_destroy(set);
}

static void calls_of_no_entries_need_no_arrays(void) {
  sidbeam_constraint_set* set = make_two(NULL);
  float row[4] = {0};
  const sidbeam_rows rows = make_rows(row, 0, 0, 4);
  CHECK_OK(sidbeam_constraint_set_prefixes(set, NULL, NULL, 0, NULL, 0, NULL, NULL, &err));
  CHECK_OK(sidbeam_constraint_set_advance(set, NULL, NULL, 0, NULL, NULL, 0, NULL, NULL, &err));
  CHECK_OK(sidbeam_constraint_set_mask(set, NULL, NULL, &rows, row, NULL, &err));
  CHECK_OK(sidbeam_constraint_set_bitmask(set, NULL, NULL, 0, 1, NULL, NULL, &err));
  CHECK_OK(sidbeam_constraint_set_topk(set, NULL, NULL, &rows, 0, 1, NULL, NULL, NULL, NULL, &err));
  sidbeam_constraint_set_destroy(set);
}

static void sets_that_make_no_sense_are_refused(void) {
  sidbeam_constraint *variable = make_constraint(&small_variable, form), *two = make_constraint(&two_levels, form),
                     *sorted = make_constraint(&small, SIDBEAM_KIND_SORTED);
  sidbeam_constraint* constraints[2] = {two, NULL};
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint_set* set = NULL;
#define REFUSED(status, ...) \
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, &set, &err), status, __VA_ARGS__)
  CHECK_FAILS(sidbeam_constraint_set_create(NULL, &config, &set, &err), SIDBEAM_INVALID_ARGUMENT, "runtime is NULL");
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, NULL, &set, &err), SIDBEAM_INVALID_ARGUMENT, "config is NULL");
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  REFUSED(SIDBEAM_INVALID_ARGUMENT, "config.constraint_count is 0, expected 1..2147483647");
  config.constraint_count = (int64_t)1 << 31;
  REFUSED(SIDBEAM_INVALID_ARGUMENT, "config.constraint_count is 2147483648, expected 1..2147483647");
  config.constraint_count = 2;
  REFUSED(SIDBEAM_INVALID_ARGUMENT, "config.constraints is NULL");
  config.constraints = constraints;
  REFUSED(SIDBEAM_INVALID_ARGUMENT, "config.constraints[1] is NULL");
  constraints[1] = sorted;
  REFUSED(SIDBEAM_MISSING_SECTION,
          "config.constraints[1] lacks the trie sections, expected an index built with kinds trie (SIDBEAM_KIND_TRIE)");
  constraints[1] = variable;
  REFUSED(SIDBEAM_INVALID_ARGUMENT, "vocabulary.end_column is -1, expected a column, since ");
  config.vocabulary = &vocabulary;
  vocabulary.levels = 2;
  REFUSED(SIDBEAM_INVALID_ARGUMENT, "vocabulary.levels is 2, expected 3, the levels of the index");
  vocabulary.levels = 3;
  vocabulary.end_column = 4;
  config.device_type = 7;
  REFUSED(SIDBEAM_INVALID_ARGUMENT, "config.device_type is 7, expected CPU (0) or CUDA (1)");
  config.device_type = SIDBEAM_DEVICE_CPU;
  config.device_id = 1;
  REFUSED(SIDBEAM_NO_DEVICE, "config.device_id is 1, expected 0 for the CPU");
#undef REFUSED
  CHECK(set == NULL);
  config.device_id = 0;
  CHECK_OK(sidbeam_constraint_set_create(runtime, &config, &set, &err));
  sidbeam_constraint_set_destroy(set);
  sidbeam_constraint_set_destroy(NULL);
  sidbeam_constraint_release(variable);
  sidbeam_constraint_release(two);
  sidbeam_constraint_release(sorted);
  sidbeam_runtime_release(runtime);
}

int main(void) {
  static const test_case tests[] = {
      TEST(prefixes_become_states),
      TEST(advancing_is_the_same_as_a_longer_prefix),
      TEST(advancing_in_place_needs_no_parents),
      TEST(strange_states_are_dead),
      TEST(masks_keep_valid_columns_alone),
      TEST(masks_are_written_in_the_rows_own_type),
      TEST(bitmasks_agree_with_masks_at_offsets),
      TEST(the_end_is_a_code_of_its_own_column),
      TEST(topk_gives_the_best_valid_codes_of_a_row),
      TEST(topk_marks_a_bad_row),
      TEST(arguments_are_checked),
      TEST(an_error_has_written_nothing),
      TEST(calls_of_no_entries_need_no_arrays),
      TEST(sets_that_make_no_sense_are_refused),
  };
  const int failed = RUN_TESTS(tests);
  form = SIDBEAM_KIND_COMPACT_TRIE;
  return RUN_TESTS(tests) | failed;
}
