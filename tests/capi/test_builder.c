/* The builder's arguments: what it refuses, with which words, and that a refused call has added nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

/* Tries to make a builder from a config; what comes out is destroyed. */
static sidbeam_status create(const sidbeam_builder_config* config) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_builder* builder = NULL;
  clear_error();
  const sidbeam_status status = sidbeam_builder_create(runtime, config, &builder, &err);
  CHECK((status == SIDBEAM_OK) == (builder != NULL));
  sidbeam_builder_destroy(builder);
  sidbeam_runtime_release(runtime);
  return status;
}

static sidbeam_builder* empty_builder(const catalogue* from) {
  const sidbeam_builder_config config = builder_config(from, SIDBEAM_KIND_TRIE);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_builder* builder = NULL;
  CHECK_OK(sidbeam_builder_create(runtime, &config, &builder, &err));
  sidbeam_runtime_release(runtime);
  return builder;
}

/* Adds the catalogue after failed calls, and expects it alone in the index. */
static void check_only_this(sidbeam_builder* builder, const catalogue* expected) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT, alone = SIDBEAM_INDEX_INFO_INIT;
  sidbeam_index *index = NULL, *reference = make_index(expected, SIDBEAM_KIND_TRIE);
  CHECK_OK(add_all(builder, expected, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  CHECK_OK(sidbeam_index_get_info(index, &info, &err));
  CHECK_OK(sidbeam_index_get_info(reference, &alone, &err));
  CHECK_INT(info.items, alone.items);
  CHECK_TEXT(info.fingerprint, alone.fingerprint);
  sidbeam_index_release(index);
  sidbeam_index_release(reference);
  sidbeam_builder_destroy(builder);
}

static void destroying_null_does_nothing(void) { sidbeam_builder_destroy(NULL); }

static void null_arguments_are_refused(void) {
  const sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_builder* builder = NULL;
  sidbeam_index* index = NULL;
  sidbeam_plan* plan = NULL;
  CHECK_FAILS(sidbeam_builder_create(NULL, &config, &builder, &err), SIDBEAM_INVALID_ARGUMENT, "runtime is NULL");
  CHECK_FAILS(sidbeam_builder_create(runtime, NULL, &builder, &err), SIDBEAM_INVALID_ARGUMENT, "config is NULL");
  CHECK_FAILS(sidbeam_builder_create(runtime, &config, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  sidbeam_runtime_release(runtime);
  CHECK_FAILS(sidbeam_builder_add(NULL, small.sids, NULL, 1, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "builder is NULL");
  CHECK_FAILS(sidbeam_builder_add_named(NULL, small.sids, NULL, 1, "a", small.ids, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "builder is NULL");
  CHECK_FAILS(sidbeam_builder_set_metadata(NULL, "a", "b", &err), SIDBEAM_INVALID_ARGUMENT, "builder is NULL");
  CHECK_FAILS(sidbeam_builder_plan(NULL, &plan, &err), SIDBEAM_INVALID_ARGUMENT, "builder is NULL");
  CHECK_FAILS(sidbeam_builder_write(NULL, "x.sidx", &err), SIDBEAM_INVALID_ARGUMENT, "builder is NULL");
  CHECK_FAILS(sidbeam_builder_finish(NULL, &index, &err), SIDBEAM_INVALID_ARGUMENT, "builder is NULL");
  CHECK_FAILS(sidbeam_plan_estimate(NULL, 1, &plan, &err), SIDBEAM_INVALID_ARGUMENT, "config is NULL");
  CHECK_FAILS(sidbeam_plan_estimate(&config, 1, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  builder = make_builder(&small, SIDBEAM_KIND_TRIE);
  CHECK_FAILS(sidbeam_builder_add(builder, NULL, NULL, 1, small.ids, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "codes is NULL");
  CHECK_FAILS(sidbeam_builder_set_metadata(builder, NULL, "b", &err), SIDBEAM_INVALID_ARGUMENT, "key is NULL");
  CHECK_FAILS(sidbeam_builder_set_metadata(builder, "a", NULL, &err), SIDBEAM_INVALID_ARGUMENT, "value is NULL");
  CHECK_FAILS(sidbeam_builder_plan(builder, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_FAILS(sidbeam_builder_write(builder, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "path is NULL");
  CHECK_FAILS(sidbeam_builder_finish(builder, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  sidbeam_builder_destroy(builder);
}

static void levels_outside_1_to_255_are_refused(void) {
  static int32_t codes[256];
  sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  for (int i = 0; i < 256; ++i) codes[i] = 2;
  config.codes = codes;
  config.levels = 0;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "levels is 0, expected 1 to 255");
  config.levels = -3;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "levels is -3, expected 1 to 255");
  config.levels = 256;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "levels is 256, expected 1 to 255");
  config.levels = 64;
  CHECK_OK(create(&config));
}

static void numbers_of_codes_out_of_range_are_refused(void) {
  int32_t codes[3] = {4, 0, 4};
  sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  config.codes = codes;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "codes[1] is 0, expected 1 to 16777216");
  codes[1] = -4;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "codes[1] is -4, expected 1 to 16777216");
  codes[1] = SIDBEAM_MAX_CODES + 1;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "codes[1] is 16777217, expected 1 to 16777216");
  codes[1] = SIDBEAM_MAX_CODES;
  CHECK_OK(create(&config));
  config.variable_length = 1; /* the end counts as one */
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "codes[1] is 16777216, expected 1 to 16777215");
  config.codes = NULL;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "codes is NULL");
}

static void unknown_choices_are_refused(void) {
  const sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  sidbeam_builder_config changed = config;
  changed.kinds = 16;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "kinds is 16, expected SIDBEAM_KIND_* or'ed (0 to 15)");
  changed.kinds = -1;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "kinds is -1, expected SIDBEAM_KIND_*");
  changed = config;
  changed.id_type = 3;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT,
              "id_type is 3, expected SIDBEAM_ID_I64, U64 or STRING (0 to 2)");
  changed = config;
  changed.collisions = 3;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "collisions is 3, expected SIDBEAM_COLLISIONS_* (0 to 2)");
  changed = config;
  changed.variable_length = 2;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "variable_length is 2, expected 0 or 1");
  changed = config;
  changed.threads = -1;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "threads is -1, expected 0 to 1024");
  changed = config;
  changed.memory_limit_bytes = -1;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "memory_limit_bytes is -1, expected 0 or more");
}

