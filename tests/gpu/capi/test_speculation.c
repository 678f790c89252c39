/* Speculation on a device: what is refused, and what failures leave. That its beams are those of plain search is tested
 * by ../speculation.cc. SPDX-License-Identifier: Apache-2.0 */
#include "cuda_session.h"

enum { WIDTH = BEAMS + 1, DRAFT_LEVELS = 2, MOST_NODES = SLOTS * (BEAMS + DRAFT_LEVELS * WIDTH) };

/* A target and a draft with a beam more on device 0, on a stream of their own. */
static struct {
  sidbeam_runtime* runtime;
  sidbeam_constraint* constraint;
  sidbeam_session *target, *draft;
  sidbeam_speculation* speculation;
  void* stream;
  float* logits;
} w;

static sidbeam_session* session_of(int32_t beams) {
  sidbeam_session_config config = cuda_config(w.constraint);
  config.beams = beams;
  return make_session(&config);
}

static sidbeam_status create_with(sidbeam_session* target, sidbeam_session* draft) {
  sidbeam_speculation_config config = SIDBEAM_SPECULATION_CONFIG_INIT;
  config.draft_levels = DRAFT_LEVELS;
  config.target = target;
  config.draft = draft;
  config.stream = w.stream;
  return sidbeam_speculation_create(w.runtime, &config, &w.speculation, &err);
}

static void start_both(void) {
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.stream = w.stream;
  CHECK_OK(sidbeam_session_start(w.target, &args, &err));
  CHECK_OK(sidbeam_session_start(w.draft, &args, &err));
}

static void end_world(void) {
  sidbeam_speculation_destroy(w.speculation);
  sidbeam_session_destroy(w.target);
  sidbeam_session_destroy(w.draft);
  sidbeam_constraint_release(w.constraint);
  sidbeam_runtime_release(w.runtime);
  release_device(w.logits);
  if (w.stream != NULL) release_stream(w.stream);
  memset(&w, 0, sizeof w);
  check_nothing_is_left();
}

static void begin_world(void) {
  static float logits[MOST_NODES * CODES];
  end_world(); /* of a test that failed */
  for (int i = 0; i < MOST_NODES * CODES; ++i) logits[i] = halving[i % CODES];
  w.runtime = make_runtime();
  w.constraint = make_constraint(&small, ALL_KINDS);
  w.stream = make_stream();
  w.logits = on_device(logits, sizeof logits);
  w.target = session_of(BEAMS);
  w.draft = session_of(WIDTH);
  CHECK_OK(create_with(w.target, w.draft));
  start_both();
}

static sidbeam_rows rows_of(int64_t count) {
  sidbeam_rows rows = make_rows(w.logits, 0, count, CODES);
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  return rows;
}

static sidbeam_speculation_tree tree(void) {
  sidbeam_speculation_tree out = SIDBEAM_SPECULATION_TREE_INIT;
  CHECK_OK(sidbeam_speculation_get_tree(w.speculation, &out, &err));
  return out;
}

static sidbeam_status begin(int64_t* active) { return sidbeam_speculation_begin(w.speculation, NULL, 0, active, &err); }

static sidbeam_status step_draft(void) {
  const sidbeam_speculation_tree t = tree();
  const sidbeam_rows rows = rows_of(t.nodes);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  int32_t* slots = on_device(t.draft_slots, (size_t)t.draft_count * sizeof *slots);
  int32_t* map = on_device(t.draft_nodes, (size_t)t.draft_count * WIDTH * sizeof *map);
  args.slots = slots;
  args.count = t.draft_count;
  args.rows = &rows;
  args.row_map = map;
  args.stream = w.stream;
  const sidbeam_status status = sidbeam_session_step(w.draft, &args, &err);
  release_device(slots);
  release_device(map);
  return status;
}

static sidbeam_status verify_with(const sidbeam_rows* rows) {
  sidbeam_speculation_verify_args args = SIDBEAM_SPECULATION_VERIFY_ARGS_INIT;
  args.rows = rows;
  return sidbeam_speculation_verify(w.speculation, &args, &err);
}

static sidbeam_status verify(void) {
  const sidbeam_rows rows = rows_of(tree().nodes);
  return verify_with(&rows);
}

static void draft_all(void) {
  while (tree().draft_count > 0) {
    CHECK_OK(step_draft());
    CHECK_OK(sidbeam_speculation_add(w.speculation, &err));
  }
}

static void check_target(int steps) {
  const moment expected = on_cpu(&small, steps), now = moment_of(w.target);
  check_same(&now, &expected);
}

