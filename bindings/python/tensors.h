/* Logits and tensors: the buffer protocol and DLPack, in and out. See native.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_PYTHON_TENSORS_H
#define SIDBEAM_PYTHON_TENSORS_H

/* From dlpack.h, version 0.6: what a capsule "dltensor" holds. */
typedef struct py_managed_tensor {
  sidbeam_dl_tensor tensor;
  void* context;
  void (*deleter)(struct py_managed_tensor* self);
} py_managed_tensor;
/* From version 1: what a capsule "dltensor_versioned" holds. */
typedef struct py_versioned_tensor {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct py_versioned_tensor* self);
  uint64_t flags; /* bit 0: read-only */
  sidbeam_dl_tensor tensor;
} py_versioned_tensor;

/* From version 1.3: what a type's __dlpack_c_exchange_api__ points to. */
typedef struct py_exchange_api {
  uint32_t major, minor;
  struct py_exchange_api* older;
  void (*unused[3])(void);
  int (*describe)(void* object, sidbeam_dl_tensor* out); /* may be NULL; 0: done */
} py_exchange_api;

enum { PY_CPU = 1, PY_CUDA = 2, PY_UINT = 1, PY_FLOAT = 2, PY_BFLOAT = 4 };

/* Rows that an argument describes, and what keeps them. dtype -1: 16 bits, whose meaning the caller must say. */
typedef struct py_rows {
  sidbeam_rows rows;
  Py_buffer buffer;
  PyObject* capsule;
} py_rows;

static void py_release_rows(py_rows* rows) {
  PyBuffer_Release(&rows->buffer);
  Py_CLEAR(rows->capsule);
}

static int py_is_bfloat16(PyObject* object) {
  PyObject* dtype = PyObject_GetAttrString(object, "dtype");
  PyObject* name = dtype == NULL ? NULL : PyObject_GetAttrString(dtype, "name");
  const int is = name != NULL && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0;
  Py_XDECREF(dtype);
  Py_XDECREF(name);
  PyErr_Clear();
  return is;
}

/* While PyTorch compiles, its stand-ins for tensors have an address (their offset from NULL) but no memory. */
static int py_is_fake(PyObject* object) { return strcmp(Py_TYPE(object)->tp_name, "FakeTensor") == 0; }

/* The DLPack capsule of an object. On CUDA the caller's stream orders the work, so the producer shall not wait (stream
 * -1). Version 1 can say that a tensor is read-only; an older producer raises a TypeError when asked for it. */
static PyObject* py_ask_dlpack(PyObject* object, int on_cuda, int versioned) {
  PyObject *method = PyObject_GetAttrString(object, "__dlpack__"), *none = PyTuple_New(0), *capsule = NULL;
  PyObject* named = on_cuda ? Py_BuildValue("{s:i}", "stream", -1) : PyDict_New();
  PyObject* version = Py_BuildValue("(ii)", 1, 0);
  int asked = method != NULL && none != NULL && named != NULL && version != NULL;
  if (asked && versioned) asked = PyDict_SetItemString(named, "max_version", version) == 0;
  if (asked) capsule = PyObject_Call(method, none, named);
  Py_XDECREF(method);
  Py_XDECREF(none);
  Py_XDECREF(named);
  Py_XDECREF(version);
  if (capsule != NULL || !versioned || !PyErr_ExceptionMatches(PyExc_TypeError)) return capsule;
  PyErr_Clear();
  return py_ask_dlpack(object, on_cuda, 0);
}

/* What an object's own methods raised, as an exception that names the argument; NULL. A BufferError stays, which by
 * DLPack says what the caller can do, and so does what is no mistake. */
static const sidbeam_dl_tensor* py_no_dlpack(const char* name) {
  PyObject *type, *value, *trace, *text;
  if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_BufferError) ||
      PyErr_ExceptionMatches(PyExc_MemoryError))
    return NULL;
  PyErr_Fetch(&type, &value, &trace);
  text = value == NULL ? NULL : PyObject_Str(value);
  (void)py_invalid("%s cannot be read by DLPack: %s", name,
                   text == NULL || PyUnicode_AsUTF8(text) == NULL ? "it does not say why" : PyUnicode_AsUTF8(text));
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return NULL;
}

