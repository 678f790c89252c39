/* Models of the runner. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_MODEL_H
#define SIDBEAM_FLAT_MODEL_H

static inline void fl_destroy_model(void* object) { fl_runner_api->model_release((sidbeam_model*)object); }

/* base "": none. log_level -1: no log. */
static inline flat_handle* flat_model_open(const char* folder, int32_t weights, int32_t device_type, int32_t device_id,
                                           const char* base, int32_t log_level, sidbeam_error* err) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  sidbeam_model* model = NULL;
  flat_handle* handle;
  fl_clear(err);
  if (!fl_load_runner(err)) return NULL;
  config.weights = weights;
  config.device_type = device_type;
  config.device_id = device_id;
  if (base != NULL && *base) config.base = base;
  if (log_level >= SIDBEAM_LOG_WARNING) config.log = fl_log_put; /* warnings are all that it says */
  if (fl_runner_api->model_open(folder, &config, &model, err) != SIDBEAM_OK) return NULL;
  handle = fl_box(FLAT_MODEL, model, fl_destroy_model);
  handle->device_type = device_type;
  return handle;
}

/* Where the numbers of sidbeam_model_info stand in an array of FLAT_MODEL_COUNT. */
enum {
  FLAT_MODEL_LAYERS,
  FLAT_MODEL_ENCODER_LAYERS,
  FLAT_MODEL_HIDDEN,
  FLAT_MODEL_HEADS,
  FLAT_MODEL_KV_HEADS,
  FLAT_MODEL_HEAD_DIM,
  FLAT_MODEL_WEIGHTS,
  FLAT_MODEL_VOCABULARY,
  FLAT_MODEL_MAX_POSITIONS,
  FLAT_MODEL_PARAMETERS,
  FLAT_MODEL_MEMORY_BYTES,
  FLAT_MODEL_COUNT
};
/* Bytes of family, its NUL included. */
enum { FLAT_MODEL_FAMILY_BYTES = 16 };

static inline void flat_model_get_info(flat_handle* model, flat_out_i64 out, flat_out_bytes family,
                                       sidbeam_error* err) {
  sidbeam_model_info info = SIDBEAM_MODEL_INFO_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_MODEL_COUNT) || !FLAT_GIVEN(err, family, FLAT_MODEL_FAMILY_BYTES)) return;
  object = fl_share(model, FLAT_MODEL, err);
  if (object == NULL) return;
  if (fl_runner_api->model_get_info((sidbeam_model*)object, &info, err) == SIDBEAM_OK) {
    out.data[FLAT_MODEL_LAYERS] = info.layers;
    out.data[FLAT_MODEL_ENCODER_LAYERS] = info.encoder_layers;
    out.data[FLAT_MODEL_HIDDEN] = info.hidden;
    out.data[FLAT_MODEL_HEADS] = info.heads;
    out.data[FLAT_MODEL_KV_HEADS] = info.kv_heads;
    out.data[FLAT_MODEL_HEAD_DIM] = info.head_dim;
    out.data[FLAT_MODEL_WEIGHTS] = info.weights;
    out.data[FLAT_MODEL_VOCABULARY] = info.vocabulary;
    out.data[FLAT_MODEL_MAX_POSITIONS] = info.max_positions;
    out.data[FLAT_MODEL_PARAMETERS] = info.parameters;
    out.data[FLAT_MODEL_MEMORY_BYTES] = info.memory_bytes;
    memcpy(family.data, info.family, FLAT_MODEL_FAMILY_BYTES);
  }
  fl_drop_user(model);
}

#endif
