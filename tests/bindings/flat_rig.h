/* The flat layer under test: arrays, checks of the error that a call leaves, and a session over bytes on loan, so that
 * the loan's return shows when the last object behind the handles goes. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_BINDINGS_FLAT_RIG_H
#define SIDBEAM_TESTS_BINDINGS_FLAT_RIG_H

#include "flat/flat.h"

#include "../capi/fixtures.h" /* after it: its `err` would be shadowed there */

/* A call, given &err, that succeeds; or that fails with a code and exactly this message. */
#define OKAY(call)                                 \
  do {                                             \
    call;                                          \
    check_ok(__FILE__, __LINE__, #call, err.code); \
  } while (0)
#define REFUSED(call, status, text)                                    \
  do {                                                                 \
    call;                                                              \
    check_int(__FILE__, __LINE__, #call, (int64_t)err.code, (status)); \
    check_text(__FILE__, __LINE__, #call, err.message, (text));        \
  } while (0)

#define IN_I32(...) ((flat_in_i32){(const int32_t[]){__VA_ARGS__}, COUNT(((const int32_t[]){__VA_ARGS__}))})
#define IN_I64(...) ((flat_in_i64){(const int64_t[]){__VA_ARGS__}, COUNT(((const int64_t[]){__VA_ARGS__}))})
#define IN_F32(...) ((flat_in_f32){(const float[]){__VA_ARGS__}, COUNT(((const float[]){__VA_ARGS__}))})
#define OUT_I32(array) ((flat_out_i32){(array), COUNT(array)})
#define OUT_I64(array) ((flat_out_i64){(array), COUNT(array)})
#define OUT_F32(array) ((flat_out_f32){(array), COUNT(array)})
#define OUT_BYTES(array) ((flat_out_bytes){(array), COUNT(array)})

static const flat_in_i32 no_i32 = {NULL, 0};
static const flat_in_i64 no_i64 = {NULL, 0};
static const flat_in_f32 no_f32 = {NULL, 0};
static const flat_out_i32 no_out_i32 = {NULL, 0};
static const flat_out_i64 no_out_i64 = {NULL, 0};
static const flat_out_bytes no_out_bytes = {NULL, 0};
/* The arguments of a start, from seeds on, in mode SEARCH. */
#define NO_SAMPLING no_i64, no_i64, no_i64, 0, no_i32, no_f32, no_f32

/* The catalogue `small` of tests/capi: a session of two slots and four beams, NORMALIZE_NONE. */
typedef struct rig {
  flat_handle *runtime, *index, *constraint, *session;
  unsigned char* bytes; /* of the index, lent as number `loan` */
  int64_t loan;
} rig;
enum { RIG_SLOTS = 2, RIG_BEAMS = 4, RIG_COLUMNS = 4 };

static inline flat_handle* rig_runtime(void) {
  flat_handle* runtime;
  OKAY(runtime = flat_runtime_create(1, 1, 0, -1, "", "", 0, 0, 0, &err));
  return runtime;
}

static inline flat_handle* rig_builder(flat_handle* runtime) {
  flat_handle* builder;
  OKAY(builder = flat_builder_create(runtime, (flat_in_i32){small.codes, 3}, 0, SIDBEAM_ID_I64, ALL_KINDS,
                                     SIDBEAM_COLLISIONS_KEEP, 0, 0, "", 0, 0, 0, &err));
  return builder;
}

static inline void rig_add(flat_handle* builder, sidbeam_error* error) {
  flat_builder_add(builder, (flat_in_i32){small.sids, 3 * small.count}, 3, no_i32, small.count,
                   (flat_in_i64){small.ids, small.count}, (flat_in_i64){small.priorities, small.count}, error);
}

static inline flat_handle* rig_session(flat_handle* runtime, flat_handle* constraint) {
  return flat_session_create(runtime, constraint, RIG_SLOTS, RIG_BEAMS, SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_NONE,
                             0, no_i64, no_i32, no_i64, -1, SIDBEAM_DEVICE_CPU, 0, 0, SIDBEAM_MODE_SEARCH, 0, &err);
}

static inline rig make_rig(int64_t loan) {
  rig r = {rig_runtime(), NULL, NULL, NULL, NULL, loan};
  int64_t bytes = 0;
  r.bytes = index_bytes(&small, ALL_KINDS, &bytes);
  OKAY(r.index = flat_index_open_memory(r.runtime, (flat_in_bytes){(const char*)r.bytes, bytes}, loan,
                                        SIDBEAM_RESIDENCY_MAP, SIDBEAM_VERIFY_FULL, &err));
  OKAY(r.constraint = flat_constraint_create(r.index, &err));
  OKAY(r.session = rig_session(r.runtime, r.constraint));
  return r;
}

static inline void free_handles(rig* r) {
  flat_free(r->session);
  flat_free(r->constraint);
  flat_free(r->index);
  flat_free(r->runtime);
}
static inline void free_rig(rig* r) {
  free_handles(r);
  free(r->bytes);
}

/* The number of the one loan that has come back, or -1. */
static inline int64_t returned(void) {
  int64_t number = -1;
  return flat_returned_loans((flat_out_i64){&number, 1}) == 1 ? number : -1;
}

/* Starts and steps of all slots of a rig's session, every beam fed with `halving`. */
static inline void rig_start(const rig* r, sidbeam_error* error) {
  flat_session_start(r->session, no_i32, RIG_SLOTS, no_i64, no_i32, 0, no_i32, no_i32, 0, no_f32, no_f32, 0,
                     NO_SAMPLING, error);
}
static inline void rig_step(const rig* r, sidbeam_error* error) {
  flat_session_step(r->session, no_i32, (flat_memory){(void*)(uintptr_t)halving}, 4, SIDBEAM_DTYPE_F32,
                    SIDBEAM_DEVICE_CPU, 0, RIG_SLOTS, RIG_BEAMS, RIG_COLUMNS, SIDBEAM_BROADCAST, SIDBEAM_BROADCAST,
                    no_i32, no_f32, 0, 0, no_f32, no_f32, 0, error);
}

#endif
