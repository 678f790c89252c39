/* The runner's table for hosts that dlopen: versions, entries, and a whole request through it alone.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sidbeam/runner_api.h>

#include "tiny_model.h"

static const sidbeam_runner_api* table(void) {
  const sidbeam_runner_api* api = NULL;
  CHECK_OK(sidbeam_runner_get_api(SIDBEAM_RUNNER_ABI_VERSION, &api, &err));
  CHECK(api != NULL);
  return api;
}

static void other_versions_are_unsupported_and_both_are_named(void) {
  const sidbeam_runner_api* api = NULL;
  CHECK_FAILS(sidbeam_runner_get_api(77, &api, &err), SIDBEAM_UNSUPPORTED,
              "abi_version is 77, expected 1, that of the runner's library ");
  CHECK_FAILS(sidbeam_runner_get_api(0, &api, &err), SIDBEAM_UNSUPPORTED, "abi_version is 0, expected 1");
  CHECK(api == NULL);
  CHECK_FAILS(sidbeam_runner_get_api(SIDBEAM_RUNNER_ABI_VERSION, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
}

static void the_table_is_one_and_its_entries_are_the_functions_of_their_names(void) {
  const sidbeam_runner_api* api = table();
  size_t entries = 0;
  CHECK(api == table());
  CHECK_INT(api->struct_size, sizeof *api);
#define STRUCT(type, bytes)
#define FIELD(type, field, at, bytes)
#define CONSTANT(name, value)
#define ENTRY(place, name)            \
  CHECK(api->name == sidbeam_##name); \
  ++entries;
#include "../../abi/runner_v1.inc"
  CHECK_INT(entries, (sizeof *api - offsetof(sidbeam_runner_api, runner_abi_version)) / sizeof api->model_open);
}

static void count_items(void* context, const sidbeam_result* result) { *(int32_t*)context = result->live; }

static void a_request_runs_through_the_table_alone(void) {
  const sidbeam_runner_api* api = table();
  const int32_t history[] = {1, 5, 2};
  int32_t found = 0;
  sidbeam_model* model = NULL;
  sidbeam_runner* runner = NULL;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  sidbeam_request request = SIDBEAM_REQUEST_INIT;
  sidbeam_runner_stats stats = SIDBEAM_RUNNER_STATS_INIT;
  CHECK_OK(api->model_open(write_tiny_model("tiny", NULL), NULL, &model, &err));
  config.model = model;
  config.constraint = constraint;
  config.beams = 4;
  config.max_prompt = 16;
  CHECK_OK(api->runner_create(runtime, &config, &runner, &err));
  /* The runner holds what it needs. */
  api->model_release(model);
  sidbeam_constraint_release(constraint);
  sidbeam_runtime_release(runtime);
  request.tokens = history;
  request.positions = 3;
  request.done = count_items;
  request.context = &found;
  CHECK_OK(api->runner_run(runner, &request, &err));
  CHECK_INT(found, 4);
  CHECK_OK(api->runner_get_stats(runner, &stats, &err));
  CHECK_INT(stats.finished, 1);
  api->runner_destroy(runner);
}

int main(void) {
  static const test_case tests[] = {
      TEST(other_versions_are_unsupported_and_both_are_named),
      TEST(the_table_is_one_and_its_entries_are_the_functions_of_their_names),
      TEST(a_request_runs_through_the_table_alone),
  };
  return RUN_TESTS(tests);
}
