/* Attributes of items: given to a builder, and read from an index. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_ATTRIBUTES_H
#define SIDBEAM_FLAT_ATTRIBUTES_H

/* Where the numbers of sidbeam_attribute_info stand in an array of FLAT_ATTRIBUTE_COUNT. */
enum {
  FLAT_ATTRIBUTE_TYPE,
  FLAT_ATTRIBUTE_NULLS,
  FLAT_ATTRIBUTE_DISTINCT,
  FLAT_ATTRIBUTE_CODES,
  FLAT_ATTRIBUTE_LEAST,
  FLAT_ATTRIBUTE_GREATEST,
  FLAT_ATTRIBUTE_COUNT
};

static inline void flat_builder_declare_attribute(flat_handle* builder, const char* name, int32_t type,
                                                  sidbeam_error* err) {
  void* object;
  fl_clear(err);
  object = fl_enter(builder, FLAT_BUILDER, err);
  if (object == NULL) return;
  (void)!sidbeam_builder_declare_attribute((sidbeam_builder*)object, name, type, err);
  fl_leave(builder);
}

/* A column of `count` values of its arrays, which must be long enough; those that the type does not need may be none.
 * valid, bools: bytes. Strings go by offsets, which has one more than there are; with codes they are a dictionary. */
static inline int fl_attribute_column(const char* name, int64_t count, flat_in_bytes valid, flat_in_i64 integers,
                                      flat_in_f32 numbers, flat_in_bytes bools, flat_in_bytes text, flat_in_i64 offsets,
                                      flat_in_i64 lists, flat_in_i64 codes, sidbeam_attribute_column* out,
                                      sidbeam_error* err) {
  int64_t values = count;
  if (!FLAT_NEED(err, valid, count) || !FLAT_NEED(err, integers, count) || !FLAT_NEED(err, numbers, count) ||
      !FLAT_NEED(err, bools, count) || !FLAT_NEED(err, lists, count + 1))
    return 0;
  if (lists.data != NULL && count >= 0) values = lists.data[count];
  if (values < 0) values = 0; /* which the library refuses */
  if (!FLAT_NEED(err, codes, values) || (codes.data == NULL && !FLAT_NEED(err, offsets, values + 1)) ||
      !FLAT_NEED(err, offsets, 1) ||
      (offsets.data != NULL && !FLAT_NEED(err, text, offsets.data[codes.data == NULL ? values : offsets.count - 1])))
    return 0;
  out->name = name;
  out->valid = (const uint8_t*)valid.data;
  out->integers = integers.data;
  out->numbers = numbers.data;
  out->bools = (const uint8_t*)bools.data;
  out->text = text.data;
  out->offsets = offsets.data;
  out->lists = lists.data;
  out->codes = codes.data;
  out->string_count = offsets.count - 1;
  return 1;
}

/* The arguments of fl_attribute_column. */
static inline void flat_builder_set_attribute(flat_handle* builder, const char* name, int64_t count,
                                              flat_in_bytes valid, flat_in_i64 integers, flat_in_f32 numbers,
                                              flat_in_bytes bools, flat_in_bytes text, flat_in_i64 offsets,
                                              flat_in_i64 lists, flat_in_i64 codes, sidbeam_error* err) {
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  void* object;
  fl_clear(err);
  if (!fl_attribute_column(name, count, valid, integers, numbers, bools, text, offsets, lists, codes, &column, err))
    return;
  object = fl_enter(builder, FLAT_BUILDER, err);
  if (object == NULL) return;
  (void)!sidbeam_builder_set_attribute((sidbeam_builder*)object, &column, count, err);
  fl_leave(builder);
}

/* Values of attributes that go with the pairs of one call, of `count` pairs each. They are copied: a language has no
 * way to lend as many arrays as there are attributes. */
typedef struct fl_columns {
  int64_t count;
  int32_t used;
  sidbeam_attribute_column columns[FLAT_MOST_ATTRIBUTES];
  const sidbeam_attribute_column* pointers[FLAT_MOST_ATTRIBUTES];
} fl_columns;

