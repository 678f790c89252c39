/* SPDX-License-Identifier: Apache-2.0 */
#include "../struct_subjects.h"

#include <sidbeam/attention.h>

#include "carried_head.h"
#include "runner_rig.h"
#include "tiny_head.h"

enum { LAYERS = TINY_LAYERS, KEPT = 2, KV = TINY_KV_HEADS * TINY_HEAD_DIM, CODES = 4 };

static void take(void* context, const sidbeam_result* result) { (void)context, (void)result; }

/* A valid one of everything that calls take. */
static struct {
  sidbeam_index* index;
  sidbeam_draft_head* head;
  sidbeam_draft_decoder* decoder;
  sidbeam_session* session;
  sidbeam_output_layer* layer;
  sidbeam_hidden* hidden;
  const char *folder, *path;
  sidbeam_rows states, hidden_states; /* of the hidden, of the decoder */
  sidbeam_attention_args attention_args;
  sidbeam_attention_permute_args permute_args;
  sidbeam_model_config model_config;
  sidbeam_runner_config runner_config;
  sidbeam_shared_kv shared_kv;
  sidbeam_request request;
  sidbeam_draft_weights weights;
  sidbeam_draft_head_config head_config;
  sidbeam_draft_config decoder_config;
  sidbeam_draft_args draft_args;
  sidbeam_output_layer_config layer_config;
  sidbeam_hidden_config hidden_config;
  sidbeam_hidden_step_args step_args;
  sidbeam_model_info model_info;
  sidbeam_runner_stats runner_stats;
  sidbeam_draft_head_info head_info;
  sidbeam_draft_result draft_result;
  sidbeam_hidden_stats hidden_stats;
} w;

static float numbers[64];
static char workspace[1 << 16] __attribute__((aligned(64)));

/* One row over nothing but one ancestor. */
static void fill_attention(void) {
  static const int64_t row_offsets[2] = {0, 1};
  static const int32_t ancestor[1] = {0}, parent[1] = {0};
  static float output[4], moved[2][4];
  sidbeam_attention_args* const args = &w.attention_args;
  *args = (sidbeam_attention_args)SIDBEAM_ATTENTION_ARGS_INIT;
  args->heads = args->kv_heads = 1;
  args->head_dim = 4;
  args->depth = 1;
  args->requests = args->rows = 1;
  args->row_offsets = row_offsets;
  args->queries = args->unshared_keys = args->unshared_values = numbers;
  args->unshared_length = 1;
  args->ancestors = ancestor;
  args->output = output;
  args->workspace = workspace;
  args->workspace_bytes = sizeof workspace;
  w.permute_args = (sidbeam_attention_permute_args)SIDBEAM_ATTENTION_PERMUTE_ARGS_INIT;
  w.permute_args.kv_heads = w.permute_args.beams = w.permute_args.depth = 1;
  w.permute_args.head_dim = 4;
  w.permute_args.requests = 1;
  w.permute_args.unshared_keys = moved[0];
  w.permute_args.unshared_values = moved[1];
  w.permute_args.parents = parent;
}

static void fill_requests(void) {
  static const void* kept[LAYERS] = {numbers, numbers};
  w.model_config = (sidbeam_model_config)SIDBEAM_MODEL_CONFIG_INIT;
  w.shared_kv = (sidbeam_shared_kv)SIDBEAM_SHARED_KV_INIT;
  w.shared_kv.length = KEPT;
  w.shared_kv.keys = w.shared_kv.values = kept;
  w.request = (sidbeam_request)SIDBEAM_REQUEST_INIT;
  w.request.tokens = history;
  w.request.positions = COUNT(history);
  w.request.done = take;
}

static void fill_draft(void) {
  w.weights = tiny_weights();
  w.path = write_head(&w.weights);
  CHECK_OK(sidbeam_draft_head_open(w.path, NULL, &w.head, &err));
  w.head_config = (sidbeam_draft_head_config)SIDBEAM_DRAFT_HEAD_CONFIG_INIT;
  w.decoder_config = draft_config(w.head, w.index);
  w.decoder = make_draft_decoder(runtime, &w.decoder_config);
  w.hidden_states = tiny_hidden(1);
  w.draft_args = (sidbeam_draft_args)SIDBEAM_DRAFT_ARGS_INIT;
  w.draft_args.hidden = &w.hidden_states;
}

