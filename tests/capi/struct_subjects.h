/* For every public struct a call that takes it, all else being valid. SPDX-License-Identifier: Apache-2.0 */
#ifndef STRUCT_SUBJECTS_H
#define STRUCT_SUBJECTS_H

#include "fixtures.h"

enum { INPUT, OUTPUT };
typedef struct subject {
  const char* type;
  int kind;
  const void* value; /* a valid one */
  sidbeam_status (*call)(void* given);
  sidbeam_status status; /* if the struct is valid */
  int stays_zero;        /* an output of which there is nothing to say here */
} subject;

extern const subject subjects[];
extern const size_t subject_count;

/* Make and destroy what the calls take. */
void prepare(void);
void finish(void);

#endif
