/* Followers of live catalogues. SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "arrow_rig.h"
#include "catalog_rig.h"

static void a_follower_sees_what_is_published_when_it_looks(void) {
  const char* const folder = three_versions("follow");
  sidbeam_catalog *follower = follow_catalog(folder), *catalog = open_catalog(folder, NULL);
  int64_t version = 0;
  CHECK_INT(info_of(follower).follows, 1);
  CHECK_INT(info_of(follower).version, 3);
  CHECK_OK(add_pair(catalog, "333", 41, &err));
  CHECK_OK(sidbeam_catalog_refresh(follower, 0, &version, &err));
  CHECK_INT(version, 3);
  (void)publish(catalog);
  CHECK_INT(info_of(follower).version, 3);
  CHECK_OK(sidbeam_catalog_refresh(follower, 0, &version, &err));
  CHECK_INT(version, 4);
  CHECK_TEXT(content(follower, 0), content(catalog, 0));
  CHECK_OK(sidbeam_catalog_rollback(catalog, 1, NULL, &err));
  CHECK_OK(sidbeam_catalog_compact(catalog, NULL, NULL, &err));
  CHECK_OK(sidbeam_catalog_refresh(follower, 0, &version, &err));
  CHECK_INT(version, 6);
  CHECK_INT(info_of(follower).generation, 2);
  for (int64_t each = 1; each <= 6; ++each) CHECK_TEXT(content(follower, each), content(catalog, each));
  sidbeam_catalog_close(catalog);
  sidbeam_catalog_close(follower);
}

static void a_follower_changes_nothing(void) {
  const char* const folder = three_versions("reader");
  sidbeam_catalog* follower = follow_catalog(folder);
  struct ArrowArrayStream stream;
  arrow_source source = {0};
  const char* const said = "the catalogue was opened to follow it, expected one opened to write";
  CHECK_FAILS(add_pair(follower, "333", 50, &err), SIDBEAM_BAD_STATE, said);
  CHECK_FAILS(remove_item(follower, 10, &err), SIDBEAM_BAD_STATE, said);
  CHECK_FAILS(sidbeam_catalog_publish(follower, NULL, &err), SIDBEAM_BAD_STATE, said);
  CHECK_FAILS(sidbeam_catalog_discard(follower, &err), SIDBEAM_BAD_STATE, said);
  CHECK_FAILS(sidbeam_catalog_rollback(follower, 1, NULL, &err), SIDBEAM_BAD_STATE, said);
  CHECK_FAILS(sidbeam_catalog_compact(follower, NULL, NULL, &err), SIDBEAM_BAD_STATE, said);
  CHECK_FAILS(sidbeam_catalog_sync(follower, &err), SIDBEAM_BAD_STATE, said);
  source.fail_at = -1;
  arrow_export(&source, &stream);
  CHECK_FAILS(sidbeam_catalog_add_arrow(follower, &stream, NULL, NULL, &err), SIDBEAM_BAD_STATE, said);
  CHECK_INT(source.released, 1);
  sidbeam_catalog_close(follower);
}

static int publish_in_another_process(void* folder) {
  sidbeam_catalog* catalog = open_catalog(folder, NULL);
  (void)publish_pair(catalog, "333", 41);
  sidbeam_catalog_close(catalog);
  return 0;
}

static void a_follower_waits_for_another_process(void) {
  const char* const folder = three_versions("wait");
  sidbeam_catalog* follower = follow_catalog(folder);
  int64_t version = 0;
  const pid_t child = start_child(publish_in_another_process, (void*)folder);
  CHECK_OK(sidbeam_catalog_refresh(follower, (int64_t)1 << 62, &version, &err));
  CHECK_INT(version, 4);
  CHECK_INT(end_of_child(child), 0);
  CHECK_TEXT(content(follower, 0), "012:15,10 013:11 030:12 300:14 333:40,41 ");
  sidbeam_catalog_close(follower);
}

/* How many files that this process has open or mapped are in a folder. */
static int files_held(const char* folder) {
  char line[1000];
  int count = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL);
  while (fgets(line, sizeof line, maps) != NULL) count += strstr(line, folder) != NULL;
  fclose(maps);
  for (int fd = 0; fd < 256; ++fd) {
    snprintf(line, sizeof line, "/proc/self/fd/%d", fd);
    char path[600] = "";
    if (readlink(line, path, sizeof path - 1) > 0) count += strstr(path, folder) != NULL;
  }
  return count;
}

