// Records that fit a pattern go into the batch some at a time: appending to its vectors row by row takes as long as
// reading the rows does. SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_ALIKE_H
#define SIDBEAM_IMPORT_ALIKE_H

#include <sidbeam/base.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "batch.h"
#include "pattern.h"

namespace importer {

class AlikeRows {
 public:
  static constexpr size_t kMost = 64;

  // Where the codes of the next row go.
  int32_t* codes() { return codes_ + code_count_; }
  // A row of so many codes. Its record's text must outlive it, with 16 readable bytes from the item's first one on.
  void add(const Pattern::Record& record, size_t length) {
    code_count_ += length;
    lengths_[rows_] = static_cast<int32_t>(length);
    priorities_[rows_] = record.priority;
    numbers_ += record.item_is_digits ? 1 : 0;
    items_[rows_++] = record.item;
  }
  // Appends the rows, and keeps none.
  void move_to(Batch& batch);

 private:
  void move_items(Batch& batch) const;

  size_t rows_ = 0, code_count_ = 0, numbers_ = 0;
  int32_t codes_[kMost * SIDBEAM_MAX_LEVELS];  // end to end
  int32_t lengths_[kMost];
  int64_t priorities_[kMost];
  std::string_view items_[kMost];
};

}  // namespace importer

#endif
