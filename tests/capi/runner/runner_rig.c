/* SPDX-License-Identifier: Apache-2.0 */
#include "runner_rig.h"

#include <pthread.h>

const int64_t offsets[LEVELS] = {8, 12, 16};
const int32_t history[5] = {1, 5, 2, 7, 3};

sidbeam_runtime* runtime;
sidbeam_model* model;
sidbeam_constraint* constraint;
sidbeam_runner* runner;
sidbeam_vocabulary vocabulary;

/* Guards outcomes and the gate. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int gate_closed, at_gate;

void keep(void* context, const sidbeam_result* result) {
  outcome* const to = context;
  pthread_mutex_lock(&lock);
  ++to->calls;
  to->status = result->status;
  snprintf(to->message, sizeof to->message, "%s", result->message);
  to->live = result->live;
  to->levels = result->levels;
  to->batch = result->batch;
  to->rounds = result->rounds;
  to->drafted_levels = result->drafted_levels;
  to->accepted_levels = result->accepted_levels;
  to->run_us = result->run_us;
  to->draft_us = result->draft_us;
  to->request = result->request;
  if (result->live > 0) {
    memcpy(to->sids, result->sids, sizeof(int32_t) * (size_t)(result->live * result->levels));
    memcpy(to->scores, result->scores, sizeof(float) * (size_t)result->live);
    memcpy(to->ordinals, result->ordinals, sizeof(int64_t) * (size_t)result->live);
  }
  pthread_mutex_unlock(&lock);
}

sidbeam_runner_config settings(void) {
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  runtime = make_runtime();
  model = make_tiny_model();
  constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  vocabulary = (sidbeam_vocabulary)SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = LEVELS;
  vocabulary.offsets = offsets;
  config.model = model;
  config.constraint = constraint;
  config.vocabulary = &vocabulary;
  config.beams = BEAMS;
  config.max_prompt = 16;
  return config;
}

void make_runner(const sidbeam_runner_config* config) {
  CHECK_OK(sidbeam_runner_create(runtime, config, &runner, &err));
}

void clean_up(void) {
  set_gate(0);
  sidbeam_runner_destroy(runner);
  sidbeam_constraint_release(constraint);
  sidbeam_model_release(model);
  sidbeam_runtime_release(runtime);
  runner = NULL;
  constraint = NULL;
  model = NULL;
  runtime = NULL;
}

sidbeam_request ask(outcome* to) {
  sidbeam_request request = SIDBEAM_REQUEST_INIT;
  memset(to, 0, sizeof *to);
  request.tokens = history;
  request.positions = COUNT(history);
  request.done = keep;
  request.context = to;
  return request;
}

sidbeam_runner_stats stats_of(void) {
  sidbeam_runner_stats stats = SIDBEAM_RUNNER_STATS_INIT;
  CHECK_OK(sidbeam_runner_get_stats(runner, &stats, &err));
  return stats;
}

void drain(void) {
  int32_t idle = 0;
  CHECK_OK(sidbeam_runner_drain(runner, 0, &idle, &err));
  CHECK_INT(idle, 1);
}

void check_same(const outcome* actual, const outcome* expected) {
  CHECK_INT(actual->calls, 1);
  CHECK_INT(actual->status, expected->status);
  CHECK_INT(actual->live, expected->live);
  CHECK_I32(actual->sids, expected->sids, expected->live * LEVELS);
  CHECK_F32(actual->scores, expected->scores, expected->live);
  CHECK_I64(actual->ordinals, expected->ordinals, expected->live);
}

outcome run_once(void) {
  outcome got;
  const sidbeam_request request = ask(&got);
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  return got;
}

static int32_t wait_at_gate(void* context, const sidbeam_level* level) {
  (void)context, (void)level;
  pthread_mutex_lock(&lock);
  ++at_gate;
  pthread_cond_broadcast(&changed);
  while (gate_closed) pthread_cond_wait(&changed, &lock);
  --at_gate;
  pthread_mutex_unlock(&lock);
  return 0;
}

void set_gate(int closed) {
  pthread_mutex_lock(&lock);
  gate_closed = closed;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

void make_gated_runner(int32_t queue_requests) {
  sidbeam_runner_config config = settings();
  config.lane_threads = 1;
  config.queue_requests = queue_requests;
  config.adjust = wait_at_gate;
  set_gate(1);
  make_runner(&config);
}

int64_t submit(outcome* to) {
  const sidbeam_request request = ask(to);
  int64_t id = 0;
  CHECK_OK(sidbeam_runner_submit(runner, &request, &id, &err));
  return id;
}

void await_running(void) {
  pthread_mutex_lock(&lock);
  while (at_gate == 0) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}
