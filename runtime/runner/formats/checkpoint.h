// The weights of a folder by name: model.safetensors, or the shards that model.safetensors.index.json names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "runner/formats/safetensors.h"
#include "runner/formats/shard_index.h"
#include "support/mapped_file.h"

namespace sidbeam::runner {

// Dense, row-major elements of a checkpoint, of any alignment; valid as long as the Checkpoint.
struct Weights {
  StoredType type = StoredType::kF32;  // not kOther
  const void* data = nullptr;
  int64_t elements = 0;
};

class Checkpoint {
 public:
  // Maps the files and checks their tables, not the numbers. Throws Failure: IO_ERROR, CORRUPT.
  explicit Checkpoint(const char* folder);

  bool has(std::string_view name) const;
  // Throws CORRUPT where there is no such tensor or it has another shape, UNSUPPORTED where it is neither F32, F16 nor
  // BF16.
  Weights tensor(std::string_view name, std::span<const int64_t> shape) const;
  Weights tensor(std::string_view name, std::initializer_list<int64_t> shape) const {
    return tensor(name, std::span<const int64_t>(shape.begin(), shape.size()));
  }

  // All of them, in no promised order.
  int64_t size() const;
  StoredTensor at(int64_t i) const;

 private:
  struct File {
    std::string path;
    Mapping mapping;
    Safetensors table;
  };

  void add_file(std::string path);
  void open_shards(const std::string& path);
  // The file and its tensor; nullptr where there is none.
  const File* find(std::string_view name, int64_t* at) const;

  std::string folder_;
  std::vector<File> files_;
  ShardIndex index_;  // without places: there is one file
};

}  // namespace sidbeam::runner
