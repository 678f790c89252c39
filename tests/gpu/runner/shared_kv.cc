// A host's keys and values in its own memory and on the device, by the C ABI: the same SIDs, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <iostream>
#include <memory>

#include "../../unit/model_runs.h"
#include "device_place.h"
#include "library.h"
#include "program.h"
#include "sidbeam/runner.h"
#include "small_catalogue.h"

namespace gpu {
namespace {

using differential::call;
using differential::expect;
using namespace sidbeam::runner;

struct Sids {
  std::vector<int32_t> codes;
  std::vector<float> scores;
  bool operator==(const Sids&) const = default;
};

class SmallRunner {
 public:
  SmallRunner(const std::string& name, int32_t device_type) : golden(name), given(golden) {
    sidbeam_model_config weights = SIDBEAM_MODEL_CONFIG_INIT;
    weights.weights = SIDBEAM_WEIGHTS_F32;
    weights.device_type = device_type;
    sidbeam_model* model = nullptr;
    const std::string folder = model_folder(name);
    call("open", sidbeam_model_open, folder.c_str(), static_cast<const sidbeam_model_config*>(&weights), &model);
    model_.reset(model);
    sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
    vocabulary.levels = 3;
    vocabulary.offsets = kOffsets;
    sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
    config.model = model;
    config.constraint = constraint_.get();
    config.vocabulary = &vocabulary;
    config.beams = kBeams;
    config.max_prompt = 40;
    config.max_group = 3;
    config.begin_tokens = golden.begin.data();
    config.begin_count = static_cast<int64_t>(golden.begin.size());
    sidbeam_runner* made = nullptr;
    call("create", sidbeam_runner_create, runtime_.get(), static_cast<const sidbeam_runner_config*>(&config), &made);
    runner_.reset(made);
  }

  sidbeam_status run(const sidbeam_shared_kv& kv, Sids& found, sidbeam_error& err) {
    const Prompt prompt = given.prompt();
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    request.tokens = prompt.tokens, request.positions = prompt.positions, request.group = prompt.group;
    request.shared_kv = &kv;
    request.context = &found;
    request.done = [](void* context, const sidbeam_result* result) {
      *static_cast<Sids*>(context) = {{result->sids, result->sids + result->live * result->levels},
                                      {result->scores, result->scores + result->live}};
    };
    return sidbeam_runner_run(runner_.get(), &request, &err);
  }
  Sids run(const sidbeam_shared_kv& kv) {
    Sids found;
    sidbeam_error err = SIDBEAM_ERROR_INIT;
    expect(run(kv, found, err) == SIDBEAM_OK, "the request failed: ", err.message);
    expect(!found.scores.empty(), "the request found nothing");
    return found;
  }
  void refuse(const sidbeam_shared_kv& kv, const std::string& words) {
    Sids found;
    sidbeam_error err = SIDBEAM_ERROR_INIT;
    const sidbeam_status status = run(kv, found, err);
    expect(status == SIDBEAM_INVALID_ARGUMENT && std::strstr(err.message, words.c_str()) != nullptr, "expected '",
           words, "', got status ", status, ": ", err.message);
  }

  Golden golden;
  GoldenKv given;

 private:
  differential::Runtime runtime_ = differential::make_runtime(nullptr);
  differential::Constraint constraint_ = make_constraint(runtime_.get(), 300, 1, false, true);
  std::unique_ptr<sidbeam_model, decltype(&sidbeam_model_release)> model_{nullptr, sidbeam_model_release};
  std::unique_ptr<sidbeam_runner, decltype(&sidbeam_runner_destroy)> runner_{nullptr, sidbeam_runner_destroy};
};

// The same on a device.
struct There {
  There(const GoldenKv& given, int32_t device) {
    expect_cuda(cudaSetDevice(device), "choose a device");
    const auto put = [&](const std::vector<const void*>& from, std::vector<const void*>& to) {
      for (const void* layer : from) {
        const size_t bytes = static_cast<size_t>(given.elements) * sizeof(float);
        memory.push_back(device_memory(bytes, nullptr));
        expect_cuda(cudaMemcpy(memory.back().get(), layer, bytes, cudaMemcpyHostToDevice), "copy");
        to.push_back(memory.back().get());
      }
    };
    put(given.keys, keys);
    put(given.values, values);
    kv = given.kv;
    kv.device_type = SIDBEAM_DEVICE_CUDA, kv.device_id = device;
    kv.keys = keys.data(), kv.values = values.data();
    expect_cuda(cudaSetDevice(0), "choose a device");
  }
  There(const There&) = delete;
  There& operator=(const There&) = delete;

  std::vector<std::shared_ptr<void>> memory;
  std::vector<const void*> keys, values;
  sidbeam_shared_kv kv = SIDBEAM_SHARED_KV_INIT;
};

void run_model(const std::string& name) {
  SmallRunner runner(name, SIDBEAM_DEVICE_CUDA);
  const There there(runner.given, 0);
  const Sids expected = runner.run(runner.given.kv);
  expect(runner.run(there.kv) == expected, name, ": keys and values on the device gave other SIDs");

  sidbeam_shared_kv wrong = there.kv;
  wrong.device_id = 1;
  runner.refuse(wrong, "request.shared_kv.device_id is 1, expected the model's, 0");
  wrong = there.kv, wrong.device_type = SIDBEAM_DEVICE_CPU;
  runner.refuse(wrong, "request.shared_kv.keys[0] is memory of CUDA device 0, expected memory of the host");
  wrong = there.kv, wrong.values = runner.given.kv.values;
  runner.refuse(wrong, "request.shared_kv.values[0] is memory of the host, expected memory of CUDA device 0");
  wrong = there.kv, wrong.device_type = 7;
  runner.refuse(wrong, "request.shared_kv.device_type is 7, expected 0..1");
  int devices = 0;
  expect_cuda(cudaGetDeviceCount(&devices), "count devices");
  if (devices > 1) {
    const There elsewhere(runner.given, 1);
    wrong = elsewhere.kv, wrong.device_id = 0;
    runner.refuse(wrong, "request.shared_kv.keys[0] is memory of CUDA device 1, expected device 0");
  }
  expect(runner.run(runner.given.kv) == expected, name, ": other SIDs after requests that were refused");
  SmallRunner here(name, SIDBEAM_DEVICE_CPU);
  here.refuse(there.kv, "request.shared_kv.device_type is 1, expected SIDBEAM_DEVICE_CPU, 0");
}

int run_all() {
  run_model("qwen3");
  run_model("t5_gated");
  std::cout << "shared_kv: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() { return gpu::run_program(gpu::run_all); }
