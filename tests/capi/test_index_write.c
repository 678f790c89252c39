/* The bytes of an index that is open, and the file that they make again. SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "fixtures.h"

static const catalogue* const all[] = {&small, &small_named, &small_variable, &two_levels};

/* Whatever an index came from, its bytes are those of the builder's file, and so is the file that it writes. */
static void expect_bytes(const sidbeam_index* index, const unsigned char* expected, int64_t expected_bytes) {
  const char* path = temporary_path("written.sidx");
  const void* data = NULL;
  int64_t bytes = 0;
  CHECK_OK(sidbeam_index_bytes(index, &data, &bytes, &err));
  CHECK_INT(bytes, expected_bytes);
  CHECK_INT((intptr_t)data % 64, 0);
  CHECK(memcmp(data, expected, (size_t)bytes) == 0);
  CHECK_OK(sidbeam_index_write(index, path, &err));
  unsigned char* file = read_file(path, &bytes);
  CHECK_INT(bytes, expected_bytes);
  CHECK(memcmp(file, expected, (size_t)bytes) == 0);
  free(file);
}

static void an_index_in_memory_is_the_file_of_its_builder(void) {
  for (size_t i = 0; i < COUNT(all); ++i) {
    int64_t bytes = 0;
    unsigned char* expected = index_bytes(all[i], ALL_KINDS, &bytes);
    sidbeam_index* index = make_index(all[i], ALL_KINDS);
    expect_bytes(index, expected, bytes);
    sidbeam_index_release(index);
    free(expected);
  }
}

static void an_opened_index_is_its_own_file(void) {
  const char* path = temporary_path("opened.sidx");
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  sidbeam_index* index = NULL;
  int64_t bytes = 0;
  sidbeam_builder* builder = make_builder(&small_named, ALL_KINDS);
  CHECK_OK(sidbeam_builder_write(builder, path, &err));
  sidbeam_builder_destroy(builder);
  unsigned char* expected = read_file(path, &bytes);
  for (int i = 0; i < 3; ++i) {
    static const int32_t residencies[] = {SIDBEAM_RESIDENCY_MAP, SIDBEAM_RESIDENCY_PREFAULT, SIDBEAM_RESIDENCY_COPY};
    config.residency = residencies[i];
    CHECK_OK(sidbeam_index_open(runtime, path, &config, &index, &err));
    expect_bytes(index, expected, bytes);
    sidbeam_index_release(index);
  }
  config.residency = SIDBEAM_RESIDENCY_MAP;
  CHECK_OK(sidbeam_index_open_memory(runtime, expected, bytes, NULL, NULL, &config, &index, &err));
  const void* data = NULL;
  CHECK_OK(sidbeam_index_bytes(index, &data, &bytes, &err));
  CHECK(data == (const void*)expected); /* borrowed, not copied */
  expect_bytes(index, expected, bytes);
  sidbeam_index_release(index);
  sidbeam_runtime_release(runtime);
  free(expected);
}

/* The rename leaves the mapping with the old file. */
static void an_index_may_be_written_over_the_file_that_it_maps(void) {
  const char* path = temporary_path("over.sidx");
  static const int32_t sid[3] = {2, 2, 1};
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_index *index = make_index(&small, ALL_KINDS), *mapped = NULL;
  sidbeam_index_info before = SIDBEAM_INDEX_INFO_INIT, after = SIDBEAM_INDEX_INFO_INIT;
  int64_t ordinal = -1, files = 0;
  CHECK_OK(sidbeam_index_get_info(index, &before, &err));
  CHECK_OK(sidbeam_index_write(index, path, &err));
  sidbeam_index_release(index);
  files = files_in_folder(path);
  CHECK_OK(sidbeam_index_open(runtime, path, NULL, &mapped, &err));
  CHECK_OK(sidbeam_index_write(mapped, path, &err));
  CHECK_OK(sidbeam_index_find_sid(mapped, sid, 3, &ordinal, &err));
  CHECK_INT(ordinal, 3);
  sidbeam_index_release(mapped);
  CHECK_INT(files_in_folder(path), files);
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  config.verify = SIDBEAM_VERIFY_FULL;
  CHECK_OK(sidbeam_index_open(runtime, path, &config, &index, &err));
  CHECK_OK(sidbeam_index_get_info(index, &after, &err));
  CHECK_TEXT(after.fingerprint, before.fingerprint);
  sidbeam_index_release(index);
  sidbeam_runtime_release(runtime);
}

