/* Handles of the flat layer under many threads: closes while calls run, sessions that two threads want, views, loans, a
 * build that is watched and cancelled. Meant for ThreadSanitizer, true without it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "flat_rig.h"

enum { THREADS = 4, ROUNDS = 40, CALLS = 30, REPORTS = 50 };

/* What the threads of a round share. A thread may not leave through a check: it counts what should not be. */
typedef struct shared {
  rig r;
  pthread_barrier_t begin;
  atomic_int wrong, done, closed, busy, idle;
} shared;

/* Success, "closed" and "in use" are all that may come. */
static void count(shared* s, const sidbeam_error* error, const char* kind) {
  char closed[64], in_use[64];
  snprintf(closed, sizeof closed, "%s is closed", kind);
  snprintf(in_use, sizeof in_use, "%s is in use by another thread", kind);
  if (error->code == 0) {
    atomic_fetch_add(&s->done, 1);
  } else if (error->code == SIDBEAM_BAD_STATE && strcmp(error->message, closed) == 0) {
    atomic_fetch_add(&s->closed, 1);
  } else if (error->code == SIDBEAM_BAD_STATE && strcmp(error->message, in_use) == 0) {
    atomic_fetch_add(&s->busy, 1);
  } else {
    atomic_fetch_add(&s->wrong, 1);
  }
}

static void prepare(shared* s, int64_t loan) {
  s->r = make_rig(loan);
  atomic_store(&s->wrong, 0);
  atomic_store(&s->done, 0);
  atomic_store(&s->closed, 0);
  atomic_store(&s->busy, 0);
  atomic_store(&s->idle, 0);
  CHECK_INT(pthread_barrier_init(&s->begin, NULL, THREADS), 0);
}

static void run_threads(shared* s, void* (*const bodies[THREADS])(void*)) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) CHECK_INT(pthread_create(&threads[i], NULL, bodies[i], s), 0);
  for (int i = 0; i < THREADS; ++i) CHECK_INT(pthread_join(threads[i], NULL), 0);
  pthread_barrier_destroy(&s->begin);
  CHECK_INT(atomic_load(&s->wrong), 0);
}

/* Starts and steps over and over, and reads what came through a view. */
static void* decode(void* argument) {
  shared* s = (shared*)argument;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  int64_t place[FLAT_BEAMS_COUNT] = {0};
  pthread_barrier_wait(&s->begin);
  for (int i = 0; i < CALLS; ++i) {
    rig_start(&s->r, &error);
    count(s, &error, "session");
    flat_session_get_beams(s->r.session, OUT_I64(place), &error);
    count(s, &error, "session");
    flat_view_retain(s->r.session, &error);
    count(s, &error, "session");
    if (error.code == 0) flat_view_release(s->r.session);
  }
  return NULL;
}

static void* look_up(void* argument) {
  shared* s = (shared*)argument;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  int64_t range[2];
  pthread_barrier_wait(&s->begin);
  for (int i = 0; i < CALLS; ++i) {
    flat_index_ordinals(s->r.index, no_i32, OUT_I64(range), &error);
    count(s, &error, "index");
    if (error.code == 0 && (range[0] != 0 || range[1] != 5)) atomic_fetch_add(&s->wrong, 1);
    flat_handle* constraint = flat_constraint_create(s->r.index, &error);
    count(s, &error, "index");
    flat_free(constraint);
  }
  return NULL;
}

static void* close_all(void* argument) {
  shared* s = (shared*)argument;
  pthread_barrier_wait(&s->begin);
  flat_close(s->r.session);
  flat_close(s->r.index);
  flat_close(s->r.constraint);
  return NULL;
}

static void handles_may_be_closed_while_calls_run(void) {
  static shared s;
  void* (*const bodies[THREADS])(void*) = {decode, decode, look_up, close_all};
  for (int round = 0; round < ROUNDS; ++round) {
    prepare(&s, round);
    run_threads(&s, bodies);
    CHECK_INT(returned(), round); /* all went, with the last call or the close */
    free_rig(&s.r);
    CHECK_INT(returned(), -1);
  }
}

