/* Sessions on a device: they give what the CPU gives, and graphs outlive starts and stops.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda_session.h"

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
  int32_t codes[SLOTS * BEAMS];
  CHECK_OK(sidbeam_session_get_beams(b.session, &there, &err));
  CHECK_OK(sidbeam_session_fetch(b.session, &here, NULL, &err));
  CHECK_OK(sidbeam_session_fetch(b.session, &again, NULL, &err));
  CHECK_INT(there.slots, SLOTS);
  CHECK_INT(there.beams, BEAMS);
  CHECK_INT(there.levels, LEVELS);
  CHECK(there.codes != here.codes);
  CHECK(again.codes == here.codes && again.errors == here.errors);
  read_device(codes, there.codes, sizeof codes);
  CHECK_I32(codes, here.codes, SLOTS * BEAMS);
  tear_down(&b);
}

static void fetching_from_a_session_on_the_cpu_is_get_beams(void) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(constraint);
  sidbeam_session* session = make_session(&config);
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  CHECK_OK(sidbeam_session_fetch(session, &beams, NULL, &err));
  CHECK(beams.codes == beams_of(session).codes);
  CHECK_FAILS(sidbeam_session_fetch(NULL, &beams, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "session is NULL");
  CHECK_FAILS(sidbeam_session_fetch(session, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
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
  start_all(session);
  CHECK_OK(step(session, &rows, NULL));
  const moment expected = on_cpu(&small, 1), now = moment_of(session);
  check_same(&now, &expected);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  release_device(row);
  set_devices(1);
  check_nothing_is_left();
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
  CHECK_I32(now.codes, third.codes, BEAMS);
  CHECK_F32(now.scores, third.scores, BEAMS);
  CHECK_I32(now.codes + BEAMS, first.codes + BEAMS, BEAMS);
  CHECK_F32(now.scores + BEAMS, first.scores + BEAMS, BEAMS);
  replay(graph, stream); /* slot 0 is done and is passed over */
  CHECK_INT(moment_of(b.session).level[1], 2);
  release_graph(graph);
  release_stream(stream);
  tear_down(&b);
}

static void statistics_count_what_graphs_did_too(void) {
  bench b = set_up();
  void* stream = make_stream();
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.stream = stream;
  begin_capture(stream);
  CHECK_OK(step(b.session, &b.rows, stream));
  void* graph = end_capture(stream);
  replay(graph, stream);
  replay(graph, stream);
  CHECK_OK(sidbeam_session_get_items(b.session, NULL, 0, &items, &err)); /* the launches come before this call */
  CHECK_OK(sidbeam_session_get_stats(b.session, &stats, &err));
  CHECK_INT(stats.struct_size, sizeof stats);
  CHECK_INT(stats.steps, 3);
  CHECK_INT(counter_of(b.session, "slot_steps"), 3 * SLOTS);
  /* a slot's beams have 3, then 2 1 1, then 2 1 1 1 children, all of them lists of the trie */
  CHECK_INT(stats.rows_read, 8 * SLOTS);
  CHECK_INT(counter_of(b.session, "list_rows"), 3 * SLOTS);
  CHECK_INT(counter_of(b.session, "single_rows"), 5 * SLOTS);
  CHECK_INT(counter_of(b.session, "candidates"), (3 + 4 + 5) * SLOTS);
  CHECK_INT(counter_of(b.session, "unconstrained_rows"), 0);
  CHECK_INT(counter_of(b.session, "probed_rows"), 0);
  CHECK_INT(counter_of(b.session, "dense_rows"), 0);
  CHECK_INT(counter_of(b.session, "split_slots"), 0);
  CHECK_INT(stats.rows_skipped, 0);
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
  CHECK_INT(now.errors[0], 0);
  CHECK_INT(now.errors[1], SIDBEAM_SLOT_BAD_MAP);
  release_device(there);
  tear_down(&b);
}

