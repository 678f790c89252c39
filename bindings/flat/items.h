/* Item rows of an index, many at a time. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_ITEMS_H
#define SIDBEAM_FLAT_ITEMS_H

/* range [2]: the item rows [lo, hi) of an ordinal. */
static inline void flat_index_item_rows(flat_handle* index, int64_t ordinal, flat_out_i64 range, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, range, 2)) return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  (void)!sidbeam_index_item_rows((sidbeam_index*)object, ordinal, range.data, range.data + 1, err);
  fl_drop_user(index);
}

/* The item rows of a list of ordinals: item_rows [limit], or none for the sizes alone; offsets [ordinals + 1];
 * truncated [1]. */
static inline void flat_index_items(flat_handle* index, flat_in_i64 ordinals, int64_t limit_per_sid, int64_t limit,
                                    int32_t distinct, flat_out_i64 item_rows, flat_out_i64 offsets,
                                    flat_out_i32 truncated, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_NEED(err, item_rows, limit) || !FLAT_GIVEN(err, offsets, ordinals.count + 1) ||
      !FLAT_NEED(err, truncated, 1))
    return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  (void)!sidbeam_index_items((sidbeam_index*)object, ordinals.data, ordinals.count, limit_per_sid, limit, distinct,
                             item_rows.data, offsets.data, truncated.data, err);
  fl_drop_user(index);
}

typedef sidbeam_status (*fl_item_number)(const sidbeam_index* index, int64_t item_row, int64_t* out,
                                         sidbeam_error* err);

/* What `ask` says of many item rows, for which there is room. */
static inline void fl_ask_item_rows(flat_handle* index, flat_in_i64 item_rows, fl_item_number ask, flat_out_i64 out,
                                    sidbeam_error* err) {
  int64_t i;
  void* object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  for (i = 0; i < item_rows.count && err->code == 0; i++)
    (void)!ask((sidbeam_index*)object, item_rows.data[i], out.data + i, err);
  fl_drop_user(index);
}

/* The ordinals of many item rows: ordinals [item_rows]. */
static inline void flat_index_item_ordinals(flat_handle* index, flat_in_i64 item_rows, flat_out_i64 ordinals,
                                            sidbeam_error* err) {
  fl_clear(err);
  if (FLAT_GIVEN(err, ordinals, item_rows.count))
    fl_ask_item_rows(index, item_rows, sidbeam_index_item_ordinal, ordinals, err);
}

/* The priorities of many item rows: priorities [item_rows]. */
static inline void flat_index_item_priorities(flat_handle* index, flat_in_i64 item_rows, flat_out_i64 priorities,
                                              sidbeam_error* err) {
  fl_clear(err);
  if (FLAT_GIVEN(err, priorities, item_rows.count))
    fl_ask_item_rows(index, item_rows, sidbeam_index_item_priority, priorities, err);
}

/* 1 if two names that lie so say that the index is damaged. In a file those of rising rows follow each other; in a
 * version of a live catalogue those that were added lie elsewhere, in the order of their SIDs. */
static inline int fl_names_overlap(int is_version, const char* before, const char* end, const char* name,
                                   int64_t bytes) {
  return is_version ? name < end && before < name + bytes : name < end;
}

/* The ids of many item rows: ids [item_rows] (-1 where ids are names); name_bytes [item_rows], if given: the lengths of
 * the names. CORRUPT where names of rising rows overlap, as only those of a damaged index do: callers make room for the
 * sum, which could be the length of all names times the number of rows. */
static inline void flat_index_item_ids(flat_handle* index, flat_in_i64 item_rows, flat_out_i64 ids,
                                       flat_out_i64 name_bytes, sidbeam_error* err) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  int64_t i, bytes = 0;
  const char *name = NULL, *before = NULL, *end = NULL;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, ids, item_rows.count) || !FLAT_NEED(err, name_bytes, item_rows.count)) return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  (void)!sidbeam_index_get_info((sidbeam_index*)object, &info, err);
  for (i = 0; i < item_rows.count && err->code == 0; i++) {
    const int64_t row = item_rows.data[i];
    if (sidbeam_index_item_id((sidbeam_index*)object, row, ids.data + i, &name, &bytes, err) != SIDBEAM_OK) break;
    if (name_bytes.data != NULL) name_bytes.data[i] = bytes;
    if (name_bytes.data == NULL || name == NULL) continue;
    if (i > 0 && item_rows.data[i - 1] < row && fl_names_overlap(info.version != 0, before, end, name, bytes))
      fl_fail(err, SIDBEAM_CORRUPT, "the names of item rows %lld and %lld overlap: the index is damaged",
              (long long)item_rows.data[i - 1], (long long)row);
    before = name;
    end = name + bytes;
  }
  fl_drop_user(index);
}

/* The names of many item rows, one after the other, as many bytes as fit; returns the number of bytes that there are.
 * */
static inline int64_t flat_index_item_names(flat_handle* index, flat_in_i64 item_rows, flat_out_bytes names,
                                            sidbeam_error* err) {
  int64_t i, id = 0, used = 0;
  void* object;
  fl_clear(err);
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return 0;
  for (i = 0; i < item_rows.count; i++) {
    const char* name = NULL;
    int64_t bytes = 0;
    if (sidbeam_index_item_id((sidbeam_index*)object, item_rows.data[i], &id, &name, &bytes, err) != SIDBEAM_OK) break;
    if (names.data != NULL && name != NULL && used + bytes <= names.count)
      memcpy(names.data + used, name, (size_t)bytes);
    used += bytes;
  }
  fl_drop_user(index);
  return used;
}

/* The first item row >= from_item_row with this id, or, where ids are names, this name; -1: none. */
static inline int64_t flat_index_find_item(flat_handle* index, int64_t id, flat_in_bytes name, int64_t from_item_row,
                                           sidbeam_error* err) {
  int64_t item_row = -1;
  void* object;
  fl_clear(err);
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return -1;
  (void)!sidbeam_index_find_item((sidbeam_index*)object, id, name.data, name.count, from_item_row, &item_row, err);
  fl_drop_user(index);
  return item_row;
}

#endif
