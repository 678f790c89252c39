/* What the typemaps call: Python's objects become the flat layer's arguments, and errors become exceptions. All of it
 * runs with the GIL held; SWIG's -threads releases it around the native call alone. SPDX-License-Identifier: Apache-2.0
 * */
#ifndef SIDBEAM_PYTHON_NATIVE_H
#define SIDBEAM_PYTHON_NATIVE_H

/* errors.make(code, message) of the Python layer, which picks the class. */
static PyObject* py_make_error;

static void py_raise_as(int32_t code, const char* message, int wrong_type) {
  /* A truncated message may end within a character. */
  PyObject* text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
  PyObject* error = text == NULL || py_make_error == NULL
                        ? NULL
                        : PyObject_CallFunction(py_make_error, "iOi", code, text, wrong_type);
  if (error != NULL) PyErr_SetObject((PyObject*)Py_TYPE(error), error);
  if (error == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, message);
  Py_XDECREF(error);
  Py_XDECREF(text);
}

static void py_raise(int32_t code, const char* message) { py_raise_as(code, message, 0); }

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static int
py_invalid(const char* format, ...) {
  char message[504];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  PyErr_Clear();
  py_raise(SIDBEAM_INVALID_ARGUMENT, message);
  return 0;
}

/* An argument of another type than is expected: errors.WrongType. */
static void py_wrong_type(PyObject* object, const char* name, const char* expected) {
  char message[504];
  snprintf(message, sizeof(message), "%s is %s, expected %s", name,
           object == Py_None ? "None" : Py_TYPE(object)->tp_name, expected);
  PyErr_Clear();
  py_raise_as(SIDBEAM_INVALID_ARGUMENT, message, 1);
}

/* Handles are capsules: the destructor of the box belongs to the object itself, so that neither an exception nor the
 * end of the interpreter can skip it. */
static const char py_handle_name[] = "sidbeam.handle", py_view_name[] = "sidbeam.view";

static void py_free_handle(PyObject* capsule) {
  flat_handle* handle = (flat_handle*)PyCapsule_GetPointer(capsule, py_handle_name);
  PyThreadState* const state = PyEval_SaveThread(); /* on CUDA this may wait for the device */
  flat_free(handle);
  PyEval_RestoreThread(state);
}

static void py_free_view(PyObject* capsule) {
  flat_handle* handle = (flat_handle*)PyCapsule_GetPointer(capsule, py_view_name);
  PyThreadState* const state = PyEval_SaveThread();
  flat_view_release(handle);
  PyEval_RestoreThread(state);
}

static PyObject* py_box_handle(flat_handle* handle) {
  PyObject* capsule;
  if (handle == NULL) Py_RETURN_NONE; /* an error follows */
  capsule = PyCapsule_New(handle, py_handle_name, py_free_handle);
  if (capsule == NULL) flat_free(handle);
  return capsule;
}

static int py_handle(PyObject* object, const char* name, flat_handle** out) {
  *out = NULL;
  if (object == Py_None) return 1;
  *out = (flat_handle*)PyCapsule_GetPointer(object, py_handle_name);
  if (*out != NULL) return 1;
  py_wrong_type(object, name, "an object of sidbeam");
  return 0;
}

static int py_integer(PyObject* object, const char* name, int64_t low, int64_t high, int64_t* out) {
  int overflow = 0;
  PyObject* number = PyNumber_Index(object);
  if (number == NULL) {
    py_wrong_type(object, name, "an integer");
    return 0;
  }
  *out = PyLong_AsLongLongAndOverflow(number, &overflow);
  Py_DECREF(number);
  if (overflow == 0 && *out >= low && *out <= high) return 1;
  return py_invalid("%s is out of range, expected an integer of %d bits", name, high == INT32_MAX ? 32 : 64);
}

static int py_float(PyObject* object, const char* name, float* out) {
  const double number = PyFloat_AsDouble(object);
  *out = (float)number;
  if (number == -1.0 && PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) return py_invalid("%s is out of range, expected a number", name);
    py_wrong_type(object, name, "a number");
    return 0;
  }
  return 1;
}

/* Borrowed from the object: str as UTF-8, bytes (paths) as they are, None NULL. */
static int py_text(PyObject* object, const char* name, const char** out) {
  Py_ssize_t bytes = 0;
  *out = NULL;
  if (object == Py_None) return 1;
  if (PyBytes_Check(object)) {
    *out = PyBytes_AS_STRING(object);
    bytes = PyBytes_GET_SIZE(object);
  } else if (PyUnicode_Check(object)) {
    *out = PyUnicode_AsUTF8AndSize(object, &bytes);
    if (*out == NULL) return py_invalid("%s is no text: it has surrogates", name);
  } else {
    py_wrong_type(object, name, "a str");
    return 0;
  }
  if (strlen(*out) == (size_t)bytes) return 1;
  return py_invalid("%s holds a NUL character", name);
}

static const Py_buffer py_no_buffer;

/* An object's buffer; 0 with an exception that names the argument. */
static int py_buffer(PyObject* object, const char* name, int flags, Py_buffer* buffer) {
  if (!PyObject_CheckBuffer(object)) {
    py_wrong_type(object, name, "an array");
    return 0;
  }
  if (PyObject_GetBuffer(object, buffer, flags) == 0) return 1;
  *buffer = py_no_buffer;
  return py_invalid("%s: expected an array that is %scontiguous", name, flags & PyBUF_WRITABLE ? "writable and " : "");
}

/* The one letter of a native format; 0 for structs and foreign byte orders. */
static char py_format(const Py_buffer* buffer) {
  const char* format = buffer->format == NULL ? "B" : buffer->format;
  if (*format == '@' || *format == '=' || *format == '<') format++;
  return format[0] != 0 && format[1] == 0 ? format[0] : 0;
}

/* An array of one element type: None, a buffer, or (address, elements) of a device. `letters`: formats allowed. */
static int py_array(PyObject* object, const char* name, const char* letters, int64_t size, int flags, Py_buffer* buffer,
                    void** data, int64_t* count) {
  long long address, elements;
  *data = NULL;
  *count = 0;
  if (object == Py_None) return 1;
  if (PyTuple_CheckExact(object)) {
    if (!PyArg_ParseTuple(object, "LL", &address, &elements)) return 0;
    *data = (void*)(intptr_t)address;
    *count = elements;
    return 1;
  }
  if (!py_buffer(object, name, flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT, buffer)) return 0;
  if (buffer->itemsize != size || py_format(buffer) == 0 || strchr(letters, py_format(buffer)) == NULL)
    return py_invalid("%s has elements of format '%s' and %d bytes, expected %s of %d", name,
                      buffer->format == NULL ? "B" : buffer->format, (int)buffer->itemsize,
                      *letters == 'f' ? "floats" : "integers", (int)size);
  *data = buffer->buf == NULL ? (void*)(intptr_t)size : buffer->buf; /* empty, but given: not NULL */
  *count = buffer->len / size;
  return 1;
}

#endif
