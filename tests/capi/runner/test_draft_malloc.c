/* Memory of draft heads: a failure at any allocation is OUT_OF_MEMORY and leaks nothing, and after the first run a
 * decoder allocates nothing. Not built with sanitizers (malloc_faults.h). SPDX-License-Identifier: Apache-2.0 */
#include "failing_allocations.h"
#include "tiny_head.h"

static int32_t found;

static sidbeam_status run_once(sidbeam_draft_decoder* decoder, sidbeam_error* error) {
  const sidbeam_rows hidden = tiny_hidden(2);
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  args.hidden = &hidden;
  const sidbeam_status status = sidbeam_draft_decoder_run(decoder, &args, &result, error);
  if (status == SIDBEAM_OK) found = result.live[0] + result.live[1];
  return status;
}

typedef struct world {
  sidbeam_runtime* runtime;
  sidbeam_index* index;
  const char* path;
} world;

/* Writes a head, opens it, makes a decoder, runs once; undoes all. */
static sidbeam_status use(void* context, sidbeam_error* error) {
  const world* w = context;
  const sidbeam_draft_weights weights = tiny_weights();
  sidbeam_draft_head* head = NULL;
  sidbeam_draft_decoder* decoder = NULL;
  sidbeam_status status = sidbeam_draft_head_write(w->path, &weights, error);
  if (status == SIDBEAM_OK) status = sidbeam_draft_head_open(w->path, NULL, &head, error);
  if (status == SIDBEAM_OK) {
    sidbeam_draft_config config = draft_config(head, w->index);
    config.requests = 2;
    config.verification = SIDBEAM_DRAFT_VERIFY_HASH;
    status = sidbeam_draft_decoder_create(w->runtime, &config, &decoder, error);
  }
  if (status == SIDBEAM_OK) status = run_once(decoder, error);
  sidbeam_draft_decoder_destroy(decoder);
  sidbeam_draft_head_release(head);
  return status;
}

static void fail_at_every_call(int forever) {
  world w = {make_runtime(), make_index(&small, SIDBEAM_KIND_HASH), temporary_path("head.sdraft")};
  const allocating_work work = {use, &w, forever, 0};
  CHECK_OK(use(&w, &err));
  const int32_t expected = found;
  CHECK(fail_every_allocation(&work) > 30);
  CHECK_INT(files_in_folder(w.path), 1); /* no litter */
  CHECK_OK(use(&w, &err));
  CHECK_INT(found, expected);
  sidbeam_index_release(w.index);
  sidbeam_runtime_release(w.runtime);
}

static void a_failure_at_any_call_is_out_of_memory_and_leaks_nothing(void) { fail_at_every_call(0); }
static void failing_from_any_call_on_is_out_of_memory_and_leaks_nothing(void) { fail_at_every_call(1); }

static void runs_after_the_first_allocate_nothing(void) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_index* index = make_index(&small, ALL_KINDS);
  sidbeam_draft_head* head = make_tiny_head();
  sidbeam_draft_config config = draft_config(head, index);
  config.requests = 2;
  for (int32_t verification = SIDBEAM_DRAFT_VERIFY_TRIE; verification <= SIDBEAM_DRAFT_VERIFY_NONE; ++verification) {
    config.verification = verification;
    sidbeam_draft_decoder* decoder = make_draft_decoder(runtime, &config);
    CHECK_OK(run_once(decoder, &err));
    malloc_faults_begin(-1, 0);
    for (int i = 0; i < 3; ++i) CHECK_OK(run_once(decoder, &err));
    malloc_faults_end();
    CHECK_INT(malloc_calls(), 0);
    sidbeam_draft_decoder_destroy(decoder);
  }
  sidbeam_draft_head_release(head);
  sidbeam_index_release(index);
  sidbeam_runtime_release(runtime);
}

int main(void) {
  const test_case tests[] = {
      TEST(a_failure_at_any_call_is_out_of_memory_and_leaks_nothing),
      TEST(failing_from_any_call_on_is_out_of_memory_and_leaks_nothing),
      TEST(runs_after_the_first_allocate_nothing),
  };
  return RUN_TESTS(tests);
}
