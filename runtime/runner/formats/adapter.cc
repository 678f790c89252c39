// SPDX-License-Identifier: Apache-2.0
#include "runner/formats/adapter.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "runner/formats/fields.h"
#include "runner/formats/text_file.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

constexpr char kConfig[] = "adapter_config.json", kWeights[] = "adapter_model.safetensors";
constexpr std::string_view kOuter = "base_model.model.";  // before every name
constexpr double kMostAlpha = 1e6;
constexpr int64_t kMostRank = int64_t{1} << 20;

bool has_model(const std::string& folder) {
  return exists(path_within(folder, "config.json")) && (exists(path_within(folder, "model.safetensors")) ||
                                                        exists(path_within(folder, "model.safetensors.index.json")));
}

bool is_set(const ObjectReader& file, const char* name) {
  const Field* field = file.find(name);
  if (field == nullptr || field->kind == JsonKind::kNull) return false;
  if (field->kind == JsonKind::kBoolean) return field->boolean;
  return field->kind != JsonKind::kObject || file.object(name) != nullptr;
}

// Forms of LoRA that are more than a product added to a matrix. (fan_in_fan_out is none of them: PEFT sets it aside for
// linear layers, the only ones here.)
void refuse_forms(const ObjectReader& file) {
  const std::string type = file.text("peft_type");
  if (type != "LORA") file.unsupported("peft_type", in_quotes(type), "LORA");
  for (const char* name :
       {"use_dora", "lora_bias", "use_qalora", "use_bdlora", "arrow_config", "kasa_config", "monteclora_config",
        "velora_config", "layer_replication", "alora_invocation_tokens", "trainable_token_indices"})
    if (is_set(file, name)) file.unsupported(name, "set", "null or false: merge the adapter with PEFT");
  // PiSSA and its like change the base as well.
  const Field* begin = file.find("init_lora_weights");
  if (begin == nullptr || begin->kind != JsonKind::kText) return;
  for (const char* own : {"gaussian", "eva", "orthogonal", "mica"})
    if (begin->text == own) return;
  file.unsupported("init_lora_weights", in_quotes(begin->text), "true, false or gaussian: merge the adapter with PEFT");
}

// Whether a module's path is what the key of a pattern names: all of it after a ^, otherwise its end. PEFT takes keys
// for regular expressions, in which a dot is any character.
bool is_named(std::string_view path, std::string_view key) {
  const bool whole = !key.empty() && key[0] == '^';
  if (whole) key.remove_prefix(1);
  if (path.size() < key.size()) return false;
  const size_t at = path.size() - key.size();
  if (at > 0 && (whole || path[at - 1] != '.')) return false;
  return std::equal(key.begin(), key.end(), path.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char of_key, char of_path) { return of_key == of_path || of_key == '.'; });
}

bool is_plain(std::string_view key) {
  if (!key.empty() && key[0] == '^') key.remove_prefix(1);
  return std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

}  // namespace

Adapter::Adapter(const char* folder) : checkpoint_(folder, kWeights) { read_settings(folder); }

void Adapter::read_settings(const char* folder) {
  const Fields fields(path_within(folder, kConfig));
  const ObjectReader file(fields);
  refuse_forms(file);
  rank_.usual = static_cast<double>(file.integer("r", 1, kMostRank));
  alpha_.usual = file.real("lora_alpha", -kMostAlpha, kMostAlpha);
  read_pattern(fields, "rank_pattern", rank_);
  read_pattern(fields, "alpha_pattern", alpha_);
  root_ = file.boolean("use_rslora", false);
}

void Adapter::read_pattern(const Fields& fields, const char* name, Setting& setting) {
  const ObjectReader file(fields);
  const Field* pattern = file.object(name);
  if (pattern == nullptr) return;
  const ObjectReader inner = file.within(*pattern);
  const int32_t place = fields.place(*pattern);
  for (const Field& field : fields.all()) {
    if (field.parent != place) continue;
    if (!is_plain(field.name))
      file.unsupported(name, "the regular expression " + in_quotes(field.name),
                       "names of modules alone: merge the adapter with PEFT");
    const double value = &setting == &rank_ ? static_cast<double>(inner.integer(field.name.c_str(), 1, kMostRank))
                                            : inner.real(field.name.c_str(), -kMostAlpha, kMostAlpha);
    setting.patterns.emplace_back(field.name, value);
  }
}

double Adapter::Setting::of(std::string_view path) const {
  for (const auto& [key, value] : patterns)
    if (is_named(path, key)) return value;
  return usual;
}

std::string Adapter::module(const std::string& name, const std::string& tensor) const {
  constexpr std::string_view kInner = "model.";
  std::string whole = std::string(kOuter) + name;
  if (checkpoint_.has(whole + tensor)) return whole;
  if (std::string_view(name).substr(0, kInner.size()) != kInner) return {};
  // Of a base without an output layer.
  const std::string bare = std::string(kOuter) + name.substr(kInner.size());
  return checkpoint_.has(bare + tensor) ? bare : "";
}

// A layer with a product beside it is called base_layer.
std::string Adapter::replacement(const std::string& name) const {
  const size_t dot = std::min(name.rfind('.'), name.size());
  const std::string path = name.substr(0, dot), last = name.substr(dot);
  for (const std::string& tensor : {last, ".base_layer" + last})
    if (const std::string found = module(path, tensor); !found.empty()) return found + tensor;
  return {};
}

bool Adapter::adds_to(const std::string& path) const {
  return !module(path, ".lora_embedding_A").empty() || !module(path, ".lora_A.weight").empty();
}

void Adapter::read_vocabulary(ModelConfig& config) const {
  const std::string name = replacement("model.embed_tokens.weight");
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
  const std::string_view name_of_peft = std::string_view(path).substr(kOuter.size());
  const double rank = rank_.of(name_of_peft);
  change.rank = static_cast<int64_t>(rank);
  const auto factor = [&](const char* tensor, int64_t of, int64_t width) {
    return Factor{path + tensor, checkpoint_.tensor(path + tensor, {of, width}), width};
  };
  change.down = factor(down, change.rank, change.embedding ? rows : columns);
  change.up = factor(up, change.embedding ? columns : rows, change.rank);
  change.scale = static_cast<float>(alpha_.of(name_of_peft) / (root_ ? std::sqrt(rank) : rank));
  return change;
}

bool has_adapter(const std::string& folder) { return exists(path_within(folder, kConfig)); }

void check_base(const std::string& folder, const std::string& base) {
  std::error_code unknown;
  if (has_adapter(base) && !std::filesystem::equivalent(folder, base, unknown))
    fail(SIDBEAM_UNSUPPORTED,
         "the base of '%.150s', '%.150s', has an adapter of its own, adapter_config.json: merge that with PEFT first",
         folder.c_str(), base.c_str());
}

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
