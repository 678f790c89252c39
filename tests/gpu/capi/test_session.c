/* Sessions on a device: bad input is refused and moves nothing, failures leave nothing behind, work that is enqueued
 * finds its memory, graphs outlive starts and stops. SPDX-License-Identifier: Apache-2.0 */
#include "../../capi/fixtures.h"
#include "device.h"

enum { SLOTS = 2, BEAMS = 4, LEVELS = 3, CODES = 4 };

static void check_nothing_is_left(void) { CHECK_INT(live_allocations(), 0); }

static sidbeam_session_config cuda_config(sidbeam_constraint* constraint) {
  sidbeam_session_config config = session_config(constraint);
  config.slots = SLOTS;
  config.beams = BEAMS;
  config.device_type = SIDBEAM_CUDA;
  return config;
}

static sidbeam_session* make_cuda_session(sidbeam_constraint* constraint) {
  const sidbeam_session_config config = cuda_config(constraint);
  return make_session(&config);
}

static sidbeam_status create(const sidbeam_session_config* config) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_session* session = NULL;
  const sidbeam_status status = sidbeam_session_create(runtime, config, &session, &err);
  sidbeam_runtime_release(runtime);
  sidbeam_session_destroy(session);
  return status;
}

/* Every row of SLOTS slots is the same four elements, on the device. */
static sidbeam_rows device_rows(const float* row) {
  sidbeam_rows rows = same_row(row, SLOTS, BEAMS, CODES);
  rows.device_type = SIDBEAM_CUDA;
  return rows;
}

typedef struct moment {
  int32_t parents[SLOTS * BEAMS], tokens[SLOTS * BEAMS], live[SLOTS], active[SLOTS], level[SLOTS], errors[SLOTS];
  float scores[SLOTS * BEAMS];
  sidbeam_state states[SLOTS * BEAMS];
} moment;

static moment copy_of(const sidbeam_beams* beams) {
  moment now;
  memcpy(now.parents, beams->parents, sizeof now.parents);
  memcpy(now.tokens, beams->tokens, sizeof now.tokens);
  memcpy(now.scores, beams->scores, sizeof now.scores);
  memcpy(now.states, beams->states, sizeof now.states);
  memcpy(now.live, beams->live, sizeof now.live);
  memcpy(now.active, beams->active, sizeof now.active);
  memcpy(now.level, beams->level, sizeof now.level);
  memcpy(now.errors, beams->errors, sizeof now.errors);
  return now;
}

static moment moment_of(sidbeam_session* session) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  wait_device(); /* the work may be on another stream */
  CHECK_OK(sidbeam_session_fetch(session, &beams, NULL, &err));
  wait_device();
  return copy_of(&beams);
}

static void check_same(const moment* actual, const moment* expected) {
  CHECK_I32(actual->level, expected->level, SLOTS);
  CHECK_I32(actual->live, expected->live, SLOTS);
  CHECK_I32(actual->active, expected->active, SLOTS);
  CHECK_I32(actual->errors, expected->errors, SLOTS);
  CHECK_I32(actual->parents, expected->parents, SLOTS * BEAMS);
  CHECK_I32(actual->tokens, expected->tokens, SLOTS * BEAMS);
  CHECK_F32(actual->scores, expected->scores, SLOTS * BEAMS);
  CHECK_I64(actual->states, expected->states, SLOTS * BEAMS);
}

static void check_unmoved(sidbeam_session* session, const moment* before) {
  const moment now = moment_of(session);
  check_same(&now, before);
}

