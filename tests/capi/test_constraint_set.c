/* The stateless forms: prefixes, advances, masks, bitmasks and the best codes of a row.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

typedef struct setting {
  sidbeam_constraint* table[2]; /* small; two_levels */
  sidbeam_vocabulary vocabulary;
} setting;

/* Every test is run with both forms of a trie. */
static int32_t form = SIDBEAM_KIND_TRIE;

static void prepare(setting* s) {
  s->table[0] = make_constraint(&small, form);
  s->table[1] = make_constraint(&two_levels, form);
  s->vocabulary = (sidbeam_vocabulary)SIDBEAM_VOCABULARY_INIT;
  s->vocabulary.levels = 3;
}

static void finish(setting* s) {
  sidbeam_constraint_release(s->table[0]);
  sidbeam_constraint_release(s->table[1]);
}

static const int32_t prefixes[6][2] = {{0, 0}, {0, 0}, {0, 1}, {1, 1}, {2, 9}, {1, 0}};
static const int32_t lengths[6] = {0, 1, 2, 1, 2, 1}, which[6] = {0, 0, 0, 0, 0, 1};

/* States of: the beginning, (0), (0,1), none, none, and (1) of the second table. */
static void states_of(const setting* s, sidbeam_state* states) {
  CHECK_OK(sidbeam_states_from_prefixes(s->table, 2, which, &prefixes[0][0], 2, lengths, 6, states, NULL, &err));
}

static void prefixes_become_states(void) {
  setting s;
  sidbeam_state states[6];
  prepare(&s);
  states_of(&s, states);
  CHECK_INT(states[0], 0);
  CHECK(states[1] > 0 && states[2] > 0 && states[1] != states[2]);
  CHECK_INT(states[3], -1);
  CHECK_INT(states[4], -1);
  CHECK(states[5] >= 0);
  finish(&s);
}

static void advancing_is_the_same_as_a_longer_prefix(void) {
  static const int64_t parents[4] = {0, 1, 1, 7};
  static const int32_t tokens[4] = {0, 1, 2, 0};
  setting s;
  sidbeam_state states[6], next[4];
  prepare(&s);
  states_of(&s, states);
  CHECK_OK(sidbeam_states_advance(s.table, 2, NULL, states, 6, parents, tokens, 4, next, NULL, &err));
  CHECK_INT(next[0], states[1]);
  CHECK_INT(next[1], states[2]);
  CHECK_INT(next[2], -1); /* (0,2) leads nowhere */
  CHECK_INT(next[3], -1); /* no such parent */
  finish(&s);
}

static void advancing_in_place_needs_no_parents(void) {
  static const int32_t tokens[6] = {0, 1, 2, 0, 0, 2}, after[6] = {-1, 4, -5, 99, INT32_MAX, INT32_MIN};
  setting s;
  sidbeam_state states[6], expected[2];
  prepare(&s);
  states_of(&s, states);
  memcpy(expected, states + 1, sizeof expected);
  CHECK_OK(sidbeam_states_advance(s.table, 2, which, states, 6, NULL, tokens, 6, states, NULL, &err));
  CHECK_I64(states, expected, 2);
  CHECK(states[2] > 0 && states[5] > 0); /* whole SIDs */
  CHECK_INT(states[3], -1);
  CHECK_OK(sidbeam_states_advance(s.table, 2, which, states, 6, NULL, after, 6, states, NULL, &err));
  CHECK_I64(states, ((const int64_t[]){-1, -1, -1, -1, -1, -1}), 6);
  finish(&s);
}

static void strange_states_are_dead(void) {
  static const sidbeam_state strange[6] = {INT64_MAX, INT64_MIN, 1LL << 48, 1LL << 52, 1LL << 55, 999999};
  static const int32_t tokens[6] = {0, 0, 0, 0, 0, 0};
  setting s;
  sidbeam_state next[6];
  uint32_t words[6];
  prepare(&s);
  CHECK_OK(sidbeam_states_advance(s.table, 1, NULL, strange, 6, NULL, tokens, 6, next, NULL, &err));
  CHECK_I64(next, ((const int64_t[]){-1, -1, -1, -1, -1, -1}), 6);
  CHECK_OK(sidbeam_rows_bitmask(s.table, 1, NULL, &s.vocabulary, strange, 6, words, 1, NULL, &err));
  for (int i = 0; i < 6; ++i) CHECK_INT(words[i], 0);
  finish(&s);
}

