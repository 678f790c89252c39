/* A session's arguments: what create, start, step and stop refuse, with which words, and that nothing has moved then.
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
  start_all(session, 2);
  step_all(session, halving);
  return session;
}

typedef struct moment {
  int32_t parents[8], tokens[8], live[2], active[2], level[2], errors[2];
  float scores[8];
  sidbeam_state states[8];
} moment;

static moment moment_of(const sidbeam_session* session) {
  const sidbeam_beams beams = beams_of(session);
  moment now;
  memset(&now, 0, sizeof now);
  memcpy(now.parents, beams.parents, sizeof now.parents);
  memcpy(now.tokens, beams.tokens, sizeof now.tokens);
  memcpy(now.live, beams.live, sizeof now.live);
  memcpy(now.active, beams.active, sizeof now.active);
  memcpy(now.level, beams.level, sizeof now.level);
  memcpy(now.errors, beams.errors, sizeof now.errors);
  memcpy(now.scores, beams.scores, sizeof now.scores);
  memcpy(now.states, beams.states, sizeof now.states);
  return now;
}

static void check_unmoved(const sidbeam_session* session, const moment* before) {
  const moment now = moment_of(session);
  CHECK(memcmp(&now, before, sizeof now) == 0);
}

#define STEP_FAILS(session, args, status, ...)                                   \
  do {                                                                           \
    const moment before = moment_of(session);                                    \
    CHECK_FAILS(sidbeam_session_step(session, args, &err), status, __VA_ARGS__); \
    check_unmoved(session, &before);                                             \
  } while (0)

#define START_FAILS(session, args, status, ...)                                   \
  do {                                                                            \
    const moment before = moment_of(session);                                     \
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
  CHECK_FAILS(sidbeam_session_create(NULL, &config, &other, &err), SIDBEAM_INVALID_ARGUMENT, "runtime", "NULL");
  CHECK_FAILS(sidbeam_session_create(runtime, NULL, &other, &err), SIDBEAM_INVALID_ARGUMENT, "config", "NULL");
  CHECK_FAILS(sidbeam_session_create(runtime, &config, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out", "NULL");
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "constraint", "NULL");
  CHECK_FAILS(sidbeam_session_start(NULL, &start, &err), SIDBEAM_INVALID_ARGUMENT, "session", "NULL");
  START_FAILS(session, NULL, SIDBEAM_INVALID_ARGUMENT, "args", "NULL");
  CHECK_FAILS(sidbeam_session_step(NULL, &step, &err), SIDBEAM_INVALID_ARGUMENT, "session", "NULL");
  STEP_FAILS(session, NULL, SIDBEAM_INVALID_ARGUMENT, "args", "NULL");
  STEP_FAILS(session, &step, SIDBEAM_INVALID_ARGUMENT, "rows", "NULL");
  CHECK_FAILS(sidbeam_session_get_beams(NULL, &beams, &err), SIDBEAM_INVALID_ARGUMENT, "session", "NULL");
  CHECK_FAILS(sidbeam_session_get_beams(session, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out", "NULL");
  CHECK_FAILS(sidbeam_session_get_items(NULL, NULL, 1, &items, &err), SIDBEAM_INVALID_ARGUMENT, "session", "NULL");
  CHECK_FAILS(sidbeam_session_get_items(session, NULL, 1, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out", "NULL");
  CHECK_FAILS(sidbeam_session_stop(NULL, NULL, 1, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "session", "NULL");
  CHECK_FAILS(sidbeam_session_get_stats(NULL, &stats, &err), SIDBEAM_INVALID_ARGUMENT, "session", "NULL");
  CHECK_FAILS(sidbeam_session_get_stats(session, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out", "NULL");
  sidbeam_session_destroy(NULL);
  sidbeam_session_destroy(session);
  sidbeam_runtime_release(runtime);
}

static void struct_sizes_are_checked(void) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(constraint);
  sidbeam_session* session = two_running_slots();
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_rows rows = same_row(halving, 2, 4, 4);
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  step.rows = &rows;
  CHECK_FAILS(create(grown(&config, sizeof config, 7)), SIDBEAM_UNSUPPORTED, "config");
  START_FAILS(session, grown(&start, sizeof start, 7), SIDBEAM_UNSUPPORTED, "args");
  STEP_FAILS(session, grown(&step, sizeof step, 7), SIDBEAM_UNSUPPORTED, "args");
  step.rows = grown(&rows, sizeof rows, 7);
  STEP_FAILS(session, &step, SIDBEAM_UNSUPPORTED, "rows");
  CHECK_OK(create(grown(&config, sizeof config, 0)));
  CHECK_OK(sidbeam_session_start(session, grown(&start, sizeof start, 0), &err));
  step.rows = &rows;
  CHECK_OK(sidbeam_session_step(session, grown(&step, sizeof step, 0), &err));
  CHECK_OK(sidbeam_session_get_beams(session, grown(&beams, sizeof beams, 0), &err));
  config.struct_size = 12;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "struct_size", "12");
  start.struct_size = 12;
  START_FAILS(session, &start, SIDBEAM_INVALID_ARGUMENT, "struct_size", "12");
  rows.struct_size = 12;
  STEP_FAILS(session, &step, SIDBEAM_INVALID_ARGUMENT, "rows", "struct_size", "12");
  step.struct_size = 12;
  STEP_FAILS(session, &step, SIDBEAM_INVALID_ARGUMENT, "struct_size", "12");
  beams.struct_size = 12;
  CHECK_FAILS(sidbeam_session_get_beams(session, &beams, &err), SIDBEAM_INVALID_ARGUMENT, "struct_size", "12");
  items.struct_size = 12;
  CHECK_FAILS(sidbeam_session_get_items(session, NULL, 1, &items, &err), SIDBEAM_INVALID_ARGUMENT, "struct_size", "12");
  stats.struct_size = 12;
  CHECK_FAILS(sidbeam_session_get_stats(session, &stats, &err), SIDBEAM_INVALID_ARGUMENT, "struct_size", "12");
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
}

static void sizes_out_of_range_are_refused(void) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  const sidbeam_session_config config = session_config(constraint);
  sidbeam_session_config changed = config;
  changed.slots = 0;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "slots", "0");
  changed.slots = -1;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "slots", "-1");
  changed = config;
  changed.beams = 0;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "beams", "0", "4096");
  changed.beams = 4097;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "beams", "4097", "4096");
  changed = config;
  changed.top_k = -1;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "top_k", "-1");
  changed = config;
  changed.slots = INT32_MAX;
  changed.beams = 4096;
  clear_error();
  const sidbeam_status status = create(&changed);
  CHECK(status == SIDBEAM_INVALID_ARGUMENT || status == SIDBEAM_OUT_OF_MEMORY);
  sidbeam_constraint_release(constraint);
}

static void unknown_choices_are_refused(void) {
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  const sidbeam_session_config config = session_config(constraint);
  sidbeam_session_config changed = config;
  changed.strategy = 5;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "strategy", "5");
  changed.strategy = -1;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "strategy", "-1");
  changed = config;
  changed.normalization = 4;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "normalization", "4");
  changed = config;
  changed.device_type = 2;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "device_type", "2");
  changed = config;
  changed.log_probs_promised = 2;
  CHECK_FAILS(create(&changed), SIDBEAM_INVALID_ARGUMENT, "log_probs_promised", "2");
  changed = config;
  changed.normalization = SIDBEAM_NORMALIZE_VALID;
  for (changed.strategy = SIDBEAM_STRATEGY_HASH_FINAL; changed.strategy <= SIDBEAM_STRATEGY_NONE; ++changed.strategy) {
    clear_error();
    const sidbeam_status status = create(&changed);
    CHECK(status == SIDBEAM_INVALID_ARGUMENT || status == SIDBEAM_UNSUPPORTED);
    CHECK(strstr(err.message, "normalization") != NULL);
  }
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
  } cases[] = {{SIDBEAM_STRATEGY_TRIE, SIDBEAM_KIND_SORTED, "trie"},
               {SIDBEAM_STRATEGY_SORTED, SIDBEAM_KIND_TRIE, "sorted"},
               {SIDBEAM_STRATEGY_SORTED_TOPK, SIDBEAM_KIND_TRIE, "sorted"},
               {SIDBEAM_STRATEGY_HASH_FINAL, SIDBEAM_KIND_TRIE, "hash"}};
  for (size_t i = 0; i < COUNT(cases); ++i) {
    sidbeam_constraint* constraint = make_constraint(&small, cases[i].built);
    sidbeam_session_config config = session_config(constraint);
    config.strategy = cases[i].strategy;
    CHECK_FAILS(create(&config), SIDBEAM_MISSING_SECTION, cases[i].needed, "kinds");
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
  config.strategy = SIDBEAM_STRATEGY_NONE;
  CHECK_FAILS(create(&config), SIDBEAM_UNSUPPORTED, "strategy", "length");
  config.strategy = SIDBEAM_STRATEGY_HASH_FINAL;
  CHECK_FAILS(create(&config), SIDBEAM_UNSUPPORTED, "strategy", "length");
  sidbeam_constraint_release(constraint);
}

static void variable_indexes_need_an_end_column(void) {
  sidbeam_constraint* constraint = make_constraint(&small_variable, SIDBEAM_KIND_TRIE);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  sidbeam_session_config config = session_config(constraint);
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "end_column");
  vocabulary.levels = 3;
  config.vocabulary = &vocabulary;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "end_column", "-1");
  vocabulary.end_column = -2;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "end_column", "-2");
  vocabulary.end_column = 4;
  CHECK_OK(create(&config));
  sidbeam_constraint_release(constraint);
}

static void vocabularies_are_checked(void) {
  static const int64_t negative[3] = {0, -5, 0};
  static const int32_t short_map[2] = {1, 0}, map[4] = {0, -7, 1, 2}, few[3] = {2, 0, 0}, four[3] = {4, 0, 0};
  const int32_t* maps[3] = {short_map, NULL, NULL};
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  sidbeam_session_config config = session_config(constraint);
  config.vocabulary = &vocabulary;
  vocabulary.levels = 2;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "vocabulary", "levels", "2", "3");
  vocabulary.levels = 3;
  vocabulary.offsets = negative;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "offsets[1]", "-5");
  vocabulary.offsets = NULL;
  vocabulary.maps = maps;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "map_codes", "NULL");
  vocabulary.map_codes = few;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "map_codes[0]", "2", "4");
  vocabulary.map_codes = four;
  maps[0] = map;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "maps[0][1]", "-7");
  CHECK_FAILS(create((config.vocabulary = grown(&vocabulary, sizeof vocabulary, 3), &config)), SIDBEAM_UNSUPPORTED,
              "vocabulary");
  vocabulary.struct_size = 4;
  config.vocabulary = &vocabulary;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "vocabulary", "struct_size", "4");
  sidbeam_constraint_release(constraint);
}

static void start_refuses_slots_widths_and_prefixes_out_of_range(void) {
  sidbeam_session* session = two_running_slots();
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  int32_t slots[2] = {0, 2}, widths[2] = {4, 5}, prefixes[6] = {0, 1, 2, 0, 4, 0}, lengths[2] = {3, 2};
  args.count = 2;
  args.slots = slots;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "slots[1]", "2");
  slots[1] = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "slots[1]", "-1");
  slots[1] = 0;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "slots[1]", "0", "before");
  slots[1] = 1;
  args.widths = widths;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "widths[1]", "5", "4");
  widths[1] = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "widths[1]", "-1");
  args.widths = NULL;
  args.prefixes = prefixes;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefix_lengths", "NULL");
  args.prefix_lengths = lengths;
  args.prefix_stride = 3;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefix", "[1]", "4");
  prefixes[4] = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefix", "[1]", "-1");
  prefixes[4] = 1;
  lengths[1] = 4;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefix_lengths[1]", "4", "3");
  lengths[1] = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "prefix_lengths[1]", "-1");
  args = (sidbeam_start_args)SIDBEAM_START_ARGS_INIT;
  args.count = 3;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "count", "3", "2");
  args.count = -1;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "count", "-1");
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
  start_all(session, 2);
  args.count = 2;
  args.constraints = constraints;
  START_FAILS(session, &args, SIDBEAM_INVALID_ARGUMENT, "constraints[1]", "3", "2");
  constraints[1] = no_trie;
  START_FAILS(session, &args, SIDBEAM_MISSING_SECTION, "constraints[1]", "trie");
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(two);
  sidbeam_constraint_release(three);
  sidbeam_constraint_release(no_trie);
}

static void stop_refuses_slots_out_of_range(void) {
  sidbeam_session* session = two_running_slots();
  const moment before = moment_of(session);
  int32_t slots[2] = {0, 2};
  CHECK_FAILS(sidbeam_session_stop(session, slots, 2, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "slots[1]", "2");
  CHECK_FAILS(sidbeam_session_stop(session, NULL, 3, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "count", "3");
  check_unmoved(session, &before);
  sidbeam_session_destroy(session);
}

int main(void) {
  static const test_case tests[] = {
      TEST(null_arguments_are_refused),
      TEST(struct_sizes_are_checked),
      TEST(sizes_out_of_range_are_refused),
      TEST(unknown_choices_are_refused),
      TEST(cuda_without_its_plugin_is_no_device),
      TEST(missing_sections_name_the_build_option),
      TEST(fixed_length_strategies_refuse_variable_indexes),
      TEST(variable_indexes_need_an_end_column),
      TEST(vocabularies_are_checked),
      TEST(start_refuses_slots_widths_and_prefixes_out_of_range),
      TEST(start_refuses_constraints_that_do_not_fit),
      TEST(stop_refuses_slots_out_of_range),
  };
  return RUN_TESTS(tests);
}
