/* The caller's allocator: every byte comes back, steps take none, and a failure at any call is OUT_OF_MEMORY, leaves
 * nothing behind and spoils nothing. SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

/* Counts calls and bytes. The call numbered fail_at, or with `forever` every call from that on, returns NULL. Builds
 * may allocate from their threads. */
typedef struct counter {
  long long calls, live_blocks, live_bytes, wrong_sizes;
  long long fail_at;
  int forever;
} counter;

static long long add(long long* number, long long value) { return __atomic_fetch_add(number, value, __ATOMIC_SEQ_CST); }

/* The request, kept before each block: release must repeat it. */
typedef struct stamp {
  int64_t bytes, alignment;
} stamp;

static void* allocate(void* context, int64_t bytes, int64_t alignment) {
  counter* c = context;
  void* memory = NULL;
  const long long call = add(&c->calls, 1);
  if (call == c->fail_at || (c->forever && call > c->fail_at)) return NULL;
  if (bytes <= 0 || alignment <= 0 || alignment > 4096 || (alignment & (alignment - 1)) != 0) {
    add(&c->wrong_sizes, 1);
    return NULL;
  }
  const int64_t room = alignment < (int64_t)sizeof(stamp) ? (int64_t)sizeof(stamp) : alignment;
  if (posix_memalign(&memory, (size_t)room, (size_t)(room + bytes)) != 0) return NULL;
  *(stamp*)((char*)memory + room - sizeof(stamp)) = (stamp){bytes, alignment};
  add(&c->live_blocks, 1);
  add(&c->live_bytes, bytes);
  return (char*)memory + room;
}

static void release(void* context, void* memory, int64_t bytes, int64_t alignment) {
  counter* c = context;
  const stamp asked = *(stamp*)((char*)memory - sizeof(stamp));
  const int64_t room = asked.alignment < (int64_t)sizeof(stamp) ? (int64_t)sizeof(stamp) : asked.alignment;
  if (asked.bytes != bytes || asked.alignment != alignment) add(&c->wrong_sizes, 1);
  add(&c->live_blocks, -1);
  add(&c->live_bytes, -asked.bytes);
  free((char*)memory - room);
}

static sidbeam_allocator counting(counter* c, long long fail_at, int forever) {
  sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
  memset(c, 0, sizeof *c);
  c->fail_at = fail_at;
  c->forever = forever;
  allocator.context = c;
  allocator.allocate = allocate;
  allocator.release = release;
  return allocator;
}

static void everything_that_was_taken_comes_back_as_it_was_asked_for(void) {
  counter c;
  for (int32_t threads = 1; threads <= 3; threads += 2) {
    const sidbeam_allocator allocator = counting(&c, -1, 0);
    CHECK_OK(run_script(&allocator, threads, temporary_path("script.sidx"), &err));
    CHECK(c.calls > 0);
    CHECK_INT(c.live_blocks, 0);
    CHECK_INT(c.live_bytes, 0);
    CHECK_INT(c.wrong_sizes, 0);
  }
}

static void fail_at_every_call(int32_t threads, int forever) {
  counter c;
  sidbeam_allocator allocator;
  for (long long at = 0;; ++at) {
    allocator = counting(&c, at, forever);
    clear_error();
    const sidbeam_status status = run_script(&allocator, threads, temporary_path("script.sidx"), &err);
    CHECK_INT(c.live_blocks, 0);
    CHECK_INT(c.live_bytes, 0);
    CHECK_INT(c.wrong_sizes, 0);
    if (c.calls <= at) { /* not reached: all calls have been tried */
      check_ok(__FILE__, __LINE__, "run_script", status);
      CHECK(at > 10);
      return;
    }
    if (status != SIDBEAM_OUT_OF_MEMORY || err.code != status) printf("allocation %lld of the script:\n", at);
    CHECK_INT(status, SIDBEAM_OUT_OF_MEMORY);
    CHECK_INT(err.code, SIDBEAM_OUT_OF_MEMORY);
    CHECK(err.message[0] != '\0');
    allocator = counting(&c, -1, 0);
    CHECK_OK(run_script(&allocator, threads, temporary_path("script.sidx"), &err));
  }
}

