/* Captures: of a session's first launches, and of other streams while the session is called; and where kernels overlap.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda_session.h"

#define CHECK_CAPTURE(stream)          \
  do {                                 \
    CHECK(capture_is_valid(stream));   \
    CHECK_INT(thread_is_relaxed(), 0); \
  } while (0)

/* The first launch of its kernels is captured, whatever its shape asks for. */
static void check_first_launches(int32_t beams, float* row) {
  unload_kernels();
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session_config config = cuda_config(constraint);
  config.beams = beams;
  sidbeam_session* session = make_session(&config);
  sidbeam_rows rows = same_row(row, SLOTS, beams, CODES);
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  void* stream = make_stream();
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.stream = stream;
  begin_capture(stream);
  CHECK_OK(step(session, &rows, stream));
  CHECK_OK(sidbeam_session_get_items(session, NULL, SLOTS, &items, &err));
  void* graph = end_capture(stream);
  start_all(session);
  wait_device();
  replay(graph, stream);
  sidbeam_beams now = SIDBEAM_BEAMS_INIT;
  CHECK_OK(sidbeam_session_fetch(session, &now, stream, &err));
  wait_device();
  CHECK_INT(now.level[1], 1);
  CHECK_INT(now.live[1], 3);
  release_graph(graph);
  release_stream(stream);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
}

static void creation_loads_what_a_graph_will_launch(void) {
  float* row = on_device(halving, sizeof halving);
  check_first_launches(BEAMS, row);
  check_first_launches(200, row);
  check_first_launches(300, row);
  release_device(row);
  check_nothing_is_left();
}

static void another_threads_capture_goes_on_whatever_is_called(void) {
  bench b = set_up();
  sidbeam_index* index = make_index(&two_levels, ALL_KINDS);
  sidbeam_constraint* constraint = constrain(index);
  void *captured = make_stream(), *stream = make_stream();
  begin_capture_elsewhere(captured);
  CHECK_OK(sidbeam_index_upload(index, NULL, &err));
  CHECK_CAPTURE(captured);
  const sidbeam_session_config config = cuda_config(constraint);
  sidbeam_session* session = make_session(&config);
  CHECK_CAPTURE(captured);
  const int32_t first = 0;
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.slots = &first;
  args.count = 1;
  args.constraints = &constraint;
  args.stream = stream;
  for (int i = 0; i < 3; ++i) { /* marks the upload, and asks about marks */
    CHECK_OK(sidbeam_session_start(b.session, &args, &err));
    CHECK_OK(sidbeam_session_stop(b.session, &first, 1, stream, &err));
    CHECK_CAPTURE(captured);
  }
  CHECK_OK(sidbeam_session_start(b.session, &args, &err));
  CHECK_OK(step(b.session, &b.rows, stream));
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  CHECK_OK(sidbeam_session_fetch(b.session, &beams, stream, &err));
  CHECK_OK(sidbeam_session_stop(b.session, &first, 1, stream, &err));
  sidbeam_index_unload(index, 0);
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  CHECK_OK(sidbeam_session_get_stats(b.session, &stats, &err));
  CHECK_INT(stats.steps, 2);
  CHECK_CAPTURE(captured);
  CHECK_OK(step(session, &b.rows, stream));
  CHECK_OK(sidbeam_session_fetch(session, &beams, stream, &err));
  sidbeam_session_destroy(session);
  CHECK_CAPTURE(captured);
  end_capture_elsewhere();
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
  release_stream(stream);
  release_stream(captured);
  tear_down(&b);
}

