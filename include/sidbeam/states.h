/* sidbeam: stateless forms, for engines that own the beam loop and keep one state a sequence.
 *
 * Each call takes a table of constraints and, a row, the number of the constraint it follows (`which`; NULL: all follow
 * constraints[0]), so one batch mixes catalogues. The first forms take the table as an array, and run on the CPU; those
 * of sidbeam_table, below, take one that was made before, and run where it is. They need SIDBEAM_KIND_TRIE. They hold
 * nothing between calls and may run on many threads at once; the constraints must live during the call. Kernels, and
 * the memory that sidbeam_rows_topk works in, are those of the runtime of constraints[0]. A row whose state is dead, or
 * has nothing after it, has no valid code: it is masked throughout. In an index of variable length the end is one more
 * code, V_l, at vocabulary.end_column. States carry their level.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_STATES_H
#define SIDBEAM_STATES_H

#include "session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* State of each of `count` prefixes: codes [count, stride], lengths [count], 0 for the beginning; out [count, W]. A
 * prefix that no SID has, or with a code out of range, gives -1. Errors of all of these: INVALID_ARGUMENT,
 * MISSING_SECTION, UNSUPPORTED (an unknown struct tail), NO_DEVICE (rows that are not on the CPU), and OUT_OF_MEMORY
 * from sidbeam_rows_topk. On an error nothing has been written. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_states_from_prefixes(sidbeam_constraint* const* constraints,
    int32_t constraint_count, const int32_t* which, const int32_t* codes, int64_t stride, const int32_t* lengths,
    int64_t count, sidbeam_state* out, void* stream, sidbeam_error* err);
/* out[i] = the state after token tokens[i] in state in[parents[i]] (parents NULL: in[i]; in has in_count states). -1
 * where the token may not follow or the parent is out of range; token -1 keeps an ended state. out may not overlap in
 * unless parents is NULL. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_states_advance(sidbeam_constraint* const* constraints,
    int32_t constraint_count, const int32_t* which, const sidbeam_state* in, int64_t in_count, const int64_t* parents,
    const int32_t* tokens, int64_t count, sidbeam_state* out, void* stream, sidbeam_error* err);
/* Sets to -inf every column of row i (of logits [rows, columns], slots 0) that is not a valid code of states[i], in
 * place, in the rows' own dtype. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_rows_mask(sidbeam_constraint* const* constraints,
    int32_t constraint_count, const int32_t* which, const sidbeam_vocabulary* vocabulary, const sidbeam_state* states,
    const sidbeam_rows* logits, void* stream, sidbeam_error* err);
/* The same as bits: column c of row i is bit c % 32 of words[i * words_per_row + c / 32], 1 where valid (the layout of
 * structured-output backends). Every word is written; 32 * words_per_row covers the columns of every level of
 * every constraint. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_rows_bitmask(sidbeam_constraint* const* constraints,
    int32_t constraint_count, const int32_t* which, const sidbeam_vocabulary* vocabulary, const sidbeam_state* states,
    int64_t count, uint32_t* words, int64_t words_per_row, void* stream, sidbeam_error* err);
/* The k best valid codes of each row, log-probability falling, then token rising: tokens, log_probs [rows, k], next
 * [rows, k, W] (may be NULL). Places left over: token -1, -inf, -1. A bad row (see session.h) has none and
 * log-probability NaN in its first place; a row that is not read, since nothing follows its state, is never bad. k is
 * 1 .. SIDBEAM_MAX_CODES. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_rows_topk(sidbeam_constraint* const* constraints,
    int32_t constraint_count, const int32_t* which, const sidbeam_vocabulary* vocabulary, const sidbeam_state* states,
    const sidbeam_rows* logits, int32_t normalization, int32_t k, int32_t* tokens, float* log_probs,
    sidbeam_state* next, void* stream, sidbeam_error* err);

/* A table that is made once: its constraints, held, and the vocabulary of their rows. On CUDA it holds what kernels
 * need of them in the device's memory, so that the calls below enqueue their work on `stream` without waiting and may
 * be captured in a CUDA graph; all their arrays, and the logits, are in that device's memory. A row whose `which` is
 * out of range, or whose prefix is longer than `stride`, is an error on the CPU and dead on CUDA. Beyond that a call
 * does what the form of its name above does. */
typedef struct sidbeam_table_config {
  uint32_t struct_size; /* sizeof(sidbeam_table_config) */
  int32_t constraint_count;
  sidbeam_constraint* const* constraints; /* [constraint_count]; need SIDBEAM_KIND_TRIE */
  const sidbeam_vocabulary* vocabulary;   /* Copied. NULL: code t is column t at every level */
  int32_t device_type, device_id;         /* SIDBEAM_CPU, 0; or SIDBEAM_CUDA: indexes are uploaded where they are not */
} sidbeam_table_config;
#define SIDBEAM_TABLE_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_table_config), 0, NULL, NULL, SIDBEAM_CPU, 0 }

/* Errors: INVALID_ARGUMENT, MISSING_SECTION, NO_DEVICE, OUT_OF_MEMORY, and those of sidbeam_index_upload(). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_table_create(
    sidbeam_runtime* runtime, const sidbeam_table_config* config, sidbeam_table** out, sidbeam_error* err);
/* On CUDA it waits for the device first, work still enqueued and replays of graphs included; graphs that hold a call of
 * it must not be replayed any more. */
SIDBEAM_API void sidbeam_table_destroy(sidbeam_table* table);
/* Errors of these: as above, and on CUDA DEVICE_ERROR, and INVALID_ARGUMENT for memory of the host or another
 * device. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_table_prefixes(const sidbeam_table* table, const int32_t* which,
    const int32_t* codes, int64_t stride, const int32_t* lengths, int64_t count, sidbeam_state* out, void* stream,
    sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_table_advance(const sidbeam_table* table, const int32_t* which,
    const sidbeam_state* in, int64_t in_count, const int64_t* parents, const int32_t* tokens, int64_t count,
    sidbeam_state* out, void* stream, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_table_mask(const sidbeam_table* table, const int32_t* which,
    const sidbeam_state* states, const sidbeam_rows* logits, void* stream, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_table_bitmask(const sidbeam_table* table, const int32_t* which,
    const sidbeam_state* states, int64_t count, uint32_t* words, int64_t words_per_row, void* stream,
    sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_table_topk(const sidbeam_table* table, const int32_t* which,
    const sidbeam_state* states, const sidbeam_rows* logits, int32_t normalization, int32_t k, int32_t* tokens,
    float* log_probs, sidbeam_state* next, void* stream, sidbeam_error* err);

#ifdef __cplusplus
}
#endif
#endif
