/* Every call that reaches the file system fails once, at every place: the file is the old one or the whole new one, the
 * folder has no litter, no descriptor is left open, and the message names the call and the path. This program replaces
 * functions of the C library, so it is not built where sanitizers do that.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fixtures.h"
#include "io_faults.h"

static const int errors[] = {EIO, ENOSPC, EDQUOT, EINTR, ENOMEM};

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

static sidbeam_status watched(sidbeam_status (*call)(void* what), void* what, int kind, int error, long long at) {
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

/* --- Writing --- */

typedef struct target {
  const char* path;
  sidbeam_builder* builder;
  unsigned char* whole; /* the new contents */
  int64_t bytes;
  int entries; /* of the folder */
} target;

static const char kOld[] = "the old file";

static sidbeam_status write_index(void* what) {
  const target* const to = what;
  return sidbeam_builder_write(to->builder, to->path, &err);
}

/* A file with every attribute that is to be kept; those that this system or user cannot set cannot be lost. */
static void put_old(const char* path) {
  write_text(path, kOld);
  CHECK(chmod(path, 0640) == 0);
  if (chown(path, 1234, 1234) != 0) CHECK_INT(errno, EPERM);
  if (setxattr(path, "user.origin", "here", 4, 0) != 0) CHECK(errno == EOPNOTSUPP || errno == EPERM);
}

static int is_new(const target* to) {
  int64_t bytes = 0;
  unsigned char* const now = read_file(to->path, &bytes);
  const int same = bytes == to->bytes && memcmp(now, to->whole, (size_t)bytes) == 0;
  if (!same) CHECK(bytes == (int64_t)sizeof kOld - 1 && memcmp(now, kOld, (size_t)bytes) == 0);
  free(now);
  return same;
}

static target make_target(const char* name) {
  target to = {temporary_path(name), make_builder(&small_named, ALL_KINDS), NULL, 0, 0};
  CHECK_OK(sidbeam_builder_write(to.builder, to.path, &err));
  to.whole = read_file(to.path, &to.bytes);
  to.entries = files_in_folder(to.path);
  return to;
}

static void drop_target(target* to) {
  sidbeam_builder_destroy(to->builder);
  free(to->whole);
}

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

static void fail_at_every_call_of_a_write(int kind, int error) {
  target to = make_target("x.sidx");
  int failures = 0, synced[2] = {0, 0}; /* syncs that failed with the old file in place, and with the new one */
  for (long long at = 0;; ++at) {
    put_old(to.path);
    const int descriptors = open_descriptors();
    const sidbeam_status status = watched(write_index, &to, kind, error, at);
    CHECK_INT(open_descriptors(), descriptors);
    const int complete = check_written(&to, status, at);
    failures += status != SIDBEAM_OK;
    synced[complete] += status != SIDBEAM_OK && strcmp(faults.failed, "fsync") == 0;
    if (faults.calls <= at) break;
  }
  if (error != EINTR) CHECK(failures >= 10);
  if (error == EIO && kind == FAULT_FAIL) {
    CHECK_INT(synced[0], 1); /* the file's contents, before they get its name */
    CHECK_INT(synced[1], 1); /* the folder */
  }
  drop_target(&to);
}

static void a_write_that_fails_anywhere_keeps_the_old_file(void) {
  for (int named = 0; named < 2; ++named) {
    faults.no_unnamed_file = named;
    for (size_t i = 0; i < COUNT(errors); ++i) fail_at_every_call_of_a_write(FAULT_FAIL, errors[i]);
  }
  faults.no_unnamed_file = 0;
}

static void a_call_that_worked_and_says_that_it_failed_leaves_no_litter(void) {
  for (int named = 0; named < 2; ++named) {
    faults.no_unnamed_file = named;
    fail_at_every_call_of_a_write(FAULT_AFTER, EIO);
  }
  faults.no_unnamed_file = 0;
}

