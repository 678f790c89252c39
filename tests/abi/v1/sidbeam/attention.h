/* sidbeam: attention of beams (xGR's xAttention), for engines that have their own model. Part of
 * libsidbeam_runner.so.1.
 *
 * The rows of a request attend to one shared KV, its prompt, which is read once for all of them, and to ancestors in
 * the unshared KV: a row lists the positions at which its beam's own prefix was written. Both stages are merged by
 * online softmax. Between steps nothing is moved, because the lists follow the parents:
 *
 *   position of (level, beam): level * M + beam, where the row of that beam writes its own keys and values
 *   list of a row: that of its parent's row, then its own position
 *
 * A tree of drafts is the same with longer lists. sidbeam_attention_permute() is the paper's alternative: it moves the
 * unshared KV, so that beam m's prefix always stands at (0, m), (1, m), ...
 *
 * Layout: [n, kv_heads, head_dim] for keys and values, [n, heads, head_dim] for queries and output; heads is a multiple
 * of kv_heads, and query head h reads KV head h / (heads / kv_heads).
 * Memory: on CUDA what a comment calls "host" is host memory, read before the call returns; all else is memory of the
 * device. Nothing is allocated, and nothing is held after a call, on CUDA after the work that it has enqueued.
 * Threads: calls with different workspaces and outputs may run at the same time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_ATTENTION_H
#define SIDBEAM_ATTENTION_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  SIDBEAM_MAX_HEAD_DIM = 256,
  SIDBEAM_MAX_HEADS = 1024,
  SIDBEAM_MAX_ANCESTORS = 4096 /* of a row */
};

typedef struct sidbeam_attention_args {
  uint32_t struct_size; /* sizeof(sidbeam_attention_args) */
  int32_t device_type, device_id;
  int32_t dtype;           /* SIDBEAM_DTYPE_* of queries and output; F32 on the CPU */
  int32_t kv_dtype;        /* SIDBEAM_DTYPE_* of keys and values; on CUDA the same as dtype */
  int32_t heads, kv_heads; /* 1 .. SIDBEAM_MAX_HEADS */
  int32_t head_dim;        /* 1 .. SIDBEAM_MAX_HEAD_DIM */
  float scale;             /* of the products of queries and keys; 0: 1 / sqrt(head_dim) */
  int32_t depth;           /* entries in a row's list of ancestors, 0 .. SIDBEAM_MAX_ANCESTORS */
  int64_t requests, rows;
  const int64_t* row_offsets; /* [requests + 1], host: request i has the rows [row_offsets[i], row_offsets[i+1]) */
  const void* queries;        /* [rows, heads, head_dim] */
  int64_t query_stride;       /* elements between rows of queries; 0: heads * head_dim */
  /* [requests], host: pointers to [shared_lengths[i], kv_heads, head_dim], dense; not read where a length is 0. */
  const void* const* shared_keys;
  const void* const* shared_values;
  const int64_t* shared_lengths; /* [requests], host; NULL: no shared stage */
  /* [unshared_length, kv_heads, head_dim], dense, for all requests. */
  const void* unshared_keys;
  const void* unshared_values;
  int64_t unshared_length;
  const int32_t* ancestors; /* [rows, depth] positions in the unshared KV; -1: none. Not read with depth 0 */
  /* Added to the scaled products; -inf masks. NULL: none. [requests], host: pointers to [heads, shared_lengths[i]], of
   * which one may be NULL. */
  const float* const* shared_bias;
  const float* ancestor_bias; /* [heads, depth] */
  void* output;               /* [rows, heads, head_dim], dense; 0 where a row attends to nothing */
  /* [rows, heads]: log of the sum of exp of what the softmax is over, to merge with other stages; -inf where a row
   * attends to nothing. NULL: not wanted. */
  float* log_sum_exp;
  void* workspace; /* of sidbeam_attention_workspace() bytes or more, aligned to 64; on CUDA to 256 */
  int64_t workspace_bytes;
  void* stream; /* CUDA stream; not read on the CPU */
} sidbeam_attention_args;
#define SIDBEAM_ATTENTION_ARGS_INIT                                                                                 \
  {                                                                                                                 \
    (uint32_t)sizeof(sidbeam_attention_args), SIDBEAM_DEVICE_CPU, 0, SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_F32, 0, 0, 0, \
        0.0f, 0, 0, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL  \
  }

/* Bytes of workspace for calls with these shapes, and for calls with fewer requests and rows or shallower lists. No
 * pointer is read. Errors: INVALID_ARGUMENT, NO_DEVICE. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_attention_workspace(
    const sidbeam_attention_args* args, int64_t* bytes, sidbeam_error* err);

/* Attends. On the CPU on the caller's thread, in f32, and a row's bits depend on neither other rows nor the instruction
 * set. A NaN reaches no row that does not attend to it. On CUDA enqueued on the stream, and may be captured in a
 * graph, which then keeps the lengths and pointers of its capture; there an ancestor out of range counts as none.
 * Errors: INVALID_ARGUMENT (a shape, a pointer that is missing, a workspace too small; on the CPU an ancestor out of
 * range: nothing has been written), NO_DEVICE, DEVICE_ERROR. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_attention_run(
    const sidbeam_attention_args* args, sidbeam_error* err);

typedef struct sidbeam_attention_permute_args {
  uint32_t struct_size; /* sizeof(sidbeam_attention_permute_args) */
  int32_t device_type, device_id;
  int32_t kv_dtype; /* SIDBEAM_DTYPE_* */
  int32_t kv_heads, head_dim;
  int32_t beams;          /* M: 1 .. SIDBEAM_MAX_BEAMS */
  int32_t depth;          /* levels that have been written: 0 .. SIDBEAM_MAX_LEVELS */
  int64_t requests;       /* their rows of parents and their parts of the unshared KV follow each other */
  int64_t request_stride; /* positions between requests, at least beams * depth; 0: beams * depth */
  void* unshared_keys;    /* per request [depth, beams, kv_heads, head_dim]; permuted in place */
  void* unshared_values;  /* likewise */
  const int32_t* parents; /* [requests, beams], a session's; -1: a dead beam, of which nothing is to be kept */
  void* stream;           /* CUDA stream; not read on the CPU */
} sidbeam_attention_permute_args;
#define SIDBEAM_ATTENTION_PERMUTE_ARGS_INIT                                                                       \
  {                                                                                                               \
    (uint32_t)sizeof(sidbeam_attention_permute_args), SIDBEAM_DEVICE_CPU, 0, SIDBEAM_DTYPE_F32, 0, 0, 0, 0, 0, 0, \
        NULL, NULL, NULL, NULL                                                                                    \
  }

/* Gives beam m, at every level, the keys and values that beam parents[m] had, in place, without a second buffer.
 * Parents may come in any order and any number of times. (The paper's two sweeps, one per direction, need parents that
 * rise: with a swap, parents 1, 0, the first sweep overwrites what the second reads. A session's beams are in order of
 * score, so their parents do not rise.)
 * Errors: INVALID_ARGUMENT (a shape, a pointer that is missing; on the CPU a parent out of range: nothing has moved),
 * NO_DEVICE, DEVICE_ERROR. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_attention_permute(
    const sidbeam_attention_permute_args* args, sidbeam_error* err);

#ifdef __cplusplus
}
#endif
#endif
