/* sidbeam: every function in one table, for hosts that dlopen the library and want one symbol instead of many.
 *
 *   void *library = dlopen("libsidbeam.so.1", RTLD_NOW | RTLD_LOCAL);
 *   sidbeam_get_api_function get_api = (sidbeam_get_api_function)dlsym(library, "sidbeam_get_api");
 *   const sidbeam_api *api;
 *   if (get_api(SIDBEAM_ABI_VERSION, &api, &err)) ...
 *   api->runtime_create(NULL, &runtime, &err);
 *
 * Entries are only ever added at the end. Look at struct_size before using one that a later header added.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_API_H
#define SIDBEAM_API_H

#include "arrow.h"
#include "builder.h"
#include "catalog.h"
#include "constraint.h"
#include "disc.h"
#include "index.h"
#include "runtime.h"
#include "session.h"
#include "speculate.h"
#include "states.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Entry x is the function sidbeam_x. */
typedef struct sidbeam_api {
  uint32_t struct_size; /* bytes of the table that is loaded */
  const char* (*version)(void);
  uint32_t (*abi_version)(void);
  const char* (*status_name)(sidbeam_status code);
  const char* (*cpu_target)(void);
  sidbeam_status (*runtime_create)(const sidbeam_runtime_config* config, sidbeam_runtime** out, sidbeam_error* err);
  void (*runtime_release)(sidbeam_runtime* runtime);
  sidbeam_status (*index_peek)(const char* path, int32_t capacity, int32_t* codes, int32_t* max_children,
      int64_t* nodes, sidbeam_index_info* out, sidbeam_error* err);
  sidbeam_status (*index_open)(sidbeam_runtime* runtime, const char* path, const sidbeam_open_config* config,
      sidbeam_index** out, sidbeam_error* err);
  sidbeam_status (*index_open_memory)(sidbeam_runtime* runtime, const void* data, int64_t bytes,
      void (*release)(void* context), void* context, const sidbeam_open_config* config, sidbeam_index** out,
      sidbeam_error* err);
  void (*index_retain)(sidbeam_index* index);
  void (*index_release)(sidbeam_index* index);
  sidbeam_status (*index_verify)(const sidbeam_index* index, int32_t depth, sidbeam_error* err);
  sidbeam_status (*index_get_info)(const sidbeam_index* index, sidbeam_index_info* out, sidbeam_error* err);
  sidbeam_status (*index_get_section)(
      const sidbeam_index* index, int64_t i, sidbeam_section_info* out, sidbeam_error* err);
  sidbeam_status (*index_get_metadata)(
      const sidbeam_index* index, int64_t i, const char** key, const char** value, sidbeam_error* err);
  const char* (*index_codebook)(const sidbeam_index* index);
  sidbeam_status (*index_sid)(
      const sidbeam_index* index, int64_t ordinal, int32_t* codes, int32_t* length, sidbeam_error* err);
  sidbeam_status (*index_find_sid)(
      const sidbeam_index* index, const int32_t* codes, int32_t length, int64_t* ordinal, sidbeam_error* err);
  sidbeam_status (*index_ordinals)(
      const sidbeam_index* index, const int32_t* prefix, int32_t length, int64_t* lo, int64_t* hi, sidbeam_error* err);
  sidbeam_status (*index_children)(const sidbeam_index* index, const int32_t* prefix, int32_t length, int64_t capacity,
      int32_t* codes, int64_t* count, int32_t* end, sidbeam_error* err);
  sidbeam_status (*index_item_rows)(
      const sidbeam_index* index, int64_t ordinal, int64_t* lo, int64_t* hi, sidbeam_error* err);
  sidbeam_status (*index_item_ordinal)(
      const sidbeam_index* index, int64_t item_row, int64_t* ordinal, sidbeam_error* err);
  sidbeam_status (*index_item_id)(
      const sidbeam_index* index, int64_t item_row, int64_t* id, const char** name, int64_t* bytes, sidbeam_error* err);
  sidbeam_status (*index_find_item)(const sidbeam_index* index, int64_t id, const char* name, int64_t bytes,
      int64_t from_item_row, int64_t* item_row, sidbeam_error* err);
  sidbeam_status (*index_upload)(sidbeam_index* index, const sidbeam_upload_config* config, sidbeam_error* err);
  sidbeam_status (*index_get_upload)(
      const sidbeam_index* index, int32_t device_id, sidbeam_upload_info* out, sidbeam_error* err);
  void (*index_unload)(sidbeam_index* index, int32_t device_id);
  sidbeam_status (*builder_create)(
      sidbeam_runtime* runtime, const sidbeam_builder_config* config, sidbeam_builder** out, sidbeam_error* err);
  sidbeam_status (*builder_add)(sidbeam_builder* builder, const int32_t* codes, const int32_t* lengths, int64_t count,
      const int64_t* ids, const int64_t* priorities, sidbeam_error* err);
  sidbeam_status (*builder_add_named)(sidbeam_builder* builder, const int32_t* codes, const int32_t* lengths,
      int64_t count, const char* id_bytes, const int64_t* id_offsets, const int64_t* priorities, sidbeam_error* err);
  sidbeam_status (*builder_set_metadata)(
      sidbeam_builder* builder, const char* key, const char* value, sidbeam_error* err);
  sidbeam_status (*builder_plan)(sidbeam_builder* builder, sidbeam_plan** out, sidbeam_error* err);
  sidbeam_status (*plan_estimate)(
      const sidbeam_builder_config* config, int64_t sids, sidbeam_plan** out, sidbeam_error* err);
  sidbeam_status (*plan_get_info)(const sidbeam_plan* plan, sidbeam_plan_info* out, sidbeam_error* err);
  sidbeam_status (*plan_get_section)(
      const sidbeam_plan* plan, int64_t i, sidbeam_section_info* out, sidbeam_error* err);
  void (*plan_destroy)(sidbeam_plan* plan);
  sidbeam_status (*builder_write)(sidbeam_builder* builder, const char* path, sidbeam_error* err);
  sidbeam_status (*builder_finish)(sidbeam_builder* builder, sidbeam_index** out, sidbeam_error* err);
  void (*builder_destroy)(sidbeam_builder* builder);
  sidbeam_status (*constraint_create)(
      const sidbeam_constraint_config* config, sidbeam_constraint** out, sidbeam_error* err);
  void (*constraint_retain)(sidbeam_constraint* constraint);
  void (*constraint_release)(sidbeam_constraint* constraint);
  sidbeam_status (*constraint_get_info)(
      const sidbeam_constraint* constraint, sidbeam_constraint_info* out, sidbeam_error* err);
  sidbeam_status (*session_create)(
      sidbeam_runtime* runtime, const sidbeam_session_config* config, sidbeam_session** out, sidbeam_error* err);
  sidbeam_status (*session_start)(sidbeam_session* session, const sidbeam_start_args* args, sidbeam_error* err);
  sidbeam_status (*session_step)(sidbeam_session* session, const sidbeam_step_args* args, sidbeam_error* err);
  sidbeam_status (*session_get_beams)(const sidbeam_session* session, sidbeam_beams* out, sidbeam_error* err);
  sidbeam_status (*session_fetch)(sidbeam_session* session, sidbeam_beams* out, void* stream, sidbeam_error* err);
  sidbeam_status (*session_get_items)(
      const sidbeam_session* session, const int32_t* slots, int64_t count, sidbeam_items* out, sidbeam_error* err);
  sidbeam_status (*session_stop)(
      sidbeam_session* session, const int32_t* slots, int64_t count, void* stream, sidbeam_error* err);
  sidbeam_status (*session_get_stats)(const sidbeam_session* session, sidbeam_stats* out, sidbeam_error* err);
  sidbeam_status (*session_get_counters)(const sidbeam_session* session, int64_t capacity, const char** names,
      int64_t* values, int64_t* count, sidbeam_error* err);
  void (*session_destroy)(sidbeam_session* session);
  sidbeam_status (*constraint_set_create)(sidbeam_runtime* runtime, const sidbeam_constraint_set_config* config,
      sidbeam_constraint_set** out, sidbeam_error* err);
  void (*constraint_set_destroy)(sidbeam_constraint_set* set);
  sidbeam_status (*constraint_set_prefixes)(const sidbeam_constraint_set* set, const int32_t* which,
      const int32_t* codes, int64_t stride, const int32_t* lengths, int64_t count, sidbeam_state* out, void* stream,
      sidbeam_error* err);
  sidbeam_status (*constraint_set_advance)(const sidbeam_constraint_set* set, const int32_t* which,
      const sidbeam_state* in, int64_t in_count, const int32_t* parents, const int32_t* codes, int64_t count,
      sidbeam_state* out, void* stream, sidbeam_error* err);
  sidbeam_status (*constraint_set_mask)(const sidbeam_constraint_set* set, const int32_t* which,
      const sidbeam_state* states, const sidbeam_rows* logits, void* data, void* stream, sidbeam_error* err);
  sidbeam_status (*constraint_set_bitmask)(const sidbeam_constraint_set* set, const int32_t* which,
      const sidbeam_state* states, int64_t count, int64_t words_per_row, uint32_t* words, void* stream,
      sidbeam_error* err);
  sidbeam_status (*constraint_set_topk)(const sidbeam_constraint_set* set, const int32_t* which,
      const sidbeam_state* states, const sidbeam_rows* logits, int32_t normalization, int32_t k, int32_t* codes,
      float* log_probs, sidbeam_state* next, void* stream, sidbeam_error* err);
  sidbeam_status (*constraint_set_sample)(const sidbeam_constraint_set* set, const int32_t* which,
      const sidbeam_state* states, const sidbeam_rows* logits, int32_t normalization, const float* inverse_temperatures,
      const sidbeam_sampling* sampling, const sidbeam_sampled* out, void* stream, sidbeam_error* err);
  sidbeam_status (*disc_create)(
      sidbeam_runtime* runtime, const sidbeam_disc_config* config, sidbeam_disc** out, sidbeam_error* err);
  sidbeam_status (*disc_next)(sidbeam_disc* disc, int64_t capacity, int64_t* draws, int64_t* count, sidbeam_error* err);
  sidbeam_status (*disc_add)(sidbeam_disc* disc, const sidbeam_disc_draws* draws, sidbeam_error* err);
  sidbeam_status (*disc_get)(const sidbeam_disc* disc, sidbeam_disc_results* out, sidbeam_error* err);
  void (*disc_destroy)(sidbeam_disc* disc);
  sidbeam_status (*session_children)(const sidbeam_session* session, const int32_t* slots, int64_t count,
      int32_t lse_given, int64_t capacity, int64_t* offsets, int32_t* columns, void* stream, sidbeam_error* err);
  sidbeam_status (*speculation_create)(sidbeam_runtime* runtime, const sidbeam_speculation_config* config,
      sidbeam_speculation** out, sidbeam_error* err);
  sidbeam_status (*speculation_begin)(
      sidbeam_speculation* speculation, const int32_t* slots, int64_t count, int64_t* active, sidbeam_error* err);
  sidbeam_status (*speculation_get_tree)(
      const sidbeam_speculation* speculation, sidbeam_speculation_tree* out, sidbeam_error* err);
  sidbeam_status (*speculation_add)(sidbeam_speculation* speculation, sidbeam_error* err);
  sidbeam_status (*speculation_get_mask)(
      const sidbeam_speculation* speculation, uint8_t* mask, int64_t columns, sidbeam_error* err);
  sidbeam_status (*speculation_verify)(
      sidbeam_speculation* speculation, const sidbeam_speculation_verify_args* args, sidbeam_error* err);
  sidbeam_status (*speculation_get_stats)(
      const sidbeam_speculation* speculation, sidbeam_speculation_stats* out, sidbeam_error* err);
  void (*speculation_destroy)(sidbeam_speculation* speculation);
  sidbeam_status (*relaxed_draw)(
      sidbeam_runtime* runtime, const sidbeam_relaxed_draw_args* args, int64_t* drafts, sidbeam_error* err);
  sidbeam_status (*relaxed_verify)(sidbeam_runtime* runtime, const sidbeam_relaxed_verify_args* args,
      sidbeam_relaxed_beams* out, sidbeam_error* err);
  sidbeam_status (*index_bytes)(const sidbeam_index* index, const void** data, int64_t* bytes, sidbeam_error* err);
  sidbeam_status (*index_write)(const sidbeam_index* index, const char* path, sidbeam_error* err);
  sidbeam_status (*builder_add_arrow)(sidbeam_builder* builder, struct ArrowArrayStream* stream,
      const sidbeam_arrow_config* config, int64_t* pairs, sidbeam_error* err);
  sidbeam_status (*arrow_inspect)(struct ArrowArrayStream* stream, const sidbeam_arrow_config* config, int32_t* codes,
      sidbeam_arrow_info* out, sidbeam_error* err);
  sidbeam_status (*index_items)(const sidbeam_index* index, const int64_t* ordinals, int64_t count,
      int64_t limit_per_sid, int64_t limit, int32_t distinct, int64_t* item_rows, int64_t* offsets, int32_t* truncated,
      sidbeam_error* err);
  sidbeam_status (*index_get_attribute)(
      const sidbeam_index* index, int64_t i, sidbeam_attribute_info* out, sidbeam_error* err);
  sidbeam_status (*index_find_attribute)(
      const sidbeam_index* index, const char* name, int64_t* attribute, sidbeam_error* err);
  sidbeam_status (*index_attribute_integers)(const sidbeam_index* index, int64_t attribute, int64_t item_row,
      int64_t count, int64_t* values, uint8_t* valid, sidbeam_error* err);
  sidbeam_status (*index_attribute_numbers)(const sidbeam_index* index, int64_t attribute, int64_t item_row,
      int64_t count, float* values, uint8_t* valid, sidbeam_error* err);
  sidbeam_status (*index_attribute_lists)(const sidbeam_index* index, int64_t attribute, int64_t item_row,
      int64_t count, int64_t* offsets, int64_t capacity, int64_t* codes, uint8_t* valid, sidbeam_error* err);
  sidbeam_status (*index_attribute_string)(const sidbeam_index* index, int64_t attribute, int64_t code,
      const char** text, int64_t* bytes, sidbeam_error* err);
  sidbeam_status (*builder_declare_attribute)(
      sidbeam_builder* builder, const char* name, int32_t type, sidbeam_error* err);
  sidbeam_status (*builder_set_attribute)(
      sidbeam_builder* builder, const sidbeam_attribute_column* column, int64_t count, sidbeam_error* err);
  sidbeam_status (*filter_from_items)(
      sidbeam_index* index, const sidbeam_item_list* items, int64_t* unknown, sidbeam_filter** out, sidbeam_error* err);
  sidbeam_status (*filter_from_rows)(
      sidbeam_index* index, const sidbeam_row_set* rows, sidbeam_filter** out, sidbeam_error* err);
  sidbeam_status (*filter_from_term)(
      sidbeam_index* index, const sidbeam_term* term, sidbeam_filter** out, sidbeam_error* err);
  sidbeam_status (*filter_parse)(
      sidbeam_index* index, const char* text, int64_t bytes, sidbeam_filter** out, sidbeam_error* err);
  sidbeam_status (*filter_text)(
      const sidbeam_filter* filter, int64_t capacity, char* text, int64_t* bytes, sidbeam_error* err);
  sidbeam_status (*filter_combine)(
      int32_t op, sidbeam_filter* const* filters, int64_t count, sidbeam_filter** out, sidbeam_error* err);
  sidbeam_status (*filter_update)(sidbeam_filter* filter, const sidbeam_item_list* items, const uint8_t* allowed,
      int64_t* unknown, sidbeam_filter** out, sidbeam_error* err);
  sidbeam_status (*filter_prepare)(const sidbeam_filter* filter, sidbeam_error* err);
  sidbeam_status (*filter_get_info)(const sidbeam_filter* filter, sidbeam_filter_info* out, sidbeam_error* err);
  sidbeam_status (*filter_rows)(
      const sidbeam_filter* filter, const uint64_t** bits, int64_t* words, sidbeam_error* err);
  void (*filter_retain)(sidbeam_filter* filter);
  void (*filter_release)(sidbeam_filter* filter);
  sidbeam_status (*constraint_exclude)(
      sidbeam_constraint* constraint, const sidbeam_item_list* excluded, sidbeam_constraint** out, sidbeam_error* err);
  sidbeam_status (*constraint_items)(const sidbeam_constraint* constraint, const int64_t* ordinals, int64_t count,
      const sidbeam_item_limits* limits, int64_t* item_rows, int64_t* offsets, int32_t* truncated, int32_t* came_short,
      sidbeam_error* err);
  sidbeam_status (*index_item_priority)(
      const sidbeam_index* index, int64_t item_row, int64_t* priority, sidbeam_error* err);
  sidbeam_status (*catalog_create)(sidbeam_index* base, const char* folder, const sidbeam_catalog_config* config,
      sidbeam_catalog** out, sidbeam_error* err);
  sidbeam_status (*catalog_open)(sidbeam_runtime* runtime, const char* folder, const sidbeam_catalog_config* config,
      sidbeam_catalog** out, sidbeam_error* err);
  sidbeam_status (*catalog_follow)(sidbeam_runtime* runtime, const char* folder, const sidbeam_catalog_config* config,
      sidbeam_catalog** out, sidbeam_error* err);
  sidbeam_status (*catalog_refresh)(sidbeam_catalog* catalog, int64_t wait_ms, int64_t* version, sidbeam_error* err);
  sidbeam_status (*catalog_add)(sidbeam_catalog* catalog, const sidbeam_pairs* pairs, sidbeam_error* err);
  sidbeam_status (*catalog_add_arrow)(sidbeam_catalog* catalog, struct ArrowArrayStream* stream,
      const sidbeam_arrow_config* config, int64_t* pairs, sidbeam_error* err);
  sidbeam_status (*catalog_remove)(
      sidbeam_catalog* catalog, const sidbeam_item_list* items, int64_t* unknown, sidbeam_error* err);
  sidbeam_status (*catalog_discard)(sidbeam_catalog* catalog, sidbeam_error* err);
  sidbeam_status (*catalog_publish)(sidbeam_catalog* catalog, int64_t* version, sidbeam_error* err);
  sidbeam_status (*catalog_rollback)(sidbeam_catalog* catalog, int64_t version, int64_t* made, sidbeam_error* err);
  sidbeam_status (*catalog_compact)(
      sidbeam_catalog* catalog, const sidbeam_compact_config* config, int64_t* version, sidbeam_error* err);
  sidbeam_status (*catalog_sync)(sidbeam_catalog* catalog, sidbeam_error* err);
  sidbeam_status (*catalog_snapshot)(
      sidbeam_catalog* catalog, int64_t version, sidbeam_index** out, sidbeam_error* err);
  sidbeam_status (*catalog_get_info)(const sidbeam_catalog* catalog, sidbeam_catalog_info* out, sidbeam_error* err);
  sidbeam_status (*catalog_get_version)(
      const sidbeam_catalog* catalog, int64_t version, sidbeam_version_info* out, sidbeam_error* err);
  void (*catalog_close)(sidbeam_catalog* catalog);
  sidbeam_status (*filter_on)(
      const sidbeam_filter* filter, sidbeam_index* index, sidbeam_filter** out, sidbeam_error* err);
} sidbeam_api;

/* The table for an ABI version, which is the SIDBEAM_ABI_VERSION that the host was compiled with. Static storage, never
 * freed. Errors: UNSUPPORTED, naming both versions. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_get_api(
    uint32_t abi_version, const sidbeam_api** out, sidbeam_error* err);
typedef sidbeam_status (*sidbeam_get_api_function)(uint32_t abi_version, const sidbeam_api** out, sidbeam_error* err);

#ifdef __cplusplus
}
#endif
#endif
