// A small model of tests/unit/models whose files a test changes before it writes them to a folder of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model_runs.h"
#include "runner/formats/checkpoint.h"
#include "runner_folder.h"

namespace sidbeam::runner {

using Json = nlohmann::json;

struct EditedTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;

  template <class T>
  static EditedTensor of(const char* dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
    return {dtype, std::move(shape), {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}};
  }
  template <class T>
  void set(size_t element, T value) {
    std::memcpy(bytes.data() + element * sizeof(T), &value, sizeof(T));
  }
  std::vector<float> floats() const {  // of F32
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};
using EditedTensors = std::map<std::string, EditedTensor>;

inline void write_tensors(const Folder& folder, const char* name, const EditedTensors& tensors) {
  Json header = Json::object();
  std::string data;
  for (const auto& [tensor, of] : tensors) {
    header[tensor] = {
        {"dtype", of.dtype}, {"shape", of.shape}, {"data_offsets", {data.size(), data.size() + of.bytes.size()}}};
    data += of.bytes;
  }
  folder.write(name, safetensors(header.dump(), data));
}

struct EditedModel {
  Json config;
  EditedTensors tensors;

  explicit EditedModel(const std::string& name) : config(Json::parse(read_all(model_folder(name) + "/config.json"))) {
    const Checkpoint checkpoint(model_folder(name).c_str());
    for (int64_t i = 0; i < checkpoint.size(); ++i) {
      const StoredTensor stored = checkpoint.at(i);
      const Weights weights = checkpoint.tensor(stored.name, stored.shape);
      EditedTensor& tensor = tensors[std::string(stored.name)];
      tensor.dtype = stored.type_name, tensor.shape.assign(stored.shape.begin(), stored.shape.end());
      tensor.bytes.resize(static_cast<size_t>(stored.bytes));
      checkpoint.read(weights, 0, weights.elements, tensor.bytes.data());
    }
  }
  // Every tensor is called what `renamed` makes of its name.
  template <class Renamed>
  void rename(const Renamed& renamed) {
    EditedTensors named;
    for (auto& [name, tensor] : tensors) named[renamed(name)] = std::move(tensor);
    tensors = std::move(named);
  }
  void write(const Folder& folder) const {
    folder.write("config.json", config.dump());
    write_tensors(folder, "model.safetensors", tensors);
  }
};

// How a folder is opened, and what it said.
struct Opening {
  int32_t weights = SIDBEAM_WEIGHTS_STORED;
  std::string base;
  std::vector<std::string> log;
};

inline Ref<Model> open_at(const std::string& folder, Opening& how) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = how.weights;
  config.base = how.base.empty() ? nullptr : how.base.c_str();
  config.log_context = &how.log;
  config.log = [](void* context, int32_t level, const char* message) {
    EXPECT_EQ(level, SIDBEAM_LOG_WARNING);
    static_cast<std::vector<std::string>*>(context)->emplace_back(message);
  };
  return Ref<Model>::adopt(open_model(folder.c_str(), config));
}

inline std::vector<Logits> logits_of(const Model& model, const Golden& golden) {
  ModelLane lane(model, golden, workers_of(), 4);
  return Runs(*lane.forward, golden).run(prompts_of(golden));
}
inline std::vector<Logits> logits_of(const std::string& name) { return logits_of(*open_small(name), Golden(name)); }

}  // namespace sidbeam::runner
