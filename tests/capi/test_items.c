/* Items: their ids of three types, and what beams stand for. SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

static void integer_ids_come_by_item_row(void) {
  static const int64_t ids[6] = {15, 10, 11, 12, 13, 14}, ordinals[6] = {0, 0, 1, 2, 3, 4};
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  for (int64_t item_row = 0; item_row < 6; ++item_row) {
    int64_t id = -2, bytes = -2, ordinal = -2, lo = -2, hi = -2;
    const char* name = "unset";
    CHECK_OK(sidbeam_index_item_id(index, item_row, &id, &name, &bytes, &err));
    CHECK_INT(id, ids[item_row]);
    CHECK(name == NULL && bytes == 0);
    CHECK_OK(sidbeam_index_item_ordinal(index, item_row, &ordinal, &err));
    CHECK_INT(ordinal, ordinals[item_row]);
    CHECK_OK(sidbeam_index_item_rows(index, ordinal, &lo, &hi, &err));
    CHECK(lo <= item_row && item_row < hi && hi - lo == (ordinal == 0 ? 2 : 1));
  }
  sidbeam_index_release(index);
}

static void integer_ids_are_found_from_an_item_row_on(void) {
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  int64_t item_row = -2;
  CHECK_OK(sidbeam_index_find_item(index, 10, NULL, 0, 0, &item_row, &err));
  CHECK_INT(item_row, 1);
  CHECK_OK(sidbeam_index_find_item(index, 10, NULL, 0, 2, &item_row, &err));
  CHECK_INT(item_row, -1);
  CHECK_OK(sidbeam_index_find_item(index, 99, NULL, 0, 0, &item_row, &err));
  CHECK_INT(item_row, -1);
  CHECK_FAILS(sidbeam_index_find_item(index, 10, NULL, 0, -1, &item_row, &err), SIDBEAM_INVALID_ARGUMENT,
              "from_item_row is -1, expected at least 0");
  CHECK_FAILS(sidbeam_index_find_item(index, 10, "10", 2, 0, &item_row, &err), SIDBEAM_INVALID_ARGUMENT,
              "name is given, expected NULL and an id: the ids of this index are integers");
  CHECK_FAILS(sidbeam_index_find_item(index, 10, "", 0, 0, &item_row, &err), SIDBEAM_INVALID_ARGUMENT, "name is given");
  CHECK_INT(item_row, -1);
  sidbeam_index_release(index);
}

static void an_item_may_have_several_sids(void) {
  static const int64_t ids[6] = {8, 8, 8, 7, 7, 7};
  catalogue shared = small;
  int64_t item_row = -1;
  int found = 0;
  shared.ids = ids;
  sidbeam_index* index = make_index(&shared, SIDBEAM_KIND_TRIE);
  do {
    CHECK_OK(sidbeam_index_find_item(index, 8, NULL, 0, item_row + 1, &item_row, &err));
    found += item_row >= 0;
  } while (item_row >= 0);
  CHECK_INT(found, 3);
  sidbeam_index_release(index);
}

static void unsigned_ids_sort_as_unsigned(void) {
  static const int32_t sids[9] = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  static const int64_t ids[3] = {-1, 5, INT64_MIN}, expected[3] = {5, INT64_MIN, -1};
  catalogue from = small;
  from.id_type = SIDBEAM_ID_U64;
  from.sids = sids;
  from.ids = ids;
  from.priorities = NULL;
  from.count = 3;
  sidbeam_index* index = make_index(&from, SIDBEAM_KIND_TRIE);
  for (int64_t item_row = 0; item_row < 3; ++item_row) {
    int64_t id = 0, bytes = 0, found = -2;
    const char* name = NULL;
    CHECK_OK(sidbeam_index_item_id(index, item_row, &id, &name, &bytes, &err));
    CHECK_INT(id, expected[item_row]);
    CHECK_OK(sidbeam_index_find_item(index, id, NULL, 0, 0, &found, &err));
    CHECK_INT(found, item_row);
  }
  sidbeam_index_release(index);
}

static void names_come_by_item_row_and_are_found(void) {
  static const char* const names[6] = {"fifteen", "ten", "eleven", "twelve", "thirteen", "fourteen"};
  sidbeam_index* index = make_index(&small_named, SIDBEAM_KIND_TRIE);
  int64_t found = -2;
  for (int64_t item_row = 0; item_row < 6; ++item_row) {
    int64_t id = 0, bytes = 0;
    const char* name = NULL;
    CHECK_OK(sidbeam_index_item_id(index, item_row, &id, &name, &bytes, &err));
    CHECK_INT(id, -1);
    CHECK_INT(bytes, strlen(names[item_row]));
    CHECK(memcmp(name, names[item_row], strlen(names[item_row])) == 0);
    CHECK_OK(sidbeam_index_find_item(index, 0, names[item_row], bytes, 0, &found, &err));
    CHECK_INT(found, item_row);
  }
  CHECK_OK(sidbeam_index_find_item(index, 0, "tenth", 5, 0, &found, &err));
  CHECK_INT(found, -1);
  CHECK_OK(sidbeam_index_find_item(index, 0, "tenth", 3, 0, &found, &err));
  CHECK_INT(found, 1);
  for (int64_t bytes = 0; bytes < 4; bytes += 3)
    CHECK_FAILS(sidbeam_index_find_item(index, 0, NULL, bytes, 0, &found, &err), SIDBEAM_INVALID_ARGUMENT,
                "name is NULL, expected a name: the ids of this index are strings");
  CHECK_OK(sidbeam_index_find_item(index, 0, "", 0, 0, &found, &err));
  CHECK_INT(found, -1);
  CHECK_FAILS(sidbeam_index_find_item(index, 0, "ten", -1, 0, &found, &err), SIDBEAM_INVALID_ARGUMENT,
              "bytes is -1, expected at least 0");
  sidbeam_index_release(index);
}

static const int32_t first[1] = {0};

/* The arguments that list item rows. */
static sidbeam_items listing(int64_t limit, int64_t* item_rows, int64_t* offsets, int32_t* truncated) {
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit = limit;
  items.item_rows = item_rows;
  items.offsets = offsets;
  items.truncated = truncated;
  return items;
}

