/* A client of the ABI's first version. CMake compiles it against the headers as they were frozen (v1/), never against
 * today's, and runs it with today's library and with one whose structs have each grown by a field. It reads and writes
 * every public struct. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <sidbeam/sidbeam.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))
#define CALL(call) ((call) == SIDBEAM_OK ? (void)0 : fail(__LINE__, err.message))

/* A struct between guards, which a library that trusts its own size would overwrite. */
#define GUARDED(type, name, init) \
  struct {                        \
    uint64_t before;              \
    type value;                   \
    uint64_t after;               \
  } name = {kGuard, init, kGuard}
#define INTACT(name) \
  CHECK((name).before == kGuard && (name).after == kGuard && (name).value.struct_size == (uint32_t)sizeof((name).value))

static const uint64_t kGuard = 0x5AFE5AFE5AFE5AFEu;
static sidbeam_error err = SIDBEAM_ERROR_INIT;
static int64_t allocated;

static void fail(int line, const char* what) {
  fprintf(stderr, "client.c:%d: %s\n", line, what);
  exit(1);
}

static void* allocate(void* context, int64_t bytes, int64_t alignment) {
  void* memory = NULL;
  (void)context;
  if (posix_memalign(&memory, (size_t)(alignment < 8 ? 8 : alignment), (size_t)bytes) != 0) return NULL;
  allocated += bytes;
  return memory;
}

static void release(void* context, void* memory, int64_t bytes, int64_t alignment) {
  (void)context, (void)alignment;
  allocated -= bytes;
  free(memory);
}

static sidbeam_runtime* make_runtime(void) {
  sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime;
  allocator.allocate = allocate;
  allocator.release = release;
  config.allocator = &allocator;
  CALL(sidbeam_runtime_create(&config, &runtime, &err));
  return runtime;
}

static void check_plan(sidbeam_plan* plan) {
  GUARDED(sidbeam_plan_info, info, SIDBEAM_PLAN_INFO_INIT);
  GUARDED(sidbeam_section_info, section, SIDBEAM_SECTION_INFO_INIT);
  CALL(sidbeam_plan_get_info(plan, &info.value, &err));
  INTACT(info);
  CHECK(info.value.exact == 1 && info.value.sids == 3 && info.value.section_count > 0 && info.value.nodes[1] == 3);
  CALL(sidbeam_plan_get_section(plan, 0, &section.value, &err));
  INTACT(section);
  CHECK(section.value.kind != NULL && section.value.bytes > 0);
  sidbeam_plan_destroy(plan);
}

