/* What a session on a device refuses: the message says what was expected, and nothing has moved.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda_session.h"

#define STEP_FAILS(b, args, status, ...)                                             \
  do {                                                                               \
    const moment before_ = moment_of((b).session);                                   \
    CHECK_FAILS(sidbeam_session_step((b).session, args, &err), status, __VA_ARGS__); \
    check_unmoved((b).session, &before_);                                            \
  } while (0)

#define EARLIER_WORK "work that was enqueued before failed", " (cudaErrorIllegalAddress)"
#define IS_OF_THE_HOST " is memory of the host, expected memory of CUDA device 0"
#define IS_OF_THE_DEVICE " is memory of CUDA device 0, expected memory of the host"

static void memory_of_the_host_is_refused_by_name(void) {
  static const float lse[SLOTS * BEAMS] = {0};
  static const int32_t slots[SLOTS] = {0, 1}, map[SLOTS * BEAMS] = {0};
  bench b = set_up();
  sidbeam_rows rows = device_rows(halving);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "rows.data" IS_OF_THE_HOST);
  rows = b.rows;
  args.slots = slots;
  args.count = SLOTS;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "slots" IS_OF_THE_HOST);
  args.slots = NULL;
  args.count = 0;
  args.inverse_temperatures = lse;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "inverse_temperatures" IS_OF_THE_HOST);
  args.inverse_temperatures = NULL;
  args.soft_caps = lse;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "soft_caps" IS_OF_THE_HOST);
  args.soft_caps = NULL;
  rows.slots = 0;
  args.row_map = map;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "row_map" IS_OF_THE_HOST);
  tear_down(&b);
  b = set_up_with(SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_FULL);
  rows = b.rows;
  args = (sidbeam_step_args)SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  args.lse = lse;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "lse" IS_OF_THE_HOST);
  tear_down(&b);
}

static void logits_of_children_alone_are_refused(void) {
  static const int64_t offsets[SLOTS * BEAMS + 1] = {0};
  bench b = set_up_with(SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_VALID);
  sidbeam_rows rows = b.rows;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  args.child_offsets = offsets;
  STEP_FAILS(b, &args, SIDBEAM_UNSUPPORTED, "child_offsets is given, expected NULL on CUDA");
  tear_down(&b);
}

static void children_are_listed_in_the_devices_memory_alone(void) {
  static const int32_t slots[SLOTS] = {0, 1};
  int64_t offsets[SLOTS * BEAMS + 1] = {0};
  bench b = set_up();
  int64_t* there = on_device(offsets, sizeof offsets);
  int32_t* columns = on_device(slots, sizeof slots);
#define CHILDREN_FAIL(list, at, to, name)                                                                           \
  CHECK_FAILS(sidbeam_session_children(b.session, list, SLOTS, 0, 1, at, to, NULL, &err), SIDBEAM_INVALID_ARGUMENT, \
              name IS_OF_THE_HOST)
  CHILDREN_FAIL(slots, there, columns, "slots");
  CHILDREN_FAIL(NULL, offsets, columns, "offsets");
  CHILDREN_FAIL(NULL, there, (int32_t*)slots, "columns");
  CHECK_OK(sidbeam_session_children(b.session, NULL, SLOTS, 0, 1, there, columns, NULL, &err));
  wait_device();
  release_device(there);
  release_device(columns);
  tear_down(&b);
}

static void lists_that_the_host_reads_are_refused_on_the_device(void) {
  static const int32_t both[SLOTS] = {0, 1}, prefix[SLOTS] = {0, 0};
  bench b = set_up();
  const moment before = moment_of(b.session);
  int32_t* there = on_device(both, sizeof both);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.count = SLOTS;
  args.slots = there;
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "slots" IS_OF_THE_DEVICE);
  args.slots = NULL;
  args.widths = there;
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "widths" IS_OF_THE_DEVICE);
  args.widths = NULL;
  args.inverse_temperatures = (const float*)there;
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT,
              "inverse_temperatures" IS_OF_THE_DEVICE);
  args.inverse_temperatures = NULL;
  args.soft_caps = (const float*)there;
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "soft_caps" IS_OF_THE_DEVICE);
  args.soft_caps = NULL;
  args.prefixes = there;
  args.prefix_lengths = prefix;
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "prefixes" IS_OF_THE_DEVICE);
  args.prefixes = prefix;
  args.prefix_lengths = there;
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT,
              "prefix_lengths" IS_OF_THE_DEVICE);
  CHECK_FAILS(sidbeam_session_stop(b.session, there, SLOTS, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "slots" IS_OF_THE_DEVICE);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  CHECK_FAILS(sidbeam_session_get_items(b.session, there, SLOTS, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "slots" IS_OF_THE_DEVICE);
  check_unmoved(b.session, &before);
  release_device(there);
  tear_down(&b);
}

static void caps_are_taken_on_the_host(void) {
  int32_t came_short[SLOTS] = {-1};
  bench b = set_up();
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.cap_attribute = "brand";
  items.cap = 2;
  CHECK_FAILS(sidbeam_session_get_items(b.session, NULL, SLOTS, &items, &err), SIDBEAM_UNSUPPORTED,
              "cap_attribute is given for a session on CUDA, expected none: caps are taken on the host, where "
              "sidbeam_constraint_items() lists the ordinals");
  items.cap_attribute = NULL;
  items.cap = 0;
  items.came_short = came_short;
  CHECK_FAILS(sidbeam_session_get_items(b.session, NULL, SLOTS, &items, &err), SIDBEAM_UNSUPPORTED,
              "came_short is given for a session on CUDA");
  items.came_short = NULL;
  CHECK_OK(sidbeam_session_get_items(b.session, NULL, SLOTS, &items, &err));
  CHECK_INT(came_short[0], -1);
  tear_down(&b);
}

static void buffers_of_items_are_on_the_device(void) {
  int64_t ordinals[SLOTS * BEAMS] = {0};
  bench b = set_up();
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals;
  CHECK_FAILS(sidbeam_session_get_items(b.session, NULL, SLOTS, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "out.ordinals" IS_OF_THE_HOST);
  items.ordinals = device_memory(sizeof ordinals);
  CHECK_OK(step(b.session, &b.rows, NULL));
  CHECK_OK(step(b.session, &b.rows, NULL));
  CHECK_OK(sidbeam_session_get_items(b.session, NULL, SLOTS, &items, &err));
  read_device(ordinals, items.ordinals, sizeof ordinals);
  release_device(items.ordinals);
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = cuda_config(constraint);
  config.device_type = SIDBEAM_DEVICE_CPU;
  sidbeam_session* session = make_session(&config);
  int64_t expected[SLOTS * BEAMS];
  start_all(session);
  for (int i = 0; i < LEVELS; ++i) step_all(session, halving);
  items.ordinals = expected;
  CHECK_OK(sidbeam_session_get_items(session, NULL, SLOTS, &items, &err));
  CHECK_I64(ordinals, expected, SLOTS * BEAMS);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  tear_down(&b);
}

static void rows_streams_and_memory_of_other_devices_are_refused(void) {
  bench b = set_up();
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_rows rows = b.rows;
  args.rows = &rows;
  rows.device_type = SIDBEAM_DEVICE_CPU;
  STEP_FAILS(b, &args, SIDBEAM_NO_DEVICE, "rows.device_type is 0, expected CUDA (1)");
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  rows.device_id = 1;
  STEP_FAILS(b, &args, SIDBEAM_NO_DEVICE, "rows.device_id is 1, expected 0");
  rows = b.rows;
  set_devices(2);
  use_device(1);
  float* const elsewhere = on_device(halving, sizeof halving);
  rows.data = elsewhere;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "rows.data is memory of CUDA device 1, expected device 0");
  release_device(elsewhere);
  void* stream = make_stream();
  use_device(0);
  rows = b.rows;
  args.stream = stream;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "stream belongs to CUDA device 1, expected 0");
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.stream = stream;
  const moment before = moment_of(b.session);
  CHECK_FAILS(sidbeam_session_start(b.session, &start, &err), SIDBEAM_INVALID_ARGUMENT,
              "stream belongs to CUDA device 1, expected 0");
  CHECK_FAILS(sidbeam_session_stop(b.session, NULL, 0, stream, &err), SIDBEAM_INVALID_ARGUMENT,
              "stream belongs to CUDA device 1, expected 0");
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  CHECK_FAILS(sidbeam_session_fetch(b.session, &beams, stream, &err), SIDBEAM_INVALID_ARGUMENT,
              "stream belongs to CUDA device 1, expected 0");
  check_unmoved(b.session, &before);
  release_stream(stream);
  set_devices(1);
  tear_down(&b);
}

static void rows_that_are_not_aligned_to_their_elements_are_refused(void) {
  bench b = set_up();
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_rows rows = b.rows;
  args.rows = &rows;
  rows.data = (char*)b.row + 2;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "rows.data is not aligned to its elements of 4 bytes");
  rows.data = (char*)b.row + 1;
  rows.dtype = SIDBEAM_DTYPE_BF16;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "rows.data is not aligned to its elements of 2 bytes");
  tear_down(&b);
}

static void shapes_beyond_the_sessions_are_refused_and_a_capture_survives_that(void) {
  bench b = set_up();
  void* stream = make_stream();
  int32_t* slots = on_device((const int32_t[3]){0, 1, 0}, 3 * sizeof *slots);
  sidbeam_rows rows = b.rows;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  const moment before = moment_of(b.session);
  args.rows = &rows;
  args.stream = stream;
  begin_capture(stream);
  args.slots = slots;
  args.count = 3;
  rows.slots = 3;
  CHECK_FAILS(sidbeam_session_step(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "count is 3, expected 0..2");
  args.slots = NULL;
  args.count = 0;
  CHECK_FAILS(sidbeam_session_step(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "rows.slots is 3, expected 2");
  rows = b.rows;
  rows.columns = CODES - 1;
  CHECK_FAILS(sidbeam_session_step(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT,
              "rows.columns is 3, expected at least 4");
  rows = b.rows;
  CHECK_OK(sidbeam_session_step(b.session, &args, &err));
  void* graph = end_capture(stream);
  check_unmoved(b.session, &before); /* a capture does nothing */
  replay(graph, stream);
  const moment expected = on_cpu(&small, 2), now = moment_of(b.session);
  check_same(&now, &expected);
  release_graph(graph);
  release_stream(stream);
  release_device(slots);
  tear_down(&b);
}

