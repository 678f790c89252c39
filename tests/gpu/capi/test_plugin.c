/* Finding the plugin, the driver and the device: whatever is missing is named, the CPU goes on, and so does CUDA once
 * it is there. SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>

#include "../../capi/fixtures.h"
#include "device.h"

static const char* own_path;

static sidbeam_runtime* runtime_with(const char* library) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  config.threads = 1;
  config.cuda_library = library;
  CHECK_OK(sidbeam_runtime_create(&config, &runtime, &err));
  return runtime;
}

/* On `runtime`, whose index it is too: what is uploaded is uploaded by the index's runtime. */
static sidbeam_status create_on(sidbeam_runtime* runtime, int32_t device_type, int32_t device_id) {
  const sidbeam_builder_config shape = builder_config(&small, SIDBEAM_KIND_TRIE);
  sidbeam_builder* builder = NULL;
  sidbeam_index* index = NULL;
  sidbeam_constraint* constraint = NULL;
  sidbeam_session* session = NULL;
  sidbeam_error ignored = SIDBEAM_ERROR_INIT;
  sidbeam_constraint_config items = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  if (sidbeam_builder_create(runtime, &shape, &builder, &ignored) != SIDBEAM_OK ||
      add_all(builder, &small, &ignored) != SIDBEAM_OK ||
      sidbeam_builder_finish(builder, &index, &ignored) != SIDBEAM_OK)
    return SIDBEAM_INTERNAL;
  items.index = index;
  if (sidbeam_constraint_create(&items, &constraint, &ignored) != SIDBEAM_OK) return SIDBEAM_INTERNAL;
  sidbeam_session_config config = session_config(constraint);
  config.device_type = device_type;
  config.device_id = device_id;
  const sidbeam_status status = sidbeam_session_create(runtime, &config, &session, &err);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
  sidbeam_builder_destroy(builder);
  return status;
}

/* CUDA is refused with these words; the CPU of the same runtime works. */
#define CHECK_MISSING(library, device, ...)                                                        \
  do {                                                                                             \
    sidbeam_runtime* runtime_ = runtime_with(library);                                             \
    CHECK_FAILS(create_on(runtime_, SIDBEAM_DEVICE_CUDA, device), SIDBEAM_NO_DEVICE, __VA_ARGS__); \
    CHECK_OK(create_on(runtime_, SIDBEAM_DEVICE_CPU, 0));                                          \
    sidbeam_runtime_release(runtime_);                                                             \
  } while (0)

static void a_plugin_that_is_not_there_is_named_with_who_named_it(void) {
  CHECK_MISSING("/nowhere/libplugin.so", 0,
                "the CUDA plugin that runtime_config.cuda_library names does not load: /nowhere/libplugin.so");
  setenv("SIDBEAM_CUDA_LIBRARY", "/nowhere/else.so", 1);
  CHECK_MISSING(NULL, 0, "the CUDA plugin that SIDBEAM_CUDA_LIBRARY names does not load: /nowhere/else.so");
  setenv("SIDBEAM_CUDA_LIBRARY", PLUGIN, 1);
}

static void a_library_that_is_no_plugin_is_refused(void) {
  CHECK_MISSING(PLUGIN_NONE, 0, "is no CUDA plugin of sidbeam: it lacks sidbeam_cuda_plugin", PLUGIN_NONE);
}

static void a_plugin_of_another_interface_is_refused(void) {
  CHECK_MISSING(PLUGIN_OLD, 0, PLUGIN_OLD, "version 0 of its interface, expected 1");
}

static void a_plugin_of_another_build_is_refused(void) {
  CHECK_MISSING(PLUGIN_STRANGER, 0, PLUGIN_STRANGER, "build of-a-stranger");
}

static void a_missing_driver_is_named(void) {
  set_driver(0);
  CHECK_MISSING(NULL, 0, "no NVIDIA driver is installed");
  set_driver(13000);
}

static void a_driver_that_is_too_old_is_named(void) {
  set_driver(12020);
  CHECK_MISSING(NULL, 0, "the NVIDIA driver is for CUDA 12.2, expected at least 13.0");
  set_driver(13000);
}

