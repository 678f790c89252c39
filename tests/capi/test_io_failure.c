/* Every call that reaches the file system fails once, at every place: the file is the old one or the whole new one, the
 * folder has no litter, no descriptor is left open, and the message names the call and the path. This program replaces
 * functions of the C library, so it is not built where sanitizers do that.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io_rig.h"

static const int errors[] = {EIO, ENOSPC, EDQUOT, EINTR, ENOMEM};

/* --- Writing --- */

static sidbeam_status write_index(const char* path, void* builder) {
  return sidbeam_builder_write(builder, path, &err);
}

static target make_index_target(void) {
  return make_target("x.sidx", write_index, make_builder(&small_named, ALL_KINDS));
}

static void drop_index_target(target* to) {
  sidbeam_builder_destroy(to->what);
  drop_target(to);
}

static sidbeam_status write_again(const char* path, void* index) { return sidbeam_index_write(index, path, &err); }

/* By the builder, and by an index that is open. */
static void fail_everywhere(int kind, int error) {
  target to = make_index_target();
  fail_at_every_call_of_a_write(&to, kind, error);
  drop_index_target(&to);
  sidbeam_index* index = make_index(&small_named, ALL_KINDS);
  to = make_target("again.sidx", write_again, index);
  fail_at_every_call_of_a_write(&to, kind, error);
  drop_target(&to);
  sidbeam_index_release(index);
}

static void a_write_that_fails_anywhere_keeps_the_old_file(void) {
  for (int named = 0; named < 2; ++named) {
    faults.no_unnamed_file = named;
    for (size_t i = 0; i < COUNT(errors); ++i) fail_everywhere(FAULT_FAIL, errors[i]);
  }
  faults.no_unnamed_file = 0;
}

static void a_call_that_worked_and_says_that_it_failed_leaves_no_litter(void) {
  for (int named = 0; named < 2; ++named) {
    faults.no_unnamed_file = named;
    fail_everywhere(FAULT_AFTER, EIO);
  }
  faults.no_unnamed_file = 0;
}

static void short_and_interrupted_writes_go_on(void) {
  target to = make_index_target();
  put_old(to.path);
  CHECK_OK(watched_write(&to, FAULT_SHORT, 0, 0));
  CHECK(faults.calls > to.bytes && is_new(&to));
  for (long long at = 0; at < 2; ++at) {
    put_old(to.path);
    CHECK_OK(watched_write(&to, FAULT_INTERRUPT, EINTR, at));
    CHECK(faults.calls >= 10 && is_new(&to));
  }
  drop_index_target(&to);
}

/* Runs in a process of its own, which is killed at every call; the next write removes its litter. */
static void a_writer_that_is_killed_anywhere_leaves_nothing_for_long(void) {
  for (int named = 0; named < 2; ++named) {
    target to = make_index_target();
    int status = 0, littered = 0;
    faults.no_unnamed_file = named;
    for (long long at = 0; status == 0 || WIFSIGNALED(status); ++at) {
      put_old(to.path);
      const pid_t child = fork();
      if (child == 0) _exit(watched_write(&to, FAULT_KILL, 0, at) == SIDBEAM_OK ? 3 : 4);
      CHECK(waitpid(child, &status, 0) == child);
      (void)is_new(&to);
      littered += files_in_folder(to.path) > to.entries;
      CHECK_OK(watched_write(&to, FAULT_FAIL, 0, -1));
      CHECK(is_new(&to));
      CHECK_INT(files_in_folder(to.path), to.entries);
    }
    CHECK_INT(WEXITSTATUS(status), 3);
    CHECK(littered > 0);
    faults.no_unnamed_file = 0;
    drop_index_target(&to);
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
    _exit(watched_write(to, kind, 0, at) == SIDBEAM_OK ? 3 : 4);
  }
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

/* What a killed writer leaves has the mode of the file that it was going to replace, by which its owner may not write
 * into it either. */
static void leftovers_that_are_read_only_are_removed_too(void) {
  for (int named = 0; named < 2; ++named) {
    target to = make_index_target();
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
    drop_index_target(&to);
  }
}

static void what_may_be_lost_does_not_fail(void) {
  static const char* const kept[] = {"fchown", "fsetxattr", "flistxattr", "fchmod"};
  target to = make_index_target();
  sidbeam_builder_config config = builder_config(&small_named, ALL_KINDS);
  sidbeam_runtime* const runtime = make_runtime();
  sidbeam_builder_destroy(to.what);
  config.allow_attribute_loss = 1;
  sidbeam_builder* builder = NULL;
  CHECK_OK(sidbeam_builder_create(runtime, &config, &builder, &err));
  to.what = builder;
  sidbeam_runtime_release(runtime);
  CHECK_OK(add_all(to.what, &small_named, &err));
  for (long long at = 0;; ++at) {
    put_old(to.path);
    const sidbeam_status status = watched_write(&to, FAULT_FAIL, EPERM, at);
    if (faults.calls <= at) break;
    for (size_t i = 0; i < COUNT(kept); ++i)
      if (strcmp(faults.failed, kept[i]) == 0) CHECK_OK(status);
    CHECK_INT(files_in_folder(to.path), to.entries);
  }
  drop_index_target(&to);
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
  return sidbeam_index_peek(from->path, 0, NULL, NULL, NULL, &info, &err);
}

static void a_read_that_fails_anywhere_says_where(void) {
  struct rlimit locked;
  target to = make_index_target();
  source from = {to.path, make_runtime(), 0};
  CHECK(getrlimit(RLIMIT_MEMLOCK, &locked) == 0);
  for (size_t i = 0; i < COUNT(errors); ++i) {
    fail_at_every_call_of_a_read(peek_file, &from, from.path, errors[i]);
    for (from.residency = 0; from.residency <= SIDBEAM_RESIDENCY_COPY; ++from.residency) {
      const int may_lock = geteuid() == 0 || (int64_t)locked.rlim_cur > to.bytes;
      if (from.residency != SIDBEAM_RESIDENCY_LOCK || may_lock)
        fail_at_every_call_of_a_read(open_file, &from, from.path, errors[i]);
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
  drop_index_target(&to);
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
