// The stateless calls on a device.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include "backend/cuda/current.h"
#include "backend/cuda/functions.h"
#include "backend/cuda/marks.h"
#include "backend/cuda/rules.h"
#include "backend/cuda/step_view.h"
#include "backend/cuda/upload.h"
#include "backend/cuda/vocabulary.h"
#include "support/cuda/check.h"
#include "support/cuda/range.h"
#include "support/guard.h"

namespace sidbeam {

struct DeviceSetHandle {
  DeviceHandle* device = nullptr;
  cuda::DeviceMemory memory;
  cuda::ConstraintTable table;  // `which` is the call's
  const LevelColumns* columns = nullptr;
  mutable cuda::Marks marks;  // of all work of the set's calls
};

namespace cuda {
namespace {

struct Address {
  const void* address;
  const char* name;
};

// The rules of a set's constraints in its memory: a table of addresses, and what they lead to.
class RulesPart {
 public:
  RulesPart(const DeviceRules* rules, int32_t count, Layout& layout) : rules_(rules), count_(count) {
    for (int32_t i = 0; i < count; ++i) {
      if (rules[i].rules == nullptr) continue;
      if (table_at_ < 0) table_at_ = layout.add<const RulesView*>(count);
      bytes_ += rules_bytes(rules[i]);
    }
    at_ = layout.add_bytes(bytes_, 1);
  }
  // From pageable memory, which is staged before the call returns. nullptr: no constraint has rules.
  const RulesView* const* copy_to(uint8_t* base, cudaStream_t stream) const {
    if (table_at_ < 0) return nullptr;
    std::vector<const RulesView*> table(static_cast<size_t>(count_));
    std::vector<uint8_t> here(static_cast<size_t>(bytes_));
    int64_t written = 0;
    for (int32_t i = 0; i < count_; ++i) {
      if (rules_[i].rules == nullptr) continue;
      const uint8_t* there = base + at_ + written;
      table[static_cast<size_t>(i)] = reinterpret_cast<const RulesView*>(there);
      written += write_rules(rules_[i], here.data() + written, there);
    }
    const auto copy = [&](int64_t at, const void* from, size_t bytes) {
      check(cudaMemcpyAsync(base + at, from, bytes, cudaMemcpyHostToDevice, stream), "copy to the device");
    };
    copy(table_at_, table.data(), table.size() * sizeof table[0]);
    copy(at_, here.data(), here.size());
    check(cudaStreamSynchronize(stream), "wait for the rules of a set");
    return reinterpret_cast<const RulesView* const*>(base + table_at_);
  }

 private:
  const DeviceRules* rules_;
  int32_t count_;
  int64_t bytes_ = 0, at_ = 0, table_at_ = -1;
};

// Checks the arguments of a call, then calls launch(table, stream).
template <class Launch>
sidbeam_status enqueue(const DeviceSetHandle& set, const SetCall& call, std::initializer_list<Address> addresses,
                       const char* name, sidbeam_error* err, const Launch& launch) {
  return guarded(err, [&] {
    const Range range(name);
    const int32_t id = set.device->id;
    const Current current(*set.device);
    const bool captured = check_stream(id, call.stream);
    check_address(id, call.which, "which");
    for (const Address& given : addresses) check_address(id, given.address, given.name);
    ConstraintTable constraints = set.table;
    constraints.which = call.which;
    const MarksEnd end(set.marks, call.stream, captured);
    launch(constraints, static_cast<cudaStream_t>(call.stream));
  });
}

}  // namespace

sidbeam_status set_create(DeviceHandle* device, UploadHandle* const* uploads, const DeviceRules* rules, int32_t count,
                          const VocabularyView* vocabulary, DeviceSetHandle** out, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(*device);
    std::vector<const IndexView*> views;
    for (int32_t i = 0; i < count; ++i) views.push_back(uploads[i]->view());
    Layout layout;
    const int64_t views_at = layout.add<const IndexView*>(count);
    VocabularyBlock block(*vocabulary, layout);
    const RulesPart ruled(rules, count, layout);
    auto set = std::make_unique<DeviceSetHandle>();
    set->device = device;
    set->memory = DeviceMemory(*device, layout.bytes(), device->work, device->release);
    const WaitsForWork waits(*device);
    uint8_t* base = set->memory.data();
    check(cudaMemcpyAsync(base + views_at, views.data(), views.size() * sizeof views[0], cudaMemcpyHostToDevice,
                          device->work),
          "copy to the device");
    set->columns = block.copy_to(base, device->work);
    set->table.rules = ruled.copy_to(base, device->work);
    std::call_once(device->set_kernels, [&] {
      check(warm_set_kernels(base, device->work), "launch the kernels of a set");
      check(warm_sample_kernel(base, device->work), "launch the kernel of draws");
    });
    check(cudaStreamSynchronize(device->work), "wait for the set");
    set->table.indexes = reinterpret_cast<const IndexView* const*>(base + views_at);
    set->table.count = count;
    *out = set.release();
  });
}

