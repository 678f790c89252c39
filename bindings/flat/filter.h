/* Sets of an index's items. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_FILTER_H
#define SIDBEAM_FLAT_FILTER_H

static inline void fl_destroy_filter(void* object) { sidbeam_filter_release((sidbeam_filter*)object); }

static inline flat_handle* fl_box_filter(sidbeam_filter* filter) {
  return filter == NULL ? NULL : fl_box(FLAT_FILTER, filter, fl_destroy_filter);
}

/* Fills a list from numbers, ids or by SIDBEAM_ITEMS_BY_ROW item rows, or from names: entry i is names[offsets[i] ..
 * offsets[i+1]). Returns 1 if there is a list, which may be empty: neither numbers nor offsets are none. */
static inline int fl_item_list(int32_t by, flat_in_i64 numbers, flat_in_bytes names, flat_in_i64 offsets,
                               sidbeam_item_list* out, sidbeam_error* err) {
  out->by = by;
  if (offsets.data == NULL) {
    out->numbers = numbers.data;
    out->count = numbers.count;
    return numbers.data != NULL;
  }
  if (!FLAT_GIVEN(err, offsets, 1) || !FLAT_GIVEN(err, names, offsets.data[offsets.count - 1])) return 0;
  out->names = names.data == NULL ? "" : names.data;
  out->offsets = offsets.data;
  out->count = offsets.count - 1;
  return 1;
}

/* The items of a list, as fl_item_list has it; unknown [1] or none. */
static inline flat_handle* flat_filter_from_items(flat_handle* index, int32_t by, flat_in_i64 numbers,
                                                  flat_in_bytes names, flat_in_i64 offsets, flat_out_i64 unknown,
                                                  sidbeam_error* err) {
  sidbeam_item_list items = SIDBEAM_ITEM_LIST_INIT;
  sidbeam_filter* filter = NULL;
  void* object;
  fl_clear(err);
  (void)fl_item_list(by, numbers, names, offsets, &items, err);
  if (!FLAT_NEED(err, unknown, 1)) return NULL;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return NULL;
  (void)!sidbeam_filter_from_items((sidbeam_index*)object, &items, unknown.data, &filter, err);
  fl_drop_user(index);
  return fl_box_filter(filter);
}

/* rows: as the encoding has them, SIDBEAM_ROWS_*; offset: of bits, that of row 0. */
static inline flat_handle* flat_filter_from_rows(flat_handle* index, int32_t encoding, flat_in_bytes rows,
                                                 int64_t offset, sidbeam_error* err) {
  sidbeam_row_set set = SIDBEAM_ROW_SET_INIT;
  sidbeam_filter* filter = NULL;
  void* object;
  fl_clear(err);
  set.encoding = encoding;
  set.data = rows.data;
  set.bytes = rows.count;
  set.offset = offset;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return NULL;
  (void)!sidbeam_filter_from_rows((sidbeam_index*)object, &set, &filter, err);
  fl_drop_user(index);
  return fl_box_filter(filter);
}

/* As an operator: the attribute is one of the values, or, of a list of strings, has one of them. */
enum { FLAT_TERM_ANY_OF = 0 };

/* That which a term over this attribute needs: EQUAL and IN, or CONTAINS. One that is not there the library refuses. */
static inline int32_t fl_any_of(sidbeam_index* index, const sidbeam_term* term, sidbeam_error* err) {
  sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
  int64_t attribute = -1;
  if (term->attribute != NULL && sidbeam_index_find_attribute(index, term->attribute, &attribute, err) == SIDBEAM_OK &&
      attribute >= 0 && sidbeam_index_get_attribute(index, attribute, &info, err) == SIDBEAM_OK &&
      info.type == SIDBEAM_ATTRIBUTE_STRING_LIST)
    return SIDBEAM_TERM_CONTAINS;
  return term->count == 1 ? SIDBEAM_TERM_EQUAL : SIDBEAM_TERM_IN;
}

