/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What an exported schema or array owns. */
typedef struct owned {
  arrow_source* source; /* of the outermost one; NULL below it */
  void* blocks[ARROW_BUFFERS];
  const void* buffers[ARROW_BUFFERS];
  void* children[ARROW_CHILDREN];
} owned;

static void release_schema(struct ArrowSchema* schema) {
  owned* const own = schema->private_data;
  if (schema->release == NULL || own == NULL) abort(); /* a second time */
  for (int64_t i = 0; i < schema->n_children; ++i) {
    if (schema->children[i]->release != NULL) schema->children[i]->release(schema->children[i]);
    free(schema->children[i]);
  }
  if (schema->dictionary != NULL) {
    if (schema->dictionary->release != NULL) schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
  }
  if (own->source != NULL) --own->source->objects;
  free(own);
  schema->private_data = NULL;
  schema->release = NULL;
}

static void release_array(struct ArrowArray* array) {
  owned* const own = array->private_data;
  if (array->release == NULL || own == NULL) abort();
  for (int64_t i = 0; i < ARROW_CHILDREN; ++i) {
    struct ArrowArray* const child = own->children[i];
    if (child == NULL) continue;
    if (child->release != NULL) child->release(child);
    free(child);
  }
  if (array->dictionary != NULL) {
    if (array->dictionary->release != NULL) array->dictionary->release(array->dictionary);
    free(array->dictionary);
  }
  for (int i = 0; i < ARROW_BUFFERS; ++i) free(own->blocks[i]);
  if (own->source != NULL) --own->source->objects;
  free(own);
  array->private_data = NULL;
  array->release = NULL;
}

static int make_schema(const arrow_column* from, struct ArrowSchema* out) {
  owned* const own = calloc(1, sizeof *own);
  memset(out, 0, sizeof *out);
  if (own == NULL) return 0;
  out->format = from->format;
  out->name = from->name;
  out->flags = ARROW_FLAG_NULLABLE;
  out->children = (struct ArrowSchema**)own->children;
  out->release = release_schema;
  out->private_data = own;
  for (int64_t i = 0; i < from->child_count; ++i) {
    struct ArrowSchema* const child = calloc(1, sizeof *child);
    if (child == NULL) return 0;
    own->children[i] = child;
    out->n_children = i + 1;
    if (!make_schema(from->children[i], child)) return 0;
  }
  if (from->dictionary == NULL) return 1;
  out->dictionary = calloc(1, sizeof *out->dictionary);
  return out->dictionary != NULL && make_schema(from->dictionary, out->dictionary);
}

static int make_array(const arrow_column* from, struct ArrowArray* out) {
  owned* const own = calloc(1, sizeof *own);
  memset(out, 0, sizeof *out);
  if (own == NULL) return 0;
  out->length = from->length;
  out->offset = from->offset;
  out->null_count = from->null_count;
  out->n_buffers = from->buffer_count;
  out->n_children = from->child_count;
  out->buffers = own->buffers;
  out->children = (struct ArrowArray**)own->children;
  out->release = release_array;
  out->private_data = own;
  for (int64_t i = 0; i < ARROW_BUFFERS; ++i) {
    if (from->buffers[i] == NULL) continue;
    own->blocks[i] = malloc((size_t)from->bytes[i]);
    if (own->blocks[i] == NULL) return 0;
    memcpy(own->blocks[i], from->buffers[i], (size_t)from->bytes[i]);
    own->buffers[i] = own->blocks[i];
  }
  for (int64_t i = 0; i < ARROW_CHILDREN; ++i) {
    if (from->children[i] == NULL) continue;
    struct ArrowArray* const child = calloc(1, sizeof *child);
    own->children[i] = child;
    if (child == NULL || !make_array(from->children[i], child)) return 0;
  }
  if (from->dictionary == NULL) return 1;
  out->dictionary = calloc(1, sizeof *out->dictionary);
  return out->dictionary != NULL && make_array(from->dictionary, out->dictionary);
}

static int fails(arrow_source* source) { return source->calls++ == source->fail_at ? source->error : 0; }

static int get_schema(struct ArrowArrayStream* stream, struct ArrowSchema* out) {
  arrow_source* const source = stream->private_data;
  const int error = fails(source);
  if (error != 0) return error;
  if (!make_schema(source->schema != NULL ? source->schema : source->batches[0], out)) {
    if (out->release != NULL) out->release(out);
    return ENOMEM;
  }
  ((owned*)out->private_data)->source = source;
  ++source->objects;
  return 0;
}

static int get_next(struct ArrowArrayStream* stream, struct ArrowArray* out) {
  arrow_source* const source = stream->private_data;
  const int error = fails(source);
  const int64_t batch = source->calls - 2; /* the schema was the first call */
  if (error != 0) return error;
  memset(out, 0, sizeof *out);
  if (batch >= source->count) return 0;
  if (!make_array(source->batches[batch], out)) {
    if (out->release != NULL) out->release(out);
    return ENOMEM;
  }
  ((owned*)out->private_data)->source = source;
  ++source->objects;
  return 0;
}

static const char* get_last_error(struct ArrowArrayStream* stream) {
  return ((arrow_source*)stream->private_data)->message;
}

static void release_stream(struct ArrowArrayStream* stream) {
  arrow_source* const source = stream->private_data;
  if (stream->release == NULL || source == NULL) abort();
  --source->streams;
  ++source->released;
  stream->private_data = NULL;
  stream->release = NULL;
}

void arrow_export(arrow_source* source, struct ArrowArrayStream* out) {
  source->calls = 0;
  ++source->streams;
  out->get_schema = get_schema;
  out->get_next = get_next;
  out->get_last_error = source->message == NULL ? NULL : get_last_error;
  out->release = release_stream;
  out->private_data = source;
}