static void masks_keep_valid_columns_alone(void) {
  float row[6][4], expected[6][4];
  static const int valid[6][4] = {{1, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 1, 0}};
  setting s;
  sidbeam_state states[6];
  prepare(&s);
  states_of(&s, states);
  for (int i = 0; i < 24; ++i) row[i / 4][i % 4] = (float)i;
  for (int i = 0; i < 24; ++i) expected[i / 4][i % 4] = valid[i / 4][i % 4] ? (float)i : -INFINITY;
  const sidbeam_rows rows = make_rows(&row[0][0], 0, 6, 4);
  CHECK_OK(sidbeam_rows_mask(s.table, 2, which, &s.vocabulary, states, &rows, NULL, &err));
  CHECK_F32(&row[0][0], &expected[0][0], 24);
  finish(&s);
}

static void masks_are_written_in_the_rows_own_type(void) {
  for (int32_t dtype = SIDBEAM_DTYPE_F16; dtype <= SIDBEAM_DTYPE_BF16; ++dtype) {
    const uint16_t low = dtype == SIDBEAM_DTYPE_F16 ? 0xfc00 : 0xff80; /* -inf */
    uint16_t row[6] = {1, 2, 3, 4, 5, 6};
    const sidbeam_state root = 0;
    sidbeam_rows rows = make_rows(NULL, 0, 1, 6);
    setting s;
    prepare(&s);
    rows.dtype = dtype;
    rows.data = row;
    CHECK_OK(sidbeam_rows_mask(s.table, 1, NULL, &s.vocabulary, &root, &rows, NULL, &err));
    const uint16_t expected[6] = {1, low, 3, 4, low, low};
    CHECK(memcmp(row, expected, sizeof row) == 0);
    finish(&s);
  }
}