static inline void fl_destroy_columns(void* object) {
  fl_columns* columns = (fl_columns*)object;
  for (int32_t i = 0; i < columns->used; i++) {
    const sidbeam_attribute_column* column = columns->columns + i;
    const void* const copies[] = {column->name, column->valid,   column->integers, column->numbers, column->bools,
                                  column->text, column->offsets, column->lists,    column->codes};
    for (size_t c = 0; c < sizeof(copies) / sizeof(*copies); c++) free((void*)(uintptr_t)copies[c]);
  }
  free(columns);
}

static inline flat_handle* flat_columns_create(sidbeam_error* err) {
  fl_columns* columns = (fl_columns*)calloc(1, sizeof(*columns));
  fl_clear(err);
  if (columns != NULL) return fl_box(FLAT_COLUMNS, columns, fl_destroy_columns);
  fl_fail(err, SIDBEAM_OUT_OF_MEMORY, "no memory for values of attributes");
  return NULL;
}

/* NULL where there is nothing to copy, or an error. */
static inline const void* fl_copy(const void* data, int64_t bytes, sidbeam_error* err) {
  void* copy;
  if (data == NULL || err->code != 0) return NULL;
  copy = malloc(bytes > 0 ? (size_t)bytes : 1);
  if (copy == NULL)
    fl_fail(err, SIDBEAM_OUT_OF_MEMORY, "no memory for %" PRId64 " bytes of values of attributes", bytes);
  else if (bytes > 0)
    memcpy(copy, data, (size_t)bytes);
  return copy;
}

/* The arguments of fl_attribute_column. */
static inline void flat_columns_put(flat_handle* columns, const char* name, int64_t count, flat_in_bytes valid,
                                    flat_in_i64 integers, flat_in_f32 numbers, flat_in_bytes bools, flat_in_bytes text,
                                    flat_in_i64 offsets, flat_in_i64 lists, flat_in_i64 codes, sidbeam_error* err) {
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  fl_columns* to;
  fl_clear(err);
  if (!fl_attribute_column(name, count, valid, integers, numbers, bools, text, offsets, lists, codes, &column, err))
    return;
  to = (fl_columns*)fl_enter(columns, FLAT_COLUMNS, err);
  if (to == NULL) return;
  if (to->used == FLAT_MOST_ATTRIBUTES) {
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "attributes has more than %d names", FLAT_MOST_ATTRIBUTES);
  } else if (to->used > 0 && to->count != count) {
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "attributes have %" PRId64 " and %" PRId64 " values, expected one per pair",
            to->count, count);
  } else {
    to->count = count;
    column.name = (const char*)fl_copy(name, name == NULL ? 0 : (int64_t)strlen(name) + 1, err);
    column.valid = (const uint8_t*)fl_copy(valid.data, valid.count, err);
    column.integers = (const int64_t*)fl_copy(integers.data, integers.count * 8, err);
    column.numbers = (const float*)fl_copy(numbers.data, numbers.count * 4, err);
    column.bools = (const uint8_t*)fl_copy(bools.data, bools.count, err);
    column.text = (const char*)fl_copy(text.data, text.count, err);
    column.offsets = (const int64_t*)fl_copy(offsets.data, offsets.count * 8, err);
    column.lists = (const int64_t*)fl_copy(lists.data, lists.count * 8, err);
    column.codes = (const int64_t*)fl_copy(codes.data, codes.count * 8, err);
    to->columns[to->used] = column;
    to->pointers[to->used] = to->columns + to->used;
    to->used++;
  }
  fl_leave(columns);
}

/* How many attributes the index has. */
static inline int64_t flat_index_attribute_count(flat_handle* index, sidbeam_error* err) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  void* object;
  fl_clear(err);
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return 0;
  (void)!sidbeam_index_get_info((sidbeam_index*)object, &info, err);
  fl_drop_user(index);
  return info.attribute_count;
}

