// The configs of tests/unit/configs, whose names are those of published checkpoints or of what transformers 5.23's
// save_pretrained() wrote, with fields that a test changes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/formats/config.h"
#include "runner_folder.h"

namespace sidbeam::runner {

using Json = nlohmann::json;
using Family = ModelConfig::Family;

inline Json load(const std::string& name) {
  return Json::parse(read_all(std::string(SIDBEAM_CONFIGS "/") + name + ".json"));
}

inline ModelConfig read_text_as_config(const std::string& text, const std::string& generation = "") {
  const Folder folder;
  folder.write("config.json", text);
  if (!generation.empty()) folder.write("generation_config.json", generation);
  return read_config(folder.path());
}
inline ModelConfig read(const Json& json) { return read_text_as_config(json.dump()); }
inline ModelConfig read(const char* name) { return read(load(name)); }

// The file of that name with some fields set; a field "a.b" is within an object.
inline Json with(const std::string& name, const Json& changes) {
  Json json = load(name);
  for (const auto& [field, value] : changes.items()) {
    std::string pointer = "/" + field;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    json[Json::json_pointer(pointer)] = value;
  }
  return json;
}
inline Json without(const std::string& name, const std::string& field) {
  Json json = load(name);
  json.erase(field);
  return json;
}

inline void expect_corrupt(const std::string& phrase, const Json& json) {
  expect_failure(SIDBEAM_CORRUPT, phrase, [&] { read(json); });
}
inline void expect_unsupported(const std::string& phrase, const Json& json) {
  expect_failure(SIDBEAM_UNSUPPORTED, phrase, [&] { read(json); });
}

inline Json phi3(const Json& changes) {
  Json json = with("Llama-3.2-1B", {{"model_type", "phi3"}, {"architectures", {"Phi3ForCausalLM"}}});
  json.erase("rope_scaling");
  for (const auto& [name, value] : changes.items()) json[name] = value;
  return json;
}

}  // namespace sidbeam::runner
