/* Requests that wait: a full queue, cancellation, closing, whose threads run them, and what the runner holds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>

#include "runner_rig.h"

static void without_threads_only_the_blocking_form_works(void) {
  const sidbeam_runner_config config = settings();
  outcome got;
  make_runner(&config);
  const sidbeam_request request = ask(&got);
  CHECK_FAILS(sidbeam_runner_submit(runner, &request, NULL, &err), SIDBEAM_BAD_STATE,
              "submit() needs config.lane_threads or config.post");
  CHECK_INT(got.calls, 0);
}

static void a_full_queue_refuses_at_once(void) {
  outcome got[4];
  make_gated_runner(2);
  submit(&got[0]);
  await_running();
  submit(&got[1]);
  submit(&got[2]);
  const sidbeam_request request = ask(&got[3]);
  CHECK_FAILS(sidbeam_runner_submit(runner, &request, NULL, &err), SIDBEAM_QUEUE_FULL, "2 requests are waiting");
  set_gate(0);
  drain();
  for (int i = 0; i < 3; ++i) CHECK_INT(got[i].status, SIDBEAM_OK);
  CHECK_INT(got[3].calls, 0);
  const sidbeam_runner_stats stats = stats_of();
  CHECK_INT(stats.submitted, 3);
  CHECK_INT(stats.finished, 3);
  CHECK_INT(stats.refused, 1);
  CHECK_INT(stats.queued + stats.running, 0);
  CHECK(stats.batches >= 1 && stats.batch_requests == 3 && stats.memory_bytes > 0);
}

static void cancelled_requests_end_as_such(void) {
  outcome running, waiting, after;
  make_gated_runner(0);
  const int64_t first = submit(&running);
  await_running();
  const int64_t second = submit(&waiting);
  submit(&after);
  CHECK_OK(sidbeam_runner_cancel(runner, second, &err));
  CHECK_INT(waiting.calls, 1); /* done before cancel returned */
  CHECK_INT(waiting.status, SIDBEAM_CANCELLED);
  CHECK_OK(sidbeam_runner_cancel(runner, first, &err));
  set_gate(0);
  drain();
  CHECK_INT(running.status, SIDBEAM_CANCELLED);
  CHECK_INT(running.live, 0);
  CHECK_INT(after.status, SIDBEAM_OK);
  CHECK_OK(sidbeam_runner_cancel(runner, first, &err)); /* it is over */
  CHECK_FAILS(sidbeam_runner_cancel(runner, 99, &err), SIDBEAM_INVALID_ARGUMENT, "id is 99, expected");
  CHECK_INT(stats_of().cancelled, 2);
}

static void a_number_that_was_never_given_cannot_be_cancelled(void) {
  const sidbeam_runner_config config = settings();
  make_runner(&config);
  CHECK_FAILS(sidbeam_runner_cancel(runner, 1, &err), SIDBEAM_INVALID_ARGUMENT,
              "id is 1, expected a request's number, but none has been taken yet");
  CHECK_INT(run_once().request, 1);
  CHECK_OK(sidbeam_runner_cancel(runner, 1, &err)); /* it is over */
  CHECK_FAILS(sidbeam_runner_cancel(runner, 2, &err), SIDBEAM_INVALID_ARGUMENT, "id is 2, expected 1..1");
  CHECK_FAILS(sidbeam_runner_drain(runner, -5, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "timeout_us is -5, expected 0 or more");
}

static void closing_ends_what_waits_and_finishes_what_runs(void) {
  outcome got[3];
  make_gated_runner(0);
  submit(&got[0]);
  await_running();
  submit(&got[1]);
  submit(&got[2]);
  set_gate(0);
  CHECK_OK(sidbeam_runner_close(runner, &err));
  for (int i = 0; i < 3; ++i) CHECK_INT(got[i].calls, 1);
  CHECK_INT(got[0].status, SIDBEAM_OK);
  CHECK_OK(sidbeam_runner_close(runner, &err));
  const sidbeam_request request = ask(&got[0]);
  CHECK_FAILS(sidbeam_runner_submit(runner, &request, NULL, &err), SIDBEAM_BAD_STATE, "the runner is closed");
  CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_BAD_STATE, "the runner is closed");
}

/* The host's threads: one per task. */
static void* run_task(void* argument) {
  void (** const task)(void*) = argument;
  (*task)(((void**)argument)[1]);
  free(argument);
  return NULL;
}

