// Files that are read: opened, mapped or copied. Errors are Failure(IO_ERROR) with the path and the reason.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "support/file_descriptor.h"

namespace sidbeam {

// What tells a file from another one of the same path, and from itself after it was written to.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  int64_t bytes = 0, seconds = 0, nanoseconds = 0;  // the latter of the last modification
  bool operator==(const FileIdentity&) const = default;
};

struct InputFile {
  FileDescriptor descriptor;
  int64_t bytes = 0;
  FileIdentity identity = {};  // when it was opened
};

// Opens a regular file; anything else (a folder, a pipe) is refused without waiting for it.
InputFile open_file(const char* path);
// Fills `out` from `offset` on; a file that ends too early is an error.
void read_file(const InputFile& file, const char* path, int64_t offset, void* out, int64_t bytes);

// A private, read-only mapping of a whole file of at least one byte. Does not need the descriptor afterwards.
class Mapping {
 public:
  Mapping(const InputFile& file, const char* path, bool prefault);
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();
  const uint8_t* data() const { return data_; }
  int64_t size() const { return bytes_; }
  void lock(const char* path) const;
  // Gives the mapping up; whoever takes it unmaps it.
  void release() { data_ = nullptr; }

 private:
  const uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

void unmap(const uint8_t* data, int64_t bytes);

}  // namespace sidbeam