/* What a session on the CPU shows after `steps` steps of both slots. */
static moment on_cpu(const catalogue* from, int steps) {
  sidbeam_constraint* constraint = make_constraint(from, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = cuda_config(constraint);
  config.device_type = SIDBEAM_CPU;
  sidbeam_session* session = make_session(&config);
  start_all(session, SLOTS);
  for (int i = 0; i < steps; ++i) step_all(session, halving);
  const sidbeam_beams beams = beams_of(session);
  const moment now = copy_of(&beams);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  return now;
}

static sidbeam_status step(sidbeam_session* session, const sidbeam_rows* rows, void* stream) {
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = rows;
  args.stream = stream;
  return sidbeam_session_step(session, &args, &err);
}

typedef struct bench {
  sidbeam_constraint* constraint;
  sidbeam_session* session;
  float* row; /* on the device: halving */
  sidbeam_rows rows;
} bench;

/* Both slots started, one step done. */
static bench set_up(void) {
  bench b;
  b.constraint = make_constraint(&small, ALL_KINDS);
  b.session = make_cuda_session(b.constraint);
  b.row = on_device(halving, sizeof halving);
  b.rows = device_rows(b.row);
  start_all(b.session, SLOTS);
  CHECK_OK(step(b.session, &b.rows, NULL));
  wait_device(); /* what follows may be on another stream */
  return b;
}

static void tear_down(bench* b) {
  sidbeam_session_destroy(b->session);
  sidbeam_constraint_release(b->constraint);
  release_device(b->row);
  check_nothing_is_left();
}

static void a_search_gives_what_the_cpu_gives(void) {
  bench b = set_up();
  for (int steps = 1; steps <= LEVELS; ++steps) {
    const moment expected = on_cpu(&small, steps), now = moment_of(b.session);
    check_same(&now, &expected);
    if (steps < LEVELS) CHECK_OK(step(b.session, &b.rows, NULL));
  }
  tear_down(&b);
}

static void beams_are_on_the_device_and_fetched_ones_on_the_host(void) {
  bench b = set_up();
  sidbeam_beams there = SIDBEAM_BEAMS_INIT, here = SIDBEAM_BEAMS_INIT, again = SIDBEAM_BEAMS_INIT;
  int32_t tokens[SLOTS * BEAMS];
  CHECK_OK(sidbeam_session_get_beams(b.session, &there, &err));
  CHECK_OK(sidbeam_session_fetch(b.session, &here, NULL, &err));
  CHECK_OK(sidbeam_session_fetch(b.session, &again, NULL, &err));
  CHECK_INT(there.slots, SLOTS);
  CHECK_INT(there.beams, BEAMS);
  CHECK_INT(there.levels, LEVELS);
  CHECK_INT(there.state_words, 1);
  CHECK(there.tokens != here.tokens);
  CHECK(again.tokens == here.tokens && again.errors == here.errors);
  read_device(tokens, there.tokens, sizeof tokens);
  CHECK_I32(tokens, here.tokens, SLOTS * BEAMS);
  tear_down(&b);
}

static void fetching_from_a_session_on_the_cpu_is_get_beams(void) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(constraint);
  sidbeam_session* session = make_session(&config);
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  CHECK_OK(sidbeam_session_fetch(session, &beams, NULL, &err));
  CHECK(beams.tokens == beams_of(session).tokens);
  CHECK_FAILS(sidbeam_session_fetch(NULL, &beams, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "session");
  CHECK_FAILS(sidbeam_session_fetch(session, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out");
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
}

#define STEP_FAILS(b, args, status, ...)                                             \
  do {                                                                               \
    const moment before_ = moment_of((b).session);                                   \
    CHECK_FAILS(sidbeam_session_step((b).session, args, &err), status, __VA_ARGS__); \
    check_unmoved((b).session, &before_);                                            \
  } while (0)

static void memory_of_the_host_is_refused_by_name(void) {
  static const float lse[SLOTS * BEAMS] = {0};
  static const int32_t slots[SLOTS] = {0, 1}, map[SLOTS * BEAMS] = {0};
  bench b = set_up();
  sidbeam_rows rows = device_rows(halving);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "rows.data", "host", "device 0");
  rows = b.rows;
  args.slots = slots;
  args.count = SLOTS;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "slots", "host", "device 0");
  args.slots = NULL;
  args.count = 0;
  rows.slots = 0;
  args.row_map = map;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "row_map", "host", "device 0");
  tear_down(&b);
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session_config config = cuda_config(constraint);
  config.normalization = SIDBEAM_NORMALIZE_FULL;
  b.session = make_session(&config);
  b.constraint = constraint;
  b.row = on_device(halving, sizeof halving);
  start_all(b.session, SLOTS);
  rows = device_rows(b.row);
  args = (sidbeam_step_args)SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  args.lse = lse;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "lse", "host", "device 0");
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
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "slots", "device 0", "host");
  args.slots = NULL;
  args.widths = there;
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "widths", "host");
  args.widths = NULL;
  args.prefixes = there;
  args.prefix_lengths = prefix;
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "prefixes", "host");
  args.prefixes = prefix;
  args.prefix_lengths = there;
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "prefix_lengths", "host");
  CHECK_FAILS(sidbeam_session_stop(b.session, there, SLOTS, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "slots", "host");
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  CHECK_FAILS(sidbeam_session_get_items(b.session, there, SLOTS, &items, &err), SIDBEAM_INVALID_ARGUMENT, "slots",
              "host");
  check_unmoved(b.session, &before);
  release_device(there);
  tear_down(&b);
}

