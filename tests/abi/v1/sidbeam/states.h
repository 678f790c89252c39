/* sidbeam: stateless forms, for engines that own the beam loop and keep one state per sequence.
 *
 * A constraint set is made once, from constraints, which it holds, and the vocabulary of their logits rows. A call
 * names the constraint that each entry follows by its number in the set (`which`; NULL: all follow constraint 0), so
 * that one batch mixes catalogues. Calls keep nothing between them and may run on many threads at once. A logits row
 * whose state is dead, or has nothing after it, has no valid code: it is masked throughout. In an index of variable
 * length the end is one more code, V_l, with vocabulary.end_column. A state is one 64-bit word that carries its level:
 * -1 is dead, 0 is the beginning, and any other value is safe to pass (see constraint.h).
 *
 * On the CPU a call is done when it returns, and `stream` is ignored. On CUDA the set keeps what kernels need in the
 * device's memory; calls enqueue their work on `stream` without waiting and may be captured in a CUDA graph, and all
 * their arrays, logits included, are in that device's memory. Captures of other streams go on whatever is called, in
 * any thread and mode. An entry whose `which` is out of range, or whose prefix is longer than `stride`, is an error on
 * the CPU and dead on CUDA.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_STATES_H
#define SIDBEAM_STATES_H

#include "constraint.h"
#include "rows.h"
#include "sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sidbeam_constraint_set_config {
  uint32_t struct_size; /* sizeof(sidbeam_constraint_set_config) */
  int32_t device_type;  /* SIDBEAM_DEVICE_*; on CUDA, indexes that are not there are uploaded */
  int32_t device_id;    /* 0 for the CPU */
  /* [constraint_count] with SIDBEAM_KIND_TRIE, all of one codebook, apart from those that name none: their codes share
   * the columns of one vocabulary. */
  sidbeam_constraint* const* constraints;
  int64_t constraint_count;             /* 1 .. 2^31 - 1 */
  const sidbeam_vocabulary* vocabulary; /* copied; NULL: code t is column t at every level */
} sidbeam_constraint_set_config;
#define SIDBEAM_CONSTRAINT_SET_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_constraint_set_config), SIDBEAM_DEVICE_CPU, 0, NULL, 0, NULL }

/* Makes a set; on the CPU that costs microseconds. Errors: INVALID_ARGUMENT, MISSING_SECTION, NO_DEVICE, OUT_OF_MEMORY,
 * and those of sidbeam_index_upload(). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_set_create(sidbeam_runtime* runtime,
    const sidbeam_constraint_set_config* config, sidbeam_constraint_set** out, sidbeam_error* err);
/* On CUDA nothing waits: the set's memory is freed after what its calls enqueued, and after launches of graphs that a
 * later call of the set was ordered after. Nobody can see other launches, which must have ended; graphs that hold a
 * call of the set must not be launched afterwards. */
SIDBEAM_API void sidbeam_constraint_set_destroy(sidbeam_constraint_set* set);

