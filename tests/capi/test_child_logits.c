/* A step that is given the logits of the children alone, in the order in which sidbeam_session_children() names their
 * columns, does what it does with whole rows. SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

enum { SLOTS = 2, BEAMS = 4, COLUMNS = 9, ROWS = SLOTS * BEAMS, MOST = ROWS * COLUMNS };

typedef struct variant {
  const catalogue* of;
  const sidbeam_vocabulary* vocabulary;
  int32_t normalization, lse_given, dtype;
  float inverse_temperature, soft_cap; /* 0: as the logits are, which has paths of its own */
} variant;

/* Multiples of 1/4, which 16 bits hold; different for every beam and level. */
static float logit(int level, int row, int column) { return (float)((level * 7 + row * 5 + column * 11) % 13) / 4 - 1; }

static void put(const variant* of, void* to, int64_t at, float value) {
  if (of->dtype == SIDBEAM_DTYPE_F32) {
    ((float*)to)[at] = value;
    return;
  }
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  ((uint16_t*)to)[at] = (uint16_t)(bits >> 16);
}

static sidbeam_step_args with_settings(const variant* of, const sidbeam_rows* rows, const float* lse) {
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = rows;
  args.lse = lse;
  args.inverse_temperature = of->inverse_temperature;
  args.soft_cap = of->soft_cap;
  return args;
}

static void step_by_rows(const variant* of, sidbeam_session* session, int level, const float* lse) {
  static float elements[MOST];
  for (int at = 0; at < MOST; ++at) put(of, elements, at, logit(level, at / COLUMNS, at % COLUMNS));
  const sidbeam_rows rows = sidbeam_rows_dense(elements, of->dtype, SLOTS, BEAMS, COLUMNS);
  const sidbeam_step_args args = with_settings(of, &rows, lse);
  CHECK_OK(sidbeam_session_step(session, &args, &err));
}

static void step_by_children(const variant* of, sidbeam_session* session, int level, const float* lse) {
  static float elements[MOST];
  int64_t offsets[ROWS + 1];
  int32_t columns[MOST];
  CHECK_OK(sidbeam_session_children(session, NULL, 0, of->lse_given, MOST, offsets, columns, NULL, &err));
  for (int row = 0; row < ROWS; ++row)
    for (int64_t at = offsets[row]; at < offsets[row + 1]; ++at) put(of, elements, at, logit(level, row, columns[at]));
  const sidbeam_rows rows = sidbeam_rows_dense(elements, of->dtype, 0, 1, offsets[ROWS]);
  sidbeam_step_args args = with_settings(of, &rows, lse);
  args.child_offsets = offsets;
  CHECK_OK(sidbeam_session_step(session, &args, &err));
}

static sidbeam_session_config config_of(const variant* of, sidbeam_constraint* constraint) {
  sidbeam_session_config config = session_config(constraint);
  config.slots = SLOTS;
  config.beams = BEAMS;
  config.normalization = of->normalization;
  config.vocabulary = of->vocabulary;
  return config;
}

static void check_variant(const variant* of) {
  static const float lse[ROWS] = {2, 3, 1, 2.5f, 4, 2, 3, 1};
  sidbeam_constraint* constraint = make_constraint(of->of, SIDBEAM_KIND_TRIE);
  const sidbeam_session_config config = config_of(of, constraint);
  sidbeam_session *by_rows = make_session(&config), *by_children = make_session(&config);
  sidbeam_constraint_release(constraint);
  start_all(by_rows);
  start_all(by_children);
  CHECK_OK(sidbeam_session_stop(by_rows, (const int32_t[]){0}, 1, NULL, &err)); /* an idle slot has no children */
  CHECK_OK(sidbeam_session_stop(by_children, (const int32_t[]){0}, 1, NULL, &err));
  for (int level = 0; level < of->of->levels; ++level) {
    step_by_rows(of, by_rows, level, of->lse_given ? lse : NULL);
    step_by_children(of, by_children, level, of->lse_given ? lse : NULL);
    const session_view expected = view_of(by_rows), found = view_of(by_children);
    CHECK(level > 0 || expected.live[1] > 0);
    CHECK_INT(expected.errors[1], 0);
    CHECK(memcmp(&found, &expected, sizeof found) == 0);
    if (expected.active[1] == 0) break;
  }
  sidbeam_session_destroy(by_rows);
  sidbeam_session_destroy(by_children);
}

/* Of two_levels, whose SIDs have the codes 1 and 3 at level 0. */
static const int32_t first_map[4] = {-1, 5, -1, 2}, second_map[3] = {3, 1, 4};
static const int32_t* const maps[2] = {first_map, second_map};
static const int64_t map_codes[2] = {4, 3};

