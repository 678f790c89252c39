/* Children of fork(), of parents that are idle and of parents with threads in the middle of steps: a child may release
 * what it inherits, and what it makes works. A child that hangs is killed and fails the test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "script.h"
#include "search.h"

enum { STEP_THREADS = 4, LOADERS = 2, FORKS = 150, SECONDS = 60 };

/* What a child inherits. */
static sidbeam_runtime* inherited;
static sidbeam_session* idle;
static sidbeam_index* index_of_constraint;
static search expected;       /* of a runtime without threads of its own */
static search expected_draws; /* of mode SAMPLE */
static sidbeam_disc* disc;    /* of a runtime that is gone */
static sidbeam_constraint_set* set;
static int32_t expected_code; /* that the set draws */
static int64_t handed_out[2];

/* A check in a child, which must not continue with the parent's tests. */
#define REQUIRE(condition) ((condition) ? (void)0 : die(__LINE__, #condition, ""))

static void die(int line, const char* what, const char* detail) {
  printf("test_fork.c:%d: in the child: %s %s\n", line, what, detail);
  fflush(stdout);
  _exit(1);
}

/* Forks; the child runs `body` and must end well, and in time. */
static void in_child(void (*body)(void)) {
  int status = 0;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS);
    body();
    _exit(0);
  }
  CHECK(child > 0);
  CHECK_INT(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) printf("the child was ended by signal %d (%d: time)\n", WTERMSIG(status), SIGALRM);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int threads_of_this_process(void) {
  DIR* tasks = opendir("/proc/self/task");
  struct dirent* task;
  int count = 0;
  while (tasks != NULL && (task = readdir(tasks)) != NULL) count += task->d_name[0] != '.';
  if (tasks != NULL) closedir(tasks);
  return count;
}

/* Whether a thread other than the caller's runs or may soon: all but S (waits for something) in its stat. */
static int another_thread_runs(void) {
  DIR* tasks = opendir("/proc/self/task");
  struct dirent* task;
  int runs = 0;
  while (tasks != NULL && (task = readdir(tasks)) != NULL) {
    char path[300], state = 'S';
    if (task->d_name[0] == '.' || atoi(task->d_name) == (int)getpid()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
    FILE* stat = fopen(path, "r");
    if (stat == NULL) continue; /* it has just ended */
    if (fscanf(stat, "%*d %*s %c", &state) == 1) runs |= state != 'S';
    fclose(stat);
  }
  if (tasks != NULL) closedir(tasks);
  return runs;
}

/* AddressSanitizer's allocator has locks that a child inherits as they are (before LLVM 18), and a thread that starts
 * takes them: no fork before the pool's threads wait for work. */
static void await_pool_threads(void) {
  while (another_thread_runs()) sched_yield();
}

static sidbeam_status make_threaded(sidbeam_runtime** out, sidbeam_error* error) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = 2;
  config.step_threads = STEP_THREADS;
  config.step_grain = 1;
  return sidbeam_runtime_create(&config, out, error);
}

static sidbeam_runtime* threaded_in_child(void) {
  sidbeam_runtime* runtime = NULL;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  if (make_threaded(&runtime, &error) != SIDBEAM_OK) die(__LINE__, "no runtime:", error.message);
  return runtime;
}

/* A session made here from a runtime gives the parent's beams, with its steps divided. */
static void search_in_child(sidbeam_runtime* runtime) {
  static search found;
  found.runtime = runtime;
  found.constraint = expected.constraint;
  run_search(&found);
  if (found.status != SIDBEAM_OK) die(__LINE__, "the search failed:", found.error.message);
  REQUIRE(memcmp(&found.found, &expected.found, sizeof found.found) == 0);
  REQUIRE(found.split_slots > 0);
}

static void release_inherited(void) { sidbeam_runtime_release(inherited); }

static void make_then_release(void) {
  sidbeam_runtime* own = threaded_in_child();
  sidbeam_runtime_release(inherited);
  search_in_child(own);
  sidbeam_runtime_release(own);
}

