/* Sizes, counts and strides at the ends of their range: overflow is refused before anything is read by it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sidbeam/dlpack.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixtures.h"

enum { SLOTS = 4, MOST_STRUCT_BYTES = 4096 };
#define WRAPS (INT64_C(1) << 62) /* times 2 or 3 it wraps to another number */

static const int64_t overflowing[] = {INT64_MAX, INT64_MAX / 2, WRAPS, INT64_C(1) << 60};

static sidbeam_session* four_slots(sidbeam_constraint* constraint) {
  sidbeam_session_config config = session_config(constraint);
  config.slots = SLOTS;
  return make_session(&config);
}

static void strides_of_prefixes(void) {
  static const int32_t codes[SLOTS * 3] = {0, 1, 2, 2}, lengths[SLOTS] = {1, 1, 1, 1};
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session* session = four_slots(constraint);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.prefixes = codes;
  args.prefix_lengths = lengths;
  for (size_t i = 0; i < COUNT(overflowing); ++i) {
    args.prefix_stride = overflowing[i];
    CHECK_FAILS(sidbeam_session_start(session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "prefix_stride is ",
                "which overflows over 4 of them");
  }
  args.prefix_stride = INT64_MIN + 1;
  CHECK_FAILS(sidbeam_session_start(session, &args, &err), SIDBEAM_INVALID_ARGUMENT,
              "prefix_stride is -9223372036854775807, expected at least 0, or SIDBEAM_BROADCAST");
  CHECK_INT(beams_of(session).level[0], -1);
  args.slots = lengths + 1; /* slot 1 alone: one prefix has nothing after it */
  args.count = 1;
  args.prefix_stride = INT64_MAX;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  CHECK_INT(beams_of(session).level[1], 1);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
}

static void strides_and_counts_of_stateless_calls(void) {
  static const int32_t codes[3] = {0, 1, 2}, lengths[3] = {1, 1, 1};
  static const int64_t counts[] = {INT64_MAX, INT64_MAX / 2, (INT64_C(1) << 32) + 1, INT64_MIN, -1};
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_constraint_set* set = make_set(&constraint, 1, NULL);
  sidbeam_state states[3] = {0, 0, 0};
  uint32_t words[3] = {7, 7, 7};
  for (size_t i = 0; i < COUNT(overflowing); ++i)
    CHECK_FAILS(sidbeam_constraint_set_prefixes(set, NULL, codes, overflowing[i], lengths, 3, states, NULL, &err),
                SIDBEAM_INVALID_ARGUMENT, "stride is ", "which overflows over 3 of them");
  CHECK_FAILS(sidbeam_constraint_set_prefixes(set, NULL, codes, INT64_MIN + 1, lengths, 3, states, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "stride is -9223372036854775807, expected at least 0, or SIDBEAM_BROADCAST");
  for (size_t i = 0; i < COUNT(counts); ++i) {
    CHECK_FAILS(sidbeam_constraint_set_prefixes(set, NULL, codes, 1, lengths, counts[i], states, NULL, &err),
                SIDBEAM_INVALID_ARGUMENT, "count is ", "expected 0..4294967296");
    CHECK_FAILS(sidbeam_constraint_set_advance(set, NULL, states, 3, NULL, codes, counts[i], states, NULL, &err),
                SIDBEAM_INVALID_ARGUMENT, "count is ", "expected 0..4294967296");
    CHECK_FAILS(sidbeam_constraint_set_bitmask(set, NULL, states, counts[i], 1, words, NULL, &err),
                SIDBEAM_INVALID_ARGUMENT, "count is ", "expected 0..4294967296");
  }
  for (size_t i = 0; i < 2; ++i)
    CHECK_FAILS(sidbeam_constraint_set_bitmask(set, NULL, states, 3, i == 0 ? INT64_MAX : INT64_MIN, words, NULL, &err),
                SIDBEAM_INVALID_ARGUMENT, "words_per_row is ", "expected 0..1099511627776");
  CHECK_FAILS(sidbeam_constraint_set_bitmask(set, NULL, states, 1 << 30, INT64_C(1) << 40, words, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "words_per_row is 1099511627776, which overflows over 1073741824 of them");
  CHECK_INT(words[0], 7);
  CHECK_OK(sidbeam_constraint_set_prefixes(set, NULL, codes, INT64_MAX, lengths, 1, states, NULL, &err));
  sidbeam_constraint_set_destroy(set);
  sidbeam_constraint_release(constraint);
}

static void strides_of_rows(void) {
  static const int64_t strides[] = {INT64_MAX, INT64_MIN + 1, WRAPS, -WRAPS};
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session* session = four_slots(constraint);
  sidbeam_rows rows = same_row(halving, SLOTS, 4, 4);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  start_all(session);
  for (size_t i = 0; i < COUNT(strides); ++i) {
    rows.row_stride = strides[i];
    CHECK_FAILS(sidbeam_session_step(session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "rows.row_stride is ",
                "which overflows over 4 of them");
    rows.row_stride = SIDBEAM_BROADCAST;
    rows.slot_stride = strides[i];
    CHECK_FAILS(sidbeam_session_step(session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "rows.slot_stride is ",
                "which overflows over 4 of them");
    rows.slot_stride = SIDBEAM_BROADCAST;
  }
  for (size_t i = 0; i < COUNT(strides); ++i) { /* one row has nothing after it */
    int32_t first = 0;
    rows.slots = rows.rows = args.count = 1;
    rows.row_stride = rows.slot_stride = strides[i];
    args.slots = &first;
    start_all(session);
    CHECK_OK(sidbeam_session_step(session, &args, &err));
    CHECK_INT(beams_of(session).live[0], 3);
  }
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
}

static void sizes_that_headers_multiply(void) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session* session = four_slots(constraint);
  sidbeam_rows rows = sidbeam_rows_dense(halving, SIDBEAM_DTYPE_F32, SLOTS, INT64_MAX, INT64_MAX);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  int64_t shape[3] = {SLOTS, INT64_MAX, INT64_MAX};
  sidbeam_dl_tensor tensor = {0};
  args.rows = &rows;
  start_all(session);
  CHECK_FAILS(sidbeam_session_step(session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "rows.rows is 9223372036854775807");
  rows = sidbeam_rows_dense(halving, SIDBEAM_DTYPE_F16, SLOTS, 4, (INT64_C(1) << 36) + 1);
  CHECK_FAILS(sidbeam_session_step(session, &args, &err), SIDBEAM_INVALID_ARGUMENT,
              "rows.columns is 68719476737, expected 0..68719476736");
  tensor.data = (void*)(uintptr_t)halving;
  tensor.device_type = 1;
  tensor.ndim = 3;
  tensor.type_code = 2;
  tensor.type_bits = 32;
  tensor.type_lanes = 1;
  tensor.shape = shape;
  CHECK_OK(sidbeam_rows_from_dlpack(&tensor, &rows, &err));
  CHECK_FAILS(sidbeam_session_step(session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "rows.rows is 9223372036854775807");
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
}

static void limits_of_items(void) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session* session = four_slots(constraint);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  int64_t item_rows[8], offsets[SLOTS * 5] = {-1};
  start_all(session);
  items.offsets = offsets;
  for (size_t i = 0; i < COUNT(overflowing); ++i) {
    items.limit = overflowing[i];
    items.item_rows = item_rows;
    CHECK_FAILS(sidbeam_session_get_items(session, NULL, SLOTS, &items, &err), SIDBEAM_INVALID_ARGUMENT, "limit is ",
                "which overflows over 4 of them");
    items.item_rows = NULL; /* what it would take */
    CHECK_OK(sidbeam_session_get_items(session, NULL, SLOTS, &items, &err));
    CHECK_INT(offsets[0], 0);
  }
  items.limit = INT64_MIN;
  CHECK_FAILS(sidbeam_session_get_items(session, NULL, SLOTS, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "limit is -9223372036854775808, expected at least 0");
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
}

static void pairs_of_a_builder(void) {
  static const int32_t codes[3] = {0, 1, 2};
  static const int64_t counts[] = {INT64_MAX, INT64_MAX / 2, INT64_C(1) << 40, INT64_MIN};
  static const int64_t wild[2] = {INT64_MIN, INT64_MAX}, falling[2] = {INT64_MAX, INT64_MIN}, fine[2] = {3, 3};
  sidbeam_builder *builder = make_builder(&small, ALL_KINDS), *named = make_builder(&small_named, ALL_KINDS);
  for (size_t i = 0; i < COUNT(counts); ++i) {
    const char* expected = counts[i] < 0 ? "expected 0 or more" : "after 6 rows, an index holds fewer than 2^40";
    CHECK_FAILS(sidbeam_builder_add(builder, codes, NULL, counts[i], fine, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
                "count is ", expected);
    CHECK_FAILS(sidbeam_builder_add_named(named, codes, NULL, counts[i], "x", fine, NULL, &err),
                SIDBEAM_INVALID_ARGUMENT, "count is ", expected);
    CHECK_FAILS(sidbeam_builder_add_named(named, codes, NULL, counts[i], NULL, fine, NULL, &err),
                SIDBEAM_INVALID_ARGUMENT, "count is ", expected);
  }
  CHECK_FAILS(sidbeam_builder_add_named(named, codes, NULL, 1, NULL, wild, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "id_offsets[0] is -9223372036854775808, expected at least 0");
  CHECK_FAILS(sidbeam_builder_add_named(named, codes, NULL, 1, NULL, falling, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "id_offsets[1] is ");
  CHECK_OK(sidbeam_builder_add_named(named, codes, NULL, 1, NULL, fine, NULL, &err)); /* an empty name */
  sidbeam_builder_destroy(builder);
  sidbeam_builder_destroy(named);
}

/* A copy of a struct that ends where nothing may be read any more. */
static void* before_nothing(const void* original, size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED);
  CHECK_INT(mprotect(pages + page, page, PROT_NONE), 0);
  return memcpy(pages + page - bytes, original, bytes);
}

static void forget(void* copy, size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  CHECK_INT(munmap((char*)copy + bytes - page, 2 * page), 0);
}

/* call(copy) fails for a struct that claims to be longer than any, without reading past its end. */
#define CHECK_SIZES(type, original, name, call)                                                                       \
  do {                                                                                                                \
    static const uint32_t sizes[] = {MOST_STRUCT_BYTES + 1, 0x7fffffff, 0xfffffff8, UINT32_MAX};                      \
    type* copy = before_nothing(&(original), sizeof(type));                                                           \
    for (size_t i = 0; i < COUNT(sizes); ++i) {                                                                       \
      copy->struct_size = sizes[i];                                                                                   \
      CHECK_FAILS(call, SIDBEAM_INVALID_ARGUMENT, name ".struct_size is ", "and at most 4096: begin with its _INIT"); \
    }                                                                                                                 \
    forget(copy, sizeof(type));                                                                                       \
  } while (0)

static void sizes_of_structs_that_were_never_set(void) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_index* index = make_index(&small, ALL_KINDS);
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session* session = four_slots(constraint);
  sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
  sidbeam_device_allocator device_allocator = SIDBEAM_DEVICE_ALLOCATOR_INIT;
  sidbeam_runtime_config runtime_config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_builder_config builder = builder_config(&small, ALL_KINDS);
  sidbeam_open_config open = SIDBEAM_OPEN_CONFIG_INIT;
  sidbeam_upload_config upload = SIDBEAM_UPLOAD_CONFIG_INIT;
  sidbeam_session_config config = session_config(constraint);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  sidbeam_constraint_config constraint_config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_constraint_set* set = make_set(&constraint, 1, NULL);
  sidbeam_constraint_set_config set_config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_rows rows = same_row(halving, SLOTS, 4, 4);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  sidbeam_state state = 0;
  void* out = NULL;
  CHECK_SIZES(sidbeam_runtime_config, runtime_config, "config", sidbeam_runtime_create(copy, (void*)&out, &err));
  CHECK_SIZES(sidbeam_allocator, allocator, "config.allocator",
              (runtime_config.allocator = copy, sidbeam_runtime_create(&runtime_config, (void*)&out, &err)));
  runtime_config.allocator = NULL;
  CHECK_SIZES(sidbeam_device_allocator, device_allocator, "config.device_allocator",
              (runtime_config.device_allocator = copy, sidbeam_runtime_create(&runtime_config, (void*)&out, &err)));
  CHECK_SIZES(sidbeam_builder_config, builder, "config", sidbeam_builder_create(runtime, copy, (void*)&out, &err));
  CHECK_SIZES(sidbeam_builder_config, builder, "config", sidbeam_plan_estimate(copy, 5, (void*)&out, &err));
  CHECK_SIZES(sidbeam_open_config, open, "config", sidbeam_index_open(runtime, "none", copy, (void*)&out, &err));
  CHECK_SIZES(sidbeam_open_config, open, "config",
              sidbeam_index_open_memory(runtime, &open, 8, NULL, NULL, copy, (void*)&out, &err));
  CHECK_SIZES(sidbeam_upload_config, upload, "config", sidbeam_index_upload(index, copy, &err));
  CHECK_SIZES(sidbeam_session_config, config, "config", sidbeam_session_create(runtime, copy, (void*)&out, &err));
  CHECK_SIZES(sidbeam_vocabulary, vocabulary, "config.vocabulary",
              (config.vocabulary = copy, sidbeam_session_create(runtime, &config, (void*)&out, &err)));
  CHECK_SIZES(sidbeam_constraint_config, constraint_config, "config",
              sidbeam_constraint_create(copy, (void*)&out, &err));
  CHECK_SIZES(sidbeam_constraint_set_config, set_config, "config",
              sidbeam_constraint_set_create(runtime, copy, (void*)&out, &err));
  CHECK_SIZES(sidbeam_start_args, start, "args", sidbeam_session_start(session, copy, &err));
  CHECK_SIZES(sidbeam_step_args, step, "args", sidbeam_session_step(session, copy, &err));
  CHECK_SIZES(sidbeam_rows, rows, "rows", (step.rows = copy, sidbeam_session_step(session, &step, &err)));
  CHECK_SIZES(sidbeam_rows, rows, "logits",
              sidbeam_constraint_set_mask(set, NULL, &state, copy, (void*)(uintptr_t)halving, NULL, &err));
  CHECK_SIZES(sidbeam_items, items, "out", sidbeam_session_get_items(session, NULL, 1, copy, &err));
  CHECK(out == NULL);
  sidbeam_session_destroy(session);
  sidbeam_constraint_set_destroy(set);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
  sidbeam_runtime_release(runtime);
}

static void a_struct_of_a_newer_header_may_fill_the_limit(void) {
  static int64_t storage[MOST_STRUCT_BYTES / 8];
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session* session = four_slots(constraint);
  start.struct_size = MOST_STRUCT_BYTES;
  memcpy(storage, &start, sizeof start);
  CHECK_OK(sidbeam_session_start(session, (const sidbeam_start_args*)storage, &err));
  storage[MOST_STRUCT_BYTES / 8 - 1] = INT64_MIN; /* the last byte */
  CHECK_FAILS(sidbeam_session_start(session, (const sidbeam_start_args*)storage, &err), SIDBEAM_UNSUPPORTED,
              "args asks for something at byte 4095");
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
}

int main(void) {
  static const test_case tests[] = {
      TEST(strides_of_prefixes),
      TEST(strides_and_counts_of_stateless_calls),
      TEST(strides_of_rows),
      TEST(sizes_that_headers_multiply),
      TEST(limits_of_items),
      TEST(pairs_of_a_builder),
      TEST(sizes_of_structs_that_were_never_set),
      TEST(a_struct_of_a_newer_header_may_fill_the_limit),
  };
  return RUN_TESTS(tests);
}
