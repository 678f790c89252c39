/* The caller's floating-point mode in the runner's library: models and heads that are opened, requests, attention,
 * steps from hidden states and draft heads have the same bits in every mode, and leave the mode unchanged.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sidbeam/attention.h>

#include "../float_modes.h"
#include "carried_head.h"
#include "runner_rig.h"
#include "tiny_head.h"

/* Numbers that no mode rounds alike, denormals among them. */
static void fill(float* values, int count) {
  uint32_t state = 1;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)(int32_t)(state >> 8) / 9e6f - 0.9f;
    if (i % 7 == 3) values[i] *= 1e-38f;
  }
}

static void keep_outcome(call_outcome* o, const outcome* got) {
  CHECK_INT(got->calls, 1);
  keep_words(o, &got->live, sizeof got->live);
  keep_words(o, got->sids, sizeof got->sids);
  keep_words(o, got->scores, sizeof got->scores);
  keep_words(o, got->ordinals, sizeof got->ordinals);
}

static void run_request(const void* input, call_outcome* o) {
  outcome got;
  sidbeam_request request = ask(&got);
  request.seed = *(const int64_t*)input;
  keep_status(o, sidbeam_runner_run(runner, &request, &err));
  keep_outcome(o, &got);
}

static void check_requests(const sidbeam_runner_config* config, int64_t seed) {
  make_runner(config);
  CHECK_INT(in_every_mode(run_request, &seed).status, SIDBEAM_OK);
  sidbeam_runner_destroy(runner);
  runner = NULL;
}

static void requests(void) {
  sidbeam_runner_config config = settings();
  for (config.normalization = SIDBEAM_NORMALIZE_FULL; config.normalization <= SIDBEAM_NORMALIZE_VALID;
       ++config.normalization)
    check_requests(&config, 0);
  config.normalization = SIDBEAM_NORMALIZE_FULL;
  config.mode = SIDBEAM_MODE_STOCHASTIC;
  check_requests(&config, 5);
}

static void requests_with_a_draft(void) {
  sidbeam_runner_config config = settings();
  config.draft = model;
  check_requests(&config, 0);
  config.speculate = SIDBEAM_SPECULATE_RELAXED;
  check_requests(&config, 5);
}

static void requests_with_a_head(void) {
  sidbeam_runner_config config = settings();
  const sidbeam_draft_weights weights = carried_weights();
  sidbeam_draft_head* const head = open_weights(&weights);
  carry(&config, head);
  check_requests(&config, 0);
  sidbeam_draft_head_release(head);
}

typedef struct opened_model {
  const char* folder;
  int32_t weights;
} opened_model;

/* Rounds the weights to the type that is asked for. */
static void open_and_run(const void* input, call_outcome* o) {
  const opened_model* in = input;
  sidbeam_model_config how = SIDBEAM_MODEL_CONFIG_INIT;
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  sidbeam_model* opened = NULL;
  outcome got;
  how.weights = in->weights;
  keep_status(o, sidbeam_model_open(in->folder, &how, &opened, &err));
  config.model = opened;
  config.constraint = constraint;
  config.vocabulary = &vocabulary;
  config.beams = BEAMS;
  config.max_prompt = 16;
  make_runner(&config);
  const sidbeam_request request = ask(&got);
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  keep_outcome(o, &got);
  sidbeam_runner_destroy(runner);
  sidbeam_model_release(opened);
  runner = NULL;
}

static void models_that_are_opened(void) {
  (void)settings();
  opened_model in = {write_tiny_model("modes", NULL), SIDBEAM_WEIGHTS_STORED};
  for (; in.weights <= SIDBEAM_WEIGHTS_INT8; ++in.weights)
    CHECK_INT(in_every_mode(open_and_run, &in).status, SIDBEAM_OK);
}

/* Two rows over a prompt of three positions and lists of two ancestors. */
enum { HEADS = 2, DIM = 5, ROWS = 2, SHARED = 3, UNSHARED = 4, DEPTH = 2, ROW = HEADS * DIM };
static float queries[ROWS * ROW], keys[SHARED * ROW], values[SHARED * ROW], own_keys[UNSHARED * ROW],
    own_values[UNSHARED * ROW], bias[HEADS * SHARED];

static void attend(const void* input, call_outcome* o) {
  static const int32_t ancestors[ROWS * DEPTH] = {0, 2, 1, -1};
  static const int64_t row_offsets[2] = {0, ROWS}, lengths[1] = {SHARED};
  static char workspace[1 << 16] __attribute__((aligned(64)));
  const void *shared_keys[1] = {keys}, *shared_values[1] = {values};
  const float* shared_bias[1] = {bias};
  float output[ROWS * ROW] = {0}, log_sum_exp[ROWS * HEADS] = {0};
  sidbeam_attention_args args = SIDBEAM_ATTENTION_ARGS_INIT;
  (void)input;
  args.heads = args.kv_heads = HEADS;
  args.head_dim = DIM;
  args.depth = DEPTH;
  args.requests = 1;
  args.rows = ROWS;
  args.row_offsets = row_offsets;
  args.queries = queries;
  args.shared_keys = shared_keys;
  args.shared_values = shared_values;
  args.shared_lengths = lengths;
  args.unshared_keys = own_keys;
  args.unshared_values = own_values;
  args.unshared_length = UNSHARED;
  args.ancestors = ancestors;
  args.shared_bias = shared_bias;
  args.output = output;
  args.log_sum_exp = log_sum_exp;
  args.workspace = workspace;
  args.workspace_bytes = sizeof workspace;
  keep_status(o, sidbeam_attention_run(&args, &err));
  keep_words(o, output, sizeof output);
  keep_words(o, log_sum_exp, sizeof log_sum_exp);
}