static void release_then_make(void) {
  sidbeam_runtime_release(inherited);
  sidbeam_runtime* own = threaded_in_child();
  search_in_child(own);
  sidbeam_runtime_release(own);
}

static void destroy_idle_session_and_release(void) {
  sidbeam_session_destroy(idle);
  sidbeam_constraint_release(expected.constraint);
  sidbeam_index_release(index_of_constraint);
  sidbeam_runtime_release(inherited);
}

static void search_with_inherited(void) {
  search_in_child(inherited);
  search_in_child(inherited);
  sidbeam_runtime_release(inherited);
}

static void build_with_inherited(void) {
  REQUIRE(run_script(NULL, 2, temporary_path("child.sidx"), NULL) == SIDBEAM_OK);
  REQUIRE(sidbeam_index_verify(index_of_constraint, SIDBEAM_VERIFY_FULL, NULL) == SIDBEAM_OK);
  sidbeam_runtime_release(inherited);
}

/* A session of mode SAMPLE, by the inherited runtime and by one of the child's own. */
static void draw_in_child(void) {
  static search drawn, again;
  sidbeam_runtime* own = threaded_in_child();
  drawn.constraint = again.constraint = expected.constraint;
  drawn.mode = again.mode = SIDBEAM_MODE_SAMPLE;
  drawn.runtime = inherited;
  again.runtime = own;
  run_search(&drawn);
  if (drawn.status != SIDBEAM_OK) die(__LINE__, "the draws failed:", drawn.error.message);
  run_search(&again);
  REQUIRE(again.status == SIDBEAM_OK && memcmp(&drawn.found, &again.found, sizeof drawn.found) == 0);
  REQUIRE(memcmp(&drawn.found, &expected_draws.found, sizeof drawn.found) == 0);
  sidbeam_runtime_release(own);
  sidbeam_runtime_release(inherited);
}

/* Two sequences of a large catalogue, whose first code the set draws. */
static int32_t draw_with_set(void) {
  static const int64_t keys[2] = {7, 8};
  static const sidbeam_state states[2] = {0, 0};
  static float logits[2][COLUMNS];
  const sidbeam_rows rows = sidbeam_rows_dense(logits, SIDBEAM_DTYPE_F32, 0, 2, COLUMNS);
  int32_t codes[2] = {-1, -1};
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_sampled sampled = SIDBEAM_SAMPLED_INIT;
  sampling.seeds = sampling.requests = keys;
  sampled.codes = codes;
  if (sidbeam_constraint_set_sample(set, NULL, states, &rows, SIDBEAM_NORMALIZE_LEVEL, NULL, &sampling, &sampled, NULL,
                                    NULL) != SIDBEAM_OK)
    return -1;
  return codes[1];
}

static void draw_with_inherited_set(void) {
  REQUIRE(draw_with_set() == expected_code);
  REQUIRE(draw_with_set() == expected_code);
  sidbeam_runtime_release(inherited);
}

/* Takes the draws that the parent's disc has handed out, and decides it. */
static void decide_inherited(void) {
  const int64_t ordinals[2] = {-1, 3};
  const float log_probs[2] = {0, -1}, log_masses[2] = {0, 0};
  int64_t more[4], count = -1, found[2] = {0};
  sidbeam_disc_draws draws = SIDBEAM_DISC_DRAWS_INIT;
  sidbeam_disc_results results = SIDBEAM_DISC_RESULTS_INIT;
  sidbeam_disc_config config = SIDBEAM_DISC_CONFIG_INIT;
  sidbeam_disc* own = NULL;
  draws.count = 2;
  draws.draws = handed_out;
  draws.ordinals = ordinals;
  draws.log_probs = log_probs;
  draws.log_masses = log_masses;
  REQUIRE(sidbeam_disc_add(disc, &draws, NULL) == SIDBEAM_OK);
  REQUIRE(sidbeam_disc_next(disc, 4, more, &count, NULL) == SIDBEAM_OK && count == 1);
  draws.count = 1;
  draws.draws = more;
  REQUIRE(sidbeam_disc_add(disc, &draws, NULL) == SIDBEAM_OK);
  results.ordinals = found;
  REQUIRE(sidbeam_disc_get(disc, &results, NULL) == SIDBEAM_OK && found[0] == -1 && found[1] == 3);
  sidbeam_disc_destroy(disc);
  REQUIRE(sidbeam_disc_create(inherited, &config, &own, NULL) == SIDBEAM_OK);
  sidbeam_disc_destroy(own);
  sidbeam_runtime_release(inherited);
}

