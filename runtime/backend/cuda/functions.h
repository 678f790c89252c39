// The functions of the plugin's table; see backend/device_plugin.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/device_plugin.h"

namespace sidbeam::cuda {

sidbeam_status upload_begin(DeviceHandle* device, int64_t bytes, int64_t chunk_bytes, void* stream, UploadHandle** out,
                            const uint8_t** base, sidbeam_error* err);
sidbeam_status upload_copy(UploadHandle* upload, int64_t at, const void* from, int64_t bytes, sidbeam_error* err);
sidbeam_status upload_finish(UploadHandle* upload, const IndexView* view, bool verify, int64_t* damage,
                             sidbeam_error* err);
void upload_mark(UploadHandle* upload, void* stream);
void upload_free(UploadHandle* upload);

sidbeam_status session_create(DeviceHandle* device, const DeviceSessionShape* shape, DeviceSessionHandle** out,
                              sidbeam_error* err);
sidbeam_status session_start(DeviceSessionHandle* session, const DeviceStart* starts, int64_t count,
                             const int32_t* codes, void* stream, sidbeam_error* err);
sidbeam_status session_stop(DeviceSessionHandle* session, const int32_t* slots, int64_t count, void* stream,
                            sidbeam_error* err);
sidbeam_status session_step(DeviceSessionHandle* session, const sidbeam_step_args* args, sidbeam_error* err);
void session_beams(const DeviceSessionHandle* session, sidbeam_beams* out);
sidbeam_status session_fetch(DeviceSessionHandle* session, void* stream, sidbeam_beams* out, sidbeam_error* err);
sidbeam_status session_items(DeviceSessionHandle* session, const int32_t* slots, int64_t count,
                             const sidbeam_items* items, sidbeam_error* err);
sidbeam_status session_stats(DeviceSessionHandle* session, sidbeam_stats* out, sidbeam_error* err);
void session_destroy(DeviceSessionHandle* session);

sidbeam_status table_create(DeviceHandle* device, UploadHandle* const* uploads, int32_t count,
                            const DeviceVocabulary* vocabulary, DeviceTableHandle** out, sidbeam_error* err);
void table_destroy(DeviceTableHandle* table);
sidbeam_status table_prefixes(const DeviceTableHandle* table, const int32_t* which, const int32_t* codes,
                              int64_t stride, const int32_t* lengths, int64_t count, sidbeam_state* out, void* stream,
                              sidbeam_error* err);
sidbeam_status table_advance(const DeviceTableHandle* table, const int32_t* which, const sidbeam_state* in,
                             int64_t in_count, const int64_t* parents, const int32_t* tokens, int64_t count,
                             sidbeam_state* out, void* stream, sidbeam_error* err);
sidbeam_status table_mask(const DeviceTableHandle* table, const int32_t* which, const sidbeam_state* states,
                          const sidbeam_rows* rows, void* stream, sidbeam_error* err);
sidbeam_status table_bitmask(const DeviceTableHandle* table, const int32_t* which, const sidbeam_state* states,
                             int64_t count, uint32_t* words, int64_t words_per_row, void* stream, sidbeam_error* err);
sidbeam_status table_topk(const DeviceTableHandle* table, const int32_t* which, const sidbeam_state* states,
                          const sidbeam_rows* rows, int32_t normalization, int32_t k, uint32_t codes, int32_t* tokens,
                          float* log_probs, sidbeam_state* next, void* stream, sidbeam_error* err);

}  // namespace sidbeam::cuda
