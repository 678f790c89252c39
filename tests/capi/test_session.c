/* A session's arguments: what create, start, step and stop refuse, with which words, and that nothing has changed then.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

static sidbeam_status create(const sidbeam_session_config* config) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_session* session = NULL;
  clear_error();
  const sidbeam_status status = sidbeam_session_create(runtime, config, &session, &err);
  CHECK((status == SIDBEAM_OK) == (session != NULL));
  sidbeam_session_destroy(session);
  sidbeam_runtime_release(runtime);
  return status;
}

/* Two slots of four beams on the small catalogue, both stepped once. */
static sidbeam_session* two_running_slots(void) {
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session_config config = session_config(constraint);
  config.slots = 2;
  sidbeam_session* session = make_session(&config);
  sidbeam_constraint_release(constraint);
  start_all(session);
  step_all(session, halving);
  return session;
}

static void check_unmoved(const sidbeam_session* session, const session_view* before) {
  const session_view now = view_of(session);
  CHECK(memcmp(&now, before, sizeof now) == 0);
}

#define STEP_FAILS(session, args, status, ...)                                   \
  do {                                                                           \
    const session_view before = view_of(session);                                \
    CHECK_FAILS(sidbeam_session_step(session, args, &err), status, __VA_ARGS__); \
    check_unmoved(session, &before);                                             \
  } while (0)

#define START_FAILS(session, args, status, ...)                                   \
  do {                                                                            \
    const session_view before = view_of(session);                                 \
    CHECK_FAILS(sidbeam_session_start(session, args, &err), status, __VA_ARGS__); \
    check_unmoved(session, &before);                                              \
  } while (0)