static void a_follower_lets_old_bases_and_logs_go(void) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  const char* const folder = three_versions("old");
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_catalog* follower = NULL;
  config.keep_versions = 1;
  sidbeam_catalog* catalog = open_catalog(folder, &config);
  CHECK_OK(sidbeam_catalog_follow(runtime, folder, &config, &follower, &err));
  const int before = files_held(folder);
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(sidbeam_catalog_compact(catalog, NULL, NULL, &err));
    CHECK_OK(sidbeam_catalog_refresh(follower, 0, NULL, &err));
    CHECK_INT(files_held(folder), before);
  }
  CHECK_TEXT(names_in(folder), "base-4.sidx catalog.live lock log-6.slog ");
  sidbeam_catalog_close(follower);
  sidbeam_catalog_close(catalog);
  sidbeam_runtime_release(runtime);
}

/* A new base that cannot be read, for now. (Versions that nobody has asked for yet are not to be had meanwhile.) */
static void a_refresh_that_fails_changes_nothing(void) {
  sidbeam_index* index = NULL;
  const char* const folder = three_versions("unread");
  sidbeam_catalog *catalog = open_catalog(folder, NULL), *follower = follow_catalog(folder);
  CHECK_OK(sidbeam_catalog_compact(catalog, NULL, NULL, &err));
  CHECK(rename(path_in(folder, "base-2.sidx"), path_in(folder, "aside")) == 0);
  for (int again = 0; again < 2; ++again) {
    CHECK_FAILS(sidbeam_catalog_refresh(follower, 0, NULL, &err), SIDBEAM_IO_ERROR, "base-2.sidx': No such file");
    CHECK_INT(info_of(follower).version, 3);
    CHECK_TEXT(content(follower, 0), "012:15,10 013:11 030:12 300:14 333:40 ");
    CHECK_FAILS(sidbeam_catalog_snapshot(follower, 1, &index, &err), SIDBEAM_BAD_STATE, "expected that done again");
  }
  CHECK(rename(path_in(folder, "aside"), path_in(folder, "base-2.sidx")) == 0);
  CHECK_OK(sidbeam_catalog_refresh(follower, 0, NULL, &err));
  for (int64_t version = 1; version <= 4; ++version) CHECK_TEXT(content(follower, version), content(catalog, version));
  sidbeam_catalog_close(follower);
  sidbeam_catalog_close(catalog);
}

static void a_follower_reads_on_behind_what_was_given_up(void) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  const char* const folder = three_versions("given_up");
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_catalog* catalog = open_catalog(folder, NULL);
  for (int64_t id = 50; id < 53; ++id) (void)publish_pair(catalog, "333", id);
  const int64_t bytes = info_of(catalog).log_bytes;
  sidbeam_catalog_close(catalog);
  FILE* const log = fopen(path_in(folder, "log-1.slog"), "r+b");
  CHECK(log != NULL && fseek(log, (long)bytes * 3 / 4, SEEK_SET) == 0 && fputs("damage", log) >= 0 && fclose(log) == 0);
  config.accept_loss = 1;
  CHECK_OK(sidbeam_catalog_open(runtime, folder, &config, &catalog, &err));
  const int64_t left = info_of(catalog).version;
  CHECK(left > 1 && left < 6);
  sidbeam_catalog* follower = follow_catalog(folder);
  for (int64_t version = left; version < left + 4; ++version) {
    CHECK_INT(info_of(follower).version, version);
    CHECK_TEXT(content(follower, 0), content(catalog, 0));
    (void)publish_pair(catalog, "222", 60 + version);
    CHECK_OK(sidbeam_catalog_refresh(follower, 0, NULL, &err));
  }
  sidbeam_catalog_close(follower);
  sidbeam_catalog_close(catalog);
  sidbeam_runtime_release(runtime);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_follower_sees_what_is_published_when_it_looks),
      TEST(a_follower_changes_nothing),
      TEST(a_follower_waits_for_another_process),
      TEST(a_follower_lets_old_bases_and_logs_go),
      TEST(a_refresh_that_fails_changes_nothing),
      TEST(a_follower_reads_on_behind_what_was_given_up),
  };
  return RUN_TESTS(tests);
}
