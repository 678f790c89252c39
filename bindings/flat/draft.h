/* Draft heads and their decoders. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_DRAFT_H
#define SIDBEAM_FLAT_DRAFT_H

/* The numbers of sidbeam_draft_head_info in an array of FLAT_DRAFT_COUNT; the first FLAT_DRAFT_SHAPE_COUNT are those of
 * sidbeam_draft_weights too. */
enum {
  FLAT_DRAFT_LEVELS,
  FLAT_DRAFT_HIDDEN,
  FLAT_DRAFT_EMBEDDING,
  FLAT_DRAFT_INPUT,
  FLAT_DRAFT_TRANSITION,
  FLAT_DRAFT_DTYPE,
  FLAT_DRAFT_SHAPE_COUNT,
  FLAT_DRAFT_PARAMETERS = FLAT_DRAFT_SHAPE_COUNT,
  FLAT_DRAFT_FILE_BYTES,
  FLAT_DRAFT_MEMORY_BYTES,
  FLAT_DRAFT_COUNT
};

/* Lists of arrays in sidbeam_draft_weights. */
enum { FLAT_DRAFT_LISTS = 7 };

static inline void fl_destroy_draft_head(void* object) {
  fl_runner_api->draft_head_release((sidbeam_draft_head*)object);
}

static inline flat_handle* flat_draft_head_open(const char* path, sidbeam_error* err) {
  sidbeam_draft_head* head = NULL;
  fl_clear(err);
  if (!fl_load_runner(err) || fl_runner_api->draft_head_open(path, NULL, &head, err) != SIDBEAM_OK) return NULL;
  return fl_box(FLAT_DRAFT_HEAD, head, fl_destroy_draft_head);
}

/* codes [SIDBEAM_MAX_LEVELS]. Copies as much of the codebook as fits; returns its length. */
static inline int64_t flat_draft_head_get_info(flat_handle* head, flat_out_i64 numbers, flat_out_i32 codes,
                                               flat_out_bytes codebook, sidbeam_error* err) {
  sidbeam_draft_head_info info = SIDBEAM_DRAFT_HEAD_INFO_INIT;
  int64_t length = 0;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, numbers, FLAT_DRAFT_COUNT) || !FLAT_GIVEN(err, codes, SIDBEAM_MAX_LEVELS)) return 0;
  object = fl_share(head, FLAT_DRAFT_HEAD, err);
  if (object == NULL) return 0;
  if (fl_runner_api->draft_head_get_info((sidbeam_draft_head*)object, &info, err) == SIDBEAM_OK) {
    numbers.data[FLAT_DRAFT_LEVELS] = info.levels;
    numbers.data[FLAT_DRAFT_HIDDEN] = info.hidden;
    numbers.data[FLAT_DRAFT_EMBEDDING] = info.embedding;
    numbers.data[FLAT_DRAFT_INPUT] = info.input;
    numbers.data[FLAT_DRAFT_TRANSITION] = info.transition;
    numbers.data[FLAT_DRAFT_DTYPE] = info.dtype;
    numbers.data[FLAT_DRAFT_PARAMETERS] = info.parameters;
    numbers.data[FLAT_DRAFT_FILE_BYTES] = info.file_bytes;
    numbers.data[FLAT_DRAFT_MEMORY_BYTES] = info.memory_bytes;
    memset(codes.data, 0, SIDBEAM_MAX_LEVELS * sizeof(int32_t));
    memcpy(codes.data, info.codes, (size_t)fl_known_levels(info.levels) * sizeof(int32_t));
    length = fl_text(codebook, info.codebook, (int64_t)strlen(info.codebook));
  }
  fl_drop_user(head);
  return length;
}

/* Elements of an array of list `list` at a level with so many codes. */
static inline int64_t fl_draft_elements(const int64_t* shape, int64_t list, int64_t codes) {
  const int64_t hidden = shape[FLAT_DRAFT_HIDDEN];
  const int64_t embedding = shape[FLAT_DRAFT_EMBEDDING] != 0 ? shape[FLAT_DRAFT_EMBEDDING] : hidden;
  const int64_t gates = fl_product(hidden, shape[FLAT_DRAFT_TRANSITION] == SIDBEAM_DRAFT_TRANSITION_GRU ? 3 : 1);
  const int64_t inputs = fl_product(hidden, shape[FLAT_DRAFT_INPUT] == SIDBEAM_DRAFT_INPUT_BOTH ? 2 : 1);
  const int64_t rows = list < 3 ? codes : gates;
  const int64_t columns = list == 0 ? inputs : list == 2 || list == 3 ? embedding : list == 5 ? hidden : 1;
  return fl_product(rows, columns);
}

