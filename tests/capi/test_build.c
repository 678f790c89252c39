/* What the builder makes: the same bytes whatever the way there, collisions, plans, progress, files that are whole or
 * not there. SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

static sidbeam_builder* builder_from(const sidbeam_builder_config* config) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_builder* builder = NULL;
  CHECK_OK(sidbeam_builder_create(runtime, config, &builder, &err));
  sidbeam_runtime_release(runtime);
  return builder;
}

static sidbeam_index_info info_of(sidbeam_builder* builder) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  sidbeam_index* index = NULL;
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  CHECK_OK(sidbeam_index_get_info(index, &info, &err));
  sidbeam_index_release(index);
  return info;
}

static void check_text_in_file(const char* path, const char* text) {
  int64_t bytes = 0;
  unsigned char* data = read_file(path, &bytes);
  CHECK_INT(bytes, strlen(text));
  CHECK(memcmp(data, text, strlen(text)) == 0);
  free(data);
}

static void bytes_do_not_depend_on_order_calls_or_threads(void) {
  int64_t bytes = 0, other_bytes = 0;
  unsigned char* expected = index_bytes(&small, ALL_KINDS, &bytes);
  for (int32_t threads = 1; threads <= 4; threads += 3) {
    const char* path = temporary_path("other.sidx");
    sidbeam_builder_config config = builder_config(&small, ALL_KINDS);
    config.threads = threads;
    sidbeam_builder* builder = builder_from(&config);
    for (int64_t i = small.count - 1; i >= 0; --i) {
      CHECK_OK(sidbeam_builder_add(builder, small.sids + 3 * i, NULL, 1, small.ids + i, small.priorities + i, &err));
    }
    CHECK_OK(sidbeam_builder_write(builder, path, &err));
    sidbeam_builder_destroy(builder);
    unsigned char* actual = read_file(path, &other_bytes);
    CHECK_INT(other_bytes, bytes);
    CHECK(memcmp(actual, expected, (size_t)bytes) == 0);
    free(actual);
  }
  free(expected);
}

static unsigned char* bytes_with_seed(int64_t seed, uint32_t struct_size, int64_t* bytes) {
  const char* path = temporary_path("seed.sidx");
  sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_HASH);
  config.hash_seed = seed;
  config.struct_size = struct_size;
  sidbeam_builder* builder = builder_from(&config);
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_OK(sidbeam_builder_write(builder, path, &err));
  sidbeam_builder_destroy(builder);
  return read_file(path, bytes);
}

static void a_hash_seed_is_part_of_what_makes_the_bytes(void) {
  const uint32_t whole = (uint32_t)sizeof(sidbeam_builder_config),
                 first = (uint32_t)offsetof(sidbeam_builder_config, hash_seed);
  int64_t bytes[5];
  unsigned char* files[5] = {
      bytes_with_seed(0, whole, &bytes[0]),         bytes_with_seed(INT64_MIN, whole, &bytes[1]),
      bytes_with_seed(INT64_MIN, whole, &bytes[2]), bytes_with_seed(7, whole, &bytes[3]),
      bytes_with_seed(7, first, &bytes[4]), /* a caller of the first version has no seed, whatever lies there */
  };
  for (int i = 0; i < 5; ++i) CHECK_INT(bytes[i], bytes[0]);
  CHECK(memcmp(files[1], files[2], (size_t)bytes[0]) == 0);
  CHECK(memcmp(files[0], files[1], (size_t)bytes[0]) != 0);
  CHECK(memcmp(files[3], files[1], (size_t)bytes[0]) != 0);
  CHECK(memcmp(files[4], files[0], (size_t)bytes[0]) == 0);
  for (int i = 0; i < 5; ++i) free(files[i]);
}

static void writing_again_and_finishing_give_the_same(void) {
  int64_t bytes = 0, other_bytes = 0;
  const char *path = temporary_path("first.sidx"), *other = temporary_path("second.sidx");
  sidbeam_builder* builder = make_builder(&small, ALL_KINDS);
  CHECK_OK(sidbeam_builder_write(builder, path, &err));
  CHECK_OK(sidbeam_builder_write(builder, other, &err));
  unsigned char *first = read_file(path, &bytes), *second = read_file(other, &other_bytes);
  CHECK_INT(other_bytes, bytes);
  CHECK(memcmp(first, second, (size_t)bytes) == 0);
  const sidbeam_index_info info = info_of(builder);
  CHECK_INT(info.file_bytes, bytes);
  free(first);
  free(second);
  sidbeam_builder_destroy(builder);
}