static int32_t post_to_thread(void* context, void (*task)(void* data), void* data) {
  void** const both = malloc(2 * sizeof *both);
  pthread_t thread;
  memcpy(&both[0], &task, sizeof task);
  both[1] = data;
  if (pthread_create(&thread, NULL, run_task, both) != 0) return 0;
  pthread_detach(thread);
  ++*(int*)context;
  return 1;
}

static void the_hosts_threads_run_what_is_submitted(void) {
  outcome got[3];
  int posted = 0;
  sidbeam_runner_config config = settings();
  make_runner(&config);
  const outcome expected = run_once();
  sidbeam_runner_destroy(runner);
  config.post = post_to_thread;
  config.post_context = &posted;
  make_runner(&config);
  for (int i = 0; i < 3; ++i) submit(&got[i]);
  drain();
  CHECK_OK(sidbeam_runner_close(runner, &err));
  for (int i = 0; i < 3; ++i) check_same(&got[i], &expected);
  CHECK(posted >= 1);
}

/* A host that refuses the task while somebody else has come into run(): once it has been told who waits, it says no. */
typedef struct refusal {
  pthread_t caller;
  outcome ran;
  sidbeam_status status;
} refusal;

static void* call_run(void* argument) {
  refusal* const of = argument;
  const sidbeam_request request = ask(&of->ran);
  sidbeam_error own = SIDBEAM_ERROR_INIT;
  of->status = sidbeam_runner_run(runner, &request, &own);
  return NULL;
}

static int32_t refuse_with_a_caller_behind(void* context, void (*task)(void* data), void* data) {
  refusal* const of = context;
  (void)task, (void)data;
  CHECK(pthread_create(&of->caller, NULL, call_run, of) == 0);
  while (stats_of().queued < 2) sched_yield();
  return 0;
}

static void a_caller_behind_a_request_that_the_host_refuses_gets_its_lane(void) {
  outcome submitted;
  refusal of = {.status = -1};
  sidbeam_runner_config config = settings();
  config.post = refuse_with_a_caller_behind;
  config.post_context = &of;
  make_runner(&config);
  submit(&submitted);
  CHECK_INT(submitted.calls, 1);
  CHECK_INT(submitted.status, SIDBEAM_BAD_STATE);
  CHECK(strstr(submitted.message, "config.post did not take a task that runs the request") != NULL);
  pthread_join(of.caller, NULL);
  CHECK_INT(of.status, SIDBEAM_OK);
  CHECK_INT(of.ran.status, SIDBEAM_OK);
}

/* Counts what a runner holds by config.allocator. */
static void* count_allocation(void* context, int64_t bytes, int64_t alignment) {
  *(int64_t*)context += bytes;
  return aligned_alloc((size_t)alignment, (size_t)((bytes + alignment - 1) / alignment * alignment));
}

static void count_release(void* context, void* memory, int64_t bytes, int64_t alignment) {
  (void)alignment;
  *(int64_t*)context -= bytes;
  free(memory);
}

/* Levels whose codes have the same tokens share their rows of the output layer; otherwise each has its own. */
static void memory_includes_the_rows_of_the_output_layer(void) {
  static const int64_t same[LEVELS] = {8, 8, 8};
  int64_t held[2] = {0, 0}, told[2];
  sidbeam_runner_config config = settings();
  config.normalization = SIDBEAM_NORMALIZE_LEVEL;
  for (int i = 0; i < 2; ++i) {
    sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
    allocator.allocate = count_allocation;
    allocator.release = count_release;
    allocator.context = &held[i];
    config.allocator = &allocator;
    vocabulary.offsets = i == 0 ? same : offsets;
    make_runner(&config);
    told[i] = stats_of().memory_bytes;
    const int64_t now = held[i];
    sidbeam_runner_destroy(runner);
    runner = NULL;
    CHECK_INT(held[i], 0);
    held[i] = now;
  }
  CHECK(held[1] > held[0]);
  CHECK_INT(told[1] - told[0], held[1] - held[0]);
}

int main(void) {
  static const test_case tests[] = {
      TEST(without_threads_only_the_blocking_form_works),
      TEST(a_full_queue_refuses_at_once),
      TEST(cancelled_requests_end_as_such),
      TEST(a_number_that_was_never_given_cannot_be_cancelled),
      TEST(closing_ends_what_waits_and_finishes_what_runs),
      TEST(the_hosts_threads_run_what_is_submitted),
      TEST(a_caller_behind_a_request_that_the_host_refuses_gets_its_lane),
      TEST(memory_includes_the_rows_of_the_output_layer),
  };
  after_test = clean_up;
  return RUN_TESTS(tests);
}