/* What is in the file is the caller's to judge: the bytes go out as they came in. */
static void a_damaged_index_is_written_as_it_is(void) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_index* index = NULL;
  int64_t bytes = 0;
  unsigned char* damaged = index_bytes(&small, ALL_KINDS, &bytes);
  damaged[bytes - 1] ^= 1;
  CHECK_OK(sidbeam_index_open_memory(runtime, damaged, bytes, NULL, NULL, NULL, &index, &err));
  expect_bytes(index, damaged, bytes);
  sidbeam_index_release(index);
  sidbeam_runtime_release(runtime);
  free(damaged);
}

static void null_arguments_are_refused(void) {
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  const void* data = NULL;
  int64_t bytes = 0;
  CHECK_FAILS(sidbeam_index_bytes(NULL, &data, &bytes, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK_FAILS(sidbeam_index_bytes(index, NULL, &bytes, &err), SIDBEAM_INVALID_ARGUMENT, "data is NULL");
  CHECK_FAILS(sidbeam_index_bytes(index, &data, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "bytes is NULL");
  CHECK_FAILS(sidbeam_index_write(NULL, "x", &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK_FAILS(sidbeam_index_write(index, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "path is NULL");
  CHECK(data == NULL && bytes == 0);
  sidbeam_index_release(index);
}

static void places_that_cannot_be_written_are_io_errors(void) {
  const char *missing = temporary_path("missing/x.sidx"), *target = temporary_path("nowhere.sidx");
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  CHECK_FAILS(sidbeam_index_write(index, missing, &err), SIDBEAM_IO_ERROR, "cannot create", missing,
              "No such file or directory");
  CHECK_FAILS(sidbeam_index_write(index, "", &err), SIDBEAM_IO_ERROR, "cannot create ''");
  CHECK_FAILS(sidbeam_index_write(index, "/", &err), SIDBEAM_IO_ERROR, "cannot create '/'");
  CHECK_FAILS(sidbeam_index_write(index, "/dev/null", &err), SIDBEAM_IO_ERROR, "cannot replace '/dev/null'",
              "it is not a file");
  CHECK(!file_exists(target));
  sidbeam_index_release(index);
}

/* Pages that are gone are an error of the write, not a signal. */
static void a_mapped_file_that_was_cut_short_is_an_io_error(void) {
  const char *path = temporary_path("cut.sidx"), *target = temporary_path("of_cut.sidx");
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_index *index = make_index(&small, ALL_KINDS), *mapped = NULL;
  CHECK_OK(sidbeam_index_write(index, path, &err));
  CHECK_OK(sidbeam_index_open(runtime, path, NULL, &mapped, &err));
  CHECK(truncate(path, 0) == 0);
  CHECK_FAILS(sidbeam_index_write(mapped, target, &err), SIDBEAM_IO_ERROR, "cannot write", target, "Bad address");
  CHECK(!file_exists(target));
  sidbeam_index_release(mapped);
  sidbeam_index_release(index);
  sidbeam_runtime_release(runtime);
}

int main(void) {
  static const test_case tests[] = {
      TEST(an_index_in_memory_is_the_file_of_its_builder),
      TEST(an_opened_index_is_its_own_file),
      TEST(an_index_may_be_written_over_the_file_that_it_maps),
      TEST(a_damaged_index_is_written_as_it_is),
      TEST(null_arguments_are_refused),
      TEST(places_that_cannot_be_written_are_io_errors),
      TEST(a_mapped_file_that_was_cut_short_is_an_io_error),
  };
  return RUN_TESTS(tests);
}
