/* How logits rows and prefixes lie in memory: dense by a stride of 0, one for all by SIDBEAM_BROADCAST, backwards;
 * strides that would leave the address space; rows of a DLPack tensor. SPDX-License-Identifier: Apache-2.0 */
#include <sidbeam/dlpack.h>

#include "fixtures.h"

enum { SLOTS = 2, ROWS = 3, COLUMNS = 4, MEMORY = 12 };

/* Twelve logits rows, no two of which order the codes alike. */
static float memory[MEMORY][COLUMNS];

static void fill_memory(void) {
  for (int r = 0; r < MEMORY; ++r)
    for (int c = 0; c < COLUMNS; ++c) memory[r][c] = -(float)((r * 7 + c * (r + 3) * 5) % 31) / 4;
}

typedef struct outcome {
  int32_t parents[SLOTS * 4], codes[SLOTS * 4];
  float scores[SLOTS * 4];
} outcome;

/* The second step of two slots with three live beams each. */
static outcome step_with(const sidbeam_rows* rows) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(constraint);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  outcome found;
  config.slots = SLOTS;
  sidbeam_session* session = make_session(&config);
  start_all(session);
  step_all(session, halving);
  args.rows = rows;
  CHECK_OK(sidbeam_session_step(session, &args, &err));
  const sidbeam_beams beams = beams_of(session);
  memcpy(found.parents, beams.parents, sizeof found.parents);
  memcpy(found.codes, beams.codes, sizeof found.codes);
  memcpy(found.scores, beams.scores, sizeof found.scores);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  return found;
}

typedef struct layout {
  int64_t slot_stride, row_stride;
  int first;           /* row of the memory that data points to */
  int of[SLOTS][ROWS]; /* row of the memory that each beam reads */
} layout;

static sidbeam_rows rows_of(const layout* at) {
  sidbeam_rows rows = make_rows(memory[at->first], SLOTS, ROWS, COLUMNS);
  rows.slot_stride = at->slot_stride;
  rows.row_stride = at->row_stride;
  return rows;
}

static const layout layouts[] = {
    {0, 0, 0, {{0, 1, 2}, {3, 4, 5}}},
    {0, 4, 0, {{0, 1, 2}, {3, 4, 5}}},
    {0, 8, 0, {{0, 2, 4}, {6, 8, 10}}},
    {20, 0, 0, {{0, 1, 2}, {5, 6, 7}}},
    {16, 8, 0, {{0, 2, 4}, {4, 6, 8}}},
    {SIDBEAM_BROADCAST, 0, 1, {{1, 2, 3}, {1, 2, 3}}},
    {SIDBEAM_BROADCAST, 8, 1, {{1, 3, 5}, {1, 3, 5}}},
    {0, SIDBEAM_BROADCAST, 2, {{2, 2, 2}, {3, 3, 3}}},
    {12, SIDBEAM_BROADCAST, 2, {{2, 2, 2}, {5, 5, 5}}},
    {SIDBEAM_BROADCAST, SIDBEAM_BROADCAST, 7, {{7, 7, 7}, {7, 7, 7}}},
    {12, -4, 2, {{2, 1, 0}, {5, 4, 3}}},
    {SIDBEAM_BROADCAST, -8, 8, {{8, 6, 4}, {8, 6, 4}}},
    {-12, 0, 6, {{6, 7, 8}, {3, 4, 5}}},
    {-12, -4, 5, {{5, 4, 3}, {2, 1, 0}}},
    {-4, SIDBEAM_BROADCAST, 9, {{9, 9, 9}, {8, 8, 8}}},
};