static void short_and_interrupted_writes_go_on(void) {
  target to = make_target("x.sidx");
  put_old(to.path);
  CHECK_OK(watched(write_index, &to, FAULT_SHORT, 0, 0));
  CHECK(faults.calls > to.bytes && is_new(&to));
  for (long long at = 0; at < 2; ++at) {
    put_old(to.path);
    CHECK_OK(watched(write_index, &to, FAULT_INTERRUPT, EINTR, at));
    CHECK(faults.calls >= 10 && is_new(&to));
  }
  drop_target(&to);
}

/* Runs in a process of its own, which is killed at every call; the next write removes its litter. */
static void a_writer_that_is_killed_anywhere_leaves_nothing_for_long(void) {
  for (int named = 0; named < 2; ++named) {
    target to = make_target("x.sidx");
    int status = 0, littered = 0;
    faults.no_unnamed_file = named;
    for (long long at = 0; status == 0 || WIFSIGNALED(status); ++at) {
      put_old(to.path);
      const pid_t child = fork();
      if (child == 0) _exit(watched(write_index, &to, FAULT_KILL, 0, at) == SIDBEAM_OK ? 3 : 4);
      CHECK(waitpid(child, &status, 0) == child);
      (void)is_new(&to);
      littered += files_in_folder(to.path) > to.entries;
      CHECK_OK(watched(write_index, &to, FAULT_FAIL, 0, -1));
      CHECK(is_new(&to));
      CHECK_INT(files_in_folder(to.path), to.entries);
    }
    CHECK_INT(WEXITSTATUS(status), 3);
    CHECK(littered > 0);
    faults.no_unnamed_file = 0;
    drop_target(&to);
  }
}

/* Only root is another user for a while. */
static void become_another_user(void) {
  if (geteuid() != 0) return;
  if (setgroups(0, NULL) != 0 || setgid(1234) != 0 || setuid(1234) != 0) _exit(9);
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* or /proc/self would be root's, without which a file has no name to get */
}

/* In a process of its own, which may be killed; how it ended. */
static int write_as_another_user(target* to, int kind, long long at) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    become_another_user();
    _exit(watched(write_index, to, kind, 0, at) == SIDBEAM_OK ? 3 : 4);
  }
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

/* What a killed writer leaves has the mode of the file that it was going to replace, by which its owner may not write
 * into it either. */
static void leftovers_that_are_read_only_are_removed_too(void) {
  for (int named = 0; named < 2; ++named) {
    target to = make_target("x.sidx");
    char* const folder = strndup(to.path, (size_t)(strrchr(to.path, '/') - to.path));
    int status = 0, littered = 0;
    if (geteuid() == 0) CHECK(chown(folder, 1234, 1234) == 0);
    faults.no_unnamed_file = named;
    for (long long at = 0; status == 0 || WIFSIGNALED(status); ++at) {
      CHECK(unlink(to.path) == 0);
      put_old(to.path);
      CHECK(chmod(to.path, 0444) == 0);
      status = write_as_another_user(&to, FAULT_KILL, at);
      littered += files_in_folder(to.path) > to.entries;
      CHECK_INT(WEXITSTATUS(write_as_another_user(&to, FAULT_FAIL, -1)), 3);
      CHECK(is_new(&to));
      CHECK_INT(files_in_folder(to.path), to.entries);
    }
    CHECK_INT(WEXITSTATUS(status), 3);
    CHECK(littered > 0);
    faults.no_unnamed_file = 0;
    free(folder);
    drop_target(&to);
  }
}

