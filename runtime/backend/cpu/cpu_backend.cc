// The CPU as a backend.
// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"
#include "backend/cpu/cpu_set.h"
#include "backend/cpu/session.h"

namespace sidbeam {
namespace {

using cpu::Kernels;

class CpuStepLists final : public StepLists {
 public:
  CpuStepLists(int64_t slot_count, int64_t beams, const Allocator& allocator)
      : slots_(allocator, slot_count), row_map_(allocator, checked_bytes(slot_count, beams)) {
    slots_there = slots = slots_.data();
    row_map_there = row_map = row_map_.data();
    memory_bytes = slots_.bytes() + row_map_.bytes();
  }
  void send(int64_t /*count*/, void* /*stream*/) override {}
  void mark(void* /*stream*/) noexcept override {}

 private:
  Buffer<int32_t> slots_, row_map_;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Kernels& kernels, std::unique_ptr<Executor> executor, int64_t grain)
      : kernels_(kernels), executor_(std::move(executor)), grain_(grain) {}

  std::unique_ptr<SessionBackend> make_session(const SessionShape& shape, Constraint& constraint,
                                               const Allocator& allocator) override {
    if (executor_ != nullptr) executor_->prepare();
    return std::make_unique<cpu::CpuSession>(shape, constraint, allocator, kernels_, executor_.get(), grain_);
  }
  std::unique_ptr<SetBackend> make_set(const SetShape& shape, const Allocator& allocator) override {
    return cpu::make_cpu_set(kernels_, shape, allocator);
  }
  std::unique_ptr<StepLists> make_step_lists(int64_t slots, int64_t beams, const Allocator& allocator) override {
    return std::make_unique<CpuStepLists>(slots, beams, allocator);
  }

 private:
  const Kernels& kernels_;
  std::unique_ptr<Executor> executor_;
  int64_t grain_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(CpuTarget target, std::unique_ptr<Executor> executor, int64_t grain) {
  return std::make_unique<CpuBackend>(cpu::kernels_of(target), std::move(executor), grain);
}

}  // namespace sidbeam
