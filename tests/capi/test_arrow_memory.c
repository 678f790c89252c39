/* Of a stream of Arrow's one batch is held at a time, and nothing is kept of it beyond the pairs: a stream is compared
 * with one of a tenth of its batches, and with a builder that is given the same pairs by hand.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sidbeam/arrow.h>

#include "fixtures.h"
#include "memory_rig.h"

enum { LEVELS = 4, ROWS = 1 << 15, BATCHES = 100, TIMES = 10, NAME_BYTES = 12 };
/* What memory may grow by beside the pairs; a batch is of 1.3 or 1.6 MiB. */
#define MOST_GROWTH ((int64_t)3 << 20)
#define MOST_AT_ALL ((int64_t)12 << 20)

/* A stream that makes each batch when it is asked for it. */
typedef struct producer {
  int64_t batches; /* to come */
  int named;       /* items are text; otherwise int64 */
  int held;        /* batches handed out and not released */
  int most_held;
} producer;

typedef struct batch_memory {
  producer* from;
  struct ArrowArray sid, codes, item;
  struct ArrowArray *columns[2], *elements[1];
  const void* buffers[2 + 2 + 3];
  int64_t code_values[ROWS * LEVELS], ids[ROWS];
  int32_t ends[ROWS + 1];
  char names[ROWS * NAME_BYTES];
} batch_memory;

static void keep_schema(struct ArrowSchema* schema) { schema->release = NULL; }
static void keep_array(struct ArrowArray* array) { array->release = NULL; }
static void free_batch(struct ArrowArray* array) {
  batch_memory* const memory = array->private_data;
  --memory->from->held;
  free(memory);
  array->release = NULL;
}
static void end_stream(struct ArrowArrayStream* stream) { stream->release = NULL; }

static int get_schema(struct ArrowArrayStream* stream, struct ArrowSchema* out) {
  static struct ArrowSchema sid, codes, item;
  static struct ArrowSchema *columns[2] = {&sid, &item}, *elements[1] = {&codes};
  const producer* const from = stream->private_data;
  codes = (struct ArrowSchema){.format = "l", .name = "", .release = keep_schema};
  sid = (struct ArrowSchema){
      .format = "+w:4", .name = "sid", .n_children = 1, .children = elements, .release = keep_schema};
  item = (struct ArrowSchema){.format = from->named ? "u" : "l", .name = "item", .release = keep_schema};
  *out = (struct ArrowSchema){.format = "+s", .name = "", .n_children = 2, .children = columns, .release = keep_schema};
  return 0;
}

static struct ArrowArray array_of(int64_t length, int64_t buffers, const void** place) {
  return (struct ArrowArray){.length = length, .n_buffers = buffers, .buffers = place, .release = keep_array};
}

/* Every page is written. */
static void fill(batch_memory* memory) {
  for (int64_t i = 0; i < (int64_t)ROWS * LEVELS; ++i) memory->code_values[i] = i % 16;
  for (int64_t i = 0; i < ROWS; ++i) memory->ids[i] = i;
  for (int32_t i = 0; i <= ROWS; ++i) memory->ends[i] = i * NAME_BYTES;
  memset(memory->names, 'x', sizeof memory->names);
}

static int get_next(struct ArrowArrayStream* stream, struct ArrowArray* out) {
  producer* const from = stream->private_data;
  memset(out, 0, sizeof *out);
  if (from->batches == 0) return 0;
  --from->batches;
  batch_memory* const memory = malloc(sizeof *memory);
  if (memory == NULL) return ENOMEM;
  fill(memory);
  memory->from = from;
  memset(memory->buffers, 0, sizeof memory->buffers);
  memory->codes = array_of((int64_t)ROWS * LEVELS, 2, &memory->buffers[1]);
  memory->buffers[2] = memory->code_values;
  memory->sid = array_of(ROWS, 1, &memory->buffers[0]);
  memory->elements[0] = &memory->codes;
  memory->sid.n_children = 1;
  memory->sid.children = memory->elements;
  memory->item = array_of(ROWS, from->named ? 3 : 2, &memory->buffers[4]);
  memory->buffers[5] = from->named ? (const void*)memory->ends : memory->ids;
  memory->buffers[6] = memory->names;
  memory->columns[0] = &memory->sid;
  memory->columns[1] = &memory->item;
  *out = array_of(ROWS, 1, &memory->buffers[0]);
  out->n_children = 2;
  out->children = memory->columns;
  out->release = free_batch;
  out->private_data = memory;
  if (++from->held > from->most_held) from->most_held = from->held;
  return 0;
}