static void null_arguments_are_refused(void) {
  sidbeam_session* session = two_running_slots();
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_session* other = NULL;
  const sidbeam_session_config config = session_config(NULL);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  int64_t count = 0;
  CHECK_FAILS(sidbeam_session_create(NULL, &config, &other, &err), SIDBEAM_INVALID_ARGUMENT, "runtime is NULL");
  CHECK_FAILS(sidbeam_session_create(runtime, NULL, &other, &err), SIDBEAM_INVALID_ARGUMENT, "config is NULL");
  CHECK_FAILS(sidbeam_session_create(runtime, &config, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "config.constraint is NULL");
  CHECK_FAILS(sidbeam_session_start(NULL, &start, &err), SIDBEAM_INVALID_ARGUMENT, "session is NULL");
  START_FAILS(session, NULL, SIDBEAM_INVALID_ARGUMENT, "args is NULL");
  CHECK_FAILS(sidbeam_session_step(NULL, &step, &err), SIDBEAM_INVALID_ARGUMENT, "session is NULL");
  STEP_FAILS(session, NULL, SIDBEAM_INVALID_ARGUMENT, "args is NULL");
  STEP_FAILS(session, &step, SIDBEAM_INVALID_ARGUMENT, "rows is NULL");
  CHECK_FAILS(sidbeam_session_get_beams(NULL, &beams, &err), SIDBEAM_INVALID_ARGUMENT, "session is NULL");
  CHECK_FAILS(sidbeam_session_get_beams(session, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_FAILS(sidbeam_session_get_items(NULL, NULL, 0, &items, &err), SIDBEAM_INVALID_ARGUMENT, "session is NULL");
  CHECK_FAILS(sidbeam_session_get_items(session, NULL, 0, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_FAILS(sidbeam_session_stop(NULL, NULL, 0, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "session is NULL");
  CHECK_FAILS(sidbeam_session_get_stats(NULL, &stats, &err), SIDBEAM_INVALID_ARGUMENT, "session is NULL");
  CHECK_FAILS(sidbeam_session_get_stats(session, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_FAILS(sidbeam_session_get_counters(NULL, 0, NULL, NULL, &count, &err), SIDBEAM_INVALID_ARGUMENT,
              "session is NULL");
  CHECK_FAILS(sidbeam_session_get_counters(session, 0, NULL, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "count is NULL");
  CHECK_FAILS(sidbeam_session_get_counters(session, 1, NULL, NULL, &count, &err), SIDBEAM_INVALID_ARGUMENT,
              "values is NULL");
  CHECK_FAILS(sidbeam_session_get_counters(session, -1, NULL, NULL, &count, &err), SIDBEAM_INVALID_ARGUMENT,
              "capacity is -1, expected at least 0");
  sidbeam_session_destroy(NULL);
  sidbeam_session_destroy(session);
  sidbeam_runtime_release(runtime);
}

/* A config with one field changed, and the refusal that it gets. */
#define CREATE_FAILS(config, field, value, status, ...) \
  do {                                                  \
    sidbeam_session_config changed = (config);          \
    changed.field = (value);                            \
    CHECK_FAILS(create(&changed), status, __VA_ARGS__); \
  } while (0)

static void numbers_out_of_range_are_refused(void) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  const sidbeam_session_config config = session_config(constraint);
  CREATE_FAILS(config, slots, -1, SIDBEAM_INVALID_ARGUMENT, "config.slots is -1, expected 0..1048576");
  CREATE_FAILS(config, slots, 1048577, SIDBEAM_INVALID_ARGUMENT, "config.slots is 1048577, expected 0..1048576");
  CREATE_FAILS(config, slots, INT32_MAX, SIDBEAM_INVALID_ARGUMENT, "config.slots is 2147483647");
  CREATE_FAILS(config, beams, 0, SIDBEAM_INVALID_ARGUMENT, "config.beams is 0, expected 1..4096");
  CREATE_FAILS(config, beams, 4097, SIDBEAM_INVALID_ARGUMENT, "config.beams is 4097, expected 1..4096");
  CREATE_FAILS(config, top_k, -1, SIDBEAM_INVALID_ARGUMENT, "config.top_k is -1, expected 0..16777216");
  sidbeam_constraint_release(constraint);
}

static void slots_of_0_are_one(void) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(constraint);
  config.slots = 0;
  sidbeam_session* session = make_session(&config);
  CHECK_INT(beams_of(session).slots, 1);
  start_all(session);
  CHECK_INT(beams_of(session).live[0], 1);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
}

static void unknown_choices_are_refused(void) {
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session_config config = session_config(constraint);
  CREATE_FAILS(config, strategy, 5, SIDBEAM_INVALID_ARGUMENT, "config.strategy is 5, expected 0..4");
  CREATE_FAILS(config, strategy, -1, SIDBEAM_INVALID_ARGUMENT, "config.strategy is -1, expected 0..4");
  CREATE_FAILS(config, normalization, 4, SIDBEAM_INVALID_ARGUMENT, "config.normalization is 4, expected 0..3");
  CREATE_FAILS(config, device_type, 2, SIDBEAM_INVALID_ARGUMENT, "config.device_type is 2, expected CPU (0)");
  CREATE_FAILS(config, device_id, 1, SIDBEAM_NO_DEVICE, "config.device_id is 1, expected 0 for the CPU");
  CREATE_FAILS(config, log_probs_promised, 2, SIDBEAM_INVALID_ARGUMENT,
               "config.log_probs_promised is 2, expected 0..1");
  config.normalization = SIDBEAM_NORMALIZE_VALID;
  CREATE_FAILS(config, strategy, SIDBEAM_STRATEGY_HASH_FINAL, SIDBEAM_INVALID_ARGUMENT,
               "config.normalization is VALID, expected FULL, LEVEL or NONE with strategy hash_final");
  CREATE_FAILS(config, strategy, SIDBEAM_STRATEGY_NONE, SIDBEAM_INVALID_ARGUMENT,
               "config.normalization is VALID, expected FULL, LEVEL or NONE with strategy none");
  sidbeam_constraint_release(constraint);
}

static void cuda_without_its_plugin_is_no_device(void) {
  setenv("SIDBEAM_CUDA_LIBRARY", "/nowhere/libsidbeam_cuda.so.1", 1);
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(constraint);
  config.device_type = SIDBEAM_DEVICE_CUDA;
  CHECK_FAILS(create(&config), SIDBEAM_NO_DEVICE, "CUDA plugin", "/nowhere/libsidbeam_cuda.so.1");
  config.device_type = SIDBEAM_DEVICE_CPU;
  CHECK_OK(create(&config));
  sidbeam_constraint_release(constraint);
}

static void missing_sections_name_the_build_option(void) {
  static const struct {
    int32_t strategy, built;
    const char* needed;
  } cases[] = {
      {SIDBEAM_STRATEGY_TRIE, SIDBEAM_KIND_SORTED, "kinds trie (SIDBEAM_KIND_TRIE) for strategy trie"},
      {SIDBEAM_STRATEGY_SORTED, SIDBEAM_KIND_TRIE, "kinds sorted (SIDBEAM_KIND_SORTED) for strategy sorted"},
      {SIDBEAM_STRATEGY_SORTED_TOPK, SIDBEAM_KIND_TRIE, "kinds sorted (SIDBEAM_KIND_SORTED) for strategy sorted_topk"},
      {SIDBEAM_STRATEGY_HASH_FINAL, SIDBEAM_KIND_TRIE, "kinds hash (SIDBEAM_KIND_HASH) for strategy hash_final"}};
  for (size_t i = 0; i < COUNT(cases); ++i) {
    sidbeam_constraint* constraint = make_constraint(&small, cases[i].built);
    const sidbeam_session_config config = session_config(constraint);
    CREATE_FAILS(config, strategy, cases[i].strategy, SIDBEAM_MISSING_SECTION, cases[i].needed);
    sidbeam_constraint_release(constraint);
  }
}

static void fixed_length_strategies_refuse_variable_indexes(void) {
  sidbeam_constraint* constraint = make_constraint(&small_variable, ALL_KINDS);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  sidbeam_session_config config = session_config(constraint);
  vocabulary.end_column = 4;
  vocabulary.levels = 3;
  config.vocabulary = &vocabulary;
  CREATE_FAILS(config, strategy, SIDBEAM_STRATEGY_NONE, SIDBEAM_UNSUPPORTED,
               "config.constraint has SIDs of variable length, expected one length for strategy none");
  CREATE_FAILS(config, strategy, SIDBEAM_STRATEGY_HASH_FINAL, SIDBEAM_UNSUPPORTED,
               "config.constraint has SIDs of variable length, expected one length for strategy hash_final");
  sidbeam_constraint_release(constraint);
}

static void variable_indexes_need_an_end_column(void) {
  static const char* const missing = "vocabulary.end_column is -1, expected a column, since config.constraint";
  sidbeam_constraint* constraint = make_constraint(&small_variable, SIDBEAM_KIND_TRIE);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  sidbeam_session_config config = session_config(constraint);
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, missing);
  vocabulary.levels = 3;
  config.vocabulary = &vocabulary;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, missing);
  vocabulary.end_column = -2;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "vocabulary.end_column is -2, expected a column >= 0");
  vocabulary.end_column = 4;
  CHECK_OK(create(&config));
  sidbeam_constraint_release(constraint);
}

static void vocabularies_are_checked(void) {
  static const int64_t negative[3] = {0, -5, 0}, few[3] = {2, 0, 0}, none[3] = {0, 0, 0}, four[3] = {4, 0, 0};
  static const int32_t short_map[2] = {1, 0}, map[4] = {0, -7, 1, 2};
  const int32_t* maps[3] = {short_map, NULL, NULL};
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  sidbeam_session_config config = session_config(constraint);
  config.vocabulary = &vocabulary;
  vocabulary.levels = 2;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT,
              "vocabulary.levels is 2, expected 3, the levels of the index, to 255");
  vocabulary.levels = 3;
  vocabulary.offsets = negative;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "vocabulary.offsets[1] is -5, expected 0..");
  vocabulary.offsets = NULL;
  vocabulary.maps = maps;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "vocabulary.map_codes is NULL");
  vocabulary.map_codes = none;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "vocabulary.map_codes[0] is 0, expected at least 1");
  vocabulary.map_codes = few;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT,
              "vocabulary.map_codes[0] is 2, expected at least 4, the codes of that level of config.constraint");
  vocabulary.map_codes = four;
  maps[0] = map;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "vocabulary.maps[0][1] is -7, expected a column >= 0");
  sidbeam_constraint_release(constraint);
}

