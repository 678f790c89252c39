/* Requests and configs that make no sense: each is refused with what is wrong, and spoils nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runner_rig.h"

static void requests_that_make_no_sense_are_refused(void) {
  static const int32_t strange[] = {1, TINY_TOKENS};
  sidbeam_runner_config config = settings();
  outcome got;
  make_runner(&config);
#define REFUSED(change, ...)                                                                        \
  do {                                                                                              \
    sidbeam_request request = ask(&got);                                                            \
    change;                                                                                         \
    CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__); \
    CHECK_INT(got.calls, 0);                                                                        \
  } while (0)
  REFUSED(
      request.positions = 0,
      "request.positions is 0, expected 1..16, config.max_prompt: an empty prompt needs config.begin_tokens, without "
      "which there is nothing to run");
  REFUSED(request.positions = 17, "request.positions is 17, expected 1..16, config.max_prompt");
  REFUSED(request.tokens = NULL, "request.tokens is NULL, expected 5: request.positions * request.group");
  REFUSED((request.tokens = strange, request.positions = 2), "token 0 of position 1 is 24, expected 0..23");
  REFUSED(request.beams = BEAMS + 1, "request.beams is 5, expected 0..4, config.beams");
  REFUSED(request.beams = -1, "request.beams is -1");
  static const int32_t widths[] = {4, 5, -1};
  REFUSED(request.width_levels = 1, "request.widths is NULL");
  REFUSED((request.widths = widths, request.width_levels = LEVELS + 1), "request.width_levels is 4, expected 0..3");
  REFUSED((request.widths = widths, request.width_levels = -1), "request.width_levels is -1, expected 0..3");
  REFUSED((request.widths = widths, request.width_levels = 2), "request.widths[1] is 5, expected 0..4, request.beams");
  REFUSED((request.widths = widths + 2, request.width_levels = 1), "request.widths[0] is -1, expected 0..4");
  REFUSED((request.beams = 3, request.widths = widths, request.width_levels = 1),
          "request.widths[0] is 4, expected 0..3, request.beams");
  REFUSED(request.group = 2, "request.group is 2, expected 0..1, config.max_group");
  REFUSED(request.done = NULL, "request.done is NULL");
  sidbeam_constraint* other = make_constraint(&two_levels, SIDBEAM_KIND_TRIE);
  REFUSED(request.constraint = other, "request.constraint has 2 levels");
  sidbeam_constraint_release(other);
  sidbeam_request late = ask(&got);
  late.deadline_us = -1;
  CHECK_FAILS(sidbeam_runner_run(runner, &late, &err), SIDBEAM_DEADLINE_EXCEEDED, "request.deadline_us is -1");
  CHECK_INT(got.calls, 0);
  CHECK_INT(run_once().status, SIDBEAM_OK); /* nothing was spoilt */
}

static int32_t leave_alone(void* context, const sidbeam_level* level) {
  (void)context, (void)level;
  return 0;
}