static void fill_hidden(void) {
  w.layer_config = (sidbeam_output_layer_config)SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
  w.layer_config.weights = numbers;
  w.layer_config.columns = w.layer_config.width = CODES;
  CHECK_OK(sidbeam_output_layer_create(&w.layer_config, &w.layer, &err));
  const sidbeam_session_config session = session_config(constraint);
  w.session = make_session(&session);
  w.hidden_config = (sidbeam_hidden_config)SIDBEAM_HIDDEN_CONFIG_INIT;
  w.hidden_config.session = w.session;
  w.hidden_config.layer = w.layer;
  CHECK_OK(sidbeam_hidden_create(&w.hidden_config, &w.hidden, &err));
  w.states = make_rows(numbers, 1, session.beams, CODES);
  w.step_args = (sidbeam_hidden_step_args)SIDBEAM_HIDDEN_STEP_ARGS_INIT;
  w.step_args.hidden = &w.states;
}

static void fill_outputs(void) {
  w.model_info = (sidbeam_model_info)SIDBEAM_MODEL_INFO_INIT;
  w.runner_stats = (sidbeam_runner_stats)SIDBEAM_RUNNER_STATS_INIT;
  w.head_info = (sidbeam_draft_head_info)SIDBEAM_DRAFT_HEAD_INFO_INIT;
  w.draft_result = (sidbeam_draft_result)SIDBEAM_DRAFT_RESULT_INIT;
  w.hidden_stats = (sidbeam_hidden_stats)SIDBEAM_HIDDEN_STATS_INIT;
}

void prepare(void) {
  for (size_t i = 0; i < COUNT(numbers); ++i) numbers[i] = (float)(i % 5) / 4;
  w.runner_config = settings();
  make_runner(&w.runner_config);
  w.folder = write_tiny_model("structs", NULL);
  w.index = make_index(&small, SIDBEAM_KIND_TRIE);
  fill_attention();
  fill_requests();
  fill_draft();
  fill_hidden();
  fill_outputs();
}

void finish(void) {
  sidbeam_hidden_destroy(w.hidden);
  sidbeam_session_destroy(w.session);
  sidbeam_output_layer_destroy(w.layer);
  sidbeam_draft_decoder_destroy(w.decoder);
  sidbeam_draft_head_release(w.head);
  sidbeam_index_release(w.index);
  clean_up();
}

#define TAKER(name, call) \
  static sidbeam_status name(void* given) { return call; }
#define MAKER(name, type, call, release)    \
  static sidbeam_status name(void* given) { \
    type* made = NULL;                      \
    const sidbeam_status status = call;     \
    release(made);                          \
    return status;                          \
  }
static int64_t bytes;
TAKER(attention_workspace, sidbeam_attention_workspace(given, &bytes, &err))
TAKER(attention_run, sidbeam_attention_run(given, &err))
TAKER(attention_permute, sidbeam_attention_permute(given, &err))
MAKER(model_open, sidbeam_model, sidbeam_model_open(w.folder, given, &made, &err), sidbeam_model_release)
TAKER(model_get_info, sidbeam_model_get_info(model, given, &err))
MAKER(runner_create, sidbeam_runner, sidbeam_runner_create(runtime, given, &made, &err), sidbeam_runner_destroy)
TAKER(runner_run, sidbeam_runner_run(runner, given, &err))
static sidbeam_status runner_run_shared_kv(void* given) {
  sidbeam_request request = w.request;
  request.shared_kv = given;
  return sidbeam_runner_run(runner, &request, &err);
}
TAKER(runner_get_stats, sidbeam_runner_get_stats(runner, given, &err))
TAKER(head_write, sidbeam_draft_head_write(w.path, given, &err))
MAKER(head_open, sidbeam_draft_head, sidbeam_draft_head_open(w.path, given, &made, &err), sidbeam_draft_head_release)
TAKER(head_get_info, sidbeam_draft_head_get_info(w.head, given, &err))
MAKER(decoder_create, sidbeam_draft_decoder, sidbeam_draft_decoder_create(runtime, given, &made, &err),
      sidbeam_draft_decoder_destroy)
