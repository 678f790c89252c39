// SPDX-License-Identifier: Apache-2.0
#include "expected.h"

#include <algorithm>
#include <cstring>

namespace fuzz {

ExpectedTensors::ExpectedTensors(const std::vector<uint8_t>& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const auto begin = file.begin() + sizeof length;
  tensors_ = nlohmann::json::parse(begin, begin + static_cast<std::ptrdiff_t>(length));
  tensors_.erase("__metadata__");
  data_at_ = static_cast<int64_t>(sizeof length + length);
}

bool ExpectedTensors::has(const std::string& name, std::string_view type, const std::vector<int64_t>& shape,
                          int64_t begin, size_t bytes) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return false;
  const auto offsets = found->at("data_offsets").get<std::vector<int64_t>>();
  if (found->at("dtype") != type) return false;
  return found->at("shape").get<std::vector<int64_t>>() == shape && data_at_ + offsets[0] == begin &&
         offsets[1] - offsets[0] == static_cast<int64_t>(bytes);
}

bool names_only(const std::string& index, const std::string& file) {
  const nlohmann::json map = nlohmann::json::parse(index).at("weight_map");
  return std::all_of(map.begin(), map.end(), [&](const nlohmann::json& value) { return value == file; });
}

bool is_lora(const std::string& adapter) { return nlohmann::json::parse(adapter).at("peft_type") == "LORA"; }

std::string base_of(const std::string& adapter) {
  auto name = nlohmann::json::parse(adapter).at("base_model_name_or_path").get<std::string>();
  while (!name.empty() && name.back() == '/') name.pop_back();
  return name.substr(name.rfind('/') + 1);
}

}  // namespace fuzz
