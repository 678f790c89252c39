// NumPy's .npy files, versions 1 to 3: the header, and integers out of the data.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_NPY_H
#define SIDBEAM_CLI_NPY_H

#include <cstdint>
#include <string>
#include <vector>

#include "files.h"

namespace cli {

// A file's array: little-endian, C order, with as many bytes as the shape asks for, beginning at any byte.
// Products of extents do not overflow.
struct NpyArray {
  std::string path;
  std::string dtype;  // as NumPy writes it: "<i4"
  std::vector<int64_t> shape;
  const InputFile* file;
  int64_t data_at;  // first byte in the file
  int64_t item_bytes;

  // Elements [first, first + count), as they are in the file.
  void read(int64_t first, int64_t count, void* out) const;
  int64_t elements() const;
  bool is_integer() const;
  std::string shape_text() const;
};

// "(3, 4)"
std::string text_of(const std::vector<int64_t>& shape);
bool is_npy(const InputFile& file);
// Throws a Failure that names the file and what is not as expected in it.
NpyArray read_npy(const InputFile& file);
// The elements of an array of integers one after the other, read in blocks; u64 as the same bits.
class IntegerReader {
 public:
  explicit IntegerReader(const NpyArray& array);
  // The next `count`, which there must be. Valid until the next call.
  const int64_t* next(int64_t count);

 private:
  void read_block(int64_t least);

  NpyArray array_;
  int64_t at_ = 0;  // element that comes next
  std::vector<char> bytes_;
  std::vector<int64_t> block_;
  size_t used_ = 0;  // elements of the block
};
// Everything of a file that comes before the data, a multiple of 64 bytes.
std::string npy_header(const char* dtype, const std::vector<int64_t>& shape);

}  // namespace cli

#endif
