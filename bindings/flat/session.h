/* Decoder sessions. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_SESSION_H
#define SIDBEAM_FLAT_SESSION_H

static inline void fl_destroy_session(void* object) { sidbeam_session_destroy((sidbeam_session*)object); }

/* constraint may be NULL: slots then name theirs; vocabulary as fl_vocabulary has it. */
static inline flat_handle* flat_session_create(flat_handle* runtime, flat_handle* constraint, int32_t slots,
                                               int32_t beams, int32_t strategy, int32_t normalization, int32_t top_k,
                                               flat_in_i64 offsets, flat_in_i32 maps, flat_in_i64 map_codes,
                                               int64_t end_column, int32_t device_type, int32_t device_id,
                                               int32_t log_probs_promised, int32_t mode, int64_t max_listed,
                                               sidbeam_error* err) {
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  const int32_t* pointers[SIDBEAM_MAX_LEVELS];
  sidbeam_session* session = NULL;
  void* object;
  fl_clear(err);
  if (fl_vocabulary(offsets, maps, map_codes, end_column, &vocabulary, pointers, err)) config.vocabulary = &vocabulary;
  config.slots = slots;
  config.beams = beams;
  config.strategy = strategy;
  config.normalization = normalization;
  config.top_k = top_k;
  config.device_type = device_type;
  config.device_id = device_id;
  config.log_probs_promised = log_probs_promised;
  config.mode = mode;
  config.max_listed = max_listed;
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return NULL;
  if (constraint != NULL) config.constraint = (sidbeam_constraint*)fl_share(constraint, FLAT_CONSTRAINT, err);
  if (err->code == 0) (void)!sidbeam_session_create((sidbeam_runtime*)object, &config, &session, err);
  if (config.constraint != NULL) fl_drop_user(constraint);
  fl_drop_user(runtime);
  if (session == NULL) return NULL;
  flat_handle* handle = fl_box(FLAT_SESSION, session, fl_destroy_session);
  handle->device_type = device_type;
  return handle;
}

/* The number of slots that a list names: S if slots is none. */
static inline int64_t fl_slots_named(const sidbeam_beams* beams, flat_in_i32 slots, int64_t count) {
  return slots.data == NULL && count == 0 ? beams->slots : count;
}

/* Elements that prefixes must have: one prefix per entry; or, if all share one or the array is empty, as many as are
 * read. */
static inline int64_t fl_prefix_elements(flat_in_i32 codes, flat_in_i32 lengths, int64_t count, int64_t stride,
                                         int32_t levels) {
  int64_t i, most = 0;
  if (stride != SIDBEAM_BROADCAST && codes.count > 0) return fl_product(count, stride == 0 ? levels : stride);
  for (i = 0; i < count && lengths.data != NULL; i++)
    if (lengths.data[i] > most) most = lengths.data[i];
  return most < levels ? most : levels;
}

/* The stride that the library gets: a stride of 0 says nothing about an empty array. */
static inline const int32_t* fl_prefix_codes(flat_in_i32 codes) { return codes.count == 0 ? NULL : codes.data; }

/* slots [count], or none for all S, with count 0 or S; each of the others [count] or none, widths [count, width_levels]
 * if that is not 0. constraints: handles as numbers; prefixes [count, prefix_stride], where a stride of 0 is L and
 * SIDBEAM_BROADCAST one prefix for all; from seeds on as fl_sampling has them. */
static inline void flat_session_start(flat_handle* session, flat_in_i32 slots, int64_t count, flat_in_i64 constraints,
                                      flat_in_i32 widths, int32_t width_levels, flat_in_i32 prefixes,
                                      flat_in_i32 prefix_lengths, int64_t prefix_stride,
                                      flat_in_f32 inverse_temperatures, flat_in_f32 soft_caps, int64_t stream,
                                      flat_in_i64 seeds, flat_in_i64 requests, flat_in_i64 draws, int64_t draw_stride,
                                      flat_in_i32 top_ks, flat_in_f32 top_ps, flat_in_f32 noise_scales,
                                      sidbeam_error* err) {
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  fl_constraints entered;
  int64_t named;
  void* object;
  fl_clear(err);
  object = fl_enter(session, FLAT_SESSION, err);
  if (object == NULL) return;
  (void)!sidbeam_session_get_beams((sidbeam_session*)object, &beams, err);
  named = fl_slots_named(&beams, slots, count);
  if (fl_sampling(seeds, requests, draws, draw_stride, top_ks, top_ps, noise_scales, named, beams.beams, &sampling,
                  err))
    args.sampling = &sampling;
  if (FLAT_NEED(err, slots, named) && FLAT_NEED(err, constraints, named) &&
      FLAT_NEED(err, widths, fl_product(named, width_levels > 0 ? width_levels : 1)) &&
      FLAT_NEED(err, inverse_temperatures, named) && FLAT_NEED(err, soft_caps, named) &&
      FLAT_NEED(err, prefix_lengths, named) &&
      FLAT_NEED(err, prefixes, fl_prefix_elements(prefixes, prefix_lengths, named, prefix_stride, beams.levels)) &&
      fl_enter_constraints(&entered, constraints, err)) {
    args.slots = slots.data;
    args.count = count;
    args.constraints = entered.objects;
    args.widths = widths.data;
    args.width_levels = width_levels;
    args.prefixes = fl_prefix_codes(prefixes);
    args.prefix_lengths = prefix_lengths.data;
    args.prefix_stride = prefix_stride;
    args.inverse_temperatures = inverse_temperatures.data;
    args.soft_caps = soft_caps.data;
    args.stream = (void*)(intptr_t)stream;
    (void)!sidbeam_session_start((sidbeam_session*)object, &args, err);
    fl_leave_constraints(&entered);
  }
  fl_leave(session);
}

