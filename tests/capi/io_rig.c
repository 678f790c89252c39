/* SPDX-License-Identifier: Apache-2.0 */
#include "io_rig.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The words for a failed call; several calls may share theirs. */
static const struct {
  const char *call, *words;
} said[] = {{"open", "open"},
            {"openat", "create|open|extended attributes"},
            {"fallocate", "allocate"},
            {"pwrite", "write"},
            {"pread", "read"},
            {"fsync", "sync"},
            {"linkat", "link"},
            {"renameat", "rename"},
            {"fstat", "stat"},
            {"fstatat", "stat"},
            {"stat", "stat"},
            {"readlinkat", "readlink"},
            {"mmap", "map"},
            {"mlock", "lock"},
            {"fchown", "owner"},
            {"fchmod", "mode"},
            {"fsetxattr", "attribute"},
            {"fgetxattr", "attribute"},
            {"flistxattr", "attributes"},
            {"fremovexattr", "system.posix_acl_access"}};

static int has_one_of(const char* message, const char* words) {
  char each[100];
  snprintf(each, sizeof each, "%s", words);
  for (char* word = strtok(each, "|"); word != NULL; word = strtok(NULL, "|"))
    if (strstr(message, word) != NULL) return 1;
  return 0;
}

static int message_names(const char* call, const char* path) {
  for (size_t i = 0; i < COUNT(said); ++i)
    if (strcmp(said[i].call, call) == 0)
      return has_one_of(err.message, said[i].words) && strstr(err.message, path) != NULL;
  return 0;
}

static int open_descriptors(void) {
  DIR* const entries = opendir("/proc/self/fd");
  int count = 0;
  if (entries == NULL) return 0;
  while (readdir(entries) != NULL) ++count;
  closedir(entries);
  return count;
}

sidbeam_status watched(sidbeam_status (*call)(void* what), void* what, int kind, int error, long long at) {
  clear_error();
  faults.calls = 0;
  faults.failed = NULL;
  faults.kind = kind;
  faults.error = error;
  faults.at = at;
  faults.watching = 1;
  const sidbeam_status status = call(what);
  faults.watching = 0;
  return status;
}

static sidbeam_status write_target(void* what) {
  const target* const to = what;
  return to->write(to->path, to->what);
}

sidbeam_status watched_write(target* to, int kind, int error, long long at) {
  return watched(write_target, to, kind, error, at);
}

static const char kOld[] = "the old file";

void put_old(const char* path) {
  write_text(path, kOld);
  CHECK(chmod(path, 0640) == 0);
  if (chown(path, 1234, 1234) != 0) CHECK_INT(errno, EPERM);
  if (setxattr(path, "user.origin", "here", 4, 0) != 0) CHECK(errno == EOPNOTSUPP || errno == EPERM);
}

int is_new(const target* to) {
  int64_t bytes = 0;
  unsigned char* const now = read_file(to->path, &bytes);
  const int same = bytes == to->bytes && memcmp(now, to->whole, (size_t)bytes) == 0;
  if (!same) CHECK(bytes == (int64_t)sizeof kOld - 1 && memcmp(now, kOld, (size_t)bytes) == 0);
  free(now);
  return same;
}

target make_target(const char* name, sidbeam_status (*write)(const char* path, void* what), void* what) {
  target to = {temporary_path(name), write, what, NULL, 0, 0};
  CHECK_OK(write(to.path, what));
  to.whole = read_file(to.path, &to.bytes);
  to.entries = files_in_folder(to.path);
  return to;
}

void drop_target(target* to) { free(to->whole); }

/* Whether the new file is in its place. */
static int check_written(const target* to, sidbeam_status status, long long at) {
  const int complete = is_new(to);
  if (status != SIDBEAM_OK && !message_names(faults.failed, to->path))
    printf("call %lld, %s: %s\n", at, faults.failed, err.message);
  CHECK_INT(files_in_folder(to->path), to->entries);
  if (status == SIDBEAM_OK) {
    CHECK(complete);
    return complete;
  }
  CHECK_INT(status, SIDBEAM_IO_ERROR);
  CHECK_INT(err.code, SIDBEAM_IO_ERROR);
  CHECK(message_names(faults.failed, to->path));
  if (complete) CHECK(strstr(err.message, "new file is in its place") != NULL || faults.kind == FAULT_AFTER);
  return complete;
}

void fail_at_every_call_of_a_write(target* to, int kind, int error) {
  int failures = 0, synced[2] = {0, 0}; /* syncs that failed with the old file in place, and with the new one */
  for (long long at = 0;; ++at) {
    put_old(to->path);
    const int descriptors = open_descriptors();
    const sidbeam_status status = watched_write(to, kind, error, at);
    CHECK_INT(open_descriptors(), descriptors);
    const int complete = check_written(to, status, at);
    failures += status != SIDBEAM_OK;
    synced[complete] += status != SIDBEAM_OK && strcmp(faults.failed, "fsync") == 0;
    if (faults.calls <= at) break;
  }
  if (error != EINTR) CHECK(failures >= 10);
  if (error == EIO && kind == FAULT_FAIL) {
    CHECK_INT(synced[0], 1); /* the file's contents, before they get its name */
    CHECK_INT(synced[1], 1); /* the folder */
  }
}

void fail_at_every_call_of_a_read(sidbeam_status (*call)(void* what), void* what, const char* path, int error) {
  for (long long at = 0;; ++at) {
    const int descriptors = open_descriptors();
    const sidbeam_status status = watched(call, what, FAULT_FAIL, error, at);
    CHECK_INT(open_descriptors(), descriptors);
    if (faults.calls <= at) {
      CHECK_OK(status);
      CHECK(at >= 4);
      return;
    }
    if (status == SIDBEAM_OK) continue; /* close, advice; an interrupted call that was repeated */
    if (!message_names(faults.failed, path)) printf("call %lld, %s: %s\n", at, faults.failed, err.message);
    CHECK_INT(status, SIDBEAM_IO_ERROR);
    CHECK(message_names(faults.failed, path));
  }
}
