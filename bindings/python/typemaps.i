// Python's side of ../sidbeam.i: one typemap per type, each a call of native.h or tensors.h. SWIG makes _native, which
// only src/sidbeam imports. SPDX-License-Identifier: Apache-2.0
%{
#include <errno.h>
#include <sidbeam/dlpack.h>
%}
%insert("header") "python/native.h"
%insert("header") "python/tensors.h"
%insert("header") "python/arrow.h"

%typemap(in) int32_t (int64_t wide) {
  if (!py_integer($input, "$1_name", INT32_MIN, INT32_MAX, &wide)) SWIG_fail;
  $1 = (int32_t)wide;
}
%typemap(in) int64_t { if (!py_integer($input, "$1_name", INT64_MIN, INT64_MAX, &$1)) SWIG_fail; }
%typemap(in) float { if (!py_float($input, "$1_name", &$1)) SWIG_fail; }
%typemap(in) const char* {
  const char* text;
  if (!py_text($input, "$1_name", &text)) SWIG_fail;
  $1 = (char*)text;
}
%typemap(freearg) const char* ""

%typemap(in) flat_handle* { if (!py_handle($input, "$1_name", &$1)) SWIG_fail; }
%typemap(out) flat_handle* { $result = py_box_handle($1); }

%typemap(in, numinputs=0) sidbeam_error* (sidbeam_error error) { $1 = &error; error.code = 0; }
%typemap(argout) sidbeam_error* {
  if ($1->code != 0) {
    py_raise($1->code, $1->message);
    Py_CLEAR($result);
    SWIG_fail;
  }
}

%define SIDBEAM_ARRAY(TYPE, ELEMENT, LETTERS, FLAGS)
%typemap(in) TYPE (Py_buffer buffer = py_no_buffer) {
  void* data;
  if (!py_array($input, "$1_name", LETTERS, sizeof(ELEMENT), FLAGS, &buffer, &data, &$1.count)) SWIG_fail;
  $1.data = (ELEMENT*)data;
}
%typemap(freearg) TYPE { PyBuffer_Release(&buffer$argnum); }
%enddef
SIDBEAM_ARRAY(flat_in_i32, int32_t, "il", PyBUF_SIMPLE)
SIDBEAM_ARRAY(flat_in_i64, int64_t, "lq", PyBUF_SIMPLE)
SIDBEAM_ARRAY(flat_in_f32, float, "f", PyBUF_SIMPLE)
SIDBEAM_ARRAY(flat_in_bytes, char, "Bbcs", PyBUF_SIMPLE)
SIDBEAM_ARRAY(flat_out_i32, int32_t, "il", PyBUF_WRITABLE)
SIDBEAM_ARRAY(flat_out_i64, int64_t, "lq", PyBUF_WRITABLE)
SIDBEAM_ARRAY(flat_out_f32, float, "f", PyBUF_WRITABLE)
SIDBEAM_ARRAY(flat_out_bytes, char, "Bbcs", PyBUF_WRITABLE)

// Logits: an object that C describes; this keeps a small step short.
%typemap(arginit) py_rows { memset(&$1, 0, sizeof($1)); }
%typemap(in) py_rows { if (!py_rows_of($input, "$1_name", 0, &$1)) SWIG_fail; }
%typemap(in) py_rows writable_logits { if (!py_rows_of($input, "logits", 1, &$1)) SWIG_fail; }
%typemap(freearg) py_rows { py_release_rows(&$1); }

%ignore flat_session_step;
%ignore flat_constraint_set_mask;
%ignore flat_constraint_set_topk;
%ignore flat_constraint_set_sample;
%ignore flat_draft_decoder_run;
%ignore flat_draft_decoder_enqueue;
%ignore flat_output_layer_create;
%ignore flat_hidden_step;
%ignore flat_speculation_verify;
%ignore flat_index_bytes;  // index_bytes calls it
%ignore flat_free;         // the capsule calls it
%ignore flat_view_retain;  // view calls it
%ignore flat_view_release;

%{
/* 1 if there is no lse, or one per logits row. */
static int py_lse_fits(const sidbeam_rows* rows, flat_in_f32 lse, sidbeam_error* err) {
  const int64_t expected = fl_product(rows->slots > 0 ? rows->slots : 1, rows->rows);
  if (lse.data != NULL && lse.count != expected)
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "lse has %" PRId64 " elements, expected %" PRId64 ", one per logits row",
            lse.count, expected);
  return err->code == 0;
}
%}

