/* The constraint that sessions and stateless calls follow. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_CONSTRAINT_H
#define SIDBEAM_FLAT_CONSTRAINT_H

static inline void fl_destroy_constraint(void* object) { sidbeam_constraint_release((sidbeam_constraint*)object); }

static inline flat_handle* flat_constraint_create(flat_handle* index, sidbeam_error* err) {
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_constraint* constraint = NULL;
  fl_clear(err);
  config.index = (sidbeam_index*)fl_share(index, FLAT_INDEX, err);
  if (config.index == NULL) return NULL;
  (void)!sidbeam_constraint_create(&config, &constraint, err);
  fl_drop_user(index);
  return constraint == NULL ? NULL : fl_box(FLAT_CONSTRAINT, constraint, fl_destroy_constraint);
}

/* Where the numbers of sidbeam_constraint_info stand in an array of FLAT_CONSTRAINT_COUNT; codes are by level, of
 * SIDBEAM_MAX_LEVELS entries, 0 past the last level. */
enum {
  FLAT_CONSTRAINT_LEVELS,
  FLAT_CONSTRAINT_VARIABLE_LENGTH,
  FLAT_CONSTRAINT_KINDS,
  FLAT_CONSTRAINT_SIDS,
  FLAT_CONSTRAINT_ITEMS,
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
    for (l = 0; l < SIDBEAM_MAX_LEVELS; l++) out.data[FLAT_CONSTRAINT_CODES + l] = l < info.levels ? info.codes[l] : 0;
    fl_text(fingerprint, info.fingerprint, 32);
  }
  fl_drop_user(constraint);
}

#endif
