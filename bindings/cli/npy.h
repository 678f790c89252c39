// NumPy's .npy files, versions 1 to 3: the header, and integers out of the data.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_NPY_H
#define SIDBEAM_CLI_NPY_H

#include <cstdint>
#include <string>
#include <vector>

#include "files.h"

namespace cli {

// A view of a file's array: little-endian, C order, as many bytes as the shape asks for.
struct NpyArray {
  std::string path;
  std::string dtype;  // as NumPy writes it: "<i4"
  std::vector<int64_t> shape;
  const char* data;
  int64_t item_bytes;

  int64_t elements() const;
  bool is_integer() const;
  std::string shape_text() const;  // "(3, 4)"
};

bool is_npy(const FileBytes& file);
// Throws a Failure that names the file and what of it is not as expected.
NpyArray read_npy(const FileBytes& file);
// Elements [first, first + count) of an array of integers; u64 as the same bits.
void load_integers(const NpyArray& array, int64_t first, int64_t count, int64_t* out);
// Everything of a file that comes before the data, a multiple of 64 bytes.
std::string npy_header(const char* dtype, const std::vector<int64_t>& shape);

}  // namespace cli

#endif