/* State of each of `count` prefixes: codes [count, stride] (stride 0: the most levels of any constraint;
 * SIDBEAM_BROADCAST: one prefix for all), lengths [count], 0 for the beginning; out [count]. A prefix that no SID has,
 * or with a code out of range, gives -1.
 * Errors of this and of the calls below: INVALID_ARGUMENT, UNSUPPORTED (an unknown struct tail), NO_DEVICE (logits on
 * another device), OUT_OF_MEMORY from _topk and on the CPU from _sample, and on CUDA DEVICE_ERROR, and INVALID_ARGUMENT
 * for memory of the host or of another device. On an error nothing has been written. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_set_prefixes(const sidbeam_constraint_set* set,
    const int32_t* which, const int32_t* codes, int64_t stride, const int32_t* lengths, int64_t count,
    sidbeam_state* out, void* stream, sidbeam_error* err);
/* For each of `count` entries out[i] = the state after code codes[i] in state in[parents[i]] (parents NULL: in[i]; in
 * has in_count states). -1 where the code may not follow or the parent is out of range; code -1 keeps an ended state.
 * out may not overlap in unless parents is NULL. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_set_advance(const sidbeam_constraint_set* set,
    const int32_t* which, const sidbeam_state* in, int64_t in_count, const int32_t* parents, const int32_t* codes,
    int64_t count, sidbeam_state* out, void* stream, sidbeam_error* err);
/* Writes -inf, in the logits' dtype, into every column of logits row i that is not a valid code of states[i]. `logits`
 * describes [rows, columns] (slots 0); `data` must be logits->data, and is the pointer through which memory is
 * written: passing it says that it is not const. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_set_mask(const sidbeam_constraint_set* set,
    const int32_t* which, const sidbeam_state* states, const sidbeam_rows* logits, void* data, void* stream,
    sidbeam_error* err);
/* The same as bits, for `count` states: column c of entry i is bit c % 32 of words[i * words_per_row + c / 32], 1 where
 * valid (the layout of structured-output backends). Every word is written; 32 * words_per_row covers the columns of
 * every level of every constraint. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_set_bitmask(const sidbeam_constraint_set* set,
    const int32_t* which, const sidbeam_state* states, int64_t count, int64_t words_per_row, uint32_t* words,
    void* stream, sidbeam_error* err);
/* The k best valid codes of each logits row, log-probability falling, then code rising: codes, log_probs [rows, k],
 * next [rows, k] states (may be NULL). Places left over: code -1, -inf, -1. A bad row (see session.h) has none, and
 * log-probability NaN in its first place; a logits row that is not read, since nothing follows its state, is never bad.
 * k is 1 .. SIDBEAM_MAX_CODES; normalization is a SIDBEAM_NORMALIZE_*. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_set_topk(const sidbeam_constraint_set* set,
    const int32_t* which, const sidbeam_state* states, const sidbeam_rows* logits, int32_t normalization, int32_t k,
    int32_t* codes, float* log_probs, sidbeam_state* next, void* stream, sidbeam_error* err);

/* What a call of sample() writes; arrays of [rows]. */
typedef struct sidbeam_sampled {
  uint32_t struct_size; /* sizeof(sidbeam_sampled) */
  int32_t* codes;       /* the code, V_l for the end; -1: dead */
  float* log_probs;     /* log P of the code; NULL: not wanted. -inf: dead, NaN: a bad row (session.h) */
  float* log_masses;    /* log of the valid mass; NULL: not wanted. -inf: dead */
  sidbeam_state* next;  /* NULL: not wanted */
} sidbeam_sampled;
#define SIDBEAM_SAMPLED_INIT \
  { (uint32_t)sizeof(sidbeam_sampled), NULL, NULL, NULL, NULL }

/* Draws one code per logits row, as a session of mode SAMPLE does for the level of the row's state: the same code, bit
 * for bit, from the same row, seed, request and draw. x is inverse_temperatures[i] times the element (NULL, or 0: 1).
 * normalization is a SIDBEAM_NORMALIZE_*. noise_scales must be NULL. On the CPU a set keeps the working memory of its
 * draws: a call takes some only where more of them run at a time than ever before. On CUDA an entry that the host
 * cannot check (top-k below 0, top-p outside (0, 1], a draw outside 0 .. 2^52 - 1, an inverse temperature that is not
 * allowed, truncation of more than 2^21 columns) makes its row bad, unless nothing follows its state. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_set_sample(const sidbeam_constraint_set* set,
    const int32_t* which, const sidbeam_state* states, const sidbeam_rows* logits, int32_t normalization,
    const float* inverse_temperatures, const sidbeam_sampling* sampling, const sidbeam_sampled* out, void* stream,
    sidbeam_error* err);

#ifdef __cplusplus
}
#endif
#endif
