// Whole numbers out of an array of any order, integer type or float type.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_ROWS_H
#define SIDBEAM_IMPORT_ROWS_H

#include <cstdint>
#include <vector>

#include "npy.h"

namespace importer {

// The rows of an [N, L] array one after the other, or those of an [N] array as rows of one element; read in blocks.
class RowReader {
 public:
  // What stands for elements of floating-point arrays that are no integer.
  static constexpr int64_t kMissing = INT64_MIN;       // NaN
  static constexpr int64_t kFraction = INT64_MIN + 1;  // anything else, or so large that neighbours are the same

  explicit RowReader(const NpyArray& array);
  int64_t rows() const { return array_.shape[0]; }
  int64_t columns() const { return columns_; }
  // The next row, which there must be; u64 as the same bits. Valid until the next call.
  const int64_t* next();

 private:
  void read_block();
  void read_strip(int64_t first, int64_t count, int64_t* to, int64_t stride);

  NpyArray array_;
  int64_t columns_, at_ = 0, in_block_ = 0, block_rows_ = 0;
  std::vector<char> bytes_;
  std::vector<int64_t> block_;
};

}  // namespace importer

#endif