static void a_failure_at_any_call_is_out_of_memory_and_leaves_nothing(void) { fail_at_every_call(1, 0); }
static void failing_from_any_call_on_is_out_of_memory_and_leaves_nothing(void) { fail_at_every_call(1, 1); }
static void failures_on_building_threads_are_no_different(void) { fail_at_every_call(3, 0); }

static void a_failed_start_changes_no_slot(void) {
  /* A constraint wider than the session's own needs more memory at start. */
  static const int32_t codes[3] = {600, 4, 4};
  int32_t sids[600 * 3];
  catalogue wide = small;
  counter c;
  const sidbeam_allocator allocator = counting(&c, -1, 0);
  sidbeam_runtime_config runtime_config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  sidbeam_session* session = NULL;
  sidbeam_constraint* own = make_constraint(&small, SIDBEAM_KIND_TRIE);
  const sidbeam_session_config config = session_config(own);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  for (int32_t i = 0; i < 600; ++i) memcpy(sids + 3 * i, (const int32_t[]){i, 1, 2}, 3 * sizeof(int32_t));
  wide.codes = codes;
  wide.sids = sids;
  wide.ids = wide.priorities = NULL;
  wide.count = 600;
  sidbeam_constraint* const other = make_constraint(&wide, SIDBEAM_KIND_TRIE);
  runtime_config.allocator = &allocator;
  CHECK_OK(sidbeam_runtime_create(&runtime_config, &runtime, &err));
  CHECK_OK(sidbeam_session_create(runtime, &config, &session, &err));
  start_all(session);
  step_all(session, halving);
  c.fail_at = c.calls;
  args.constraints = &other;
  CHECK_FAILS(sidbeam_session_start(session, &args, &err), SIDBEAM_OUT_OF_MEMORY, "out of memory: ", " bytes");
  CHECK_INT(beams_of(session).live[0], 3);
  CHECK_INT(beams_of(session).level[0], 1);
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  CHECK_INT(beams_of(session).level[0], 0);
  sidbeam_session_destroy(session);
  sidbeam_runtime_release(runtime);
  sidbeam_constraint_release(own);
  sidbeam_constraint_release(other);
  CHECK_INT(c.live_blocks, 0);
}

static void steps_and_results_take_no_memory(void) {
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_NONE; ++strategy) {
    counter c;
    const sidbeam_allocator allocator = counting(&c, -1, 0);
    sidbeam_runtime_config runtime_config = SIDBEAM_RUNTIME_CONFIG_INIT;
    sidbeam_runtime* runtime = NULL;
    sidbeam_session* session = NULL;
    sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
    sidbeam_session_config config = session_config(constraint);
    sidbeam_stats stats = SIDBEAM_STATS_INIT;
    int64_t ordinals[256];
    sidbeam_items items = SIDBEAM_ITEMS_INIT;
    items.ordinals = ordinals;
    config.strategy = strategy;
    config.normalization = SIDBEAM_NORMALIZE_FULL;
    config.beams = 64;
    config.slots = 4;
    runtime_config.allocator = &allocator;
    CHECK_OK(sidbeam_runtime_create(&runtime_config, &runtime, &err));
    CHECK_OK(sidbeam_session_create(runtime, &config, &session, &err));
    start_all(session);
    const long long before = c.calls;
    for (int i = 0; i < 3; ++i) step_all(session, halving);
    CHECK_OK(sidbeam_session_get_items(session, NULL, 4, &items, &err));
    CHECK_INT(c.calls, before);
    CHECK_OK(sidbeam_session_get_stats(session, &stats, &err));
    CHECK(stats.memory_bytes > 0 && stats.memory_bytes <= c.live_bytes);
    sidbeam_session_destroy(session);
    sidbeam_runtime_release(runtime);
    sidbeam_constraint_release(constraint);
    CHECK_INT(c.live_blocks, 0);
  }
}

