/* Rules on a device: what is refused, what a slot follows and when, and that memory goes back after the work that reads
 * it. SPDX-License-Identifier: Apache-2.0 */
#include "../../capi/rules_rig.h"
#include "cuda_session.h"

enum { STARTS = 6, DEFAULT_LISTED = 4096 };

/* What the beams of slot 0 stand for, on the device. */
static void list_ordinals(const sidbeam_session* session, int64_t* ordinals) {
  const int32_t first = 0;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals;
  CHECK_OK(sidbeam_session_get_items(session, &first, 1, &items, &err));
}

static void check_ordinals(const int64_t* there, int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t expected[BEAMS] = {a, b, c, d};
  int64_t ordinals[BEAMS];
  read_device(ordinals, there, sizeof ordinals);
  CHECK_I64(ordinals, expected, BEAMS);
}

/* All that remains is the levels after the first. */
static void finish(bench* b) {
  for (int level = 1; level < LEVELS; ++level) CHECK_OK(step(b->session, &b->rows, NULL));
}

/* One index under rules of every kind. */
typedef struct ruled {
  sidbeam_index* index;
  sidbeam_filter* filter;
  sidbeam_constraint *plain, *filtered, *excluding, *allowing, *both;
} ruled;

static ruled make_all(void) {
  const sidbeam_item_list out = ids(LIST(12, 11)), in = ids(LIST(14, 10, 15)), both_of_0 = ids(LIST(10, 15));
  ruled r;
  r.index = make_index(&small, SIDBEAM_KIND_TRIE);
  r.filter = make_filter(r.index, ids(LIST(10, 12, 14)));
  r.plain = constrain(r.index);
  r.filtered = make_ruled(r.index, r.filter, NULL, NULL);
  r.excluding = make_ruled(r.index, NULL, &out, NULL);
  r.allowing = make_ruled(r.index, r.filter, NULL, &in);
  r.both = make_ruled(r.index, r.filter, &both_of_0, NULL);
  CHECK_OK(sidbeam_index_upload(r.index, NULL, &err));
  return r;
}

static void release_all(ruled* r) {
  sidbeam_constraint* const constraints[] = {r->plain, r->filtered, r->excluding, r->allowing, r->both};
  for (size_t i = 0; i < COUNT(constraints); ++i) sidbeam_constraint_release(constraints[i]);
  sidbeam_filter_release(r->filter);
  sidbeam_index_release(r->index);
}

/* Starts go on while the work of those before is pending, so that what they copy from is used again. */
static void a_slot_follows_the_rules_of_its_last_start(void) {
  for (int order = 0; order < 8; ++order) {
    set_order(order);
    bench b = set_up();
    ruled r = make_all();
    sidbeam_constraint* const constraints[STARTS] = {r.filtered, r.excluding, r.allowing, r.both, r.plain, r.filtered};
    static const int64_t expected[STARTS][BEAMS] = {{0, 2, 4, -1},  {0, 3, 4, -1}, {0, 4, -1, -1},
                                                    {2, 4, -1, -1}, {0, 3, 2, 4},  {0, 2, 4, -1}};
    int64_t* there[STARTS];
    for (int i = 0; i < STARTS; ++i) there[i] = device_memory(BEAMS * sizeof(int64_t));
    for (int i = 0; i < STARTS; ++i) {
      CHECK_OK(start_under(b.session, 0, constraints[i], NULL));
      CHECK_OK(step(b.session, &b.rows, NULL));
      finish(&b);
      list_ordinals(b.session, there[i]);
    }
    for (int i = 0; i < STARTS; ++i) {
      check_ordinals(there[i], expected[i][0], expected[i][1], expected[i][2], expected[i][3]);
      release_device(there[i]);
    }
    release_all(&r);
    tear_down(&b);
  }
  set_order(0);
}

static void one_graph_serves_slots_under_any_rules(void) {
  bench b = set_up();
  ruled r = make_all();
  int64_t* there = device_memory(BEAMS * sizeof(int64_t));
  const int32_t first = 0;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  void* stream = make_stream();
  items.ordinals = there;
  items.stream = stream;
  begin_capture(stream);
  CHECK_OK(step(b.session, &b.rows, stream));
  CHECK_OK(sidbeam_session_get_items(b.session, &first, 1, &items, &err));
  void* graph = end_capture(stream);
  const struct {
    sidbeam_constraint* constraint;
    int64_t ordinals[BEAMS];
  } each[] = {{r.excluding, {0, 3, 4, -1}}, {r.plain, {0, 3, 2, 4}},  {r.filtered, {0, 2, 4, -1}},
              {r.allowing, {0, 4, -1, -1}}, {r.both, {2, 4, -1, -1}}, {r.plain, {0, 3, 2, 4}}};
  for (size_t i = 0; i < COUNT(each); ++i) {
    CHECK_OK(start_under(b.session, 0, each[i].constraint, stream));
    for (int level = 0; level < LEVELS; ++level) replay(graph, stream);
    wait_device();
    check_ordinals(there, each[i].ordinals[0], each[i].ordinals[1], each[i].ordinals[2], each[i].ordinals[3]);
  }
  release_graph(graph);
  release_stream(stream);
  release_device(there);
  release_all(&r);
  tear_down(&b);
}

