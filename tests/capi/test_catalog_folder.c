/* Live catalogues in folders: restarts, folders that are none, files that are missing or another's, the one writer, and
 * children of fork(). SPDX-License-Identifier: Apache-2.0 */
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog_rig.h"

static sidbeam_status create_in(const char* folder, const catalogue* of) {
  sidbeam_index* base = make_index(of, SIDBEAM_KIND_TRIE);
  sidbeam_catalog* catalog = NULL;
  const sidbeam_status status = sidbeam_catalog_create(base, folder, NULL, &catalog, &err);
  sidbeam_index_release(base);
  CHECK((catalog != NULL) == (status == SIDBEAM_OK));
  sidbeam_catalog_close(catalog);
  return status;
}

typedef sidbeam_status opener(sidbeam_runtime* runtime, const char* folder, const sidbeam_catalog_config* config,
                              sidbeam_catalog** out, sidbeam_error* error);

static sidbeam_status try_with(opener* open, const char* folder, const sidbeam_catalog_config* config) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_catalog* catalog = NULL;
  const sidbeam_status status = open(runtime, folder, config, &catalog, &err);
  sidbeam_runtime_release(runtime);
  CHECK((catalog != NULL) == (status == SIDBEAM_OK));
  sidbeam_catalog_close(catalog);
  return status;
}

static sidbeam_status try_open(const char* folder) { return try_with(sidbeam_catalog_open, folder, NULL); }
static sidbeam_status try_follow(const char* folder) { return try_with(sidbeam_catalog_follow, folder, NULL); }

static void a_catalogue_opens_as_it_was_published(void) {
  const char* const folder = three_versions("restart");
  CHECK_TEXT(names_in(folder), "base-1.sidx catalog.live lock log-1.slog ");
  sidbeam_catalog* catalog = open_catalog(folder, NULL);
  const sidbeam_catalog_info info = info_of(catalog);
  CHECK_INT(info.version, 3);
  CHECK_INT(info.oldest_version, 1);
  CHECK_INT(info.changes, 0);
  CHECK_INT(info.cut_bytes, 0);
  CHECK(info.log_bytes > 0 && info.base_bytes > 0);
  CHECK_TEXT(content(catalog, 3), "012:15,10 013:11 030:12 300:14 333:40 ");
  CHECK_TEXT(content(catalog, 2), SMALL_CONTENT "333:40 ");
  CHECK_TEXT(content(catalog, 1), SMALL_CONTENT);
  CHECK_INT(publish_pair(catalog, "333", 41), 4);
  sidbeam_catalog_close(catalog);
  catalog = open_catalog(folder, NULL);
  CHECK_TEXT(content(catalog, 0), "012:15,10 013:11 030:12 300:14 333:40,41 ");
  sidbeam_catalog_close(catalog);
}

static void a_rollback_lasts(void) {
  sidbeam_version_info info = SIDBEAM_VERSION_INFO_INIT;
  const char* const folder = three_versions("back");
  sidbeam_catalog* catalog = open_catalog(folder, NULL);
  CHECK_OK(sidbeam_catalog_rollback(catalog, 1, NULL, &err));
  CHECK_TEXT(content(catalog, 0), SMALL_CONTENT);
  sidbeam_catalog_close(catalog);
  catalog = open_catalog(folder, NULL);
  CHECK_OK(sidbeam_catalog_get_version(catalog, 4, &info, &err));
  CHECK_INT(info.back_to, 1);
  CHECK_TEXT(content(catalog, 0), SMALL_CONTENT);
  CHECK_OK(sidbeam_catalog_rollback(catalog, 3, NULL, &err));
  CHECK_TEXT(content(catalog, 5), "012:15,10 013:11 030:12 300:14 333:40 ");
  sidbeam_catalog_close(catalog);
}

static void so_many_versions_are_kept_and_so_old_ones(void) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  const char* const folder = three_versions("keep");
  config.keep_versions = 2;
  sidbeam_catalog* catalog = open_catalog(folder, &config);
  CHECK_INT(info_of(catalog).oldest_version, 2);
  (void)publish_pair(catalog, "333", 41);
  CHECK_INT(info_of(catalog).oldest_version, 3);
  sidbeam_catalog_close(catalog);
  config.keep_versions = INT64_MAX;
  config.keep_ms = 1;
  catalog = open_catalog(folder, &config);
  int64_t id = 50;
  while (info_of(catalog).oldest_version < 5) CHECK(publish_pair(catalog, "333", id++) < 1000000);
  sidbeam_catalog_close(catalog);
}

