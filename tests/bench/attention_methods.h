// Ways to let the beams of one request attend, by the same kernels: what differs is where keys and values are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runner/attention/attention.h"
#include "runner/attention/kernels.h"

namespace bench {

using sidbeam::runner::HeadShape;

// A step of one layer: M beams, S positions of the prompt, and the D last positions of each beam.
struct Step {
  HeadShape shape;
  int64_t beams = 0, prompt = 0;
  int32_t depth = 0;

  int64_t kv_row() const { return int64_t{shape.kv_heads} * shape.head_dim; }
  int64_t row() const { return int64_t{shape.heads} * shape.head_dim; }
  // Bytes of the keys and values of one position.
  int64_t position_bytes() const { return 2 * kv_row() * static_cast<int64_t>(sizeof(float)); }
};

// What all methods read.
struct StepData {
  explicit StepData(const Step& step);

  Step step;
  float scale = 0;
  std::vector<float> queries, prompt_keys, prompt_values, unshared_keys, unshared_values;
  std::vector<int32_t> parents;    // of the last level: few beams have most children, in no order
  std::vector<int32_t> ancestors;  // [M, D]
};

class AttentionMethod {
 public:
  virtual ~AttentionMethod() = default;
  virtual std::string name() const = 0;
  // Does it once; the output is [M, heads, head_dim], or empty where it only moves. Returns the bytes of keys, values
  // and masks that were read and written.
  virtual int64_t run(std::vector<float>& output) = 0;
  virtual bool attends() const { return true; }
};

using MakeMethod = std::unique_ptr<AttentionMethod> (*)(const StepData& data);
struct AttentionEntry {
  const char* name;
  int64_t (*memory)(const Step& step);  // bytes that it holds, before it is made
  MakeMethod make;
};
extern const std::vector<AttentionEntry> kAttentionMethods;

}  // namespace bench
