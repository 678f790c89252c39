// A runner with a draft where one of its models is on a device is refused: so far it speculates on the CPU alone.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <iostream>
#include <memory>

#include "../../unit/models.h"
#include "device_place.h"
#include "library.h"
#include "program.h"
#include "sidbeam/runner.h"
#include "small_catalogue.h"

namespace gpu {
namespace {

using differential::call;
using differential::expect;

using Model = std::unique_ptr<sidbeam_model, decltype(&sidbeam_model_release)>;

Model open_on(int32_t device_type) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = SIDBEAM_WEIGHTS_F32;
  config.device_type = device_type;
  sidbeam_model* model = nullptr;
  const std::string folder = sidbeam::runner::model_folder("qwen3");
  call("open", sidbeam_model_open, folder.c_str(), static_cast<const sidbeam_model_config*>(&config), &model);
  return {model, sidbeam_model_release};
}

void refuse(const Model& model, const Model& draft, const std::string& words) {
  const differential::Runtime runtime = differential::make_runtime(nullptr);
  const differential::Constraint constraint = make_constraint(runtime.get(), 300, 1, false, true);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = 3;
  vocabulary.offsets = kOffsets;
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  config.model = model.get();
  config.draft = draft.get();
  config.constraint = constraint.get();
  config.vocabulary = &vocabulary;
  config.beams = kBeams;
  sidbeam_runner* runner = nullptr;
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  const sidbeam_status status = sidbeam_runner_create(runtime.get(), &config, &runner, &err);
  expect(status == SIDBEAM_UNSUPPORTED && runner == nullptr && std::strstr(err.message, words.c_str()) != nullptr,
         "expected '", words, "', got status ", status, ": ", err.message);
}

int run_all() {
  const Model there = open_on(SIDBEAM_DEVICE_CUDA), here = open_on(SIDBEAM_DEVICE_CPU);
  refuse(there, here, "config.model is on CUDA, expected a model on the CPU: the runner speculates there alone");
  refuse(here, there, "config.draft is on CUDA, expected a model on the CPU: the runner speculates there alone");
  refuse(there, there, "config.model is on CUDA");
  std::cout << "speculate: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() { return gpu::run_program(gpu::run_all); }
