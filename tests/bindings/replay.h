/* Tools for replaying the shared cases: handles of the running case, arguments out of its records, and comparing
 * what came. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_BINDINGS_REPLAY_H
#define SIDBEAM_TESTS_BINDINGS_REPLAY_H

#include "case_file.h"
#include "flat/flat.h"

enum { MOST_INDEXES = 8 };

typedef struct case_state {
  const char* line; /* of the case, for messages */
  flat_handle *runtime, *indexes[MOST_INDEXES], *constraints[MOST_INDEXES], *session, *set, *disc;
  int64_t index_count;
  int64_t results;  /* of the disc */
  int64_t compared; /* values, over all cases */
} case_state;

extern case_state state;
extern const record* now; /* the record that is replayed */
extern sidbeam_error err; /* of the last call */

/* Ends the process with the place, and with err if there is one. at: the element, or -1. */
_Noreturn void fail(const char* what, int64_t at);
void succeed(const char* what);

/* Arguments out of the record: absent fields are arrays that are none. */
flat_in_i32 in_i32(const char* name);
flat_in_i64 in_i64(const char* name);
flat_in_f32 in_f32(const char* name);
int32_t i32_of(const char* name);
/* Logits of any dtype, copied, since masking writes. */
typedef struct given_logits {
  flat_memory memory;
  int64_t count;
  int32_t dtype;
  size_t bytes;
} given_logits;
given_logits logits_of(const char* name);
/* Memory for results; data is to be freed. */
flat_out_i32 out_i32(int64_t count);
flat_out_i64 out_i64(int64_t count);

/* Results against the field of this name. */
void same_i32(const char* name, const int32_t* got);
void same_i64(const char* name, const int64_t* got);
/* The same bits; any NaN equals any other. */
void same_f32(const char* name, const float* got);
void same_number(const char* name, int64_t got);

void do_case(void);
void do_index(void);
void end_case(void);
void close_handle(flat_handle** handle);

#endif
