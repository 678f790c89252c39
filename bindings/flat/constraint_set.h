/* The stateless forms. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_CONSTRAINT_SET_H
#define SIDBEAM_FLAT_CONSTRAINT_SET_H

/* The most levels that any of the entered constraints has. */
static inline int32_t fl_most_levels(const fl_constraints* constraints, sidbeam_error* err) {
  int32_t most = 0;
  int64_t i;
  for (i = 0; i < constraints->entered && err->code == 0; i++) {
    sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
    if (sidbeam_constraint_get_info(constraints->objects[i], &info, err) == SIDBEAM_OK && info.levels > most)
      most = info.levels;
  }
  return most;
}

static inline void fl_destroy_constraint_set(void* object) {
  sidbeam_constraint_set_destroy((sidbeam_constraint_set*)object);
}

/* constraints: handles as numbers; vocabulary as fl_vocabulary has it. */
static inline flat_handle* flat_constraint_set_create(flat_handle* runtime, flat_in_i64 constraints,
                                                      flat_in_i64 offsets, flat_in_i32 maps, flat_in_i64 map_codes,
                                                      int64_t end_column, int32_t device_type, int32_t device_id,
                                                      sidbeam_error* err) {
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  const int32_t* pointers[SIDBEAM_MAX_LEVELS];
  fl_constraints entered;
  sidbeam_constraint_set* set = NULL;
  flat_handle* handle = NULL;
  void* object;
  fl_clear(err);
  if (fl_vocabulary(offsets, maps, map_codes, end_column, &vocabulary, pointers, err)) config.vocabulary = &vocabulary;
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return NULL;
  if (fl_enter_constraints(&entered, constraints, err)) {
    config.constraint_count = constraints.count;
    config.constraints = entered.objects;
    config.device_type = device_type;
    config.device_id = device_id;
    if (sidbeam_constraint_set_create((sidbeam_runtime*)object, &config, &set, err) == SIDBEAM_OK) {
      handle = fl_box(FLAT_CONSTRAINT_SET, set, fl_destroy_constraint_set);
      handle->levels = fl_most_levels(&entered, err);
      handle->device_type = device_type;
    }
    fl_leave_constraints(&entered);
  }
  fl_drop_user(runtime);
  return handle;
}

/* Elements that codes must have. On CUDA the host cannot read lengths: one prefix for all may have every level, and
 * without any codes longer prefixes are dead. */
static inline int64_t fl_set_prefix_elements(const flat_handle* set, flat_in_i32 codes, flat_in_i32 lengths,
                                             int64_t count, int64_t stride) {
  static const flat_in_i32 unread = {NULL, 0};
  if (set->device_type == SIDBEAM_DEVICE_CPU) return fl_prefix_elements(codes, lengths, count, stride, set->levels);
  if (stride == SIDBEAM_BROADCAST) return set->levels;
  return fl_prefix_elements(codes, unread, count, stride, set->levels);
}

/* which [count] or none; codes [count, stride], where a stride of 0 is the most levels of any constraint and
 * SIDBEAM_BROADCAST one prefix for all; lengths, out [count]. */
static inline void flat_constraint_set_prefixes(flat_handle* set, flat_in_i32 which, flat_in_i32 codes, int64_t stride,
                                                flat_in_i32 lengths, int64_t count, flat_out_i64 out, int64_t stream,
                                                sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_NEED(err, which, count) || !FLAT_GIVEN(err, lengths, count) || !FLAT_GIVEN(err, out, count)) return;
  object = fl_share(set, FLAT_CONSTRAINT_SET, err);
  if (object == NULL) return;
  if (FLAT_NEED(err, codes, fl_set_prefix_elements(set, codes, lengths, count, stride)))
    (void)!sidbeam_constraint_set_prefixes((sidbeam_constraint_set*)object, which.data, fl_prefix_codes(codes), stride,
                                           lengths.data, count, out.data, (void*)(intptr_t)stream, err);
  fl_drop_user(set);
}

/* states: those to continue from; parents [count] or none; codes, out [count]. */
static inline void flat_constraint_set_advance(flat_handle* set, flat_in_i32 which, flat_in_i64 states,
                                               flat_in_i32 parents, flat_in_i32 codes, int64_t count, flat_out_i64 out,
                                               int64_t stream, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_NEED(err, which, count) || !FLAT_NEED(err, parents, count) || !FLAT_GIVEN(err, codes, count) ||
      !FLAT_GIVEN(err, out, count))
    return;
  object = fl_share(set, FLAT_CONSTRAINT_SET, err);
  if (object == NULL) return;
  (void)!sidbeam_constraint_set_advance((sidbeam_constraint_set*)object, which.data, states.data, states.count,
                                        parents.data, codes.data, count, out.data, (void*)(intptr_t)stream, err);
  fl_drop_user(set);
}

/* 1 if there is one state per logits row. With more states, a caller would wait for results that nobody writes. */
static inline int fl_one_state_per_row(flat_in_i64 states, int64_t rows, sidbeam_error* err) {
  if (FLAT_GIVEN(err, states, rows) && states.count > rows)
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "states has %" PRId64 " elements, expected %" PRId64 ", one per logits row",
            states.count, rows);
  return err->code == 0;
}