%inline %{
/* flat_session_step; rows of two dimensions without a row map belong to one slot. */
static void session_step(flat_handle* session, flat_in_i32 slots, py_rows logits, int32_t dtype, flat_in_i32 row_map,
                         flat_in_f32 lse, float inverse_temperature, float soft_cap, flat_in_f32 inverse_temperatures,
                         flat_in_f32 soft_caps, int64_t stream, sidbeam_error* err) {
  sidbeam_rows* r = &logits.rows;
  flat_memory memory;
  if (!py_settle_dtype(r, "logits", dtype, err)) return;
  memory.data = (void*)(uintptr_t)r->data;
  if (r->slots == 0 && row_map.data == NULL) r->slots = 1;
  if (!py_lse_fits(r, lse, err)) return;
  flat_session_step(session, slots, memory, -1, r->dtype, r->device_type, r->device_id, r->slots, r->rows, r->columns,
                    r->slot_stride, r->row_stride, row_map, lse, inverse_temperature, soft_cap,
                    inverse_temperatures, soft_caps, stream, err);
}

static void set_mask(flat_handle* set, flat_in_i32 which, flat_in_i64 states, py_rows writable_logits, int32_t dtype,
                     int64_t stream, sidbeam_error* err) {
  sidbeam_rows* r = &writable_logits.rows;
  flat_memory memory;
  if (!py_settle_dtype(r, "logits", dtype, err)) return;
  memory.data = (void*)(uintptr_t)r->data;
  flat_constraint_set_mask(set, which, states, memory, -1, r->dtype, r->device_type, r->device_id, r->rows,
                           r->columns, r->row_stride, stream, err);
}

static void set_topk(flat_handle* set, flat_in_i32 which, flat_in_i64 states, py_rows logits, int32_t dtype,
                     int32_t normalization, int32_t k, flat_out_i32 codes, flat_out_f32 log_probs, flat_out_i64 next,
                     int64_t stream, sidbeam_error* err) {
  sidbeam_rows* r = &logits.rows;
  flat_memory memory;
  if (!py_settle_dtype(r, "logits", dtype, err)) return;
  memory.data = (void*)(uintptr_t)r->data;
  flat_constraint_set_topk(set, which, states, memory, -1, r->dtype, r->device_type, r->device_id, r->rows,
                           r->columns, r->row_stride, normalization, k, codes, log_probs, next, stream, err);
}

static void set_sample(flat_handle* set, flat_in_i32 which, flat_in_i64 states, py_rows logits, int32_t dtype,
                       int32_t normalization, flat_in_f32 inverse_temperatures, flat_in_i64 seeds,
                       flat_in_i64 requests, flat_in_i64 draws, flat_in_i32 top_ks, flat_in_f32 top_ps,
                       flat_out_i32 codes, flat_out_f32 log_probs, flat_out_f32 log_masses, flat_out_i64 next,
                       int64_t stream, sidbeam_error* err) {
  sidbeam_rows* r = &logits.rows;
  flat_memory memory;
  if (!py_settle_dtype(r, "logits", dtype, err)) return;
  memory.data = (void*)(uintptr_t)r->data;
  flat_constraint_set_sample(set, which, states, memory, -1, r->dtype, r->device_type, r->device_id, r->rows,
                             r->columns, r->row_stride, normalization, inverse_temperatures, seeds, requests, draws,
                             top_ks, top_ps, codes, log_probs, log_masses, next, stream, err);
}

static void draft_run(flat_handle* decoder, py_rows hidden, int32_t dtype, flat_in_i64 constraints, flat_in_i32 widths,
                      int32_t width_levels, flat_out_i32 live, flat_out_i32 errors, flat_out_i32 sids,
                      flat_out_f32 scores, flat_out_i64 ordinals, sidbeam_error* err) {
  sidbeam_rows* r = &hidden.rows;
  flat_memory memory;
  if (!py_settle_dtype(r, "hidden states", dtype, err)) return;
  memory.data = (void*)(uintptr_t)r->data;
  if (r->slots == 0) r->slots = 1;
  flat_draft_decoder_run(decoder, memory, -1, r->dtype, r->device_type, r->device_id, r->slots, r->rows, r->columns,
                         r->slot_stride, r->row_stride, constraints, widths, width_levels, live, errors, sids, scores,
                         ordinals, err);
}

/* flat_draft_decoder_enqueue, with rows as draft_run has them. */
static void draft_enqueue(flat_handle* decoder, int32_t what, py_rows hidden, int32_t dtype, flat_in_i64 constraints,
                          flat_in_i32 widths, int32_t width_levels, int64_t stream, flat_out_i64 out,
                          sidbeam_error* err) {
  sidbeam_rows* r = &hidden.rows;
  flat_memory memory;
  if (!py_settle_dtype(r, "hidden states", dtype, err)) return;
  memory.data = (void*)(uintptr_t)r->data;
  if (r->slots == 0) r->slots = 1;
  flat_draft_decoder_enqueue(decoder, what, memory, -1, r->dtype, r->device_type, r->device_id, r->slots, r->rows,
                             r->columns, r->slot_stride, r->row_stride, constraints, widths, width_levels, stream, out,
                             err);
}

static flat_handle* layer_create(py_rows weights, int32_t dtype, flat_in_f32 bias, float soft_cap, sidbeam_error* err) {
  sidbeam_rows* r = &weights.rows;
  flat_memory memory;
  if (!py_settle_dtype(r, "weights", dtype, err)) return NULL;
  if (r->slots != 0) {
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "weights have three dimensions, expected [columns, width]");
    return NULL;
  }
  memory.data = (void*)(uintptr_t)r->data;
  return flat_output_layer_create(memory, -1, r->dtype, r->device_type, r->device_id, r->rows, r->columns,
                                  r->row_stride, bias, soft_cap, 0, err);
}

