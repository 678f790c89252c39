/* The step from hidden states. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_HIDDEN_H
#define SIDBEAM_FLAT_HIDDEN_H

#ifndef SWIG
/* What a layer's handle holds. */
typedef struct fl_output_layer {
  sidbeam_output_layer* layer;
  void *weights, *bias; /* own copies, or NULL; of the host */
} fl_output_layer;

/* What the handle of a step from hidden states holds: it uses the other two, which may be closed before it. */
typedef struct fl_hidden {
  sidbeam_hidden* hidden;
  flat_handle *session, *layer;
} fl_hidden;
#endif

static inline void fl_destroy_output_layer(void* object) {
  fl_output_layer* own = (fl_output_layer*)object;
  fl_runner_api->output_layer_destroy(own->layer);
  free(own->weights);
  free(own->bias);
  free(own);
}

static inline void fl_destroy_hidden(void* object) {
  fl_hidden* own = (fl_hidden*)object;
  fl_runner_api->hidden_destroy(own->hidden);
  fl_drop_user(own->layer);
  fl_drop_user(own->session);
  free(own);
}

/* Copies the weights of a config, row by row, if they are to be, and the bias; the config then names the copies. What
 * cannot be read, a device's memory included, is left as it is, for the library to refuse. 1, or an error. */
static inline int fl_copy_layer(fl_output_layer* own, int copy, sidbeam_output_layer_config* config,
                                sidbeam_error* err) {
  const int64_t size = config->dtype == SIDBEAM_DTYPE_F32 ? 4 : 2, width = fl_product(config->width, size);
  const int64_t stride = config->row_stride == 0 ? width : fl_product(config->row_stride, size);
  int64_t row;
  if (config->device_type != SIDBEAM_DEVICE_CPU) return 1;
  if (config->weights == NULL || config->columns < 1 || width < 1 || stride < width) return 1;
  if (copy) own->weights = malloc((size_t)fl_product(config->columns, width));
  if (config->bias != NULL) own->bias = malloc((size_t)fl_product(config->columns, sizeof(float)));
  if ((copy && own->weights == NULL) || (config->bias != NULL && own->bias == NULL)) {
    fl_fail(err, SIDBEAM_OUT_OF_MEMORY, "no memory for the weights of %" PRId64 " columns", config->columns);
    return 0;
  }
  for (row = 0; copy && row < config->columns; row++)
    memcpy((char*)own->weights + row * width, (const char*)config->weights + row * stride, (size_t)width);
  if (copy) {
    config->weights = own->weights;
    config->row_stride = 0;
  }
  if (config->bias != NULL) memcpy(own->bias, config->bias, (size_t)config->columns * sizeof(float));
  config->bias = (const float*)own->bias;
  return 1;
}

/* weights [columns, width], as in sidbeam_output_layer_config, borrowed as long as the layer, or a step with it, is
 * alive, or copied; bias [columns] or none, copied. On a device both are borrowed. */
static inline flat_handle* flat_output_layer_create(flat_memory weights, int64_t elements, int32_t dtype,
                                                    int32_t device_type, int32_t device_id, int64_t columns,
                                                    int64_t width, int64_t row_stride, flat_in_f32 bias, float soft_cap,
                                                    int32_t copy, sidbeam_error* err) {
  sidbeam_output_layer_config config = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  fl_output_layer* own;
  fl_clear(err);
  if (!fl_rows("weights", weights, elements, dtype, device_type, device_id, 0, columns, width, 0, row_stride, &rows,
               err) ||
      !FLAT_NEED(err, bias, columns) || !fl_load_runner(err))
    return NULL;
  config.dtype = dtype;
  config.device_type = device_type;
  config.device_id = device_id;
  config.weights = weights.data;
  config.columns = columns;
  config.width = width;
  config.row_stride = row_stride;
  config.bias = bias.data;
  config.soft_cap = soft_cap;
  own = (fl_output_layer*)calloc(1, sizeof(*own));
  if (own == NULL) abort();
  if (fl_copy_layer(own, copy, &config, err) &&
      fl_runner_api->output_layer_create(&config, &own->layer, err) == SIDBEAM_OK)
    return fl_box(FLAT_OUTPUT_LAYER, own, fl_destroy_output_layer);
  fl_destroy_output_layer(own);
  return NULL;
}

/* As in sidbeam_hidden_config, on the caller's thread alone. The handles of the session and the layer are held. */
static inline flat_handle* flat_hidden_create(flat_handle* session, flat_handle* layer, int32_t path, int64_t children,
                                              sidbeam_error* err) {
  sidbeam_hidden_config config = SIDBEAM_HIDDEN_CONFIG_INIT;
  fl_output_layer* weights;
  fl_hidden* own;
  fl_clear(err);
  config.session = (sidbeam_session*)fl_share(session, FLAT_SESSION, err);
  if (config.session == NULL) return NULL;
  weights = (fl_output_layer*)fl_share(layer, FLAT_OUTPUT_LAYER, err);
  if (weights == NULL) {
    fl_drop_user(session);
    return NULL;
  }
  own = (fl_hidden*)calloc(1, sizeof(*own));
  if (own == NULL) abort();
  own->session = session;
  own->layer = layer;
  config.layer = weights->layer;
  config.path = path;
  config.children = children;
  if (fl_runner_api->hidden_create(&config, &own->hidden, err) == SIDBEAM_OK)
    return fl_box(FLAT_HIDDEN, own, fl_destroy_hidden);
  fl_destroy_hidden(own);
  return NULL;
}

