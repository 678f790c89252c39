/* A host that loads sidbeam when it needs it, as serving stacks do: it includes the headers, links libdl alone and
 * takes one symbol from the library, the table of api.h.
 *
 *   dlopen_host [LIBRARY [INDEX.sidx]]     default: libsidbeam.so.1 and a catalogue of three items
 *
 * It decodes one request of four beams from logits that it makes up. SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <sidbeam/sidbeam.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEAMS = 4 };

static sidbeam_error err = SIDBEAM_ERROR_INIT;

static void fail(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void check(sidbeam_status status, const char* what) {
  if (status != SIDBEAM_OK) fail(what, err.message);
}

/* RTLD_LOCAL keeps the library's names out of the host's; the library stays loaded until the process ends. */
static const sidbeam_api* load(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) fail("dlopen", dlerror());
  sidbeam_get_api_function get_api;
  void* symbol = dlsym(handle, "sidbeam_get_api");
  if (symbol == NULL) fail("dlsym", dlerror());
  memcpy(&get_api, &symbol, sizeof get_api); /* ISO C has no cast from object pointers to function pointers */
  const sidbeam_api* api;
  check(get_api(SIDBEAM_ABI_VERSION, &api, &err), "sidbeam_get_api");
  if (api->struct_size < sizeof *api) fail(library, "is older than the headers of this program");
  return api;
}

static sidbeam_index* three_items(const sidbeam_api* api, sidbeam_runtime* runtime) {
  const int32_t codes[2] = {4, 4}, catalogue[3][2] = {{0, 1}, {0, 3}, {2, 2}};
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = 2;
  config.codes = codes;
  sidbeam_builder* builder;
  sidbeam_index* index;
  check(api->builder_create(runtime, &config, &builder, &err), "builder_create");
  check(api->builder_add(builder, catalogue[0], NULL, 3, NULL, NULL, &err), "builder_add");
  check(api->builder_finish(builder, &index, &err), "builder_finish");
  api->builder_destroy(builder);
  return index;
}

/* Stands for the model: logits of every beam at a level; any numbers will do. There is one column more than the widest
 * level has codes: it ends a SID where lengths vary. */
static void model(float* logits, int64_t count, int32_t level) {
  for (int64_t i = 0; i < count; i++) logits[i] = (float)((i * 37 + level * 11) % 101) / 25.0f;
}

static void decode(const sidbeam_api* api, sidbeam_session* session, int64_t columns) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  check(api->session_get_beams(session, &beams, &err), "session_get_beams"); /* the addresses stay the same */
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;                        /* every slot: one */
  check(api->session_start(session, &start, &err), "session_start");

  float* logits = calloc((size_t)(BEAMS * columns), sizeof *logits);
  if (logits == NULL) fail("calloc", "out of memory");
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  rows.data = logits;
  rows.slots = 1;
  rows.rows = BEAMS;
  rows.columns = columns;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.rows = &rows;
  while (beams.active[0] > 0) {
    model(logits, BEAMS * columns, beams.level[0]);
    check(api->session_step(session, &step, &err), "session_step");
  }
  free(logits);

  int64_t ordinals[BEAMS];
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals;
  check(api->session_get_items(session, NULL, 0, &items, &err), "session_get_items");
  for (int32_t m = 0; m < beams.live[0]; m++)
    printf("sid %lld  score %.3f\n", (long long)ordinals[m], (double)beams.scores[m]);
}

int main(int argc, char** argv) {
  const sidbeam_api* api = load(argc > 1 ? argv[1] : "libsidbeam.so.1");
  printf("sidbeam %s, ABI %u\n", api->version(), (unsigned)api->abi_version());
  sidbeam_runtime* runtime;
  sidbeam_index* index;
  check(api->runtime_create(NULL, &runtime, &err), "runtime_create");
  if (argc > 2)
    check(api->index_open(runtime, argv[2], NULL, &index, &err), "index_open");
  else
    index = three_items(api, runtime);

  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  check(api->index_get_info(index, &info, &err), "index_get_info");
  int64_t widest = 0;
  for (int32_t l = 0; l < info.levels; l++) widest = info.codes[l] > widest ? info.codes[l] : widest;

  sidbeam_constraint* constraint;
  sidbeam_session* session;
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = info.levels;
  vocabulary.end_column = widest;
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  sidbeam_constraint_config items = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  items.index = index;
  check(api->constraint_create(&items, &constraint, &err), "constraint_create");
  config.beams = BEAMS;
  config.constraint = constraint;
  config.vocabulary = &vocabulary;
  check(api->session_create(runtime, &config, &session, &err), "session_create");
  decode(api, session, widest + 1);

  api->session_destroy(session);
  api->constraint_release(constraint);
  api->index_release(index);
  api->runtime_release(runtime);
  return 0;
}
