/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_columns.h"

arrow_column numbers(const char* name, const char* format, int64_t length, const void* values, int64_t bytes) {
  arrow_column column = {.format = format, .name = name, .length = length, .buffer_count = 2};
  column.buffers[1] = values;
  column.bytes[1] = bytes;
  return column;
}

arrow_column lists(const char* name, const char* format, int64_t length, const void* offsets, int64_t bytes,
                   const arrow_column* values) {
  arrow_column column = numbers(name, format, length, offsets, bytes);
  if (offsets == NULL) column.buffer_count = 1;
  column.child_count = 1;
  column.children[0] = values;
  return column;
}

arrow_column texts(const char* name, const char* format, int64_t length, const void* offsets, int64_t bytes,
                   const char* characters) {
  arrow_column column = numbers(name, format, length, offsets, bytes);
  column.buffer_count = 3;
  column.buffers[2] = characters;
  column.bytes[2] = characters == NULL ? 0 : (int64_t)strlen(characters);
  return column;
}

arrow_column indices(const char* name, const char* format, int64_t length, const void* values, int64_t bytes,
                     const arrow_column* dictionary) {
  arrow_column column = numbers(name, format, length, values, bytes);
  column.dictionary = dictionary;
  return column;
}

arrow_column with_nulls(arrow_column column, const unsigned char* bitmap) {
  column.buffers[0] = bitmap;
  column.bytes[0] = 1;
  column.null_count = -1;
  return column;
}

arrow_column batch(int64_t length, const arrow_column* a, const arrow_column* b, const arrow_column* c,
                   const arrow_column* d) {
  arrow_column column = {.format = "+s", .name = "", .length = length, .buffer_count = 1};
  const arrow_column* const all[] = {a, b, c, d};
  for (size_t i = 0; i < COUNT(all); ++i)
    if (all[i] != NULL) column.children[column.child_count++] = all[i];
  return column;
}

arrow_source source_of(const arrow_column* const* batches, int64_t count) {
  arrow_source source = {.batches = batches, .count = count, .fail_at = -1};
  return source;
}

sidbeam_status add_stream(sidbeam_builder* builder, arrow_source* source, const sidbeam_arrow_config* config,
                          int64_t* pairs, sidbeam_error* error) {
  struct ArrowArrayStream stream;
  arrow_export(source, &stream);
  const sidbeam_status status = sidbeam_builder_add_arrow(builder, &stream, config, pairs, error);
  CHECK(stream.release == NULL);
  CHECK_INT(source->released, 1);
  CHECK_INT(source->streams, 0);
  CHECK_INT(source->objects, 0);
  source->released = 0;
  return status;
}

sidbeam_status add_batch(sidbeam_builder* builder, const arrow_column* one, sidbeam_error* error) {
  arrow_source source = source_of(&one, 1);
  return add_stream(builder, &source, NULL, NULL, error);
}

sidbeam_builder* empty_builder(const catalogue* like) {
  const sidbeam_builder_config config = builder_config(like, ALL_KINDS);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_builder* builder = NULL;
  CHECK_OK(sidbeam_builder_create(runtime, &config, &builder, &err));
  sidbeam_runtime_release(runtime);
  return builder;
}

void expect_catalogue(sidbeam_builder* builder, const catalogue* expected) {
  int64_t bytes = 0, expected_bytes = 0;
  const void* data = NULL;
  sidbeam_index* index = NULL;
  unsigned char* file = index_bytes(expected, ALL_KINDS, &expected_bytes);
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  CHECK_OK(sidbeam_index_bytes(index, &data, &bytes, &err));
  CHECK_INT(bytes, expected_bytes);
  CHECK(memcmp(data, file, (size_t)bytes) == 0);
  sidbeam_index_release(index);
  sidbeam_builder_destroy(builder);
  free(file);
}