static void configs_that_make_no_sense_are_refused(void) {
  const sidbeam_runner_config good = settings();
  sidbeam_model_config as_bytes = SIDBEAM_MODEL_CONFIG_INIT;
  sidbeam_model* bytes = NULL;
  as_bytes.weights = SIDBEAM_WEIGHTS_INT8;
  CHECK_OK(sidbeam_model_open(write_tiny_model("bytes", NULL), &as_bytes, &bytes, &err));
  sidbeam_vocabulary wide = vocabulary;
  const int64_t past[LEVELS] = {8, 12, TINY_TOKENS - 3};
#define BAD(change, status, ...)                                                              \
  do {                                                                                        \
    sidbeam_runner_config config = good;                                                      \
    change;                                                                                   \
    CHECK_FAILS(sidbeam_runner_create(runtime, &config, &runner, &err), status, __VA_ARGS__); \
    CHECK(runner == NULL);                                                                    \
  } while (0)
  BAD(config.model = NULL, SIDBEAM_INVALID_ARGUMENT, "config.model is NULL");
  BAD(config.constraint = NULL, SIDBEAM_INVALID_ARGUMENT, "config.constraint is NULL");
  BAD(config.beams = 0, SIDBEAM_INVALID_ARGUMENT, "config.beams is 0");
  BAD(config.beams = SIDBEAM_MAX_BEAMS + 1, SIDBEAM_INVALID_ARGUMENT, "config.beams is 4097");
  BAD(config.normalization = 9, SIDBEAM_INVALID_ARGUMENT, "normalization is 9");
  BAD(config.normalization = SIDBEAM_NORMALIZE_NONE, SIDBEAM_INVALID_ARGUMENT, "config.adjust is NULL");
  BAD(config.lanes = -1, SIDBEAM_INVALID_ARGUMENT, "config.lanes is -1");
  BAD(config.max_prompt = -1, SIDBEAM_INVALID_ARGUMENT, "config.max_prompt is -1");
  BAD(config.queue_requests = -1, SIDBEAM_INVALID_ARGUMENT, "config.queue_requests is -1");
  BAD(config.batch_requests = -1, SIDBEAM_INVALID_ARGUMENT, "config.batch_requests is -1");
  BAD(config.wait_us = -1, SIDBEAM_INVALID_ARGUMENT, "config.wait_us is -1");
  BAD((wide.offsets = past, config.vocabulary = &wide), SIDBEAM_INVALID_ARGUMENT, "code 3 of level 2 is token 24");
  BAD(config.max_prompt = 100, SIDBEAM_INVALID_ARGUMENT,
      "config.max_prompt is 100, expected at most 62"); /* max_position_embeddings */
  const int32_t begin[TINY_POSITIONS] = {0};
  BAD((config.begin_tokens = begin, config.begin_count = TINY_POSITIONS - 2, config.max_prompt = 0),
      SIDBEAM_INVALID_ARGUMENT, "config.begin_count is 62: no position is left");
  BAD((config.begin_tokens = begin, config.begin_count = TINY_POSITIONS, config.max_prompt = 0),
      SIDBEAM_INVALID_ARGUMENT, "config.begin_count is 64: no position is left");
  BAD(config.begin_count = 2, SIDBEAM_INVALID_ARGUMENT,
      "config.begin_tokens is NULL, expected 2 tokens, config.begin_count");
  const int32_t strange[] = {1, TINY_TOKENS};
  BAD((config.begin_tokens = strange, config.begin_count = 2), SIDBEAM_INVALID_ARGUMENT,
      "config.begin_tokens[1] is 24, expected 0..23, one of the model's tokens");
  BAD(config.batch_rows = -1, SIDBEAM_INVALID_ARGUMENT, "config.batch_rows is -1, expected 0 or more");
  BAD(config.strategy = 99, SIDBEAM_INVALID_ARGUMENT, "config.strategy is 99, expected 0..4");
  BAD(config.strategy = SIDBEAM_STRATEGY_SORTED, SIDBEAM_MISSING_SECTION, "expected an index built with kinds sorted");
  BAD(config.output_path = -1, SIDBEAM_INVALID_ARGUMENT, "config.output_path is -1, expected 0..2");
  BAD(config.max_listed = -1, SIDBEAM_INVALID_ARGUMENT, "config.max_listed is -1, expected 0..16777216");
  BAD(config.output_path = SIDBEAM_HIDDEN_CHILDREN, SIDBEAM_UNSUPPORTED,
      "config.output_path is SIDBEAM_HIDDEN_CHILDREN, expected another, since config.normalization is not VALID");
  BAD((config.output_path = SIDBEAM_HIDDEN_CHILDREN, config.normalization = SIDBEAM_NORMALIZE_VALID,
       config.adjust = leave_alone),
      SIDBEAM_UNSUPPORTED, "since config.adjust is given");
  BAD((config.output_path = SIDBEAM_HIDDEN_CHILDREN, config.normalization = SIDBEAM_NORMALIZE_VALID,
       config.mode = SIDBEAM_MODE_STOCHASTIC),
      SIDBEAM_UNSUPPORTED, "since config.mode is not SEARCH");
  BAD((config.output_path = SIDBEAM_HIDDEN_CHILDREN, config.normalization = SIDBEAM_NORMALIZE_VALID,
       config.draft = model),
      SIDBEAM_UNSUPPORTED, "since config.draft is given");
  BAD((config.output_path = SIDBEAM_HIDDEN_CHILDREN, config.normalization = SIDBEAM_NORMALIZE_VALID,
       config.model = bytes),
      SIDBEAM_UNSUPPORTED, "since config.model is on CUDA, or its weights are int8");
  BAD(config.cpu_target = "sse9", SIDBEAM_UNSUPPORTED, "config.cpu_target is \"sse9\", expected baseline, or avx2");
  BAD(config.request_threads = 4, SIDBEAM_INVALID_ARGUMENT,
      "config.execute is NULL, expected a function, since config.request_threads is 4");
  wide = vocabulary;
  BAD((wide.levels = 2, config.vocabulary = &wide), SIDBEAM_INVALID_ARGUMENT, "vocabulary.levels: 2, expected 3");
  BAD(config.inverse_temperature = -1, SIDBEAM_INVALID_ARGUMENT, "config.inverse_temperature is -1");
  BAD(config.inverse_temperature = NAN, SIDBEAM_INVALID_ARGUMENT, "config.inverse_temperature is nan");
  BAD(config.inverse_temperature = INFINITY, SIDBEAM_INVALID_ARGUMENT, "config.inverse_temperature is inf");
  BAD(config.soft_cap = -1, SIDBEAM_INVALID_ARGUMENT, "config.soft_cap is -1");
  BAD(config.soft_cap = NAN, SIDBEAM_INVALID_ARGUMENT, "config.soft_cap is nan");
  sidbeam_model_release(bytes);
}