static void start_refuses_slots_and_widths_out_of_range(void) {
  sidbeam_session* session = two_running_slots();
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  int32_t slots[2] = {0, 2}, widths[2] = {4, 5};
  args.count = 2;
  args.slots = slots;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "slots[1] is 2, expected 0..1");
  slots[1] = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "slots[1] is -1, expected 0..1");
  slots[1] = 0;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "slots[1] is 0, which is named before");
  slots[1] = 1;
  args.widths = widths;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "widths[1] is 5, expected 1..4, or 0 for 4");
  widths[1] = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "widths[1] is -1, expected 1..4");
  sidbeam_session_destroy(session);
}

static void start_refuses_widths_per_level_that_do_not_fit(void) {
  sidbeam_session* session = two_running_slots();
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  int32_t widths[6] = {4, 1, 0, 2, 5, 2};
  args.width_levels = 3;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "widths is NULL, expected [count, 3], since width_levels is 3");
  args.widths = widths;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "widths[1][1] is 5, expected 1..4, or 0 for 4");
  widths[4] = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "widths[1][1] is -1, expected 1..4");
  args.width_levels = 4;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "width_levels is 4, expected 0..3, the session's levels");
  args.width_levels = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "width_levels is -1, expected 0..3");
  sidbeam_session_destroy(session);
}