static void a_machine_without_devices_is_named(void) {
  set_devices(0);
  CHECK_MISSING(NULL, 0, "no CUDA device");
  set_devices(1);
}

static void devices_out_of_range_are_refused(void) {
  CHECK_MISSING(NULL, 1, "device_id is 1, expected 0..0");
  CHECK_MISSING(NULL, -1, "device_id is -1, expected 0..0");
}

static void a_device_that_is_too_old_is_named(void) {
  set_capability(7);
  CHECK_MISSING(NULL, 0, "compute capability 7.0, expected at least 8.0");
  set_capability(9);
}

static void what_was_missing_works_once_it_is_there(void) {
  sidbeam_runtime* runtime = runtime_with(NULL);
  set_devices(0);
  CHECK_FAILS(create_on(runtime, SIDBEAM_DEVICE_CUDA, 0), SIDBEAM_NO_DEVICE, "no CUDA device");
  set_devices(1);
  CHECK_OK(create_on(runtime, SIDBEAM_DEVICE_CUDA, 0));
  sidbeam_runtime_release(runtime);
  CHECK_INT(live_allocations(), 0);
}

static void the_path_of_the_config_comes_before_the_environment(void) {
  setenv("SIDBEAM_CUDA_LIBRARY", "/nowhere/else.so", 1);
  sidbeam_runtime* runtime = runtime_with(PLUGIN);
  CHECK_OK(create_on(runtime, SIDBEAM_DEVICE_CUDA, 0));
  sidbeam_runtime_release(runtime);
  setenv("SIDBEAM_CUDA_LIBRARY", PLUGIN, 1);
}

static void copy_to(const char* from, const char* to) {
  int64_t bytes = 0;
  unsigned char* data = read_file(from, &bytes);
  FILE* file = fopen(to, "wb");
  CHECK(file != NULL);
  CHECK_INT(fwrite(data, 1, (size_t)bytes, file), bytes);
  fclose(file);
  free(data);
}

/* In a process that has the library from a folder of its own; what lies there as the plugin is none of this build. */
static void the_plugin_beside_the_library_is_asked(void) {
  CHECK_MISSING(NULL, 0, getenv("SIDBEAM_TEST_FOLDER"), "/libsidbeam_cuda.so.1", "version 0");
}

static void the_plugin_is_found_beside_the_library(void) {
  Dl_info info;
  char command[2000];
  void* entry = NULL;
  const char* (*version)(void) = sidbeam_version;
  memcpy(&entry, &version, sizeof entry);
  CHECK(dladdr(entry, &info) != 0);
  copy_to(info.dli_fname, temporary_path("libsidbeam.so.1"));
  copy_to(PLUGIN_OLD, temporary_path("libsidbeam_cuda.so.1"));
  const char* folder = temporary_path("");
  snprintf(command, sizeof command,
           "env -u SIDBEAM_CUDA_LIBRARY SIDBEAM_TEST_FOLDER='%.*s' LD_LIBRARY_PATH='%s' '%s' beside >'%s'",
           (int)strlen(folder) - 1, folder, folder, own_path, temporary_path("log"));
  CHECK_INT(system(command), 0);
}

int main(int argc, char** argv) {
  static const test_case beside[] = {TEST(the_plugin_beside_the_library_is_asked)};
  static const test_case tests[] = {
      TEST(a_plugin_that_is_not_there_is_named_with_who_named_it),
      TEST(a_library_that_is_no_plugin_is_refused),
      TEST(a_plugin_of_another_interface_is_refused),
      TEST(a_plugin_of_another_build_is_refused),
      TEST(a_missing_driver_is_named),
      TEST(a_driver_that_is_too_old_is_named),
      TEST(a_machine_without_devices_is_named),
      TEST(devices_out_of_range_are_refused),
      TEST(a_device_that_is_too_old_is_named),
      TEST(what_was_missing_works_once_it_is_there),
      TEST(the_path_of_the_config_comes_before_the_environment),
      TEST(the_plugin_is_found_beside_the_library),
  };
  own_path = argv[0];
  return argc > 1 ? RUN_TESTS(beside) : RUN_TESTS(tests);
}