/* One level, as flat_session_step, with hidden states in the place of logits; path: as in sidbeam_hidden_step_args. The
 * session is entered too. */
static inline void flat_hidden_step(flat_handle* hidden, int32_t path, flat_in_i32 slots, flat_memory states,
                                    int64_t elements, int32_t dtype, int32_t device_type, int32_t device_id,
                                    int64_t rows_slots, int64_t rows, int64_t columns, int64_t slot_stride,
                                    int64_t row_stride, flat_in_i32 row_map, flat_in_f32 lse, float inverse_temperature,
                                    flat_in_f32 inverse_temperatures, int64_t stream, sidbeam_error* err) {
  const flat_in_f32 none = {NULL, 0};
  sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
  sidbeam_rows described = SIDBEAM_ROWS_INIT;
  fl_hidden* object;
  void* session;
  fl_clear(err);
  if (!fl_rows("hidden", states, elements, dtype, device_type, device_id, rows_slots, rows, columns, slot_stride,
               row_stride, &described, err) ||
      !FLAT_NEED(err, lse, fl_product(rows_slots > 0 ? rows_slots : 1, rows)))
    return;
  object = (fl_hidden*)fl_enter(hidden, FLAT_HIDDEN, err);
  if (object == NULL) return;
  session = fl_enter(object->session, FLAT_SESSION, err);
  if (session != NULL) {
    args.path = path;
    args.slots = slots.data;
    args.count = slots.data == NULL ? 0 : slots.count;
    args.hidden = &described;
    args.row_map = row_map.data;
    args.lse = lse.data;
    args.inverse_temperature = inverse_temperature;
    args.inverse_temperatures = inverse_temperatures.data;
    args.stream = (void*)(intptr_t)stream;
    if (fl_step_arrays_fit(session, slots, row_map, inverse_temperatures, none, err))
      (void)!fl_runner_api->hidden_step(object->hidden, &args, err);
    fl_leave(object->session);
  }
  fl_leave(hidden);
}

/* Where the numbers of sidbeam_hidden_stats stand in an array of FLAT_HIDDEN_STATS_COUNT. */
enum {
  FLAT_HIDDEN_STATS_STEPS,
  FLAT_HIDDEN_STATS_CHILD_SLOTS,
  FLAT_HIDDEN_STATS_UNION_SLOTS,
  FLAT_HIDDEN_STATS_PRODUCT_SLOTS,
  FLAT_HIDDEN_STATS_PRODUCTS,
  FLAT_HIDDEN_STATS_WEIGHT_ROWS,
  FLAT_HIDDEN_STATS_WEIGHT_BYTES,
  FLAT_HIDDEN_STATS_MEMORY_BYTES,
  FLAT_HIDDEN_STATS_COUNT
};

/* break_even [1]. */
static inline void flat_hidden_get_stats(flat_handle* hidden, flat_out_i64 out, flat_out_f32 break_even,
                                         sidbeam_error* err) {
  sidbeam_hidden_stats stats = SIDBEAM_HIDDEN_STATS_INIT;
  fl_hidden* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_HIDDEN_STATS_COUNT) || !FLAT_GIVEN(err, break_even, 1)) return;
  object = (fl_hidden*)fl_enter(hidden, FLAT_HIDDEN, err);
  if (object == NULL) return;
  if (fl_runner_api->hidden_get_stats(object->hidden, &stats, err) == SIDBEAM_OK) {
    out.data[FLAT_HIDDEN_STATS_STEPS] = stats.steps;
    out.data[FLAT_HIDDEN_STATS_CHILD_SLOTS] = stats.child_slots;
    out.data[FLAT_HIDDEN_STATS_UNION_SLOTS] = stats.union_slots;
    out.data[FLAT_HIDDEN_STATS_PRODUCT_SLOTS] = stats.product_slots;
    out.data[FLAT_HIDDEN_STATS_PRODUCTS] = stats.products;
    out.data[FLAT_HIDDEN_STATS_WEIGHT_ROWS] = stats.weight_rows;
    out.data[FLAT_HIDDEN_STATS_WEIGHT_BYTES] = stats.weight_bytes;
    out.data[FLAT_HIDDEN_STATS_MEMORY_BYTES] = stats.memory_bytes;
    break_even.data[0] = (float)stats.break_even;
  }
  fl_leave(hidden);
}

#endif