static void bitmasks_agree_with_masks_at_offsets(void) {
  static const int64_t offsets[3] = {30, 40, 50};
  setting s;
  sidbeam_state states[6];
  uint32_t words[12];
  prepare(&s);
  states_of(&s, states);
  memset(words, 0xff, sizeof words);
  s.vocabulary.offsets = offsets;
  CHECK_OK(sidbeam_rows_bitmask(s.table, 2, which, &s.vocabulary, states, 6, words, 2, NULL, &err));
  CHECK(words[0] == 1u << 30 && words[1] == 3);              /* 30 32 33 */
  CHECK(words[2] == 0 && words[3] == (1u << 9 | 1u << 11));  /* 41 43 */
  CHECK(words[4] == 0 && words[5] == (1u << 20 | 1u << 21)); /* 52 53 */
  CHECK(words[6] == 0 && words[7] == 0 && words[8] == 0 && words[9] == 0);
  CHECK(words[10] == 0 && words[11] == (1u << 8 | 1u << 10)); /* 40 42 */
  CHECK_FAILS(sidbeam_rows_bitmask(s.table, 2, which, &s.vocabulary, states, 6, words, 1, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "words_per_row is 32", "at least 34");
  finish(&s);
}

static void the_end_is_a_code_of_its_own_column(void) {
  static const int32_t prefix[6] = {0, 0, 0, 0, 0, 1}, length[3] = {0, 1, 2}, end[1] = {4}, none[1] = {-1};
  sidbeam_constraint* constraint = make_constraint(&small_variable, form);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  sidbeam_state states[3], ended = 0, kept = 0;
  uint32_t words[3];
  vocabulary.levels = 3;
  vocabulary.end_column = 20;
  CHECK_OK(sidbeam_states_from_prefixes(&constraint, 1, NULL, prefix, 2, length, 3, states, NULL, &err));
  CHECK_OK(sidbeam_rows_bitmask(&constraint, 1, NULL, &vocabulary, states, 3, words, 1, NULL, &err));
  CHECK(words[0] == 0xd && words[1] == (2u | 1u << 20) && words[2] == (4u | 1u << 20));
  CHECK_OK(sidbeam_states_advance(&constraint, 1, NULL, states + 1, 1, NULL, end, 1, &ended, NULL, &err));
  CHECK(ended > 0);
  CHECK_OK(sidbeam_states_advance(&constraint, 1, NULL, &ended, 1, NULL, none, 1, &kept, NULL, &err));
  CHECK_INT(kept, ended);
  CHECK_OK(sidbeam_rows_bitmask(&constraint, 1, NULL, &vocabulary, &ended, 1, words, 1, NULL, &err));
  CHECK_INT(words[0], 0);
  vocabulary.end_column = -1;
  CHECK_FAILS(sidbeam_rows_bitmask(&constraint, 1, NULL, &vocabulary, states, 3, words, 1, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "end_column", "-1");
  sidbeam_constraint_release(constraint);
}

static void topk_gives_the_best_valid_codes_of_a_row(void) {
  setting s;
  sidbeam_state states[6], next[18], longer[1];
  int32_t tokens[18];
  float log_probs[18];
  const float dead = -INFINITY;
  prepare(&s);
  states_of(&s, states);
  const sidbeam_rows rows = same_row(halving, 0, 6, 4);
  CHECK_OK(sidbeam_rows_topk(s.table, 2, which, &s.vocabulary, states, &rows, SIDBEAM_NORMALIZE_NONE, 3, tokens,
                             log_probs, next, NULL, &err));
  CHECK_I32(tokens, ((const int32_t[]){0, 2, 3, 1, 3, -1, 2, 3, -1, -1, -1, -1, -1, -1, -1, 0, 2, -1}), 18);
  CHECK_F32(log_probs,
            ((const float[]){-1, -4, -8, -2, -8, dead, -4, -8, dead, dead, dead, dead, dead, dead, dead, -1, -4, dead}),
            18);
  for (int i = 0; i < 18; ++i) CHECK((next[i] < 0) == (tokens[i] < 0));
  CHECK_INT(next[0], states[1]);
  CHECK_OK(sidbeam_states_advance(s.table, 1, NULL, states + 2, 1, NULL, tokens + 6, 1, longer, NULL, &err));
  CHECK_INT(next[6], longer[0]);
  CHECK_OK(sidbeam_rows_topk(s.table, 2, which, &s.vocabulary, states, &rows, SIDBEAM_NORMALIZE_NONE, 1, tokens,
                             log_probs, NULL, NULL, &err));
  CHECK_I32(tokens, ((const int32_t[]){0, 1, 2, -1, -1, 0}), 6);
  finish(&s);
}

static void topk_marks_a_bad_row(void) {
  const float logits[2][4] = {{-1, NAN, -4, -8}, {-1, -2, -4, -8}};
  const sidbeam_state roots[2] = {0, 0};
  setting s;
  int32_t tokens[4];
  float log_probs[4];
  prepare(&s);
  const sidbeam_rows rows = make_rows(&logits[0][0], 0, 2, 4);
  CHECK_OK(sidbeam_rows_topk(s.table, 1, NULL, &s.vocabulary, roots, &rows, SIDBEAM_NORMALIZE_FULL, 2, tokens,
                             log_probs, NULL, NULL, &err));
  CHECK_I32(tokens, ((const int32_t[]){-1, -1, 0, 2}), 4);
  CHECK(isnan(log_probs[0]) && isinf(log_probs[1]) && log_probs[2] > log_probs[3] && log_probs[2] < 0);
  finish(&s);
}

static void arguments_are_checked(void) {
  setting s;
  sidbeam_state states[6], next[6];
  int32_t numbers[6] = {0, 0, 2, 0, 0, 0}, tokens[6] = {0, 0, 0, 0, 0, 0};
  float log_probs[24];
  uint32_t words[6];
  sidbeam_constraint* hole[2] = {NULL, NULL};
  sidbeam_rows rows = same_row(halving, 0, 6, 4);
  prepare(&s);
  states_of(&s, states);
#define REFUSED(call, ...) CHECK_FAILS(call, SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__)
  REFUSED(sidbeam_states_from_prefixes(NULL, 2, which, &prefixes[0][0], 2, lengths, 6, next, NULL, &err), "constraints",
          "NULL");
  REFUSED(sidbeam_states_from_prefixes(hole, 2, which, &prefixes[0][0], 2, lengths, 6, next, NULL, &err),
          "constraints[0]", "NULL");
  REFUSED(sidbeam_states_from_prefixes(s.table, 0, which, &prefixes[0][0], 2, lengths, 6, next, NULL, &err),
          "constraint_count", "0");
  REFUSED(sidbeam_states_from_prefixes(s.table, 2, numbers, &prefixes[0][0], 2, lengths, 6, next, NULL, &err),
          "which[2]", "2");
  REFUSED(sidbeam_states_from_prefixes(s.table, 2, which, NULL, 2, lengths, 6, next, NULL, &err), "codes", "NULL");
  REFUSED(sidbeam_states_from_prefixes(s.table, 2, which, &prefixes[0][0], 2, NULL, 6, next, NULL, &err), "lengths",
          "NULL");
  REFUSED(sidbeam_states_from_prefixes(s.table, 2, which, &prefixes[0][0], 2, lengths, 6, NULL, NULL, &err), "out",
          "NULL");
  REFUSED(sidbeam_states_from_prefixes(s.table, 2, which, &prefixes[0][0], 2, lengths, -1, next, NULL, &err), "count",
          "-1");
  numbers[2] = -1;
  REFUSED(sidbeam_states_advance(s.table, 2, numbers, states, 6, NULL, tokens, 6, next, NULL, &err), "which[2]", "-1");
  REFUSED(sidbeam_states_advance(s.table, 2, which, NULL, 6, NULL, tokens, 6, next, NULL, &err), "in", "NULL");
  REFUSED(sidbeam_states_advance(s.table, 2, which, states, 6, NULL, NULL, 6, next, NULL, &err), "tokens", "NULL");
  REFUSED(sidbeam_states_advance(s.table, 2, which, states, 5, NULL, tokens, 6, next, NULL, &err), "in_count", "5",
          "6");
  REFUSED(sidbeam_rows_mask(s.table, 2, which, &s.vocabulary, NULL, &rows, NULL, &err), "states", "NULL");
  REFUSED(sidbeam_rows_mask(s.table, 2, which, &s.vocabulary, states, NULL, NULL, &err), "logits", "NULL");
  REFUSED(sidbeam_rows_bitmask(s.table, 2, which, &s.vocabulary, states, 6, NULL, 1, NULL, &err), "words", "NULL");
  REFUSED(sidbeam_rows_bitmask(s.table, 2, which, &s.vocabulary, states, 6, words, -1, NULL, &err), "words_per_row",
          "-1");
  REFUSED(sidbeam_rows_topk(s.table, 2, which, &s.vocabulary, states, &rows, 0, 0, tokens, log_probs, NULL, NULL, &err),
          "k", "0");
  REFUSED(sidbeam_rows_topk(s.table, 2, which, &s.vocabulary, states, &rows, 4, 1, tokens, log_probs, NULL, NULL, &err),
          "normalization", "4");
  REFUSED(sidbeam_rows_topk(s.table, 2, which, &s.vocabulary, states, &rows, 0, 1, NULL, log_probs, NULL, NULL, &err),
          "tokens", "NULL");
  REFUSED(sidbeam_rows_topk(s.table, 2, which, &s.vocabulary, states, &rows, 0, 1, tokens, NULL, NULL, NULL, &err),
          "log_probs", "NULL");
  rows.columns = 3;
  REFUSED(sidbeam_rows_topk(s.table, 2, which, &s.vocabulary, states, &rows, 0, 1, tokens, log_probs, NULL, NULL, &err),
          "columns", "3", "4");
  rows.columns = 4;
  rows.slots = 1;
  REFUSED(sidbeam_rows_topk(s.table, 2, which, &s.vocabulary, states, &rows, 0, 1, tokens, log_probs, NULL, NULL, &err),
          "slots", "1");
  rows.slots = 0;
  rows.dtype = 9;
  REFUSED(sidbeam_rows_mask(s.table, 2, which, &s.vocabulary, states, &rows, NULL, &err), "dtype", "9");
  s.vocabulary.levels = 2;
  rows.dtype = 0;
  REFUSED(sidbeam_rows_topk(s.table, 2, which, &s.vocabulary, states, &rows, 0, 1, tokens, log_probs, NULL, NULL, &err),
          "vocabulary", "levels", "2");
#undef REFUSED
  finish(&s);
}

static void rows_are_checked_before_they_are_used(void) {
  setting s;
  sidbeam_state states[6];
  float row[4] = {0};
  sidbeam_rows rows = make_rows(row, 0, 1, 4);
  prepare(&s);
  states_of(&s, states);
  rows.struct_size = 4;
  rows.rows = INT64_MAX;
  CHECK_FAILS(sidbeam_rows_mask(s.table, 2, which, &s.vocabulary, states, &rows, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "logits.struct_size is 4");
  rows.struct_size = (uint32_t)sizeof rows;
  rows.rows = -1;
  CHECK_FAILS(sidbeam_rows_mask(s.table, 2, which, &s.vocabulary, states, &rows, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "logits.rows is -1");
  finish(&s);
}

static void they_need_a_trie(void) {
  sidbeam_constraint* sorted = make_constraint(&small, SIDBEAM_KIND_SORTED);
  sidbeam_state state = 0;
  CHECK_FAILS(sidbeam_states_from_prefixes(&sorted, 1, NULL, &prefixes[0][0], 2, lengths, 1, &state, NULL, &err),
              SIDBEAM_MISSING_SECTION, "trie");
  sidbeam_constraint_release(sorted);
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
      TEST(rows_are_checked_before_they_are_used),
      TEST(they_need_a_trie),
  };
  const int failed = RUN_TESTS(tests);
  form = SIDBEAM_KIND_COMPACT_TRIE;
  return RUN_TESTS(tests) | failed;
}
