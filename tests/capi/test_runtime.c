/* The runtime: versions, statuses, configuration and its errors. SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

static void* allocate(void* context, int64_t bytes, int64_t alignment) {
  void* memory = NULL;
  ++*(int64_t*)context;
  return posix_memalign(&memory, (size_t)(alignment < 8 ? 8 : alignment), (size_t)bytes) == 0 ? memory : NULL;
}

static void release(void* context, void* memory, int64_t bytes, int64_t alignment) {
  (void)bytes;
  (void)alignment;
  --*(int64_t*)context;
  free(memory);
}

static void* allocate_nothing(void* context, int64_t bytes, int64_t alignment) {
  (void)context;
  (void)bytes;
  (void)alignment;
  return NULL;
}

static void versions_are_those_of_the_header(void) {
  char version[40];
  snprintf(version, sizeof version, "%d.%d.%d", SIDBEAM_VERSION_MAJOR, SIDBEAM_VERSION_MINOR, SIDBEAM_VERSION_PATCH);
  CHECK_TEXT(sidbeam_version(), version);
  CHECK_INT(sidbeam_abi_version(), SIDBEAM_ABI_VERSION);
}

static void every_status_has_a_name_of_its_own(void) {
  CHECK_TEXT(sidbeam_status_name(SIDBEAM_OK), "ok");
  CHECK_TEXT(sidbeam_status_name(SIDBEAM_INVALID_ARGUMENT), "invalid argument");
  for (int32_t code = SIDBEAM_OK; code <= SIDBEAM_DEVICE_ERROR; ++code) {
    CHECK(strcmp(sidbeam_status_name(code), "unknown status") != 0);
    for (int32_t other = SIDBEAM_OK; other < code; ++other) {
      CHECK(strcmp(sidbeam_status_name(code), sidbeam_status_name(other)) != 0);
    }
  }
}

static void statuses_of_later_versions_are_unknown(void) {
  CHECK_TEXT(sidbeam_status_name(SIDBEAM_DEVICE_ERROR + 1), "unknown status");
  CHECK_TEXT(sidbeam_status_name(-1), "unknown status");
  CHECK_TEXT(sidbeam_status_name(INT32_MAX), "unknown status");
  CHECK_TEXT(sidbeam_status_name(INT32_MIN), "unknown status");
}

static void* allocate_on_device(void* context, int32_t device_id, int64_t bytes, void* stream) {
  (void)context, (void)device_id, (void)bytes, (void)stream;
  return NULL;
}

static void config_may_be_null(void) {
  sidbeam_runtime* runtime = NULL;
  CHECK_OK(sidbeam_runtime_create(NULL, &runtime, &err));
  CHECK(runtime != NULL);
  sidbeam_runtime_release(runtime);
}

static void releasing_null_does_nothing(void) { sidbeam_runtime_release(NULL); }

static void null_out_is_refused(void) {
  CHECK_FAILS(sidbeam_runtime_create(NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out", "NULL");
}

static void err_may_be_null(void) { CHECK_INT(sidbeam_runtime_create(NULL, NULL, NULL), SIDBEAM_INVALID_ARGUMENT); }

static void err_of_an_older_header_is_left_unwritten(void) {
  sidbeam_error old = SIDBEAM_ERROR_INIT;
  old.struct_size = (uint32_t)sizeof old - 1;
  old.code = 77;
  CHECK_INT(sidbeam_runtime_create(NULL, NULL, &old), SIDBEAM_INVALID_ARGUMENT);
  CHECK_INT(old.code, 77);
  CHECK_TEXT(old.message, "");
}

static void err_is_not_written_on_success(void) {
  sidbeam_error untouched = SIDBEAM_ERROR_INIT;
  sidbeam_runtime* runtime = NULL;
  untouched.code = 77;
  strcpy(untouched.message, "as it was");
  CHECK_INT(sidbeam_runtime_create(NULL, &runtime, &untouched), SIDBEAM_OK);
  CHECK_INT(untouched.code, 77);
  CHECK_TEXT(untouched.message, "as it was");
  sidbeam_runtime_release(runtime);
}

static void out_is_left_alone_on_failure(void) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* const before = (sidbeam_runtime*)&config;
  sidbeam_runtime* runtime = before;
  config.threads = -1;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, "threads", "-1");
  CHECK(runtime == before);
}

/* Bytes of the struct in the first release: what callers who were compiled then still say. */
static const size_t FIRST_CONFIG = offsetof(sidbeam_runtime_config, cuda_library);