static void what_is_published_is_synced_as_configured(void) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  const char* const folder = three_versions("sync");
  for (int32_t sync = SIDBEAM_SYNC_PUBLISH; sync <= SIDBEAM_SYNC_HOST; ++sync) {
    config.sync = sync;
    config.sync_interval_ms = (int64_t)1 << 40;
    sidbeam_catalog* catalog = open_catalog(folder, &config);
    (void)publish_pair(catalog, "333", 50 + sync);
    CHECK((info_of(catalog).unsynced_bytes > 0) == (sync != SIDBEAM_SYNC_PUBLISH));
    CHECK_OK(sidbeam_catalog_sync(catalog, &err));
    CHECK_INT(info_of(catalog).unsynced_bytes, 0);
    sidbeam_catalog_close(catalog);
  }
  config.sync = SIDBEAM_SYNC_INTERVAL;
  config.sync_interval_ms = 0;
  sidbeam_catalog* catalog = open_catalog(folder, &config);
  (void)publish_pair(catalog, "333", 60);
  CHECK_INT(info_of(catalog).unsynced_bytes, 0);
  sidbeam_catalog_close(catalog);
  config.sync_interval_ms = 1;
  catalog = open_catalog(folder, &config);
  int64_t id = 100;
  do CHECK(publish_pair(catalog, "333", id++) < 10000);
  while (info_of(catalog).unsynced_bytes > 0);
  sidbeam_catalog_close(catalog);
}

/* --- Folders that are none --- */

static void a_folder_holds_one_catalogue(void) {
  const char* const folder = three_versions("held");
  CHECK_FAILS(create_in(folder, &small), SIDBEAM_INVALID_ARGUMENT, "holds a catalogue already", folder);
  sidbeam_catalog* catalog = open_catalog(folder, NULL);
  CHECK_INT(info_of(catalog).version, 3);
  CHECK_FAILS(create_in(folder, &small), SIDBEAM_BAD_STATE, "has another writer: process ");
  sidbeam_catalog_close(catalog);
}

static void folders_that_are_missing_or_files_are_named(void) {
  const char* const folder = fresh_folder("missing");
  const char* const inner = path_in(folder, "inner/");
  const char* const file = temporary_path("file");
  CHECK_FAILS(try_open(folder), SIDBEAM_IO_ERROR, "it holds no catalogue", folder);
  CHECK_FAILS(try_follow(folder), SIDBEAM_IO_ERROR, "it holds no catalogue", folder);
  CHECK_FAILS(create_in(inner, &small), SIDBEAM_IO_ERROR, "cannot create", "No such file or directory", folder);
  CHECK(!file_exists(folder));
  CHECK(mkdir(folder, 0777) == 0);
  CHECK_FAILS(try_open(folder), SIDBEAM_IO_ERROR, "it holds no catalogue");
  CHECK_FAILS(try_follow(folder), SIDBEAM_IO_ERROR, "it holds no catalogue");
  CHECK_TEXT(names_in(folder), "");
  CHECK_OK(create_in(path_in(folder, "//"), &small)); /* that is empty */
  CHECK_OK(try_open(path_in(folder, "//")));
  write_text(file, "some text");
  CHECK_FAILS(try_open(file), SIDBEAM_IO_ERROR, "it holds no catalogue", file);
  CHECK_FAILS(create_in(file, &small), SIDBEAM_IO_ERROR, "Not a directory", file);
  CHECK(unlink(file) == 0);
}

/* Names that look like its own, among them the very names of its first files. */
static void files_that_were_there_stay(void) {
  static const char* const names[] = {"base-1.sidx", "base-2026-01-31.sidx", "base-07.sidx", "log-1.slog",
                                      "log-.slog",   "base-3.sidx.old",      "log-12-.slog"};
  const char* const folder = fresh_folder("theirs");
  CHECK(mkdir(folder, 0777) == 0);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) write_text(path_in(folder, names[i]), names[i]);
  CHECK_OK(create_in(folder, &small));
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    int64_t bytes = 0;
    unsigned char* const text = read_file(path_in(folder, names[i]), &bytes);
    CHECK(bytes == (int64_t)strlen(names[i]) && memcmp(text, names[i], (size_t)bytes) == 0);
    free(text);
  }
  CHECK_OK(try_open(folder)); /* which takes names of its kind for what a killed writer left */
  CHECK_TEXT(names_in(folder),
             "base-07.sidx base-1-2.sidx base-2026-01-31.sidx base-3.sidx.old catalog.live lock log-.slog "
             "log-1-2.slog log-12-.slog ");
  CHECK_OK(try_open(folder));
}

/* As a user who may only read; only root can become another one. */
static int without_rights(void* argument) {
  const char* const folder = argument;
  if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(1234) != 0 || setuid(1234) != 0)) return 9;
  CHECK_FAILS(try_open(folder), SIDBEAM_IO_ERROR, "Permission denied", folder);
  CHECK_OK(try_follow(folder));
  CHECK_FAILS(create_in(path_in(folder, "inner"), &small), SIDBEAM_IO_ERROR, "Permission denied", folder);
  return 0;
}

