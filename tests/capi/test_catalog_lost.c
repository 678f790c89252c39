/* Files and rights that go while a live catalogue is open: who has them goes on, who needs them is told which, and
 * nothing that was published is lost. SPDX-License-Identifier: Apache-2.0 */
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog_rig.h"

enum { ANYBODY = 1234 }; /* a user without rights */

static sidbeam_catalog* open_keeping_one(const char* folder) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  config.keep_versions = 1;
  return open_catalog(folder, &config);
}

static sidbeam_status try_follow(const char* folder) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_catalog* follower = NULL;
  const sidbeam_status status = sidbeam_catalog_follow(runtime, folder, NULL, &follower, &err);
  sidbeam_catalog_close(follower);
  sidbeam_runtime_release(runtime);
  return status;
}

static void a_version_outlives_its_folder(void) {
  const char* const folder = three_versions("gone");
  sidbeam_catalog* catalog = open_catalog(folder, NULL);
  sidbeam_index* index = NULL;
  CHECK_OK(sidbeam_catalog_snapshot(catalog, 2, &index, &err));
  sidbeam_catalog_close(catalog);
  remove_folder(folder);
  CHECK_TEXT(content_of(index), SMALL_CONTENT "333:40 ");
  sidbeam_index_release(index);
}

/* Compacted; without priorities in the base the rows of a SID are by id. */
#define COMPACTED "012:10,15 013:11 030:12 300:14 333:40,41 "

static void what_is_removed_under_its_writer_a_compaction_makes_anew(void) {
  static const char* const names[] = {"base-1.sidx", "log-1.slog"};
  for (size_t i = 0; i < COUNT(names); ++i) {
    const char* const folder = three_versions("removed");
    sidbeam_catalog* catalog = open_keeping_one(folder);
    CHECK(unlink(path_in(folder, names[i])) == 0);
    CHECK_FAILS(try_follow(folder), SIDBEAM_IO_ERROR, "No such file or directory", path_in(folder, names[i]));
    CHECK_INT(publish_pair(catalog, "333", 41), 4);
    CHECK_OK(sidbeam_catalog_compact(catalog, NULL, NULL, &err));
    sidbeam_catalog_close(catalog);
    CHECK_TEXT(names_in(folder), "base-2.sidx catalog.live lock log-5.slog ");
    catalog = open_keeping_one(folder);
    CHECK_TEXT(content(catalog, 0), COMPACTED);
    sidbeam_catalog_close(catalog);
  }
}

/* Who made a catalogue's files, as a user to whom rights mean something. */
static int lose_rights(void* argument) {
  const char* const folder = argument;
  if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(ANYBODY) != 0 || setuid(ANYBODY) != 0)) return 9;
  sidbeam_catalog* catalog = open_catalog(folder, NULL);
  CHECK(chmod(folder, 0555) == 0);
  CHECK_FAILS(sidbeam_catalog_compact(catalog, NULL, NULL, &err), SIDBEAM_IO_ERROR, "Permission denied", folder);
  CHECK_INT(info_of(catalog).log_failed, 0);
  CHECK_INT(publish_pair(catalog, "333", 41), 4); /* the log was opened before */
  CHECK_OK(try_follow(folder));
  CHECK(chmod(folder, 0) == 0);
  CHECK_FAILS(try_follow(folder), SIDBEAM_IO_ERROR, "Permission denied", folder);
  CHECK(chmod(folder, 0755) == 0 && chmod(path_in(folder, "base-1.sidx"), 0) == 0);
  CHECK_FAILS(try_follow(folder), SIDBEAM_IO_ERROR, "Permission denied", path_in(folder, "base-1.sidx"));
  CHECK(chmod(path_in(folder, "base-1.sidx"), 0644) == 0);
  CHECK_OK(sidbeam_catalog_compact(catalog, NULL, NULL, &err));
  sidbeam_catalog_close(catalog);
  return 0;
}

static void rights_that_go_and_come_back_lose_nothing(void) {
  static const char* const names[] = {"", "base-1.sidx", "catalog.live", "lock", "log-1.slog"};
  const char* const folder = three_versions("rights");
  char around[300];
  struct stat before;
  snprintf(around, sizeof around, "%.*s", (int)(strrchr(folder, '/') - folder), folder);
  CHECK(stat(around, &before) == 0 && chmod(around, 0755) == 0);
  for (size_t i = 0; i < COUNT(names) && geteuid() == 0; ++i)
    CHECK(chown(path_in(folder, names[i]), ANYBODY, ANYBODY) == 0);
  const int result = run_in_child(lose_rights, (void*)folder);
  CHECK(chmod(folder, 0700) == 0 && chmod(around, before.st_mode) == 0);
  CHECK_INT(result, 0);
  sidbeam_catalog* catalog = open_catalog(folder, NULL);
  CHECK_INT(info_of(catalog).version, 5);
  CHECK_TEXT(content(catalog, 0), COMPACTED);
  CHECK_TEXT(content(catalog, 1), SMALL_CONTENT);
  sidbeam_catalog_close(catalog);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_version_outlives_its_folder),
      TEST(what_is_removed_under_its_writer_a_compaction_makes_anew),
      TEST(rights_that_go_and_come_back_lose_nothing),
  };
  return RUN_TESTS(tests);
}