static void starts_and_stops_are_not_captured(void) {
  bench b = set_up();
  void* stream = make_stream();
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.stream = stream;
  const moment before = moment_of(b.session);
  begin_capture(stream);
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_BAD_STATE,
              "stream is being captured, expected start outside of graphs");
  CHECK_FAILS(sidbeam_session_stop(b.session, NULL, 0, stream, &err), SIDBEAM_BAD_STATE,
              "stream is being captured, expected stop outside of graphs");
  release_graph(end_capture(stream));
  check_unmoved(b.session, &before);
  release_stream(stream);
  tear_down(&b);
}

static void an_index_that_is_not_on_the_device_is_refused_by_start(void) {
  bench b = set_up();
  sidbeam_index* index = make_index(&two_levels, ALL_KINDS);
  sidbeam_constraint* constraint = constrain(index);
  sidbeam_constraint* constraints[SLOTS] = {NULL, constraint};
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.count = SLOTS;
  args.constraints = constraints;
  const moment before = moment_of(b.session);
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_BAD_STATE,
              "the index of constraints[1] is not on CUDA device 0, expected sidbeam_index_upload() before");
  check_unmoved(b.session, &before);
  CHECK_OK(sidbeam_index_upload(index, NULL, &err));
  CHECK_OK(sidbeam_session_start(b.session, &args, &err));
  CHECK_INT(moment_of(b.session).level[1], 0);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
  tear_down(&b);
}

