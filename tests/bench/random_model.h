// Checkpoints with random weights, for benchmarks. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace bench {

struct ModelShape {
  const char* name;
  bool t5;
  int64_t layers, hidden, heads, head_dim, ffn;  // a T5 has as many layers in its encoder
  int64_t vocabulary = 1100;
};

// A folder with config.json and model.safetensors, which goes with the object.
class RandomModel {
 public:
  explicit RandomModel(const ModelShape& shape);
  RandomModel(const RandomModel&) = delete;
  RandomModel& operator=(const RandomModel&) = delete;
  ~RandomModel();
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

}  // namespace bench
