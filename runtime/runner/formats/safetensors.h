// One safetensors file: u64 length of the header, a JSON object {name: {dtype, shape, data_offsets}}, the bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sidbeam::runner {

// Of the format's dtypes those that weights may have; kOther is refused only where such a tensor is asked for.
enum class StoredType : uint8_t { kF32, kF16, kBf16, kF64, kOther };

// A tensor of a file.
struct StoredTensor {
  std::string_view name;
  StoredType type = StoredType::kOther;
  std::string_view type_name;      // as the file has it: "F32"
  std::span<const int64_t> shape;  // at most 8 dimensions; the elements' number fits an int64
  // Its bytes' place in the file, and how many: as many as shape and type say; of an unknown type as many as the file
  // says.
  int64_t place = 0, bytes = 0;
};

// The table of a file's tensors. Checked when it is made: the tensors tile the file's data without holes or overlaps,
// and each is as large as its shape says.
class Safetensors {
 public:
  // How many of a file's first bytes the table is made of, by its first kLengthBytes, or all that there are.
  static constexpr int64_t kLengthBytes = 8;
  static int64_t head_bytes(std::span<const uint8_t> first, int64_t file_bytes);
  // `head`: so many bytes, or more. Throws Failure(CORRUPT).
  Safetensors(const char* path, std::span<const uint8_t> head, int64_t file_bytes);

  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  StoredTensor at(int64_t i) const;           // by name, rising
  int64_t find(std::string_view name) const;  // -1: there is none

 private:
  friend class HeaderReader;
  // A hundred megabytes of header must not become gigabytes of strings: names and dimensions are in one array each.
  struct Entry {
    uint32_t name_at = 0, name_size = 0;
    uint32_t type_at = 0, type_size = 0;
    uint32_t shape_at = 0;
    uint8_t rank = 0, type = 0;  // `type`: place in the list of known types
    int64_t begin = 0, end = 0;  // of the data, from its first byte on
  };

  std::string_view name(const Entry& entry) const { return {text_.data() + entry.name_at, entry.name_size}; }
  std::string_view type(const Entry& entry) const { return {text_.data() + entry.type_at, entry.type_size}; }
  std::span<const int64_t> shape(const Entry& entry) const { return {shapes_.data() + entry.shape_at, entry.rank}; }
  void sort_names(const char* path);
  void check_tiling(const char* path) const;
  void check_end(const char* path) const;
  void check_size(const char* path, const Entry& entry) const;

  std::string text_;  // of the names and types
  std::vector<int64_t> shapes_;
  std::vector<Entry> entries_;
  int64_t data_at_ = 0, data_bytes_ = 0;  // behind the header
};

// "[3, 4]"
std::string format_shape(std::span<const int64_t> shape);

}  // namespace sidbeam::runner
