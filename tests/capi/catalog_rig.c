/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog_rig.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BEAMS = 64, LEVELS = 3, CODES = 4, MOST_ITEMS = 256 };

sidbeam_index* priced_index(void) {
  static const int64_t prices[6] = {3, 0, 4, 1, 2, 5}, offsets[7] = {0, 1, 2, 3, 4, 5, 6};
  sidbeam_attribute_column price = SIDBEAM_ATTRIBUTE_COLUMN_INIT, region = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  sidbeam_builder* builder = NULL;
  sidbeam_index* index = NULL;
  price.name = "price";
  price.integers = prices;
  region.name = "region";
  region.text = "abcdef";
  region.offsets = offsets;
  CHECK_OK(sidbeam_builder_create(runtime, &config, &builder, &err));
  CHECK_OK(sidbeam_builder_declare_attribute(builder, "price", SIDBEAM_ATTRIBUTE_I64, &err));
  CHECK_OK(sidbeam_builder_declare_attribute(builder, "region", SIDBEAM_ATTRIBUTE_STRING, &err));
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_OK(sidbeam_builder_set_attribute(builder, &price, 6, &err));
  CHECK_OK(sidbeam_builder_set_attribute(builder, &region, 6, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  sidbeam_runtime_release(runtime);
  return index;
}

/* --- Folders --- */

static char known[32][300]; /* that were handed out */
static size_t known_count;

void remove_folder(const char* path) {
  DIR* const entries = opendir(path);
  for (struct dirent* entry; entries != NULL && (entry = readdir(entries)) != NULL;)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) (void)unlink(path_in(path, entry->d_name));
  if (entries != NULL) closedir(entries);
  (void)rmdir(path);
}

static void remove_known(void) {
  for (size_t i = 0; i < known_count; ++i) remove_folder(known[i]);
}

const char* fresh_folder(const char* name) {
  const char* const path = temporary_path(name);
  size_t i = 0;
  while (i < known_count && strcmp(known[i], path) != 0) ++i;
  if (i == known_count) {
    if (known_count == 0) atexit(remove_known); /* before that of fixtures.c, which came first */
    CHECK(known_count < COUNT(known));
    snprintf(known[known_count++], sizeof known[0], "%s", path);
  }
  remove_folder(path);
  return known[i];
}

const char* path_in(const char* folder, const char* name) {
  static char paths[8][600];
  static unsigned next;
  char* const path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

void copy_folder(const char* from, const char* to) {
  DIR* const entries = opendir(from);
  remove_folder(to);
  CHECK(entries != NULL && mkdir(to, 0777) == 0);
  for (struct dirent* entry; (entry = readdir(entries)) != NULL;) {
    char bytes[4096];
    if (entry->d_name[0] == '.') continue;
    FILE *in = fopen(path_in(from, entry->d_name), "rb"), *out = fopen(path_in(to, entry->d_name), "wb");
    CHECK(in != NULL && out != NULL);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;) CHECK_INT(fwrite(bytes, 1, n, out), n);
    fclose(in);
    CHECK_INT(fclose(out), 0);
  }
  closedir(entries);
}

static int by_text(const void* a, const void* b) { return strcmp(a, b); }

const char* names_in(const char* folder) {
  static char text[2000];
  char names[32][64];
  size_t count = 0;
  DIR* const entries = opendir(folder);
  CHECK(entries != NULL);
  for (struct dirent* entry; (entry = readdir(entries)) != NULL && count < COUNT(names);)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      snprintf(names[count++], sizeof names[0], "%.60s", entry->d_name);
  closedir(entries);
  qsort(names, count, sizeof names[0], by_text);
  text[0] = '\0';
  for (size_t i = 0; i < count; ++i) strcat(strcat(text, names[i]), " ");
  return text;
}

/* --- Catalogues --- */

sidbeam_catalog* make_catalog(const char* folder) {
  sidbeam_index* base = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_catalog* catalog = NULL;
  CHECK_OK(sidbeam_catalog_create(base, folder, NULL, &catalog, &err));
  sidbeam_index_release(base);
  return catalog;
}

sidbeam_catalog* open_catalog(const char* folder, const sidbeam_catalog_config* config) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_catalog* catalog = NULL;
  CHECK_OK(sidbeam_catalog_open(runtime, folder, config, &catalog, &err));
  sidbeam_runtime_release(runtime);
  return catalog;
}

sidbeam_catalog* follow_catalog(const char* folder) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_catalog* catalog = NULL;
  CHECK_OK(sidbeam_catalog_follow(runtime, folder, NULL, &catalog, &err));
  sidbeam_runtime_release(runtime);
  return catalog;
}

sidbeam_catalog_info info_of(const sidbeam_catalog* catalog) {
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  CHECK_OK(sidbeam_catalog_get_info(catalog, &info, &err));
  return info;
}

sidbeam_status add_pair(sidbeam_catalog* catalog, const char* sid, int64_t id, sidbeam_error* error) {
  const int32_t codes[LEVELS] = {sid[0] - '0', sid[1] - '0', sid[2] - '0'};
  sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  pairs.codes = codes;
  pairs.ids = &id;
  pairs.count = 1;
  return sidbeam_catalog_add(catalog, &pairs, error);
}