static sidbeam_index* make_index(sidbeam_runtime* runtime) {
  const int32_t codes[] = {4, 4}, sids[] = {0, 1, 0, 3, 2, 2};
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  sidbeam_builder* builder;
  sidbeam_index* index;
  sidbeam_plan* plan;
  config.levels = 2;
  config.codes = codes;
  CALL(sidbeam_builder_create(runtime, &config, &builder, &err));
  CALL(sidbeam_builder_add(builder, sids, NULL, 3, NULL, NULL, &err));
  CALL(sidbeam_builder_plan(builder, &plan, &err));
  check_plan(plan);
  CALL(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  return index;
}

static void check_index(sidbeam_runtime* runtime, sidbeam_index* index) {
  GUARDED(sidbeam_index_info, info, SIDBEAM_INDEX_INFO_INIT);
  GUARDED(sidbeam_section_info, section, SIDBEAM_SECTION_INFO_INIT);
  GUARDED(sidbeam_upload_info, upload, SIDBEAM_UPLOAD_INFO_INIT);
  sidbeam_open_config open = SIDBEAM_OPEN_CONFIG_INIT;
  sidbeam_upload_config to_device = SIDBEAM_UPLOAD_CONFIG_INIT;
  sidbeam_index* none = NULL;
  CALL(sidbeam_index_get_info(index, &info.value, &err));
  INTACT(info);
  CHECK(info.value.levels == 2 && info.value.sids == 3 && strlen(info.value.fingerprint) == 32);
  CALL(sidbeam_index_get_section(index, 0, &section.value, &err));
  INTACT(section);
  CALL(sidbeam_index_get_upload(index, 0, &upload.value, &err));
  INTACT(upload);
  CHECK(upload.value.bytes == 0);
  open.verify = SIDBEAM_VERIFY_FULL;
  CHECK(sidbeam_index_open(runtime, "/nowhere/x.sidx", &open, &none, &err) == SIDBEAM_IO_ERROR);
  to_device.kinds = 1 << 20;
  CHECK(sidbeam_index_upload(index, &to_device, &err) == SIDBEAM_INVALID_ARGUMENT);
}

static sidbeam_constraint* make_constraint(sidbeam_index* index) {
  GUARDED(sidbeam_constraint_info, info, SIDBEAM_CONSTRAINT_INFO_INIT);
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_constraint* constraint;
  config.index = index;
  CALL(sidbeam_constraint_create(&config, &constraint, &err));
  CALL(sidbeam_constraint_get_info(constraint, &info.value, &err));
  INTACT(info);
  CHECK(info.value.levels == 2 && info.value.codes[1] == 4 && info.value.sids == 3);
  return constraint;
}

static void check_stateless(sidbeam_runtime* runtime, sidbeam_constraint* constraint) {
  const int32_t prefix[] = {0}, length = 1;
  const float logits[4] = {3, 9, 2, 1};
  sidbeam_constraint* const constraints[] = {constraint};
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  sidbeam_rows rows = sidbeam_rows_dense(logits, SIDBEAM_DTYPE_F32, 0, 1, 4);
  sidbeam_constraint_set* set;
  sidbeam_state state = -1;
  int32_t codes[2];
  float log_probs[2];
  vocabulary.levels = 2;
  config.constraints = constraints;
  config.constraint_count = 1;
  config.vocabulary = &vocabulary;
  CALL(sidbeam_constraint_set_create(runtime, &config, &set, &err));
  CALL(sidbeam_constraint_set_prefixes(set, NULL, prefix, 1, &length, 1, &state, NULL, &err));
  CALL(sidbeam_constraint_set_topk(set, NULL, &state, &rows, SIDBEAM_NORMALIZE_FULL, 2, codes, log_probs, NULL, NULL,
                                   &err));
  CHECK(state > 0 && codes[0] == 1 && codes[1] == 3);
  sidbeam_constraint_set_destroy(set);
}

static void check_search(sidbeam_runtime* runtime, sidbeam_constraint* constraint) {
  static const float logits[2][4] = {{3, 9, 2, 1}, {1, 1, 4, 2}};
  GUARDED(sidbeam_beams, beams, SIDBEAM_BEAMS_INIT);
  GUARDED(sidbeam_stats, stats, SIDBEAM_STATS_INIT);
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  sidbeam_session* session;
  int64_t ordinals[2];
  int level;
  config.beams = 2;
  config.constraint = constraint;
  CALL(sidbeam_session_create(runtime, &config, &session, &err));
  CALL(sidbeam_session_start(session, &start, &err));
  for (level = 0; level < 2; level++) {
    sidbeam_rows rows = SIDBEAM_ROWS_INIT;
    sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
    rows.data = logits[level];
    rows.slots = 1;
    rows.rows = 2;
    rows.columns = 4;
    rows.row_stride = SIDBEAM_BROADCAST;
    step.rows = &rows;
    CALL(sidbeam_session_step(session, &step, &err));
  }
  CALL(sidbeam_session_get_beams(session, &beams.value, &err));
  INTACT(beams);
  CHECK(beams.value.slots == 1 && beams.value.live[0] == 2 && beams.value.errors[0] == 0);
  items.ordinals = ordinals;
  CALL(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  CHECK(ordinals[0] == 2 && ordinals[1] == 1);
  CALL(sidbeam_session_get_stats(session, &stats.value, &err));
  INTACT(stats);
  CHECK(stats.value.steps == 2 && stats.value.memory_bytes > 0);
  sidbeam_session_destroy(session);
}

/* Whose library this is: the folder that the test names. */
static void check_library(const char* folder) {
  const char* (*version)(void) = sidbeam_version;
  void* address;
  Dl_info info;
  memcpy(&address, &version, sizeof(address));
  CHECK(dladdr(address, &info) != 0);
  if (strstr(info.dli_fname, folder) == NULL) fail(__LINE__, info.dli_fname);
}

int main(int argc, char** argv) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_index* index = make_index(runtime);
  sidbeam_constraint* constraint = make_constraint(index);
  if (argc > 1) check_library(argv[1]);
  check_index(runtime, index);
  check_stateless(runtime, constraint);
  check_search(runtime, constraint);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
  sidbeam_runtime_release(runtime);
  CHECK(allocated == 0);
  printf("a client of ABI %u works with library %s\n", SIDBEAM_ABI_VERSION, sidbeam_version());
  return 0;
}
