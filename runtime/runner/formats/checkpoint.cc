// SPDX-License-Identifier: Apache-2.0
#include "runner/formats/checkpoint.h"

#include <algorithm>

#include "runner/formats/text_file.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

constexpr int64_t kMostIndexBytes = int64_t{16} << 20;

int64_t size_of(StoredType type) { return type == StoredType::kF32 ? 4 : 2; }

}  // namespace

Checkpoint::Checkpoint(const char* folder) : folder_(folder) {
  const std::string single = path_within(folder_, "model.safetensors"), index = single + ".index.json";
  if (exists(single)) {
    add_file(single);
  } else if (exists(index)) {
    open_shards(index);
  } else {
    const bool pickled = exists(path_within(folder_, "pytorch_model.bin")) ||
                         exists(path_within(folder_, "pytorch_model.bin.index.json"));
    fail(SIDBEAM_IO_ERROR, "'%.300s' has neither model.safetensors nor model.safetensors.index.json%s", folder,
         pickled ? "; pytorch_model.bin is not read: save the model as safetensors" : "");
  }
}

void Checkpoint::add_file(std::string path) {
  const InputFile file = open_file(path.c_str());
  if (file.bytes == 0) fail(SIDBEAM_CORRUPT, "'%.300s' is empty, expected a safetensors file", path.c_str());
  Mapping mapping(file, path.c_str(), false);
  Safetensors table(path.c_str(), {mapping.data(), static_cast<size_t>(mapping.size())});
  files_.push_back({std::move(path), std::move(mapping), std::move(table)});
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
    fail(SIDBEAM_UNSUPPORTED, "tensor '%s' of '%.200s' has dtype %s, expected F32, F16 or BF16", label.c_str(),
         file->path.c_str(), std::string(stored.type_name.substr(0, 100)).c_str());
  return {stored.type, stored.bytes.data(), static_cast<int64_t>(stored.bytes.size()) / size_of(stored.type)};
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