static void each_beam_reads_the_logits_row_that_its_strides_name(void) {
  for (size_t i = 0; i < COUNT(layouts); ++i) {
    float copied[SLOTS][ROWS][COLUMNS];
    for (int s = 0; s < SLOTS; ++s)
      for (int r = 0; r < ROWS; ++r) memcpy(copied[s][r], memory[layouts[i].of[s][r]], sizeof copied[s][r]);
    const layout plain = {ROWS * COLUMNS, COLUMNS, 0, {{0}}};
    sidbeam_rows expected_rows = rows_of(&plain);
    expected_rows.data = copied;
    const sidbeam_rows rows = rows_of(&layouts[i]);
    const outcome expected = step_with(&expected_rows), found = step_with(&rows);
    CHECK_I32(found.parents, expected.parents, SLOTS * 4);
    CHECK_I32(found.codes, expected.codes, SLOTS * 4);
    CHECK_F32(found.scores, expected.scores, SLOTS * 4);
  }
}

/* The layouts give different results, so that none of them passes for another. */
static void the_layouts_can_be_told_apart(void) {
  for (size_t i = 1; i < COUNT(layouts); ++i) {
    const sidbeam_rows first = rows_of(&layouts[i - 1]), second = rows_of(&layouts[i]);
    const outcome a = step_with(&first), b = step_with(&second);
    const int same_rows = memcmp(layouts[i - 1].of, layouts[i].of, sizeof layouts[i].of) == 0;
    CHECK_INT(memcmp(a.scores, b.scores, sizeof a.scores) == 0, same_rows);
  }
}

/* The best code of each logits row, all from the beginning, where codes 0, 2 and 3 are valid. */
static void best_codes(const sidbeam_rows* rows, int32_t* best) {
  static const sidbeam_state beginnings[ROWS] = {0, 0, 0};
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_constraint_set* set = make_set(&constraint, 1, NULL);
  float log_probs[ROWS];
  CHECK_OK(sidbeam_constraint_set_topk(set, NULL, beginnings, rows, SIDBEAM_NORMALIZE_NONE, 1, best, log_probs, NULL,
                                       NULL, &err));
  sidbeam_constraint_set_destroy(set);
  sidbeam_constraint_release(constraint);
}

static void stateless_calls_follow_the_same_strides(void) {
  static const float logits[5][COLUMNS] = {{3, 9, 2, 1}, {0, 9, 1, 0}, {0, 9, 0, 1}, {2, 9, 0, 0}, {0, 9, 3, 0}};
  static const struct {
    int64_t stride;
    int first;
    int32_t best[ROWS];
  } cases[] = {{0, 0, {0, 2, 3}},  {4, 1, {2, 3, 0}},  {8, 0, {0, 3, 2}},
               {-4, 4, {2, 0, 3}}, {-8, 4, {2, 3, 0}}, {SIDBEAM_BROADCAST, 2, {3, 3, 3}}};
  for (size_t i = 0; i < COUNT(cases); ++i) {
    sidbeam_rows rows = make_rows(logits[cases[i].first], 0, ROWS, COLUMNS);
    int32_t best[ROWS];
    rows.row_stride = cases[i].stride;
    rows.slot_stride = INT64_MAX; /* without slots nothing reads it */
    best_codes(&rows, best);
    CHECK_I32(best, cases[i].best, ROWS);
  }
}

/* A step of one slot or of two. */
static sidbeam_status try_step(int32_t slots, const sidbeam_rows* rows) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(constraint);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  config.slots = slots;
  sidbeam_session* session = make_session(&config);
  start_all(session);
  const sidbeam_beams beams = beams_of(session);
  args.rows = rows;
  const sidbeam_status status = sidbeam_session_step(session, &args, &err);
  CHECK_INT(beams.level[0], status == SIDBEAM_OK);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  return status;
}

#define STRIDES_FAIL(slots, rows_, row_stride_, slot_stride_, ...)               \
  do {                                                                           \
    sidbeam_rows wrong = make_rows(memory[6], slots, rows_, COLUMNS);            \
    wrong.row_stride = (row_stride_);                                            \
    wrong.slot_stride = (slot_stride_);                                          \
    CHECK_FAILS(try_step(slots, &wrong), SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__); \
  } while (0)

