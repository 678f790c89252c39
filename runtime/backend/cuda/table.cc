// The stateless forms on a device.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include "backend/cuda/check.h"
#include "backend/cuda/functions.h"
#include "backend/cuda/range.h"
#include "backend/cuda/step_view.h"
#include "backend/cuda/upload.h"
#include "backend/cuda/vocabulary.h"
#include "support/guard.h"

namespace sidbeam {

struct DeviceTableHandle {
  DeviceHandle* device = nullptr;
  cuda::DeviceMemory memory;
  cuda::ConstraintTable table;  // `which` is the call's
  const LevelColumns* columns = nullptr;
};

namespace cuda {
namespace {

struct Address {
  const void* address;
  const char* name;
};

// Checks what a call was given, and calls launch(table, stream).
template <class Launch>
sidbeam_status enqueue(const DeviceTableHandle& table, const int32_t* which, std::initializer_list<Address> addresses,
                       void* stream, const char* name, sidbeam_error* err, const Launch& launch) {
  return guarded(err, [&] {
    const Range range(name);
    const int32_t id = table.device->id;
    const Current current(id);
    check_stream(id, stream);
    check_address(id, which, "which");
    for (const Address& given : addresses) check_address(id, given.address, given.name);
    ConstraintTable constraints = table.table;
    constraints.which = which;
    launch(constraints, static_cast<cudaStream_t>(stream));
  });
}

}  // namespace

sidbeam_status table_create(DeviceHandle* device, UploadHandle* const* uploads, int32_t count,
                            const DeviceVocabulary* vocabulary, DeviceTableHandle** out, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(device->id);
    std::vector<const IndexView*> views;
    for (int32_t i = 0; i < count; ++i) views.push_back(uploads[i]->view());
    Layout layout;
    const int64_t views_at = layout.add<const IndexView*>(count);
    VocabularyBlock block(*vocabulary, layout);
    auto table = std::make_unique<DeviceTableHandle>();
    table->device = device;
    table->memory = DeviceMemory(*device, layout.bytes(), device->work, device->release);
    uint8_t* base = table->memory.data();
    check(cudaMemcpyAsync(base + views_at, views.data(), views.size() * sizeof views[0], cudaMemcpyHostToDevice,
                          device->work),
          "copy to the device");
    table->columns = block.copy_to(base, device->work);
    check(load_table_kernels(), "load the kernels of a table");
    check(cudaStreamSynchronize(device->work), "wait for the table");
    table->table.indexes = reinterpret_cast<const IndexView* const*>(base + views_at);
    table->table.count = count;
    *out = table.release();
  });
}

void table_destroy(DeviceTableHandle* table) {
  guarded(nullptr, [&] {
    const std::unique_ptr<DeviceTableHandle> owned(table);
    const Current current(table->device->id);
    cudaDeviceSynchronize();
    table->memory = DeviceMemory();
  });
}

sidbeam_status table_prefixes(const DeviceTableHandle* table, const int32_t* which, const int32_t* codes,
                              int64_t stride, const int32_t* lengths, int64_t count, sidbeam_state* out, void* stream,
                              sidbeam_error* err) {
  return enqueue(*table, which, {{codes, "codes"}, {lengths, "lengths"}, {out, "out"}}, stream, "sidbeam prefixes", err,
                 [&](const ConstraintTable& constraints, cudaStream_t work) {
                   check(launch_prefix_states(constraints, codes, stride, lengths, count, out, work),
                         "launch prefixes");
                 });
}

sidbeam_status table_advance(const DeviceTableHandle* table, const int32_t* which, const sidbeam_state* in,
                             int64_t in_count, const int64_t* parents, const int32_t* tokens, int64_t count,
                             sidbeam_state* out, void* stream, sidbeam_error* err) {
  return enqueue(*table, which, {{in, "in"}, {parents, "parents"}, {tokens, "tokens"}, {out, "out"}}, stream,
                 "sidbeam advance", err, [&](const ConstraintTable& constraints, cudaStream_t work) {
                   check(launch_advance(constraints, in, in_count, parents, tokens, count, out, work),
                         "launch advance");
                 });
}

sidbeam_status table_mask(const DeviceTableHandle* table, const int32_t* which, const sidbeam_state* states,
                          const sidbeam_rows* rows, void* stream, sidbeam_error* err) {
  return enqueue(*table, which, {{states, "states"}, {rows->data, "logits.data"}}, stream, "sidbeam mask", err,
                 [&](const ConstraintTable& constraints, cudaStream_t work) {
                   check(launch_mask(constraints, table->columns, states, rows_view(*rows), work), "launch mask");
                 });
}

sidbeam_status table_bitmask(const DeviceTableHandle* table, const int32_t* which, const sidbeam_state* states,
                             int64_t count, uint32_t* words, int64_t words_per_row, void* stream, sidbeam_error* err) {
  return enqueue(*table, which, {{states, "states"}, {words, "words"}}, stream, "sidbeam bitmask", err,
                 [&](const ConstraintTable& constraints, cudaStream_t work) {
                   check(launch_bitmask(constraints, table->columns, states, count, words, words_per_row, work),
                         "launch bitmask");
                 });
}

sidbeam_status table_topk(const DeviceTableHandle* table, const int32_t* which, const sidbeam_state* states,
                          const sidbeam_rows* rows, int32_t normalization, int32_t k, uint32_t codes, int32_t* tokens,
                          float* log_probs, sidbeam_state* next, void* stream, sidbeam_error* err) {
  return enqueue(
      *table, which,
      {{states, "states"}, {rows->data, "logits.data"}, {tokens, "tokens"}, {log_probs, "log_probs"}, {next, "next"}},
      stream, "sidbeam topk", err, [&](const ConstraintTable& constraints, cudaStream_t work) {
        // In the order of the caller's stream, so that neither a wait nor a lock is needed, and graphs may hold it.
        const DeviceMemory workspace(*table->device, topk_workspace_bytes(rows->rows, k, codes), work, work);
        check(launch_topk(constraints, table->columns, states, rows_view(*rows), normalization, k, codes, tokens,
                          log_probs, next, workspace.data(), work),
              "launch topk");
      });
}

}  // namespace cuda
}  // namespace sidbeam