static void a_start_under_rules_is_not_captured(void) {
  bench b = set_up();
  ruled r = make_all();
  void* stream = make_stream();
  const moment before = moment_of(b.session);
  begin_capture(stream);
  CHECK_FAILS(start_under(b.session, 0, r.both, stream), SIDBEAM_BAD_STATE,
              "stream is being captured, expected start outside of graphs");
  release_graph(end_capture(stream));
  release_stream(stream);
  check_unmoved(b.session, &before);
  release_all(&r);
  tear_down(&b);
}

static void more_listed_rows_than_a_session_takes_are_refused(void) {
  ruled r = make_all();
  const sidbeam_item_list three = ids(LIST(11, 12, 13)), many = ids(LIST(10, 11, 12, 13, 14));
  sidbeam_constraint* excluding = make_ruled(r.index, NULL, &three, NULL);
  sidbeam_constraint* allowing = make_ruled(r.index, NULL, NULL, &many);
  sidbeam_constraint* filtered = make_ruled(r.index, r.filter, &many, NULL); /* three of the five are in the filter */
  sidbeam_session_config config = cuda_config(excluding);
  config.max_listed = 2;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT,
              "config.constraint lists 3 item rows, expected at most 2, the session's max_listed");
  config.max_listed = -1;
  CHECK_FAILS(create(&config), SIDBEAM_INVALID_ARGUMENT, "config.max_listed is -1, expected 0..16777216");
  config.max_listed = 3;
  sidbeam_session* session = make_session(&config);
  CHECK_OK(start_under(session, 0, filtered, NULL));
  CHECK_FAILS(start_under(session, 1, allowing, NULL), SIDBEAM_INVALID_ARGUMENT,
              "constraints[0] lists 5 item rows, expected at most 3, the session's max_listed");
  CHECK_INT(moment_of(session).level[1], -1);
  sidbeam_session_destroy(session);
  config.device_type = SIDBEAM_DEVICE_CPU;
  session = make_session(&config);
  CHECK_OK(start_under(session, 1, allowing, NULL));
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(excluding);
  sidbeam_constraint_release(allowing);
  sidbeam_constraint_release(filtered);
  release_all(&r);
  check_nothing_is_left();
}

static int64_t memory_of(const sidbeam_session* session) {
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  CHECK_OK(sidbeam_session_get_stats(session, &stats, &err));
  return stats.memory_bytes;
}

/* As its comment says; descriptors and rounding apart. */
static void check_room(int64_t bytes, int64_t listed) {
  const int64_t lists = 72 * (LEVELS + 1) * listed * SLOTS;
  CHECK(bytes >= lists && bytes < lists + 8192 * SLOTS);
}

static void room_for_rules_is_taken_once(void) {
  ruled r = make_all();
  sidbeam_session_config config = cuda_config(r.plain);
  sidbeam_session* session = make_session(&config);
  const int64_t without = memory_of(session);
  CHECK_OK(start_under(session, 0, r.plain, NULL));
  CHECK_INT(memory_of(session), without);
  CHECK_OK(start_under(session, 0, r.excluding, NULL));
  const int64_t with = memory_of(session), live = live_allocations();
  check_room(with - without, DEFAULT_LISTED);
  for (int i = 0; i < STARTS; ++i) CHECK_OK(start_under(session, i % SLOTS, i % 3 == 0 ? r.allowing : r.both, NULL));
  CHECK_INT(memory_of(session), with);
  CHECK_INT(live_allocations(), live + 1); /* the filter's bits */
  sidbeam_session_destroy(session);
  config.max_listed = 100;
  session = make_session(&config);
  check_room(memory_of(session) - without, 100);
  sidbeam_session_destroy(session);
  config.constraint = r.filtered;
  config.max_listed = 0;
  session = make_session(&config);
  check_room(memory_of(session) - without, DEFAULT_LISTED);
  sidbeam_session_destroy(session);
  release_all(&r);
  check_nothing_is_left();
}

static int64_t bytes_of(const sidbeam_filter* filter) {
  sidbeam_filter_info info = SIDBEAM_FILTER_INFO_INIT;
  CHECK_OK(sidbeam_filter_get_info(filter, &info, &err));
  return info.bytes;
}