static void ask_for_uploads(void) {
  sidbeam_upload_info info = SIDBEAM_UPLOAD_INFO_INIT;
  REQUIRE(sidbeam_index_get_upload(index_of_constraint, 0, &info, NULL) == SIDBEAM_OK);
  sidbeam_index_unload(index_of_constraint, 0);
  sidbeam_runtime_release(inherited);
}

static void fork_again(void) {
  int status = 0;
  search_in_child(inherited);
  await_pool_threads();
  const pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS);
    search_with_inherited();
    _exit(0);
  }
  REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  search_with_inherited();
}

static void count_threads(void) {
  search one = expected;
  sidbeam_session* session = NULL;
  const int before = threads_of_this_process();
  one.runtime = inherited;
  REQUIRE(make_search_session(&one, &session) == SIDBEAM_OK);
  REQUIRE(threads_of_this_process() == before + STEP_THREADS - 1);
  sidbeam_session_destroy(session);
  sidbeam_runtime_release(inherited);
}

static void (*const children[])(void) = {
    release_inherited,     make_then_release,    release_then_make, destroy_idle_session_and_release,
    search_with_inherited, build_with_inherited, ask_for_uploads,   fork_again,
    draw_in_child,         decide_inherited,     count_threads,     draw_with_inherited_set};

/* Of two results, whose first rounds are out. */
static void make_disc(sidbeam_runtime* runtime) {
  sidbeam_disc_config config = SIDBEAM_DISC_CONFIG_INIT;
  int64_t count = 0;
  config.results = 2;
  CHECK_OK(sidbeam_disc_create(runtime, &config, &disc, &err));
  CHECK_OK(sidbeam_disc_next(disc, 2, handed_out, &count, &err));
  CHECK_INT(count, 2);
}

static void set_up(void) {
  sidbeam_runtime* alone = make_runtime();
  (void)temporary_path("child.sidx"); /* the folder is the parent's to remove */
  expected.runtime = alone;
  index_of_constraint = make_index(&small, ALL_KINDS);
  expected.constraint = large_constraint(ALL_KINDS);
  run_search(&expected);
  if (expected.status != SIDBEAM_OK) printf("%s\n", expected.error.message);
  CHECK_INT(expected.status, SIDBEAM_OK);
  expected_draws = (search){.runtime = alone, .constraint = expected.constraint, .mode = SIDBEAM_MODE_SAMPLE};
  run_search(&expected_draws);
  if (expected_draws.status != SIDBEAM_OK) printf("%s\n", expected_draws.error.message);
  CHECK_INT(expected_draws.status, SIDBEAM_OK);
  CHECK_OK(make_threaded(&inherited, &err));
  expected.runtime = inherited;
  search own = expected;
  CHECK_OK(make_search_session(&own, &idle));
  make_disc(alone);
  sidbeam_constraint_set_config of_one = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_constraint* const one[1] = {expected.constraint};
  of_one.constraints = one;
  of_one.constraint_count = 1;
  CHECK_OK(sidbeam_constraint_set_create(alone, &of_one, &set, &err));
  expected_code = draw_with_set();
  CHECK(expected_code >= 0);
  sidbeam_runtime_release(alone);
  await_pool_threads();
}