/* numbers [FLAT_ATTRIBUTE_COUNT]; range [2]: least and greatest of F32. Returns the length of the name, of which as
 * much as fits is written. */
static inline int64_t flat_index_get_attribute(flat_handle* index, int64_t i, flat_out_i64 numbers, flat_out_f32 range,
                                               flat_out_bytes name, sidbeam_error* err) {
  sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
  int64_t bytes = 0;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, numbers, FLAT_ATTRIBUTE_COUNT) || !FLAT_GIVEN(err, range, 2)) return 0;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return 0;
  if (sidbeam_index_get_attribute((sidbeam_index*)object, i, &info, err) == SIDBEAM_OK) {
    numbers.data[FLAT_ATTRIBUTE_TYPE] = info.type;
    numbers.data[FLAT_ATTRIBUTE_NULLS] = info.nulls;
    numbers.data[FLAT_ATTRIBUTE_DISTINCT] = info.distinct;
    numbers.data[FLAT_ATTRIBUTE_CODES] = info.codes;
    numbers.data[FLAT_ATTRIBUTE_LEAST] = info.least;
    numbers.data[FLAT_ATTRIBUTE_GREATEST] = info.greatest;
    range.data[0] = (float)info.least_number;
    range.data[1] = (float)info.greatest_number;
    bytes = fl_text(name, info.name, (int64_t)strlen(info.name));
  }
  fl_drop_user(index);
  return bytes;
}

/* values [count]; valid [count] bytes, or none. */
static inline void flat_index_attribute_integers(flat_handle* index, int64_t attribute, int64_t item_row, int64_t count,
                                                 flat_out_i64 values, flat_out_bytes valid, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, values, count) || !FLAT_NEED(err, valid, count)) return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  (void)!sidbeam_index_attribute_integers((sidbeam_index*)object, attribute, item_row, count, values.data,
                                          (uint8_t*)valid.data, err);
  fl_drop_user(index);
}

static inline void flat_index_attribute_numbers(flat_handle* index, int64_t attribute, int64_t item_row, int64_t count,
                                                flat_out_f32 values, flat_out_bytes valid, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, values, count) || !FLAT_NEED(err, valid, count)) return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  (void)!sidbeam_index_attribute_numbers((sidbeam_index*)object, attribute, item_row, count, values.data,
                                         (uint8_t*)valid.data, err);
  fl_drop_user(index);
}

/* offsets [count + 1]; codes as many as the last of these says, or none; valid [count] bytes, or none. */
static inline void flat_index_attribute_lists(flat_handle* index, int64_t attribute, int64_t item_row, int64_t count,
                                              flat_out_i64 offsets, flat_out_i64 codes, flat_out_bytes valid,
                                              sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, offsets, count + 1) || !FLAT_NEED(err, valid, count)) return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  (void)!sidbeam_index_attribute_lists((sidbeam_index*)object, attribute, item_row, count, offsets.data, codes.count,
                                       codes.data, (uint8_t*)valid.data, err);
  fl_drop_user(index);
}

/* The strings of codes [first, first + count), end to end: offsets [count + 1]; as many whole strings as fit are
 * written to `text`. Returns their length altogether. */
static inline int64_t flat_index_attribute_strings(flat_handle* index, int64_t attribute, int64_t first, int64_t count,
                                                   flat_out_i64 offsets, flat_out_bytes text, sidbeam_error* err) {
  int64_t end = 0, i;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, offsets, count + 1)) return 0;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return 0;
  offsets.data[0] = 0;
  for (i = 0; i < count; i++) {
    const char* string = NULL;
    int64_t bytes = 0;
    if (sidbeam_index_attribute_string((sidbeam_index*)object, attribute, first + i, &string, &bytes, err) !=
        SIDBEAM_OK)
      break;
    if (text.data != NULL && end + bytes <= text.count) memcpy(text.data + end, string, (size_t)bytes);
    offsets.data[i + 1] = end += bytes;
  }
  fl_drop_user(index);
  return end;
}

#endif
