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

// Dense, row-major elements of a checkpoint, which read() reads.
struct Weights {
  StoredType type = StoredType::kF32;  // not kOther
  int64_t elements = 0;
  int32_t file = 0;
  int64_t place = 0;  // of the first byte
};

class Checkpoint {
 public:
  // Opens the files, of which `name` is the one or the first part of the shards' index, and checks their tables, not
  // the numbers. Nothing is mapped: a file that is truncated meanwhile is an error, not a signal, and takes no more
  // memory than what is read of it at a time. One file is open at a time, however many shards there are. A checkpoint
  // is used by one thread at a time. Throws Failure: IO_ERROR, CORRUPT.
  explicit Checkpoint(const char* folder, const char* name = "model.safetensors");

  bool has(std::string_view name) const;
  // Its shape, if there is such a tensor; else none.
  std::span<const int64_t> shape_of(std::string_view name) const;
  // Throws CORRUPT where there is no such tensor or it has another shape, UNSUPPORTED where its type is kOther.
  Weights tensor(std::string_view name, std::span<const int64_t> shape) const;
  Weights tensor(std::string_view name, std::initializer_list<int64_t> shape) const {
    return tensor(name, std::span<const int64_t>(shape.begin(), shape.size()));
  }
  // Elements [first, first + n), as they are stored. Throws IO_ERROR.
  void read(const Weights& weights, int64_t first, int64_t n, void* out) const;
  const char* path_of(const Weights& weights) const { return files_[static_cast<size_t>(weights.file)].path.c_str(); }

  // All of them, in no promised order.
  int64_t size() const;
  StoredTensor at(int64_t i) const;

 private:
  struct File {
    std::string path;
    FileIdentity identity;
    Safetensors table;
  };

  void add_file(std::string path);
  // Opens the file anew where it is not the one that is open. Throws IO_ERROR, too where it is not the same any more.
  const InputFile& input(int32_t file) const;
  void open_shards(const std::string& path);
  // The file and its tensor; nullptr where there is none.
  const File* find(std::string_view name, int64_t* at) const;

  std::string folder_;
  std::vector<File> files_;
  mutable InputFile open_;  // of files_[open_file_]
  mutable int32_t open_file_ = -1;
  ShardIndex index_;  // without places: there is one file
};

// Bytes of an element; not of kOther.
int64_t size_of(StoredType type);

// Throws UNSUPPORTED, with the line that converts it, where there is no safetensors file but PyTorch's or GGUF's, or
// `folder` is itself such a file.
void refuse_other_formats(const char* folder);

}  // namespace sidbeam::runner