static void start_refuses_prefixes_out_of_range(void) {
  sidbeam_session* session = two_running_slots();
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  int32_t prefixes[6] = {0, 1, 2, 0, 4, 0}, lengths[2] = {3, 2};
  args.prefixes = prefixes;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefix_lengths is NULL");
  args.prefix_lengths = lengths;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefixes[1][1] is 4, expected 0..3");
  prefixes[4] = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefixes[1][1] is -1, expected 0..3");
  prefixes[4] = 1;
  lengths[1] = 4;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefix_lengths[1] is 4, expected 0..3");
  lengths[1] = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefix_lengths[1] is -1, expected 0..3");
  lengths[1] = 2;
  args.prefix_stride = 2;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefix_lengths[0] is 3, expected 0..2");
  args.prefix_stride = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefix_stride is -1, expected at least 0");
  args.prefix_stride = INT64_MAX;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefix_stride is 9223372036854775807, which overflows");
  sidbeam_session_destroy(session);
}

static void start_refuses_constraints_that_do_not_fit(void) {
  sidbeam_constraint* two = make_constraint(&two_levels, ALL_KINDS);
  sidbeam_constraint* three = make_constraint(&small, ALL_KINDS);
  sidbeam_constraint* no_trie = make_constraint(&two_levels, SIDBEAM_KIND_SORTED);
  sidbeam_session_config config = session_config(two);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  sidbeam_constraint* constraints[2] = {NULL, three};
  config.slots = 2;
  sidbeam_session* session = make_session(&config);
  start_all(session);
  args.constraints = constraints;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "constraints[1] has 3 levels, expected at most 2");
  constraints[1] = no_trie;
  START_FAILS(session, &args, SIDBEAM_MISSING_SECTION, "constraints[1] has no trie");
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(two);
  sidbeam_constraint_release(three);
  sidbeam_constraint_release(no_trie);
}

