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
  for (int32_t code = SIDBEAM_OK; code <= SIDBEAM_DEADLINE_EXCEEDED; ++code) {
    CHECK(strcmp(sidbeam_status_name(code), "unknown status") != 0);
    for (int32_t other = SIDBEAM_OK; other < code; ++other) {
      CHECK(strcmp(sidbeam_status_name(code), sidbeam_status_name(other)) != 0);
    }
  }
}

static void statuses_of_later_versions_are_unknown(void) {
  CHECK_TEXT(sidbeam_status_name(SIDBEAM_DEADLINE_EXCEEDED + 1), "unknown status");
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
  CHECK_FAILS(sidbeam_runtime_create(NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
}

static void err_may_be_null(void) { CHECK_INT(sidbeam_runtime_create(NULL, NULL, NULL), SIDBEAM_INVALID_ARGUMENT); }

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
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.threads is -1, expected 1..1024, or 0 for ");
  CHECK(runtime == before);
}

static void device_allocators_need_both_functions(void) {
  sidbeam_device_allocator allocator = SIDBEAM_DEVICE_ALLOCATOR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  config.device_allocator = &allocator;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.device_allocator.allocate is NULL, expected a function");
  allocator.allocate = allocate_on_device;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.device_allocator.release is NULL, expected a function");
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
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.allocator.allocate is NULL, expected a function");
  allocator.release = NULL;
  allocator.allocate = allocate;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.allocator.release is NULL, expected a function");
}

static void allocator_that_gives_nothing_is_out_of_memory(void) {
  sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  allocator.allocate = allocate_nothing;
  allocator.release = release;
  config.allocator = &allocator;
  const sidbeam_builder_config shape = builder_config(&small, ALL_KINDS);
  sidbeam_builder* builder = NULL;
  CHECK_OK(sidbeam_runtime_create(&config, &runtime, &err)); /* takes none itself */
  CHECK_OK(sidbeam_builder_create(runtime, &shape, &builder, &err));
  CHECK_FAILS(add_all(builder, &small, &err), SIDBEAM_OUT_OF_MEMORY, "out of memory: ", " bytes");
  sidbeam_builder_destroy(builder);
  sidbeam_runtime_release(runtime);
}

static void every_cpu_target_works_or_is_unsupported(void) {
  static const char* const targets[] = {"baseline", "avx2", "avx512", "neon"};
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  int known = 0;
  for (size_t i = 0; i < COUNT(targets); ++i) {
    sidbeam_runtime* runtime = NULL;
    char refused[80];
    snprintf(refused, sizeof refused, "config.cpu_target is \"%s\", expected ", targets[i]);
    config.cpu_target = targets[i];
    clear_error();
    const sidbeam_status status = sidbeam_runtime_create(&config, &runtime, &err);
    CHECK(status == SIDBEAM_OK || (status == SIDBEAM_UNSUPPORTED && strstr(err.message, refused) != NULL));
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
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_UNSUPPORTED,
              "config.cpu_target is \"abacus\", expected baseline, or ");
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
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.log_level is 9, expected 0..2");
  config.log_level = -1;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.log_level is -1, expected 0..2");
}

static void step_threads_out_of_range_are_refused(void) {
  static const int32_t wrong[] = {-1, 1025, INT32_MAX, INT32_MIN};
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  for (size_t i = 0; i < COUNT(wrong); ++i) {
    char expected[80];
    snprintf(expected, sizeof expected, "config.step_threads is %d, expected 1..1024, or 0", wrong[i]);
    config.step_threads = wrong[i];
    CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT, expected);
  }
}

static void negative_step_grain_is_refused(void) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  config.step_grain = -1;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.step_grain is -1, expected a number of elements, or 0 for 32768");
  config.step_grain = INT64_MIN;
  CHECK_FAILS(sidbeam_runtime_create(&config, &runtime, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.step_grain is -9223372036854775808, expected");
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
      TEST(err_is_not_written_on_success),
      TEST(out_is_left_alone_on_failure),
      TEST(device_allocators_need_both_functions),
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