static void a_folder_that_may_only_be_read_can_be_followed(void) {
  const char* const folder = three_versions("rights");
  char around[300];
  struct stat before;
  snprintf(around, sizeof around, "%.*s", (int)(strrchr(folder, '/') - folder), folder);
  CHECK(unlink(path_in(folder, "lock")) == 0);
  CHECK(stat(around, &before) == 0 && chmod(around, 0755) == 0 && chmod(folder, 0555) == 0);
  const int result = run_in_child(without_rights, (void*)folder);
  CHECK(chmod(folder, 0700) == 0 && chmod(around, before.st_mode) == 0);
  CHECK_INT(result, 0);
  CHECK_TEXT(names_in(folder), "base-1.sidx catalog.live log-1.slog ");
}

/* --- Files that are missing, or another's --- */

/* Both ways to open it fail alike. */
#define CHECK_BOTH_FAIL(folder, status, ...)              \
  do {                                                    \
    CHECK_FAILS(try_open(folder), status, __VA_ARGS__);   \
    CHECK_FAILS(try_follow(folder), status, __VA_ARGS__); \
  } while (0)

static void a_base_that_is_missing_or_another_is_named(void) {
  const char *const folder = three_versions("base"), *const other = fresh_folder("base2");
  const char *const base = path_in(folder, "base-1.sidx"), *const aside = path_in(folder, "aside");
  CHECK(rename(base, aside) == 0);
  CHECK_BOTH_FAIL(folder, SIDBEAM_IO_ERROR, "No such file or directory", base);
  CHECK_OK(create_in(other, &two_levels));
  CHECK(rename(path_in(other, "base-1.sidx"), base) == 0);
  CHECK_BOTH_FAIL(folder, SIDBEAM_CORRUPT, "is another index than the base that the catalogue was made of", base);
  write_text(base, "no index at all");
  CHECK_BOTH_FAIL(folder, SIDBEAM_CORRUPT, base);
  CHECK(rename(aside, base) == 0);
  CHECK_OK(try_open(folder));
}

static void a_log_that_is_missing_or_another_is_named(void) {
  sidbeam_catalog_config lossy = SIDBEAM_CATALOG_CONFIG_INIT;
  const char *const folder = three_versions("log"), *const other = three_versions("log2");
  const char *const log = path_in(folder, "log-1.slog"), *const aside = path_in(folder, "aside");
  lossy.accept_loss = 1;
  CHECK(rename(log, aside) == 0);
  CHECK_BOTH_FAIL(folder, SIDBEAM_IO_ERROR, "No such file or directory", log);
  CHECK_FAILS(try_with(sidbeam_catalog_open, folder, &lossy), SIDBEAM_CORRUPT, "nothing can be read of the first log");
  CHECK(rename(path_in(other, "log-1.slog"), log) == 0);
  CHECK_BOTH_FAIL(folder, SIDBEAM_CORRUPT, "is another log than the one that the manifest names", log);
  CHECK(rename(aside, log) == 0);
  CHECK_OK(try_open(folder));
}

/* Where loss is accepted, it is that of what is damaged or gone, and of nothing else. */
static void a_log_that_cannot_be_read_now_is_not_given_up(void) {
  sidbeam_catalog_config lossy = SIDBEAM_CATALOG_CONFIG_INIT;
  const char* const folder = three_versions("unreadable");
  const char *const log = path_in(folder, "log-4.slog"), *const aside = path_in(folder, "aside");
  lossy.accept_loss = 1;
  sidbeam_catalog* catalog = open_catalog(folder, NULL);
  CHECK_OK(sidbeam_catalog_compact(catalog, NULL, NULL, &err));
  CHECK_INT(publish_pair(catalog, "333", 41), 5);
  sidbeam_catalog_close(catalog);
  CHECK(rename(log, aside) == 0 && mkdir(log, 0777) == 0);
  CHECK_FAILS(try_with(sidbeam_catalog_open, folder, &lossy), SIDBEAM_IO_ERROR, "Is a directory", log);
  CHECK(rmdir(log) == 0 && rename(aside, log) == 0);
  catalog = open_catalog(folder, NULL);
  CHECK_INT(info_of(catalog).version, 5);
  sidbeam_catalog_close(catalog);
  CHECK(unlink(log) == 0);
  catalog = open_catalog(folder, &lossy);
  CHECK_INT(info_of(catalog).version, 3);
  CHECK_INT(publish_pair(catalog, "333", 42), 4);
  sidbeam_catalog_close(catalog);
}

