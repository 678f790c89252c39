// An opened index: bytes, their owner, and the views into them. Immutable once made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "index/attributes/columns.h"
#include "index/attributes/shape.h"
#include "index/priorities.h"
#include "index/views.h"
#include "sidbeam/index.h"
#include "support/memory.h"

namespace sidbeam {

struct SectionInfo {
  uint16_t kind = 0, encoding = 0;
  int32_t level = -1;
  uint64_t offset = 0, bytes = 0, checksum = 0;
};

// The contents of the header, copied out of the FlatBuffer.
struct IndexHeaderInfo {
  sidbeam_index_info info;  // struct_size and the pointers unset: they would not survive a copy
  std::vector<int32_t> codes, max_children;
  std::vector<int64_t> nodes;
  std::string codebook;
  bool own_hash_seed = false;                                 // of the hash set, given by its builder's caller
  std::vector<std::pair<std::string, std::string>> metadata;  // sorted by key
  std::vector<SectionInfo> sections;                          // in file order; includes unknown optional ones
  std::vector<AttributeShape> attributes;                     // by name, rising
};

// The bytes of an index, and how to release them.
class IndexBytes {
 public:
  IndexBytes() = default;
  IndexBytes(const uint8_t* data, int64_t bytes, std::function<void()> release)
      : data_(data), bytes_(bytes), release_(std::move(release)) {}
  IndexBytes(IndexBytes&& other) noexcept { *this = std::move(other); }
  IndexBytes& operator=(IndexBytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~IndexBytes() {
    if (release_) release_();
  }
  const uint8_t* data() const { return data_; }
  int64_t size() const { return bytes_; }

 private:
  const uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
  std::function<void()> release_;
};

// The alignment of memory for a whole index, the same as that of its large sections.
inline constexpr int64_t kIndexAlignment = 4096;

// Memory for a whole index, on huge pages where the system has them.
class IndexMemory {
 public:
  IndexMemory(const Allocator& allocator, int64_t bytes);
  IndexMemory(const IndexMemory&) = delete;
  IndexMemory& operator=(const IndexMemory&) = delete;
  ~IndexMemory();
  uint8_t* data() { return data_; }
  // Gives the pages of a range whose contents are no longer needed back to the system, unless the caller owns the
  // memory.
  void discard(int64_t offset, int64_t bytes);
  IndexBytes release();

 private:
  Allocator allocator_;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

struct Index {
  IndexBytes bytes;
  IndexHeaderInfo header;
  IndexView view;
  Attributes attributes;  // they refer to the header's names
  PrioritiesView priorities;
};

struct FileHeader;

// Makes an index from bytes that have this header.
Index make_index(const FileHeader& header, IndexBytes bytes);

// Writes its bytes as a file that appears whole or not at all.
void write_index(const Index& index, const char* path);

}  // namespace sidbeam