static void buffers_of_items_are_on_the_device(void) {
  int64_t ordinals[SLOTS * BEAMS] = {0};
  bench b = set_up();
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals;
  CHECK_FAILS(sidbeam_session_get_items(b.session, NULL, SLOTS, &items, &err), SIDBEAM_INVALID_ARGUMENT, "out.ordinals",
              "host", "device 0");
  items.ordinals = device_memory(sizeof ordinals);
  CHECK_OK(step(b.session, &b.rows, NULL));
  CHECK_OK(step(b.session, &b.rows, NULL));
  CHECK_OK(sidbeam_session_get_items(b.session, NULL, SLOTS, &items, &err));
  read_device(ordinals, items.ordinals, sizeof ordinals);
  release_device(items.ordinals);
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = cuda_config(constraint);
  config.device_type = SIDBEAM_CPU;
  sidbeam_session* session = make_session(&config);
  int64_t expected[SLOTS * BEAMS];
  start_all(session, SLOTS);
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
  rows.device_type = SIDBEAM_CPU;
  STEP_FAILS(b, &args, SIDBEAM_NO_DEVICE, "rows.device_type is 0", "CUDA (1)");
  rows.device_type = SIDBEAM_CUDA;
  rows.device_id = 1;
  STEP_FAILS(b, &args, SIDBEAM_NO_DEVICE, "rows.device_id is 1", "expected 0");
  rows = b.rows;
  set_devices(2);
  use_device(1);
  rows.data = on_device(halving, sizeof halving);
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "rows.data", "device 1", "device 0");
  release_device(rows.data);
  void* stream = make_stream();
  use_device(0);
  rows = b.rows;
  args.stream = stream;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "stream", "device 1", "expected 0");
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.count = 1;
  start.stream = stream;
  const moment before = moment_of(b.session);
  CHECK_FAILS(sidbeam_session_start(b.session, &start, &err), SIDBEAM_INVALID_ARGUMENT, "stream", "device 1");
  CHECK_FAILS(sidbeam_session_stop(b.session, NULL, 1, stream, &err), SIDBEAM_INVALID_ARGUMENT, "stream", "device 1");
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  CHECK_FAILS(sidbeam_session_fetch(b.session, &beams, stream, &err), SIDBEAM_INVALID_ARGUMENT, "stream", "device 1");
  check_unmoved(b.session, &before);
  release_stream(stream);
  set_devices(1);
  tear_down(&b);
}

static void a_session_runs_on_the_device_that_it_names_whatever_is_current(void) {
  set_devices(2);
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = cuda_config(constraint);
  config.device_id = 1;
  sidbeam_session* session = make_session(&config);
  use_device(1);
  float* row = on_device(halving, sizeof halving);
  use_device(0);
  sidbeam_rows rows = device_rows(row);
  rows.device_id = 1;
  start_all(session, SLOTS);
  CHECK_OK(step(session, &rows, NULL));
  const moment expected = on_cpu(&small, 1), now = moment_of(session);
  check_same(&now, &expected);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  release_device(row);
  set_devices(1);
  check_nothing_is_left();
}

