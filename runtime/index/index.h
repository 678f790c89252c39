// An opened index: bytes, their owner, and the views into them. Immutable once made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "index/views.h"
#include "sidbeam/index.h"
#include "support/memory.h"

namespace sidbeam {

struct SectionInfo {
  uint16_t kind = 0, encoding = 0;
  int32_t level = -1;
  uint64_t offset = 0, bytes = 0, checksum = 0;
};

// What the header says, copied out of the FlatBuffer.
struct IndexHeaderInfo {
  sidbeam_index_info info;  // struct_size unset
  std::string codebook;
  std::vector<std::pair<std::string, std::string>> metadata;  // sorted by key
  std::vector<SectionInfo> sections;  // in the order of the file; unknown optional ones included
};

// Bytes of an index and what to do when they are no longer needed.
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

struct Index {
  IndexBytes bytes;
  IndexHeaderInfo header;
  IndexView view;
};

// The header of a file, from its first bytes only.
IndexHeaderInfo peek_index(const char* path);
Index open_index(const char* path, int32_t residency, int32_t verify, int threads, const Allocator& allocator);
// `release` is called once the bytes are no longer needed: when the index goes or, with COPY, before this returns; not
// when this throws.
Index open_index_memory(const void* data, int64_t bytes, std::function<void()> release, int32_t residency,
                        int32_t verify, int threads, const Allocator& allocator);
// Throws Failure(CORRUPT) with what is wrong and where. depth: SIDBEAM_VERIFY_*.
void verify_index(const Index& index, int32_t depth, int threads);

// Whether decoding with these SIDBEAM_KIND_* reads a section.
bool is_read(const SectionInfo& section, int32_t kinds);
// Lets a view of an index read a section at another address, as on a device; nullptr: as if the index had none.
void place_section(const SectionInfo& section, const void* data, IndexView& view);

const char* section_kind_name(uint16_t kind);
const char* section_encoding_name(uint16_t encoding);

}  // namespace sidbeam