static void stop_refuses_slots_out_of_range(void) {
  sidbeam_session* session = two_running_slots();
  const session_view before = view_of(session);
  int32_t slots[2] = {0, 2};
  CHECK_FAILS(sidbeam_session_stop(session, slots, 2, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "slots[1] is 2, expected 0..1");
  slots[1] = 0;
  CHECK_FAILS(sidbeam_session_stop(session, slots, 2, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "slots[1] is 0, which is named before");
  check_unmoved(session, &before);
  sidbeam_session_destroy(session);
}

/* Start, step, stop and get_items, with no list of slots. */
enum { LISTING_CALLS = 4 };
static sidbeam_status call_without_a_list(int which, sidbeam_session* session, int64_t count) {
  const sidbeam_rows rows = same_row(halving, 2, 4, 4);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  int32_t lengths[8];
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  start.count = step.count = count;
  step.rows = &rows;
  items.lengths = lengths;
  if (which == 0) return sidbeam_session_start(session, &start, &err);
  if (which == 1) return sidbeam_session_step(session, &step, &err);
  if (which == 2) return sidbeam_session_get_items(session, NULL, count, &items, &err);
  return sidbeam_session_stop(session, NULL, count, NULL, &err);
}

static void no_list_is_all_slots_with_a_count_of_0_or_of_all(void) {
  static const int64_t wrong[] = {1, 3, -1, INT64_MAX, INT64_MIN};
  static const int32_t levels_after[LISTING_CALLS] = {0, 2, 1, -1};
  for (int which = 0; which < LISTING_CALLS; ++which) {
    for (int64_t count = 0; count <= 2; count += 2) {
      sidbeam_session* session = two_running_slots();
      const session_view before = view_of(session);
      for (size_t i = 0; i < COUNT(wrong); ++i) {
        CHECK_FAILS(call_without_a_list(which, session, wrong[i]), SIDBEAM_INVALID_ARGUMENT, "count is ",
                    "expected 0 or 2, all slots, where slots is NULL");
        check_unmoved(session, &before);
      }
      CHECK_OK(call_without_a_list(which, session, count));
      const session_view after = view_of(session);
      CHECK_INT(after.level[0], levels_after[which]);
      CHECK_INT(after.level[1], levels_after[which]);
      sidbeam_session_destroy(session);
    }
  }
}

static void a_list_names_at_most_all_slots(void) {
  static const int32_t slots[3] = {0, 1, 0};
  sidbeam_session* session = two_running_slots();
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.slots = slots;
  args.count = 3;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "count is 3, expected 0..2");
  args.count = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "count is -1, expected 0..2");
  CHECK_FAILS(sidbeam_session_stop(session, slots, 3, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "count is 3, expected 0..2");
  sidbeam_session_destroy(session);
}

int main(void) {
  static const test_case tests[] = {
      TEST(null_arguments_are_refused),
      TEST(numbers_out_of_range_are_refused),
      TEST(slots_of_0_are_one),
      TEST(unknown_choices_are_refused),
      TEST(cuda_without_its_plugin_is_no_device),
      TEST(missing_sections_name_the_build_option),
      TEST(fixed_length_strategies_refuse_variable_indexes),
      TEST(variable_indexes_need_an_end_column),
      TEST(vocabularies_are_checked),
      TEST(start_refuses_slots_and_widths_out_of_range),
      TEST(start_refuses_widths_per_level_that_do_not_fit),
      TEST(start_refuses_prefixes_out_of_range),
      TEST(start_refuses_constraints_that_do_not_fit),
      TEST(stop_refuses_slots_out_of_range),
      TEST(no_list_is_all_slots_with_a_count_of_0_or_of_all),
      TEST(a_list_names_at_most_all_slots),
  };
  return RUN_TESTS(tests);
}