/* Its tensor too; *capsule holds it. NULL with an exception. */
static const sidbeam_dl_tensor* py_dlpack(PyObject* object, const char* name, int writable, PyObject** capsule) {
  static PyObject *device_name, *method_name;
  py_versioned_tensor* versioned;
  PyObject* device;
  long type = 0;
  void* managed;
  if (py_is_fake(object) && !py_invalid("%s is a FakeTensor, expected one with memory", name)) return NULL;
  if (device_name == NULL) {
    device_name = PyUnicode_InternFromString("__dlpack_device__");
    method_name = PyUnicode_InternFromString("__dlpack__");
  }
  device = PyObject_CallMethodNoArgs(object, device_name);
  if (device != NULL && PyTuple_Check(device) && PyTuple_GET_SIZE(device) == 2)
    type = PyLong_AsLong(PyTuple_GET_ITEM(device, 0));
  Py_XDECREF(device);
  if (device == NULL || PyErr_Occurred()) return py_no_dlpack(name);
  *capsule = type == PY_CUDA || writable ? py_ask_dlpack(object, type == PY_CUDA, writable)
                                         : PyObject_CallMethodNoArgs(object, method_name);
  if (*capsule == NULL) return py_no_dlpack(name);
  if (PyCapsule_IsValid(*capsule, "dltensor_versioned")) {
    versioned = (py_versioned_tensor*)PyCapsule_GetPointer(*capsule, "dltensor_versioned");
    if (versioned->major <= 1 && !(writable && (versioned->flags & 1u))) return &versioned->tensor;
    if (versioned->major > 1) {
      (void)py_invalid("%s: a tensor of DLPack %u, expected version 1 or less", name, versioned->major);
    } else {
      (void)py_invalid("%s: expected an array that is writable", name);
    }
    return NULL;
  }
  managed = PyCapsule_GetPointer(*capsule, "dltensor");
  return managed == NULL ? py_no_dlpack(name) : &((py_managed_tensor*)managed)->tensor;
}

/* 1 if the object's type describes it in C, without a capsule: that takes 0.9 us of a small step with PyTorch where a
 * capsule takes 5.4. Otherwise, and if this fails, the capsule is asked for, which knows more or says why not. */