/* Pointers to the strings, each of which ends with NUL; to be freed. NULL: there are none, or an error. */
static inline const char** fl_strings_of(flat_in_bytes strings, int64_t* count, sidbeam_error* err) {
  const char **pointers, *at = strings.data, *const end = strings.data + strings.count;
  *count = 0;
  if (!fl_terminated(err, "strings", strings)) return NULL;
  for (int64_t i = 0; i < strings.count; i++) *count += strings.data[i] == 0;
  pointers = (const char**)malloc((size_t)(*count + 1) * sizeof(*pointers));
  if (pointers == NULL) {
    fl_fail(err, SIDBEAM_OUT_OF_MEMORY, "no memory for %" PRId64 " strings", *count);
    return NULL;
  }
  for (int64_t i = 0; at < end; at += strlen(at) + 1) pointers[i++] = at;
  return pointers;
}

/* op: SIDBEAM_TERM_* or FLAT_TERM_ANY_OF. The values are in the one array that is given: integers; doubles, by their
 * bits; bools, a byte each; or strings, each with a NUL at its end. */
static inline flat_handle* flat_filter_from_term(flat_handle* index, int32_t op, const char* attribute,
                                                 flat_in_i64 integers, flat_in_i64 double_bits, flat_in_bytes bools,
                                                 flat_in_bytes strings, sidbeam_error* err) {
  sidbeam_term term = SIDBEAM_TERM_INIT;
  sidbeam_filter* filter = NULL;
  const char** pointers = NULL;
  void* object;
  fl_clear(err);
  term.attribute = attribute;
  term.integers = integers.data;
  term.numbers = (const double*)(const void*)double_bits.data;
  term.bools = (const uint8_t*)bools.data;
  term.count = integers.count + double_bits.count + bools.count;
  if (strings.data != NULL && strings.count > 0) term.strings = pointers = fl_strings_of(strings, &term.count, err);
  object = fl_share(index, FLAT_INDEX, err);
  if (object != NULL) {
    term.op = op == FLAT_TERM_ANY_OF ? fl_any_of((sidbeam_index*)object, &term, err) : op;
    if (err->code == 0) (void)!sidbeam_filter_from_term((sidbeam_index*)object, &term, &filter, err);
    fl_drop_user(index);
  }
  free((void*)pointers);
  return fl_box_filter(filter);
}

static inline flat_handle* flat_filter_parse(flat_handle* index, flat_in_bytes text, sidbeam_error* err) {
  sidbeam_filter* filter = NULL;
  void* object;
  fl_clear(err);
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return NULL;
  (void)!sidbeam_filter_parse((sidbeam_index*)object, text.data, text.count, &filter, err);
  fl_drop_user(index);
  return fl_box_filter(filter);
}

/* Writes as much of the text as fits; returns its length. UNSUPPORTED: it has none. */
static inline int64_t flat_filter_text(flat_handle* filter, flat_out_bytes text, sidbeam_error* err) {
  int64_t bytes = 0;
  void* object;
  fl_clear(err);
  object = fl_share(filter, FLAT_FILTER, err);
  if (object == NULL) return 0;
  (void)!sidbeam_filter_text((sidbeam_filter*)object, text.data == NULL ? 0 : text.count, text.data, &bytes, err);
  fl_drop_user(filter);
  return bytes;
}

/* op: SIDBEAM_FILTER_*; other may be NULL, as it must with NOT. */
static inline flat_handle* flat_filter_combine(int32_t op, flat_handle* filter, flat_handle* other,
                                               sidbeam_error* err) {
  sidbeam_filter *both[2] = {NULL, NULL}, *joined = NULL;
  fl_clear(err);
  both[0] = (sidbeam_filter*)fl_share(filter, FLAT_FILTER, err);
  if (both[0] == NULL) return NULL;
  if (other != NULL) both[1] = (sidbeam_filter*)fl_share(other, FLAT_FILTER, err);
  if (err->code == 0) (void)!sidbeam_filter_combine(op, both, other == NULL ? 1 : 2, &joined, err);
  if (other != NULL && both[1] != NULL) fl_drop_user(other); /* gcc 12 does not see that the first follows */
  fl_drop_user(filter);
  return fl_box_filter(joined);
}