static void many_may_close_at_once(void) {
  static shared s;
  void* (*const bodies[THREADS])(void*) = {close_all, close_all, close_all, look_up};
  for (int round = 0; round < ROUNDS; ++round) {
    prepare(&s, round);
    run_threads(&s, bodies);
    CHECK_INT(returned(), round);
    free_rig(&s.r);
  }
}

/* Steps the session that the others want too, and starts it again when all levels are done. */
static void* step_shared(void* argument) {
  shared* s = (shared*)argument;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  pthread_barrier_wait(&s->begin);
  for (int i = 0; i < CALLS; ++i) {
    rig_step(&s->r, &error);
    if (error.code == SIDBEAM_BAD_STATE && strstr(error.message, "every slot that was started is done") != NULL) {
      atomic_fetch_add(&s->idle, 1);
      rig_start(&s->r, &error);
    } else {
      count(s, &error, "session");
    }
  }
  return NULL;
}

static void of_threads_that_want_one_session_each_gets_it_or_is_told(void) {
  static shared s;
  void* (*const bodies[THREADS])(void*) = {step_shared, step_shared, step_shared, step_shared};
  int64_t stats[FLAT_STATS_COUNT] = {0};
  prepare(&s, 1);
  OKAY(rig_start(&s.r, &err));
  run_threads(&s, bodies);
  CHECK_INT(atomic_load(&s.done) + atomic_load(&s.busy) + atomic_load(&s.idle), THREADS * CALLS);
  CHECK_INT(atomic_load(&s.closed), 0);
  OKAY(flat_session_get_stats(s.r.session, OUT_I64(stats), &err));
  CHECK_INT(stats[FLAT_STATS_STEPS], atomic_load(&s.done)); /* a step that was told "in use" did nothing */
  free_rig(&s.r);
  CHECK_INT(returned(), 1);
}

/* Views that outlive the close, released by other threads. */
static void* release_view(void* argument) {
  shared* s = (shared*)argument;
  pthread_barrier_wait(&s->begin);
  flat_view_release(s->r.session);
  return NULL;
}

static void the_last_view_may_go_on_any_thread(void) {
  static shared s;
  void* (*const bodies[THREADS])(void*) = {release_view, release_view, release_view, close_all};
  for (int round = 0; round < ROUNDS; ++round) {
    prepare(&s, round);
    for (int i = 0; i < THREADS - 1; ++i) OKAY(flat_view_retain(s.r.session, &err));
    run_threads(&s, bodies);
    CHECK_INT(returned(), round);
    free_rig(&s.r);
  }
}

/* A build that goes on while others watch it and cancel. */
static flat_handle* watched;
static void* build(void* argument) {
  shared* s = (shared*)argument;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  pthread_barrier_wait(&s->begin);
  flat_handle* index = flat_builder_finish(watched, &error);
  if ((index == NULL) != (error.code != 0)) atomic_fetch_add(&s->wrong, 1);
  if (error.code == 0) {
    atomic_fetch_add(&s->done, 1);
  } else if (error.code == SIDBEAM_CANCELLED) {
    atomic_fetch_add(&s->closed, 1);
  } else {
    atomic_fetch_add(&s->busy, 1); /* the other builder was inside */
    if (strcmp(error.message, "builder is in use by another thread") != 0) atomic_fetch_add(&s->wrong, 1);
  }
  flat_free(index);
  return NULL;
}

static void* watch(void* argument) {
  shared* s = (shared*)argument;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  pthread_barrier_wait(&s->begin);
  for (int i = 0; i < CALLS; ++i) {
    int64_t progress[3] = {0};
    flat_get_progress(watched, OUT_I64(progress), &error);
    if (error.code != 0 || progress[0] < 0 || progress[0] > SIDBEAM_PHASE_SYNC) atomic_fetch_add(&s->wrong, 1);
  }
  return NULL;
}

