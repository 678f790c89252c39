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

/* Fields of sidbeam_attribute_column; those that the type does not need may be none. valid, bools: bytes. Strings go by
 * offsets, which has one more than there are; with codes they are a dictionary. */
static inline void flat_builder_set_attribute(flat_handle* builder, const char* name, int64_t count,
                                              flat_in_bytes valid, flat_in_i64 integers, flat_in_f32 numbers,
                                              flat_in_bytes bools, flat_in_bytes text, flat_in_i64 offsets,
                                              flat_in_i64 lists, flat_in_i64 codes, sidbeam_error* err) {
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  int64_t values = count;
  void* object;
  fl_clear(err);
  if (!FLAT_NEED(err, valid, count) || !FLAT_NEED(err, integers, count) || !FLAT_NEED(err, numbers, count) ||
      !FLAT_NEED(err, bools, count) || !FLAT_NEED(err, lists, count + 1))
    return;
  if (lists.data != NULL && count >= 0) values = lists.data[count];
  if (values < 0) values = 0; /* which the library refuses */
  if (!FLAT_NEED(err, codes, values) || (codes.data == NULL && !FLAT_NEED(err, offsets, values + 1)) ||
      !FLAT_NEED(err, offsets, 1) ||
      (offsets.data != NULL && !FLAT_NEED(err, text, offsets.data[codes.data == NULL ? values : offsets.count - 1])))
    return;
  column.name = name;
  column.valid = (const uint8_t*)valid.data;
  column.integers = integers.data;
  column.numbers = numbers.data;
  column.bools = (const uint8_t*)bools.data;
  column.text = text.data;
  column.offsets = offsets.data;
  column.lists = lists.data;
  column.codes = codes.data;
  column.string_count = offsets.count - 1;
  object = fl_enter(builder, FLAT_BUILDER, err);
  if (object == NULL) return;
  (void)!sidbeam_builder_set_attribute((sidbeam_builder*)object, &column, count, err);
  fl_leave(builder);
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
