// SPDX-License-Identifier: Apache-2.0
#include "runner/formats/checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "runner/formats/fields.h"
#include "runner/formats/text_file.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

constexpr int64_t kMostIndexBytes = int64_t{16} << 20;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The first of a folder's files, by name, that ends so; "": none, or no folder.
std::string first_like(const char* folder, std::string_view end) {
  std::error_code none;
  std::string first;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (ends_with(name, end) && (first.empty() || name < first)) first = name;
  }
  return first;
}

// The name within a line for a shell; in place of one that such a line cannot hold, or not safely, FILE.gguf.
std::string shown(const std::string& file) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._+- ").find(c) != std::string_view::npos;
  };
  return file.size() <= 128 && std::all_of(file.begin(), file.end(), plain) ? file : "FILE.gguf";
}

// The class of transformers that opens the model.
const char* automatic_class(const char* folder) {
  const std::string config = path_within(folder, "config.json");
  if (!exists(config)) return "AutoModelForCausalLM";
  const Fields fields(config);
  const bool encodes = ends_with(ObjectReader(fields).text("model_type", ""), "t5");
  return encodes ? "AutoModelForSeq2SeqLM" : "AutoModelForCausalLM";
}

// An adapter as PEFT saved it before it took to safetensors.
void refuse_old_adapter(const char* folder) {
  const auto has = [&](const char* name) { return exists(path_within(folder, name)); };
  if (!has("adapter_config.json") || !has("adapter_model.bin") || has("adapter_model.safetensors")) return;
  fail(SIDBEAM_UNSUPPORTED,
       "'%.150s' has adapter_model.bin alone, which is not read; in it, convert that: python3 -c "
       "\"from torch import load; from safetensors.torch import save_file as s; "
       "s(load('adapter_model.bin', weights_only=True), 'adapter_model.safetensors')\"",
       folder);
}

}  // namespace

int64_t size_of(StoredType type) {
  if (type == StoredType::kF64) return 8;
  return type == StoredType::kF32 ? 4 : 2;
}

void refuse_other_formats(const char* folder) {
  refuse_old_adapter(folder);
  for (const char* ours : {"model.safetensors", "model.safetensors.index.json", "adapter_model.safetensors"})
    if (exists(path_within(folder, ours))) return;
  std::string where = folder, gguf = first_like(folder, ".gguf");
  if (ends_with(where, ".gguf") && exists(where)) {  // a file in place of its folder
    const size_t slash = where.rfind('/') + 1;       // of none: 0
    gguf = where.substr(slash), where.erase(slash);
  }
  constexpr char kLine[] =
      "python3 -c \"from transformers import %s as M; M.from_pretrained('.'%s%s%s).save_pretrained('.')\"";
  const char* const automatic = automatic_class(folder);
  char line[300];
  if (!gguf.empty()) {
    std::snprintf(line, sizeof line, kLine, automatic, ", gguf_file='", shown(gguf).c_str(), "'");
    fail(SIDBEAM_UNSUPPORTED, "'%.150s' has GGUF weights, which are not read; in its folder, convert them: %s", folder,
         line);
  }
  if (!exists(path_within(folder, "pytorch_model.bin")) && !exists(path_within(folder, "pytorch_model.bin.index.json")))
    return;
  std::snprintf(line, sizeof line, kLine, automatic, "", "", "");
  fail(SIDBEAM_UNSUPPORTED, "'%.150s' has pytorch_model.bin alone, which is not read; in it, convert that: %s", folder,
       line);
}

Checkpoint::Checkpoint(const char* folder, const char* name) : folder_(folder) {
  const std::string single = path_within(folder_, name), index = single + ".index.json";
  if (exists(single)) {
    add_file(single);
  } else if (exists(index)) {
    open_shards(index);
  } else {
    fail(SIDBEAM_IO_ERROR, "'%.300s' has neither %s nor %s.index.json", folder, name, name);
  }
}