/* 1 if what a step has per slot or beam is long enough; `slots` or none for all S. */
static inline int fl_step_arrays_fit(void* session, flat_in_i32 slots, flat_in_i32 row_map,
                                     flat_in_f32 inverse_temperatures, flat_in_f32 soft_caps, sidbeam_error* err) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  int64_t named;
  (void)!sidbeam_session_get_beams((sidbeam_session*)session, &beams, err);
  named = fl_slots_named(&beams, slots, slots.data == NULL ? 0 : slots.count);
  return FLAT_NEED(err, row_map, fl_product(named, beams.beams)) && FLAT_NEED(err, inverse_temperatures, named) &&
         FLAT_NEED(err, soft_caps, named);
}

/* One level. slots: or none for all S; logits as fl_rows has them; row_map [slots, beams] with rows_slots 0; lse one
 * per logits row; inverse_temperatures and soft_caps one per slot, or none for the scalars, which must be 0 beside
 * them. */
static inline void flat_session_step(flat_handle* session, flat_in_i32 slots, flat_memory logits, int64_t elements,
                                     int32_t dtype, int32_t device_type, int32_t device_id, int64_t rows_slots,
                                     int64_t rows, int64_t columns, int64_t slot_stride, int64_t row_stride,
                                     flat_in_i32 row_map, flat_in_f32 lse, float inverse_temperature, float soft_cap,
                                     flat_in_f32 inverse_temperatures, flat_in_f32 soft_caps, int64_t stream,
                                     sidbeam_error* err) {
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_rows described = SIDBEAM_ROWS_INIT;
  void* object;
  fl_clear(err);
  if (!fl_rows("logits", logits, elements, dtype, device_type, device_id, rows_slots, rows, columns, slot_stride,
               row_stride, &described, err) ||
      !FLAT_NEED(err, lse, fl_product(rows_slots > 0 ? rows_slots : 1, rows)))
    return;
  object = fl_enter(session, FLAT_SESSION, err);
  if (object == NULL) return;
  args.slots = slots.data;
  args.count = slots.data == NULL ? 0 : slots.count;
  args.rows = &described;
  args.row_map = row_map.data;
  args.lse = lse.data;
  args.inverse_temperature = inverse_temperature;
  args.soft_cap = soft_cap;
  args.inverse_temperatures = inverse_temperatures.data;
  args.soft_caps = soft_caps.data;
  args.stream = (void*)(intptr_t)stream;
  if (fl_step_arrays_fit(object, slots, row_map, inverse_temperatures, soft_caps, err))
    (void)!sidbeam_session_step((sidbeam_session*)object, &args, err);
  fl_leave(session);
}

/* slots [count], or none for all S, with count 0 or S; offsets [count * M + 1]. Writes as many columns as fit; returns
 * how many there are. Of sessions on the CPU: elsewhere their number is in the device's memory. */
static inline int64_t flat_session_children(flat_handle* session, flat_in_i32 slots, int64_t count, int32_t lse_given,
                                            flat_out_i64 offsets, flat_out_i32 columns, sidbeam_error* err) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  int64_t all, found = 0;
  void* object;
  fl_clear(err);
  if (!FLAT_NEED(err, slots, count)) return 0;
  object = fl_enter(session, FLAT_SESSION, err);
  if (object == NULL) return 0;
  (void)!sidbeam_session_get_beams((sidbeam_session*)object, &beams, err);
  if (session->device_type != SIDBEAM_DEVICE_CPU)
    fl_fail(err, SIDBEAM_UNSUPPORTED,
            "session is on a device, expected one on the CPU: there children are for C alone");
  all = fl_product(fl_slots_named(&beams, slots, count), beams.beams);
  if (err->code == 0 && FLAT_GIVEN(err, offsets, all + 1) &&
      sidbeam_session_children((sidbeam_session*)object, slots.data, count, lse_given, columns.count, offsets.data,
                               columns.data, NULL, err) == SIDBEAM_OK)
    found = offsets.data[all];
  fl_leave(session);
  return found;
}