static void a_disc_takes_all_of_its_memory_when_it_is_made(void) {
  counter c;
  const sidbeam_allocator allocator = counting(&c, -1, 0);
  static int64_t numbers[1000], ordinals[1000];
  static float log_masses[1000];
  sidbeam_runtime_config runtime_config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_disc_config config = SIDBEAM_DISC_CONFIG_INIT;
  sidbeam_disc_draws draws = SIDBEAM_DISC_DRAWS_INIT;
  sidbeam_disc_results none = SIDBEAM_DISC_RESULTS_INIT;
  sidbeam_runtime* runtime = NULL;
  sidbeam_disc* disc = NULL;
  runtime_config.allocator = &allocator;
  config.results = 100;
  config.rounds = 5;
  config.side_by_side = 10;
  config.without_replacement = 1;
  CHECK_OK(sidbeam_runtime_create(&runtime_config, &runtime, &err));
  CHECK_OK(sidbeam_disc_create(runtime, &config, &disc, &err));
  const long long before = c.calls;
  draws.draws = numbers;
  draws.ordinals = ordinals;
  draws.log_probs = draws.log_masses = log_masses;
  do {
    CHECK_OK(sidbeam_disc_next(disc, 1000, numbers, &draws.count, &err));
    for (int64_t i = 0; i < draws.count; ++i) ordinals[i] = numbers[i] % 150;
    CHECK_OK(sidbeam_disc_add(disc, &draws, &err));
  } while (draws.count > 0);
  CHECK_OK(sidbeam_disc_get(disc, &none, &err));
  CHECK_INT(c.calls, before);
  sidbeam_disc_destroy(disc);
  sidbeam_runtime_release(runtime);
  CHECK_INT(c.live_blocks, 0);
}

static void a_speculation_takes_all_of_its_memory_when_it_is_made(void) {
  counter c;
  const sidbeam_allocator allocator = counting(&c, -1, 0);
  sidbeam_runtime_config runtime_config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  const sidbeam_session_config config = session_config(constraint);
  sidbeam_speculation_config how = SIDBEAM_SPECULATION_CONFIG_INIT;
  sidbeam_speculation* speculation = NULL;
  runtime_config.allocator = &allocator;
  how.target = make_session(&config);
  how.draft = make_session(&config);
  start_all(how.target);
  start_all(how.draft);
  CHECK_OK(sidbeam_runtime_create(&runtime_config, &runtime, &err));
  CHECK_OK(sidbeam_speculation_create(runtime, &how, &speculation, &err));
  const long long before = c.calls;
  int64_t active = 0;
  for (CHECK_OK(sidbeam_speculation_begin(speculation, NULL, 0, &active, &err)); active > 0;
       CHECK_OK(sidbeam_speculation_begin(speculation, NULL, 0, &active, &err))) {
    sidbeam_speculation_tree tree = SIDBEAM_SPECULATION_TREE_INIT;
    sidbeam_speculation_verify_args args = SIDBEAM_SPECULATION_VERIFY_ARGS_INIT;
    CHECK_OK(sidbeam_speculation_get_tree(speculation, &tree, &err));
    if (tree.draft_count > 0) {
      step_all(how.draft, halving);
      CHECK_OK(sidbeam_speculation_add(speculation, &err));
      CHECK_OK(sidbeam_speculation_get_tree(speculation, &tree, &err));
    }
    const sidbeam_rows rows = same_row(halving, 0, tree.nodes, 4);
    args.rows = &rows;
    CHECK_OK(sidbeam_speculation_verify(speculation, &args, &err));
  }
  CHECK(before > 0);
  CHECK_INT(c.calls, before);
  sidbeam_speculation_destroy(speculation);
  sidbeam_session_destroy(how.target);
  sidbeam_session_destroy(how.draft);
  sidbeam_constraint_release(constraint);
  sidbeam_runtime_release(runtime);
  CHECK_INT(c.live_blocks, 0);
}

int main(void) {
  static const test_case tests[] = {
      TEST(everything_that_was_taken_comes_back_as_it_was_asked_for),
      TEST(a_failure_at_any_call_is_out_of_memory_and_leaves_nothing),
      TEST(failing_from_any_call_on_is_out_of_memory_and_leaves_nothing),
      TEST(failures_on_building_threads_are_no_different),
      TEST(a_failed_start_changes_no_slot),
      TEST(steps_and_results_take_no_memory),
      TEST(a_disc_takes_all_of_its_memory_when_it_is_made),
      TEST(a_speculation_takes_all_of_its_memory_when_it_is_made),
  };
  return RUN_TESTS(tests);
}
