/* What the builder makes: the same bytes however they were reached, collisions, progress, files that are whole or not
 * there. SPDX-License-Identifier: Apache-2.0 */
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

static unsigned char* bytes_with_seed(int64_t seed, int64_t* bytes) {
  const char* path = temporary_path("seed.sidx");
  sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_HASH);
  config.hash_seed = seed;
  sidbeam_builder* builder = builder_from(&config);
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_OK(sidbeam_builder_write(builder, path, &err));
  sidbeam_builder_destroy(builder);
  return read_file(path, bytes);
}

static void a_hash_seed_is_part_of_what_makes_the_bytes(void) {
  int64_t bytes[4];
  unsigned char* files[4] = {bytes_with_seed(0, &bytes[0]), bytes_with_seed(INT64_MIN, &bytes[1]),
                             bytes_with_seed(INT64_MIN, &bytes[2]), bytes_with_seed(7, &bytes[3])};
  for (int i = 0; i < 4; ++i) CHECK_INT(bytes[i], bytes[0]);
  CHECK(memcmp(files[1], files[2], (size_t)bytes[0]) == 0);
  CHECK(memcmp(files[0], files[1], (size_t)bytes[0]) != 0);
  CHECK(memcmp(files[3], files[1], (size_t)bytes[0]) != 0);
  for (int i = 0; i < 4; ++i) free(files[i]);
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
  CHECK_FAILS(sidbeam_builder_finish(builder, &index, &err), SIDBEAM_COLLISION,
              "the SID 0,1,2 has the items 15 (row 5) and 10 (row 1), expected one");
  CHECK_FAILS(sidbeam_builder_write(builder, path, &err), SIDBEAM_COLLISION,
              "the SID 0,1,2 has the items 15 (row 5) and 10 (row 1), expected one");
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

static sidbeam_index* finish_from(const catalogue* from, const sidbeam_builder_config* config) {
  sidbeam_builder* builder = builder_from(config);
  sidbeam_index* index = NULL;
  CHECK_OK(add_all(builder, from, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  return index;
}

static void priorities_are_kept_on_request(void) {
  const catalogue* catalogues[] = {&small, &small_named};
  for (int c = 0; c < 2; ++c) {
    sidbeam_builder_config config = builder_config(catalogues[c], ALL_KINDS);
    config.keep_priorities = 1;
    sidbeam_index* index = finish_from(catalogues[c], &config);
    for (int64_t item_row = 0; item_row < 6; ++item_row) {
      int64_t priority = -1;
      CHECK_OK(sidbeam_index_item_priority(index, item_row, &priority, &err));
      CHECK_INT(priority, item_row == 0 ? 7 : 0);
    }
    CHECK_OK(sidbeam_index_verify(index, SIDBEAM_VERIFY_FULL, &err));
    sidbeam_index_release(index);
  }
}

static void priorities_that_were_not_kept_are_missing(void) {
  sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  int64_t priority = -1;
  sidbeam_index* index = finish_from(&small, &config);
  CHECK_FAILS(sidbeam_index_item_priority(index, 0, &priority, &err), SIDBEAM_MISSING_SECTION,
              "the index keeps no priorities: build it with keep_priorities");
  CHECK_INT(priority, -1);
  sidbeam_index_release(index);
  config.keep_priorities = -1;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_builder* builder = NULL;
  CHECK_FAILS(sidbeam_builder_create(runtime, &config, &builder, &err), SIDBEAM_INVALID_ARGUMENT,
              "keep_priorities is -1, expected 0 or 1");
  sidbeam_runtime_release(runtime);
}

/* Callers of the first version end with four bytes of padding, in which anything may stand. */
static void padding_of_the_first_version_is_not_read(void) {
  sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  int64_t priority = -1;
  config.struct_size = 88;
  memset(&config.unused, 0xff, sizeof config - offsetof(sidbeam_builder_config, unused));
  sidbeam_index* index = finish_from(&small, &config);
  CHECK_FAILS(sidbeam_index_item_priority(index, 0, &priority, &err), SIDBEAM_MISSING_SECTION, "keeps no priorities");
  sidbeam_index_release(index);
}

static void ids_default_to_the_place_counted_over_all_calls(void) {
  const sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  sidbeam_builder* builder = builder_from(&config);
  sidbeam_index* index = NULL;
  static const int64_t expected[6] = {1, 5, 3, 4, 0, 2}; /* ids rise, since there are no priorities */
  CHECK_OK(sidbeam_builder_add(builder, small.sids, NULL, 2, NULL, NULL, &err));
  CHECK_OK(sidbeam_builder_add(builder, small.sids + 6, NULL, 4, NULL, NULL, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  for (int64_t item_row = 0; item_row < 6; ++item_row) {
    int64_t id = -2, bytes = -2;
    const char* name = NULL;
    CHECK_OK(sidbeam_index_item_id(index, item_row, &id, &name, &bytes, &err));
    CHECK_INT(id, expected[item_row]);
  }
  sidbeam_index_release(index);
  sidbeam_builder_destroy(builder);
}

static void memory_limit_stops_a_build_before_it_starts(void) {
  sidbeam_builder_config config = builder_config(&small, ALL_KINDS);
  sidbeam_index* index = NULL;
  config.memory_limit_bytes = 100;
  sidbeam_builder* builder = builder_from(&config);
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_FAILS(sidbeam_builder_finish(builder, &index, &err), SIDBEAM_OUT_OF_MEMORY, "the build needs about ",
              "memory_limit_bytes is 100");
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
  CHECK(log.ordered);
  CHECK_INT(log.phases_seen, (2 << SIDBEAM_PHASE_SYNC) - 1); /* every one of them */
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
  CHECK_FAILS(sidbeam_builder_finish(builder, &index, &err), SIDBEAM_CANCELLED, "progress callback");
  CHECK(index == NULL);
  CHECK_INT(info_of(builder).items, 6);
  sidbeam_builder_destroy(builder);
}

static void unwritable_paths_are_io_errors_with_path_and_reason(void) {
  const char* path = temporary_path("no-such-folder/x.sidx");
  sidbeam_builder* builder = make_builder(&small, SIDBEAM_KIND_TRIE);
  CHECK_FAILS(sidbeam_builder_write(builder, path, &err), SIDBEAM_IO_ERROR, path, "No such file or directory");
  CHECK_FAILS(sidbeam_builder_write(builder, "", &err), SIDBEAM_IO_ERROR, " '': No such file or directory");
  CHECK_OK(sidbeam_builder_write(builder, temporary_path("after-all.sidx"), &err));
  sidbeam_builder_destroy(builder);
}

static void a_folder_in_the_way_is_an_io_error_and_leaves_no_litter(void) {
  const char* path = temporary_path("x");
  char folder[300];
  const int before = (write_text(path, "x"), files_in_folder(path));
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
  sidbeam_builder* builder = make_builder(&small, SIDBEAM_KIND_TRIE);
  CHECK_FAILS(sidbeam_builder_write(builder, folder, &err), SIDBEAM_IO_ERROR, folder, "cannot create ",
              "Is a directory");
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
      TEST(priorities_are_kept_on_request),
      TEST(priorities_that_were_not_kept_are_missing),
      TEST(padding_of_the_first_version_is_not_read),
      TEST(ids_default_to_the_place_counted_over_all_calls),
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