static void strides_that_leave_the_address_space_are_refused(void) {
  STRIDES_FAIL(2, 3, INT64_MAX / 2, 0, "rows.row_stride is 4611686018427387903, which overflows over 3 of them");
  STRIDES_FAIL(2, 3, INT64_MIN + 1, 4, "rows.row_stride is -9223372036854775807, which overflows over 3 of them");
  STRIDES_FAIL(2, 3, 0, INT64_MAX, "rows.slot_stride is 9223372036854775807, which overflows over 2 of them");
  STRIDES_FAIL(2, 3, 0, INT64_MIN + 1, "rows.slot_stride is -9223372036854775807, which overflows over 2 of them");
  STRIDES_FAIL(2, 5, INT64_MAX / 64, 0, "rows.slot_stride is", "which overflows over 2 of them"); /* dense */
}

static void one_row_or_one_slot_has_no_stride_to_overflow(void) {
  sidbeam_rows rows = make_rows(memory[0], 1, 1, COLUMNS);
  rows.row_stride = INT64_MAX;
  rows.slot_stride = INT64_MIN + 1;
  CHECK_OK(try_step(1, &rows));
}

static void slots_of_rows_that_go_backwards_are_not_dense(void) {
  STRIDES_FAIL(2, 3, -4, 0, "rows.slot_stride is 0, expected a stride beside a row_stride of -4");
  sidbeam_rows rows = make_rows(memory[6], 1, 3, COLUMNS);
  rows.row_stride = -4;
  CHECK_OK(try_step(1, &rows)); /* one slot needs none */
}

/* Starts three slots of the small catalogue; gives the codes of their beams. */
static void start_at(const int32_t* prefixes, int64_t stride, const int32_t* lengths, int32_t* sids) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(constraint);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  config.slots = 3;
  config.beams = 1;
  sidbeam_session* session = make_session(&config);
  args.prefixes = prefixes;
  args.prefix_stride = stride;
  args.prefix_lengths = lengths;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  items.sids = sids;
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
}

static const int32_t numbers[12] = {0, 1, 2, 2, 2, 1, 3, 0, 0, 0, 3, 0};

static const struct {
  int64_t stride;
  int32_t lengths[3], codes[9]; /* codes -1 past the lengths */
} prefix_cases[] = {{0, {1, 3, 2}, {0, -1, -1, 2, 2, 1, 3, 0, -1}},
                    {3, {3, 2, 3}, {0, 1, 2, 2, 2, -1, 3, 0, 0}},
                    {6, {2, 1, 0}, {0, 1, -1, 3, -1, -1, -1, -1, -1}},
                    {1, {1, 0, 1}, {0, -1, -1, -1, -1, -1, 2, -1, -1}},
                    {SIDBEAM_BROADCAST, {3, 1, 2}, {0, 1, 2, 0, -1, -1, 0, 1, -1}}};

static void prefixes_of_a_start_lie_dense_apart_or_are_one_for_all(void) {
  for (size_t i = 0; i < COUNT(prefix_cases); ++i) {
    int32_t sids[9];
    start_at(numbers, prefix_cases[i].stride, prefix_cases[i].lengths, sids);
    CHECK_I32(sids, prefix_cases[i].codes, 9);
  }
}