static sidbeam_status decoder_run(void* given) {
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  return sidbeam_draft_decoder_run(w.decoder, given, &result, &err);
}
TAKER(decoder_start, sidbeam_draft_decoder_start(w.decoder, given, &err))
static sidbeam_status decoder_decode(void* given) {
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  CHECK_OK(sidbeam_draft_decoder_start(w.decoder, &w.draft_args, &err));
  clear_error();
  return sidbeam_draft_decoder_decode(w.decoder, given, &result, &err);
}
TAKER(decoder_run_result, sidbeam_draft_decoder_run(w.decoder, &w.draft_args, given, &err))
MAKER(layer_create, sidbeam_output_layer, sidbeam_output_layer_create(given, &made, &err), sidbeam_output_layer_destroy)
MAKER(hidden_create, sidbeam_hidden, sidbeam_hidden_create(given, &made, &err), sidbeam_hidden_destroy)
TAKER(hidden_step, (start_all(w.session), sidbeam_hidden_step(w.hidden, given, &err)))
TAKER(hidden_get_stats, sidbeam_hidden_get_stats(w.hidden, given, &err))

const subject subjects[] = {
    {"sidbeam_attention_args", INPUT, &w.attention_args, attention_workspace, SIDBEAM_OK, 0, NULL},
    {"sidbeam_attention_args", INPUT, &w.attention_args, attention_run, SIDBEAM_OK, 0, NULL},
    {"sidbeam_attention_permute_args", INPUT, &w.permute_args, attention_permute, SIDBEAM_OK, 0, NULL},
    {"sidbeam_model_config", INPUT, &w.model_config, model_open, SIDBEAM_OK, 0, NULL},
    {"sidbeam_runner_config", INPUT, &w.runner_config, runner_create, SIDBEAM_OK, 0, NULL},
    {"sidbeam_shared_kv", INPUT, &w.shared_kv, runner_run_shared_kv, SIDBEAM_OK, 0, NULL},
    {"sidbeam_request", INPUT, &w.request, runner_run, SIDBEAM_OK, 0, NULL},
    {"sidbeam_draft_weights", INPUT, &w.weights, head_write, SIDBEAM_OK, 0, NULL},
    {"sidbeam_draft_head_config", INPUT, &w.head_config, head_open, SIDBEAM_OK, 0, NULL},
    {"sidbeam_draft_config", INPUT, &w.decoder_config, decoder_create, SIDBEAM_OK, 0, NULL},
    {"sidbeam_draft_args", INPUT, &w.draft_args, decoder_run, SIDBEAM_OK, 0, NULL},
    {"sidbeam_draft_args", INPUT, &w.draft_args, decoder_start, SIDBEAM_OK, 0, NULL},
    {"sidbeam_draft_args", INPUT, &w.draft_args, decoder_decode, SIDBEAM_OK, 0, NULL},
    {"sidbeam_output_layer_config", INPUT, &w.layer_config, layer_create, SIDBEAM_OK, 0, NULL},
    {"sidbeam_hidden_config", INPUT, &w.hidden_config, hidden_create, SIDBEAM_OK, 0, NULL},
    {"sidbeam_hidden_step_args", INPUT, &w.step_args, hidden_step, SIDBEAM_OK, 0, NULL},
    {"sidbeam_model_info", OUTPUT, &w.model_info, model_get_info, SIDBEAM_OK, 0, NULL},
    {"sidbeam_runner_stats", OUTPUT, &w.runner_stats, runner_get_stats, SIDBEAM_OK, 0, "up_us"},
    {"sidbeam_draft_head_info", OUTPUT, &w.head_info, head_get_info, SIDBEAM_OK, 0, NULL},
    {"sidbeam_draft_result", OUTPUT, &w.draft_result, decoder_run_result, SIDBEAM_OK, 0, NULL},
    {"sidbeam_hidden_stats", OUTPUT, &w.hidden_stats, hidden_get_stats, SIDBEAM_OK, 0, NULL},
    {"sidbeam_level", HANDED_OUT, NULL, NULL, SIDBEAM_OK, 0, NULL},
    {"sidbeam_result", HANDED_OUT, NULL, NULL, SIDBEAM_OK, 0, NULL},
};

const size_t subject_count = COUNT(subjects);
