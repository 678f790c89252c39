/* sidbeam: every function of libsidbeam_runner.so.1 in one table, for hosts that dlopen it. As api.h, for the headers
 * attention.h, draft.h, hidden.h and runner.h.
 *
 *   void *library = dlopen("libsidbeam_runner.so.1", RTLD_NOW | RTLD_LOCAL);
 *   sidbeam_runner_get_api_function get_api;
 *   *(void **)&get_api = dlsym(library, "sidbeam_runner_get_api");
 *   const sidbeam_runner_api *api;
 *   if (get_api(SIDBEAM_RUNNER_ABI_VERSION, &api, &err)) ...
 *   api->model_open("model", NULL, &model, &err);
 *
 * Entries are only ever added at the end. Look at struct_size before using one that a later header added.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_RUNNER_API_H
#define SIDBEAM_RUNNER_API_H

#include "attention.h"
#include "draft.h"
#include "hidden.h"
#include "runner.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Entry x is the function sidbeam_x. */
typedef struct sidbeam_runner_api {
  uint32_t struct_size; /* bytes of the table that is loaded */
  uint32_t (*runner_abi_version)(void);
  sidbeam_status (*model_open)(
      const char* folder, const sidbeam_model_config* config, sidbeam_model** out, sidbeam_error* err);
  sidbeam_status (*model_get_info)(const sidbeam_model* model, sidbeam_model_info* out, sidbeam_error* err);
  void (*model_retain)(sidbeam_model* model);
  void (*model_release)(sidbeam_model* model);
  sidbeam_status (*runner_create)(
      sidbeam_runtime* runtime, const sidbeam_runner_config* config, sidbeam_runner** out, sidbeam_error* err);
  sidbeam_status (*runner_run)(sidbeam_runner* runner, const sidbeam_request* request, sidbeam_error* err);
  sidbeam_status (*runner_submit)(
      sidbeam_runner* runner, const sidbeam_request* request, int64_t* id, sidbeam_error* err);
  sidbeam_status (*runner_cancel)(sidbeam_runner* runner, int64_t id, sidbeam_error* err);
  sidbeam_status (*runner_drain)(sidbeam_runner* runner, int64_t timeout_us, int32_t* idle, sidbeam_error* err);
  sidbeam_status (*runner_get_stats)(const sidbeam_runner* runner, sidbeam_runner_stats* out, sidbeam_error* err);
  sidbeam_status (*runner_close)(sidbeam_runner* runner, sidbeam_error* err);
  void (*runner_destroy)(sidbeam_runner* runner);
  sidbeam_status (*attention_workspace)(const sidbeam_attention_args* args, int64_t* bytes, sidbeam_error* err);
  sidbeam_status (*attention_run)(const sidbeam_attention_args* args, sidbeam_error* err);
  sidbeam_status (*attention_permute)(const sidbeam_attention_permute_args* args, sidbeam_error* err);
  sidbeam_status (*draft_head_write)(const char* path, const sidbeam_draft_weights* weights, sidbeam_error* err);
  sidbeam_status (*draft_head_open)(
      const char* path, const sidbeam_draft_head_config* config, sidbeam_draft_head** out, sidbeam_error* err);
  sidbeam_status (*draft_head_get_info)(
      const sidbeam_draft_head* head, sidbeam_draft_head_info* out, sidbeam_error* err);
  void (*draft_head_retain)(sidbeam_draft_head* head);
  void (*draft_head_release)(sidbeam_draft_head* head);
  sidbeam_status (*draft_decoder_create)(
      sidbeam_runtime* runtime, const sidbeam_draft_config* config, sidbeam_draft_decoder** out, sidbeam_error* err);
  sidbeam_status (*draft_decoder_run)(
      sidbeam_draft_decoder* decoder, const sidbeam_draft_args* args, sidbeam_draft_result* out, sidbeam_error* err);
  void (*draft_decoder_destroy)(sidbeam_draft_decoder* decoder);
  sidbeam_status (*output_layer_create)(
      const sidbeam_output_layer_config* config, sidbeam_output_layer** out, sidbeam_error* err);
  void (*output_layer_destroy)(sidbeam_output_layer* layer);
  sidbeam_status (*hidden_create)(const sidbeam_hidden_config* config, sidbeam_hidden** out, sidbeam_error* err);
  void (*hidden_destroy)(sidbeam_hidden* hidden);
  sidbeam_status (*hidden_step)(sidbeam_hidden* hidden, const sidbeam_hidden_step_args* args, sidbeam_error* err);
  sidbeam_status (*hidden_get_stats)(const sidbeam_hidden* hidden, sidbeam_hidden_stats* out, sidbeam_error* err);
  sidbeam_status (*draft_decoder_start)(
      sidbeam_draft_decoder* decoder, const sidbeam_draft_args* args, sidbeam_error* err);
  sidbeam_status (*draft_decoder_decode)(
      sidbeam_draft_decoder* decoder, const sidbeam_draft_args* args, sidbeam_draft_result* out, sidbeam_error* err);
} sidbeam_runner_api;

/* The table for an ABI version, which is the SIDBEAM_RUNNER_ABI_VERSION that the host was compiled with. Static
 * storage, never freed. Errors: UNSUPPORTED, naming both versions. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_runner_get_api(
    uint32_t abi_version, const sidbeam_runner_api** out, sidbeam_error* err);
typedef sidbeam_status (*sidbeam_runner_get_api_function)(
    uint32_t abi_version, const sidbeam_runner_api** out, sidbeam_error* err);

#ifdef __cplusplus
}
#endif
#endif
