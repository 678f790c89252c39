/* sidbeam: how logits are handed over, and where codes stand in a row of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_ROWS_H
#define SIDBEAM_ROWS_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SIDBEAM_F32 = 0, SIDBEAM_F16 = 1, SIDBEAM_BF16 = 2 };
enum { SIDBEAM_CPU = 0, SIDBEAM_CUDA = 1 };

/* Logits or log-probabilities, borrowed for the call and read in place: no copy, no conversion buffer of their size.
 *   slots > 0  [slots, rows, columns]: the row of beam m of the i-th slot of the call is (i, m); a slot that has only
 *              just started uses beam 0 alone.
 *   slots = 0  [rows, columns], and the call has a row map that names each beam's row.
 * Element (i, r, c) is at data + i*slot_stride + r*row_stride + c, in elements. Strides may be any number, also 0 or
 * negative, that does not overflow over so many rows; columns are contiguous. data is aligned to an
 * element, no more. */
typedef struct sidbeam_rows {
  uint32_t struct_size; /* sizeof(sidbeam_rows) */
  int32_t dtype;        /* SIDBEAM_F32, SIDBEAM_F16, SIDBEAM_BF16 */
  int32_t device_type, device_id;
  void* data; /* written only by sidbeam_rows_mask() */
  int64_t slots, rows, columns;
  int64_t slot_stride, row_stride;
} sidbeam_rows;
#define SIDBEAM_ROWS_INIT \
  { (uint32_t)sizeof(sidbeam_rows), SIDBEAM_F32, SIDBEAM_CPU, 0, NULL, 0, 0, 0, 0, 0 }
/* Strides of 0, which INIT gives, make every beam of every slot read the same row. This is what rows that lie side by
 * side want: [slots, rows, columns] (slots 0: [rows, columns]) without gaps. data may point to const but for
 * sidbeam_rows_mask(). */
static inline sidbeam_rows sidbeam_rows_dense(
    const void* data, int32_t dtype, int64_t slots, int64_t rows, int64_t columns) {
  sidbeam_rows dense = SIDBEAM_ROWS_INIT;
  dense.dtype = dtype;
  dense.data = (void*)(uintptr_t)data;
  dense.slots = slots;
  dense.rows = rows;
  dense.columns = columns;
  dense.slot_stride = (int64_t)((uint64_t)rows * (uint64_t)columns); /* wild sizes wrap, and the call refuses them */
  dense.row_stride = columns;
  return dense;
}

/* Where codes stand in a row: code t of level l is column offsets[l] + t, or maps[l][t] where that level has a map. SID
 * tokens may be a slice of a text vocabulary at any offset; levels may share columns. A column that stands for several
 * codes of a level counts once a code. */
typedef struct sidbeam_vocabulary {
  uint32_t struct_size;       /* sizeof(sidbeam_vocabulary) */
  int32_t levels;             /* entries of the arrays below */
  const int64_t* offsets;     /* [levels]; NULL: all 0 */
  const int32_t* const* maps; /* [levels] pointers, each NULL or [map_codes[l]] columns; NULL: no maps */
  const int32_t* map_codes;   /* [levels], with maps: how many codes each map covers */
  /* The column that ends a SID; -1: none. An index of variable length needs one, others do not read it. */
  int64_t end_column;
} sidbeam_vocabulary;
#define SIDBEAM_VOCABULARY_INIT \
  { (uint32_t)sizeof(sidbeam_vocabulary), 0, NULL, NULL, NULL, -1 }

/* What the rows are turned into. x is the element after soft-cap and inverse temperature; score = parent's score +
 * log-probability, in f32. */
enum {
  /* Log-softmax over all columns of the row, then restricted to valid codes (STATIC, Algorithm 1). */
  SIDBEAM_NORMALIZE_FULL = 0,
  /* Log-softmax over the columns of the level's codes, and the end's where lengths vary. */
  SIDBEAM_NORMALIZE_LEVEL = 1,
  /* Log-softmax over the valid codes of the beam (xGR; DISC-PPV). */
  SIDBEAM_NORMALIZE_VALID = 2,
  /* Rows are log-probabilities already. */
  SIDBEAM_NORMALIZE_NONE = 3
};

#ifdef __cplusplus
}
#endif
#endif
