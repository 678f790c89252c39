// NumPy's .npy files, versions 1 to 3. The command compiles this too.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_NPY_H
#define SIDBEAM_IMPORT_NPY_H

#include <cstdint>
#include <string>
#include <vector>

#include "files.h"

namespace importer {

// An array in a file: with as many bytes as the shape asks for, beginning at any byte. Products of extents do not
// overflow.
struct NpyArray {
  std::string path;   // as messages name it
  std::string dtype;  // as NumPy writes it: "<i4"
  std::vector<int64_t> shape;
  const InputFile* file;
  int64_t data_at;  // first byte in the file
  int64_t item_bytes;
  bool fortran = false;  // first index fastest

  // Elements [first, first + count) in the order of the file, as they are there.
  void read(int64_t first, int64_t count, void* out) const;
  int64_t elements() const;
  bool is_integer() const;
  bool is_float() const { return dtype.size() == 3 && dtype[1] == 'f'; }
  bool is_u64() const { return dtype[1] == 'u' && item_bytes == 8; }
  std::string shape_text() const;
};

// "(3, 4)"
std::string text_of(const std::vector<int64_t>& shape);
bool is_npy(const InputFile& file);
// Throw a Failure that names the file and what is not as expected in it. The first wants C order and little-endian
// numbers; the second takes them in any order and is for `bytes` of the file from `begin` on.
NpyArray read_npy(const InputFile& file);
NpyArray read_any_npy(const InputFile& file, const std::string& path, int64_t begin, int64_t bytes);
// Everything of a file that comes before the data, a multiple of 64 bytes.
std::string npy_header(const char* dtype, const std::vector<int64_t>& shape);

}  // namespace importer

#endif