/* flat_hidden_step, with rows and lse as session_step has them. */
static void hidden_step(flat_handle* step, int32_t path, flat_in_i32 slots, py_rows hidden, flat_in_i32 row_map,
                        flat_in_f32 lse, float inverse_temperature, flat_in_f32 inverse_temperatures, int64_t stream,
                        sidbeam_error* err) {
  sidbeam_rows* r = &hidden.rows;
  flat_memory memory;
  if (!py_settle_dtype(r, "hidden states", -1, err)) return;
  memory.data = (void*)(uintptr_t)r->data;
  if (r->slots == 0 && row_map.data == NULL) r->slots = 1;
  if (!py_lse_fits(r, lse, err)) return;
  flat_hidden_step(step, path, slots, memory, -1, r->dtype, r->device_type, r->device_id, r->slots, r->rows, r->columns,
                   r->slot_stride, r->row_stride, row_map, lse, inverse_temperature, inverse_temperatures, stream, err);
}

static void speculation_verify(flat_handle* speculation, py_rows logits, int32_t dtype, flat_in_f32 lse,
                               sidbeam_error* err) {
  sidbeam_rows* r = &logits.rows;
  flat_memory memory;
  if (!py_settle_dtype(r, "logits", dtype, err) || !py_lse_fits(r, lse, err)) return;
  memory.data = (void*)(uintptr_t)r->data;
  flat_speculation_verify(speculation, memory, -1, r->dtype, r->device_type, r->device_id, r->slots, r->rows,
                          r->columns, r->slot_stride, r->row_stride, lse, err);
}

/* The set itself, for handlers of JAX, which run without Python: good as long as the caller keeps it open. */
static int64_t set_address(flat_handle* set, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  object = fl_share(set, FLAT_CONSTRAINT_SET, err);
  if (object != NULL) fl_drop_user(set);
  return (int64_t)(intptr_t)object;
}

/* A handle as flat_in_i64 takes it. */
static int64_t handle_number(flat_handle* handle) { return (int64_t)(intptr_t)handle; }
%}

%native(view) PyObject* py_view(PyObject* self, PyObject* args);
%native(describe_tensor) PyObject* py_describe_tensor(PyObject* self, PyObject* args);
%native(export_tensor) PyObject* py_export_tensor(PyObject* self, PyObject* args);
%native(index_bytes) PyObject* py_index_bytes(PyObject* self, PyObject* args);
%native(stream_of_array) PyObject* py_stream_of_array(PyObject* self, PyObject* args);
%native(stream_address) PyObject* py_stream_address(PyObject* self, PyObject* args);
%native(set_make_error) PyObject* py_set_make_error(PyObject* self, PyObject* args);
%{
/* view(owner) -> an object that keeps the memory of a session, a speculation or a draft decoder, also after close. */
static PyObject* py_view(PyObject* self, PyObject* args) {
  sidbeam_error err;
  PyObject *object, *capsule;
  flat_handle* handle;
  (void)self;
  if (!PyArg_ParseTuple(args, "O", &object) || !py_handle(object, "session", &handle)) return NULL;
  flat_view_retain(handle, &err);
  if (err.code != 0) {
    py_raise(err.code, err.message);
    return NULL;
  }
  capsule = PyCapsule_New(handle, py_view_name, py_free_view);
  if (capsule == NULL) flat_view_release(handle);
  return capsule;
}

/* index_bytes(index) -> bytes, filled in place: a buffer that is written first and turned into bytes then would hold a
 * large index twice. */
static PyObject* py_index_bytes(PyObject* self, PyObject* args) {
  sidbeam_error err;
  flat_out_bytes out = {NULL, 0};
  PyObject *object, *bytes;
  PyThreadState* state;
  flat_handle* handle;
  (void)self;
  if (!PyArg_ParseTuple(args, "O", &object) || !py_handle(object, "index", &handle)) return NULL;
  out.count = flat_index_bytes(handle, out, &err);
  bytes = err.code == 0 ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)out.count) : NULL;
  if (bytes != NULL) {
    out.data = PyBytes_AS_STRING(bytes);
    state = PyEval_SaveThread();
    (void)flat_index_bytes(handle, out, &err);
    PyEval_RestoreThread(state);
  }
  if (err.code == 0) return bytes;
  Py_XDECREF(bytes);
  py_raise(err.code, err.message);
  return NULL;
}

static PyObject* py_set_make_error(PyObject* self, PyObject* args) {
  (void)self;
  if (!PyArg_ParseTuple(args, "O", &py_make_error)) return NULL;
  Py_INCREF(py_make_error); /* never given back */
  Py_RETURN_NONE;
}
%}