static struct ArrowArrayStream stream_of(producer* from) {
  return (struct ArrowArrayStream){get_schema, get_next, NULL, end_stream, from};
}

static sidbeam_builder* builder_of(const producer* like) {
  const int32_t codes[LEVELS] = {16, 16, 16, 16};
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = LEVELS;
  config.codes = codes;
  config.id_type = like->named ? SIDBEAM_ID_STRING : SIDBEAM_ID_I64;
  config.threads = 1;
  sidbeam_builder* builder = NULL;
  CHECK_OK(sidbeam_builder_create(make_runtime(), &config, &builder, &err));
  return builder;
}

static void inspect(const void* argument) {
  producer from = *(const producer*)argument;
  const int64_t pairs = from.batches * ROWS;
  struct ArrowArrayStream stream = stream_of(&from);
  sidbeam_arrow_info info = SIDBEAM_ARROW_INFO_INIT;
  CHECK_OK(sidbeam_arrow_inspect(&stream, NULL, NULL, &info, &err));
  CHECK_INT(info.pairs, pairs);
  CHECK_INT(from.held, 0);
  CHECK_INT(from.most_held, 1);
}

static void add(const void* argument) {
  producer from = *(const producer*)argument;
  const int64_t expected = from.batches * ROWS;
  int64_t pairs = 0;
  struct ArrowArrayStream stream = stream_of(&from);
  sidbeam_builder* const builder = builder_of(&from);
  CHECK_OK(sidbeam_builder_add_arrow(builder, &stream, NULL, &pairs, &err));
  CHECK_INT(pairs, expected);
  CHECK_INT(from.held, 0);
  CHECK_INT(from.most_held, 1);
  sidbeam_builder_destroy(builder);
}

static void add_by_hand(const void* argument) {
  const producer* const from = argument;
  static int32_t codes[ROWS * LEVELS];
  static int64_t offsets[ROWS + 1];
  batch_memory* const memory = malloc(sizeof *memory);
  CHECK(memory != NULL);
  fill(memory);
  for (int64_t i = 0; i < (int64_t)ROWS * LEVELS; ++i) codes[i] = (int32_t)memory->code_values[i];
  for (int64_t i = 0; i <= ROWS; ++i) offsets[i] = memory->ends[i];
  sidbeam_builder* const builder = builder_of(from);
  for (int64_t i = 0; i < from->batches; ++i)
    CHECK_OK(from->named ? sidbeam_builder_add_named(builder, codes, NULL, ROWS, memory->names, offsets, NULL, &err)
                         : sidbeam_builder_add(builder, codes, NULL, ROWS, memory->ids, NULL, &err));
  sidbeam_builder_destroy(builder);
  free(memory);
}

/* What the work takes beyond the pairs that are kept, of a stream and of one of a tenth of its batches. */
static void expect_one_batch(int named, const char* what, void (*work)(const void*), void (*kept)(const void*)) {
  int64_t peaks[2];
  for (int i = 0; i < 2; ++i) {
    const producer from = {i == 0 ? BATCHES : BATCHES / TIMES, named, 0, 0};
    peaks[i] = peak_of(work, &from) - (kept != NULL ? peak_of(kept, &from) : 0);
  }
  printf("%-8s %-10s %5.1f MiB, of a tenth %5.1f MiB\n", named ? "names" : "numbers", what, (double)peaks[0] / 1048576,
         (double)peaks[1] / 1048576);
  CHECK(peaks[0] < peaks[1] + MOST_GROWTH && peaks[0] < MOST_AT_ALL);
}

static void inspecting_holds_one_batch(void) {
  for (int named = 0; named < 2; ++named) expect_one_batch(named, "inspecting", inspect, NULL);
}

static void adding_holds_one_batch_and_the_pairs(void) {
  for (int named = 0; named < 2; ++named) expect_one_batch(named, "adding", add, add_by_hand);
}

int main(void) {
  static const test_case tests[] = {TEST(inspecting_holds_one_batch), TEST(adding_holds_one_batch_and_the_pairs)};
  if (!peaks_are_told()) return 77;
  return RUN_TESTS(tests);
}