/* Two slots of four beams. The first is searched, and after three steps has ordinals 0 3 2 4; the second is idle. */
static sidbeam_session* searched(int32_t steps) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(constraint);
  config.slots = 2;
  sidbeam_session* session = make_session(&config);
  sidbeam_constraint_release(constraint);
  start_slot(session, 0);
  for (int32_t i = 0; i < steps; ++i) step_all(session, halving);
  return session;
}

static void beams_become_ordinals_sids_and_items(void) {
  static const int64_t expected_ordinals[4] = {0, 3, 2, 4}, expected_item_rows[5] = {0, 1, 4, 3, 5},
                       expected_offsets[5] = {0, 2, 3, 4, 5};
  static const int32_t expected_sids[12] = {0, 1, 2, 2, 2, 1, 0, 3, 0, 3, 0, 0}, expected_lengths[4] = {3, 3, 3, 3};
  sidbeam_session* session = searched(3);
  int64_t ordinals[4], item_rows[8], offsets[5];
  int32_t sids[12], lengths[4], truncated = -1;
  sidbeam_items items = listing(8, item_rows, offsets, &truncated);
  items.ordinals = ordinals;
  items.sids = sids;
  items.lengths = lengths;
  CHECK_OK(sidbeam_session_get_items(session, first, 1, &items, &err));
  CHECK_I64(ordinals, expected_ordinals, 4);
  CHECK_I32(sids, expected_sids, 12);
  CHECK_I32(lengths, expected_lengths, 4);
  CHECK_I64(offsets, expected_offsets, 5);
  CHECK_I64(item_rows, expected_item_rows, 5);
  CHECK_INT(truncated, 0);
  sidbeam_session_destroy(session);
}

static void limits_cut_items_and_say_so(void) {
  sidbeam_session* session = searched(3);
  int64_t item_rows[4] = {-7, -7, -7, -7}, offsets[5];
  int32_t truncated = -1;
  sidbeam_items items = listing(4, item_rows, offsets, &truncated);
  items.limit_per_sid = 1;
  CHECK_OK(sidbeam_session_get_items(session, first, 1, &items, &err));
  CHECK_I64(item_rows, ((const int64_t[]){0, 4, 3, 5}), 4);
  CHECK_I64(offsets, ((const int64_t[]){0, 1, 2, 3, 4}), 5);
  CHECK_INT(truncated, 1);
  items.limit = 3;
  items.limit_per_sid = 0;
  item_rows[3] = -7;
  CHECK_OK(sidbeam_session_get_items(session, first, 1, &items, &err));
  CHECK_I64(item_rows, ((const int64_t[]){0, 1, 4, -7}), 4);
  CHECK_I64(offsets, ((const int64_t[]){0, 2, 3, 3, 3}), 5);
  CHECK_INT(truncated, 1);
  items.limit_per_sid = 2;
  items.limit = 5;
  int64_t five[5];
  items.item_rows = five;
  CHECK_OK(sidbeam_session_get_items(session, first, 1, &items, &err));
  CHECK_INT(truncated, 0);
  sidbeam_session_destroy(session);
}