/* Its own capture, too, and of the same session. */
static void the_threads_own_capture_goes_on_whatever_is_called(void) {
  bench b = set_up();
  const sidbeam_session_config config = cuda_config(b.constraint);
  sidbeam_session* session = make_session(&config);
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  void *captured = make_stream(), *stream = make_stream();
  begin_capture(captured);
  CHECK_OK(step(b.session, &b.rows, captured));
  CHECK_OK(sidbeam_session_get_stats(b.session, &stats, &err));
  CHECK_INT(stats.steps, 1);
  CHECK_OK(sidbeam_session_fetch(session, &beams, stream, &err));
  sidbeam_session_destroy(session);
  CHECK_CAPTURE(captured);
  void* graph = end_capture(captured);
  replay(graph, captured);
  CHECK_INT(moment_of(b.session).level[0], 2);
  release_graph(graph);
  release_stream(captured);
  release_stream(stream);
  tear_down(&b);
}

/* CUDA lets nothing use the default stream then; what is refused before it gets there harms no capture. */
static void the_default_stream_is_refused_while_a_blocking_one_is_captured(void) {
  bench b = set_up();
  void* captured = make_blocking_stream();
  sidbeam_index* index = make_index(&two_levels, ALL_KINDS);
  begin_capture_elsewhere(captured);
  CHECK_FAILS(step(b.session, &b.rows, NULL), SIDBEAM_BAD_STATE,
              "look at the stream: not while a stream is captured, expected that to end first: "
              "cudaErrorStreamCaptureImplicit (cudaErrorStreamCaptureImplicit)");
  CHECK_FAILS(sidbeam_session_stop(b.session, NULL, 0, NULL, &err), SIDBEAM_BAD_STATE,
              "look at the stream: not while a stream is captured");
  CHECK_OK(sidbeam_index_upload(index, NULL, &err)); /* on a stream of the library's */
  CHECK_CAPTURE(captured);
  end_capture_elsewhere();
  sidbeam_index_release(index);
  release_stream(captured);
  tear_down(&b);
}

/* Launches that may begin early, of a session that steps twice in two launches each; the beams are the CPU's. */
static int64_t overlaps_of_steps(const char* environment, int ptx_version, int binary_version, int capability) {
  enum { MANY = 200 };
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session_config config = cuda_config(constraint);
  sidbeam_session* sessions[2] = {NULL, NULL};
  float* row = on_device(halving, sizeof halving);
  sidbeam_rows rows = same_row(row, SLOTS, MANY, CODES);
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  if (environment != NULL) setenv("SIDBEAM_CUDA_PDL", environment, 1);
  set_kernels(ptx_version, binary_version);
  set_capability(capability);
  config.beams = MANY;
  for (int i = 0; i < 2; ++i) sessions[i] = make_session(&config);
  unsetenv("SIDBEAM_CUDA_PDL"); /* it was read at creation */
  const int64_t before = overlapping_launches();
  for (int i = 0; i < 2; ++i) {
    start_all(sessions[i]);
    CHECK_OK(step(sessions[i], &rows, NULL));
  }
  const int64_t overlaps = overlapping_launches() - before;
  for (int i = 0; i < 2; ++i) sidbeam_session_destroy(sessions[i]);
  sidbeam_constraint_release(constraint);
  release_device(row);
  set_kernels(90, 90);
  set_capability(9);
  check_nothing_is_left();
  return overlaps;
}

/* Kernels for older devices have no instruction that waits, whatever they run on. */
static void kernels_overlap_only_where_they_were_compiled_to_wait(void) {
  CHECK_INT(overlaps_of_steps(NULL, 90, 90, 9), 2);
  CHECK_INT(overlaps_of_steps(NULL, 90, 100, 10), 2);
  CHECK_INT(overlaps_of_steps(NULL, 80, 90, 9), 0); /* PTX for 8.0, compiled by the driver for 9.0 */
  CHECK_INT(overlaps_of_steps(NULL, 80, 80, 9), 0);
  CHECK_INT(overlaps_of_steps(NULL, 80, 80, 8), 0);
  CHECK_INT(overlaps_of_steps("0", 90, 90, 9), 0);
  CHECK_INT(overlaps_of_steps("1", 90, 90, 9), 2);
}

