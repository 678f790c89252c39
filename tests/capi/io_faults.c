/* Replaces functions of the C library; every one of them, fallible or not, is a call that may fail.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define REPLACED __attribute__((visibility("default")))

io_faults faults = {FAULT_FAIL, EIO, -1, 0, 0, NULL, 0, 0, NULL};

static int is_one_of(const char* name, const char* const* names) {
  for (; *names != NULL; ++names)
    if (strcmp(name, *names) == 0) return 1;
  return 0;
}

/* Signals interrupt calls that may wait. */
static int may_wait(const char* name) {
  static const char* const names[] = {"open",      "openat",  "read",      "pread",     "pwrite", "fsync",
                                      "fallocate", "pwritev", "fdatasync", "ftruncate", NULL};
  return is_one_of(name, names);
}

static int is_counted(const char* name) {
  static const char* const of_folders[] = {"pwritev", "fdatasync", "ftruncate", "unlink", "unlinkat", NULL};
  static const char* const changes[] = {"fsync", "linkat", "renameat", "mkdir", "openat", "pwrite", "fallocate", NULL};
  static const char* const need_room[] = {"pwritev", "pwrite", "fallocate", "linkat", "mkdir", "openat", NULL};
  if (faults.kind == FAULT_FULL) return strcmp(name, "pwritev") == 0;
  if (faults.kind == FAULT_NO_ROOM) return is_one_of(name, need_room);
  if (is_one_of(name, of_folders)) return faults.which != CALLS_OF_FILES;
  return faults.which != CALLS_THAT_CHANGE || is_one_of(name, changes);
}

/* Whether the disk fills up in the midst of this call. */
static int is_partial(const char* name, long long call) {
  const int fills_up = faults.kind == FAULT_FULL || faults.kind == FAULT_NO_ROOM;
  return fills_up && strcmp(name, "pwritev") == 0 && call == faults.at;
}

/* Whether this call fails: before its work or, with kind AFTER, after it. */
static int fails(const char* name) {
  if (!faults.watching || !is_counted(name) || (faults.kind == FAULT_INTERRUPT && !may_wait(name))) return 0;
  const long long call = faults.calls++;
  const int kind = faults.kind;
  if (faults.at < 0 || call < faults.at || kind == FAULT_SHORT || kind == FAULT_END || kind == FAULT_CUT) return 0;
  if (kind == FAULT_FULL || is_partial(name, call)) return 0; /* see pwritev */
  if (kind == FAULT_NO_ROOM) {
    faults.failed = name;
    return 1;
  }
  if (faults.kind == FAULT_INTERRUPT ? (call - faults.at) % 2 != 0 : call != faults.at) return 0;
  if (faults.kind == FAULT_KILL) raise(SIGKILL);
  faults.failed = name;
  return 1;
}

/* How much of `bytes` a read or write may take. */
static size_t allowed(size_t bytes, int reads) {
  if (!faults.watching || faults.at < 0 || faults.calls <= faults.at) return bytes;
  if (faults.kind == FAULT_END) return reads ? 0 : bytes;
  return faults.kind == FAULT_SHORT && bytes > 1 ? 1 : bytes;
}

/* Empties the file that the call just counted has opened for reading. */
static void cut(int fd) {
  char path[40];
  if (!faults.watching || faults.kind != FAULT_CUT || faults.calls != faults.at + 1 || fd < 0) return;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (truncate(path, 0) != 0) abort();
}

/* A function of the C library, in `real`. */
#define REAL(name) \
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #name)