static void codes_out_of_range_name_row_level_and_value(void) {
  sidbeam_builder* builder = empty_builder(&small);
  int32_t sids[18];
  memcpy(sids, small.sids, sizeof sids);
  sids[5 * 3 + 1] = 4;
  CHECK_FAILS(sidbeam_builder_add(builder, sids, NULL, 6, small.ids, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "row 5, level 1: code 4, expected 0 to 3");
  sids[5 * 3 + 1] = -7;
  CHECK_FAILS(sidbeam_builder_add(builder, sids, NULL, 6, small.ids, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "row 5, level 1: code -7, expected 0 to 3");
  check_only_this(builder, &small);
}

static void rows_in_messages_count_over_all_calls(void) {
  sidbeam_builder* builder = make_builder(&small, SIDBEAM_KIND_TRIE);
  const int32_t sids[6] = {0, 0, 0, 0, 9, 0};
  CHECK_FAILS(sidbeam_builder_add(builder, sids, NULL, 2, small.ids, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "row 7, level 1: code 9, expected 0 to 3");
  sidbeam_builder_destroy(builder);
}

static void lengths_out_of_range_name_row_and_value(void) {
  sidbeam_builder* builder = empty_builder(&small_variable);
  int32_t lengths[5] = {1, 2, 0, 3, 2};
  const catalogue* from = &small_variable;
  CHECK_FAILS(sidbeam_builder_add(builder, from->sids, lengths, 5, from->ids, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "lengths: row 2 is empty, a SID has at least 1 code");
  lengths[2] = 4;
  CHECK_FAILS(sidbeam_builder_add(builder, from->sids, lengths, 5, from->ids, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "lengths: row 2 has 4 codes, expected 1 to 3");
  check_only_this(builder, &small_variable);
}

static void shorter_sids_are_refused_where_lengths_are_fixed(void) {
  sidbeam_builder* builder = empty_builder(&small);
  const int32_t lengths[6] = {3, 3, 3, 2, 3, 3};
  CHECK_FAILS(sidbeam_builder_add(builder, small.sids, lengths, 6, small.ids, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "lengths: row 3 has 2 codes, expected 3 (variable_length is 0)");
  check_only_this(builder, &small);
}

static void entries_past_a_length_are_not_read(void) {
  sidbeam_builder* builder = empty_builder(&small_variable);
  const int32_t strange[6] = {1, 99, -99, 1, 2, 1 << 30}, lengths[2] = {1, 2};
  CHECK_OK(sidbeam_builder_add(builder, strange, lengths, 2, small_variable.ids, NULL, &err));
  sidbeam_builder_destroy(builder);
}

static void ids_come_in_all_calls_or_in_none(void) {
  sidbeam_builder* builder = empty_builder(&small);
  CHECK_OK(sidbeam_builder_add(builder, small.sids, NULL, 2, NULL, NULL, &err));
  CHECK_FAILS(sidbeam_builder_add(builder, small.sids, NULL, 2, small.ids, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "ids: given here, but not for the 2 rows before");
  sidbeam_builder_destroy(builder);
  builder = empty_builder(&small);
  CHECK_OK(sidbeam_builder_add(builder, small.sids, NULL, 2, small.ids, NULL, &err));
  CHECK_FAILS(sidbeam_builder_add(builder, small.sids, NULL, 2, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "ids: NULL here, but given for the 2 rows before");
  sidbeam_builder_destroy(builder);
}

static void ids_must_be_of_the_declared_type(void) {
  const int64_t offsets[2] = {0, 1};
  sidbeam_builder* builder = empty_builder(&small);
  CHECK_FAILS(sidbeam_builder_add_named(builder, small.sids, NULL, 1, "a", offsets, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT,
              "id_type is not SIDBEAM_ID_STRING: pairs are added with add, not with add_named");
  sidbeam_builder_destroy(builder);
  builder = empty_builder(&small_named);
  CHECK_FAILS(sidbeam_builder_add(builder, small.sids, NULL, 1, small.ids, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "id_type is SIDBEAM_ID_STRING: pairs are added with add_named, not with add");
  sidbeam_builder_destroy(builder);
}

static void id_offsets_must_rise(void) {
  sidbeam_builder* builder = empty_builder(&small_named);
  const int64_t falling[4] = {0, 3, 2, 4}, negative[2] = {-1, 3};
  CHECK_FAILS(sidbeam_builder_add_named(builder, small.sids, NULL, 3, "abcd", falling, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "id_offsets[2] is 2, expected at least the entry before, 3");
  CHECK_FAILS(sidbeam_builder_add_named(builder, small.sids, NULL, 1, "abcd", negative, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "id_offsets[0] is -1, expected at least 0");
  CHECK_FAILS(sidbeam_builder_add_named(builder, small.sids, NULL, 1, "abcd", NULL, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "id_offsets is NULL, expected count + 1 numbers");
  check_only_this(builder, &small_named);
}

static void negative_counts_are_refused(void) {
  sidbeam_builder* builder = empty_builder(&small);
  CHECK_FAILS(sidbeam_builder_add(builder, small.sids, NULL, -1, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "count is -1, expected 0 or more");
  CHECK_OK(sidbeam_builder_add(builder, NULL, NULL, 0, NULL, NULL, &err));
  check_only_this(builder, &small);
}

static void empty_catalogues_are_refused(void) {
  const char* path = temporary_path("empty.sidx");
  sidbeam_plan* plan = NULL;
  sidbeam_index* index = NULL;
  sidbeam_builder* builder = empty_builder(&small);
  CHECK_FAILS(sidbeam_builder_plan(builder, &plan, &err), SIDBEAM_INVALID_ARGUMENT,
              "the catalogue is empty: nothing was added");
  CHECK_FAILS(sidbeam_builder_write(builder, path, &err), SIDBEAM_INVALID_ARGUMENT,
              "the catalogue is empty: nothing was added");
  CHECK_FAILS(sidbeam_builder_finish(builder, &index, &err), SIDBEAM_INVALID_ARGUMENT,
              "the catalogue is empty: nothing was added");
  CHECK(!file_exists(path));
  CHECK(index == NULL);
  sidbeam_builder_destroy(builder);
}

static void adding_after_plan_write_or_finish_is_too_late(void) {
  sidbeam_plan* plan = NULL;
  for (int how = 0; how < 3; ++how) {
    sidbeam_builder* builder = make_builder(&small, SIDBEAM_KIND_TRIE);
    sidbeam_index* index = NULL;
    if (how == 0) CHECK_OK(sidbeam_builder_plan(builder, &plan, &err));
    if (how == 1) CHECK_OK(sidbeam_builder_write(builder, temporary_path("late.sidx"), &err));
    if (how == 2) CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
    CHECK_FAILS(add_all(builder, &small, &err), SIDBEAM_BAD_STATE, "the builder has been sorted: nothing can be added");
    sidbeam_index_release(index);
    sidbeam_plan_destroy(plan);
    plan = NULL;
    sidbeam_builder_destroy(builder);
  }
}

static void sizes_that_overflow_are_refused(void) {
  sidbeam_builder* builder = empty_builder(&small);
  CHECK_FAILS(sidbeam_builder_add(builder, small.sids, NULL, INT64_MAX / 2, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "count is 4611686018427387903 after 0 rows, an index holds fewer than 2^40");
  check_only_this(builder, &small);
}

int main(void) {
  static const test_case tests[] = {
      TEST(destroying_null_does_nothing),
      TEST(null_arguments_are_refused),
      TEST(levels_outside_1_to_255_are_refused),
      TEST(numbers_of_codes_out_of_range_are_refused),
      TEST(unknown_choices_are_refused),
      TEST(codes_out_of_range_name_row_level_and_value),
      TEST(rows_in_messages_count_over_all_calls),
      TEST(lengths_out_of_range_name_row_and_value),
      TEST(shorter_sids_are_refused_where_lengths_are_fixed),
      TEST(entries_past_a_length_are_not_read),
      TEST(ids_come_in_all_calls_or_in_none),
      TEST(ids_must_be_of_the_declared_type),
      TEST(id_offsets_must_rise),
      TEST(negative_counts_are_refused),
      TEST(empty_catalogues_are_refused),
      TEST(adding_after_plan_write_or_finish_is_too_late),
      TEST(sizes_that_overflow_are_refused),
  };
  return RUN_TESTS(tests);
}
