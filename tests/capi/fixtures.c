/* Catalogues, indexes, sessions and files for the tests. SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

#include <dirent.h>
#include <ftw.h>
#include <unistd.h>

static const int32_t four_codes[3] = {4, 4, 4};
static const int32_t small_sids[] = {2, 2, 1, 0, 1, 2, 3, 0, 0, 0, 1, 3, 0, 3, 0, 0, 1, 2};
static const int64_t small_ids[] = {13, 10, 14, 11, 12, 15}, small_priorities[] = {0, 0, 0, 0, 0, 7};
static const char* const small_names[] = {"thirteen", "ten", "fourteen", "eleven", "twelve", "fifteen"};
const catalogue small = {3, 0, SIDBEAM_ID_I64, four_codes, small_sids, NULL, small_ids, small_priorities, NULL, 6};
const catalogue small_named = {3,    0,    SIDBEAM_ID_STRING, four_codes,  small_sids,
                               NULL, NULL, small_priorities,  small_names, 6};

static const int32_t variable_sids[] = {0, -1, -1, 0, 1, -1, 0, 1, 2, 2, 2, 1, 3, 0, -1};
static const int32_t variable_lengths[] = {1, 2, 3, 3, 2};
static const int64_t variable_ids[] = {20, 21, 22, 23, 24};
const catalogue small_variable = {
    3, 1, SIDBEAM_ID_I64, four_codes, variable_sids, variable_lengths, variable_ids, NULL, NULL, 5};

static const int32_t two_codes[2] = {4, 3}, two_sids[] = {3, 1, 1, 2, 1, 0};
static const int64_t two_ids[] = {32, 31, 30};
const catalogue two_levels = {2, 0, SIDBEAM_ID_I64, two_codes, two_sids, NULL, two_ids, NULL, NULL, 3};

const float halving[4] = {-1, -2, -4, -8};

sidbeam_runtime* make_runtime(void) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  config.threads = 1;
  CHECK_OK(sidbeam_runtime_create(&config, &runtime, &err));
  return runtime;
}

sidbeam_builder_config builder_config(const catalogue* from, int32_t kinds) {
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = from->levels;
  config.codes = from->codes;
  config.variable_length = from->variable_length;
  config.id_type = from->id_type;
  config.kinds = kinds;
  return config;
}

sidbeam_status add_all(sidbeam_builder* builder, const catalogue* from, sidbeam_error* error) {
  char bytes[1024];
  int64_t offsets[64] = {0};
  if (from->names == NULL) {
    return sidbeam_builder_add(builder, from->sids, from->lengths, from->count, from->ids, from->priorities, error);
  }
  for (int64_t i = 0; i < from->count; ++i) {
    const size_t length = strlen(from->names[i]);
    memcpy(bytes + offsets[i], from->names[i], length);
    offsets[i + 1] = offsets[i] + (int64_t)length;
  }
  return sidbeam_builder_add_named(builder, from->sids, from->lengths, from->count, bytes, offsets, from->priorities,
                                   error);
}

static sidbeam_builder* build_from(const catalogue* from, const sidbeam_builder_config* config) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_builder* builder = NULL;
  CHECK_OK(sidbeam_builder_create(runtime, config, &builder, &err));
  sidbeam_runtime_release(runtime);
  CHECK_OK(add_all(builder, from, &err));
  return builder;
}

sidbeam_builder* make_builder(const catalogue* from, int32_t kinds) {
  const sidbeam_builder_config config = builder_config(from, kinds);
  return build_from(from, &config);
}

static sidbeam_index* finish(sidbeam_builder* builder) {
  sidbeam_index* index = NULL;
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  return index;
}

sidbeam_index* make_index(const catalogue* from, int32_t kinds) { return finish(make_builder(from, kinds)); }

sidbeam_index* index_of_codebook(const catalogue* from, const char* codebook) {
  sidbeam_builder_config config = builder_config(from, SIDBEAM_KIND_TRIE);
  config.codebook = codebook;
  return finish(build_from(from, &config));
}

sidbeam_constraint* constrain(sidbeam_index* index) {
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_constraint* constraint = NULL;
  config.index = index;
  CHECK_OK(sidbeam_constraint_create(&config, &constraint, &err));
  return constraint;
}

static sidbeam_constraint* constrain_and_release(sidbeam_index* index) {
  sidbeam_constraint* constraint = constrain(index);
  sidbeam_index_release(index);
  return constraint;
}

sidbeam_constraint* make_constraint(const catalogue* from, int32_t kinds) {
  return constrain_and_release(make_index(from, kinds));
}

sidbeam_constraint* constraint_of_codebook(const catalogue* from, const char* codebook) {
  return constrain_and_release(index_of_codebook(from, codebook));
}

sidbeam_constraint_set* make_set(sidbeam_constraint* const* constraints, int64_t count,
                                 const sidbeam_vocabulary* vocabulary) {
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint_set* set = NULL;
  config.constraints = constraints;
  config.constraint_count = count;
  config.vocabulary = vocabulary;
  CHECK_OK(sidbeam_constraint_set_create(runtime, &config, &set, &err));
  sidbeam_runtime_release(runtime);
  return set;
}

sidbeam_session_config session_config(sidbeam_constraint* constraint) {
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.constraint = constraint;
  config.beams = 4;
  config.normalization = SIDBEAM_NORMALIZE_NONE;
  return config;
}

sidbeam_session* make_session(const sidbeam_session_config* config) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_session* session = NULL;
  CHECK_OK(sidbeam_session_create(runtime, config, &session, &err));
  sidbeam_runtime_release(runtime);
  return session;
}

sidbeam_rows make_rows(const float* data, int64_t slots, int64_t rows, int64_t columns) {
  return sidbeam_rows_dense(data, SIDBEAM_DTYPE_F32, slots, rows, columns);
}

sidbeam_rows same_row(const float* row, int64_t slots, int64_t rows, int64_t columns) {
  sidbeam_rows result = make_rows(row, slots, rows, columns);
  result.slot_stride = SIDBEAM_BROADCAST;
  result.row_stride = SIDBEAM_BROADCAST;
  return result;
}

void start_all(sidbeam_session* session) {
  const sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
}

void start_slot(sidbeam_session* session, int32_t slot) {
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.slots = &slot;
  args.count = 1;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
}

void step_all(sidbeam_session* session, const float* row) {
  const sidbeam_beams beams = beams_of(session);
  const sidbeam_rows rows = same_row(row, beams.slots, beams.beams, 4);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  CHECK_OK(sidbeam_session_step(session, &args, &err));
}

sidbeam_beams beams_of(const sidbeam_session* session) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  CHECK_OK(sidbeam_session_get_beams(session, &beams, &err));
  return beams;
}

session_view view_of(const sidbeam_session* session) {
  const sidbeam_beams beams = beams_of(session);
  session_view v;
  memset(&v, 0, sizeof v);
  memcpy(v.parents, beams.parents, sizeof v.parents);
  memcpy(v.codes, beams.codes, sizeof v.codes);
  memcpy(v.scores, beams.scores, sizeof v.scores);
  if (beams.log_masses != NULL) memcpy(v.log_masses, beams.log_masses, sizeof v.log_masses);
  memcpy(v.states, beams.states, sizeof v.states);
  memcpy(v.live, beams.live, sizeof v.live);
  memcpy(v.active, beams.active, sizeof v.active);
  memcpy(v.level, beams.level, sizeof v.level);
  memcpy(v.errors, beams.errors, sizeof v.errors);
  return v;
}

int64_t counter_of(const sidbeam_session* session, const char* name) {
  const char* names[32];
  int64_t values[32], count = 0;
  CHECK_OK(sidbeam_session_get_counters(session, COUNT(names), names, values, &count, &err));
  for (int64_t i = 0; i < count; ++i)
    if (strcmp(names[i], name) == 0) return values[i];
  fail_check(__FILE__, __LINE__, name, ": expected a counter of this name");
  return -1;
}

static char folder[200];

static int remove_one(const char* path, const struct stat* status, int kind, struct FTW* place) {
  (void)status, (void)kind, (void)place;
  (void)remove(path);
  return 0;
}

static void remove_folder(void) { (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

const char* temporary_path(const char* name) {
  static char paths[8][300];
  static unsigned next;
  char* path = paths[next++ % 8];
  if (folder[0] == '\0') {
    /* In memory if the system has a place for that: the tests sync hundreds of files. */
    const char* base = getenv("TMPDIR");
    if (base == NULL) base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/sidbeam-test-XXXXXX", base);
    CHECK(mkdtemp(folder) != NULL);
    atexit(remove_folder);
  }
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

