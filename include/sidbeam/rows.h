/* sidbeam: how logits are passed, and which column of a logits row a code has.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_ROWS_H
#define SIDBEAM_ROWS_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Logits rows (or rows of log-probabilities), borrowed for the call and read in place: no copy, no conversion buffer.
 *   slots > 0  [slots, rows, columns]: beam m of the i-th slot of the call has the logits row (i, m). A slot that has
 *              only just started reads that of beam 0 alone.
 *   slots = 0  [rows, columns]: the call has a row map that names each beam's logits row.
 * Element (i, r, c) is at data + i*slot_stride + r*row_stride + c, counted in elements. Columns are contiguous. data is
 * aligned to an element; more is not needed. */
typedef struct sidbeam_rows {
  uint32_t struct_size; /* sizeof(sidbeam_rows) */
  int32_t dtype;        /* SIDBEAM_DTYPE_* */
  int32_t device_type;  /* SIDBEAM_DEVICE_* */
  int32_t device_id;
  const void* data;
  int64_t slots, rows, columns;
  /* Elements. A stride may be negative, but must not overflow over its number of rows. 0 is dense: row_stride =
   * columns, and slot_stride = rows * row_stride (columns where row_stride is BROADCAST). A negative row_stride needs a
   * slot_stride other than 0. SIDBEAM_BROADCAST: all beams of a slot, or all slots, read the same. */
  int64_t slot_stride, row_stride;
} sidbeam_rows;
#define SIDBEAM_ROWS_INIT \
  { (uint32_t)sizeof(sidbeam_rows), SIDBEAM_DTYPE_F32, SIDBEAM_DEVICE_CPU, 0, NULL, 0, 0, 0, 0, 0 }

/* Dense rows of the host: data [slots, rows, columns], or with slots = 0 [rows, columns]; dtype: SIDBEAM_DTYPE_*. */
static inline sidbeam_rows sidbeam_rows_dense(
    const void* data, int32_t dtype, int64_t slots, int64_t rows, int64_t columns) {
  sidbeam_rows dense = SIDBEAM_ROWS_INIT;
  dense.dtype = dtype;
  dense.data = data;
  dense.slots = slots;
  dense.rows = rows;
  dense.columns = columns;
  return dense;
}

/* Which column a code has: code t of level l is column offsets[l] + t, or maps[l][t] where that level has a map. The
 * columns of SIDs may be a part of a text vocabulary at any offset; levels may share columns. In a map, -1 is a code
 * without a column: nothing reads or chooses it, and no SID of a constraint that is used with the map may have it. A
 * column that stands for several codes of a level counts once per code. */
typedef struct sidbeam_vocabulary {
  uint32_t struct_size;       /* sizeof(sidbeam_vocabulary) */
  int32_t levels;             /* entries of the arrays below */
  const int64_t* offsets;     /* [levels]; NULL: all 0 */
  const int32_t* const* maps; /* [levels] pointers, each NULL or [map_codes[l]] columns; NULL: no maps */
  const int64_t* map_codes;   /* [levels], with maps: number of codes that each map covers */
  /* The column that ends a SID; -1: none. An index of variable length needs one, others ignore it. */
  int64_t end_column;
} sidbeam_vocabulary;
#define SIDBEAM_VOCABULARY_INIT \
  { (uint32_t)sizeof(sidbeam_vocabulary), 0, NULL, NULL, NULL, -1 }

/* How a logits row becomes log-probabilities. x is an element after soft-cap and inverse temperature; score = parent's
 * score + log-probability, in f32. */
enum {
  /* Log-softmax over all columns of the logits row, then restricted to the valid codes (STATIC, Algorithm 1). */
  SIDBEAM_NORMALIZE_FULL = 0,
  /* Log-softmax over the columns of the level's codes, and of the end where lengths vary. */
  SIDBEAM_NORMALIZE_LEVEL = 1,
  /* Log-softmax over the valid codes of the beam (xGR; DISC-PPV). */
  SIDBEAM_NORMALIZE_VALID = 2,
  /* The rows are log-probabilities already. */
  SIDBEAM_NORMALIZE_NONE = 3
};

#ifdef __cplusplus
}
#endif
#endif