/* The arrays of one list, which lie in `bytes`. */
static inline void fl_draft_list(const int64_t* shape, int64_t list, flat_in_i32 codes, flat_in_bytes bytes,
                                 flat_in_i64 offsets, const void** arrays, sidbeam_error* err) {
  const int64_t size = shape[FLAT_DRAFT_DTYPE] == SIDBEAM_DTYPE_F32 ? 4 : 2, levels = codes.count;
  int64_t l;
  for (l = 0; l < levels && err->code == 0; l++) {
    const int64_t at = offsets.data[list * levels + l];
    const int64_t need = fl_product(fl_draft_elements(shape, list, codes.data[l]), size);
    arrays[l] = at < 0 ? NULL : bytes.data + at;
    if (at >= 0 && (at > bytes.count || need > bytes.count - at))
      fl_fail(err, SIDBEAM_INVALID_ARGUMENT,
              "weights of list %" PRId64 " and level %" PRId64 " need %" PRId64 " bytes from %" PRId64
              " on, but there are %" PRId64,
              list, l, need, at, bytes.count);
  }
}

/* shape [FLAT_DRAFT_SHAPE_COUNT]; codes [L]; offsets [FLAT_DRAFT_LISTS, L]: where each array begins in `bytes`, -1 for
 * none; lists are in the order of sidbeam_draft_weights. */
static inline void flat_draft_head_write(const char* path, flat_in_i64 shape, flat_in_i32 codes, flat_in_bytes bytes,
                                         flat_in_i64 offsets, const char* codebook, int32_t allow_attribute_loss,
                                         sidbeam_error* err) {
  sidbeam_draft_weights weights = SIDBEAM_DRAFT_WEIGHTS_INIT;
  const void* arrays[FLAT_DRAFT_LISTS][SIDBEAM_MAX_LEVELS];
  int64_t list;
  fl_clear(err);
  if (!FLAT_GIVEN(err, shape, FLAT_DRAFT_SHAPE_COUNT) || !FLAT_GIVEN(err, codes, 1)) return;
  if (codes.count > SIDBEAM_MAX_LEVELS || shape.data[FLAT_DRAFT_LEVELS] != codes.count) {
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "codes has %" PRId64 " elements, expected %" PRId64 ", at most %d",
            codes.count, shape.data[FLAT_DRAFT_LEVELS], SIDBEAM_MAX_LEVELS);
    return;
  }
  if (!FLAT_GIVEN(err, offsets, FLAT_DRAFT_LISTS * codes.count)) return;
  for (list = 0; list < FLAT_DRAFT_LISTS; list++)
    fl_draft_list(shape.data, list, codes, bytes, offsets, arrays[list], err);
  if (err->code != 0 || !fl_load_runner(err)) return;
  weights.levels = fl_narrow(shape.data[FLAT_DRAFT_LEVELS]);
  weights.hidden = fl_narrow(shape.data[FLAT_DRAFT_HIDDEN]);
  weights.embedding = fl_narrow(shape.data[FLAT_DRAFT_EMBEDDING]);
  weights.input = fl_narrow(shape.data[FLAT_DRAFT_INPUT]);
  weights.transition = fl_narrow(shape.data[FLAT_DRAFT_TRANSITION]);
  weights.dtype = fl_narrow(shape.data[FLAT_DRAFT_DTYPE]);
  weights.codes = codes.data;
  weights.head_weights = arrays[0];
  weights.head_biases = arrays[1];
  weights.embeddings = arrays[2];
  weights.input_weights = arrays[3];
  weights.input_biases = arrays[4];
  weights.recurrent_weights = arrays[5];
  weights.recurrent_biases = arrays[6];
  weights.codebook = codebook;
  weights.allow_attribute_loss = allow_attribute_loss;
  (void)!fl_runner_api->draft_head_write(path, &weights, err);
}

static inline void fl_destroy_draft_decoder(void* object) {
  fl_runner_api->draft_decoder_destroy((sidbeam_draft_decoder*)object);
}