static void identical_pairs_merge_and_are_counted(void) {
  const sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  sidbeam_builder* builder = builder_from(&config);
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_OK(add_all(builder, &small, &err));
  const sidbeam_index_info info = info_of(builder);
  CHECK_INT(info.sids, 5);
  CHECK_INT(info.items, 6);
  CHECK_INT(info.merged_pairs, 6);
  CHECK_INT(info.collisions, 1);
  CHECK_INT(info.max_items_per_sid, 2);
  sidbeam_builder_destroy(builder);
}

static void collisions_are_kept_refused_or_cut_to_the_first(void) {
  sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  sidbeam_index* index = NULL;
  int64_t id = 0, bytes = 0;
  const char* name = NULL;
  config.collisions = SIDBEAM_COLLISIONS_ERROR;
  sidbeam_builder* builder = builder_from(&config);
  const char* path = temporary_path("collision.sidx");
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_FAILS(sidbeam_builder_finish(builder, &index, &err), SIDBEAM_COLLISION, "0,1,2");
  CHECK_FAILS(sidbeam_builder_write(builder, path, &err), SIDBEAM_COLLISION, "0,1,2");
  CHECK(!file_exists(path));
  sidbeam_builder_destroy(builder);

  config.collisions = SIDBEAM_COLLISIONS_FIRST;
  builder = builder_from(&config);
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  CHECK_OK(sidbeam_index_item_id(index, 0, &id, &name, &bytes, &err));
  CHECK_INT(id, 15); /* the highest priority */
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  CHECK_OK(sidbeam_index_get_info(index, &info, &err));
  CHECK_INT(info.items, 5);
  sidbeam_index_release(index);
}