/* The filter after a change of the items of a list, as fl_item_list has it; allowed: a byte per entry; unknown [1] or
 * none. */
static inline flat_handle* flat_filter_update(flat_handle* filter, int32_t by, flat_in_i64 numbers, flat_in_bytes names,
                                              flat_in_i64 offsets, flat_in_bytes allowed, flat_out_i64 unknown,
                                              sidbeam_error* err) {
  sidbeam_item_list items = SIDBEAM_ITEM_LIST_INIT;
  sidbeam_filter* updated = NULL;
  void* object;
  fl_clear(err);
  (void)fl_item_list(by, numbers, names, offsets, &items, err);
  if (!FLAT_GIVEN(err, allowed, items.count) || !FLAT_NEED(err, unknown, 1)) return NULL;
  object = fl_share(filter, FLAT_FILTER, err);
  if (object == NULL) return NULL;
  (void)!sidbeam_filter_update((sidbeam_filter*)object, &items, (const uint8_t*)allowed.data, unknown.data, &updated,
                               err);
  fl_drop_user(filter);
  return fl_box_filter(updated);
}

/* The same filter on another version of a live catalogue, or on another index. */
static inline flat_handle* flat_filter_on(flat_handle* filter, flat_handle* index, sidbeam_error* err) {
  sidbeam_filter* moved = NULL;
  void *object, *to;
  fl_clear(err);
  object = fl_share(filter, FLAT_FILTER, err);
  if (object == NULL) return NULL;
  to = fl_share(index, FLAT_INDEX, err);
  if (to != NULL) {
    (void)!sidbeam_filter_on((sidbeam_filter*)object, (sidbeam_index*)to, &moved, err);
    fl_drop_user(index);
  }
  fl_drop_user(filter);
  return fl_box_filter(moved);
}

static inline void flat_filter_prepare(flat_handle* filter, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  object = fl_share(filter, FLAT_FILTER, err);
  if (object == NULL) return;
  (void)!sidbeam_filter_prepare((sidbeam_filter*)object, err);
  fl_drop_user(filter);
}

/* Where the numbers of sidbeam_filter_info stand in an array of FLAT_FILTER_COUNT. */
enum { FLAT_FILTER_PREPARED, FLAT_FILTER_ITEMS, FLAT_FILTER_SIDS, FLAT_FILTER_BYTES, FLAT_FILTER_COUNT };

static inline void flat_filter_get_info(flat_handle* filter, flat_out_i64 out, sidbeam_error* err) {
  sidbeam_filter_info info = SIDBEAM_FILTER_INFO_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_FILTER_COUNT)) return;
  object = fl_share(filter, FLAT_FILTER, err);
  if (object == NULL) return;
  if (sidbeam_filter_get_info((sidbeam_filter*)object, &info, err) == SIDBEAM_OK) {
    out.data[FLAT_FILTER_PREPARED] = info.prepared;
    out.data[FLAT_FILTER_ITEMS] = info.items;
    out.data[FLAT_FILTER_SIDS] = info.sids;
    out.data[FLAT_FILTER_BYTES] = info.bytes;
  }
  fl_drop_user(filter);
}

/* Copies as many words of the rows' bits as fit; returns how many there are. */
static inline int64_t flat_filter_rows(flat_handle* filter, flat_out_i64 words, sidbeam_error* err) {
  const uint64_t* bits = NULL;
  int64_t count = 0;
  void* object;
  fl_clear(err);
  object = fl_share(filter, FLAT_FILTER, err);
  if (object == NULL) return 0;
  if (sidbeam_filter_rows((sidbeam_filter*)object, &bits, &count, err) == SIDBEAM_OK && words.data != NULL)
    memcpy(words.data, bits, (size_t)(count < words.count ? count : words.count) * sizeof(*bits));
  fl_drop_user(filter);
  return count;
}

#endif