static void a_round_gains_every_level_and_allocates_nothing(void) {
  int64_t active = -1;
  sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
  begin_world();
  fail_allocation(1);
  CHECK_OK(begin(&active));
  CHECK_INT(active, SLOTS);
  while (tree().draft_count > 0) {
    fail_allocation(0); /* the draft's lists are the host's own */
    CHECK_OK(step_draft());
    fail_allocation(1);
    CHECK_OK(sidbeam_speculation_add(w.speculation, &err));
  }
  CHECK_OK(verify());
  fail_allocation(0);
  check_target(LEVELS);
  CHECK_OK(begin(&active));
  CHECK_INT(active, 0);
  CHECK_OK(sidbeam_speculation_get_stats(w.speculation, &stats, &err));
  CHECK_INT(stats.rounds, SLOTS);
  CHECK_INT(stats.levels, SLOTS * LEVELS);
  CHECK_INT(stats.accepted_levels, SLOTS * DRAFT_LEVELS);
  end_world();
}

/* What the host feeds its models by. */
static void the_draft_has_the_targets_beams(void) {
  enum { SIDS = SLOTS * BEAMS * LEVELS };
  static const int32_t all[SLOTS * WIDTH * LEVELS] = {0};
  int64_t active = -1;
  int32_t of_target[SIDS], of_draft[SLOTS * WIDTH * LEVELS];
  sidbeam_beams target = SIDBEAM_BEAMS_INIT, draft = SIDBEAM_BEAMS_INIT;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  begin_world();
  for (int level = 1; level < LEVELS; ++level) {
    CHECK_OK(begin(&active));
    CHECK_OK(verify());
  }
  CHECK_OK(begin(&active));
  items.sids = on_device(all, sizeof all);
  items.stream = w.stream;
  CHECK_OK(sidbeam_session_get_items(w.target, NULL, 0, &items, &err));
  read_device(of_target, items.sids, sizeof of_target);
  CHECK_OK(sidbeam_session_get_items(w.draft, NULL, 0, &items, &err));
  read_device(of_draft, items.sids, sizeof of_draft);
  CHECK_OK(sidbeam_session_fetch(w.target, &target, w.stream, &err));
  CHECK_OK(sidbeam_session_fetch(w.draft, &draft, w.stream, &err));
  wait_device();
  CHECK_I32(draft.level, target.level, SLOTS);
  CHECK_I32(draft.live, target.live, SLOTS);
  CHECK_I32(draft.active, target.active, SLOTS);
  for (int slot = 0; slot < SLOTS; ++slot) {
    CHECK_I32(of_draft + slot * WIDTH * LEVELS, of_target + slot * BEAMS * LEVELS, BEAMS * LEVELS);
    CHECK_F32(draft.scores + slot * WIDTH, target.scores + slot * BEAMS, BEAMS);
    CHECK_I64(draft.states + slot * WIDTH, target.states + slot * BEAMS, BEAMS);
    CHECK_I64(draft.states + slot * WIDTH + BEAMS, &(const sidbeam_state){-1}, 1);
  }
  release_device(items.sids);
  end_world();
}

static void sessions_on_different_devices_are_refused(void) {
  begin_world();
  sidbeam_speculation_destroy(w.speculation);
  w.speculation = NULL;
  set_devices(2);
  sidbeam_session_config config = cuda_config(w.constraint);
  config.beams = WIDTH;
  config.device_id = 1;
  sidbeam_session* other = make_session(&config);
  CHECK_FAILS(create_with(w.target, other), SIDBEAM_INVALID_ARGUMENT,
              "config.draft is on CUDA device 1, expected CUDA device 0, as config.target");
  config.device_type = SIDBEAM_DEVICE_CPU;
  config.device_id = 0;
  sidbeam_session* here = make_session(&config);
  CHECK_FAILS(create_with(w.target, here), SIDBEAM_INVALID_ARGUMENT,
              "config.draft is on the CPU, expected CUDA device 0, as config.target");
  CHECK_FAILS(create_with(here, other), SIDBEAM_INVALID_ARGUMENT,
              "config.draft is on CUDA device 1, expected the CPU, as config.target");
  CHECK(w.speculation == NULL);
  sidbeam_session_destroy(here);
  sidbeam_session_destroy(other);
  end_world();
  set_devices(1);
}

