// The table of C functions by which the core drives a device, and the plugin that gives it (libsidbeam_cuda.so.1;
// runtime/backend/cuda). Both are built from the same sources, which the build id ensures, so they share structs
// freely. No exception crosses it: functions return a status and write its message.
//
// Arguments have been checked as far as the host can. What only the device's runtime knows (which memory an address is
// in, which device a stream belongs to, whether it is being captured) is checked behind this table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "backend/level_columns.h"
#include "index/rules/subset.h"
#include "index/views.h"
#include "sidbeam/runtime.h"
#include "sidbeam/session.h"

namespace sidbeam {

inline constexpr uint32_t kDevicePluginVersion = 1;
inline constexpr char kCudaPluginSymbol[] = "sidbeam_cuda_plugin";

// The plugin's objects.
struct DeviceHandle;
struct UploadHandle;
struct DeviceSessionHandle;
struct DeviceSetHandle;
struct DeviceListsHandle;

// An upload begins with its view and a word for the plugin; sections lie after them, at multiples of the alignment.
inline constexpr int64_t kUploadAlignment = 256;
inline constexpr int64_t kUploadHeaderBytes =
    (static_cast<int64_t>(sizeof(IndexView)) + 8 + kUploadAlignment - 1) / kUploadAlignment * kUploadAlignment;

// The rules of a constraint as a device takes them.
struct DeviceRules {
  const RulesView* rules = nullptr;   // with its lists in host memory; nullptr: none
  const RulesView* filter = nullptr;  // whose bits are on the device; nullptr: the rules have no bits, or need none
  int32_t levels = 0;                 // csr_levels of the index
  // Of a snapshot with a delta, besides.
  int32_t delta_levels = 0;           // 0: no delta
  const RulesView* merged = nullptr;  // lists of merged rows; nullptr: none
};

struct DeviceStart {
  int32_t slot = 0;
  LevelWidths widths;
  RowSettings settings{0.0F, 0.0F};          // 0: not given
  int32_t prefix_length = 0, prefix_at = 0;  // codes[prefix_at ...]
  UploadHandle* upload = nullptr;
  SlotSampling sampling;  // of the modes that sample
  DeviceRules rules;
};

struct DevicePlugin {
  uint32_t version;
  const char* build_id;

  // Checks driver, device and compute capability. `allocator` may be null and is copied.
  sidbeam_status (*open)(int32_t device_id, const sidbeam_device_allocator* allocator, DeviceHandle** out,
                         sidbeam_error* err);
  void (*close)(DeviceHandle* device);

  // Allocates `bytes` on the device and returns their address. Until upload_finish the caller copies at most
  // chunk_bytes at a time; it may call upload_free at any moment.
  sidbeam_status (*upload_begin)(DeviceHandle* device, int64_t bytes, int64_t chunk_bytes, void* stream,
                                 UploadHandle** out, const uint8_t** base, sidbeam_error* err);
  sidbeam_status (*upload_copy)(UploadHandle* upload, int64_t at, const void* from, int64_t bytes, sidbeam_error* err);
  // Stores the view, whose pointers are device addresses, and waits for all copies; *damage gets the number of faults.
  // nullptr: the upload is no index and has no header; only waits.
  sidbeam_status (*upload_finish)(UploadHandle* upload, const IndexView* view, bool verify, int64_t* damage,
                                  sidbeam_error* err);
  // Copies what is known of items with several SIDs, in host memory, beside a finished upload, and shows its view to
  // it; once. Waits. `stream`, of the call that needs it, must not be captured. *bytes gets the size of the copy.
  sidbeam_status (*upload_repeats)(UploadHandle* upload, const RepeatsView* repeats, void* stream, int64_t* bytes,
                                   sidbeam_error* err);
  // Declares that work enqueued on the stream so far may use the upload. upload_free frees the memory after that work,
  // without waiting.
  void (*upload_mark)(UploadHandle* upload, void* stream);
  // The same of the work of sessions and sets of `device` that are gone.
  void (*upload_outlive)(UploadHandle* upload, DeviceHandle* device);
  void (*upload_free)(UploadHandle* upload);

  // Fails if a list that the host must read is in a device's memory.
  sidbeam_status (*check_host)(DeviceHandle* device, const void* address, const char* name, sidbeam_error* err);