sidbeam_status remove_item(sidbeam_catalog* catalog, int64_t id, sidbeam_error* error) {
  const sidbeam_item_list list = ids(&id, 1);
  return sidbeam_catalog_remove(catalog, &list, NULL, error);
}

int64_t publish(sidbeam_catalog* catalog) {
  int64_t version = 0;
  CHECK_OK(sidbeam_catalog_publish(catalog, &version, &err));
  return version;
}

int64_t publish_pair(sidbeam_catalog* catalog, const char* sid, int64_t id) {
  CHECK_OK(add_pair(catalog, sid, id, &err));
  return publish(catalog);
}

const char* three_versions(const char* name) {
  const char* const folder = fresh_folder(name);
  sidbeam_catalog* catalog = make_catalog(folder);
  CHECK_INT(publish_pair(catalog, "333", 40), 2);
  CHECK_OK(remove_item(catalog, 13, &err));
  CHECK_INT(publish(catalog), 3);
  CHECK_OK(add_pair(catalog, "333", 99, &err)); /* is lost */
  sidbeam_catalog_close(catalog);
  return folder;
}

/* --- Contents --- */

/* Zeros for logits keep all beams, by SID. Returns what failed, or NULL. */
static const char* search_all(sidbeam_session* session, int32_t* sids, int64_t* rows, int64_t* offsets) {
  static const float zeros[CODES];
  const sidbeam_rows logits = same_row(zeros, 1, BEAMS, CODES);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  step.rows = &logits;
  items.sids = sids;
  items.item_rows = rows;
  items.offsets = offsets;
  items.limit = MOST_ITEMS;
  if (sidbeam_session_start(session, &start, NULL) != SIDBEAM_OK) return "start";
  for (int level = 0; level < LEVELS; ++level) {
    if (sidbeam_session_get_beams(session, &beams, NULL) != SIDBEAM_OK) return "beams";
    if (beams.active[0] == 0) break;
    if (sidbeam_session_step(session, &step, NULL) != SIDBEAM_OK) return "step";
  }
  return sidbeam_session_get_items(session, NULL, 0, &items, NULL) == SIDBEAM_OK ? NULL : "items";
}

static void write_content(sidbeam_index* index, const int32_t* sids, const int64_t* rows, const int64_t* offsets,
                          char* text) {
  for (int beam = 0; beam < BEAMS; ++beam) {
    const int32_t* sid = sids + LEVELS * beam;
    if (offsets[beam + 1] == offsets[beam]) continue;
    text += sprintf(text, "%d%d%d:", sid[0], sid[1], sid[2]);
    for (int64_t i = offsets[beam]; i < offsets[beam + 1]; ++i) {
      const char* name = NULL;
      int64_t id = -1, bytes = 0;
      (void)!sidbeam_index_item_id(index, rows[i], &id, &name, &bytes, NULL);
      text += sprintf(text, "%s%lld", i > offsets[beam] ? "," : "", (long long)id);
    }
    text += sprintf(text, " ");
  }
}

void find_content(sidbeam_index* index, char* text) {
  sidbeam_runtime_config runtime_config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_constraint_config rules = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  sidbeam_constraint* constraint = NULL;
  sidbeam_session* session = NULL;
  int32_t sids[BEAMS * LEVELS];
  int64_t rows[MOST_ITEMS], offsets[BEAMS + 1];
  const char* failed = NULL;
  runtime_config.threads = 1;
  rules.index = index;
  text[0] = '\0';
  if (sidbeam_runtime_create(&runtime_config, &runtime, NULL) != SIDBEAM_OK) failed = "runtime";
  if (failed == NULL && sidbeam_constraint_create(&rules, &constraint, NULL) != SIDBEAM_OK) failed = "constraint";
  config.constraint = constraint;
  config.beams = BEAMS;
  config.normalization = SIDBEAM_NORMALIZE_NONE;
  if (failed == NULL && sidbeam_session_create(runtime, &config, &session, NULL) != SIDBEAM_OK) failed = "session";
  if (failed == NULL) failed = search_all(session, sids, rows, offsets);
  if (failed != NULL) {
    sprintf(text, "failed: %s", failed);
  } else {
    write_content(index, sids, rows, offsets, text);
  }
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  sidbeam_runtime_release(runtime);
}

const char* content_of(sidbeam_index* index) {
  static char texts[4][8192];
  static unsigned next;
  char* const text = texts[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % 4];
  find_content(index, text);
  return text;
}

const char* content(sidbeam_catalog* catalog, int64_t version) {
  sidbeam_index* index = NULL;
  CHECK_OK(sidbeam_catalog_snapshot(catalog, version, &index, &err));
  const char* const text = content_of(index);
  sidbeam_index_release(index);
  return text;
}

/* A check that fails in a child must not go on with the parent's tests. */
static void leave_child(void) { _exit(1); }

pid_t start_child(int (*body)(void* argument), void* argument) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    after_test = leave_child;
    const int result = body(argument);
    fflush(stdout);
    _exit(result);
  }
  CHECK(child > 0);
  return child;
}

int end_of_child(pid_t child) {
  int status = 0;
  CHECK_INT(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int run_in_child(int (*body)(void* argument), void* argument) { return end_of_child(start_child(body, argument)); }