/* Masks logits rows [rows, columns] in place. */
static inline void flat_constraint_set_mask(flat_handle* set, flat_in_i32 which, flat_in_i64 states, flat_memory logits,
                                            int64_t elements, int32_t dtype, int32_t device_type, int32_t device_id,
                                            int64_t rows, int64_t columns, int64_t row_stride, int64_t stream,
                                            sidbeam_error* err) {
  sidbeam_rows described = SIDBEAM_ROWS_INIT;
  void* object;
  fl_clear(err);
  if (!fl_rows("logits", logits, elements, dtype, device_type, device_id, 0, rows, columns, 0, row_stride, &described,
               err) ||
      !FLAT_NEED(err, which, rows) || !fl_one_state_per_row(states, rows, err))
    return;
  object = fl_share(set, FLAT_CONSTRAINT_SET, err);
  if (object == NULL) return;
  (void)!sidbeam_constraint_set_mask((sidbeam_constraint_set*)object, which.data, states.data, &described, logits.data,
                                     (void*)(intptr_t)stream, err);
  fl_drop_user(set);
}

/* words [count, words_per_row]. */
static inline void flat_constraint_set_bitmask(flat_handle* set, flat_in_i32 which, flat_in_i64 states, int64_t count,
                                               int64_t words_per_row, flat_out_i32 words, int64_t stream,
                                               sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_NEED(err, which, count) || !FLAT_GIVEN(err, states, count) ||
      !FLAT_GIVEN(err, words, fl_product(count, words_per_row)))
    return;
  object = fl_share(set, FLAT_CONSTRAINT_SET, err);
  if (object == NULL) return;
  (void)!sidbeam_constraint_set_bitmask((sidbeam_constraint_set*)object, which.data, states.data, count, words_per_row,
                                        (uint32_t*)words.data, (void*)(intptr_t)stream, err);
  fl_drop_user(set);
}

/* codes, log_probs [rows, k]; next [rows, k] or none. */
static inline void flat_constraint_set_topk(flat_handle* set, flat_in_i32 which, flat_in_i64 states, flat_memory logits,
                                            int64_t elements, int32_t dtype, int32_t device_type, int32_t device_id,
                                            int64_t rows, int64_t columns, int64_t row_stride, int32_t normalization,
                                            int32_t k, flat_out_i32 codes, flat_out_f32 log_probs, flat_out_i64 next,
                                            int64_t stream, sidbeam_error* err) {
  sidbeam_rows described = SIDBEAM_ROWS_INIT;
  void* object;
  fl_clear(err);
  if (!fl_rows("logits", logits, elements, dtype, device_type, device_id, 0, rows, columns, 0, row_stride, &described,
               err) ||
      !FLAT_NEED(err, which, rows) || !fl_one_state_per_row(states, rows, err) ||
      !FLAT_GIVEN(err, codes, fl_product(rows, k)) || !FLAT_GIVEN(err, log_probs, fl_product(rows, k)) ||
      !FLAT_NEED(err, next, fl_product(rows, k)))
    return;
  object = fl_share(set, FLAT_CONSTRAINT_SET, err);
  if (object == NULL) return;
  (void)!sidbeam_constraint_set_topk((sidbeam_constraint_set*)object, which.data, states.data, &described,
                                     normalization, k, codes.data, log_probs.data, next.data, (void*)(intptr_t)stream,
                                     err);
  fl_drop_user(set);
}

/* One code per logits row: inverse_temperatures [rows] or none; from seeds on as fl_sampling has them; codes [rows];
 * log_probs, log_masses, next [rows] or none. */
static inline void flat_constraint_set_sample(flat_handle* set, flat_in_i32 which, flat_in_i64 states,
                                              flat_memory logits, int64_t elements, int32_t dtype, int32_t device_type,
                                              int32_t device_id, int64_t rows, int64_t columns, int64_t row_stride,
                                              int32_t normalization, flat_in_f32 inverse_temperatures,
                                              flat_in_i64 seeds, flat_in_i64 requests, flat_in_i64 draws,
                                              flat_in_i32 top_ks, flat_in_f32 top_ps, flat_out_i32 codes,
                                              flat_out_f32 log_probs, flat_out_f32 log_masses, flat_out_i64 next,
                                              int64_t stream, sidbeam_error* err) {
  static const flat_in_f32 no_scales = {NULL, 0};
  sidbeam_rows described = SIDBEAM_ROWS_INIT;
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
  void* object;
  fl_clear(err);
  (void)fl_sampling(seeds, requests, draws, 0, top_ks, top_ps, no_scales, rows, 1, &sampling, err);
  if (!fl_rows("logits", logits, elements, dtype, device_type, device_id, 0, rows, columns, 0, row_stride, &described,
               err) ||
      !FLAT_NEED(err, which, rows) || !fl_one_state_per_row(states, rows, err) ||
      !FLAT_NEED(err, inverse_temperatures, rows) || !FLAT_GIVEN(err, codes, rows) ||
      !FLAT_NEED(err, log_probs, rows) || !FLAT_NEED(err, log_masses, rows) || !FLAT_NEED(err, next, rows))
    return;
  out.codes = codes.data;
  out.log_probs = log_probs.data;
  out.log_masses = log_masses.data;
  out.next = next.data;
  object = fl_share(set, FLAT_CONSTRAINT_SET, err);
  if (object == NULL) return;
  (void)!sidbeam_constraint_set_sample((sidbeam_constraint_set*)object, which.data, states.data, &described,
                                       normalization, inverse_temperatures.data, &sampling, &out,
                                       (void*)(intptr_t)stream, err);
  fl_drop_user(set);
}

#endif