static void rows_that_are_not_aligned_to_their_elements_are_refused(void) {
  bench b = set_up();
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_rows rows = b.rows;
  args.rows = &rows;
  rows.data = (char*)b.row + 2;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "rows.data", "aligned", "4");
  rows.data = (char*)b.row + 1;
  rows.dtype = SIDBEAM_BF16;
  STEP_FAILS(b, &args, SIDBEAM_INVALID_ARGUMENT, "rows.data", "aligned", "2");
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
  CHECK_FAILS(sidbeam_session_step(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "count is 3", "0..2");
  args.slots = NULL;
  args.count = 0;
  CHECK_FAILS(sidbeam_session_step(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "rows.slots is 3", "2");
  rows = b.rows;
  rows.columns = CODES - 1;
  CHECK_FAILS(sidbeam_session_step(b.session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "rows.columns is 3", "4");
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
  args.count = 1;
  args.stream = stream;
  const moment before = moment_of(b.session);
  begin_capture(stream);
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_BAD_STATE, "captured", "start");
  CHECK_FAILS(sidbeam_session_stop(b.session, NULL, 1, stream, &err), SIDBEAM_BAD_STATE, "captured", "stop");
  release_graph(end_capture(stream));
  check_unmoved(b.session, &before);
  release_stream(stream);
  tear_down(&b);
}

static void one_graph_serves_slots_across_starts_stops_and_levels(void) {
  bench b = set_up();
  void* stream = make_stream();
  begin_capture(stream);
  CHECK_OK(step(b.session, &b.rows, stream));
  void* graph = end_capture(stream);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  int32_t second = 1;
  args.slots = &second;
  args.count = 1;
  args.stream = stream;
  CHECK_OK(sidbeam_session_stop(b.session, &second, 1, stream, &err));
  replay(graph, stream);
  CHECK_OK(sidbeam_session_start(b.session, &args, &err));
  replay(graph, stream);
  const moment now = moment_of(b.session), third = on_cpu(&small, 3), first = on_cpu(&small, 1);
  CHECK_INT(now.level[0], 3);
  CHECK_INT(now.level[1], 1);
  CHECK_I32(now.tokens, third.tokens, BEAMS);
  CHECK_F32(now.scores, third.scores, BEAMS);
  CHECK_I32(now.tokens + BEAMS, first.tokens + BEAMS, BEAMS);
  CHECK_F32(now.scores + BEAMS, first.scores + BEAMS, BEAMS);
  replay(graph, stream); /* slot 0 is done and is passed over */
  CHECK_INT(moment_of(b.session).level[1], 2);
  release_graph(graph);
  release_stream(stream);
  tear_down(&b);
}

static void an_index_that_is_not_on_the_device_is_refused_by_start(void) {
  bench b = set_up();
  sidbeam_index* index = make_index(&two_levels, ALL_KINDS);
  sidbeam_constraint* constraint = NULL;
  CHECK_OK(sidbeam_constraint_create(index, &constraint, &err));
  sidbeam_constraint* constraints[SLOTS] = {NULL, constraint};
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.count = SLOTS;
  args.constraints = constraints;
  const moment before = moment_of(b.session);
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_BAD_STATE, "constraints[1]",
              "sidbeam_index_upload");
  check_unmoved(b.session, &before);
  CHECK_OK(sidbeam_index_upload(index, NULL, &err));
  CHECK_OK(sidbeam_session_start(b.session, &args, &err));
  CHECK_INT(moment_of(b.session).level[1], 0);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
  tear_down(&b);
}

static void a_slots_index_goes_after_the_work_that_reads_it_and_nothing_waits(void) {
  bench b = set_up();
  sidbeam_index* index = make_index(&two_levels, ALL_KINDS);
  sidbeam_constraint* constraint = NULL;
  CHECK_OK(sidbeam_constraint_create(index, &constraint, &err));
  CHECK_OK(sidbeam_index_upload(index, NULL, &err));
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  int32_t second = 1;
  args.slots = &second;
  args.count = 1;
  args.constraints = &constraint;
  const int64_t live = live_allocations();
  CHECK_OK(sidbeam_session_start(b.session, &args, &err));
  CHECK_OK(step(b.session, &b.rows, NULL));
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  CHECK_OK(sidbeam_session_fetch(b.session, &beams, NULL, &err));
  CHECK_OK(sidbeam_session_stop(b.session, &second, 1, NULL, &err));
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
  CHECK_INT(live_allocations_now(), live); /* what is enqueued has not run: the memory is still there */
  CHECK_INT(live_allocations(), live - 1);
  CHECK_INT(beams.level[1], 1);
  CHECK_INT(beams.live[1], 2); /* codes 1 and 3 */
  CHECK_INT(beams.tokens[BEAMS], 1);
  tear_down(&b);
}

static void running_out_of_memory_while_a_session_is_made_leaves_nothing_behind(void) {
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  const sidbeam_session_config config = cuda_config(constraint);
  int64_t failed = 0;
  for (int64_t n = 1;; ++n) {
    fail_allocation(n);
    clear_error();
    const sidbeam_status status = create(&config);
    fail_allocation(0);
    if (status == SIDBEAM_OK) break;
    CHECK_INT(status, SIDBEAM_OUT_OF_MEMORY);
    sidbeam_index_unload(NULL, 0);
    CHECK(live_allocations() <= 1); /* the index may have got there before */
    ++failed;
  }
  CHECK(failed >= 2);
  sidbeam_constraint_release(constraint);
  check_nothing_is_left();
}

