/* For every public struct of a library a call that takes it, all else being valid.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef STRUCT_SUBJECTS_H
#define STRUCT_SUBJECTS_H

#include "fixtures.h"

/* HANDED_OUT: the library sets its struct_size, and a callback of the caller reads it. */
enum { INPUT, OUTPUT, HANDED_OUT };
typedef struct subject {
  const char* type;
  int kind;
  const void* value; /* a valid one */
  sidbeam_status (*call)(void* given);
  sidbeam_status status; /* if the struct is valid */
  int stays_zero;        /* an output of which there is nothing to say here */
  const char* differs;   /* a field that may differ from call to call */
} subject;

extern const subject subjects[];
extern const size_t subject_count;

/* Make and destroy what the calls take. */
void prepare(void);
void finish(void);

#endif