/* Items 7 and 8, each of two SIDs, and 5 and 6. */
static sidbeam_constraint* constraint_of_shared_items(void) {
  static const int64_t ids[6] = {5, 8, 6, 8, 7, 7}; /* of the ordinals 3 0 4 1 2 0 */
  catalogue shared = small;
  shared.ids = ids;
  return make_constraint(&shared, ALL_KINDS);
}

typedef struct listed {
  int64_t rows[SLOTS * 8], offsets[SLOTS * (BEAMS + 1)];
  int32_t truncated[SLOTS];
} listed;

/* What a session on the CPU lists after all steps of both slots. */
static listed distinct_on_cpu(sidbeam_constraint* constraint) {
  sidbeam_session_config config = session_config(constraint);
  config.slots = SLOTS;
  sidbeam_session* session = make_session(&config);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  listed all = {{0}, {0}, {0}};
  items.limit = 8;
  items.distinct = 1;
  items.item_rows = all.rows;
  items.offsets = all.offsets;
  items.truncated = all.truncated;
  start_all(session);
  for (int i = 0; i < LEVELS; ++i) step_all(session, halving);
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  sidbeam_session_destroy(session);
  return all;
}

/* The repeats of an index come to the device outside of captures; a graph then serves indexes that come later. */
static void a_graph_lists_distinct_items_of_indexes_that_are_started_later(void) {
  sidbeam_constraint* constraint = constraint_of_shared_items();
  const listed expected = distinct_on_cpu(constraint);
  CHECK_INT(expected.offsets[BEAMS], 4);
  float* row = on_device(halving, sizeof halving);
  listed* there = device_memory(sizeof *there);
  void* stream = make_stream();
  sidbeam_session_config config = cuda_config(constraint);
  sidbeam_session* session = make_session(&config);
  const sidbeam_rows rows = device_rows(row);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit = 8;
  items.distinct = 1;
  items.item_rows = there->rows;
  items.offsets = there->offsets;
  items.truncated = there->truncated;
  items.stream = stream;
  start_all(session);
  wait_device();
  begin_capture(stream);
  CHECK_FAILS(sidbeam_session_get_items(session, NULL, 0, &items, &err), SIDBEAM_BAD_STATE,
              "the first listing of distinct items");
  release_graph(end_capture(stream));
  CHECK_OK(sidbeam_session_stop(session, NULL, 0, stream, &err));
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err)); /* of no index */
  begin_capture(stream);
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  void* graph = end_capture(stream);
  start_all(session);
  wait_device();
  for (int i = 0; i < LEVELS; ++i) CHECK_OK(step(session, &rows, stream));
  replay(graph, stream);
  wait_device();
  listed all = {{0}, {0}, {0}};
  read_device(&all, there, sizeof all);
  CHECK_I64(all.offsets, expected.offsets, SLOTS * (BEAMS + 1));
  CHECK_I32(all.truncated, expected.truncated, SLOTS);
  CHECK_I64(all.rows, expected.rows, expected.offsets[BEAMS]);
  CHECK_I64(all.rows + 8, expected.rows + 8, expected.offsets[BEAMS]);
  sidbeam_session_destroy(session);
  release_graph(graph);
  sidbeam_constraint_release(constraint);
  release_stream(stream);
  release_device(there);
  release_device(row);
  check_nothing_is_left();
}

int main(void) {
  static const test_case tests[] = {
      TEST(creation_loads_what_a_graph_will_launch),
      TEST(another_threads_capture_goes_on_whatever_is_called),
      TEST(the_threads_own_capture_goes_on_whatever_is_called),
      TEST(the_default_stream_is_refused_while_a_blocking_one_is_captured),
      TEST(a_graph_lists_distinct_items_of_indexes_that_are_started_later),
      TEST(kernels_overlap_only_where_they_were_compiled_to_wait),
  };
  return RUN_TESTS(tests);
}
