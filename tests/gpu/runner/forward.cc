// Forward passes on a CUDA device against what transformers computes for the small models of tests/unit/models, and
// against the CPU's where weights have 16 bits; each batch more than once, so that passes are run, captured and
// launched as graphs. SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "../../unit/model_runs.h"
#include "device_place.h"
#include "library.h"
#include "runner/cuda/cuda_forward.h"
#include "support/error.h"

namespace gpu {
namespace {

using differential::expect;
using namespace sidbeam::runner;

constexpr float kNear = 5e-5F;

// Of a model's forward passes on the device.
class DeviceRuns final : public Runs {
 public:
  DeviceRuns(const Golden& golden, std::unique_ptr<ModelLane> lane)
      : Runs(*lane->forward, golden),
        lane_(std::move(lane)),
        forward_(static_cast<CudaForward&>(*lane_->forward)),
        stream_(static_cast<cudaStream_t>(forward_.stream())) {}
  DeviceRuns(const Model& model, const Golden& golden)
      : DeviceRuns(golden, std::make_unique<ModelLane>(model, golden, workers_of(), 4)) {}

  // How often work was enqueued rather than launched as a graph.
  int enqueued() const { return enqueued_; }

 private:
  const float* decode(int32_t depth, const BeamLists& beams) override {
    std::vector<std::shared_ptr<void>>& there = lists_[{depth, beams.rows()}];
    size_t count = 0;
    const auto put = [&](const std::vector<int32_t>& values) {
      if (count == there.size()) there.push_back(device_memory(values.size() * 4, stream_));
      void* to = there[count++].get();
      expect_cuda(cudaMemcpyAsync(to, values.data(), values.size() * 4, cudaMemcpyHostToDevice, stream_), "copy");
      return static_cast<const int32_t*>(to);
    };
    const DecodeRows rows{beams.rows(),        depth, put(beams.requests), put(beams.tokens), put(beams.slots),
                          put(beams.ancestors)};
    forward_.replay(depth * 64 + rows.rows, [&] {
      ++enqueued_;
      forward_.decode(rows);
      logits_ = forward_.logits(depth);
    });
    return logits_;
  }
  Logits fetch(const float* logits, size_t count) override {
    Logits here(count);
    expect_cuda(cudaMemcpyAsync(here.data(), logits, count * 4, cudaMemcpyDeviceToHost, stream_), "copy");
    expect_cuda(cudaStreamSynchronize(stream_), "wait");
    return here;
  }