static void an_error_of_earlier_work_is_reported_as_such_and_moves_nothing(void) {
  bench b = set_up();
  const moment before = moment_of(b.session);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  set_illegal_access(1);
  CHECK_FAILS(step(b.session, &b.rows, NULL), SIDBEAM_DEVICE_ERROR, EARLIER_WORK);
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_DEVICE_ERROR, EARLIER_WORK);
  CHECK_FAILS(sidbeam_session_stop(b.session, NULL, 0, NULL, &err), SIDBEAM_DEVICE_ERROR, EARLIER_WORK);
  CHECK_FAILS(sidbeam_session_fetch(b.session, &beams, NULL, &err), SIDBEAM_DEVICE_ERROR, EARLIER_WORK);
  CHECK_FAILS(sidbeam_session_get_stats(b.session, &stats, &err), SIDBEAM_DEVICE_ERROR, EARLIER_WORK);
  set_illegal_access(0);
  check_unmoved(b.session, &before);
  tear_down(&b);
}

static void a_device_without_pools_needs_an_allocator(void) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  const sidbeam_session_config config = cuda_config(constraint);
  set_pools(0);
  CHECK_FAILS(create(&config), SIDBEAM_UNSUPPORTED,
              "CUDA device 0 has no memory pools, expected runtime_config.device_allocator there");
  set_pools(1);
  CHECK_OK(create(&config));
  sidbeam_constraint_release(constraint);
  check_nothing_is_left();
}

int main(void) {
  static const test_case tests[] = {
      TEST(memory_of_the_host_is_refused_by_name),
      TEST(logits_of_children_alone_are_refused),
      TEST(children_are_listed_in_the_devices_memory_alone),
      TEST(lists_that_the_host_reads_are_refused_on_the_device),
      TEST(caps_are_taken_on_the_host),
      TEST(buffers_of_items_are_on_the_device),
      TEST(rows_streams_and_memory_of_other_devices_are_refused),
      TEST(rows_that_are_not_aligned_to_their_elements_are_refused),
      TEST(shapes_beyond_the_sessions_are_refused_and_a_capture_survives_that),
      TEST(starts_and_stops_are_not_captured),
      TEST(an_index_that_is_not_on_the_device_is_refused_by_start),
      TEST(an_error_of_earlier_work_is_reported_as_such_and_moves_nothing),
      TEST(a_device_without_pools_needs_an_allocator),
  };
  return RUN_TESTS(tests);
}