static void* cancel(void* argument) {
  shared* s = (shared*)argument;
  pthread_barrier_wait(&s->begin);
  flat_cancel(watched, 1);
  return NULL;
}

static void a_build_may_be_watched_and_cancelled_from_other_threads(void) {
  static shared s;
  void* (*const bodies[THREADS])(void*) = {build, build, watch, cancel};
  for (int round = 0; round < ROUNDS; ++round) {
    prepare(&s, round);
    watched = rig_builder(s.r.runtime);
    OKAY(rig_add(watched, &err));
    run_threads(&s, bodies);
    CHECK_INT(atomic_load(&s.done) + atomic_load(&s.closed) + atomic_load(&s.busy), 2);
    flat_cancel(watched, 0);
    flat_handle* index;
    OKAY(index = flat_builder_finish(watched, &err));
    flat_free(index);
    flat_free(watched);
    free_rig(&s.r);
    CHECK_INT(returned(), round);
  }
}

/* Reports whose three numbers are one, until all others have read enough of them. */
static void* report_often(void* argument) {
  shared* s = (shared*)argument;
  pthread_barrier_wait(&s->begin);
  for (int i = 1; atomic_load(&s->done) < THREADS - 1; ++i) (void)fl_progress(watched, i, i, i);
  return NULL;
}

static void* read_reports(void* argument) {
  shared* s = (shared*)argument;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  int64_t now[3] = {0}, last = 0;
  pthread_barrier_wait(&s->begin);
  for (int read = 0; read < REPORTS; last = now[0]) {
    flat_get_progress(watched, OUT_I64(now), &error);
    if (error.code != 0 || now[0] < last || now[1] != now[0] || now[2] != now[0]) atomic_fetch_add(&s->wrong, 1);
    read += now[0] != last;
  }
  atomic_fetch_add(&s->done, 1);
  return NULL;
}

static void what_is_read_of_a_build_is_one_report(void) {
  static shared s;
  void* (*const bodies[THREADS])(void*) = {report_often, read_reports, read_reports, read_reports};
  prepare(&s, 1);
  watched = rig_builder(s.r.runtime);
  run_threads(&s, bodies);
  flat_free(watched);
  free_rig(&s.r);
}

static void* log_often(void* argument) {
  shared* s = (shared*)argument;
  pthread_barrier_wait(&s->begin);
  for (int i = 0; i < CALLS; ++i) fl_log_put(NULL, SIDBEAM_LOG_INFO, "a message of some length");
  return NULL;
}

static void* take_often(void* argument) {
  shared* s = (shared*)argument;
  char text[FLAT_LOG_BYTES];
  pthread_barrier_wait(&s->begin);
  for (int i = 0; i < CALLS; ++i) {
    const int32_t level = flat_log_take(OUT_BYTES(text));
    if (level >= 0) atomic_fetch_add(&s->done, 1);
    if (level >= 0 && strcmp(text, "a message of some length") != 0) atomic_fetch_add(&s->wrong, 1);
  }
  return NULL;
}

static void messages_of_many_threads_stay_whole(void) {
  static shared s;
  void* (*const bodies[THREADS])(void*) = {log_often, log_often, take_often, take_often};
  prepare(&s, 1);
  run_threads(&s, bodies);
  while (flat_log_take(no_out_bytes) >= 0) atomic_fetch_add(&s.done, 1);
  CHECK_INT(atomic_load(&s.done), 2 * CALLS); /* the queue holds them all */
  free_rig(&s.r);
  CHECK_INT(returned(), 1);
}

int main(void) {
  static const test_case tests[] = {
      TEST(handles_may_be_closed_while_calls_run),
      TEST(many_may_close_at_once),
      TEST(of_threads_that_want_one_session_each_gets_it_or_is_told),
      TEST(the_last_view_may_go_on_any_thread),
      TEST(a_build_may_be_watched_and_cancelled_from_other_threads),
      TEST(what_is_read_of_a_build_is_one_report),
      TEST(messages_of_many_threads_stay_whole),
  };
  return RUN_TESTS(tests);
}
