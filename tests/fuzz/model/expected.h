// What files that were taken hold, by the plainest reading.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

class ExpectedTensors {
 public:
  explicit ExpectedTensors(const std::vector<uint8_t>& file);
  int64_t size() const { return static_cast<int64_t>(tensors_.size()); }
  // A tensor of that type and shape lies at that byte of the file.
  bool has(const std::string& name, std::string_view type, const std::vector<int64_t>& shape, int64_t begin,
           size_t bytes) const;

 private:
  nlohmann::json tensors_;
  int64_t data_at_ = 0;
};

// Every tensor of the index lies in that file.
bool names_only(const std::string& index, const std::string& file);
// The adapter's config is that of LoRA; and the last part of the name of its base.
bool is_lora(const std::string& adapter);
std::string base_of(const std::string& adapter);

}  // namespace fuzz