static void a_round_is_not_captured(void) {
  static const char captured[] = "stream is being captured, expected speculation outside of graphs";
  int64_t active = -1;
  begin_world();
  CHECK_OK(begin(&active));
  CHECK_OK(step_draft());
  const moment before = moment_of(w.target);
  begin_capture(w.stream);
  CHECK_FAILS(sidbeam_speculation_add(w.speculation, &err), SIDBEAM_BAD_STATE, captured);
  CHECK_FAILS(verify(), SIDBEAM_BAD_STATE, captured);
  CHECK_FAILS(begin(&active), SIDBEAM_BAD_STATE, captured);
  CHECK(capture_is_valid(w.stream));
  release_graph(end_capture(w.stream));
  check_unmoved(w.target, &before);
  CHECK_OK(begin(&active));
  draft_all();
  CHECK_OK(verify());
  check_target(LEVELS);
  end_world();
}

static void logits_of_the_host_are_refused_and_the_round_goes_on(void) {
  int64_t active = -1;
  begin_world();
  CHECK_OK(begin(&active));
  draft_all();
  sidbeam_rows rows = same_row(halving, 0, tree().nodes, CODES);
  CHECK_FAILS(verify_with(&rows), SIDBEAM_NO_DEVICE, "rows.device_type is");
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  CHECK_FAILS(verify_with(&rows), SIDBEAM_INVALID_ARGUMENT, "rows.data is memory of the host");
  check_target(0);
  CHECK_OK(verify());
  check_target(LEVELS);
  end_world();
}

static void drafts_under_other_constraints_or_narrower_ones_are_refused(void) {
  static const int32_t narrow[SLOTS] = {WIDTH, BEAMS - 1};
  int64_t active = -1;
  begin_world();
  sidbeam_index* index = make_index(&small, ALL_KINDS);
  CHECK_OK(sidbeam_index_upload(index, NULL, &err));
  sidbeam_constraint* others[SLOTS] = {NULL, constrain(index)};
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.constraints = others;
  args.stream = w.stream;
  CHECK_OK(sidbeam_session_start(w.draft, &args, &err));
  CHECK_FAILS(begin(&active), SIDBEAM_INVALID_ARGUMENT, "slot 1 of the draft follows another constraint");
  args.constraints = NULL;
  args.widths = narrow;
  CHECK_OK(sidbeam_session_start(w.draft, &args, &err));
  CHECK_FAILS(begin(&active), SIDBEAM_INVALID_ARGUMENT,
              "slot 1 of the draft has width 3 at level 0, expected at least 4");
  CHECK_OK(sidbeam_session_stop(w.draft, NULL, 0, w.stream, &err));
  CHECK_FAILS(begin(&active), SIDBEAM_BAD_STATE, "slot 0 of the draft is not started");
  CHECK_INT(active, -1);
  sidbeam_constraint_release(others[1]);
  sidbeam_index_release(index);
  end_world();
}

/* What a step that names a slot twice may leave; the bytes are those of device memory. */
static void break_beam(sidbeam_session* session, int64_t beam, int32_t parent, int32_t code) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  CHECK_OK(sidbeam_session_get_beams(session, &beams, &err));
  wait_device();
  write_device((int32_t*)beams.parents + beam, &parent, sizeof parent);
  write_device((int32_t*)beams.codes + beam, &code, sizeof code);
}

static void beams_that_no_step_has_left_are_not_followed(void) {
  static const int32_t wrong[][2] = {{-1, 0},        {1, 0},  {WIDTH, 0},    {INT32_MIN, 0},
                                     {INT32_MAX, 0}, {0, -1}, {0, INT32_MAX}};
  int64_t active = -1;
  begin_world();
  for (size_t i = 0; i < COUNT(wrong); ++i) {
    CHECK_OK(begin(&active));
    CHECK_OK(step_draft());
    break_beam(w.draft, WIDTH + 1, wrong[i][0], wrong[i][1]);
    CHECK_FAILS(sidbeam_speculation_add(w.speculation, &err), SIDBEAM_BAD_STATE,
                "slot 1 of the draft has a beam of parent", "expected those of a step that named the slot once");
    CHECK_INT(tree().nodes, SLOTS);
  }
  const int32_t many = WIDTH + 1;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  CHECK_OK(begin(&active));
  CHECK_OK(step_draft());
  CHECK_OK(sidbeam_session_get_beams(w.draft, &beams, &err));
  write_device((int32_t*)beams.live + 1, &many, sizeof many);
  CHECK_FAILS(sidbeam_speculation_add(w.speculation, &err), SIDBEAM_BAD_STATE,
              "slot 1 of the draft is at level 1 with 6 live beams, expected at most 3 and 5");
  CHECK_OK(begin(&active)); /* gives the draft sound beams again */
  CHECK_OK(step_draft());
  CHECK_OK(sidbeam_speculation_add(w.speculation, &err));
  CHECK_OK(verify());
  break_beam(w.target, 0, BEAMS, 0);
  CHECK_FAILS(begin(&active), SIDBEAM_BAD_STATE, "slot 0 of the target has a beam of parent 4 and code 0");
  end_world();
}

