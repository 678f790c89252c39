/* Vocabularies, logits rows and lists of constraints. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_VOCABULARY_H
#define SIDBEAM_FLAT_VOCABULARY_H

/* Fills a vocabulary from offsets [levels], or none, and the maps of all levels one after the other, where level l has
 * map_codes[l] columns (0: no map). An end column alone fits any number of levels. `pointers` holds what the vocabulary
 * points to. Returns 1 if there is a vocabulary to pass. */
static inline int fl_vocabulary(flat_in_i64 offsets, flat_in_i32 maps, flat_in_i64 map_codes, int64_t end_column,
                                sidbeam_vocabulary* out, const int32_t* pointers[SIDBEAM_MAX_LEVELS],
                                sidbeam_error* err) {
  const int64_t levels = offsets.data != NULL     ? offsets.count
                         : map_codes.data != NULL ? map_codes.count
                                                  : SIDBEAM_MAX_LEVELS;
  int64_t l, used = 0;
  if (offsets.data == NULL && maps.count == 0 && map_codes.data == NULL && end_column < 0) return 0;
  if (levels > SIDBEAM_MAX_LEVELS || (map_codes.data != NULL && map_codes.count != levels)) {
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT,
            "map_codes has %" PRId64 " levels and offsets %" PRId64 ", expected the same, at most %d", map_codes.count,
            levels, SIDBEAM_MAX_LEVELS);
    return 0;
  }
  if (maps.count > 0 && map_codes.data == NULL) {
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT,
            "map_codes is missing, expected the number of columns of each level of maps");
    return 0;
  }
  out->levels = (int32_t)levels;
  out->offsets = offsets.data;
  out->end_column = end_column;
  if (map_codes.data == NULL) return 1;
  for (l = 0; l < levels; l++) used += map_codes.data[l] < 0 ? 0 : map_codes.data[l];
  if (!FLAT_GIVEN(err, maps, used)) return 0;
  used = 0;
  for (l = 0; l < levels; l++) {
    const int64_t codes = map_codes.data[l] < 0 ? 0 : map_codes.data[l];
    pointers[l] = codes == 0 ? NULL : maps.data + used;
    used += codes;
  }
  out->maps = pointers;
  out->map_codes = map_codes.data;
  return 1;
}

/* Elements from one logits row, or slot, to the next, given the dense stride. */
static inline int64_t fl_stride(int64_t stride, int64_t dense) {
  return stride == SIDBEAM_BROADCAST ? 0 : stride == 0 ? dense : stride;
}

/* 1 if the logits rows lie within `elements` elements from the address on. A negative stride leads out of them. */
static inline int fl_rows_fit(const sidbeam_rows* rows, int64_t elements) {
  const int64_t row_stride = fl_stride(rows->row_stride, rows->columns);
  const int64_t dense = row_stride == 0 ? rows->columns : fl_product(rows->rows, row_stride);
  const int64_t slot_stride = fl_stride(rows->slot_stride, dense);
  const int64_t last_row = fl_product(rows->rows - 1, row_stride);
  const int64_t last_slot = rows->slots > 1 ? fl_product(rows->slots - 1, slot_stride) : 0;
  if (row_stride < 0 || (rows->slots > 1 && slot_stride < 0)) return 0;
  return last_slot <= elements && last_row <= elements && last_slot + last_row <= elements - rows->columns;
}

/* Fills rows, and checks that they lie within `elements` elements from the address on; elements -1: not known. Strides
 * are those of sidbeam_rows: 0 is dense, SIDBEAM_BROADCAST the same for all. `name` is for messages. */
static inline int fl_rows(const char* name, flat_memory memory, int64_t elements, int32_t dtype, int32_t device_type,
                          int32_t device_id, int64_t slots, int64_t rows, int64_t columns, int64_t slot_stride,
                          int64_t row_stride, sidbeam_rows* out, sidbeam_error* err) {
  out->data = memory.data;
  out->dtype = dtype;
  out->device_type = device_type;
  out->device_id = device_id;
  out->slots = slots;
  out->rows = rows;
  out->columns = columns;
  out->slot_stride = slot_stride;
  out->row_stride = row_stride;
  if (elements >= 0 && rows > 0 && columns > 0 && !fl_rows_fit(out, elements)) {
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT,
            "%s has %" PRId64 " elements, too few for %" PRId64 " x %" PRId64 " rows of %" PRId64
            " columns with strides %" PRId64 " and %" PRId64,
            name, elements, slots, rows, columns, slot_stride, row_stride);
    return 0;
  }
  return 1;
}

/* Handles of constraints, as numbers, entered for a call. */
typedef struct fl_constraints {
  sidbeam_constraint** objects; /* NULL where the caller gave none */
  flat_in_i64 handles;
  int64_t entered;
  sidbeam_constraint* few[8];
} fl_constraints;

static inline void fl_leave_constraints(fl_constraints* constraints) {
  int64_t i;
  for (i = 0; i < constraints->entered; i++) {
    flat_handle* handle = (flat_handle*)(intptr_t)constraints->handles.data[i];
    if (handle != NULL) fl_drop_user(handle);
  }
  if (constraints->objects != constraints->few) free(constraints->objects);
}

/* Enters all of them, or none and sets an error. A number 0 is NULL. */
static inline int fl_enter_constraints(fl_constraints* out, flat_in_i64 handles, sidbeam_error* err) {
  out->objects = NULL;
  out->handles = handles;
  out->entered = 0;
  if (handles.data == NULL) return 1;
  out->objects =
      handles.count <= 8 ? out->few : (sidbeam_constraint**)malloc((size_t)handles.count * sizeof(*out->objects));
  if (out->objects == NULL) {
    fl_fail(err, SIDBEAM_OUT_OF_MEMORY, "no memory for %" PRId64 " constraints", handles.count);
    return 0;
  }
  for (; out->entered < handles.count; out->entered++) {
    flat_handle* handle = (flat_handle*)(intptr_t)handles.data[out->entered];
    void* object = handle == NULL ? NULL : fl_share(handle, FLAT_CONSTRAINT, err);
    if (handle != NULL && object == NULL) {
      fl_leave_constraints(out);
      return 0;
    }
    out->objects[out->entered] = (sidbeam_constraint*)object;
  }
  return 1;
}

#endif
