/* The stateless forms. Those that take constraints as an array are not here: a table on the CPU does the same, and need
 * not be filled at every call. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_TABLE_H
#define SIDBEAM_FLAT_TABLE_H

/* constraints: handles as numbers; vocabulary as fl_vocabulary has it. */
static inline flat_handle* flat_constraint_set_create(flat_handle* runtime, flat_in_i64 constraints, flat_in_i64 offsets,
                                             flat_in_i32 maps, flat_in_i32 map_codes, int64_t end_column,
                                             int32_t device_type, int32_t device_id, sidbeam_error* err) {
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  const int32_t* pointers[SIDBEAM_MAX_LEVELS];
  fl_constraints entered;
  sidbeam_constraint_set* table = NULL;
  void* object;
  fl_clear(err);
  if (fl_vocabulary(offsets, maps, map_codes, end_column, &vocabulary, pointers, err)) config.vocabulary = &vocabulary;
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return NULL;
  if (fl_enter_constraints(&entered, constraints, err)) {
    config.constraint_count = constraints.count > INT32_MAX ? INT32_MAX : (int32_t)constraints.count;
    config.constraints = entered.objects;
    config.device_type = device_type;
    config.device_id = device_id;
    (void)!sidbeam_constraint_set_create((sidbeam_runtime*)object, &config, &table, err);
    fl_leave_constraints(&entered);
  }
  fl_drop_user(runtime);
  return table == NULL ? NULL : fl_box(FLAT_CONSTRAINT_SET, table);
}

/* which [count] or none; codes [count, stride]; lengths [count]; out [count, W], W words a state. */
static inline void flat_constraint_set_prefixes(flat_handle* table, flat_in_i32 which, flat_in_i32 codes, int64_t stride,
                                       flat_in_i32 lengths, int64_t count, flat_out_i64 out, int64_t stream,
                                       sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_NEED(err, which, count) || !FLAT_NEED(err, codes, fl_product(count, stride)) ||
      !FLAT_GIVEN(err, lengths, count) || !FLAT_GIVEN(err, out, count))
    return;
  object = fl_share(table, FLAT_CONSTRAINT_SET, err);
  if (object == NULL) return;
  (void)!sidbeam_constraint_set_prefixes((sidbeam_constraint_set*)object, which.data, codes.data, stride, lengths.data, count, out.data,
                                (void*)(intptr_t)stream, err);
  fl_drop_user(table);
}

/* states: those to go on from; parents [count] or none; tokens, out [count]. */
static inline void flat_constraint_set_advance(flat_handle* table, flat_in_i32 which, flat_in_i64 states, flat_in_i64 parents,
                                      flat_in_i32 tokens, int64_t count, flat_out_i64 out, int64_t stream,
                                      sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_NEED(err, which, count) || !FLAT_NEED(err, parents, count) || !FLAT_GIVEN(err, tokens, count) ||
      !FLAT_GIVEN(err, out, count))
    return;
  object = fl_share(table, FLAT_CONSTRAINT_SET, err);
  if (object == NULL) return;
  (void)!sidbeam_constraint_set_advance((sidbeam_constraint_set*)object, which.data, states.data, states.count, parents.data, tokens.data,
                               count, out.data, (void*)(intptr_t)stream, err);
  fl_drop_user(table);
}

/* 1 if there is a state a row: of more, a caller would wait for results that nobody writes. */
static inline int fl_state_a_row(flat_in_i64 states, int64_t rows, sidbeam_error* err) {
  if (FLAT_GIVEN(err, states, rows) && states.count > rows)
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "states has %" PRId64 " elements, expected %" PRId64 ", one a row",
            states.count, rows);
  return err->code == 0;
}

/* Masks rows [rows, columns] in place. */
static inline void flat_constraint_set_mask(flat_handle* table, flat_in_i32 which, flat_in_i64 states, flat_memory logits,
                                   int64_t elements, int32_t dtype, int32_t device_type, int32_t device_id,
                                   int64_t rows, int64_t columns, int64_t row_stride, int64_t stream,
                                   sidbeam_error* err) {
  sidbeam_rows described = SIDBEAM_ROWS_INIT;
  void* object;
  fl_clear(err);
  if (!fl_rows(logits, elements, dtype, device_type, device_id, 0, rows, columns, 0, row_stride, &described, err) ||
      !FLAT_NEED(err, which, rows) || !fl_state_a_row(states, rows, err))
    return;
  object = fl_share(table, FLAT_CONSTRAINT_SET, err);
  if (object == NULL) return;
  (void)!sidbeam_constraint_set_mask((sidbeam_constraint_set*)object, which.data, states.data, &described, (void*)(intptr_t)stream, err);
  fl_drop_user(table);
}

/* words [count, words_per_row]. */
static inline void flat_constraint_set_bitmask(flat_handle* table, flat_in_i32 which, flat_in_i64 states, int64_t count,
                                      flat_out_i32 words, int64_t words_per_row, int64_t stream, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_NEED(err, which, count) || !FLAT_GIVEN(err, states, count) ||
      !FLAT_GIVEN(err, words, fl_product(count, words_per_row)))
    return;
  object = fl_share(table, FLAT_CONSTRAINT_SET, err);
  if (object == NULL) return;
  (void)!sidbeam_constraint_set_bitmask((sidbeam_constraint_set*)object, which.data, states.data, count, (uint32_t*)words.data,
                               words_per_row, (void*)(intptr_t)stream, err);
  fl_drop_user(table);
}

/* tokens, log_probs [rows, k]; next [rows, k] or none. */
static inline void flat_constraint_set_topk(flat_handle* table, flat_in_i32 which, flat_in_i64 states, flat_memory logits,
                                   int64_t elements, int32_t dtype, int32_t device_type, int32_t device_id,
                                   int64_t rows, int64_t columns, int64_t row_stride, int32_t normalization, int32_t k,
                                   flat_out_i32 tokens, flat_out_f32 log_probs, flat_out_i64 next, int64_t stream,
                                   sidbeam_error* err) {
  sidbeam_rows described = SIDBEAM_ROWS_INIT;
  void* object;
  fl_clear(err);
  if (!fl_rows(logits, elements, dtype, device_type, device_id, 0, rows, columns, 0, row_stride, &described, err) ||
      !FLAT_NEED(err, which, rows) || !fl_state_a_row(states, rows, err) ||
      !FLAT_GIVEN(err, tokens, fl_product(rows, k)) || !FLAT_GIVEN(err, log_probs, fl_product(rows, k)) ||
      !FLAT_NEED(err, next, fl_product(rows, k)))
    return;
  object = fl_share(table, FLAT_CONSTRAINT_SET, err);
  if (object == NULL) return;
  (void)!sidbeam_constraint_set_topk((sidbeam_constraint_set*)object, which.data, states.data, &described, normalization, k, tokens.data,
                            log_probs.data, next.data, (void*)(intptr_t)stream, err);
  fl_drop_user(table);
}

#endif
