/* Faults in the calls that reach the file system, one at a time. The program that links io_faults.c sets them here; the
 * command gets them as a library to preload (LD_PRELOAD), which reads
 *   SIDBEAM_IO_FAULT="AT ERRNO KIND"  KIND as below; AT counts calls from 0
 *   SIDBEAM_IO_REPORT=FILE            where "CALLS NAME" is left: the number of counted calls, and the one that failed
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_IO_FAULTS_H
#define SIDBEAM_TESTS_IO_FAULTS_H

enum {
  FAULT_FAIL = 0,      /* call number `at` does nothing and fails */
  FAULT_AFTER = 1,     /* it does its work and fails all the same, like a server whose answer is lost */
  FAULT_SHORT = 2,     /* from call `at` on all reads and writes take one byte */
  FAULT_INTERRUPT = 3, /* only calls that may wait are counted; from `at` on every second of them fails */
  FAULT_KILL = 4,      /* the process is killed at call `at` */
  FAULT_END = 5,       /* from call `at` on, reads say that the file has ended */
  FAULT_CUT = 6,       /* the file that call `at` reads or maps is empty from then on */
  FAULT_FULL = 7,      /* only pwritev is counted; `at` takes half of its first piece, and the next one fails */
  FAULT_NO_ROOM = 8    /* only calls that need room are counted; from `at` on they fail, a pwritev at half of it */
};

/* Which calls are counted, and may fail. */
enum {
  CALLS_OF_FILES = 0,   /* those that indexes and draft heads are read and written by */
  CALLS_OF_FOLDERS = 1, /* also pwritev, fdatasync, ftruncate, unlink and unlinkat */
  CALLS_THAT_CHANGE = 2 /* of these, those that change a file, a folder or what is on the disk */
};

typedef struct io_faults {
  int kind, error;
  long long at;           /* -1: never */
  int no_unnamed_file;    /* O_TMPFILE is not supported */
  int which;              /* CALLS_* */
  void (*synced)(int fd); /* called when a file or a folder has got to the disk; may be NULL */
  int watching;           /* calls are counted, and fail, while this is 1 */
  long long calls;
  const char* failed; /* the name of the call that failed last; NULL: none */
} io_faults;

extern io_faults faults;

#endif
