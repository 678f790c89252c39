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
sidbeam_status upload_repeats(UploadHandle* upload, const RepeatsView* repeats, void* stream, int64_t* bytes,
                              sidbeam_error* err);
void upload_mark(UploadHandle* upload, void* stream);
void upload_outlive(UploadHandle* upload, DeviceHandle* device);
void upload_free(UploadHandle* upload);

sidbeam_status session_create(DeviceHandle* device, const SessionShape* shape, DeviceSessionHandle** out,
                              sidbeam_error* err);
sidbeam_status session_start(DeviceSessionHandle* session, const DeviceStart* starts, int64_t count,
                             const int32_t* codes, void* stream, sidbeam_error* err);
sidbeam_status session_stop(DeviceSessionHandle* session, const int32_t* slots, int64_t count, void* stream,
                            sidbeam_error* err);
sidbeam_status session_step(DeviceSessionHandle* session, const sidbeam_step_args* args, sidbeam_error* err);
sidbeam_status session_children(DeviceSessionHandle* session, const int32_t* slots, int64_t count,
                                const ChildColumns* out, sidbeam_error* err);
void session_beams(const DeviceSessionHandle* session, sidbeam_beams* out);
sidbeam_status session_fetch(DeviceSessionHandle* session, void* stream, sidbeam_beams* out, sidbeam_error* err);
sidbeam_status session_read(DeviceSessionHandle* session, void* stream, sidbeam_beams* out, sidbeam_error* err);
sidbeam_status session_take(DeviceSessionHandle* session, DeviceSessionHandle* from, const int32_t* slots,
                            int64_t count, void* stream, sidbeam_error* err);
sidbeam_status session_items(DeviceSessionHandle* session, const int32_t* slots, int64_t count,
                             const sidbeam_items* items, sidbeam_error* err);
sidbeam_status session_stats(DeviceSessionHandle* session, StepCounters* out, int64_t* memory_bytes,
                             sidbeam_error* err);
void session_destroy(DeviceSessionHandle* session);

sidbeam_status lists_create(DeviceHandle* device, int64_t slots, int64_t beams, DeviceListsHandle** out,
                            StepListArrays* arrays, sidbeam_error* err);
sidbeam_status lists_send(DeviceListsHandle* lists, int64_t count, void* stream, sidbeam_error* err);
void lists_mark(DeviceListsHandle* lists, void* stream);
void lists_destroy(DeviceListsHandle* lists);

sidbeam_status set_create(DeviceHandle* device, UploadHandle* const* uploads, const DeviceRules* rules, int32_t count,
                          const VocabularyView* vocabulary, DeviceSetHandle** out, sidbeam_error* err);
void set_destroy(DeviceSetHandle* set);
sidbeam_status set_prefixes(const DeviceSetHandle* set, const SetCall* call, const PrefixArray* prefixes,
                            const int32_t* lengths, int64_t* out, sidbeam_error* err);
sidbeam_status set_advance(const DeviceSetHandle* set, const SetCall* call, const int64_t* in, int64_t in_count,
                           const int32_t* parents, const int32_t* codes, int64_t* out, sidbeam_error* err);
sidbeam_status set_mask(const DeviceSetHandle* set, const SetCall* call, const int64_t* states,
                        const sidbeam_rows* rows, sidbeam_error* err);
sidbeam_status set_bitmask(const DeviceSetHandle* set, const SetCall* call, const int64_t* states,
                           int64_t words_per_row, uint32_t* words, sidbeam_error* err);
sidbeam_status set_topk(const DeviceSetHandle* set, const SetCall* call, const int64_t* states,
                        const sidbeam_rows* rows, int32_t normalization, int32_t k, uint32_t widest, int32_t* codes,
                        float* log_probs, int64_t* next, sidbeam_error* err);
sidbeam_status set_sample(const DeviceSetHandle* set, const SetCall* call, const int64_t* states,
                          const sidbeam_rows* rows, const SetSampling* how, const sidbeam_sampled* out,
                          sidbeam_error* err);

}  // namespace sidbeam::cuda
