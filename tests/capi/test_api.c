/* The table for hosts that dlopen: versions, entries, and a whole search through it alone.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

static const sidbeam_api* table(void) {
  const sidbeam_api* api = NULL;
  CHECK_OK(sidbeam_get_api(SIDBEAM_ABI_VERSION, &api, &err));
  CHECK(api != NULL);
  return api;
}

static void other_versions_are_unsupported_and_both_are_named(void) {
  const sidbeam_api* api = NULL;
  CHECK_FAILS(sidbeam_get_api(77, &api, &err), SIDBEAM_UNSUPPORTED, "abi_version is 77, expected 1, that of library ");
  CHECK_FAILS(sidbeam_get_api(0, &api, &err), SIDBEAM_UNSUPPORTED, "abi_version is 0, expected 1, that of library ");
  CHECK(api == NULL);
  CHECK_FAILS(sidbeam_get_api(SIDBEAM_ABI_VERSION, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
}

static void the_table_is_one_and_whole(void) {
  const sidbeam_api* api = table();
  CHECK(api == table());
  CHECK_INT(api->struct_size, sizeof(sidbeam_api));
  const size_t first = offsetof(sidbeam_api, version);
  for (size_t at = first; at < sizeof *api; at += sizeof api->version) {
    void* entry = NULL;
    memcpy(&entry, (const char*)api + at, sizeof entry);
    CHECK(entry != NULL);
  }
}

static void entries_are_the_functions_of_their_names(void) {
  const sidbeam_api* api = table();
  size_t entries = 0;
#define STRUCT(type, bytes)
#define FIELD(type, field, at, bytes)
#define CONSTANT(name, value)
#define ENTRY(place, name)            \
  CHECK(api->name == sidbeam_##name); \
  ++entries;
#include "../abi/abi_v1.inc"
  CHECK_INT(entries, (sizeof *api - offsetof(sidbeam_api, version)) / sizeof api->version);
}

static void a_search_runs_through_the_table_alone(void) {
  const sidbeam_api* api = table();
  sidbeam_runtime* runtime = NULL;
  sidbeam_builder* builder = NULL;
  sidbeam_index* index = NULL;
  sidbeam_constraint* constraint = NULL;
  sidbeam_session* session = NULL;
  const sidbeam_builder_config shape = builder_config(&two_levels, SIDBEAM_KIND_TRIE);
  const sidbeam_rows rows = same_row(halving, 1, 2, 4);
  sidbeam_constraint_config items = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  const sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  CHECK_OK(api->runtime_create(NULL, &runtime, &err));
  CHECK_OK(api->builder_create(runtime, &shape, &builder, &err));
  CHECK_OK(api->builder_add(builder, two_levels.sids, NULL, two_levels.count, two_levels.ids, NULL, &err));
  CHECK_OK(api->builder_finish(builder, &index, &err));
  items.index = index;
  CHECK_OK(api->constraint_create(&items, &constraint, &err));
  sidbeam_session_config config = session_config(constraint);
  config.beams = 2;
  CHECK_OK(api->session_create(runtime, &config, &session, &err));
  /* The session holds what it needs. */
  api->constraint_release(constraint);
  api->index_release(index);
  api->builder_destroy(builder);
  api->runtime_release(runtime);
  step.rows = &rows;
  CHECK_OK(api->session_start(session, &start, &err));
  CHECK_OK(api->session_step(session, &step, &err));
  CHECK_OK(api->session_step(session, &step, &err));
  CHECK_OK(api->session_get_beams(session, &beams, &err));
  CHECK_I32(beams.codes, ((const int32_t[]){0, 2}), 2);
  CHECK_F32(beams.scores, ((const float[]){-3, -6}), 2);
  api->session_destroy(session);
}

int main(void) {
  static const test_case tests[] = {
      TEST(other_versions_are_unsupported_and_both_are_named),
      TEST(the_table_is_one_and_whole),
      TEST(entries_are_the_functions_of_their_names),
      TEST(a_search_runs_through_the_table_alone),
  };
  return RUN_TESTS(tests);
}