static void* refuse_memory(void* context, int64_t bytes, int64_t alignment) {
  (void)bytes, (void)alignment;
  ++*(int*)context;
  return NULL;
}

static void release_nothing(void* context, void* memory, int64_t bytes, int64_t alignment) {
  (void)context, (void)memory, (void)bytes, (void)alignment;
}

static void what_cannot_be_counted_is_refused_before_memory_is_taken(void) {
  sidbeam_runner_config config = settings();
  sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
  int asked = 0;
  allocator.allocate = refuse_memory;
  allocator.release = release_nothing;
  allocator.context = &asked;
  config.allocator = &allocator;
  config.batch_requests = 1 << 20;
  config.beams = SIDBEAM_MAX_BEAMS;
  CHECK_FAILS(sidbeam_runner_create(runtime, &config, &runner, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.batch_requests * config.beams is 4294967296, expected 1..2147483647");
  config.beams = 1;
  config.lanes = 1024;
  CHECK_FAILS(sidbeam_runner_create(runtime, &config, &runner, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.queue_requests + config.lanes * config.batch_requests is 1073742848, expected 2..1073741823");
  CHECK_INT(asked, 0);
}

/* Its decoder attends to what has been encoded, which its begin tokens are not. */
static void an_encoder_needs_a_token(void) {
  static const int32_t begin[1] = {0};
  outcome got;
  sidbeam_runner_config config = settings();
  sidbeam_model* t5 = NULL;
  CHECK_OK(sidbeam_model_open(T5, NULL, &t5, &err));
  config.model = t5;
  for (int i = 0; i < 2; ++i) {
    config.begin_tokens = i == 0 ? NULL : begin;
    config.begin_count = i;
    make_runner(&config);
    sidbeam_request request = ask(&got);
    request.positions = 0;
    CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_INVALID_ARGUMENT,
                "request.positions is 0, expected 1..16, config.max_prompt: of an empty prompt the decoder would have "
                "nothing to attend to; an encoder needs a token at least, such as the end of sequence");
    request.positions = 1;
    CHECK_OK(sidbeam_runner_run(runner, &request, &err));
    sidbeam_runner_destroy(runner);
    runner = NULL;
  }
  sidbeam_model_release(t5);
}

/* Without a head it is the runner's constraint that names the codebook; where one names none, nothing is compared. */
static void catalogues_of_another_codebook_are_refused(void) {
  outcome got;
  sidbeam_runner_config config = settings();
  sidbeam_constraint *books = constraint_of_codebook(&small, "books"),
                     *films = constraint_of_codebook(&small, "fi\nlms");
  sidbeam_constraint* same = constraint_of_codebook(&small, "books");
  config.constraint = books;
  config.lane_threads = 1;
  make_runner(&config);
  sidbeam_request request = ask(&got);
  request.constraint = films;
  const char* what =
      "request.constraint is of codebook 'fi\\x0alms', expected 'books', that of the runner's constraint";
  CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_INVALID_ARGUMENT, what);
  CHECK_FAILS(sidbeam_runner_submit(runner, &request, NULL, &err), SIDBEAM_INVALID_ARGUMENT, what);
  CHECK_INT(got.calls, 0);
  request.constraint = same;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  request.constraint = constraint; /* names none */
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  CHECK_INT(got.calls, 2);
  sidbeam_runner_destroy(runner);
  config.constraint = constraint;
  make_runner(&config);
  request.constraint = films;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  sidbeam_constraint_release(books);
  sidbeam_constraint_release(films);
  sidbeam_constraint_release(same);
}

int main(void) {
  static const test_case tests[] = {
      TEST(requests_that_make_no_sense_are_refused),
      TEST(configs_that_make_no_sense_are_refused),
      TEST(an_encoder_needs_a_token),
      TEST(catalogues_of_another_codebook_are_refused),
      TEST(what_cannot_be_counted_is_refused_before_memory_is_taken),
  };
  after_test = clean_up;
  return RUN_TESTS(tests);
}