static void a_manifest_of_a_newer_format_is_unsupported(void) {
  const char* const folder = three_versions("newer");
  FILE* const manifest = fopen(path_in(folder, "catalog.live"), "r+b");
  CHECK(manifest != NULL && fseek(manifest, 8, SEEK_SET) == 0 && fputc(2, manifest) == 2 && fclose(manifest) == 0);
  CHECK_BOTH_FAIL(folder, SIDBEAM_UNSUPPORTED, "is of format 2.0, this library reads 1");
}

/* --- Writers --- */

static int open_in_another_process(void* folder) {
  char writer[60];
  snprintf(writer, sizeof writer, "has another writer: process %lld on ", (long long)getppid());
  CHECK_FAILS(try_open(folder), SIDBEAM_BAD_STATE, writer, ", since 2");
  CHECK_OK(try_follow(folder));
  return 0;
}

static void there_is_one_writer(void) {
  const char* const folder = three_versions("writer");
  sidbeam_catalog* catalog = open_catalog(folder, NULL);
  char writer[60];
  snprintf(writer, sizeof writer, "has another writer: process %lld on ", (long long)getpid());
  CHECK_FAILS(try_open(folder), SIDBEAM_BAD_STATE, writer, folder);
  CHECK_INT(run_in_child(open_in_another_process, (void*)folder), 0);
  CHECK_INT(publish_pair(catalog, "333", 41), 4);
  sidbeam_catalog_close(catalog);
  CHECK_OK(try_open(folder));
}

static sidbeam_catalog* inherited;

#define CHECK_OF_PARENT(call) \
  CHECK_FAILS(call, SIDBEAM_BAD_STATE, "the catalogue was opened before this process was forked")

static int use_what_a_child_inherits(void* folder) {
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  sidbeam_version_info version = SIDBEAM_VERSION_INFO_INIT;
  sidbeam_index* index = NULL;
  CHECK_OF_PARENT(add_pair(inherited, "333", 50, &err));
  CHECK_OF_PARENT(remove_item(inherited, 10, &err));
  CHECK_OF_PARENT(sidbeam_catalog_publish(inherited, NULL, &err));
  CHECK_OF_PARENT(sidbeam_catalog_discard(inherited, &err));
  CHECK_OF_PARENT(sidbeam_catalog_rollback(inherited, 1, NULL, &err));
  CHECK_OF_PARENT(sidbeam_catalog_compact(inherited, NULL, NULL, &err));
  CHECK_OF_PARENT(sidbeam_catalog_sync(inherited, &err));
  CHECK_OF_PARENT(sidbeam_catalog_refresh(inherited, 0, NULL, &err));
  CHECK_OF_PARENT(sidbeam_catalog_snapshot(inherited, 0, &index, &err));
  CHECK_OF_PARENT(sidbeam_catalog_get_info(inherited, &info, &err));
  CHECK_OF_PARENT(sidbeam_catalog_get_version(inherited, 1, &version, &err));
  sidbeam_catalog_close(inherited);
  return open_in_another_process(folder); /* the parent writes it still */
}

/* Lives on with all that it has inherited until the parent is done. */
static int wait_for_parent(void* pipe_ends) {
  char end;
  close(((int*)pipe_ends)[1]);
  return read(((int*)pipe_ends)[0], &end, 1) == 0 ? 0 : 1;
}

static void a_child_can_only_close_and_takes_no_lock_along(void) {
  const char* const folder = three_versions("fork");
  int pipe_ends[2];
  inherited = open_catalog(folder, NULL);
  CHECK_OK(add_pair(inherited, "333", 41, &err));
  CHECK_INT(run_in_child(use_what_a_child_inherits, (void*)folder), 0);
  CHECK_INT(publish(inherited), 4);
  CHECK(pipe(pipe_ends) == 0);
  const pid_t child = start_child(wait_for_parent, pipe_ends);
  sidbeam_catalog_close(inherited);
  CHECK_OK(try_open(folder));
  CHECK(close(pipe_ends[0]) == 0 && close(pipe_ends[1]) == 0);
  CHECK_INT(end_of_child(child), 0);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_catalogue_opens_as_it_was_published),
      TEST(a_rollback_lasts),
      TEST(so_many_versions_are_kept_and_so_old_ones),
      TEST(what_is_published_is_synced_as_configured),
      TEST(a_folder_holds_one_catalogue),
      TEST(folders_that_are_missing_or_files_are_named),
      TEST(files_that_were_there_stay),
      TEST(a_log_that_cannot_be_read_now_is_not_given_up),
      TEST(a_folder_that_may_only_be_read_can_be_followed),
      TEST(a_base_that_is_missing_or_another_is_named),
      TEST(a_log_that_is_missing_or_another_is_named),
      TEST(a_manifest_of_a_newer_format_is_unsupported),
      TEST(there_is_one_writer),
      TEST(a_child_can_only_close_and_takes_no_lock_along),
  };
  return RUN_TESTS(tests);
}