/* In a set of constraints of three levels and of two, where dense is three. */
static void prefixes_of_a_set_lie_the_same_way(void) {
  sidbeam_constraint* constraints[2] = {make_constraint(&two_levels, SIDBEAM_KIND_TRIE),
                                        make_constraint(&small, SIDBEAM_KIND_TRIE)};
  sidbeam_constraint_set* set = make_set(constraints, 2, NULL);
  static const int32_t follow[3] = {1, 1, 1};
  for (size_t i = 0; i < COUNT(prefix_cases); ++i) {
    sidbeam_state found[3], expected[3];
    CHECK_OK(sidbeam_constraint_set_prefixes(set, follow, numbers, prefix_cases[i].stride, prefix_cases[i].lengths, 3,
                                             found, NULL, &err));
    for (int k = 0; k < 3; ++k)
      CHECK_OK(sidbeam_constraint_set_prefixes(set, follow, prefix_cases[i].codes + 3 * k, 3,
                                               &prefix_cases[i].lengths[k], 1, &expected[k], NULL, &err));
    CHECK_I64(found, expected, 3);
  }
  static const int32_t length[1] = {3}, longer[1] = {2};
  sidbeam_state state = 7;
  CHECK_FAILS(sidbeam_constraint_set_prefixes(set, NULL, numbers, -1, length, 1, &state, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "stride is -1, expected at least 0, or SIDBEAM_BROADCAST");
  CHECK_FAILS(sidbeam_constraint_set_prefixes(set, NULL, numbers, 1, longer, 1, &state, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "lengths[0] is 2, expected 0..1");
  CHECK_INT(state, 7);
  sidbeam_constraint_set_destroy(set);
  sidbeam_constraint_release(constraints[0]);
  sidbeam_constraint_release(constraints[1]);
}

static sidbeam_dl_tensor tensor_of(int64_t* shape, int64_t* strides, int32_t ndim) {
  sidbeam_dl_tensor tensor = {memory, 1, 0, ndim, 2, 32, 1, shape, strides, 0};
  return tensor;
}

static void an_expanded_tensor_is_broadcast(void) {
  int64_t shape[3] = {2, 3, 4}, expanded[3] = {0, 0, 1}, compact[3] = {12, 4, 1}, backwards[3] = {-12, -4, 1};
  sidbeam_dl_tensor tensor = tensor_of(shape, expanded, 3);
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  CHECK_OK(sidbeam_rows_from_dlpack(&tensor, &rows, &err));
  CHECK(rows.slot_stride == SIDBEAM_BROADCAST && rows.row_stride == SIDBEAM_BROADCAST);
  expanded[0] = 4; /* one entry per slot */
  CHECK_OK(sidbeam_rows_from_dlpack(&tensor, &rows, &err));
  CHECK(rows.slot_stride == 4 && rows.row_stride == SIDBEAM_BROADCAST);
  for (int i = 0; i < 2; ++i) {
    tensor.strides = i == 0 ? compact : NULL;
    CHECK_OK(sidbeam_rows_from_dlpack(&tensor, &rows, &err));
    CHECK(rows.slots == 2 && rows.rows == 3 && rows.columns == 4 && rows.data == memory);
    CHECK(rows.slot_stride == 12 && rows.row_stride == 4 && rows.dtype == SIDBEAM_DTYPE_F32);
  }
  tensor.strides = backwards;
  CHECK_OK(sidbeam_rows_from_dlpack(&tensor, &rows, &err));
  CHECK(rows.slot_stride == -12 && rows.row_stride == -4);
}

static void an_extent_of_one_has_no_stride_to_repeat(void) {
  int64_t shape[3] = {1, 1, 4}, strides[3] = {0, 0, 1}, table[2] = {3, 4}, repeated[2] = {0, 1};
  sidbeam_dl_tensor tensor = tensor_of(shape, strides, 3);
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  CHECK_OK(sidbeam_rows_from_dlpack(&tensor, &rows, &err));
  CHECK(rows.slot_stride == 0 && rows.row_stride == 0);
  tensor = tensor_of(table, repeated, 2);
  CHECK_OK(sidbeam_rows_from_dlpack(&tensor, &rows, &err));
  CHECK(rows.slots == 0 && rows.slot_stride == 0 && rows.row_stride == SIDBEAM_BROADCAST);
}

int main(void) {
  static const test_case tests[] = {
      TEST(each_beam_reads_the_logits_row_that_its_strides_name),
      TEST(the_layouts_can_be_told_apart),
      TEST(stateless_calls_follow_the_same_strides),
      TEST(strides_that_leave_the_address_space_are_refused),
      TEST(one_row_or_one_slot_has_no_stride_to_overflow),
      TEST(slots_of_rows_that_go_backwards_are_not_dense),
      TEST(prefixes_of_a_start_lie_dense_apart_or_are_one_for_all),
      TEST(prefixes_of_a_set_lie_the_same_way),
      TEST(an_expanded_tensor_is_broadcast),
      TEST(an_extent_of_one_has_no_stride_to_repeat),
  };
  fill_memory();
  return RUN_TESTS(tests);
}
