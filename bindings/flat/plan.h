/* Sizes of an index that has not been built. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_PLAN_H
#define SIDBEAM_FLAT_PLAN_H

static inline void fl_destroy_plan(void* object) { sidbeam_plan_destroy((sidbeam_plan*)object); }

static inline flat_handle* flat_builder_plan(flat_handle* builder, sidbeam_error* err) {
  sidbeam_plan* plan = NULL;
  void* object;
  fl_clear(err);
  object = fl_enter(builder, FLAT_BUILDER, err);
  if (object == NULL) return NULL;
  (void)!sidbeam_builder_plan((sidbeam_builder*)object, &plan, err);
  fl_leave(builder);
  return plan == NULL ? NULL : fl_box(FLAT_PLAN, plan, fl_destroy_plan);
}

/* The arguments are those of flat_builder_create. */
static inline flat_handle* flat_plan_estimate(flat_in_i32 codes, int32_t variable_length, int32_t id_type,
                                              int32_t kinds, int32_t keep_priorities, int64_t sids,
                                              sidbeam_error* err) {
  const sidbeam_builder_config config = fl_builder_config(codes, variable_length, id_type, kinds,
                                                          SIDBEAM_COLLISIONS_KEEP, 0, 0, NULL, 0, 0, keep_priorities);
  sidbeam_plan* plan = NULL;
  fl_clear(err);
  if (sidbeam_plan_estimate(&config, sids, &plan, err) != SIDBEAM_OK) return NULL;
  return fl_box(FLAT_PLAN, plan, fl_destroy_plan);
}

/* Where the numbers of sidbeam_plan_info stand in an array of FLAT_PLAN_COUNT; nodes are by level, of
 * SIDBEAM_MAX_LEVELS entries, 0 past the last level. */
enum {
  FLAT_PLAN_EXACT,
  FLAT_PLAN_SIDS,
  FLAT_PLAN_ITEMS,
  FLAT_PLAN_FILE_BYTES,
  FLAT_PLAN_PEAK_BYTES,
  FLAT_PLAN_SECTION_COUNT,
  FLAT_PLAN_NODES,
  FLAT_PLAN_COUNT = FLAT_PLAN_NODES + SIDBEAM_MAX_LEVELS
};

static inline void flat_plan_get_info(flat_handle* plan, flat_out_i64 out, sidbeam_error* err) {
  sidbeam_plan_info info = SIDBEAM_PLAN_INFO_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_PLAN_COUNT)) return;
  object = fl_share(plan, FLAT_PLAN, err);
  if (object == NULL) return;
  if (sidbeam_plan_get_info((sidbeam_plan*)object, &info, err) == SIDBEAM_OK) {
    out.data[FLAT_PLAN_EXACT] = info.exact;
    out.data[FLAT_PLAN_SIDS] = info.sids;
    out.data[FLAT_PLAN_ITEMS] = info.items;
    out.data[FLAT_PLAN_FILE_BYTES] = info.file_bytes;
    out.data[FLAT_PLAN_PEAK_BYTES] = info.peak_bytes;
    out.data[FLAT_PLAN_SECTION_COUNT] = info.section_count;
    memset(out.data + FLAT_PLAN_NODES, 0, SIDBEAM_MAX_LEVELS * sizeof(int64_t));
    memcpy(out.data + FLAT_PLAN_NODES, info.nodes, (size_t)fl_known_levels(info.levels) * sizeof(int64_t));
  }
  fl_drop_user(plan);
}

/* As flat_index_get_section; the checksum is 0. */
static inline void flat_plan_get_section(flat_handle* plan, int64_t i, flat_out_i64 numbers, flat_out_bytes kind,
                                         flat_out_bytes encoding, sidbeam_error* err) {
  sidbeam_section_info info = SIDBEAM_SECTION_INFO_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, numbers, 4)) return;
  object = fl_share(plan, FLAT_PLAN, err);
  if (object == NULL) return;
  if (sidbeam_plan_get_section((sidbeam_plan*)object, i, &info, err) == SIDBEAM_OK)
    fl_put_section(&info, numbers.data, kind, encoding);
  fl_drop_user(plan);
}

#endif