/* A step from the beginning, where the second slot has another logits row and normaliser than the first. */
static void step_with(bench* b, const float* second_row, float second_lse, int32_t expected) {
  float logits[SLOTS][CODES], lse[SLOTS] = {0, second_lse};
  memcpy(logits[0], halving, sizeof logits[0]);
  memcpy(logits[1], second_row, sizeof logits[1]);
  float *rows_there = on_device(logits, sizeof logits), *lse_there = on_device(lse, sizeof lse);
  sidbeam_rows rows = make_rows(rows_there, SLOTS, 1, CODES);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  args.rows = &rows;
  args.lse = lse_there;
  start_all(b->session);
  CHECK_OK(sidbeam_session_step(b->session, &args, &err));
  const moment now = moment_of(b->session);
  CHECK_INT(now.errors[0], 0);
  CHECK_INT(now.live[0], 3);
  CHECK_INT(now.errors[1], expected);
  CHECK_INT(now.live[1], expected == 0 ? 3 : 0);
  release_device(rows_there);
  release_device(lse_there);
}

static void bad_rows_and_bad_normalisers_have_flags_of_their_own(void) {
  static const float bad[CODES] = {-1, -2, NAN, -8};
  bench b = set_up_with(SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_FULL);
  step_with(&b, halving, 0.5f, 0);
  step_with(&b, halving, NAN, SIDBEAM_SLOT_BAD_LSE);
  step_with(&b, halving, INFINITY, SIDBEAM_SLOT_BAD_LSE);
  step_with(&b, bad, 0.5f, SIDBEAM_SLOT_BAD_ROW);
  step_with(&b, bad, NAN, SIDBEAM_SLOT_BAD_LSE); /* the row is not looked at */
  tear_down(&b);
}

/* Both slots after one step of arrays of settings, on the device. */
static moment step_under(bench* b, const float* temperatures, const float* soft_caps) {
  float* temperatures_there = temperatures != NULL ? on_device(temperatures, SLOTS * sizeof(float)) : NULL;
  float* soft_caps_there = soft_caps != NULL ? on_device(soft_caps, SLOTS * sizeof(float)) : NULL;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &b->rows;
  args.inverse_temperatures = temperatures_there;
  args.soft_caps = soft_caps_there;
  start_all(b->session);
  CHECK_OK(sidbeam_session_step(b->session, &args, &err));
  const moment now = moment_of(b->session);
  release_device(temperatures_there);
  release_device(soft_caps_there);
  return now;
}

static void settings_that_are_not_allowed_put_their_slot_in_error_and_no_other(void) {
  const float wrong[] = {NAN, -1, -INFINITY, INFINITY};
  for (int32_t way = 0; way < 5 * 4; ++way) {
    const int32_t strategy = way / 4, normalization = way % 4;
    if (strategy >= SIDBEAM_STRATEGY_HASH_FINAL && normalization == SIDBEAM_NORMALIZE_VALID) continue;
    bench b = set_up_with(strategy, normalization);
    const moment plain = step_under(&b, NULL, NULL);
    for (size_t i = 0; i < 2 * COUNT(wrong); ++i) {
      const float value = wrong[i % COUNT(wrong)], values[SLOTS] = {value, 0};
      const int caps = i >= COUNT(wrong);
      if (caps && value == INFINITY) continue; /* none */
      const moment now = step_under(&b, caps ? NULL : values, caps ? values : NULL);
      CHECK_INT(now.errors[0], SIDBEAM_SLOT_BAD_ROW);
      CHECK_INT(now.live[0], 0);
      CHECK_INT(now.errors[1], 0);
      CHECK_I32(now.codes + BEAMS, plain.codes + BEAMS, BEAMS);
      CHECK_F32(now.scores + BEAMS, plain.scores + BEAMS, BEAMS);
    }
    tear_down(&b);
  }
}

