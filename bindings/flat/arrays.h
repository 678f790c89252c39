/* Arrays of the caller, and how errors are said. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_ARRAYS_H
#define SIDBEAM_FLAT_ARRAYS_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sidbeam/sidbeam.h>

/* An array that is lent for one call: read (in) or written (out). Data NULL is "none". Passed by value, so that each
 * language needs one typemap per type, whatever the argument is called. On CUDA the address is the device's. */
typedef struct flat_in_i32 {
  const int32_t* data;
  int64_t count;
} flat_in_i32;
typedef struct flat_in_i64 {
  const int64_t* data;
  int64_t count;
} flat_in_i64;
typedef struct flat_in_f32 {
  const float* data;
  int64_t count;
} flat_in_f32;
typedef struct flat_in_bytes {
  const char* data;
  int64_t count;
} flat_in_bytes;
typedef struct flat_out_i32 {
  int32_t* data;
  int64_t count;
} flat_out_i32;
typedef struct flat_out_i64 {
  int64_t* data;
  int64_t count;
} flat_out_i64;
typedef struct flat_out_f32 {
  float* data;
  int64_t count;
} flat_out_f32;
typedef struct flat_out_bytes {
  char* data;
  int64_t count;
} flat_out_bytes;
/* Logits: an address alone, since the type of the elements travels beside it. */
typedef struct flat_memory {
  void* data;
} flat_memory;

/* Every function below takes a sidbeam_error, which it clears first; code is 0 after success. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static inline void
fl_fail(sidbeam_error* err, int32_t code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  err->code = code;
  vsnprintf(err->message, sizeof(err->message), format, arguments);
  va_end(arguments);
}

/* What the system says, as a line that fits a message: what is not printable ASCII becomes \xNN. */
static inline void fl_escape(const char* text, char* line, size_t size) {
  size_t end = 0;
  for (; *text != 0; text++) {
    const unsigned char byte = (unsigned char)*text;
    const int plain = byte >= 0x20 && byte < 0x7F;
    if (end + (plain ? 1 : 4) >= size) break;
    end += (size_t)snprintf(line + end, size - end, plain ? "%c" : "\\x%02x", byte);
  }
  line[end] = 0;
}

static inline void fl_clear(sidbeam_error* err) {
  err->struct_size = (uint32_t)sizeof(*err);
  err->code = 0;
  err->message[0] = 0;
}

/* 1 if an array of `have` elements, where there is one, is long enough. */
static inline int fl_long_enough(sidbeam_error* err, const char* name, const void* data, int64_t have, int64_t need) {
  if (err->code != 0) return 0;
  if (data == NULL || have >= need) return 1;
  fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "%s has %" PRId64 " elements, expected at least %" PRId64, name, have, need);
  return 0;
}
#define FLAT_NEED(err, array, need) fl_long_enough(err, #array, (array).data, (array).count, need)

/* 1 if an array, where there is one, has as many elements as are expected. */
static inline int fl_as_many(sidbeam_error* err, const char* name, const void* data, int64_t have, int64_t expected) {
  if (err->code != 0) return 0;
  if (data == NULL || have == expected) return 1;
  fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "%s has %" PRId64 " elements, expected %" PRId64, name, have, expected);
  return 0;
}
#define FLAT_AS_MANY(err, array, expected) fl_as_many(err, #array, (array).data, (array).count, expected)

/* 1 if the array is there and long enough. */
static inline int fl_given(sidbeam_error* err, const char* name, const void* data, int64_t have, int64_t need) {
  if (err->code == 0 && data == NULL && need > 0)
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "%s is missing, expected %" PRId64 " elements", name, need);
  return fl_long_enough(err, name, data, have, need);
}
#define FLAT_GIVEN(err, array, need) fl_given(err, #array, (array).data, (array).count, need)

/* a * b for counts; a product that does not fit is larger than any array. */
static inline int64_t fl_product(int64_t a, int64_t b) {
  int64_t product;
  if (a < 0 || b < 0) return 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* Levels for which arrays by level have room: a newer library's index may have more. */
static inline int32_t fl_known_levels(int32_t levels) {
  return levels < SIDBEAM_MAX_LEVELS ? levels : SIDBEAM_MAX_LEVELS;
}

/* Copies as much of the text to `out` as fits; returns its length without the terminating NUL. */
static inline int64_t fl_text(flat_out_bytes out, const char* text, int64_t bytes) {
  if (out.data != NULL && out.count > 0) memcpy(out.data, text, (size_t)(bytes < out.count ? bytes : out.count));
  return bytes;
}

#endif