static void does_what_whole_rows_do(void) {
  static const int64_t offsets[3] = {1, 2, 5};
  sidbeam_vocabulary holes = SIDBEAM_VOCABULARY_INIT, shifted = SIDBEAM_VOCABULARY_INIT;
  holes.levels = 2, holes.maps = maps, holes.map_codes = map_codes;
  shifted.levels = 3, shifted.offsets = offsets, shifted.end_column = 0;
  const catalogue* catalogues[] = {&small, &small_variable, &two_levels};
  const sidbeam_vocabulary* vocabularies[] = {NULL, &shifted, &holes};
  const int32_t normalizations[] = {SIDBEAM_NORMALIZE_VALID, SIDBEAM_NORMALIZE_VALID, SIDBEAM_NORMALIZE_NONE,
                                    SIDBEAM_NORMALIZE_LEVEL, SIDBEAM_NORMALIZE_FULL};
  const int32_t lse_given[] = {0, 1, 0, 1, 1};
  for (size_t c = 0; c < COUNT(catalogues); ++c) {
    for (size_t n = 0; n < COUNT(normalizations); ++n) {
      variant of = {catalogues[c], vocabularies[c], normalizations[n], lse_given[n], SIDBEAM_DTYPE_F32, 0, 0};
      check_variant(&of);
      of.inverse_temperature = 0.5f;
      of.soft_cap = 8;
      of.dtype = SIDBEAM_DTYPE_BF16;
      check_variant(&of);
    }
  }
}

typedef struct setting {
  sidbeam_session* session;
  sidbeam_rows rows;
  sidbeam_step_args args;
  int64_t offsets[ROWS + 1];
} setting;

/* At level 0 each of the two slots has the children 0, 2, 3. */
static void prepare(setting* s, int32_t normalization) {
  static const float logits[6] = {0, 1, 2, 3, 4, 5};
  const variant of = {&small, NULL, normalization, 0, SIDBEAM_DTYPE_F32, 0, 0};
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  const sidbeam_session_config config = config_of(&of, constraint);
  s->session = make_session(&config);
  sidbeam_constraint_release(constraint);
  start_all(s->session);
  for (int i = 0; i <= ROWS; ++i) s->offsets[i] = i == 0 ? 0 : i <= BEAMS ? 3 : 6;
  s->rows = make_rows(logits, 0, 1, 6);
  s->args = with_settings(&of, &s->rows, NULL);
  s->args.child_offsets = s->offsets;
}

#define REFUSED(s, status, ...) CHECK_FAILS(sidbeam_session_step((s)->session, &(s)->args, &err), status, __VA_ARGS__)

static void lists_that_cannot_be_are_refused_and_move_nothing(void) {
  static const int32_t map[ROWS] = {0};
  setting s;
  prepare(&s, SIDBEAM_NORMALIZE_VALID);
  s.args.row_map = map;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "row_map is given, expected NULL beside child_offsets");
  s.args.row_map = NULL;
  s.rows.slots = SLOTS;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.slots and rows.rows are 2 and 1, expected 0 and 1 with child_offsets");
  s.rows.slots = 0;
  s.rows.columns = 5;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "child_offsets[5] is 6, expected 3..5");
  s.rows.columns = 6;
  s.offsets[0] = -1;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "child_offsets[0] is -1, expected 0..6");
  s.offsets[0] = 0;
  s.offsets[3] = 2;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "child_offsets[3] is 2, expected 3..6");
  CHECK_INT(beams_of(s.session).level[0], 0);
  sidbeam_session_destroy(s.session);
  prepare(&s, SIDBEAM_NORMALIZE_FULL);
  REFUSED(&s, SIDBEAM_UNSUPPORTED, "the session's normalization is 0, expected lse_given");
  sidbeam_session_destroy(s.session);
}

static void another_number_of_logits_than_children_is_a_bad_row(void) {
  for (int64_t given = 2; given <= 4; ++given) {
    setting s;
    prepare(&s, SIDBEAM_NORMALIZE_VALID);
    for (int i = 1; i <= BEAMS; ++i) s.offsets[i] = given; /* of slot 0; slot 1 has 3 where it has 3 */
    s.offsets[0] = 0;
    for (int i = BEAMS + 1; i <= ROWS; ++i) s.offsets[i] = given + 3 <= 6 ? given + 3 : 6;
    CHECK_OK(sidbeam_session_step(s.session, &s.args, &err));
    const sidbeam_beams found = beams_of(s.session);
    CHECK_INT(found.errors[0], given == 3 ? 0 : SIDBEAM_SLOT_BAD_ROW);
    CHECK_INT(found.live[0], given == 3 ? 3 : 0);
    CHECK_INT(found.errors[1], given == 4 ? SIDBEAM_SLOT_BAD_ROW : 0);
    sidbeam_session_destroy(s.session);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(does_what_whole_rows_do),
      TEST(lists_that_cannot_be_are_refused_and_move_nothing),
      TEST(another_number_of_logits_than_children_is_a_bad_row),
  };
  return RUN_TESTS(tests);
}