static void any_buffer_may_be_left_out(void) {
  sidbeam_session* session = searched(3);
  int64_t offsets[5] = {-7, -7, -7, -7, -7};
  int32_t truncated = -1;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  CHECK_OK(sidbeam_session_get_items(session, first, 1, &items, &err));
  items.limit = 8;
  items.offsets = offsets;
  items.truncated = &truncated;
  CHECK_OK(sidbeam_session_get_items(session, first, 1, &items, &err));
  CHECK_I64(offsets, ((const int64_t[]){0, 2, 3, 4, 5}), 5);
  CHECK_INT(truncated, 0);
  sidbeam_session_destroy(session);
}

static void unfinished_beams_have_codes_but_no_ordinal(void) {
  static const int32_t expected_sids[12] = {0, 1, -1, 2, 2, -1, 0, 3, -1, 3, 0, -1}, expected_lengths[4] = {2, 2, 2, 2};
  sidbeam_session* session = searched(2);
  int64_t ordinals[4];
  int32_t sids[12], lengths[4];
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals;
  items.sids = sids;
  items.lengths = lengths;
  CHECK_OK(sidbeam_session_get_items(session, first, 1, &items, &err));
  CHECK_I64(ordinals, ((const int64_t[]){-1, -1, -1, -1}), 4);
  CHECK_I32(sids, expected_sids, 12);
  CHECK_I32(lengths, expected_lengths, 4);
  sidbeam_session_destroy(session);
}

static void idle_slots_and_any_order_of_slots_are_answered(void) {
  static const int32_t order[2] = {1, 0};
  sidbeam_session* session = searched(3);
  int64_t ordinals[8], offsets[10], item_rows[16];
  int32_t lengths[8];
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit = 8;
  items.ordinals = ordinals;
  items.lengths = lengths;
  items.item_rows = item_rows;
  items.offsets = offsets;
  CHECK_OK(sidbeam_session_get_items(session, order, 2, &items, &err));
  CHECK_I64(ordinals, ((const int64_t[]){-1, -1, -1, -1, 0, 3, 2, 4}), 8);
  CHECK_I32(lengths, ((const int32_t[]){0, 0, 0, 0, 3, 3, 3, 3}), 8);
  CHECK_I64(offsets, ((const int64_t[]){0, 0, 0, 0, 0, 0, 2, 3, 4, 5}), 10);
  CHECK_I64(item_rows + 8, ((const int64_t[]){0, 1, 4, 3, 5}), 5);
  sidbeam_session_destroy(session);
}