  sidbeam_status (*session_create)(DeviceHandle* device, const SessionShape* shape, DeviceSessionHandle** out,
                                   sidbeam_error* err);
  sidbeam_status (*session_start)(DeviceSessionHandle* session, const DeviceStart* starts, int64_t count,
                                  const int32_t* codes, void* stream, sidbeam_error* err);
  sidbeam_status (*session_stop)(DeviceSessionHandle* session, const int32_t* slots, int64_t count, void* stream,
                                 sidbeam_error* err);
  // args->count is the number of slots, and strides are resolved.
  sidbeam_status (*session_step)(DeviceSessionHandle* session, const sidbeam_step_args* args, sidbeam_error* err);
  // See SessionBackend::children(); all arrays are on the device.
  sidbeam_status (*session_children)(DeviceSessionHandle* session, const int32_t* slots, int64_t count,
                                     const ChildColumns* out, sidbeam_error* err);
  void (*session_beams)(const DeviceSessionHandle* session, sidbeam_beams* out);
  sidbeam_status (*session_fetch)(DeviceSessionHandle* session, void* stream, sidbeam_beams* out, sidbeam_error* err);
  // The same, and waits; the stream must not be captured.
  sidbeam_status (*session_read)(DeviceSessionHandle* session, void* stream, sidbeam_beams* out, sidbeam_error* err);
  // See SessionBackend::take_beams(); `slots` are on the device.
  sidbeam_status (*session_take)(DeviceSessionHandle* session, DeviceSessionHandle* from, const int32_t* slots,
                                 int64_t count, void* stream, sidbeam_error* err);
  sidbeam_status (*session_items)(DeviceSessionHandle* session, const int32_t* slots, int64_t count,
                                  const sidbeam_items* items, sidbeam_error* err);
  sidbeam_status (*session_stats)(DeviceSessionHandle* session, StepCounters* out, int64_t* memory_bytes,
                                  sidbeam_error* err);
  // Memory is freed after what was enqueued; waits for that only if there was a fetch, and for copies of rules. Uploads
  // that the session used must then be told to outlive it.
  void (*session_destroy)(DeviceSessionHandle* session);

  // See StepLists in backend/backend.h. After this nothing is allocated, and no kernel loaded, for session_take either.
  sidbeam_status (*lists_create)(DeviceHandle* device, int64_t slots, int64_t beams, DeviceListsHandle** out,
                                 StepListArrays* arrays, sidbeam_error* err);
  sidbeam_status (*lists_send)(DeviceListsHandle* lists, int64_t count, void* stream, sidbeam_error* err);
  // Declares that work enqueued on the stream so far may use the lists.
  void (*lists_mark)(DeviceListsHandle* lists, void* stream);
  // Waits for that work.
  void (*lists_destroy)(DeviceListsHandle* lists);

  // See SetBackend in backend/backend.h. Uploads and rules are [count].
  sidbeam_status (*set_create)(DeviceHandle* device, UploadHandle* const* uploads, const DeviceRules* rules,
                               int32_t count, const VocabularyView* vocabulary, DeviceSetHandle** out,
                               sidbeam_error* err);
  // Waits for nothing; otherwise as session_destroy.
  void (*set_destroy)(DeviceSetHandle* set);
  sidbeam_status (*set_prefixes)(const DeviceSetHandle* set, const SetCall* call, const PrefixArray* prefixes,
                                 const int32_t* lengths, int64_t* out, sidbeam_error* err);
  sidbeam_status (*set_advance)(const DeviceSetHandle* set, const SetCall* call, const int64_t* in, int64_t in_count,
                                const int32_t* parents, const int32_t* codes, int64_t* out, sidbeam_error* err);
  sidbeam_status (*set_mask)(const DeviceSetHandle* set, const SetCall* call, const int64_t* states,
                             const sidbeam_rows* rows, sidbeam_error* err);
  sidbeam_status (*set_bitmask)(const DeviceSetHandle* set, const SetCall* call, const int64_t* states,
                                int64_t words_per_row, uint32_t* words, sidbeam_error* err);
  // `widest`: codes of the widest level of any constraint, the end not counted.
  sidbeam_status (*set_topk)(const DeviceSetHandle* set, const SetCall* call, const int64_t* states,
                             const sidbeam_rows* rows, int32_t normalization, int32_t k, uint32_t widest,
                             int32_t* codes, float* log_probs, int64_t* next, sidbeam_error* err);
  sidbeam_status (*set_sample)(const DeviceSetHandle* set, const SetCall* call, const int64_t* states,
                               const sidbeam_rows* rows, const SetSampling* how, const sidbeam_sampled* out,
                               sidbeam_error* err);
};

using DevicePluginFunction = const DevicePlugin* (*)();

}  // namespace sidbeam