static void a_filters_bits_go_after_the_work_that_reads_them(void) {
  for (int order = 0; order < 8; ++order) {
    set_order(order);
    bench b = set_up();
    ruled r = make_all();
    int64_t* there = device_memory(BEAMS * sizeof(int64_t));
    const int64_t live = live_allocations(), bytes = bytes_of(r.filter);
    CHECK_OK(start_under(b.session, 0, r.filtered, NULL));
    CHECK_OK(start_under(b.session, 1, r.both, NULL)); /* of the same filter */
    const int64_t with = live_allocations();
    CHECK_INT(with, live + 3); /* its bits, and the session's room for rules, pinned and not */
    CHECK(bytes_of(r.filter) > bytes);
    CHECK_OK(step(b.session, &b.rows, NULL));
    finish(&b);
    list_ordinals(b.session, there);
    CHECK_OK(sidbeam_session_stop(b.session, NULL, 0, NULL, &err));
    release_all(&r);
    CHECK_INT(live_allocations_now(), with); /* what is enqueued has not run */
    CHECK_INT(live_allocations(), with - 2); /* the bits, and the index */
    check_ordinals(there, 0, 2, 4, -1);
    release_device(there);
    tear_down(&b);
  }
  set_order(0);
}

static void a_start_under_rules_that_fails_leaves_slots_under_theirs(void) {
  static const int64_t excluding[BEAMS] = {0, 3, 4, -1};
  int failed[2] = {0, 0};
  for (int launches = 0; launches < 2; ++launches) {
    for (int64_t n = 1;; ++n) {
      bench b = set_up();
      ruled r = make_all();
      int64_t* there = device_memory(BEAMS * sizeof(int64_t));
      CHECK_OK(start_under(b.session, 0, r.excluding, NULL));
      CHECK_OK(step(b.session, &b.rows, NULL));
      launches != 0 ? fail_launch(n) : fail_allocation(n);
      clear_error();
      const sidbeam_status status = start_under(b.session, 0, r.both, NULL);
      fail_launch(0);
      fail_allocation(0);
      if (status != SIDBEAM_OK) {
        CHECK_INT(status, launches != 0 ? SIDBEAM_DEVICE_ERROR : SIDBEAM_OUT_OF_MEMORY);
        ++failed[launches];
        finish(&b);
        list_ordinals(b.session, there);
        check_ordinals(there, excluding[0], excluding[1], excluding[2], excluding[3]);
      }
      release_device(there);
      release_all(&r);
      tear_down(&b);
      if (status == SIDBEAM_OK) break;
    }
  }
  CHECK(failed[0] >= 1 && failed[1] >= 1);
}

/* Its own rules and an index's table of addresses go with it. */
static void a_set_follows_the_rules_of_each_of_its_constraints(void) {
  ruled r = make_all();
  sidbeam_constraint* const constraints[] = {r.plain, r.filtered, r.both, r.excluding, r.allowing};
  static const int32_t which[] = {0, 1, 2, 3, 4};
  static const uint32_t expected[] = {0xD, 0x9, 0x9, 0xD, 0x9}; /* codes 0, 2 and 3 follow the root */
  enum { COUNTED = 5 };
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint_set* set = NULL;
  config.constraints = constraints;
  config.constraint_count = COUNTED;
  config.device_type = SIDBEAM_DEVICE_CUDA;
  CHECK_OK(sidbeam_constraint_set_create(runtime, &config, &set, &err));
  sidbeam_runtime_release(runtime);
  const sidbeam_state roots[COUNTED] = {0};
  int32_t* which_there = on_device(which, sizeof which);
  sidbeam_state* states = on_device(roots, sizeof roots);
  uint32_t words[COUNTED];
  uint32_t* words_there = device_memory(sizeof words);
  release_all(&r); /* the set holds its constraints */
  CHECK_OK(sidbeam_constraint_set_bitmask(set, which_there, states, COUNTED, 1, words_there, NULL, &err));
  read_device(words, words_there, sizeof words);
  for (int i = 0; i < COUNTED; ++i) CHECK_INT(words[i], expected[i]);
  release_device(which_there);
  release_device(states);
  release_device(words_there);
  sidbeam_constraint_set_destroy(set);
  check_nothing_is_left();
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_slot_follows_the_rules_of_its_last_start),
      TEST(one_graph_serves_slots_under_any_rules),
      TEST(a_start_under_rules_is_not_captured),
      TEST(more_listed_rows_than_a_session_takes_are_refused),
      TEST(room_for_rules_is_taken_once),
      TEST(a_filters_bits_go_after_the_work_that_reads_them),
      TEST(a_start_under_rules_that_fails_leaves_slots_under_theirs),
      TEST(a_set_follows_the_rules_of_each_of_its_constraints),
  };
  return RUN_TESTS(tests);
}