/* As in sidbeam_draft_config; on the CPU runs take the caller's thread alone. */
static inline flat_handle* flat_draft_decoder_create(flat_handle* runtime, flat_handle* head, flat_handle* index,
                                                     int32_t requests, int32_t beams, int32_t verification,
                                                     int32_t normalization, int32_t top_k, int64_t max_listed,
                                                     int32_t device_type, int32_t device_id, sidbeam_error* err) {
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  sidbeam_draft_head_info info = SIDBEAM_DRAFT_HEAD_INFO_INIT;
  sidbeam_draft_decoder* decoder = NULL;
  flat_handle* handle = NULL;
  void* object;
  fl_clear(err);
  config.requests = requests;
  config.beams = beams;
  config.verification = verification;
  config.normalization = normalization;
  config.top_k = top_k;
  config.max_listed = max_listed;
  config.device_type = device_type;
  config.device_id = device_id;
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return NULL;
  config.head = (sidbeam_draft_head*)fl_share(head, FLAT_DRAFT_HEAD, err);
  config.index = (sidbeam_index*)fl_share(index, FLAT_INDEX, err);
  if (err->code == 0 && fl_runner_api->draft_head_get_info(config.head, &info, err) == SIDBEAM_OK &&
      fl_runner_api->draft_decoder_create((sidbeam_runtime*)object, &config, &decoder, err) == SIDBEAM_OK) {
    handle = fl_box(FLAT_DRAFT_DECODER, decoder, fl_destroy_draft_decoder);
    handle->levels = info.levels;
    handle->results = beams;
    handle->device_type = device_type;
  }
  if (config.index != NULL) fl_drop_user(index);
  if (config.head != NULL) fl_drop_user(head);
  fl_drop_user(runtime);
  return handle;
}

#ifndef SWIG
/* What a call of an entered decoder passes on. */
typedef struct fl_draft_call {
  sidbeam_draft_decoder* decoder;
  sidbeam_rows states;
  sidbeam_draft_args args;
  fl_constraints entered;
} fl_draft_call;
#endif

/* 1 if the decoder and the constraints are entered, until fl_leave_drafts; or 0 with an error. hidden [slots, rows,
 * columns], as in sidbeam_rows; constraints: handles as numbers, [slots] or none; widths [slots] or none, [slots,
 * width_levels] if that is not 0. */
static inline int fl_enter_drafts(flat_handle* decoder, flat_memory hidden, int64_t elements, int32_t dtype,
                                  int32_t device_type, int32_t device_id, int64_t slots, int64_t rows, int64_t columns,
                                  int64_t slot_stride, int64_t row_stride, flat_in_i64 constraints, flat_in_i32 widths,
                                  int32_t width_levels, int64_t stream, fl_draft_call* call, sidbeam_error* err) {
  const sidbeam_rows states = SIDBEAM_ROWS_INIT;
  const sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  call->states = states;
  call->args = args;
  fl_clear(err);
  if (!fl_rows("hidden", hidden, elements, dtype, device_type, device_id, slots, rows, columns, slot_stride, row_stride,
               &call->states, err))
    return 0;
  call->decoder = (sidbeam_draft_decoder*)fl_enter(decoder, FLAT_DRAFT_DECODER, err);
  if (call->decoder == NULL) return 0;
  if (FLAT_NEED(err, constraints, slots) &&
      FLAT_NEED(err, widths, fl_product(slots, width_levels > 0 ? width_levels : 1)) &&
      fl_enter_constraints(&call->entered, constraints, err)) {
    call->args.hidden = &call->states;
    call->args.constraints = call->entered.objects;
    call->args.widths = widths.data;
    call->args.width_levels = width_levels;
    call->args.stream = (void*)(intptr_t)stream;
    return 1;
  }
  fl_leave(decoder);
  return 0;
}

static inline void fl_leave_drafts(flat_handle* decoder, fl_draft_call* call) {
  fl_leave_constraints(&call->entered);
  fl_leave(decoder);
}

/* A run on the CPU, arguments as fl_enter_drafts has them. live, errors [slots]; sids [slots, M, L]; scores, ordinals
 * [slots, M]. */
