/* A step divided among threads: the same bits whatever their number and whether they are the runtime's or the host's,
 * and sessions that share them. Meant for ThreadSanitizer too. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "search.h"

enum { SESSIONS = 4, ROUNDS = 10 };

/* The host's threads: one, which runs the tasks backwards. */
typedef struct backwards {
  int32_t calls, most;
} backwards;

static void run_backwards(void* context, int32_t count, void (*task)(void* data, int32_t i), void* data) {
  backwards* b = context;
  ++b->calls;
  if (count > b->most) b->most = count;
  for (int32_t i = count - 1; i >= 0; --i) task(data, i);
}

static sidbeam_runtime* runtime_of(int32_t step_threads, int64_t step_grain, backwards* host) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  config.threads = 1;
  config.step_threads = step_threads;
  config.step_grain = step_grain;
  if (host != NULL) {
    config.execute = run_backwards;
    config.execute_context = host;
  }
  CHECK_OK(sidbeam_runtime_create(&config, &runtime, &err));
  return runtime;
}

static void check_done(const search* s) {
  if (s->status != SIDBEAM_OK)
    printf("strategy %d, normalization %d: %s\n", s->strategy, s->normalization, s->error.message);
  CHECK_INT(s->status, SIDBEAM_OK);
}

static void check_same(const search* s, const search* expected) {
  const int same = memcmp(&s->found, &expected->found, sizeof s->found) == 0;
  check_done(s);
  if (!same) printf("strategy %d, normalization %d: other bits\n", s->strategy, s->normalization);
  CHECK(same);
  /* The number of skipped rows may differ. */
  CHECK_INT(s->stats.rows_read + s->stats.rows_skipped, expected->stats.rows_read + expected->stats.rows_skipped);
  CHECK_INT(s->slot_steps, expected->slot_steps);
  CHECK_INT(s->stats.dead_beams, expected->stats.dead_beams);
}

static void check_every_division(search* single) {
  static const int32_t widths[] = {2, 3, 16};
  static search divided;
  run_search(single);
  check_done(single);
  CHECK_INT(single->split_slots, 0);
  CHECK(single->stats.rows_bad > 0 && single->stats.rows_read > 100);
  divided = *single;
  for (size_t i = 0; i < 2 * COUNT(widths); ++i) {
    backwards host = {0, 0};
    const int hosted = i >= COUNT(widths);
    const int32_t width = widths[i % COUNT(widths)];
    divided.runtime = runtime_of(width, 1, hosted ? &host : NULL);
    run_search(&divided);
    sidbeam_runtime_release(divided.runtime);
    check_same(&divided, single);
    CHECK(divided.split_slots > 0);
    if (hosted) CHECK_INT(host.calls, LEVELS);
    if (hosted) CHECK_INT(host.most, width);
  }
}

static void check_strategies(int32_t kinds, int32_t first, int32_t last) {
  static search single;
  single.runtime = runtime_of(1, 1, NULL);
  single.constraint = large_constraint(kinds);
  for (single.strategy = first; single.strategy <= last; ++single.strategy) {
    for (int32_t n = SIDBEAM_NORMALIZE_FULL; n <= SIDBEAM_NORMALIZE_NONE; ++n) {
      if (n == SIDBEAM_NORMALIZE_VALID && single.strategy >= SIDBEAM_STRATEGY_HASH_FINAL) continue;
      single.normalization = n;
      check_every_division(&single);
    }
  }
  sidbeam_constraint_release(single.constraint);
  sidbeam_runtime_release(single.runtime);
}

static void every_strategy_gives_the_same_bits_on_any_threads(void) {
  check_strategies(ALL_KINDS, SIDBEAM_STRATEGY_TRIE, SIDBEAM_STRATEGY_NONE);
}

static void a_compact_trie_gives_the_same_bits_on_any_threads(void) {
  check_strategies(SIDBEAM_KIND_TRIE | SIDBEAM_KIND_COMPACT_TRIE, SIDBEAM_STRATEGY_TRIE, SIDBEAM_STRATEGY_TRIE);
}

static void* run_search_often(void* argument) {
  search* s = argument;
  s->status = SIDBEAM_OK;
  for (int round = 0; round < ROUNDS && s->status == SIDBEAM_OK; ++round) run_search(s);
  return NULL;
}