/* Where a session's arrays are, and their shapes, in an array of FLAT_BEAMS_COUNT. */
enum {
  FLAT_BEAMS_SLOTS,
  FLAT_BEAMS_BEAMS,
  FLAT_BEAMS_LEVELS,
  FLAT_BEAMS_PARENTS, /* addresses from here on */
  FLAT_BEAMS_CODES,
  FLAT_BEAMS_SCORES,
  FLAT_BEAMS_STATES,
  FLAT_BEAMS_LIVE,
  FLAT_BEAMS_ACTIVE,
  FLAT_BEAMS_LEVEL,
  FLAT_BEAMS_ERRORS,
  FLAT_BEAMS_LOG_MASSES, /* 0 in a mode that has none, as those below */
  FLAT_BEAMS_PERTURBED,
  FLAT_BEAMS_LOG_INCLUSIONS,
  FLAT_BEAMS_THRESHOLDS,
  FLAT_BEAMS_COUNT
};

static inline void fl_put_beams(const sidbeam_beams* beams, int64_t* out) {
  out[FLAT_BEAMS_SLOTS] = beams->slots;
  out[FLAT_BEAMS_BEAMS] = beams->beams;
  out[FLAT_BEAMS_LEVELS] = beams->levels;
  out[FLAT_BEAMS_PARENTS] = (int64_t)(intptr_t)beams->parents;
  out[FLAT_BEAMS_CODES] = (int64_t)(intptr_t)beams->codes;
  out[FLAT_BEAMS_SCORES] = (int64_t)(intptr_t)beams->scores;
  out[FLAT_BEAMS_STATES] = (int64_t)(intptr_t)beams->states;
  out[FLAT_BEAMS_LIVE] = (int64_t)(intptr_t)beams->live;
  out[FLAT_BEAMS_ACTIVE] = (int64_t)(intptr_t)beams->active;
  out[FLAT_BEAMS_LEVEL] = (int64_t)(intptr_t)beams->level;
  out[FLAT_BEAMS_ERRORS] = (int64_t)(intptr_t)beams->errors;
  out[FLAT_BEAMS_LOG_MASSES] = (int64_t)(intptr_t)beams->log_masses;
  out[FLAT_BEAMS_PERTURBED] = (int64_t)(intptr_t)beams->perturbed;
  out[FLAT_BEAMS_LOG_INCLUSIONS] = (int64_t)(intptr_t)beams->log_inclusions;
  out[FLAT_BEAMS_THRESHOLDS] = (int64_t)(intptr_t)beams->thresholds;
}

static inline void flat_session_get_beams(flat_handle* session, flat_out_i64 out, sidbeam_error* err) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_BEAMS_COUNT)) return;
  object = fl_share(session, FLAT_SESSION, err);
  if (object == NULL) return;
  if (sidbeam_session_get_beams((sidbeam_session*)object, &beams, err) == SIDBEAM_OK) fl_put_beams(&beams, out.data);
  fl_drop_user(session);
}

static inline void flat_session_fetch(flat_handle* session, flat_out_i64 out, int64_t stream, sidbeam_error* err) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_BEAMS_COUNT)) return;
  object = fl_enter(session, FLAT_SESSION, err);
  if (object == NULL) return;
  if (sidbeam_session_fetch((sidbeam_session*)object, &beams, (void*)(intptr_t)stream, err) == SIDBEAM_OK)
    fl_put_beams(&beams, out.data);
  fl_leave(session);
}

/* 1 if the arrays of sidbeam_items are long enough for `count` slots. */
static inline int fl_items_fit(const sidbeam_beams* beams, int64_t count, int64_t limit, flat_out_i64 ordinals,
                               flat_out_i32 sids, flat_out_i32 lengths, flat_out_i64 item_rows, flat_out_i64 offsets,
                               flat_out_i32 truncated, flat_out_i32 came_short, sidbeam_error* err) {
  const int64_t beams_all = fl_product(count, beams->beams);
  return FLAT_NEED(err, ordinals, beams_all) && FLAT_NEED(err, sids, fl_product(beams_all, beams->levels)) &&
         FLAT_NEED(err, lengths, beams_all) && FLAT_NEED(err, item_rows, fl_product(count, limit)) &&
         FLAT_NEED(err, offsets, fl_product(count, (int64_t)beams->beams + 1)) && FLAT_NEED(err, truncated, count) &&
         FLAT_NEED(err, came_short, count);
}

/* The arrays of sidbeam_items, each or none; slots [count], or none for all S, with count 0 or S; cap_attribute "":
 * none. */