static void tear_down(void) {
  sidbeam_disc_destroy(disc);
  sidbeam_constraint_set_destroy(set);
  sidbeam_session_destroy(idle);
  sidbeam_runtime_release(inherited);
  sidbeam_constraint_release(expected.constraint);
  sidbeam_index_release(index_of_constraint);
}

static void a_child_of_an_idle_parent_uses_and_releases_what_it_inherits(void) {
  set_up();
  for (size_t i = 0; i < COUNT(children); ++i) {
    in_child(children[i]);
    search after = expected; /* the parent never notices */
    run_search(&after);
    CHECK_INT(after.status, SIDBEAM_OK);
    CHECK(memcmp(&after.found, &expected.found, sizeof after.found) == 0);
  }
  tear_down();
}

/* The load: threads that step on the pool, one that asks for uploads, and one that draws with the set, until they are
 * told to stop. */
static int stop, at_work; /* threads that have done something once */

static int goes_on(int* rounds) {
  if ((*rounds)++ == 1) __atomic_fetch_add(&at_work, 1, __ATOMIC_RELEASE);
  return !__atomic_load_n(&stop, __ATOMIC_RELAXED);
}

/* Its memory and its session's threads are made before the first fork: see await_pool_threads. */
typedef struct loader {
  search search;
  sidbeam_session* session;
  float (*logits)[COLUMNS];
} loader;

static void make_loader(loader* l) {
  l->search = expected;
  l->logits = malloc(sizeof *l->logits * SLOTS * BEAMS);
  CHECK(l->logits != NULL);
  CHECK_OK(make_search_session(&l->search, &l->session));
}

static void free_loader(loader* l) {
  CHECK_INT(l->search.status, SIDBEAM_OK);
  CHECK(memcmp(&l->search.found, &expected.found, sizeof expected.found) == 0);
  sidbeam_session_destroy(l->session);
  free(l->logits);
}

static void* step_without_end(void* argument) {
  loader* l = argument;
  int rounds = 0;
  while (goes_on(&rounds) && l->search.status == SIDBEAM_OK)
    l->search.status = search_in(&l->search, l->session, l->logits);
  return NULL;
}

static void* ask_without_end(void* argument) {
  sidbeam_upload_info info = SIDBEAM_UPLOAD_INFO_INIT;
  int rounds = 0;
  while (goes_on(&rounds)) {
    (void)!sidbeam_index_get_upload(index_of_constraint, 0, &info, NULL);
    sidbeam_index_unload(index_of_constraint, 0);
  }
  return argument;
}

static void* draw_without_end(void* argument) {
  int rounds = 0;
  while (goes_on(&rounds) && draw_with_set() == expected_code) continue;
  return argument;
}

static void a_child_of_a_parent_under_load_uses_and_releases_what_it_inherits(void) {
  static loader loaders[LOADERS];
  pthread_t threads[LOADERS + 2];
  set_up();
  for (int i = 0; i < LOADERS; ++i) make_loader(&loaders[i]);
  await_pool_threads();
  for (int i = 0; i < LOADERS; ++i) CHECK_INT(pthread_create(&threads[i], NULL, step_without_end, &loaders[i]), 0);
  CHECK_INT(pthread_create(&threads[LOADERS], NULL, ask_without_end, NULL), 0);
  CHECK_INT(pthread_create(&threads[LOADERS + 1], NULL, draw_without_end, NULL), 0);
  while (__atomic_load_n(&at_work, __ATOMIC_ACQUIRE) < LOADERS + 2) sched_yield();
  for (size_t i = 0; i < FORKS; ++i) in_child(children[i % COUNT(children)]);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < LOADERS + 2; ++i) CHECK_INT(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < LOADERS; ++i) free_loader(&loaders[i]);
  tear_down();
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_child_of_an_idle_parent_uses_and_releases_what_it_inherits),
      TEST(a_child_of_a_parent_under_load_uses_and_releases_what_it_inherits),
  };
  return RUN_TESTS(tests);
}
