/* A table of Arrow's for the tests of languages that take its address: two batches, of
 *   sid (lists of two int16)   (3, 1) (1, 2) | (1, 0)
 *   item (text)                "c"    "a"    | "b"
 * Loaded as a library; Java finds it by the second names, whose first two arguments are the JVM's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "../capi/arrow_rig.h"

#define EXPORT __attribute__((visibility("default")))

static const int16_t codes[] = {3, 1, 1, 2, 1, 0}, bad_codes[] = {3, 9};
static const int32_t offsets[] = {0, 1, 2, 3};

static const arrow_column first_values = {
    .format = "s", .name = "", .length = 4, .buffer_count = 2, .buffers = {0, codes}, .bytes = {0, 8}};
static const arrow_column last_values = {
    .format = "s", .name = "", .length = 2, .buffer_count = 2, .buffers = {0, codes + 4}, .bytes = {0, 4}};
static const arrow_column bad_values = {
    .format = "s", .name = "", .length = 2, .buffer_count = 2, .buffers = {0, bad_codes}, .bytes = {0, 4}};

#define SIDS(count, values)                                                                                       \
  {                                                                                                               \
    .format = "+w:2", .name = "sid", .length = count, .buffer_count = 1, .child_count = 1, .children = { values } \
  }
static const arrow_column first_sids = SIDS(2, &first_values), last_sids = SIDS(1, &last_values),
                          bad_sids = SIDS(1, &bad_values);

#define ITEMS(count, text)                                                                                       \
  {                                                                                                              \
    .format = "u", .name = "item", .length = count, .buffer_count = 3, .buffers = {0, offsets, text}, .bytes = { \
      0,                                                                                                         \
      4 * (count) + 4,                                                                                           \
      count                                                                                                      \
    }                                                                                                            \
  }
static const arrow_column first_items = ITEMS(2, "ca"), last_items = ITEMS(1, "b");

#define BATCH(count, sids, items)                                                                                 \
  {                                                                                                               \
    .format = "+s", .name = "", .length = count, .buffer_count = 1, .child_count = 2, .children = { sids, items } \
  }
static const arrow_column first = BATCH(2, &first_sids, &first_items), last = BATCH(1, &last_sids, &last_items),
                          bad = BATCH(1, &bad_sids, &last_items);
static const arrow_column* const good_batches[] = {&first, &last};
static const arrow_column* const bad_batches[] = {&first, &bad};

static arrow_source source;
static struct ArrowArrayStream stream;
static int64_t lost; /* of earlier streams */

/* Streams, schemas and arrays that have not been released. */
EXPORT int64_t arrow_specimen_alive(void) { return lost + source.streams + source.objects; }

/* A new stream, in the place of the last one. is_bad: with the code 9 in row 2. */
EXPORT int64_t arrow_specimen(int32_t is_bad) {
  lost = arrow_specimen_alive();
  source = (arrow_source){.batches = is_bad ? bad_batches : good_batches, .count = 2, .fail_at = -1};
  arrow_export(&source, &stream);
  return (int64_t)(intptr_t)&stream;
}

EXPORT int64_t Java_io_sidbeam_ArrowSpecimen_stream(void* jvm, void* type, int32_t is_bad) {
  (void)jvm, (void)type;
  return arrow_specimen(is_bad);
}

EXPORT int64_t Java_io_sidbeam_ArrowSpecimen_alive(void* jvm, void* type) {
  (void)jvm, (void)type;
  return arrow_specimen_alive();
}