static int py_describe(PyObject* object, sidbeam_dl_tensor* out) {
  static PyObject* attribute;
  PyObject* capsule;
  const py_exchange_api* api = NULL;
  int done;
  if (py_is_fake(object)) return 0;
  if (attribute == NULL) attribute = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  capsule = PyObject_GetAttr((PyObject*)Py_TYPE(object), attribute);
  if (capsule != NULL && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
    api = (const py_exchange_api*)PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  done = api != NULL && api->major == 1 && api->describe != NULL && api->describe(object, out) == 0;
  Py_XDECREF(capsule);
  PyErr_Clear();
  return done;
}

/* A buffer as the tensor that it is, so that both ways share their checks; shape and strides are [3]. */
static int py_buffer_tensor(const Py_buffer* buffer, const char* name, int bfloat16, sidbeam_dl_tensor* out,
                            int64_t* shape, int64_t* strides) {
  const char letter = bfloat16 ? 'H' : py_format(buffer);
  int i;
  out->data = buffer->buf;
  out->device_type = PY_CPU;
  out->ndim = buffer->ndim;
  out->type_code = letter == 'H' ? PY_BFLOAT : PY_FLOAT;
  out->type_bits = (uint8_t)(8 * buffer->itemsize);
  out->type_lanes = 1;
  out->shape = shape;
  out->strides = strides;
  if (letter != 'f' && letter != 'e' && letter != 'H')
    return py_invalid("%s has elements of format '%s', expected float32, float16 or bfloat16", name,
                      buffer->format == NULL ? "B" : buffer->format);
  for (i = 0; i < buffer->ndim && i < 3; i++) {
    if (buffer->strides[i] % buffer->itemsize != 0)
      return py_invalid("%s has a stride of %" PRId64 " bytes, expected a multiple of the element's size", name,
                        (int64_t)buffer->strides[i]);
    shape[i] = buffer->shape[i];
    strides[i] = buffer->strides[i] / buffer->itemsize;
  }
  return 1;
}

/* Takes an object's buffer: 1 done; 0 an exception; -1: the object has no buffer for this (for example JAX's arrays on
 * a device), but has DLPack. An object that refuses to be written is not asked again by DLPack, which could not
 * refuse. */
static int py_take_buffer(PyObject* object, const char* name, int writable, py_rows* out, int* bfloat16) {
  const int flags = PyBUF_STRIDES | (writable ? PyBUF_WRITABLE : 0);
  *bfloat16 = 0;
  if (strcmp(Py_TYPE(object)->tp_name, "MaskedArray") == 0)
    return py_invalid("%s is a masked array, whose mask no step heeds, expected a plain one: %s.filled(..)", name,
                      name);
  if (PyObject_GetBuffer(object, &out->buffer, flags | PyBUF_FORMAT) == 0) return 1;
  PyErr_Clear();
  *bfloat16 = py_is_bfloat16(object); /* NumPy has no format letter for it */
  if (*bfloat16 && PyObject_GetBuffer(object, &out->buffer, flags) == 0) return 1;
  PyErr_Clear();
  out->buffer = py_no_buffer;
  if (!writable && strcmp(Py_TYPE(object)->tp_name, "numpy.ndarray") != 0 &&
      PyObject_HasAttrString(object, "__dlpack_device__"))
    return -1;
  return py_invalid("%s: expected an array %sof f32, f16 or bf16", name, writable ? "that is writable, " : "");
}

/* Logits of an argument: [slots, rows, columns] or [rows, columns]. */
static int py_rows_of(PyObject* object, const char* name, int writable, py_rows* out) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  sidbeam_dl_tensor described = {0};
  const sidbeam_dl_tensor* tensor = &described;
  int64_t shape[3], strides[3];
  int bits = 0, bfloat16 = 0;
  const int taken = PyObject_CheckBuffer(object) ? py_take_buffer(object, name, writable, out, &bfloat16) : -1;
  if (taken == 0) return 0;
  if (taken > 0) {
    if (!py_buffer_tensor(&out->buffer, name, bfloat16, &described, shape, strides)) return 0;
    bits = described.type_code == PY_BFLOAT && !bfloat16;
  } else if (!writable && py_describe(object, &described)) {
    /* Nothing to hold: the tensor is the caller's for the call. */
  } else if (PyObject_HasAttrString(object, "__dlpack_device__")) {
    tensor = py_dlpack(object, name, writable, &out->capsule);
    if (tensor == NULL) return 0;
  } else {
    py_wrong_type(object, name, "an array: the buffer protocol or DLPack");
    return 0;
  }
  if (sidbeam_rows_from_dlpack(tensor, &out->rows, &err) != SIDBEAM_OK) return py_invalid("%s: %s", name, err.message);
  if (bits) out->rows.dtype = -1;
  return 1;
}

/* The dtype that the caller names, or -1, and what the array is must agree. */
static int py_settle_dtype(sidbeam_rows* rows, const char* name, int32_t dtype, sidbeam_error* err) {
  static const char* const names[] = {"f32", "f16", "bf16"};
  fl_clear(err);
  if (rows->dtype < 0 && (dtype == SIDBEAM_DTYPE_F16 || dtype == SIDBEAM_DTYPE_BF16)) rows->dtype = dtype;
  if (rows->dtype < 0) {
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "%s are uint16, expected dtype=\"bf16\" or \"f16\" beside them", name);
  } else if (dtype >= 0 && dtype != rows->dtype) {
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "dtype is %s, expected that of the %s, %s",
            dtype > SIDBEAM_DTYPE_BF16 ? "unknown" : names[dtype], name, names[rows->dtype]);
  }
  return err->code == 0;
}

/* Objects with buffers, JAX's arrays included, say there whether they may be written; DLPack before 1 cannot say so. */
static int py_may_write(PyObject* object, const char* name) {
  Py_buffer buffer;
  if (!PyObject_CheckBuffer(object)) return 1;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_STRIDES | PyBUF_WRITABLE) != 0)
    return py_invalid("%s: expected an array that is writable", name);
  PyBuffer_Release(&buffer);
  return 1;
}

