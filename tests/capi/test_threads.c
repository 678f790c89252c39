/* Many threads: sessions on one index, references that come and go during steps, files opened and replaced at once,
 * builders side by side. Meant for ThreadSanitizer, true without it. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "script.h"

enum { THREADS = 4, ROUNDS = 60, BEAMS = 16, CODES = 16, LEVELS = 3 };

typedef struct work {
  int number, owns; /* owns: gives back its own references at its end */
  sidbeam_runtime* runtime;
  sidbeam_index* index;
  sidbeam_constraint* constraint;
  sidbeam_constraint_set* set;
  const char* path;
  int32_t codes[LEVELS * BEAMS], parents[LEVELS * BEAMS];
  float scores[LEVELS * BEAMS];
  const struct work* expected;
  sidbeam_error error;
  int failed; /* line of the first check that failed; a thread may not leave through longjmp */
} work;

#define THREAD_CHECK(w, condition)                  \
  do {                                              \
    if (!(condition)) {                             \
      if ((w)->failed == 0) (w)->failed = __LINE__; \
      return;                                       \
    }                                               \
  } while (0)

static uint32_t noise(uint32_t* state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

static sidbeam_builder* large_builder(sidbeam_runtime* runtime) {
  static const int32_t codes[LEVELS] = {CODES, CODES, CODES};
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  sidbeam_builder* builder = NULL;
  int32_t sids[500 * LEVELS];
  uint32_t state = 7;
  for (size_t i = 0; i < COUNT(sids); ++i) sids[i] = (int32_t)(noise(&state) % CODES);
  config.levels = LEVELS;
  config.codes = codes;
  config.kinds = ALL_KINDS;
  config.threads = 3;
  if (sidbeam_builder_create(runtime, &config, &builder, NULL) != SIDBEAM_OK) return NULL;
  if (sidbeam_builder_add(builder, sids, NULL, 500, NULL, NULL, NULL) != SIDBEAM_OK) {
    sidbeam_builder_destroy(builder);
    return NULL;
  }
  return builder;
}

/* A whole search; w gets the beams of every level. */
static void search(work* w, int32_t strategy) {
  float logits[LEVELS][BEAMS][CODES];
  uint32_t state = 99;
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  const sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_session* session = NULL;
  for (int i = 0; i < LEVELS * BEAMS * CODES; ++i) (&logits[0][0][0])[i] = (float)(noise(&state) % 512) / 32;
  config.constraint = w->constraint;
  config.beams = BEAMS;
  config.strategy = strategy;
  THREAD_CHECK(w, sidbeam_session_create(w->runtime, &config, &session, &w->error) == SIDBEAM_OK);
  int ok = sidbeam_session_start(session, &start, &w->error) == SIDBEAM_OK;
  for (int level = 0; ok && level < LEVELS; ++level) {
    const sidbeam_rows rows = make_rows(&logits[level][0][0], 1, BEAMS, CODES);
    sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
    step.rows = &rows;
    ok = sidbeam_session_step(session, &step, &w->error) == SIDBEAM_OK &&
         sidbeam_session_get_beams(session, &beams, &w->error) == SIDBEAM_OK;
    if (!ok) break;
    memcpy(w->codes + level * BEAMS, beams.codes, sizeof(int32_t) * BEAMS);
    memcpy(w->parents + level * BEAMS, beams.parents, sizeof(int32_t) * BEAMS);
    memcpy(w->scores + level * BEAMS, beams.scores, sizeof(float) * BEAMS);
  }
  sidbeam_session_destroy(session);
  THREAD_CHECK(w, ok);
}

static void check_same(work* w) {
  THREAD_CHECK(w, memcmp(w->codes, w->expected->codes, sizeof w->codes) == 0);
  THREAD_CHECK(w, memcmp(w->parents, w->expected->parents, sizeof w->parents) == 0);
  THREAD_CHECK(w, memcmp(w->scores, w->expected->scores, sizeof w->scores) == 0);
}

/* Draws for BEAMS sequences, which all threads begin anew. */
static void draw(work* w) {
  static const int64_t seeds[BEAMS] = {0};
  int64_t requests[BEAMS];
  float logits[BEAMS * CODES];
  uint32_t state = 5;
  sidbeam_state states[BEAMS] = {0};
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
  sampling.seeds = seeds;
  sampling.requests = requests;
  out.next = states;
  for (int i = 0; i < BEAMS; ++i) requests[i] = i;
  for (int level = 0; level < LEVELS; ++level) {
    for (int i = 0; i < BEAMS * CODES; ++i) logits[i] = (float)(noise(&state) % 512) / 128;
    const sidbeam_rows rows = make_rows(logits, 0, BEAMS, CODES);
    out.codes = w->codes + level * BEAMS;
    THREAD_CHECK(w, sidbeam_constraint_set_sample(w->set, NULL, states, &rows, SIDBEAM_NORMALIZE_FULL, NULL, &sampling,
                                                  &out, NULL, &w->error) == SIDBEAM_OK);
  }
}

static void* draw_often(void* argument) {
  work* w = argument;
  for (int round = 0; round < ROUNDS && w->failed == 0; ++round) {
    memset(w->codes, 0, sizeof w->codes);
    draw(w);
    if (w->failed == 0) check_same(w);
  }
  return NULL;
}

static void* search_often(void* argument) {
  work* w = argument;
  for (int round = 0; round < ROUNDS && w->failed == 0; ++round) {
    search(w, (round + w->number) % 2 == 0 ? SIDBEAM_STRATEGY_TRIE : SIDBEAM_STRATEGY_SORTED);
    if (w->failed == 0) check_same(w);
  }
  if (w->owns) {
    sidbeam_index_release(w->index);
    sidbeam_constraint_release(w->constraint);
  }
  return NULL;
}

static void* retain_and_release(void* argument) {
  work* w = argument;
  for (int round = 0; round < ROUNDS * 50; ++round) {
    sidbeam_index_retain(w->index);
    sidbeam_constraint_retain(w->constraint);
    sidbeam_constraint_release(w->constraint);
    sidbeam_index_release(w->index);
  }
  return NULL;
}

static void open_and_verify(work* w) {
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  for (int round = 0; round < ROUNDS; ++round) {
    sidbeam_index* index = NULL;
    int64_t lo = -1, hi = -1;
    config.residency = round % 2 == 0 ? SIDBEAM_RESIDENCY_MAP : SIDBEAM_RESIDENCY_COPY;
    config.verify = round % 3;
    THREAD_CHECK(w, sidbeam_index_open(w->runtime, w->path, &config, &index, &w->error) == SIDBEAM_OK);
    const sidbeam_status status = sidbeam_index_ordinals(index, NULL, 0, &lo, &hi, &w->error);
    sidbeam_index_release(index);
    THREAD_CHECK(w, status == SIDBEAM_OK && lo == 0 && hi > 0);
  }
}

static void* open_often(void* argument) {
  open_and_verify(argument);
  return NULL;
}

static void replace_file(work* w) {
  for (int round = 0; round < ROUNDS / 4; ++round) {
    sidbeam_builder* builder = large_builder(w->runtime);
    THREAD_CHECK(w, builder != NULL);
    const sidbeam_status status = sidbeam_builder_write(builder, w->path, &w->error);
    sidbeam_builder_destroy(builder);
    THREAD_CHECK(w, status == SIDBEAM_OK);
  }
}

static void* replace_often(void* argument) {
  replace_file(argument);
  return NULL;
}

static void* run_whole_script(void* argument) {
  work* w = argument;
  for (int round = 0; round < 6 && w->failed == 0; ++round) {
    if (run_script(NULL, 2, w->path, &w->error) != SIDBEAM_OK) w->failed = __LINE__;
  }
  return NULL;
}

/* The shared index of these tests, and the result of a search on one thread. */
static work prepare(void) {
  work w;
  memset(&w, 0, sizeof w);
  w.error = (sidbeam_error)SIDBEAM_ERROR_INIT;
  CHECK_OK(sidbeam_runtime_create(NULL, &w.runtime, &err));
  sidbeam_builder* builder = large_builder(w.runtime);
  CHECK(builder != NULL);
  CHECK_OK(sidbeam_builder_finish(builder, &w.index, &err));
  sidbeam_builder_destroy(builder);
  w.constraint = constrain(w.index);
  return w;
}

static void finish(work* w) {
  sidbeam_constraint_release(w->constraint);
  sidbeam_index_release(w->index);
  sidbeam_runtime_release(w->runtime);
}

static void run_all(work* works, void* (*const* bodies)(void*), int count) {
  pthread_t threads[2 * THREADS];
  for (int i = 0; i < count; ++i) CHECK_INT(pthread_create(&threads[i], NULL, bodies[i], &works[i]), 0);
  for (int i = 0; i < count; ++i) CHECK_INT(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < count; ++i) {
    if (works[i].failed != 0) printf("thread %d, line %d: %s\n", i, works[i].failed, works[i].error.message);
    CHECK_INT(works[i].failed, 0);
  }
}

static void sessions_share_an_index_while_references_come_and_go(void) {
  work single = prepare(), works[2 * THREADS];
  void* (*bodies[2 * THREADS])(void*);
  search(&single, SIDBEAM_STRATEGY_TRIE);
  CHECK_INT(single.failed, 0);
  for (int i = 0; i < 2 * THREADS; ++i) {
    works[i] = single;
    works[i].number = i;
    works[i].expected = &single;
    bodies[i] = i % 2 == 0 ? search_often : retain_and_release;
  }
  run_all(works, bodies, 2 * THREADS);
  finish(&single);
}

static void draws_of_one_set_do_not_meet(void) {
  work single = prepare(), works[THREADS];
  void* (*bodies[THREADS])(void*);
  single.set = make_set(&single.constraint, 1, NULL);
  draw(&single);
  CHECK_INT(single.failed, 0);
  for (int i = 0; i < THREADS; ++i) {
    works[i] = single;
    works[i].expected = &single;
    bodies[i] = draw_often;
  }
  run_all(works, bodies, THREADS);
  sidbeam_constraint_set_destroy(single.set);
  finish(&single);
}

static void the_last_reference_may_go_on_any_thread(void) {
  work single = prepare(), works[THREADS];
  void* (*bodies[THREADS])(void*);
  search(&single, SIDBEAM_STRATEGY_TRIE);
  for (int i = 0; i < THREADS; ++i) {
    works[i] = single;
    works[i].number = i;
    works[i].owns = 1;
    works[i].expected = &single;
    bodies[i] = search_often;
    sidbeam_index_retain(single.index);
    sidbeam_constraint_retain(single.constraint);
  }
  sidbeam_constraint_release(single.constraint);
  sidbeam_index_release(single.index);
  run_all(works, bodies, THREADS);
  sidbeam_runtime_release(single.runtime);
}

static void files_are_opened_while_they_are_replaced(void) {
  work single = prepare(), works[THREADS];
  void* (*const bodies[THREADS])(void*) = {open_often, open_often, replace_often, open_often};
  single.path = temporary_path("shared.sidx");
  replace_file(&single);
  CHECK_INT(single.failed, 0);
  for (int i = 0; i < THREADS; ++i) works[i] = single;
  run_all(works, bodies, THREADS);
  finish(&single);
}

static void builders_and_searches_run_side_by_side(void) {
  work works[THREADS];
  void* (*bodies[THREADS])(void*);
  char name[20];
  memset(works, 0, sizeof works);
  for (int i = 0; i < THREADS; ++i) {
    snprintf(name, sizeof name, "script%d.sidx", i);
    works[i].path = temporary_path(name);
    works[i].error = (sidbeam_error)SIDBEAM_ERROR_INIT;
    bodies[i] = run_whole_script;
  }
  run_all(works, bodies, THREADS);
}

int main(void) {
  static const test_case tests[] = {
      TEST(sessions_share_an_index_while_references_come_and_go),
      TEST(draws_of_one_set_do_not_meet),
      TEST(the_last_reference_may_go_on_any_thread),
      TEST(files_are_opened_while_they_are_replaced),
      TEST(builders_and_searches_run_side_by_side),
  };
  return RUN_TESTS(tests);
}
