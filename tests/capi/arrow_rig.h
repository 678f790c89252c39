/* Arrow's arrays built by hand, and a stream of them: what tests of C, of the fuzzer and of the languages share. Every
 * block has exactly the bytes that it was given, so that AddressSanitizer sees what is read outside it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_ARROW_RIG_H
#define SIDBEAM_TESTS_CAPI_ARROW_RIG_H

#include <sidbeam/arrow.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ARROW_BUFFERS = 5, ARROW_CHILDREN = 8 };

/* A column: its schema and its array. What it points to must stay. */
typedef struct arrow_column {
  const char *format, *name;
  int64_t length, offset, null_count;
  int64_t buffer_count;
  const void* buffers[ARROW_BUFFERS]; /* NULL stays NULL */
  int64_t bytes[ARROW_BUFFERS];
  int64_t child_count;
  const struct arrow_column* children[ARROW_CHILDREN];
  const struct arrow_column* dictionary;
} arrow_column;

/* A stream of batches, and how it ends. */
typedef struct arrow_source {
  const arrow_column* const* batches;
  int64_t count;
  const arrow_column* schema; /* NULL: that of the first batch */
  int fail_at;                /* the number of the call, of get_schema (0) and get_next (1 ..), that fails; -1: none */
  int error;
  const char* message;  /* of get_last_error; NULL: there is no such function */
  int streams, objects; /* handed out and not released yet; schemas and arrays are objects */
  int released;         /* streams */
  int calls;
} arrow_source;

/* Fills `out`. The source must stay. Calls for which there is no memory fail with ENOMEM. */
void arrow_export(arrow_source* source, struct ArrowArrayStream* out);

#ifdef __cplusplus
}
#endif
#endif
