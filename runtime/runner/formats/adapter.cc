// SPDX-License-Identifier: Apache-2.0
#include "runner/formats/adapter.h"

#include <cmath>

#include "runner/formats/fields.h"
#include "runner/formats/text_file.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

constexpr char kConfig[] = "adapter_config.json", kWeights[] = "adapter_model.safetensors";
constexpr int64_t kMostRank = int64_t{1} << 20, kMostTokens = int64_t{1} << 30;

bool has_model(const std::string& folder) {
  return exists(path_within(folder, "config.json")) && (exists(path_within(folder, "model.safetensors")) ||
                                                        exists(path_within(folder, "model.safetensors.index.json")));
}

// Forms of LoRA that are more than a product added to a matrix.
void refuse_forms(const ObjectReader& file) {
  const std::string type = file.text("peft_type");
  if (type != "LORA") file.unsupported("peft_type", quoted(type), "LORA");
  if (file.has("bias") && file.text("bias") != "none")
    file.unsupported("bias", quoted(file.text("bias")), "none: biases are not merged");
  for (const char* name : {"use_dora", "fan_in_fan_out", "lora_bias", "use_qalora", "use_bdlora", "use_arrow"})
    if (const Field* field = file.find(name); field != nullptr && field->kind == JsonKind::kBoolean && field->boolean)
      file.unsupported(name, "true", "false: merge the adapter with PEFT");
  for (const char* name : {"rank_pattern", "alpha_pattern"})
    if (file.has(name) && file.object(name) != nullptr)
      file.unsupported(name, "set", "none: merge the adapter with PEFT");
  for (const char* name : {"layer_replication", "alora_invocation_tokens", "trainable_token_indices"})
    if (file.has(name)) file.unsupported(name, "set", "null: merge the adapter with PEFT");
  // PiSSA and its like change the base as well.
  const Field* begin = file.find("init_lora_weights");
  if (begin != nullptr && begin->kind == JsonKind::kText && begin->text != "gaussian" && begin->text != "eva" &&
      begin->text != "orthogonal")
    file.unsupported("init_lora_weights", quoted(begin->text), "true, false or gaussian: merge the adapter with PEFT");
}

}  // namespace

Adapter::Adapter(const char* folder) : checkpoint_(folder, kWeights) { read_settings(folder); }

void Adapter::read_settings(const char* folder) {
  const Fields fields(path_within(folder, kConfig));
  const ObjectReader file(fields);
  refuse_forms(file);
  alpha_ = file.real("lora_alpha", -1e6, 1e6);
  root_ = file.boolean("use_rslora", false);
}

std::string Adapter::module(const std::string& name, const char* tensor) const {
  constexpr std::string_view kInner = "model.";
  std::string whole = "base_model.model." + name;
  if (checkpoint_.has(whole + tensor)) return whole;
  if (std::string_view(name).substr(0, kInner.size()) != kInner) return {};
  // Of a base without an output layer.
  const std::string bare = "base_model.model." + name.substr(kInner.size());
  return checkpoint_.has(bare + tensor) ? bare : "";
}

std::string Adapter::replacement(const std::string& name) const { return module(name, ""); }

void Adapter::read_vocabulary(ModelConfig& config) const {
  const std::string name = replacement(config.encoder_layers > 0 ? "shared.weight" : "model.embed_tokens.weight");
  if (name.empty()) return;
  const std::span<const int64_t> shape = checkpoint_.shape_of(name);
  if (shape.size() == 2 && shape[0] >= 1 && shape[0] <= kMostTokens) config.vocabulary = shape[0];
}

std::optional<LowRank> Adapter::change(const std::string& name, int64_t rows, int64_t columns) const {
  constexpr std::string_view kWeight = ".weight";
  if (name.size() < kWeight.size() || name.compare(name.size() - kWeight.size(), kWeight.size(), kWeight) != 0)
    return {};
  const std::string bare = name.substr(0, name.size() - kWeight.size());
  LowRank change;
  change.embedding = !module(bare, ".lora_embedding_A").empty();
  const char* const down = change.embedding ? ".lora_embedding_A" : ".lora_A.weight";
  const char* const up = change.embedding ? ".lora_embedding_B" : ".lora_B.weight";
  const std::string path = module(bare, down);
  if (path.empty()) return {};
  change.down_name = path + down, change.up_name = path + up;
  const std::span<const int64_t> shape = checkpoint_.shape_of(change.down_name);
  change.rank = shape.empty() ? 0 : shape[0];
  if (change.rank < 1 || change.rank > kMostRank)
    fail(SIDBEAM_CORRUPT, "tensor '%.200s' has shape %s, expected a rank of 1..%lld first", change.down_name.c_str(),
         format_shape(shape).c_str(), static_cast<long long>(kMostRank));
  change.down = checkpoint_.tensor(change.down_name, {change.rank, change.embedding ? rows : columns});
  change.up = checkpoint_.tensor(change.up_name, {change.embedding ? columns : rows, change.rank});
  const auto rank = static_cast<double>(change.rank);
  change.scale = static_cast<float>(alpha_ / (root_ ? std::sqrt(rank) : rank));
  return change;
}

bool has_adapter(const std::string& folder) { return exists(path_within(folder, kConfig)); }

std::string find_base(const std::string& folder, const std::string& given) {
  if (!given.empty()) return given;
  if (has_model(folder)) return folder;
  const Fields fields(path_within(folder, kConfig));
  const ObjectReader file(fields);
  std::string name = file.has("base_model_name_or_path") ? file.text("base_model_name_or_path") : "";
  while (!name.empty() && name.back() == '/') name.pop_back();
  const std::string called = name.substr(name.rfind('/') + 1);  // of no slash: npos + 1 is 0
  std::string beside = path_within(folder, "..") + "/" + called;
  if (!called.empty() && called != "." && called != ".." && has_model(beside)) return beside;
  fail(SIDBEAM_UNSUPPORTED,
       "'%.150s' is a LoRA adapter of '%.150s', whose folder is not beside it: give that as config.base, or merge them "
       "with PEFT's merge_and_unload()",
       folder.c_str(), name.c_str());
}

}  // namespace sidbeam::runner
