// The CPU as a backend.
// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"
#include "backend/cpu/cpu_set.h"
#include "backend/cpu/stepper.h"

namespace sidbeam {
namespace {

using cpu::Kernels;

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Kernels& kernels, std::unique_ptr<Executor> executor, int64_t grain)
      : kernels_(kernels), executor_(std::move(executor)), grain_(grain) {}

  std::unique_ptr<Stepper> make_stepper(const Allocator& allocator) const override {
    if (executor_ != nullptr) executor_->prepare();
    return std::make_unique<cpu::CpuStepper>(kernels_, allocator, executor_.get(), grain_);
  }
  std::unique_ptr<SetBackend> make_set(const SetView& view, const Allocator& allocator) const override {
    return cpu::make_cpu_set(kernels_, view, allocator);
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