static inline void flat_draft_decoder_run(flat_handle* decoder, flat_memory hidden, int64_t elements, int32_t dtype,
                                          int32_t device_type, int32_t device_id, int64_t slots, int64_t rows,
                                          int64_t columns, int64_t slot_stride, int64_t row_stride,
                                          flat_in_i64 constraints, flat_in_i32 widths, int32_t width_levels,
                                          flat_out_i32 live, flat_out_i32 errors, flat_out_i32 sids,
                                          flat_out_f32 scores, flat_out_i64 ordinals, sidbeam_error* err) {
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  fl_draft_call call;
  int64_t beams, codes;
  if (!fl_enter_drafts(decoder, hidden, elements, dtype, device_type, device_id, slots, rows, columns, slot_stride,
                       row_stride, constraints, widths, width_levels, 0, &call, err))
    return;
  beams = fl_product(slots, decoder->results);
  codes = fl_product(beams, decoder->levels);
  if (decoder->device_type != SIDBEAM_DEVICE_CPU) {
    fl_fail(err, SIDBEAM_UNSUPPORTED, "draft decoder is on a device, expected one on the CPU");
  } else if (FLAT_GIVEN(err, live, slots) && FLAT_GIVEN(err, errors, slots) && FLAT_GIVEN(err, sids, codes) &&
             FLAT_GIVEN(err, scores, beams) && FLAT_GIVEN(err, ordinals, beams) &&
             fl_runner_api->draft_decoder_run(call.decoder, &call.args, &result, err) == SIDBEAM_OK) {
    memcpy(live.data, result.live, (size_t)slots * sizeof(int32_t));
    memcpy(errors.data, result.errors, (size_t)slots * sizeof(int32_t));
    memcpy(sids.data, result.sids, (size_t)codes * sizeof(int32_t));
    memcpy(scores.data, result.scores, (size_t)beams * sizeof(float));
    memcpy(ordinals.data, result.ordinals, (size_t)beams * sizeof(int64_t));
  }
  fl_leave_drafts(decoder, &call);
}

/* What is enqueued on a device: the halves of a run, or both. */
enum { FLAT_DRAFT_START = 1, FLAT_DRAFT_DECODE = 2, FLAT_DRAFT_RUN = 3 };

/* Where the arrays of sidbeam_draft_result are, in an array of FLAT_DRAFTS_COUNT. */
enum {
  FLAT_DRAFTS_LIVE,
  FLAT_DRAFTS_ERRORS,
  FLAT_DRAFTS_SIDS,
  FLAT_DRAFTS_SCORES,
  FLAT_DRAFTS_ORDINALS,
  FLAT_DRAFTS_COUNT
};

/* A run, or a half of it, of a decoder on a device, arguments as fl_enter_drafts has them. `out` gets the addresses,
 * always the same, of the decoder's arrays, which a view keeps; a start writes none. */
static inline void flat_draft_decoder_enqueue(flat_handle* decoder, int32_t what, flat_memory hidden, int64_t elements,
                                              int32_t dtype, int32_t device_type, int32_t device_id, int64_t slots,
                                              int64_t rows, int64_t columns, int64_t slot_stride, int64_t row_stride,
                                              flat_in_i64 constraints, flat_in_i32 widths, int32_t width_levels,
                                              int64_t stream, flat_out_i64 out, sidbeam_error* err) {
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  sidbeam_status status;
  fl_draft_call call;
  if (!fl_enter_drafts(decoder, hidden, elements, dtype, device_type, device_id, slots, rows, columns, slot_stride,
                       row_stride, constraints, widths, width_levels, stream, &call, err))
    return;
  if (decoder->device_type == SIDBEAM_DEVICE_CPU) {
    fl_fail(err, SIDBEAM_UNSUPPORTED, "draft decoder is on the CPU, expected one on a device");
  } else if (what == FLAT_DRAFT_START) {
    (void)!fl_runner_api->draft_decoder_start(call.decoder, &call.args, err);
  } else if (FLAT_GIVEN(err, out, FLAT_DRAFTS_COUNT)) {
    status = what == FLAT_DRAFT_RUN ? fl_runner_api->draft_decoder_run(call.decoder, &call.args, &result, err)
                                    : fl_runner_api->draft_decoder_decode(call.decoder, &call.args, &result, err);
    if (status == SIDBEAM_OK) {
      out.data[FLAT_DRAFTS_LIVE] = (int64_t)(intptr_t)result.live;
      out.data[FLAT_DRAFTS_ERRORS] = (int64_t)(intptr_t)result.errors;
      out.data[FLAT_DRAFTS_SIDS] = (int64_t)(intptr_t)result.sids;
      out.data[FLAT_DRAFTS_SCORES] = (int64_t)(intptr_t)result.scores;
      out.data[FLAT_DRAFTS_ORDINALS] = (int64_t)(intptr_t)result.ordinals;
    }
  }
  fl_leave_drafts(decoder, &call);
}

#endif
