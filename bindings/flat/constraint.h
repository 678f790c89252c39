/* The constraint that sessions and stateless calls follow. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_CONSTRAINT_H
#define SIDBEAM_FLAT_CONSTRAINT_H

static inline void fl_destroy_constraint(void* object) { sidbeam_constraint_release((sidbeam_constraint*)object); }

static inline flat_handle* fl_box_constraint(sidbeam_constraint* constraint) {
  return constraint == NULL ? NULL : fl_box(FLAT_CONSTRAINT, constraint, fl_destroy_constraint);
}

/* filter may be NULL; the lists are as fl_item_list has them, and none is no list. */
static inline flat_handle* flat_constraint_create_ruled(flat_handle* index, flat_handle* filter, int32_t excluded_by,
                                                        flat_in_i64 excluded, flat_in_bytes excluded_names,
                                                        flat_in_i64 excluded_offsets, int32_t allowed_by,
                                                        flat_in_i64 allowed, flat_in_bytes allowed_names,
                                                        flat_in_i64 allowed_offsets, sidbeam_error* err) {
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_item_list out = SIDBEAM_ITEM_LIST_INIT, in = SIDBEAM_ITEM_LIST_INIT;
  sidbeam_constraint* constraint = NULL;
  fl_clear(err);
  if (fl_item_list(excluded_by, excluded, excluded_names, excluded_offsets, &out, err)) config.excluded = &out;
  if (fl_item_list(allowed_by, allowed, allowed_names, allowed_offsets, &in, err)) config.allowed = &in;
  config.index = (sidbeam_index*)fl_share(index, FLAT_INDEX, err);
  if (config.index == NULL) return NULL;
  if (filter != NULL) config.filter = (sidbeam_filter*)fl_share(filter, FLAT_FILTER, err);
  if (err->code == 0) (void)!sidbeam_constraint_create(&config, &constraint, err);
  if (filter != NULL && config.filter != NULL) fl_drop_user(filter); /* gcc 12 does not see that the first follows */
  fl_drop_user(index);
  return fl_box_constraint(constraint);
}

/* Of all items. */
static inline flat_handle* flat_constraint_create(flat_handle* index, sidbeam_error* err) {
  static const flat_in_i64 no_numbers = {NULL, 0};
  static const flat_in_bytes no_names = {NULL, 0};
  return flat_constraint_create_ruled(index, NULL, 0, no_numbers, no_names, no_numbers, 0, no_numbers, no_names,
                                      no_numbers, err);
}

/* The same constraint with further excluded items, a list as fl_item_list has it. */
static inline flat_handle* flat_constraint_exclude(flat_handle* constraint, int32_t by, flat_in_i64 numbers,
                                                   flat_in_bytes names, flat_in_i64 offsets, sidbeam_error* err) {
  sidbeam_item_list excluded = SIDBEAM_ITEM_LIST_INIT;
  sidbeam_constraint* after = NULL;
  void* object;
  fl_clear(err);
  (void)fl_item_list(by, numbers, names, offsets, &excluded, err);
  object = fl_share(constraint, FLAT_CONSTRAINT, err);
  if (object == NULL) return NULL;
  (void)!sidbeam_constraint_exclude((sidbeam_constraint*)object, &excluded, &after, err);
  fl_drop_user(constraint);
  return fl_box_constraint(after);
}

/* Where the numbers of sidbeam_constraint_info stand in an array of FLAT_CONSTRAINT_COUNT; codes are by level, of
 * SIDBEAM_MAX_LEVELS entries, 0 past the last level. */
enum {
  FLAT_CONSTRAINT_LEVELS,
  FLAT_CONSTRAINT_VARIABLE_LENGTH,
  FLAT_CONSTRAINT_KINDS,
  FLAT_CONSTRAINT_SIDS,
  FLAT_CONSTRAINT_ITEMS,
  FLAT_CONSTRAINT_RULES,
  FLAT_CONSTRAINT_ALLOWED_SIDS,
  FLAT_CONSTRAINT_ALLOWED_ITEMS,
  FLAT_CONSTRAINT_UNKNOWN_EXCLUDED,
  FLAT_CONSTRAINT_UNKNOWN_ALLOWED,
  FLAT_CONSTRAINT_CODES,
  FLAT_CONSTRAINT_COUNT = FLAT_CONSTRAINT_CODES + SIDBEAM_MAX_LEVELS
};

/* fingerprint: 32 bytes. */
static inline void flat_constraint_get_info(flat_handle* constraint, flat_out_i64 out, flat_out_bytes fingerprint,
                                            sidbeam_error* err) {
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  int32_t l;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_CONSTRAINT_COUNT)) return;
  object = fl_share(constraint, FLAT_CONSTRAINT, err);
  if (object == NULL) return;
  if (sidbeam_constraint_get_info((sidbeam_constraint*)object, &info, err) == SIDBEAM_OK) {
    out.data[FLAT_CONSTRAINT_LEVELS] = info.levels;
    out.data[FLAT_CONSTRAINT_VARIABLE_LENGTH] = info.variable_length;
    out.data[FLAT_CONSTRAINT_KINDS] = info.kinds;
    out.data[FLAT_CONSTRAINT_SIDS] = info.sids;
    out.data[FLAT_CONSTRAINT_ITEMS] = info.items;
    out.data[FLAT_CONSTRAINT_RULES] = info.rules;
    out.data[FLAT_CONSTRAINT_ALLOWED_SIDS] = info.allowed_sids;
    out.data[FLAT_CONSTRAINT_ALLOWED_ITEMS] = info.allowed_items;
    out.data[FLAT_CONSTRAINT_UNKNOWN_EXCLUDED] = info.unknown_excluded;
    out.data[FLAT_CONSTRAINT_UNKNOWN_ALLOWED] = info.unknown_allowed;
    for (l = 0; l < SIDBEAM_MAX_LEVELS; l++) out.data[FLAT_CONSTRAINT_CODES + l] = l < info.levels ? info.codes[l] : 0;
    fl_text(fingerprint, info.fingerprint, 32);
  }
  fl_drop_user(constraint);
}

/* The item rows of a list of ordinals that the constraint allows: item_rows [limit], or none for the sizes alone;
 * offsets [ordinals + 1]; truncated [1], came_short [1]. cap_attribute "": none. */
static inline void flat_constraint_items(flat_handle* constraint, flat_in_i64 ordinals, int64_t limit_per_sid,
                                         int64_t limit, int32_t distinct, const char* cap_attribute, int64_t cap,
                                         flat_out_i64 item_rows, flat_out_i64 offsets, flat_out_i32 truncated,
                                         flat_out_i32 came_short, sidbeam_error* err) {
  sidbeam_item_limits limits = SIDBEAM_ITEM_LIMITS_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_NEED(err, item_rows, limit) || !FLAT_GIVEN(err, offsets, ordinals.count + 1) ||
      !FLAT_NEED(err, truncated, 1) || !FLAT_NEED(err, came_short, 1))
    return;
  object = fl_share(constraint, FLAT_CONSTRAINT, err);
  if (object == NULL) return;
  limits.limit_per_sid = limit_per_sid;
  limits.limit = limit;
  limits.distinct = distinct;
  if (cap_attribute != NULL && *cap_attribute) limits.cap_attribute = cap_attribute;
  limits.cap = cap;
  (void)!sidbeam_constraint_items((sidbeam_constraint*)object, ordinals.data, ordinals.count, &limits, item_rows.data,
                                  offsets.data, truncated.data, came_short.data, err);
  fl_drop_user(constraint);
}

#endif