void set_destroy(DeviceSetHandle* set) {
  guarded(nullptr, [&] {
    const std::unique_ptr<DeviceSetHandle> owned(set);
    const Current current(*set->device);
    set->marks.order(set->device->release);
    set->marks.clear();
    set->memory = DeviceMemory();
  });
}

sidbeam_status set_prefixes(const DeviceSetHandle* set, const SetCall* call, const PrefixArray* prefixes,
                            const int32_t* lengths, int64_t* out, sidbeam_error* err) {
  return enqueue(*set, *call, {{prefixes->codes, "codes"}, {lengths, "lengths"}, {out, "out"}}, "sidbeam prefixes", err,
                 [&](const ConstraintTable& constraints, cudaStream_t work) {
                   check(launch_prefix_states(constraints, *prefixes, lengths, call->count, out, work),
                         "launch prefixes");
                 });
}

sidbeam_status set_advance(const DeviceSetHandle* set, const SetCall* call, const int64_t* in, int64_t in_count,
                           const int32_t* parents, const int32_t* codes, int64_t* out, sidbeam_error* err) {
  return enqueue(*set, *call, {{in, "in"}, {parents, "parents"}, {codes, "codes"}, {out, "out"}}, "sidbeam advance",
                 err, [&](const ConstraintTable& constraints, cudaStream_t work) {
                   check(launch_advance(constraints, in, in_count, parents, codes, call->count, out, work),
                         "launch advance");
                 });
}

sidbeam_status set_mask(const DeviceSetHandle* set, const SetCall* call, const int64_t* states,
                        const sidbeam_rows* rows, sidbeam_error* err) {
  return enqueue(*set, *call, {{states, "states"}, {rows->data, "logits.data"}}, "sidbeam mask", err,
                 [&](const ConstraintTable& constraints, cudaStream_t work) {
                   check(launch_mask(constraints, set->columns, states, rows_view(*rows), work), "launch mask");
                 });
}

sidbeam_status set_bitmask(const DeviceSetHandle* set, const SetCall* call, const int64_t* states,
                           int64_t words_per_row, uint32_t* words, sidbeam_error* err) {
  return enqueue(*set, *call, {{states, "states"}, {words, "words"}}, "sidbeam bitmask", err,
                 [&](const ConstraintTable& constraints, cudaStream_t work) {
                   check(launch_bitmask(constraints, set->columns, states, call->count, words, words_per_row, work),
                         "launch bitmask");
                 });
}

sidbeam_status set_topk(const DeviceSetHandle* set, const SetCall* call, const int64_t* states,
                        const sidbeam_rows* rows, int32_t normalization, int32_t k, uint32_t widest, int32_t* codes,
                        float* log_probs, int64_t* next, sidbeam_error* err) {
  return enqueue(
      *set, *call,
      {{states, "states"}, {rows->data, "logits.data"}, {codes, "codes"}, {log_probs, "log_probs"}, {next, "next"}},
      "sidbeam topk", err, [&](const ConstraintTable& constraints, cudaStream_t work) {
        // Allocated in the order of the caller's stream, so that no wait or lock is needed and graphs may capture it.
        const DeviceMemory workspace(*set->device, topk_workspace_bytes(rows->rows, k, widest), work, work,
                                     set->device->workspaces);
        check(launch_topk(constraints, set->columns, states, rows_view(*rows), normalization, k, widest, codes,
                          log_probs, next, workspace.data(), work),
              "launch topk");
      });
}

sidbeam_status set_sample(const DeviceSetHandle* set, const SetCall* call, const int64_t* states,
                          const sidbeam_rows* rows, const SetSampling* how, const sidbeam_sampled* out,
                          sidbeam_error* err) {
  const sidbeam_sampling& arrays = how->arrays;
  return enqueue(*set, *call,
                 {{states, "states"},
                  {rows->data, "logits.data"},
                  {how->inverse_temperatures, "inverse_temperatures"},
                  {arrays.seeds, "sampling.seeds"},
                  {arrays.requests, "sampling.requests"},
                  {arrays.draws, "sampling.draws"},
                  {arrays.top_ks, "sampling.top_ks"},
                  {arrays.top_ps, "sampling.top_ps"},
                  {out->codes, "out.codes"},
                  {out->log_probs, "out.log_probs"},
                  {out->log_masses, "out.log_masses"},
                  {out->next, "out.next"}},
                 "sidbeam sample", err, [&](const ConstraintTable& constraints, cudaStream_t work) {
                   check(launch_sample(constraints, set->columns, states, rows_view(*rows), *how, *out, work),
                         "launch a draw");
                 });
}

}  // namespace cuda
}  // namespace sidbeam
