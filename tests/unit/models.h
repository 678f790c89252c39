// The small models of tests/unit/models, and forward passes of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runner/formats/safetensors.h"
#include "runner/math/workers.h"
#include "runner/models/model.h"
#include "support/mapped_file.h"

namespace sidbeam::runner {

inline constexpr const char* kModels[] = {"t5_relu", "t5_gated", "llama", "llama_linear", "qwen2", "qwen3",
                                          "mistral", "phi3",     "yarn",  "mt5",          "umt5"};
// Those that a device runs: all but the last.
inline constexpr std::span<const char* const> kDeviceModels(kModels, std::size(kModels) - 1);
inline constexpr int32_t kVocabulary = 50, kSequences = 3, kLevels = 4;

inline std::string model_folder(const std::string& name) { return std::string(SIDBEAM_TEST_MODELS "/") + name; }

// All F32 tensors of a file.
struct Values {
  std::vector<int64_t> shape;
  std::vector<float> values;

  std::vector<int32_t> integers() const { return {values.begin(), values.end()}; }
};
inline std::map<std::string, Values> read_values(const std::string& path) {
  const Mapping mapping(open_file(path.c_str()), path.c_str(), false);
  const Safetensors file(path.c_str(), {mapping.data(), static_cast<size_t>(mapping.size())}, mapping.size());
  std::map<std::string, Values> all;
  for (int64_t i = 0; i < file.size(); ++i) {
    const StoredTensor tensor = file.at(i);
    Values& values = all[std::string(tensor.name)];
    values.shape.assign(tensor.shape.begin(), tensor.shape.end());
    values.values.resize(static_cast<size_t>(tensor.bytes) / sizeof(float));
    if (!values.values.empty())
      std::memcpy(values.values.data(), mapping.data() + tensor.place, static_cast<size_t>(tensor.bytes));
  }
  return all;
}

struct History {
  std::vector<int32_t> tokens;
  int32_t group = 1;

  Prompt prompt() const { return {tokens.data(), static_cast<int64_t>(tokens.size()) / group, group, nullptr}; }
};

// What transformers says about a model.
struct Golden {
  explicit Golden(const std::string& name) : all(read_values(model_folder(name) + "/golden.safetensors")) {
    for (int i = 0; all.count("prompt_" + std::to_string(i)) > 0; ++i) {
      const Values& prompt = all.at("prompt_" + std::to_string(i));
      prompts.push_back({prompt.integers(), static_cast<int32_t>(prompt.shape[1])});
    }
    begin = all.at("begin").integers(), codes = all.at("codes").integers();
  }
  const float* prefill(size_t prompt) const { return all.at("prefill").values.data() + prompt * kVocabulary; }
  const float* decode(size_t prompt, int32_t depth, int32_t sequence) const {
    const size_t row = (prompt * (kLevels - 1) + static_cast<size_t>(depth) - 1) * kSequences;
    return all.at("decode").values.data() + (row + static_cast<size_t>(sequence)) * kVocabulary;
  }

  std::map<std::string, Values> all;
  std::vector<History> prompts;
  std::vector<int32_t> begin, codes;
};

inline Ref<Model> open_small(const std::string& name, int32_t weights = SIDBEAM_WEIGHTS_STORED,
                             const sidbeam_allocator* allocator = nullptr) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = weights, config.allocator = allocator;
  return Ref<Model>::adopt(open_model(model_folder(name).c_str(), config));
}

// One lane of a model that has all of the vocabulary as codes.
struct ModelLane {
  ModelLane(const Model& model, const Golden& golden, const Workers& workers, int32_t requests,
            const Allocator& allocator = default_allocator()) {
    static constexpr int32_t kCodes[] = {kVocabulary, kVocabulary, kVocabulary, kVocabulary};
    OutputConfig columns;
    columns.levels = kLevels, columns.codes = kCodes;
    output = model.make_output(allocator, columns);
    ForwardLimits limits;
    limits.requests = requests, limits.beams = kSequences, limits.levels = kLevels;
    limits.max_group = 3, limits.max_prompt = 40;
    limits.begin_tokens = golden.begin.data(), limits.begin_count = static_cast<int64_t>(golden.begin.size());
    forward = model.make_forward(allocator, *output, limits, workers);
  }

  std::unique_ptr<Output> output;
  std::unique_ptr<Forward> forward;
};

inline Workers workers_of(CpuTarget target = best_cpu_target(), Executor* executor = nullptr) {
  Workers workers;
  workers.target = target, workers.executor = executor;
  return workers;
}

}  // namespace sidbeam::runner
