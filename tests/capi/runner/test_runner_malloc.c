/* Memory of the runner's library: a failure at any allocation is OUT_OF_MEMORY and leaks nothing, and after the first
 * request a runner allocates nothing. Not built with sanitizers (malloc_faults.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "carried_head.h"
#include "failing_allocations.h"
#include "tiny_model.h"

enum { BEAMS = 4, LEVELS = 3 };

static const int64_t offsets[LEVELS] = {8, 12, 16};
static const int32_t history[] = {1, 5, 2, 7, 3};

static int32_t found;
/* How the model is its own draft: not, strictly, relaxed with replacement and without. */
enum { NOT, STRICT, RELAXED, DIFFERENT };
static int speculates;
static int variable;    /* SIDs are of variable length */
static int by_children; /* only the children's logits are computed */
static sidbeam_draft_head* head;

static void count(void* context, const sidbeam_result* result) {
  (void)context;
  found = result->live;
}

static sidbeam_runner_config settings(sidbeam_model* model, sidbeam_constraint* constraint,
                                      const sidbeam_vocabulary* vocabulary) {
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  config.model = model;
  config.constraint = constraint;
  config.vocabulary = vocabulary;
  config.beams = BEAMS;
  config.max_prompt = 16;
  config.batch_requests = 2;
  config.queue_requests = 4;
  if (speculates != NOT) config.draft = model;
  if (speculates >= RELAXED) config.speculate = SIDBEAM_SPECULATE_RELAXED;
  if (speculates == DIFFERENT) config.without_replacement = 1, config.draft_beams = BEAMS + 2;
  if (head != NULL) carry(&config, head);
  if (by_children) {
    config.normalization = SIDBEAM_NORMALIZE_VALID;
    config.output_path = SIDBEAM_HIDDEN_CHILDREN;
  }
  return config;
}

static sidbeam_status request_once(sidbeam_runner* runner, sidbeam_error* error) {
  sidbeam_request request = SIDBEAM_REQUEST_INIT;
  request.tokens = history;
  request.positions = COUNT(history);
  request.done = count;
  return sidbeam_runner_run(runner, &request, error);
}

typedef struct world {
  sidbeam_runtime* runtime;
  sidbeam_constraint* constraint;
  const char* folder;
} world;

static sidbeam_vocabulary own_vocabulary(void) {
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = LEVELS;
  vocabulary.offsets = offsets;
  vocabulary.end_column = 20;
  return vocabulary;
}
static sidbeam_constraint* own_constraint(void) {
  return make_constraint(variable ? &small_variable : &small, SIDBEAM_KIND_TRIE);
}

/* Opens the model, makes a runner, asks once; undoes all. */
static sidbeam_status use(void* context, sidbeam_error* error) {
  const world* w = context;
  const sidbeam_vocabulary vocabulary = own_vocabulary();
  sidbeam_model_config weights = SIDBEAM_MODEL_CONFIG_INIT;
  sidbeam_model* model = NULL;
  sidbeam_runner* runner = NULL;
  sidbeam_status status = sidbeam_model_open(w->folder, &weights, &model, error);
  if (status == SIDBEAM_OK) {
    const sidbeam_runner_config config = settings(model, w->constraint, &vocabulary);
    status = sidbeam_runner_create(w->runtime, &config, &runner, error);
  }
  if (status == SIDBEAM_OK) status = request_once(runner, error);
  sidbeam_runner_destroy(runner);
  sidbeam_model_release(model);
  return status;
}

static void fail_at_every_call(int forever) {
  world w = {make_runtime(), own_constraint(), write_tiny_model("tiny", NULL)};
  const allocating_work work = {use, &w, forever, 0};
  CHECK(fail_every_allocation(&work) > 10);
  CHECK_OK(use(&w, &err));
  CHECK_INT(found, BEAMS);
  sidbeam_constraint_release(w.constraint);
  sidbeam_runtime_release(w.runtime);
}

static void a_failure_at_any_call_is_out_of_memory_and_leaks_nothing(void) { fail_at_every_call(0); }
static void failing_from_any_call_on_is_out_of_memory_and_leaks_nothing(void) { fail_at_every_call(1); }

static void fail_at_all_calls(void) {
  fail_at_every_call(0);
  fail_at_every_call(1);
}

static void with_head(void (*check)(void)) {
  const sidbeam_draft_weights weights = carried_weights();
  head = open_weights(&weights);
  check();
  sidbeam_draft_head_release(head);
  head = NULL;
}

static void a_runner_with_a_draft_fails_no_worse(void) {
  for (speculates = STRICT; speculates <= DIFFERENT; ++speculates) fail_at_all_calls();
  speculates = NOT;
}

static void a_runner_of_children_alone_fails_no_worse(void) {
  by_children = 1;
  fail_at_all_calls();
  by_children = 0;
}

static void a_runner_with_a_head_fails_no_worse(void) { with_head(fail_at_all_calls); }

static void check_that_requests_allocate_nothing(void) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint* constraint = own_constraint();
  sidbeam_model* model = make_tiny_model();
  sidbeam_runner* runner = NULL;
  const sidbeam_vocabulary vocabulary = own_vocabulary();
  const sidbeam_runner_config config = settings(model, constraint, &vocabulary);
  CHECK_OK(sidbeam_runner_create(runtime, &config, &runner, &err));
  CHECK_OK(request_once(runner, &err));
  malloc_faults_begin(-1, 0);
  for (int i = 0; i < 3; ++i) CHECK_OK(request_once(runner, &err));
  malloc_faults_end();
  CHECK_INT(malloc_calls(), 0);
  sidbeam_runner_destroy(runner);
  sidbeam_model_release(model);
  sidbeam_constraint_release(constraint);
  sidbeam_runtime_release(runtime);
}

static void requests_after_the_first_allocate_nothing(void) {
  for (variable = 0; variable < 2; ++variable)
    for (speculates = DIFFERENT; speculates >= NOT; --speculates) check_that_requests_allocate_nothing();
  variable = 0;
  speculates = NOT;
  with_head(check_that_requests_allocate_nothing);
  by_children = 1;
  check_that_requests_allocate_nothing();
  by_children = 0;
}

int main(void) {
  const test_case tests[] = {
      TEST(a_failure_at_any_call_is_out_of_memory_and_leaks_nothing),
      TEST(failing_from_any_call_on_is_out_of_memory_and_leaks_nothing),
      TEST(a_runner_with_a_draft_fails_no_worse),
      TEST(a_runner_with_a_head_fails_no_worse),
      TEST(a_runner_of_children_alone_fails_no_worse),
      TEST(requests_after_the_first_allocate_nothing),
  };
  return RUN_TESTS(tests);
}