static void what_may_be_lost_does_not_fail(void) {
  static const char* const kept[] = {"fchown", "fsetxattr", "flistxattr", "fchmod"};
  target to = make_target("x.sidx");
  sidbeam_builder_config config = builder_config(&small_named, ALL_KINDS);
  sidbeam_runtime* const runtime = make_runtime();
  sidbeam_builder_destroy(to.builder);
  config.allow_attribute_loss = 1;
  CHECK_OK(sidbeam_builder_create(runtime, &config, &to.builder, &err));
  sidbeam_runtime_release(runtime);
  CHECK_OK(add_all(to.builder, &small_named, &err));
  for (long long at = 0;; ++at) {
    put_old(to.path);
    const sidbeam_status status = watched(write_index, &to, FAULT_FAIL, EPERM, at);
    if (faults.calls <= at) break;
    for (size_t i = 0; i < COUNT(kept); ++i)
      if (strcmp(faults.failed, kept[i]) == 0) CHECK_OK(status);
    CHECK_INT(files_in_folder(to.path), to.entries);
  }
  drop_target(&to);
}

/* --- Reading --- */

typedef struct source {
  const char* path;
  sidbeam_runtime* runtime;
  int32_t residency;
} source;

static sidbeam_status open_file(void* what) {
  const source* const from = what;
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  sidbeam_index* index = NULL;
  config.residency = from->residency;
  config.verify = SIDBEAM_VERIFY_FULL;
  const sidbeam_status status = sidbeam_index_open(from->runtime, from->path, &config, &index, &err);
  CHECK((index != NULL) == (status == SIDBEAM_OK));
  sidbeam_index_release(index);
  return status;
}

static sidbeam_status peek_file(void* what) {
  const source* const from = what;
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  return sidbeam_index_peek(from->path, &info, &err);
}

static void check_reads(sidbeam_status (*call)(void* what), source* from, int error) {
  for (long long at = 0;; ++at) {
    const int descriptors = open_descriptors();
    const sidbeam_status status = watched(call, from, FAULT_FAIL, error, at);
    CHECK_INT(open_descriptors(), descriptors);
    if (faults.calls <= at) {
      CHECK_OK(status);
      CHECK(at >= 4);
      return;
    }
    if (status == SIDBEAM_OK) continue; /* close, advice; an interrupted call that was repeated */
    if (!message_names(faults.failed, from->path)) printf("call %lld, %s: %s\n", at, faults.failed, err.message);
    CHECK_INT(status, SIDBEAM_IO_ERROR);
    CHECK(message_names(faults.failed, from->path));
  }
}

static void a_read_that_fails_anywhere_says_where(void) {
  struct rlimit locked;
  target to = make_target("x.sidx");
  source from = {to.path, make_runtime(), 0};
  CHECK(getrlimit(RLIMIT_MEMLOCK, &locked) == 0);
  for (size_t i = 0; i < COUNT(errors); ++i) {
    check_reads(peek_file, &from, errors[i]);
    for (from.residency = 0; from.residency <= SIDBEAM_RESIDENCY_COPY; ++from.residency) {
      const int may_lock = geteuid() == 0 || (int64_t)locked.rlim_cur > to.bytes;
      if (from.residency != SIDBEAM_RESIDENCY_LOCK || may_lock) check_reads(open_file, &from, errors[i]);
    }
  }
  from.residency = SIDBEAM_RESIDENCY_COPY;
  CHECK_OK(watched(open_file, &from, FAULT_SHORT, 0, 0));
  for (long long at = 0; at < 4; ++at) {
    const sidbeam_status status = watched(open_file, &from, FAULT_END, 0, at);
    if (faults.calls > at + 1 || status != SIDBEAM_OK) {
      CHECK_INT(status, SIDBEAM_IO_ERROR);
      CHECK(strstr(err.message, "ended at byte") != NULL);
    }
  }
  sidbeam_runtime_release(from.runtime);
  drop_target(&to);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_write_that_fails_anywhere_keeps_the_old_file),
      TEST(a_call_that_worked_and_says_that_it_failed_leaves_no_litter),
      TEST(short_and_interrupted_writes_go_on),
      TEST(a_writer_that_is_killed_anywhere_leaves_nothing_for_long),
      TEST(leftovers_that_are_read_only_are_removed_too),
      TEST(what_may_be_lost_does_not_fail),
      TEST(a_read_that_fails_anywhere_says_where),
  };
  return RUN_TESTS(tests);
}