  std::unique_ptr<ModelLane> lane_;
  CudaForward& forward_;
  cudaStream_t stream_;
  std::map<std::pair<int32_t, int32_t>, std::vector<std::shared_ptr<void>>> lists_;  // by depth and rows
  float* logits_ = nullptr;
  int enqueued_ = 0;
};

sidbeam::Ref<Model> open_there(const std::string& name, int32_t weights) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = weights;
  config.device_type = SIDBEAM_DEVICE_CUDA;
  return sidbeam::Ref<Model>::adopt(open_model(model_folder(name).c_str(), config));
}

void compare(const Golden& golden, size_t prompt, const Logits& logits, const std::string& what) {
  const float far = distance_from(golden, prompt, logits);
  expect(far < kNear, what, ": prompt ", prompt, " is off by ", far);
}

void wide(const std::string& name) {
  const Golden golden(name);
  const sidbeam::Ref<Model> model = open_there(name, SIDBEAM_WEIGHTS_F32);
  DeviceRuns runs(*model, golden);
  const std::vector<Prompt> prompts = prompts_of(golden);
  const std::vector<Logits> first = runs.run(prompts);
  for (size_t i = 0; i < first.size(); ++i) compare(golden, i, first[i], name);
  runs.run({prompts[1]});  // another batch between
  for (const char* how : {"captured", "launched as a graph"})
    expect(runs.run(prompts) == first, name, ": other bits when ", how);
  const std::vector<Logits> turned = runs.run({prompts[2], prompts[0], prompts[3], prompts[1]});
  expect(distance(turned[0].data(), first[2].data(), first[2].size()) < kNear, name, ": other prompts in a graph");
  const int depths = kLevels - 1;
  expect(runs.enqueued() == 3 * depths, name, ": enqueued ", runs.enqueued(),
         " times, expected once and to be captured");
}

// Activations have the 16 bits of the weights here, which the CPU's do not; a unit in their last place is 2^-8 and
// 2^-11.
void narrow(const std::string& name, int32_t weights, double allowed) {
  const Golden golden(name);
  const sidbeam::Ref<Model> there = open_there(name, weights), here = open_small(name, weights);
  const std::vector<Prompt> prompts = {golden.prompts[1].prompt(), golden.prompts[2].prompt()};
  expect(there->info().weights == weights, name, ": weights are held as ", there->info().weights);
  expect(there->info().parameters == here->info().parameters, name, ": other numbers of parameters");
  ModelLane lane(*here, golden, workers_of(), 4);
  const double far = spread(Runs(*lane.forward, golden).run(prompts), DeviceRuns(*there, golden).run(prompts));
  expect(far < allowed, name, ": logits are off by ", far);
}

// Rounded as on the CPU, except the output layer. Of a model in f32 little else is between them.
void eighths(const std::string& name, double allowed) {
  const Golden golden(name);
  narrow(name, SIDBEAM_WEIGHTS_INT8, allowed);
  const sidbeam::Ref<Model> stored = open_there(name, SIDBEAM_WEIGHTS_STORED),
                            fewer = open_there(name, SIDBEAM_WEIGHTS_INT8);
  const std::vector<Prompt> prompts = prompts_of(golden);
  const double far = spread(DeviceRuns(*stored, golden).run(prompts), DeviceRuns(*fewer, golden).run(prompts));
  expect(far > 1e-5 && far < 1e-1, name, ": int8 is off by ", far);
  expect(fewer->info().memory_bytes < stored->info().memory_bytes, name, ": int8 takes ", fewer->info().memory_bytes,
         " bytes, and as stored ", stored->info().memory_bytes);
}

// A prompt that goes on after the host's KV, which is in the host's memory.
void shared_kv(const std::string& name) {
  const Golden golden(name);
  const GoldenKv given(golden);
  const sidbeam::Ref<Model> model = open_there(name, SIDBEAM_WEIGHTS_F32);
  const std::vector<Logits> all = DeviceRuns(*model, golden).run({golden.prompts[1].prompt(), given.prompt()});
  compare(golden, 1, all[0], name + " beside a shared_kv");
  compare(golden, 2, all[1], name + " after a shared_kv");
}

// The one that is no device's.
void refused() {
  try {
    open_there("umt5", SIDBEAM_WEIGHTS_STORED);
    expect(false, "umt5 was opened");
  } catch (const sidbeam::Failure& failure) {
    const std::string said = failure.message;
    expect(failure.status == SIDBEAM_UNSUPPORTED &&
               said.find("expected SIDBEAM_DEVICE_CPU for a model of family umt5") != std::string::npos,
           "umt5 is refused with ", failure.status, ": ", said);
  }
}

// Of all models, or of the one that is named.
int run_all(const std::string& only) {
  if (only.empty()) refused();
  for (const char* name : kDeviceModels) {
    if (!only.empty() && only != name) continue;
    wide(name);
    shared_kv(name);
  }
  for (const char* name : {"t5_gated", "qwen3"}) {
    if (!only.empty() && only != name) continue;
    narrow(name, SIDBEAM_WEIGHTS_BF16, 5e-2);
    narrow(name, SIDBEAM_WEIGHTS_F16, 6e-3);
  }
  for (const auto& [name, allowed] : {std::pair{"llama", 1.5e-2}, std::pair{"t5_gated", 6e-2}})
    if (only.empty() || only == name) eighths(name, allowed);
  std::cout << "forward: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main(int argc, char** argv) try {
  return gpu::has_device() ? gpu::run_all(argc > 1 ? argv[1] : "") : 77;
} catch (const sidbeam::Failure& failure) {
  std::cerr << failure.message << '\n';
  return 1;
} catch (const std::exception& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