static void a_zeroed_limit_asks_for_sizes(void) {
  sidbeam_session* session = searched(3);
  int64_t offsets[10], item_rows[10], last = -7;
  int32_t truncated[2] = {-1, -1};
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  memset(item_rows, -1, sizeof item_rows);
  items.offsets = offsets;
  items.truncated = truncated;
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  CHECK_I64(offsets, ((const int64_t[]){0, 2, 3, 4, 5, 0, 0, 0, 0, 0}), 10);
  CHECK_I32(truncated, ((const int32_t[]){0, 0}), 2);
  items.limit = offsets[4]; /* the size that was reported is enough */
  items.item_rows = item_rows;
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  CHECK_I64(item_rows, ((const int64_t[]){0, 1, 4, 3, 5, -1, -1, -1, -1, -1}), 10);
  CHECK_I32(truncated, ((const int32_t[]){0, 0}), 2);
  items.item_rows = NULL;
  items.limit = 0;
  items.limit_per_sid = 1; /* still counts */
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  CHECK_I64(offsets, ((const int64_t[]){0, 1, 2, 3, 4}), 5);
  CHECK_I32(truncated, ((const int32_t[]){1, 0}), 2);
  items.limit_per_sid = 0;
  items.item_rows = &last;
  CHECK_FAILS(sidbeam_session_get_items(session, NULL, 0, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "limit is 0, expected at least 1, the stride of item_rows");
  CHECK_INT(last, -7);
  sidbeam_session_destroy(session);
}

static void items_arguments_are_checked(void) {
  static const int32_t outside[1] = {2};
  sidbeam_session* session = searched(3);
  int64_t item_rows[8], offsets[5];
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  CHECK_FAILS(sidbeam_session_get_items(session, outside, 1, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "slots[0] is 2, expected 0..1");
  CHECK_FAILS(sidbeam_session_get_items(session, first, 3, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "count is 3, expected 0..2");
  CHECK_FAILS(sidbeam_session_get_items(session, first, -1, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "count is -1, expected 0..2");
  items.limit = 8;
  items.item_rows = item_rows;
  CHECK_FAILS(sidbeam_session_get_items(session, first, 1, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "offsets is NULL, expected a buffer beside item_rows");
  items.offsets = offsets;
  items.limit = -1;
  CHECK_FAILS(sidbeam_session_get_items(session, first, 1, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "limit is -1, expected at least 1");
  items.item_rows = NULL;
  CHECK_FAILS(sidbeam_session_get_items(session, first, 1, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "limit is -1, expected at least 0");
  items.limit = 8;
  items.limit_per_sid = -1;
  CHECK_FAILS(sidbeam_session_get_items(session, first, 1, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "limit_per_sid is -1, expected at least 0");
  sidbeam_session_destroy(session);
}

static void beams_of_variable_length_know_their_length(void) {
  static const float row[5] = {-1, -2, -4, -8, -0.5f};
  sidbeam_constraint* constraint = make_constraint(&small_variable, SIDBEAM_KIND_TRIE);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  sidbeam_session_config config = session_config(constraint);
  const sidbeam_rows rows = same_row(row, 1, 4, 5);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  int64_t ordinals[4];
  int32_t sids[12], lengths[4];
  vocabulary.levels = 3;
  vocabulary.end_column = 4;
  config.vocabulary = &vocabulary;
  args.rows = &rows;
  items.ordinals = ordinals;
  items.sids = sids;
  items.lengths = lengths;
  sidbeam_session* session = make_session(&config);
  sidbeam_constraint_release(constraint);
  start_all(session);
  for (int i = 0; i < 3; ++i) CHECK_OK(sidbeam_session_step(session, &args, &err));
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  CHECK_I64(ordinals, ((const int64_t[]){2, 1, 0, 4}), 4);
  CHECK_I32(lengths, ((const int32_t[]){1, 2, 3, 2}), 4);
  CHECK_I32(sids, ((const int32_t[]){0, -1, -1, 0, 1, -1, 0, 1, 2, 3, 0, -1}), 12);
  sidbeam_session_destroy(session);
}

/* Items 7 8 of ordinal 0, 8 of 1, 7 of 2, 5 of 3, 8 of 4. */
static sidbeam_index* index_of_shared_items(int32_t id_type) {
  static const int64_t ids[6] = {5, 8, 8, 8, 7, 7}, priorities[6] = {0, 0, 0, 0, 0, 9};
  static const char* const names[6] = {"five", "eight", "eight", "eight", "seven", "seven"};
  catalogue shared = small;
  shared.id_type = id_type;
  if (id_type == SIDBEAM_ID_STRING) {
    shared.names = names;
    shared.ids = NULL;
  } else {
    shared.ids = ids;
  }
  shared.priorities = priorities;
  return make_index(&shared, SIDBEAM_KIND_TRIE);
}

/* The rows of ordinal 0 are 0 (7) and 1 (8), those of the others follow. */
static void distinct_items_come_with_the_first_ordinal(void) {
  static const int32_t types[3] = {SIDBEAM_ID_I64, SIDBEAM_ID_U64, SIDBEAM_ID_STRING};
  for (int i = 0; i < 3; ++i) {
    sidbeam_index* index = index_of_shared_items(types[i]);
    int64_t rows[7] = {0}, offsets[6];
    int32_t truncated = -1;
    CHECK_OK(
        sidbeam_index_items(index, (const int64_t[]){4, 0, -1, 3, 4}, 5, 0, 7, 0, rows, offsets, &truncated, &err));
    CHECK_I64(rows, ((const int64_t[]){5, 0, 1, 4, 5}), 5);
    CHECK_I64(offsets, ((const int64_t[]){0, 1, 3, 3, 4, 5}), 6);
    CHECK_OK(
        sidbeam_index_items(index, (const int64_t[]){4, 0, -1, 3, 4}, 5, 0, 7, 1, rows, offsets, &truncated, &err));
    CHECK_I64(rows, ((const int64_t[]){5, 0, 4}), 3);
    CHECK_I64(offsets, ((const int64_t[]){0, 1, 2, 2, 3, 3}), 6);
    CHECK_INT(truncated, 0);
    CHECK_OK(sidbeam_index_items(index, (const int64_t[]){0, 1, 3}, 3, 1, 2, 1, rows, offsets, &truncated, &err));
    CHECK_I64(rows, ((const int64_t[]){0, 4}), 2); /* 8 was cut from ordinal 0, and is no item of 1 */
    CHECK_INT(truncated, 1);
    CHECK_OK(sidbeam_index_items(index, (const int64_t[]){2, 3, 0}, 3, 0, 0, 1, NULL, offsets, &truncated, &err));
    CHECK_I64(offsets, ((const int64_t[]){0, 1, 2, 3}), 4); /* sizes alone */
    CHECK_INT(truncated, 0);
    CHECK_OK(sidbeam_index_items(index, NULL, 0, 0, 0, 1, NULL, offsets, NULL, &err));
    CHECK_INT(offsets[0], 0);
    sidbeam_index_release(index);
  }
}

static void a_session_lists_distinct_items_and_limits_count_them(void) {
  sidbeam_index* index = index_of_shared_items(SIDBEAM_ID_I64);
  sidbeam_constraint* constraint = constrain(index);
  sidbeam_session_config config = session_config(constraint);
  sidbeam_session* session = make_session(&config);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
  int64_t item_rows[3], offsets[5];
  int32_t truncated = -1;
  sidbeam_items items = listing(3, item_rows, offsets, &truncated);
  items.distinct = 1;
  start_all(session);
  for (int i = 0; i < 3; ++i) step_all(session, halving);
  CHECK_OK(sidbeam_session_get_items(session, first, 1, &items, &err)); /* ordinals 0 3 2 4 */
  CHECK_I64(item_rows, ((const int64_t[]){0, 1, 4}), 3);
  CHECK_I64(offsets, ((const int64_t[]){0, 2, 3, 3, 3}), 5);
  CHECK_INT(truncated, 0);
  items.limit = 2;
  CHECK_OK(sidbeam_session_get_items(session, first, 1, &items, &err));
  CHECK_INT(truncated, 1);
  items.distinct = 2;
  CHECK_FAILS(sidbeam_session_get_items(session, first, 1, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "distinct is 2, expected 0 or 1");
  sidbeam_session_destroy(session);
}

static void lists_of_ordinals_are_checked(void) {
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  int64_t rows[1], offsets[2];
  const int64_t ordinal = 5;
  CHECK_FAILS(sidbeam_index_items(index, &ordinal, 1, 0, 1, 0, rows, offsets, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "ordinals[0] is 5, expected -1..4");
  CHECK_FAILS(sidbeam_index_items(index, NULL, 1, 0, 1, 0, rows, offsets, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "ordinals is NULL");
  CHECK_FAILS(sidbeam_index_items(index, &ordinal, -1, 0, 1, 0, rows, offsets, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "count is -1, expected at least 0");
  CHECK_FAILS(sidbeam_index_items(index, &ordinal, 1, 0, 1, 0, NULL, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "offsets is NULL");
  CHECK_FAILS(sidbeam_index_items(index, &ordinal, 1, 0, 0, 0, rows, offsets, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "limit is 0, expected at least 1");
  sidbeam_index_release(index);
}

int main(void) {
  static const test_case tests[] = {
      TEST(integer_ids_come_by_item_row),
      TEST(integer_ids_are_found_from_an_item_row_on),
      TEST(an_item_may_have_several_sids),
      TEST(unsigned_ids_sort_as_unsigned),
      TEST(names_come_by_item_row_and_are_found),
      TEST(beams_become_ordinals_sids_and_items),
      TEST(limits_cut_items_and_say_so),
      TEST(any_buffer_may_be_left_out),
      TEST(unfinished_beams_have_codes_but_no_ordinal),
      TEST(idle_slots_and_any_order_of_slots_are_answered),
      TEST(a_zeroed_limit_asks_for_sizes),
      TEST(items_arguments_are_checked),
      TEST(beams_of_variable_length_know_their_length),
      TEST(distinct_items_come_with_the_first_ordinal),
      TEST(a_session_lists_distinct_items_and_limits_count_them),
      TEST(lists_of_ordinals_are_checked),
  };
  return RUN_TESTS(tests);
}