static void ids_default_to_the_row_counted_over_all_calls(void) {
  const sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  sidbeam_builder* builder = builder_from(&config);
  sidbeam_index* index = NULL;
  static const int64_t expected[6] = {1, 5, 3, 4, 0, 2}; /* without priorities: ids rise */
  CHECK_OK(sidbeam_builder_add(builder, small.sids, NULL, 2, NULL, NULL, &err));
  CHECK_OK(sidbeam_builder_add(builder, small.sids + 6, NULL, 4, NULL, NULL, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  for (int64_t row = 0; row < 6; ++row) {
    int64_t id = -2, bytes = -2;
    const char* name = NULL;
    CHECK_OK(sidbeam_index_item_id(index, row, &id, &name, &bytes, &err));
    CHECK_INT(id, expected[row]);
  }
  sidbeam_index_release(index);
  sidbeam_builder_destroy(builder);
}

static void plan_is_exact(void) {
  int64_t bytes = 0, sections = 0;
  sidbeam_plan plan = SIDBEAM_PLAN_INIT;
  sidbeam_builder* builder = make_builder(&small, ALL_KINDS);
  CHECK_OK(sidbeam_builder_plan(builder, &plan, &err));
  CHECK_INT(plan.exact, 1);
  CHECK_INT(plan.sids, 5);
  CHECK_INT(plan.items, 6);
  static const int64_t nodes[4] = {3, 4, 5, 0};
  CHECK_I64(plan.nodes, nodes, 4);
  for (int l = 0; l < 64; ++l) {
    sections += plan.row_pointer_bytes[l] + plan.token_bytes[l] + plan.dense_bytes[l] + plan.ordinal_bytes[l] +
                plan.end_bytes[l] + plan.sorted_bytes[l];
  }
  sections += plan.hash_bytes + plan.item_bytes;
  CHECK(sections > 0 && sections < plan.file_bytes);
  CHECK(plan.peak_bytes >= plan.file_bytes);
  CHECK_INT(info_of(builder).file_bytes, plan.file_bytes);
  sidbeam_builder_destroy(builder);
  free(index_bytes(&small, ALL_KINDS, &bytes));
  CHECK_INT(bytes, plan.file_bytes);
}

static void estimate_needs_no_catalogue(void) {
  sidbeam_builder_config config = builder_config(&small, ALL_KINDS);
  sidbeam_plan plan = SIDBEAM_PLAN_INIT;
  CHECK_OK(sidbeam_plan_estimate(&config, 30, &plan, &err));
  CHECK_INT(plan.exact, 0);
  CHECK_INT(plan.sids, 30);
  CHECK_INT(plan.nodes[2], 30);
  CHECK(plan.nodes[0] == 4 && plan.file_bytes > 0 && plan.peak_bytes > 0);
  CHECK_FAILS(sidbeam_plan_estimate(&config, 0, &plan, &err), SIDBEAM_INVALID_ARGUMENT, "sids", "0");
  CHECK_FAILS(sidbeam_plan_estimate(&config, 65, &plan, &err), SIDBEAM_INVALID_ARGUMENT, "sids", "65", "64");
  config.variable_length = 1; /* 4 + 16 + 64 */
  CHECK_OK(sidbeam_plan_estimate(&config, 84, &plan, &err));
  CHECK_FAILS(sidbeam_plan_estimate(&config, 85, &plan, &err), SIDBEAM_INVALID_ARGUMENT, "sids", "85", "84");
}

static void memory_limit_stops_a_build_before_it_starts(void) {
  sidbeam_builder_config config = builder_config(&small, ALL_KINDS);
  sidbeam_index* index = NULL;
  config.memory_limit_bytes = 100;
  sidbeam_builder* builder = builder_from(&config);
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_FAILS(sidbeam_builder_finish(builder, &index, &err), SIDBEAM_OUT_OF_MEMORY, "memory_limit_bytes", "100");
  CHECK(index == NULL);
  sidbeam_builder_destroy(builder);
}

typedef struct progress_log {
  int32_t calls, cancel_at, phases_seen;
  int ordered;
} progress_log;

static int32_t watch(void* context, int32_t phase, int64_t done, int64_t total) {
  progress_log* log = context;
  log->phases_seen |= 1 << phase;
  if (done < 0 || done > total || phase < SIDBEAM_PHASE_SORT || phase > SIDBEAM_PHASE_SYNC) log->ordered = 0;
  return log->calls++ == log->cancel_at;
}

static void progress_tells_phases_and_stays_in_range(void) {
  progress_log log = {0, -1, 0, 1};
  sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  config.progress = watch;
  config.progress_context = &log;
  sidbeam_builder* builder = builder_from(&config);
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_OK(sidbeam_builder_write(builder, temporary_path("progress.sidx"), &err));
  CHECK(log.calls > 0 && log.ordered);
  CHECK((log.phases_seen & 1 << SIDBEAM_PHASE_SORT) != 0 && (log.phases_seen & 1 << SIDBEAM_PHASE_EMIT) != 0);
  sidbeam_builder_destroy(builder);
}

static void cancelling_at_any_moment_keeps_the_old_file_and_leaves_no_litter(void) {
  const char* path = temporary_path("cancelled.sidx");
  int cancelled = 0, before = 0;
  write_text(path, "the old file");
  before = files_in_folder(path);
  for (int32_t at = 0;; ++at) {
    progress_log log = {0, at, 0, 1};
    sidbeam_builder_config config = builder_config(&small, ALL_KINDS);
    config.progress = watch;
    config.progress_context = &log;
    sidbeam_builder* builder = builder_from(&config);
    CHECK_OK(add_all(builder, &small, &err));
    clear_error();
    const sidbeam_status status = sidbeam_builder_write(builder, path, &err);
    sidbeam_builder_destroy(builder);
    CHECK_INT(files_in_folder(path), before);
    if (status == SIDBEAM_OK) break;
    CHECK_INT(status, SIDBEAM_CANCELLED);
    CHECK_INT(err.code, SIDBEAM_CANCELLED);
    check_text_in_file(path, "the old file");
    ++cancelled;
  }
  CHECK(cancelled > 0);
}

static void cancelled_builder_can_go_on(void) {
  progress_log log = {0, 0, 0, 1};
  sidbeam_builder_config config = builder_config(&small, ALL_KINDS);
  sidbeam_index* index = NULL;
  config.progress = watch;
  config.progress_context = &log;
  sidbeam_builder* builder = builder_from(&config);
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_FAILS(sidbeam_builder_finish(builder, &index, &err), SIDBEAM_CANCELLED, "cancel");
  CHECK(index == NULL);
  CHECK_INT(info_of(builder).items, 6);
  sidbeam_builder_destroy(builder);
}

static void unwritable_paths_are_io_errors_with_path_and_reason(void) {
  const char* path = temporary_path("no-such-folder/x.sidx");
  sidbeam_builder* builder = make_builder(&small, SIDBEAM_KIND_TRIE);
  CHECK_FAILS(sidbeam_builder_write(builder, path, &err), SIDBEAM_IO_ERROR, path, "No such file or directory");
  CHECK_FAILS(sidbeam_builder_write(builder, "", &err), SIDBEAM_IO_ERROR, "''", "No such file or directory");
  CHECK_OK(sidbeam_builder_write(builder, temporary_path("after-all.sidx"), &err));
  sidbeam_builder_destroy(builder);
}

static void a_folder_in_the_way_is_an_io_error_and_leaves_no_litter(void) {
  const char* path = temporary_path("x");
  char folder[300];
  const int before = (write_text(path, "x"), files_in_folder(path));
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
  sidbeam_builder* builder = make_builder(&small, SIDBEAM_KIND_TRIE);
  CHECK_FAILS(sidbeam_builder_write(builder, folder, &err), SIDBEAM_IO_ERROR, folder);
  CHECK_INT(files_in_folder(path), before);
  sidbeam_builder_destroy(builder);
}

static void metadata_is_replaced_sorted_and_outside_the_fingerprint(void) {
  const char *key = NULL, *value = NULL;
  sidbeam_index* index = NULL;
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT, plain = SIDBEAM_INDEX_INFO_INIT;
  sidbeam_builder* builder = make_builder(&small, SIDBEAM_KIND_TRIE);
  CHECK_OK(sidbeam_builder_set_metadata(builder, "model", "one", &err));
  CHECK_OK(sidbeam_builder_set_metadata(builder, "date", "", &err));
  CHECK_OK(sidbeam_builder_set_metadata(builder, "model", "zwei \xc3\xa4", &err));
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  CHECK_OK(sidbeam_index_get_info(index, &info, &err));
  CHECK_INT(info.metadata_count, 2);
  CHECK_OK(sidbeam_index_get_metadata(index, 0, &key, &value, &err));
  CHECK_TEXT(key, "date");
  CHECK_TEXT(value, "");
  CHECK_OK(sidbeam_index_get_metadata(index, 1, &key, &value, &err));
  CHECK_TEXT(key, "model");
  CHECK_TEXT(value, "zwei \xc3\xa4");
  sidbeam_index_release(index);
  sidbeam_builder_destroy(builder);
  index = make_index(&small, ALL_KINDS);
  CHECK_OK(sidbeam_index_get_info(index, &plain, &err));
  CHECK_TEXT(plain.fingerprint, info.fingerprint);
  sidbeam_index_release(index);
}

int main(void) {
  static const test_case tests[] = {
      TEST(bytes_do_not_depend_on_order_calls_or_threads),
      TEST(a_hash_seed_is_part_of_what_makes_the_bytes),
      TEST(writing_again_and_finishing_give_the_same),
      TEST(identical_pairs_merge_and_are_counted),
      TEST(collisions_are_kept_refused_or_cut_to_the_first),
      TEST(ids_default_to_the_row_counted_over_all_calls),
      TEST(plan_is_exact),
      TEST(estimate_needs_no_catalogue),
      TEST(memory_limit_stops_a_build_before_it_starts),
      TEST(progress_tells_phases_and_stays_in_range),
      TEST(cancelling_at_any_moment_keeps_the_old_file_and_leaves_no_litter),
      TEST(cancelled_builder_can_go_on),
      TEST(unwritable_paths_are_io_errors_with_path_and_reason),
      TEST(a_folder_in_the_way_is_an_io_error_and_leaves_no_litter),
      TEST(metadata_is_replaced_sorted_and_outside_the_fingerprint),
  };
  return RUN_TESTS(tests);
}
