/* Arrow's PyCapsule protocol: capsules of streams, and streams of one array. Included by typemaps.i.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_PYTHON_ARROW_H
#define SIDBEAM_PYTHON_ARROW_H

static const char py_stream_name[] = "arrow_array_stream";

/* A schema and its array, which a stream hands out once. */
typedef struct py_one_array {
  struct ArrowSchema schema;
  struct ArrowArray array;
} py_one_array;

static int py_one_get_schema(struct ArrowArrayStream* stream, struct ArrowSchema* out) {
  py_one_array* const one = (py_one_array*)stream->private_data;
  *out = one->schema;
  one->schema.release = NULL;
  return out->release == NULL ? EINVAL : 0; /* asked for twice */
}

static int py_one_get_next(struct ArrowArrayStream* stream, struct ArrowArray* out) {
  py_one_array* const one = (py_one_array*)stream->private_data;
  *out = one->array;
  one->array.release = NULL;
  return 0;
}

static void py_one_release(struct ArrowArrayStream* stream) {
  py_one_array* const one = (py_one_array*)stream->private_data;
  if (one->schema.release != NULL) one->schema.release(&one->schema);
  if (one->array.release != NULL) one->array.release(&one->array);
  free(one);
  stream->release = NULL;
}

static void py_free_stream(PyObject* capsule) {
  struct ArrowArrayStream* stream = (struct ArrowArrayStream*)PyCapsule_GetPointer(capsule, py_stream_name);
  if (stream->release != NULL) stream->release(stream);
  free(stream);
}

/* stream_of_array(schema, array) -> a capsule, as that of __arrow_c_stream__, of what __arrow_c_array__ gave. */
static PyObject* py_stream_of_array(PyObject* self, PyObject* args) {
  struct ArrowArrayStream* stream;
  struct ArrowSchema* schema;
  struct ArrowArray* array;
  PyObject *schema_capsule, *array_capsule, *capsule;
  py_one_array* one;
  (void)self;
  if (!PyArg_ParseTuple(args, "OO", &schema_capsule, &array_capsule)) return NULL;
  schema = (struct ArrowSchema*)PyCapsule_GetPointer(schema_capsule, "arrow_schema");
  array = schema == NULL ? NULL : (struct ArrowArray*)PyCapsule_GetPointer(array_capsule, "arrow_array");
  if (array == NULL) return NULL;
  stream = (struct ArrowArrayStream*)calloc(1, sizeof(*stream));
  one = (py_one_array*)calloc(1, sizeof(*one));
  capsule = stream == NULL || one == NULL ? PyErr_NoMemory() : PyCapsule_New(stream, py_stream_name, py_free_stream);
  if (capsule == NULL) {
    free(stream);
    free(one);
    return NULL;
  }
  one->schema = *schema;
  one->array = *array;
  schema->release = NULL;
  array->release = NULL;
  stream->get_schema = py_one_get_schema;
  stream->get_next = py_one_get_next;
  stream->release = py_one_release;
  stream->private_data = one;
  return capsule;
}

/* stream_address(capsule) -> the address that the flat layer takes; the capsule must stay. */
static PyObject* py_stream_address(PyObject* self, PyObject* args) {
  PyObject* capsule;
  void* stream;
  (void)self;
  if (!PyArg_ParseTuple(args, "O", &capsule)) return NULL;
  stream = PyCapsule_GetPointer(capsule, py_stream_name);
  return stream == NULL ? NULL : PyLong_FromLongLong((long long)(intptr_t)stream);
}

#endif
