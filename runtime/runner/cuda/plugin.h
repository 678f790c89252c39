// The functions of the plugin's table. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/cuda/draft_interface.h"
#include "runner/cuda/forward_interface.h"
#include "runner/cuda/hidden_interface.h"
#include "sidbeam/attention.h"

namespace sidbeam::runner::cuda {

sidbeam_status attention_workspace(const sidbeam_attention_args* args, int64_t* bytes, sidbeam_error* err);
sidbeam_status attention_run(const sidbeam_attention_args* args, sidbeam_error* err);
sidbeam_status attention_permute(const sidbeam_attention_permute_args* args, sidbeam_error* err);

sidbeam_status forward_write(int32_t device_id, const HostArray* part, void* array, int64_t first, int32_t dtype,
                             sidbeam_error* err);
sidbeam_status forward_upload(int32_t device_id, const HostArray* parts, int32_t count, int32_t dtype, void** out,
                              sidbeam_error* err);
sidbeam_status forward_gather(int32_t device_id, const void* table, int64_t rows, int64_t columns, int32_t dtype,
                              const int32_t* which, int64_t count, void** out, sidbeam_error* err);
void forward_release(int32_t device_id, void* array);
sidbeam_status forward_zeros(int32_t device_id, int64_t bytes, void** out, sidbeam_error* err);
sidbeam_status forward_pinned(int32_t device_id, int64_t bytes, void** out, sidbeam_error* err);
void forward_release_pinned(int32_t device_id, void* array);
sidbeam_status forward_check_memory(int32_t device_id, const void* address, bool there, const char* name,
                                    sidbeam_error* err);
sidbeam_status forward_create(const DeviceForwardConfig* config, DeviceForward** out, sidbeam_error* err);
void forward_destroy(DeviceForward* forward);
sidbeam_status forward_prefill(DeviceForward* forward, const Prompt* prompts, int32_t count, sidbeam_error* err);
sidbeam_status forward_decode(DeviceForward* forward, const DecodeRows* beams, sidbeam_error* err);
sidbeam_status forward_run_tree(DeviceForward* forward, const Prompt* prompts, const DecodeRows* nodes,
                                sidbeam_error* err);
sidbeam_status forward_tree_logits(DeviceForward* forward, const int32_t* depths, float** out, sidbeam_error* err);
sidbeam_status forward_replay(DeviceForward* forward, const DeviceWork* work, sidbeam_error* err);
sidbeam_status forward_logits(DeviceForward* forward, int32_t level, float** out, sidbeam_error* err);
const float* forward_states(const DeviceForward* forward);
sidbeam_status forward_list_beams(DeviceForward* forward, const DeviceBeamList* list, sidbeam_error* err);
sidbeam_status forward_to_device(DeviceForward* forward, void* to, const void* from, int64_t bytes, sidbeam_error* err);
sidbeam_status forward_to_host(DeviceForward* forward, void* to, const void* from, int64_t bytes, sidbeam_error* err);
sidbeam_status forward_wait(DeviceForward* forward, sidbeam_error* err);
void* forward_stream(DeviceForward* forward);
int64_t forward_memory_bytes(const DeviceForward* forward);

sidbeam_status hidden_create(const DeviceHiddenConfig* config, DeviceHidden** out, sidbeam_error* err);
void hidden_destroy(DeviceHidden* hidden);
DeviceHiddenView hidden_view(const DeviceHidden* hidden);
sidbeam_status hidden_children(DeviceHidden* hidden, const DeviceHiddenRows* rows, sidbeam_error* err);
sidbeam_status hidden_product(DeviceHidden* hidden, const DeviceHiddenRows* rows, sidbeam_error* err);

sidbeam_status draft_create(const DeviceDraftConfig* config, DeviceDraft** out, sidbeam_error* err);
void draft_destroy(DeviceDraft* draft);
DeviceDraftView draft_view(const DeviceDraft* draft);
int64_t draft_memory_bytes(const DeviceDraft* draft);
sidbeam_status draft_begin(DeviceDraft* draft, const sidbeam_rows* hidden, void* stream, sidbeam_error* err);
sidbeam_status draft_logits(DeviceDraft* draft, int32_t level, sidbeam_error* err);
sidbeam_status draft_advance(DeviceDraft* draft, int32_t level, const sidbeam_beams* beams, sidbeam_error* err);
sidbeam_status draft_finish(DeviceDraft* draft, const sidbeam_beams* beams, sidbeam_error* err);

}  // namespace sidbeam::runner::cuda
