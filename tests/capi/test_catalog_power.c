/* The process that writes a live catalogue is killed at every call that changes files, and the machine loses its power
 * there: what was not synced is then not on the disk. In both cases the catalogue opens with the last version that was
 * published (after a power cut: and synced), or the one under way, and those before it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog_history.h"
#include "io_faults.h"

/* What has got to the disk: for each file that was synced a copy in this folder, named by its inode; of the catalogue's
 * folder the names, when it was synced; and whether the folder above knows it. */
static const char* disk;
static const char* watched_folder;
static int64_t* published; /* shared with the child: the last version that a call has returned */

static void keep_file(const char* from, ino_t inode) {
  char name[40], bytes[4096];
  snprintf(name, sizeof name, "i%llu", (unsigned long long)inode);
  FILE *in = fopen(from, "rb"), *out = fopen(path_in(disk, name), "wb");
  if (in == NULL || out == NULL) _exit(8);
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
    if (fwrite(bytes, 1, n, out) != n) _exit(8);
  fclose(in);
  fclose(out);
}

static void keep_names(void) {
  DIR* const entries = opendir(watched_folder);
  FILE* const out = fopen(path_in(disk, "next"), "wb");
  if (entries == NULL || out == NULL) _exit(8);
  for (struct dirent* entry; (entry = readdir(entries)) != NULL;)
    if (entry->d_name[0] != '.') fprintf(out, "%s i%llu\n", entry->d_name, (unsigned long long)entry->d_ino);
  fclose(out);
  closedir(entries);
  if (rename(path_in(disk, "next"), path_in(disk, "names")) != 0) _exit(8);
}

static void keep_synced(int fd) {
  struct stat status, folder;
  char path[40];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (fstat(fd, &status) != 0 || stat(watched_folder, &folder) != 0) _exit(8);
  if (S_ISREG(status.st_mode)) {
    keep_file(path, status.st_ino);
  } else if (status.st_ino == folder.st_ino) {
    keep_names();
  } else {
    write_text(path_in(disk, "is_there"), "yes");
  }
}

/* The folder after the power has come back. */
static int put_back(const char* to) {
  char name[100], inode[40];
  FILE* const names = fopen(path_in(disk, "names"), "rb");
  remove_folder(to);
  if (names == NULL || !file_exists(path_in(disk, "is_there"))) {
    if (names != NULL) fclose(names);
    return 0;
  }
  CHECK(mkdir(to, 0777) == 0);
  while (fscanf(names, "%99s %39s", name, inode) == 2) {
    const char *const from = path_in(disk, inode), *const path = path_in(to, name);
    char bytes[4096];
    FILE *in = fopen(from, "rb"), *out = fopen(path, "wb"); /* a file that was never synced has a name at most */
    CHECK(out != NULL);
    for (size_t n; in != NULL && (n = fread(bytes, 1, sizeof bytes, in)) > 0;) CHECK_INT(fwrite(bytes, 1, n, out), n);
    if (in != NULL) fclose(in);
    CHECK_INT(fclose(out), 0);
  }
  fclose(names);
  return 1;
}

static int write_until_killed(void* argument) {
  history* const all = argument;
  faults.kind = FAULT_KILL;
  faults.which = CALLS_THAT_CHANGE;
  faults.synced = keep_synced;
  faults.watching = 1;
  for (int64_t version = 1; version <= HISTORY_VERSIONS; ++version) {
    if (make_version(all, version, &err) != SIDBEAM_OK) return 2;
    *published = version;
  }
  faults.watching = 0;
  close_history(all);
  return 0;
}

/* The last version, up to this one, that is synced whatever the configuration: a folder is made, and a base. */
static int64_t synced_before(int64_t version) {
  static const int64_t synced[] = {10, 8, 4, 1};
  int i = 0;
  while (i < 3 && synced[i] > version) ++i;
  return synced[i];
}

/* The catalogue is as of what was published last, or one more, and goes on; without power as of this one at least. */
static void check_folder(history* all, const char* folder, int is_there, int64_t least) {
  const char* const before = all->folder;
  all->folder = folder;
  const sidbeam_status status = is_there ? open_history(all, &err) : SIDBEAM_IO_ERROR;
  if (status != SIDBEAM_OK && *published == 0) {
    CHECK_INT(status, SIDBEAM_IO_ERROR);
    CHECK(!is_there || strstr(err.message, "it holds no catalogue") != NULL);
    CHECK_OK(make_version(all, 1, &err));
  } else {
    if (status != SIDBEAM_OK)
      printf("at call %lld, after version %lld: %s\n", faults.at, (long long)*published, err.message);
    CHECK_OK(status);
  }
  const int64_t newest = info_of(all->catalog).version;
  CHECK(newest >= least && newest <= *published + 1);
  check_versions(all, newest);
  if (newest < HISTORY_VERSIONS) {
    CHECK_OK(make_version(all, newest + 1, &err));
    CHECK_TEXT(content(all->catalog, 0), all->contents[newest + 1]);
  }
  check_that_it_goes_on(all);
  all->folder = before;
}

static void stop_everywhere(int32_t sync) {
  history all;
  int result = 0;
  published = mmap(NULL, sizeof *published, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(published != MAP_FAILED);
  disk = fresh_folder("disk");
  const char* const after = fresh_folder("after");
  begin_history(&all, fresh_folder("power"));
  all.sync = sync;
  watched_folder = all.folder;
  for (faults.at = 0; faults.at == 0 || result != 0; ++faults.at) {
    remove_folder(all.folder);
    remove_folder(disk);
    CHECK(mkdir(disk, 0777) == 0);
    *published = 0;
    result = run_in_child(write_until_killed, &all);
    CHECK(result == 0 || result == 1000 + SIGKILL);
    check_folder(&all, all.folder, file_exists(all.folder), *published);
    const int is_there = put_back(after);
    CHECK(is_there || *published == 0);
    check_folder(&all, after, is_there, sync == SIDBEAM_SYNC_PUBLISH ? *published : synced_before(*published));
  }
  CHECK(faults.at > 100);
  end_history(&all);
}

static void neither_a_kill_nor_a_power_cut_loses_what_was_published(void) { stop_everywhere(SIDBEAM_SYNC_PUBLISH); }

static void a_power_cut_loses_what_was_not_synced_and_nothing_before_it(void) { stop_everywhere(SIDBEAM_SYNC_HOST); }

int main(void) {
  static const test_case tests[] = {TEST(neither_a_kill_nor_a_power_cut_loses_what_was_published),
                                    TEST(a_power_cut_loses_what_was_not_synced_and_nothing_before_it)};
  return RUN_TESTS(tests);
}
