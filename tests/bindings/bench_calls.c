/* How long a step's call takes in C, to be held against the same through each language; the setting is in README.md.
 * Prints `overhead c CASE MEDIAN_NS P99_NS`. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sidbeam/sidbeam.h>

enum {
  SIDS = 100000,
  LEVELS = 4,
  CODES = 2048,
  SLOTS = 2,
  BEAMS = 70,
  ELEMENTS = SLOTS * BEAMS * CODES,
  WARM_UP = 2000
};

typedef struct timed_case {
  const char* name;
  int32_t slots, beams, level, given_lse, runs;
} timed_case;
static const timed_case cases[] = {
    {"one", 1, 1, 2, 1, 20000}, {"list", SLOTS, BEAMS, 2, 1, 20000}, {"full", SLOTS, BEAMS, 1, 0, 5000}};

static sidbeam_error err = SIDBEAM_ERROR_INIT;

static void succeed(sidbeam_status status) {
  if (status == SIDBEAM_OK) return;
  fprintf(stderr, "bench_calls: %s: %s\n", sidbeam_status_name(status), err.message);
  exit(EXIT_FAILURE);
}

static void* reserve(size_t bytes) {
  void* memory = malloc(bytes);
  if (memory == NULL) exit(EXIT_FAILURE);
  return memory;
}

static uint64_t mix64(uint64_t x) {
  uint64_t z = x + UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static sidbeam_constraint* make_constraint(sidbeam_runtime* runtime) {
  static const int32_t codes[LEVELS] = {CODES, CODES, CODES, CODES};
  int32_t* sids = (int32_t*)reserve(sizeof(int32_t) * SIDS * LEVELS);
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  sidbeam_builder* builder = NULL;
  sidbeam_index* index = NULL;
  sidbeam_constraint* constraint = NULL;
  sidbeam_constraint_config items = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.levels = LEVELS;
  config.codes = codes;
  for (int64_t i = 0; i < SIDS * LEVELS; ++i) sids[i] = (int32_t)(mix64((uint64_t)i) % CODES);
  succeed(sidbeam_builder_create(runtime, &config, &builder, &err));
  succeed(sidbeam_builder_add(builder, sids, NULL, SIDS, NULL, NULL, &err));
  succeed(sidbeam_builder_finish(builder, &index, &err));
  items.index = index;
  succeed(sidbeam_constraint_create(&items, &constraint, &err));
  sidbeam_builder_destroy(builder);
  sidbeam_index_release(index);
  free(sids);
  return constraint;
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One start and the steps up to the timed one; returns how long that took. */
static int64_t run(sidbeam_session* session, const timed_case* c, const sidbeam_step_args* step) {
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  int64_t begin;
  start.count = c->slots;
  succeed(sidbeam_session_start(session, &start, &err));
  for (int32_t level = 0; level < c->level; ++level) succeed(sidbeam_session_step(session, step, &err));
  begin = now_ns();
  succeed(sidbeam_session_step(session, step, &err));
  return now_ns() - begin;
}

static int rising(const void* a, const void* b) {
  const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x > y) - (x < y);
}

static void time_case(sidbeam_runtime* runtime, sidbeam_constraint* constraint, const timed_case* c,
                      const float* logits, const float* lse) {
  const sidbeam_rows rows = sidbeam_rows_dense(logits, SIDBEAM_DTYPE_F32, c->slots, c->beams, CODES);
  int64_t* times = (int64_t*)reserve(sizeof(int64_t) * (size_t)c->runs);
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_session* session = NULL;
  config.slots = c->slots;
  config.beams = c->beams;
  config.constraint = constraint;
  step.rows = &rows;
  step.lse = c->given_lse ? lse : NULL;
  succeed(sidbeam_session_create(runtime, &config, &session, &err));
  for (int i = 0; i < WARM_UP; ++i) run(session, c, &step);
  for (int i = 0; i < c->runs; ++i) times[i] = run(session, c, &step);
  qsort(times, (size_t)c->runs, sizeof *times, rising);
  printf("overhead c %s %" PRId64 " %" PRId64 "\n", c->name, times[c->runs / 2], times[c->runs - c->runs / 100]);
  sidbeam_session_destroy(session);
  free(times);
}

int main(void) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  sidbeam_constraint* constraint;
  float *logits = (float*)reserve(sizeof(float) * ELEMENTS), lse[SLOTS * BEAMS];
  for (int i = 0; i < ELEMENTS; ++i)
    logits[i] = (float)(mix64((UINT64_C(1) << 32) + (uint64_t)i) >> 40) / (float)(1 << 21) - 4;
  for (int i = 0; i < SLOTS * BEAMS; ++i) lse[i] = 9;
  config.threads = 1;
  config.step_threads = 1;
  succeed(sidbeam_runtime_create(&config, &runtime, &err));
  constraint = make_constraint(runtime);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) time_case(runtime, constraint, &cases[i], logits, lse);
  sidbeam_constraint_release(constraint);
  sidbeam_runtime_release(runtime);
  free(logits);
  return 0;
}