/* describe_tensor(object, name, writable) -> (address, type code, bits, shape, device type, device) of a tensor without
 * gaps. */
static PyObject* py_describe_tensor(PyObject* self, PyObject* args) {
  PyObject *object, *capsule = NULL, *shape = NULL, *result = NULL;
  const sidbeam_dl_tensor* tensor;
  const char* name;
  int64_t dense = 1;
  int i, writable = 0;
  (void)self;
  if (!PyArg_ParseTuple(args, "Os|p", &object, &name, &writable)) return NULL;
  if (writable && !py_may_write(object, name)) return NULL;
  tensor = py_dlpack(object, name, writable, &capsule);
  if (tensor != NULL) shape = PyTuple_New(tensor->ndim);
  for (i = shape == NULL ? -1 : tensor->ndim - 1; i >= 0; i--) {
    PyTuple_SET_ITEM(shape, i, PyLong_FromLongLong(tensor->shape[i]));
    if (tensor->strides != NULL && tensor->shape[i] > 1 && tensor->strides[i] != dense && dense >= 0) dense = -1;
    if (dense >= 0) dense *= tensor->shape[i];
  }
  if (shape != NULL && dense < 0) {
    (void)py_invalid("%s: expected a tensor that is contiguous", name);
  } else if (shape != NULL) {
    result = Py_BuildValue("LiiOii", (long long)(intptr_t)tensor->data + (long long)tensor->byte_offset,
                           tensor->type_code, tensor->type_bits, shape, tensor->device_type, tensor->device_id);
  }
  Py_XDECREF(shape);
  Py_XDECREF(capsule);
  return result;
}

/* Consumers call this on any thread, without the GIL, perhaps after the interpreter has ended: then there is nothing to
 * give back to. */
static void py_delete_tensor(py_managed_tensor* managed) {
  if (Py_IsInitialized()) {
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject*)managed->context);
    PyGILState_Release(state);
  }
  free(managed);
}

static void py_delete_unused(PyObject* capsule) {
  py_managed_tensor* managed;
  if (!PyCapsule_IsValid(capsule, "dltensor")) return; /* renamed by a consumer, which has taken it over */
  managed = (py_managed_tensor*)PyCapsule_GetPointer(capsule, "dltensor");
  py_delete_tensor(managed);
}

/* export_tensor(owner, address, type code, bits, shape, device type, device) -> a capsule "dltensor". */
static PyObject* py_export_tensor(PyObject* self, PyObject* args) {
  PyObject *owner, *shape, *capsule;
  py_managed_tensor* managed;
  long long address;
  int code, bits, type, id;
  Py_ssize_t i, ndim;
  int64_t* extents;
  (void)self;
  if (!PyArg_ParseTuple(args, "OLiiO!ii", &owner, &address, &code, &bits, &PyTuple_Type, &shape, &type, &id))
    return NULL;
  ndim = PyTuple_GET_SIZE(shape);
  managed = (py_managed_tensor*)calloc(1, sizeof(*managed) + (size_t)ndim * sizeof(int64_t));
  if (managed == NULL) return PyErr_NoMemory();
  extents = (int64_t*)(managed + 1);
  for (i = 0; i < ndim; i++) extents[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
  managed->tensor.data = (void*)(intptr_t)address;
  managed->tensor.device_type = type;
  managed->tensor.device_id = id;
  managed->tensor.ndim = (int32_t)ndim;
  managed->tensor.type_code = (uint8_t)code;
  managed->tensor.type_bits = (uint8_t)bits;
  managed->tensor.type_lanes = 1;
  managed->tensor.shape = extents;
  managed->context = owner;
  managed->deleter = py_delete_tensor;
  Py_INCREF(owner);
  capsule = PyErr_Occurred() ? NULL : PyCapsule_New(managed, "dltensor", py_delete_unused);
  if (capsule == NULL) py_delete_tensor(managed);
  return capsule;
}

#endif
