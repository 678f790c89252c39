/* A step's arguments: every refusal by code and words, after which no slot has moved.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

/* The beginning of every case: two slots of four beams on the small catalogue, both stepped once, and correct arguments
 * for a second step. */
typedef struct setting {
  sidbeam_session* session;
  sidbeam_rows rows;
  sidbeam_step_args args;
} setting;

static void prepare(setting* s, int32_t normalization) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(constraint);
  config.slots = 2;
  config.normalization = normalization;
  s->session = make_session(&config);
  sidbeam_constraint_release(constraint);
  start_all(s->session);
  step_all(s->session, halving);
  s->rows = same_row(halving, 2, 4, 4);
  s->args = (sidbeam_step_args)SIDBEAM_STEP_ARGS_INIT;
  s->args.rows = &s->rows;
}

/* The step is refused and no beam, score, level or flag has changed. */
static void check_refused(setting* s, int line, sidbeam_status status, const char* const* texts) {
  const sidbeam_beams beams = beams_of(s->session);
  int32_t parents[8], codes[8], level[2];
  float scores[8];
  memcpy(parents, beams.parents, sizeof parents);
  memcpy(codes, beams.codes, sizeof codes);
  memcpy(level, beams.level, sizeof level);
  memcpy(scores, beams.scores, sizeof scores);
  clear_error();
  check_failure(__FILE__, line, "step", sidbeam_session_step(s->session, &s->args, &err), status, texts);
  CHECK_I32(beams.parents, parents, 8);
  CHECK_I32(beams.codes, codes, 8);
  CHECK_I32(beams.level, level, 2);
  CHECK_F32(beams.scores, scores, 8);
}

#define REFUSED(s, status, ...)                      \
  do {                                               \
    const char* const texts[] = {__VA_ARGS__, NULL}; \
    check_refused(s, __LINE__, status, texts);       \
  } while (0)

static void wrong_shapes_are_refused(void) {
  setting s;
  prepare(&s, SIDBEAM_NORMALIZE_NONE);
  s.rows.slots = 1;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.slots is 1, expected 2, the slots of the call");
  s.rows.slots = 3;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.slots is 3, expected 2, the slots of the call");
  s.rows.slots = -1;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.slots is -1, expected 0..4294967296");
  s.rows.slots = 2;
  s.rows.rows = 2; /* three beams are live */
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.rows is 2, expected at least 3, the live beams of slot 0");
  s.rows.rows = -4;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.rows is -4, expected 0..4294967296");
  s.rows.rows = 4;
  s.rows.columns = 3;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.columns is 3, expected at least 4 for the codes of level 1");
  s.rows.columns = -1;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.columns is -1, expected 0..");
  sidbeam_session_destroy(s.session);
}

static void columns_must_reach_the_last_code_at_its_offset(void) {
  static const int64_t offsets[3] = {1, 5, 9};
  static const float row[13] = {0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  sidbeam_session_config config = session_config(constraint);
  setting s;
  prepare(&s, SIDBEAM_NORMALIZE_NONE);
  sidbeam_session_destroy(s.session);
  vocabulary.levels = 3;
  vocabulary.offsets = offsets;
  config.vocabulary = &vocabulary;
  config.slots = 2;
  s.session = make_session(&config);
  start_all(s.session);
  s.rows = same_row(row, 2, 4, 4);
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.columns is 4, expected at least 5 for the codes of level 0");
  s.rows.columns = 13;
  CHECK_OK(sidbeam_session_step(s.session, &s.args, &err));
  s.rows.columns = 8;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.columns is 8, expected at least 9 for the codes of level 1");
  sidbeam_session_destroy(s.session);
  sidbeam_constraint_release(constraint);
}

static void unknown_dtypes_and_devices_are_refused(void) {
  setting s;
  prepare(&s, SIDBEAM_NORMALIZE_NONE);
  s.rows.dtype = 3;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.dtype is 3, expected F32 (0), F16 (1) or BF16 (2)");
  s.rows.dtype = -1;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.dtype is -1, expected F32 (0)");
  s.rows.dtype = SIDBEAM_DTYPE_F32;
  s.rows.device_type = SIDBEAM_DEVICE_CUDA;
  REFUSED(&s, SIDBEAM_NO_DEVICE, "rows.device_type is 1, expected CPU (0)");
  s.rows.device_type = 5;
  REFUSED(&s, SIDBEAM_NO_DEVICE, "rows.device_type is 5, expected CPU (0)");
  sidbeam_session_destroy(s.session);
}

static void data_must_be_there_and_aligned_to_an_element(void) {
  static float storage[16];
  setting s;
  prepare(&s, SIDBEAM_NORMALIZE_NONE);
  s.rows.data = NULL;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.data is NULL, expected logits");
  s.rows.data = (char*)storage + 2;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.data is not aligned to its elements of 4 bytes");
  s.rows.dtype = SIDBEAM_DTYPE_F16;
  s.rows.data = (char*)storage + 1;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.data is not aligned to its elements of 2 bytes");
  s.rows.data = (char*)storage + 2;
  CHECK_OK(sidbeam_session_step(s.session, &s.args, &err));
  sidbeam_session_destroy(s.session);
}

static void slots_must_be_in_range_and_different(void) {
  setting s;
  int32_t slots[2] = {1, 2};
  prepare(&s, SIDBEAM_NORMALIZE_NONE);
  s.args.slots = slots;
  s.args.count = 2;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "slots[1] is 2, expected 0..1");
  slots[1] = -1;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "slots[1] is -1, expected 0..1");
  slots[1] = 1;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "slots[1] is 1, which is named before");
  s.args.count = -1;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "count is -1, expected 0..2");
  sidbeam_session_destroy(s.session);
}