/* Runs to the end, again where a call fails; every call may. Returns how many have. */
static int64_t run_past_failures(void) {
  int64_t failed = 0, active = 1;
  while (active > 0) {
    clear_error();
    if (begin(&active) != SIDBEAM_OK) {
      CHECK_INT(err.code, SIDBEAM_DEVICE_ERROR);
      ++failed;
      continue;
    }
    while (tree().draft_count > 0) {
      if (step_draft() != SIDBEAM_OK) ++failed;
      if (sidbeam_speculation_add(w.speculation, &err) != SIDBEAM_OK) ++failed;
    }
    while (tree().nodes > 0 && verify() != SIDBEAM_OK) ++failed;
  }
  return failed;
}

static void a_launch_that_fails_anywhere_leaves_the_target_where_plain_steps_would(void) {
  int64_t n = 1;
  for (int64_t failed = 1; failed > 0; ++n) {
    begin_world();
    wait_device();
    fail_launch(n);
    failed = run_past_failures();
    fail_launch(0);
    CHECK(failed <= 1);
    check_target(LEVELS);
    end_world();
  }
  CHECK(n > 5); /* a take, two steps of the draft, three of the target */
}

/* The waits are those of begin for both sessions, of add twice, and of verify before its steps and after each. */
static void a_wait_that_fails_between_steps_ends_the_round(void) {
  for (int64_t wait = 1; wait <= 4; ++wait) {
    int64_t active = -1;
    begin_world();
    CHECK_OK(begin(&active));
    draft_all();
    fail_wait(wait);
    CHECK_FAILS(verify(), SIDBEAM_DEVICE_ERROR, "wait for the beams");
    check_target((int)wait - 1);
    if (wait == 1) {
      CHECK_OK(verify());
      check_target(LEVELS);
    } else {
      CHECK_INT(tree().nodes, 0);
      if (wait < 4) CHECK_FAILS(begin(&active), SIDBEAM_BAD_STATE, "slot 0 of the target is at level", "expected 0");
      start_both();
      CHECK_OK(begin(&active));
      draft_all();
      CHECK_OK(verify());
      check_target(LEVELS);
    }
    end_world();
  }
}

static void running_out_of_memory_while_a_speculation_is_made_leaves_nothing_behind(void) {
  begin_world();
  sidbeam_speculation_destroy(w.speculation);
  w.speculation = NULL;
  const int64_t live = live_allocations();
  int64_t failed = 0;
  for (int64_t n = 1;; ++n) {
    fail_allocation(n);
    clear_error();
    const sidbeam_status status = create_with(w.target, w.draft);
    fail_allocation(0);
    if (status == SIDBEAM_OK) break;
    CHECK_INT(status, SIDBEAM_OUT_OF_MEMORY);
    CHECK(w.speculation == NULL);
    CHECK_INT(live_allocations(), live);
    ++failed;
  }
  CHECK_INT(failed, 2); /* pinned memory, and the device's */
  end_world();
}

static void everything_may_go_with_work_pending(void) {
  for (int order = 0; order < 12; ++order) {
    int64_t active = -1;
    set_order(order);
    begin_world();
    CHECK_OK(begin(&active));
    if (order % 2 != 0) CHECK_OK(step_draft());
    if (order % 3 == 0) {
      sidbeam_speculation_destroy(w.speculation);
      w.speculation = NULL;
      sidbeam_session_destroy(w.target);
      w.target = NULL;
    }
    end_world();
  }
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_round_gains_every_level_and_allocates_nothing),
      TEST(the_draft_has_the_targets_beams),
      TEST(sessions_on_different_devices_are_refused),
      TEST(a_round_is_not_captured),
      TEST(logits_of_the_host_are_refused_and_the_round_goes_on),
      TEST(drafts_under_other_constraints_or_narrower_ones_are_refused),
      TEST(beams_that_no_step_has_left_are_not_followed),
      TEST(a_launch_that_fails_anywhere_leaves_the_target_where_plain_steps_would),
      TEST(a_wait_that_fails_between_steps_ends_the_round),
      TEST(running_out_of_memory_while_a_speculation_is_made_leaves_nothing_behind),
      TEST(everything_may_go_with_work_pending),
  };
  return RUN_TESTS(tests);
}
