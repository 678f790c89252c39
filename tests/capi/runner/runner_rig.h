/* What the tests of the runner share: a runner over the tiny model and five items, requests and what their done() was
 * told, and a gate at which a running request waits, so that those behind it wait for their turn.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_RUNNER_RIG_H
#define SIDBEAM_TESTS_CAPI_RUNNER_RIG_H

#include "tiny_model.h"

enum { BEAMS = 4, LEVELS = 3 };

extern const int64_t offsets[LEVELS];
extern const int32_t history[5];

/* What done() was told. */
typedef struct outcome {
  int calls;
  sidbeam_status status;
  char message[512];
  int32_t live, levels, batch;
  int32_t rounds, drafted_levels, accepted_levels;
  int64_t run_us, draft_us;
  int64_t request;
  int32_t sids[BEAMS * LEVELS];
  float scores[BEAMS];
  int64_t ordinals[BEAMS];
} outcome;

/* A done() for which `context` is an outcome. */
void keep(void* context, const sidbeam_result* result);

/* What a test's runner is made of; after_test = clean_up frees it. */
extern sidbeam_runtime* runtime;
extern sidbeam_model* model;
extern sidbeam_constraint* constraint;
extern sidbeam_runner* runner;
extern sidbeam_vocabulary vocabulary;

/* Makes all of them but the runner. */
sidbeam_runner_config settings(void);
void make_runner(const sidbeam_runner_config* config);
void clean_up(void);

/* Of the history, told to `to`, which is cleared. */
sidbeam_request ask(outcome* to);
int64_t submit(outcome* to);
outcome run_once(void);
void drain(void);
void check_same(const outcome* actual, const outcome* expected);
sidbeam_runner_stats stats_of(void);

/* A runner with one thread whose requests wait at the gate, which is closed, at every level. */
void make_gated_runner(int32_t queue_requests);
void set_gate(int closed);
/* Waits until a request waits at the gate. */
void await_running(void);

#endif