static void configs_of_the_first_release_work_and_ask_for_nothing_new(void) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  memset((char*)&config + FIRST_CONFIG, 1, sizeof config - FIRST_CONFIG); /* not the caller's: must not be read */
  config.struct_size = (uint32_t)FIRST_CONFIG;
  CHECK_OK(sidbeam_runtime_create(&config, &runtime, &err));
  sidbeam_runtime_release(runtime);
}

static void device_allocators_need_both_functions(void) {
  sidbeam_device_allocator allocator = SIDBEAM_DEVICE_ALLOCATOR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  config.device_allocator = &allocator;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, "device_allocator.allocate");
  allocator.allocate = allocate_on_device;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, "device_allocator.release");
  allocator.struct_size = 8;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT,
              "device_allocator.struct_size");
}

static void struct_size_too_small_is_refused(void) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  char expected[20];
  snprintf(expected, sizeof expected, "%zu", FIRST_CONFIG);
  for (uint32_t size = 0; size < FIRST_CONFIG; size += 4) {
    char actual[20];
    config.struct_size = size;
    snprintf(actual, sizeof actual, "%u", size);
    CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, "struct_size", actual,
                expected);
  }
}

static void longer_config_works_while_its_tail_is_zero(void) {
  const sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  CHECK_OK(sidbeam_runtime_create(grown(&config, sizeof config, 0), &runtime, &err));
  sidbeam_runtime_release(runtime);
  CHECK_FAILS(sidbeam_runtime_create(grown(&config, sizeof config, 1), &runtime, &err), SIDBEAM_UNSUPPORTED, "config");
}

static void allocator_is_used_and_balanced(void) {
  int64_t live = 0;
  sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  allocator.context = &live;
  allocator.allocate = allocate;
  allocator.release = release;
  config.allocator = &allocator;
  CHECK_OK(sidbeam_runtime_create(&config, &runtime, &err));
  memset(&allocator, 0, sizeof allocator); /* it was copied */
  sidbeam_runtime_release(runtime);
  CHECK_INT(live, 0);
}

static void allocator_without_its_functions_is_refused(void) {
  sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  config.allocator = &allocator;
  allocator.release = release;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, "allocate", "NULL");
  allocator.release = NULL;
  allocator.allocate = allocate;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, "release", "NULL");
  allocator.release = release;
  allocator.struct_size = 3;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, "allocator", "struct_size",
              "3");
}

static void allocator_that_gives_nothing_is_out_of_memory(void) {
  sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  allocator.allocate = allocate_nothing;
  allocator.release = release;
  config.allocator = &allocator;
  const sidbeam_status status = sidbeam_runtime_create(&config, &runtime, &err);
  CHECK(status == SIDBEAM_OUT_OF_MEMORY || status == SIDBEAM_OK);
  if (status == SIDBEAM_OK) {
    const sidbeam_builder_config shape = builder_config(&small, ALL_KINDS);
    sidbeam_builder* builder = NULL;
    sidbeam_status last = sidbeam_builder_create(runtime, &shape, &builder, &err);
    if (last == SIDBEAM_OK) last = add_all(builder, &small, &err);
    CHECK_INT(last, SIDBEAM_OUT_OF_MEMORY);
    CHECK_INT(err.code, SIDBEAM_OUT_OF_MEMORY);
    sidbeam_builder_destroy(builder);
  }
  sidbeam_runtime_release(runtime);
}

static void every_cpu_target_works_or_is_unsupported(void) {
  static const char* const targets[] = {"baseline", "avx2", "avx512", "neon"};
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  int known = 0;
  for (size_t i = 0; i < COUNT(targets); ++i) {
    sidbeam_runtime* runtime = NULL;
    config.cpu_target = targets[i];
    clear_error();
    const sidbeam_status status = sidbeam_runtime_create(&config, &runtime, &err);
    CHECK(status == SIDBEAM_OK || (status == SIDBEAM_UNSUPPORTED && strstr(err.message, targets[i]) != NULL));
    if (strcmp(targets[i], "baseline") == 0) CHECK_INT(status, SIDBEAM_OK);
    if (strcmp(targets[i], sidbeam_cpu_target()) == 0) {
      known = 1;
      CHECK_INT(status, SIDBEAM_OK);
    }
    sidbeam_runtime_release(runtime);
  }
  CHECK(known);
}