static void an_error_of_earlier_work_is_reported_as_such_and_moves_nothing(void) {
  bench b = set_up();
  const moment before = moment_of(b.session);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  args.count = 1;
  set_illegal_access(1);
  CHECK_FAILS(step(b.session, &b.rows, NULL), SIDBEAM_DEVICE_ERROR, "before", "cudaErrorIllegalAddress");
  CHECK_FAILS(sidbeam_session_start(b.session, &args, &err), SIDBEAM_DEVICE_ERROR, "before");
  CHECK_FAILS(sidbeam_session_stop(b.session, NULL, 1, NULL, &err), SIDBEAM_DEVICE_ERROR, "before");
  CHECK_FAILS(sidbeam_session_fetch(b.session, &beams, NULL, &err), SIDBEAM_DEVICE_ERROR, "before");
  CHECK_FAILS(sidbeam_session_get_stats(b.session, &stats, &err), SIDBEAM_DEVICE_ERROR, "before");
  set_illegal_access(0);
  check_unmoved(b.session, &before);
  tear_down(&b);
}

static void sessions_may_go_with_work_pending(void) {
  bench b = set_up();
  CHECK_OK(step(b.session, &b.rows, NULL));
  CHECK_OK(sidbeam_session_stop(b.session, NULL, 1, NULL, &err));
  start_all(b.session, 1);
  CHECK_OK(step(b.session, &b.rows, NULL));
  tear_down(&b);
}

static void statistics_count_what_graphs_did_too(void) {
  bench b = set_up();
  void* stream = make_stream();
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  begin_capture(stream);
  CHECK_OK(step(b.session, &b.rows, stream));
  void* graph = end_capture(stream);
  replay(graph, stream);
  replay(graph, stream);
  CHECK_OK(sidbeam_session_get_stats(b.session, &stats, &err));
  CHECK_INT(stats.struct_size, sizeof stats);
  CHECK_INT(stats.steps, 3);
  CHECK_INT(stats.slot_steps, 3 * SLOTS);
  CHECK(stats.memory_bytes > 1000);
  release_graph(graph);
  release_stream(stream);
  tear_down(&b);
}

static void errors_of_a_slot_are_seen_on_the_device(void) {
  static const int32_t map[SLOTS * BEAMS] = {0, 0, 0, 0, 0, -1, 0, 7};
  bench b = set_up();
  int32_t* there = on_device(map, sizeof map);
  sidbeam_rows rows = b.rows;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  rows.slots = 0;
  rows.rows = 7;
  args.rows = &rows;
  args.row_map = there;
  CHECK_OK(sidbeam_session_step(b.session, &args, &err));
  const moment now = moment_of(b.session);
  CHECK_INT(now.errors[0], SIDBEAM_SLOT_OK);
  CHECK_INT(now.errors[1], SIDBEAM_SLOT_BAD_MAP);
  release_device(there);
  tear_down(&b);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_search_gives_what_the_cpu_gives),
      TEST(beams_are_on_the_device_and_fetched_ones_on_the_host),
      TEST(fetching_from_a_session_on_the_cpu_is_get_beams),
      TEST(memory_of_the_host_is_refused_by_name),
      TEST(lists_that_the_host_reads_are_refused_on_the_device),
      TEST(buffers_of_items_are_on_the_device),
      TEST(rows_streams_and_memory_of_other_devices_are_refused),
      TEST(a_session_runs_on_the_device_that_it_names_whatever_is_current),
      TEST(rows_that_are_not_aligned_to_their_elements_are_refused),
      TEST(shapes_beyond_the_sessions_are_refused_and_a_capture_survives_that),
      TEST(starts_and_stops_are_not_captured),
      TEST(one_graph_serves_slots_across_starts_stops_and_levels),
      TEST(an_index_that_is_not_on_the_device_is_refused_by_start),
      TEST(a_slots_index_goes_after_the_work_that_reads_it_and_nothing_waits),
      TEST(running_out_of_memory_while_a_session_is_made_leaves_nothing_behind),
      TEST(an_error_of_earlier_work_is_reported_as_such_and_moves_nothing),
      TEST(sessions_may_go_with_work_pending),
      TEST(statistics_count_what_graphs_did_too),
      TEST(errors_of_a_slot_are_seen_on_the_device),
  };
  return RUN_TESTS(tests);
}