void Checkpoint::add_file(std::string path) {
  InputFile file = open_file(path.c_str());
  if (file.bytes == 0) fail(SIDBEAM_CORRUPT, "'%.300s' is empty, expected a safetensors file", path.c_str());
  uint8_t length[Safetensors::kLengthBytes];
  const int64_t first = std::min<int64_t>(file.bytes, sizeof length);
  read_file(file, path.c_str(), 0, length, first);
  std::vector<uint8_t> head(
      static_cast<size_t>(Safetensors::head_bytes({length, static_cast<size_t>(first)}, file.bytes)));
  read_file(file, path.c_str(), 0, head.data(), std::ssize(head));
  Safetensors table(path.c_str(), head, file.bytes);
  files_.push_back({std::move(path), file.identity, std::move(table)});
  open_ = std::move(file), open_file_ = static_cast<int32_t>(files_.size()) - 1;
}

const InputFile& Checkpoint::input(int32_t number) const {
  const File& file = files_[static_cast<size_t>(number)];
  if (number != open_file_) {
    InputFile again = open_file(file.path.c_str());
    if (again.identity != file.identity)
      fail(SIDBEAM_IO_ERROR, "'%.300s' was changed or replaced while the checkpoint was read", file.path.c_str());
    open_ = std::move(again), open_file_ = number;
  }
  return open_;
}

void Checkpoint::open_shards(const std::string& path) {
  index_ = read_shard_index(path.c_str(), read_text(path.c_str(), kMostIndexBytes));
  files_.reserve(index_.files.size());
  for (const std::string& name : index_.files) add_file(path_within(folder_, name.c_str()));
  for (const ShardIndex::Place& place : index_.places) {
    const File& file = files_[static_cast<size_t>(place.shard)];
    if (file.table.find(index_.name(place)) < 0)
      fail(SIDBEAM_CORRUPT, "'%.200s' has no tensor '%.200s', which the index says it has", file.path.c_str(),
           std::string(index_.name(place)).c_str());
  }
}

const Checkpoint::File* Checkpoint::find(std::string_view name, int64_t* at) const {
  const File* file = files_.data();
  if (!index_.places.empty()) {
    const ShardIndex::Place* place = index_.find(name);
    if (place == nullptr) return nullptr;
    file += place->shard;
  }
  *at = file->table.find(name);
  return *at < 0 ? nullptr : file;
}

bool Checkpoint::has(std::string_view name) const {
  int64_t at = 0;
  return find(name, &at) != nullptr;
}

Weights Checkpoint::tensor(std::string_view name, std::span<const int64_t> shape) const {
  const std::string label(name.substr(0, 200));
  int64_t at = 0;
  const File* file = find(name, &at);
  if (file == nullptr)
    fail(SIDBEAM_CORRUPT, "'%.200s' has no tensor '%s', expected one of shape %s", folder_.c_str(), label.c_str(),
         format_shape(shape).c_str());
  const StoredTensor stored = file->table.at(at);
  if (!std::equal(shape.begin(), shape.end(), stored.shape.begin(), stored.shape.end()))
    fail(SIDBEAM_CORRUPT, "tensor '%s' of '%.200s' has shape %s, expected %s", label.c_str(), file->path.c_str(),
         format_shape(stored.shape).c_str(), format_shape(shape).c_str());
  if (stored.type == StoredType::kOther)
    fail(SIDBEAM_UNSUPPORTED, "tensor '%s' of '%.200s' has dtype %s, expected F64, F32, F16 or BF16", label.c_str(),
         file->path.c_str(), std::string(stored.type_name.substr(0, 100)).c_str());
  return {stored.type, stored.bytes / size_of(stored.type), static_cast<int32_t>(file - files_.data()), stored.place};
}

std::span<const int64_t> Checkpoint::shape_of(std::string_view name) const {
  int64_t at = 0;
  const File* file = find(name, &at);
  return file == nullptr ? std::span<const int64_t>() : file->table.at(at).shape;
}

void Checkpoint::read(const Weights& weights, int64_t first, int64_t n, void* out) const {
  const int64_t size = size_of(weights.type);
  read_file(input(weights.file), path_of(weights), weights.place + first * size, out, n * size);
}

int64_t Checkpoint::size() const {
  int64_t count = 0;
  for (const File& file : files_) count += file.table.size();
  return count;
}

StoredTensor Checkpoint::at(int64_t i) const {
  const File* file = files_.data();
  for (; i >= file->table.size(); ++file) i -= file->table.size();
  return file->table.at(i);
}

}  // namespace sidbeam::runner