/* More concurrent sessions than the pool serves, on each kind of index. */
static void sessions_share_the_threads_of_a_runtime(void) {
  static search single[2], shared[SESSIONS];
  sidbeam_runtime* runtime = runtime_of(3, 1, NULL);
  pthread_t threads[SESSIONS];
  for (int i = 0; i < 2; ++i) {
    single[i].runtime = runtime_of(1, 1, NULL);
    single[i].constraint = large_constraint(i == 0 ? ALL_KINDS : SIDBEAM_KIND_TRIE | SIDBEAM_KIND_COMPACT_TRIE);
    single[i].strategy = SIDBEAM_STRATEGY_TRIE;
    run_search(&single[i]);
    check_done(&single[i]);
    sidbeam_runtime_release(single[i].runtime);
  }
  for (int i = 0; i < SESSIONS; ++i) {
    shared[i] = single[i % 2];
    shared[i].runtime = runtime;
    CHECK_INT(pthread_create(&threads[i], NULL, run_search_often, &shared[i]), 0);
  }
  for (int i = 0; i < SESSIONS; ++i) CHECK_INT(pthread_join(threads[i], NULL), 0);
  sidbeam_runtime_release(runtime);
  for (int i = 0; i < SESSIONS; ++i) check_same(&shared[i], &single[i % 2]);
  for (int i = 0; i < 2; ++i) sidbeam_constraint_release(single[i].constraint);
}

/* ThreadSanitizer allows no threads after a fork of several. */
#if !defined(__SANITIZE_THREAD__)
/* The parent's index with a runtime, threads and a session of the child's own. Returns the exit status. */
static int search_in_a_child(const search* expected) {
  static search own;
  own = *expected;
  alarm(100); /* otherwise a child that waits for the parent's threads would wait forever */
  own.runtime = runtime_of(3, 1, NULL);
  run_search(&own);
  sidbeam_runtime_release(own.runtime);
  if (own.status != SIDBEAM_OK) return 2;
  if (own.split_slots <= 0) return 3;
  return memcmp(&own.found, &expected->found, sizeof own.found) == 0 ? 0 : 4;
}

static void after_a_fork_both_sides_step_on_threads_of_their_own(void) {
  static search parent, again;
  parent.runtime = runtime_of(3, 1, NULL);
  parent.constraint = large_constraint(SIDBEAM_KIND_TRIE);
  parent.strategy = SIDBEAM_STRATEGY_TRIE;
  run_search(&parent); /* its threads are awake */
  check_done(&parent);
  CHECK(parent.split_slots > 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) _exit(search_in_a_child(&parent));
  again = parent;
  run_search(&again);
  check_same(&again, &parent);
  int status = -1;
  CHECK_INT(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status));
  CHECK_INT(WEXITSTATUS(status), 0);
  sidbeam_constraint_release(parent.constraint);
  sidbeam_runtime_release(parent.runtime);
}
#endif

/* Number of threads that share the first step of this many requests, of one logits row each; 0: it is not divided. */
static int32_t threads_of_first_step(sidbeam_constraint* constraint, int32_t requests, const float* lse) {
  static const float logits[SLOTS][COLUMNS];
  const sidbeam_rows rows = make_rows(&logits[0][0], requests, 1, COLUMNS);
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  sidbeam_start_args start_args = SIDBEAM_START_ARGS_INIT;
  sidbeam_step_args step_args = SIDBEAM_STEP_ARGS_INIT;
  backwards host = {0, 0};
  sidbeam_runtime* runtime = runtime_of(4, 0, &host);
  sidbeam_session* session;
  config.constraint = constraint;
  config.slots = requests;
  config.beams = BEAMS;
  step_args.rows = &rows;
  step_args.lse = lse;
  CHECK_OK(sidbeam_session_create(runtime, &config, &session, &err));
  CHECK_OK(sidbeam_session_start(session, &start_args, &err));
  CHECK_OK(sidbeam_session_step(session, &step_args, &err));
  sidbeam_session_destroy(session);
  sidbeam_runtime_release(runtime);
  return host.most;
}

static void requests_are_worth_threads_from_the_first_step_on(void) {
  static const float lse[SLOTS];
  sidbeam_constraint* constraint = large_constraint(SIDBEAM_KIND_TRIE);
  CHECK_INT(threads_of_first_step(constraint, 1, NULL), 0);
  CHECK_INT(threads_of_first_step(constraint, 3, NULL), 3);
  CHECK_INT(threads_of_first_step(constraint, 5, NULL), 4);
  CHECK_INT(threads_of_first_step(constraint, 5, lse), 0);
  sidbeam_constraint_release(constraint);
}

int main(void) {
  static const test_case tests[] = {
    TEST(every_strategy_gives_the_same_bits_on_any_threads),
    TEST(a_compact_trie_gives_the_same_bits_on_any_threads),
    TEST(sessions_share_the_threads_of_a_runtime),
    TEST(requests_are_worth_threads_from_the_first_step_on),
#if !defined(__SANITIZE_THREAD__)
    TEST(after_a_fork_both_sides_step_on_threads_of_their_own),
#endif
  };
  return RUN_TESTS(tests);
}
