/* Failures leave nothing behind, work that is enqueued finds its memory, and that goes after the work.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda_session.h"

static void a_slots_index_goes_after_the_work_that_reads_it_and_nothing_waits(void) {
  bench b = set_up();
  sidbeam_index* index = make_index(&two_levels, ALL_KINDS);
  sidbeam_constraint* constraint = constrain(index);
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
  CHECK_INT(beams.codes[BEAMS], 1);
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

static void a_launch_that_fails_while_a_session_is_made_leaves_nothing_behind(void) {
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  const sidbeam_session_config config = cuda_config(constraint);
  int failed = 0;
  for (int64_t n = 1;; ++n) {
    fail_launch(n);
    clear_error();
    const sidbeam_status status = create(&config);
    fail_launch(0);
    if (status == SIDBEAM_OK) break;
    CHECK_INT(status, SIDBEAM_DEVICE_ERROR);
    CHECK(strstr(err.message, "launch the ") != NULL);
    CHECK(live_allocations() <= 1); /* the index */
    ++failed;
  }
  CHECK(failed >= 9); /* its kernels, and the verification's */
  sidbeam_constraint_release(constraint);
  check_nothing_is_left();
}

enum { ORDERS = 20 };

static void sessions_may_go_with_work_pending(void) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  for (int order = 0; order < ORDERS; ++order) {
    set_order(order);
    bench b = set_up();
    void *captured = make_stream(), *stream = make_stream();
    CHECK_OK(sidbeam_session_stop(b.session, NULL, 0, stream, &err));
    CHECK_OK(step(b.session, &b.rows, stream));
    if (order % 2 != 0) CHECK_OK(sidbeam_session_fetch(b.session, &beams, stream, &err));
    if (order % 4 > 1) begin_capture_elsewhere(captured);
    sidbeam_session_destroy(b.session);
    if (order % 4 > 1) end_capture_elsewhere();
    b.session = NULL;
    release_stream(stream);
    release_stream(captured);
    tear_down(&b);
  }
}

static void a_session_that_was_never_fetched_goes_without_waiting(void) {
  bench b = set_up();
  const int64_t live = live_allocations();
  CHECK_OK(step(b.session, &b.rows, NULL));
  const int64_t pending = pending_work();
  sidbeam_session_destroy(b.session);
  b.session = NULL;
  CHECK(pending_work() > pending);
  CHECK_INT(live_allocations_now(), live - 1); /* its pinned memory; its device memory goes after the step */
  CHECK_INT(live_allocations(), live - 2);
  tear_down(&b);
}

/* A replay that a call of the session comes after is as good as that call. */
static void sessions_may_go_with_replays_pending_that_a_call_followed(void) {
  for (int order = 0; order < ORDERS; ++order) {
    set_order(order);
    bench b = set_up();
    void* stream = make_stream();
    sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
    begin_capture(stream);
    CHECK_OK(step(b.session, &b.rows, stream));
    CHECK_OK(sidbeam_session_fetch(b.session, &beams, stream, &err));
    void* graph = end_capture(stream);
    replay(graph, stream);
    CHECK_OK(sidbeam_session_stop(b.session, NULL, 0, stream, &err));
    sidbeam_session_destroy(b.session);
    b.session = NULL;
    wait_device();
    release_graph(graph);
    release_stream(stream);
    tear_down(&b);
  }
}

/* The index is of another runtime than the session, so that its memory is freed on another stream. */
static void an_index_goes_after_the_sessions_that_went_before(void) {
  const int32_t expected[SLOTS * BEAMS * LEVELS] = {0, 1, -1, 2, 2, -1, 0, 3, -1, 3, 0, -1,
                                                    0, 1, -1, 2, 2, -1, 0, 3, -1, 3, 0, -1};
  for (int order = 0; order < ORDERS; ++order) {
    set_order(order);
    bench b = set_up();
    void* stream = make_stream();
    int32_t sids[SLOTS * BEAMS * LEVELS];
    sidbeam_items items = SIDBEAM_ITEMS_INIT;
    items.sids = device_memory(sizeof sids);
    items.stream = stream;
    CHECK_OK(step(b.session, &b.rows, stream)); /* reads the index */
    CHECK_OK(sidbeam_session_get_items(b.session, NULL, 0, &items, &err));
    const int64_t live = live_allocations_now();
    sidbeam_session_destroy(b.session);
    sidbeam_constraint_release(b.constraint);
    b.session = NULL;
    b.constraint = NULL;
    CHECK_INT(live_allocations_now(), live - 1); /* of all that, only pinned memory */
    read_device(sids, items.sids, sizeof sids);
    CHECK_I32(sids, expected, SLOTS * BEAMS * LEVELS);
    release_device(items.sids);
    release_stream(stream);
    tear_down(&b);
  }
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_slots_index_goes_after_the_work_that_reads_it_and_nothing_waits),
      TEST(running_out_of_memory_while_a_session_is_made_leaves_nothing_behind),
      TEST(a_launch_that_fails_while_a_session_is_made_leaves_nothing_behind),
      TEST(sessions_may_go_with_work_pending),
      TEST(a_session_that_was_never_fetched_goes_without_waiting),
      TEST(sessions_may_go_with_replays_pending_that_a_call_followed),
      TEST(an_index_goes_after_the_sessions_that_went_before),
  };
  return RUN_TESTS(tests);
}