static void unknown_cpu_target_is_refused(void) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  config.cpu_target = "abacus";
  const sidbeam_status status = sidbeam_runtime_create(&config, &runtime, &err);
  CHECK(status == SIDBEAM_INVALID_ARGUMENT || status == SIDBEAM_UNSUPPORTED);
  CHECK(strstr(err.message, "cpu_target") != NULL && strstr(err.message, "abacus") != NULL);
}

static void keep_line(void* context, int32_t level, const char* message) {
  if (level == SIDBEAM_LOG_INFO) snprintf(context, 700, "%s", message);
}

static void log_lines_hold_nothing_that_a_terminal_obeys(void) {
  char line[700] = "";
  const char* path = temporary_path("\x1b]0;x\x07\nforged\xe2\x80\xae\xff.sidx");
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  const sidbeam_builder_config shape = builder_config(&small, ALL_KINDS);
  sidbeam_runtime* runtime = NULL;
  sidbeam_builder* builder = NULL;
  sidbeam_index* index = NULL;
  config.log = keep_line;
  config.log_context = line;
  config.log_level = SIDBEAM_LOG_INFO;
  CHECK_OK(sidbeam_runtime_create(&config, &runtime, &err));
  CHECK_OK(sidbeam_builder_create(runtime, &shape, &builder, &err));
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_OK(sidbeam_builder_write(builder, path, &err));
  CHECK(strstr(line, "/\\x1b]0;x\\x07\\x0aforged\\xe2\\x80\\xae\\xff.sidx'") != NULL);
  line[0] = '\0';
  CHECK_OK(sidbeam_index_open(runtime, path, NULL, &index, &err));
  CHECK(strstr(line, "/\\x1b]0;x\\x07\\x0aforged\\xe2\\x80\\xae\\xff.sidx'") != NULL);
  sidbeam_index_release(index);
  sidbeam_builder_destroy(builder);
  sidbeam_runtime_release(runtime);
}

static void log_level_out_of_range_is_refused(void) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  config.log_level = 9;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, "log_level", "9");
  config.log_level = -1;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, "log_level", "-1");
}

static void step_threads_out_of_range_are_refused(void) {
  static const int32_t wrong[] = {-1, 1025, INT32_MAX, INT32_MIN};
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  for (size_t i = 0; i < COUNT(wrong); ++i) {
    char actual[20];
    snprintf(actual, sizeof actual, "%d", wrong[i]);
    config.step_threads = wrong[i];
    CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, "config.step_threads",
                actual, "1..1024");
  }
}

static void negative_step_grain_is_refused(void) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  config.step_grain = -1;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, "config.step_grain", "-1",
              "32768");
  config.step_grain = INT64_MIN;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, "config.step_grain",
              "-9223372036854775808");
}

static void objects_keep_their_runtime(void) {
  sidbeam_builder* builder = make_builder(&small, SIDBEAM_KIND_TRIE); /* its runtime has been released */
  sidbeam_index* index = NULL;
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  CHECK_OK(sidbeam_index_verify(index, SIDBEAM_VERIFY_FULL, &err));
  sidbeam_index_release(index);
}

int main(void) {
  static const test_case tests[] = {
      TEST(versions_are_those_of_the_header),
      TEST(every_status_has_a_name_of_its_own),
      TEST(statuses_of_later_versions_are_unknown),
      TEST(config_may_be_null),
      TEST(releasing_null_does_nothing),
      TEST(null_out_is_refused),
      TEST(err_may_be_null),
      TEST(err_of_an_older_header_is_left_unwritten),
      TEST(err_is_not_written_on_success),
      TEST(out_is_left_alone_on_failure),
      TEST(struct_size_too_small_is_refused),
      TEST(configs_of_the_first_release_work_and_ask_for_nothing_new),
      TEST(device_allocators_need_both_functions),
      TEST(longer_config_works_while_its_tail_is_zero),
      TEST(allocator_is_used_and_balanced),
      TEST(allocator_without_its_functions_is_refused),
      TEST(allocator_that_gives_nothing_is_out_of_memory),
      TEST(every_cpu_target_works_or_is_unsupported),
      TEST(unknown_cpu_target_is_refused),
      TEST(log_lines_hold_nothing_that_a_terminal_obeys),
      TEST(log_level_out_of_range_is_refused),
      TEST(step_threads_out_of_range_are_refused),
      TEST(negative_step_grain_is_refused),
      TEST(objects_keep_their_runtime),
  };
  return RUN_TESTS(tests);
}