int files_in_folder(const char* path) {
  char around[300];
  int files = 0;
  snprintf(around, sizeof around, "%.*s", (int)(strrchr(path, '/') - path), path);
  DIR* entries = opendir(around);
  CHECK(entries != NULL);
  for (struct dirent* entry; (entry = readdir(entries)) != NULL;)
    files += entry->d_name[0] != '.' || entry->d_name[1] > '.';
  closedir(entries);
  return files;
}

void write_text(const char* path, const char* text) {
  FILE* file = fopen(path, "wb");
  CHECK(file != NULL);
  CHECK(fputs(text, file) >= 0);
  CHECK_INT(fclose(file), 0);
}

int file_exists(const char* path) { return access(path, F_OK) == 0; }

unsigned char* read_file(const char* path, int64_t* bytes) {
  FILE* file = fopen(path, "rb");
  void* data = NULL;
  CHECK(file != NULL);
  CHECK(fseek(file, 0, SEEK_END) == 0);
  *bytes = ftell(file);
  CHECK(*bytes > 0);
  rewind(file);
  CHECK(posix_memalign(&data, 64, (size_t)*bytes) == 0);
  CHECK_INT(fread(data, 1, (size_t)*bytes, file), *bytes);
  fclose(file);
  return data;
}

unsigned char* index_bytes(const catalogue* from, int32_t kinds, int64_t* bytes) {
  const char* path = temporary_path("bytes.sidx");
  sidbeam_builder* builder = make_builder(from, kinds);
  CHECK_OK(sidbeam_builder_write(builder, path, &err));
  sidbeam_builder_destroy(builder);
  return read_file(path, bytes);
}

void* grown(const void* original, size_t bytes, int tail) {
  static int64_t storage[2048];
  const uint32_t size = (uint32_t)bytes + 16;
  CHECK(bytes + 16 <= sizeof storage);
  memcpy(storage, original, bytes);
  memset((char*)storage + bytes, tail, 16);
  memcpy(storage, &size, sizeof size);
  return storage;
}