static void idle_and_finished_slots_cannot_be_named(void) {
  static const int32_t both[2] = {0, 1}, second[1] = {1};
  setting s;
  prepare(&s, SIDBEAM_NORMALIZE_NONE);
  s.args.slots = both;
  s.args.count = 2;
  CHECK_OK(sidbeam_session_stop(s.session, second, 1, NULL, &err));
  REFUSED(&s, SIDBEAM_BAD_STATE, "slots[1] is 1, which is not started");
  s.args.slots = NULL;
  s.args.count = 0;
  CHECK_OK(sidbeam_session_step(s.session, &s.args, &err)); /* passed over where none is named */
  CHECK_INT(beams_of(s.session).level[0], 2);
  CHECK_OK(sidbeam_session_step(s.session, &s.args, &err)); /* slot 0 has nothing left */
  CHECK_INT(beams_of(s.session).active[0], 0);
  REFUSED(&s, SIDBEAM_BAD_STATE, "every slot that was started is done");
  CHECK_INT(beams_of(s.session).level[0], 3);
  CHECK_OK(sidbeam_session_stop(s.session, NULL, 0, NULL, &err));
  REFUSED(&s, SIDBEAM_BAD_STATE, "no slot is started, expected one to step");
  start_all(s.session);
  CHECK_OK(sidbeam_session_step(s.session, &s.args, &err));
  CHECK_INT(beams_of(s.session).level[0], 1);
  step_all(s.session, halving);
  step_all(s.session, halving);
  s.args.slots = both;
  s.args.count = 1;
  s.rows.slots = 1;
  REFUSED(&s, SIDBEAM_BAD_STATE, "slots[0] is 0, which is done: start it again");
  sidbeam_session_destroy(s.session);
}

static void row_maps_are_checked(void) {
  int32_t map[8] = {0, 1, 2, -1, 3, 4, 5, -1};
  setting s;
  prepare(&s, SIDBEAM_NORMALIZE_NONE);
  s.args.row_map = map;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.slots is 2, expected 0 with a row_map");
  s.rows.slots = 0;
  s.rows.rows = 5;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "row_map[1][2] is 5, expected 0..4");
  map[6] = -2;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "row_map[1][2] is -2, expected 0..4");
  map[6] = -1;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "row_map[1][2] is -1, expected 0..4, since that beam of slot 1 must be fed");
  s.args.row_map = NULL;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "rows.slots is 0, expected 2, the slots of the call (or 0 and a row_map)");
  s.args.row_map = map;
  map[6] = 0;
  map[7] = 1; /* a dead beam may have a row; it is not read */
  CHECK_OK(sidbeam_session_step(s.session, &s.args, &err));
  sidbeam_session_destroy(s.session);
}

static void lse_makes_no_sense_with_log_probabilities(void) {
  static const float lse[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  setting s;
  prepare(&s, SIDBEAM_NORMALIZE_NONE);
  s.args.lse = lse;
  REFUSED(&s, SIDBEAM_INVALID_ARGUMENT, "lse is given, expected NULL with NORMALIZE_NONE");
  sidbeam_session_destroy(s.session);
  prepare(&s, SIDBEAM_NORMALIZE_FULL);
  s.args.lse = lse;
  CHECK_OK(sidbeam_session_step(s.session, &s.args, &err));
  sidbeam_session_destroy(s.session);
}

static void a_step_of_no_slots_is_refused(void) {
  static const int32_t none[1] = {0};
  setting s;
  prepare(&s, SIDBEAM_NORMALIZE_NONE);
  s.args.slots = none;
  s.args.count = 0;
  s.rows.slots = 0;
  s.rows.rows = 0;
  REFUSED(&s, SIDBEAM_BAD_STATE, "count is 0, expected at least one slot to step");
  sidbeam_session_destroy(s.session);
}

int main(void) {
  static const test_case tests[] = {
      TEST(wrong_shapes_are_refused),
      TEST(columns_must_reach_the_last_code_at_its_offset),
      TEST(unknown_dtypes_and_devices_are_refused),
      TEST(data_must_be_there_and_aligned_to_an_element),
      TEST(slots_must_be_in_range_and_different),
      TEST(idle_and_finished_slots_cannot_be_named),
      TEST(row_maps_are_checked),
      TEST(lse_makes_no_sense_with_log_probabilities),
      TEST(a_step_of_no_slots_is_refused),
  };
  return RUN_TESTS(tests);
}
