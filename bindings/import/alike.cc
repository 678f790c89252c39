// SPDX-License-Identifier: Apache-2.0
#include "alike.h"

#include <cstring>

namespace importer {

void AlikeRows::move_to(Batch& batch) {
  batch.codes.insert(batch.codes.end(), codes_, codes_ + code_count_);
  batch.lengths.insert(batch.lengths.end(), lengths_, lengths_ + rows_);
  batch.priorities.insert(batch.priorities.end(), priorities_, priorities_ + rows_);
  batch.digit_names += numbers_;
  move_items(batch);
  rows_ = code_count_ = numbers_ = 0;
}

// Most items are short: a copy of one size costs no call.
void AlikeRows::move_items(Batch& batch) const {
  constexpr size_t kShort = 16;
  size_t end = batch.names.size(), bytes = end;
  for (size_t row = 0; row < rows_; ++row) bytes += items_[row].size();
  batch.names.resize(bytes + kShort);
  const size_t first = batch.name_ends.size();
  batch.name_ends.resize(first + rows_);
  for (size_t row = 0; row < rows_; ++row) {
    const std::string_view item = items_[row];
    if (item.size() <= kShort) {
      std::memcpy(batch.names.data() + end, item.data(), kShort);
    } else {
      std::memcpy(batch.names.data() + end, item.data(), item.size());
    }
    end += item.size();
    batch.name_ends[first + row] = static_cast<int64_t>(end);
  }
  batch.names.resize(bytes);
}

}  // namespace importer