static inline void flat_session_get_items(flat_handle* session, flat_in_i32 slots, int64_t count, int64_t limit_per_sid,
                                          int64_t limit, int32_t distinct, const char* cap_attribute, int64_t cap,
                                          flat_out_i64 ordinals, flat_out_i32 sids, flat_out_i32 lengths,
                                          flat_out_i64 item_rows, flat_out_i64 offsets, flat_out_i32 truncated,
                                          flat_out_i32 came_short, int64_t stream, sidbeam_error* err) {
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_NEED(err, slots, count)) return;
  object = fl_enter(session, FLAT_SESSION, err);
  if (object == NULL) return;
  items.limit_per_sid = limit_per_sid;
  items.limit = limit;
  items.distinct = distinct;
  items.ordinals = ordinals.data;
  items.sids = sids.data;
  items.lengths = lengths.data;
  items.item_rows = item_rows.data;
  items.offsets = offsets.data;
  items.truncated = truncated.data;
  if (cap_attribute != NULL && *cap_attribute) items.cap_attribute = cap_attribute;
  items.cap = cap;
  items.came_short = came_short.data;
  items.stream = (void*)(intptr_t)stream;
  if (sidbeam_session_get_beams((sidbeam_session*)object, &beams, err) == SIDBEAM_OK &&
      fl_items_fit(&beams, fl_slots_named(&beams, slots, count), limit, ordinals, sids, lengths, item_rows, offsets,
                   truncated, came_short, err))
    (void)!sidbeam_session_get_items((sidbeam_session*)object, slots.data, count, &items, err);
  fl_leave(session);
}

/* slots [count], or none for all S, with count 0 or S. */
static inline void flat_session_stop(flat_handle* session, flat_in_i32 slots, int64_t count, int64_t stream,
                                     sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_NEED(err, slots, count)) return;
  object = fl_enter(session, FLAT_SESSION, err);
  if (object == NULL) return;
  (void)!sidbeam_session_stop((sidbeam_session*)object, slots.data, count, (void*)(intptr_t)stream, err);
  fl_leave(session);
}

/* Where the numbers of sidbeam_stats stand in an array of FLAT_STATS_COUNT. */
enum {
  FLAT_STATS_STEPS,
  FLAT_STATS_ROWS_READ,
  FLAT_STATS_ROWS_SKIPPED,
  FLAT_STATS_ROWS_BAD,
  FLAT_STATS_DEAD_BEAMS,
  FLAT_STATS_MEMORY_BYTES,
  FLAT_STATS_COUNT
};

static inline void flat_session_get_stats(flat_handle* session, flat_out_i64 out, sidbeam_error* err) {
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_STATS_COUNT)) return;
  object = fl_enter(session, FLAT_SESSION, err);
  if (object == NULL) return;
  if (sidbeam_session_get_stats((sidbeam_session*)object, &stats, err) == SIDBEAM_OK) {
    out.data[FLAT_STATS_STEPS] = stats.steps;
    out.data[FLAT_STATS_ROWS_READ] = stats.rows_read;
    out.data[FLAT_STATS_ROWS_SKIPPED] = stats.rows_skipped;
    out.data[FLAT_STATS_ROWS_BAD] = stats.rows_bad;
    out.data[FLAT_STATS_DEAD_BEAMS] = stats.dead_beams;
    out.data[FLAT_STATS_MEMORY_BYTES] = stats.memory_bytes;
  }
  fl_leave(session);
}

/* Room for flat_session_get_counters: more counters than there are, and their names. */
enum { FLAT_COUNTERS = 64, FLAT_COUNTER_NAME_BYTES = 64 * 32 };

/* Returns the number of counters that are written: values [FLAT_COUNTERS], and their names, one after the other, each
 * NUL-terminated, in FLAT_COUNTER_NAME_BYTES. */
static inline int64_t flat_session_get_counters(flat_handle* session, flat_out_i64 values, flat_out_bytes names,
                                                sidbeam_error* err) {
  const char* texts[FLAT_COUNTERS];
  int64_t count = 0, i, used = 0;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, values, FLAT_COUNTERS) || !FLAT_GIVEN(err, names, FLAT_COUNTER_NAME_BYTES)) return 0;
  object = fl_enter(session, FLAT_SESSION, err);
  if (object == NULL) return 0;
  if (sidbeam_session_get_counters((sidbeam_session*)object, FLAT_COUNTERS, texts, values.data, &count, err) !=
      SIDBEAM_OK)
    count = 0;
  if (count > FLAT_COUNTERS) count = FLAT_COUNTERS;
  for (i = 0; i < count; i++) {
    const int64_t bytes = (int64_t)strlen(texts[i]) + 1;
    if (bytes > names.count - used) count = i;
    if (i < count) memcpy(names.data + used, texts[i], (size_t)bytes);
    used += bytes;
  }
  fl_leave(session);
  return count;
}

#endif