static void attention(void) {
  fill(queries, ROWS * ROW);
  fill(keys, SHARED * ROW);
  fill(values, SHARED * ROW);
  fill(own_keys, UNSHARED * ROW);
  fill(own_values, UNSHARED * ROW);
  fill(bias, HEADS * SHARED);
  CHECK_INT(in_every_mode(attend, NULL).status, SIDBEAM_OK);
}

enum { WIDTH = 7, CODES = 4 };

typedef struct hidden_rig {
  sidbeam_session* session;
  sidbeam_hidden* hidden;
} hidden_rig;

static void step_hidden(const void* input, call_outcome* o) {
  static float states[BEAMS * WIDTH] = {-0.3f, 1.7f, 1e-40f, 0.9f, -1e-39f, 2.3f, 0.1f, 0.7f, -0.2f, 1e-41f};
  const hidden_rig* in = input;
  const sidbeam_beams beams = beams_of(in->session);
  const sidbeam_rows rows = make_rows(states, 1, BEAMS, WIDTH);
  sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
  args.hidden = &rows;
  start_all(in->session);
  for (int level = 0; level < LEVELS; ++level) {
    keep_status(o, sidbeam_hidden_step(in->hidden, &args, &err));
    keep_words(o, beams.scores, BEAMS * sizeof(float));
    keep_words(o, beams.codes, BEAMS * sizeof(int32_t));
  }
}

static void check_hidden(int32_t normalization) {
  static float weights[CODES * WIDTH], column_bias[CODES];
  sidbeam_output_layer_config layer_config = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
  sidbeam_hidden_config config = SIDBEAM_HIDDEN_CONFIG_INIT;
  sidbeam_output_layer* layer = NULL;
  hidden_rig rig = {NULL, NULL};
  fill(weights, CODES * WIDTH);
  fill(column_bias, CODES);
  layer_config.weights = weights;
  layer_config.columns = CODES;
  layer_config.width = WIDTH;
  layer_config.bias = column_bias;
  CHECK_OK(sidbeam_output_layer_create(&layer_config, &layer, &err));
  sidbeam_session_config session = session_config(constraint);
  session.beams = BEAMS;
  session.normalization = normalization;
  config.session = rig.session = make_session(&session);
  config.layer = layer;
  CHECK_OK(sidbeam_hidden_create(&config, &rig.hidden, &err));
  CHECK_INT(in_every_mode(step_hidden, &rig).status, SIDBEAM_OK);
  sidbeam_hidden_destroy(rig.hidden);
  sidbeam_session_destroy(rig.session);
  sidbeam_output_layer_destroy(layer);
}

static void steps_from_hidden_states(void) {
  (void)settings();
  for (int32_t n = SIDBEAM_NORMALIZE_FULL; n <= SIDBEAM_NORMALIZE_NONE; ++n) check_hidden(n);
}

typedef struct draft_input {
  const char* path;
  int32_t verification;
} draft_input;

/* Opening multiplies the embeddings. */
static void open_and_draft(const void* input, call_outcome* o) {
  const draft_input* in = input;
  sidbeam_index* const index = make_index(&small, ALL_KINDS);
  sidbeam_draft_head* head = NULL;
  keep_status(o, sidbeam_draft_head_open(in->path, NULL, &head, &err));
  sidbeam_draft_config config = draft_config(head, index);
  config.verification = in->verification;
  sidbeam_draft_decoder* const decoder = make_draft_decoder(runtime, &config);
  const sidbeam_draft_result result = draft(decoder, 1);
  keep_words(o, result.sids, (size_t)(result.beams * result.levels) * sizeof(int32_t));
  keep_words(o, result.scores, (size_t)result.beams * sizeof(float));
  sidbeam_draft_decoder_destroy(decoder);
  sidbeam_draft_head_release(head);
  sidbeam_index_release(index);
}

static void draft_heads(void) {
  (void)settings();
  /* The runner's head is a GRU. */
  static const int32_t transitions[] = {SIDBEAM_DRAFT_TRANSITION_RNN, SIDBEAM_DRAFT_TRANSITION_ADD};
  for (size_t i = 0; i < COUNT(transitions); ++i) {
    sidbeam_draft_weights weights = tiny_weights();
    weights.transition = transitions[i];
    draft_input in = {write_head(&weights), SIDBEAM_DRAFT_VERIFY_TRIE};
    for (; in.verification <= SIDBEAM_DRAFT_VERIFY_NONE; ++in.verification)
      CHECK_INT(in_every_mode(open_and_draft, &in).status, SIDBEAM_OK);
  }
}

int main(void) {
  static const test_case tests[] = {
      TEST(requests),  TEST(requests_with_a_draft),    TEST(requests_with_a_head), TEST(models_that_are_opened),
      TEST(attention), TEST(steps_from_hidden_states), TEST(draft_heads),
  };
  after_test = clean_up;
  return RUN_TESTS(tests);
}