#define REPLACE(result, name, failure, parameters, arguments) \
  REPLACED result name parameters {                           \
    static result(*real) parameters;                          \
    REAL(name);                                               \
    const int failing = fails(#name);                         \
    if (failing && faults.kind != FAULT_AFTER) {              \
      errno = faults.error;                                   \
      return failure;                                         \
    }                                                         \
    const result done = real arguments;                       \
    if (failing) errno = faults.error;                        \
    return failing ? failure : done;                          \
  }

/* The result of these would be lost with the answer: they fail before their work. */
#define REPLACE_GIVER(result, name, failure, parameters, arguments) \
  REPLACED result name parameters {                                 \
    static result(*real) parameters;                                \
    REAL(name);                                                     \
    if (!fails(#name)) return real arguments;                       \
    errno = faults.error;                                           \
    return failure;                                                 \
  }

REPLACE(int, fallocate, -1, (int fd, int mode, off_t offset, off_t bytes), (fd, mode, offset, bytes))
REPLACE(int, fchmod, -1, (int fd, mode_t mode), (fd, mode))
REPLACE(int, fchown, -1, (int fd, uid_t user, gid_t group), (fd, user, group))
REPLACE(ssize_t, fgetxattr, -1, (int fd, const char* name, void* value, size_t size), (fd, name, value, size))
REPLACE(ssize_t, flistxattr, -1, (int fd, char* list, size_t size), (fd, list, size))
REPLACE(int, fremovexattr, -1, (int fd, const char* name), (fd, name))
REPLACE(int, fsetxattr, -1, (int fd, const char* name, const void* value, size_t size, int flags),
        (fd, name, value, size, flags))
REPLACE(int, flock, -1, (int fd, int operation), (fd, operation))
REPLACE(int, fstat, -1, (int fd, struct stat* status), (fd, status))
REPLACE(int, fstatat, -1, (int fd, const char* path, struct stat* status, int flags), (fd, path, status, flags))
REPLACE(int, fstatfs, -1, (int fd, struct statfs* system), (fd, system))
REPLACE(int, stat, -1, (const char* path, struct stat* status), (path, status))
REPLACE(int, syncfs, -1, (int fd), (fd))
REPLACE(int, linkat, -1, (int from, const char* old, int to, const char* path, int flags), (from, old, to, path, flags))
REPLACE(int, renameat, -1, (int from, const char* old, int to, const char* path), (from, old, to, path))
REPLACE(ssize_t, readlinkat, -1, (int fd, const char* path, char* target, size_t size), (fd, path, target, size))
REPLACE(int, mkdir, -1, (const char* path, mode_t mode), (path, mode))
REPLACE(int, mlock, -1, (const void* memory, size_t bytes), (memory, bytes))
REPLACE(int, madvise, -1, (void* memory, size_t bytes, int advice), (memory, bytes, advice))
REPLACE(int, access, -1, (const char* path, int mode), (path, mode))
REPLACE(int, ftruncate, -1, (int fd, off_t bytes), (fd, bytes))
REPLACE(int, unlink, -1, (const char* path), (path))
REPLACE(int, unlinkat, -1, (int folder, const char* path, int flags), (folder, path, flags))
REPLACE_GIVER(DIR*, fdopendir, NULL, (int fd), (fd))
REPLACE_GIVER(struct dirent*, readdir, NULL, (DIR * folder), (folder))
REPLACE_GIVER(ssize_t, read, -1, (int fd, void* out, size_t bytes), (fd, out, allowed(bytes, 1)))
REPLACE_GIVER(ssize_t, pwrite, -1, (int fd, const void* data, size_t bytes, off_t offset),
              (fd, data, allowed(bytes, 0), offset))

#define REPLACE_SYNC(name)                                                  \
  REPLACED int name(int fd) {                                               \
    static int (*real)(int);                                                \
    REAL(name);                                                             \
    const int failing = fails(#name);                                       \
    const int done = failing && faults.kind != FAULT_AFTER ? -1 : real(fd); \
    if (done == 0 && faults.watching && faults.synced != NULL) {            \
      faults.watching = 0;                                                  \
      faults.synced(fd);                                                    \
      faults.watching = 1;                                                  \
    }                                                                       \
    if (failing) errno = faults.error;                                      \
    return failing ? -1 : done;                                             \
  }
REPLACE_SYNC(fsync)
REPLACE_SYNC(fdatasync)

/* Where the disk fills up, half of the first piece is written, and nothing after it. */
REPLACED ssize_t pwritev(int fd, const struct iovec* pieces, int count, off_t offset) {
  static ssize_t (*real)(int, const struct iovec*, int, off_t);
  REAL(pwritev);
  const long long call = faults.calls;
  const int partial = faults.watching && is_partial("pwritev", call), failing = fails("pwritev");
  const int full = faults.watching && faults.kind == FAULT_FULL && faults.at >= 0;
  if ((failing && faults.kind != FAULT_AFTER) || (full && call == faults.at + 1)) {
    faults.failed = "pwritev";
    errno = faults.error;
    return -1;
  }
  struct iovec first = pieces[0];
  if (partial) first.iov_len = (first.iov_len + 1) / 2;
  if (partial || first.iov_len != allowed(first.iov_len, 0)) {
    first.iov_len = allowed(first.iov_len, 0);
    return real(fd, &first, 1, offset);
  }
  const ssize_t done = real(fd, pieces, count, offset);
  if (failing) errno = faults.error;
  return failing ? -1 : done;
}

REPLACED ssize_t pread(int fd, void* out, size_t bytes, off_t offset) {
  static ssize_t (*real)(int, void*, size_t, off_t);
  REAL(pread);
  if (fails("pread")) {
    errno = faults.error;
    return -1;
  }
  cut(fd);
  return real(fd, out, allowed(bytes, 1), offset);
}

REPLACED void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  static void* (*real)(void*, size_t, int, int, int, off_t);
  REAL(mmap);
  if (fails("mmap")) {
    errno = faults.error;
    return MAP_FAILED;
  }
  void* const memory = real(at, bytes, protection, flags, fd, offset);
  cut(fd);
  return memory;
}

/* The descriptor is closed whatever close() says (Linux). */
REPLACED int close(int fd) {
  static int (*real)(int);
  REAL(close);
  const int failing = fails("close"), done = real(fd);
  if (failing) errno = faults.error;
  return failing ? -1 : done;
}

REPLACED int openat(int folder, const char* path, int flags, ...) {
  static int (*real)(int, const char*, int, ...);
  REAL(openat);
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  const int creates = (flags & (O_CREAT | O_TMPFILE)) != 0;
  if ((creates || faults.which != CALLS_THAT_CHANGE) && fails("openat")) {
    errno = faults.error;
    return -1;
  }
  if (faults.watching && faults.no_unnamed_file && (flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return real(folder, path, flags, mode);
}

REPLACED int open(const char* path, int flags, ...) {
  static int (*real)(const char*, int, ...);
  REAL(open);
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (!fails("open")) return real(path, flags, mode);
  errno = faults.error;
  return -1;
}

__attribute__((constructor)) static void begin(void) {
  const char* const fault = getenv("SIDBEAM_IO_FAULT");
  if (fault == NULL) return;
  if (sscanf(fault, "%lld %d %d", &faults.at, &faults.error, &faults.kind) == 3) faults.watching = 1;
}

__attribute__((destructor)) static void end(void) {
  const char* const path = getenv("SIDBEAM_IO_REPORT");
  FILE* file = NULL;
  if (!faults.watching || path == NULL) return;
  faults.watching = 0;
  file = fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%lld %s\n", faults.calls, faults.failed == NULL ? "-" : faults.failed);
  fclose(file);
}
