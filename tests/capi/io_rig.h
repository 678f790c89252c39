/* Reads and writes of a file in which every call that reaches the file system fails in turn: what tests of indexes and
 * of draft heads share. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_IO_RIG_H
#define SIDBEAM_TESTS_CAPI_IO_RIG_H

#include "fixtures.h"
#include "io_faults.h"

/* A file, and the call that writes it. */
typedef struct target {
  const char* path;
  sidbeam_status (*write)(const char* path, void* what); /* reports to err */
  void* what;
  unsigned char* whole; /* the new contents */
  int64_t bytes;
  int entries; /* of the folder */
} target;

/* The file is written once. */
target make_target(const char* name, sidbeam_status (*write)(const char* path, void* what), void* what);
void drop_target(target* to);
/* A file with every attribute that is to be kept; those that this system or user cannot set cannot be lost. */
void put_old(const char* path);
/* Or the old one; anything else is a failure of the test. */
int is_new(const target* to);

/* A call with a fault (io_faults.h). */
sidbeam_status watched(sidbeam_status (*call)(void* what), void* what, int kind, int error, long long at);
sidbeam_status watched_write(target* to, int kind, int error, long long at);

/* With each call failing in turn: the old file or the new one, no litter, no open descriptor, and an error that names
 * the call and the file. */
void fail_at_every_call_of_a_write(target* to, int kind, int error);
/* Likewise of `call`, which reads `path` and reports to err. */
void fail_at_every_call_of_a_read(sidbeam_status (*call)(void* what), void* what, const char* path, int error);

#endif