static void an_infinite_soft_cap_is_none(void) {
  const float lifted[SLOTS] = {INFINITY, 2};
  bench b = set_up_with(SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_NONE);
  const moment plain = step_under(&b, NULL, NULL), now = step_under(&b, NULL, lifted);
  CHECK_F32(now.scores, plain.scores, BEAMS);
  CHECK(now.scores[BEAMS] > plain.scores[BEAMS]); /* 2 tanh(-1 / 2) */
  tear_down(&b);
}

/* Slots at level `level`, of which there must be `count`. */
static void check_levels(sidbeam_session* session, int count, int32_t level) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  wait_device();
  CHECK_OK(sidbeam_session_fetch(session, &beams, NULL, &err));
  wait_device();
  for (int s = 0; s < beams.slots; ++s) CHECK_INT(beams.level[s], s < count ? level : 0);
}

static void a_start_that_takes_several_launches_is_all_or_nothing(void) {
  enum { MANY = 100 }; /* more than two launches take */
  static int32_t slots[MANY], prefixes[MANY], lengths[MANY];
  for (int s = 0; s < MANY; ++s) slots[s] = s, prefixes[s] = 3, lengths[s] = 1;
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session_config config = cuda_config(constraint);
  config.slots = MANY;
  sidbeam_session* session = make_session(&config);
  start_all(session);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.prefixes = prefixes;
  args.prefix_lengths = lengths;
  args.prefix_stride = 1;
  args.slots = slots;
  for (int64_t n = 1; n <= 4; ++n) {
    args.count = MANY;
    fail_launch(n);
    CHECK_FAILS(sidbeam_session_start(session, &args, &err), SIDBEAM_DEVICE_ERROR, "launch a start");
    check_levels(session, 0, 0);
  }
  fail_launch(0);
  args.count = 60; /* what the failures left behind is not started with these */
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  check_levels(session, 60, 1);
  args.count = MANY;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  check_levels(session, MANY, 1);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  check_nothing_is_left();
}

static void a_slot_that_is_named_twice_harms_no_other(void) {
  static const int32_t twice[SLOTS] = {0, 0};
  bench b = set_up();
  const moment before = moment_of(b.session), expected = on_cpu(&small, 2);
  int32_t* slots = on_device(twice, sizeof twice);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &b.rows;
  args.slots = slots;
  args.count = SLOTS;
  CHECK_OK(sidbeam_session_step(b.session, &args, &err));
  CHECK_OK(sidbeam_session_step(b.session, &args, &err));
  moment now = moment_of(b.session);
  CHECK_I32(now.codes + BEAMS, before.codes + BEAMS, BEAMS);
  CHECK_I64(now.states + BEAMS, before.states + BEAMS, BEAMS);
  start_all(b.session);
  CHECK_OK(step(b.session, &b.rows, NULL));
  CHECK_OK(step(b.session, &b.rows, NULL));
  now = moment_of(b.session);
  check_same(&now, &expected);
  release_device(slots);
  tear_down(&b);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_search_gives_what_the_cpu_gives),
      TEST(beams_are_on_the_device_and_fetched_ones_on_the_host),
      TEST(fetching_from_a_session_on_the_cpu_is_get_beams),
      TEST(a_session_runs_on_the_device_that_it_names_whatever_is_current),
      TEST(one_graph_serves_slots_across_starts_stops_and_levels),
      TEST(statistics_count_what_graphs_did_too),
      TEST(errors_of_a_slot_are_seen_on_the_device),
      TEST(bad_rows_and_bad_normalisers_have_flags_of_their_own),
      TEST(settings_that_are_not_allowed_put_their_slot_in_error_and_no_other),
      TEST(an_infinite_soft_cap_is_none),
      TEST(a_start_that_takes_several_launches_is_all_or_nothing),
      TEST(a_slot_that_is_named_twice_harms_no_other),
  };
  return RUN_TESTS(tests);
}
