// Columns of Arrow, of layouts and types drawn from an input: each array in blocks of exactly its size, with elements
// before what counts (offsets), and validity bitmaps that say nothing, or that something is missing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "../../capi/arrow_rig.h"

namespace fuzz::arrow {

using Value = std::optional<int64_t>;  // none: null
using List = std::vector<Value>;

// Holds what the columns of one stream point to.
class Columns {
 public:
  explicit Columns(FuzzedDataProvider& from) : input(from) {}

  int32_t in(int32_t lowest, int32_t highest) { return input.ConsumeIntegralInRange(lowest, highest); }
  bool one_in(int32_t n) { return in(0, n - 1) == 1; }

  // `format` of numbers; values fit it. `before`: elements in front, which the array's offset skips.
  arrow_column* numbers(const char* name, const char* format, const List& values, int32_t before);
  // `format` of lists, all of one length where that is "+w:N".
  arrow_column* lists(const char* name, const std::string& format, const char* values_format,
                      const std::vector<std::optional<List>>& rows, int32_t before);
  // Lists of those lists: row i has SIDs [ends[i-1], ends[i]).
  arrow_column* nested(const char* name, const std::vector<int64_t>& ends, arrow_column* inner);
  // `format` of text.
  arrow_column* texts(const char* name, const char* format, const std::vector<std::optional<std::string>>& values,
                      int32_t before);
  // Indices of the values into a dictionary of them, and of others.
  arrow_column* dictionary(const char* name, const char* format, const char* values_format,
                           const std::vector<std::optional<std::string>>& values, int32_t before);
  arrow_column* batch(int64_t length, int64_t offset, const std::vector<arrow_column*>& children);
  // Makes one thing wrong that can be known to be wrong, or that does not matter, somewhere in the column.
  void spoil(arrow_column* column);

 private:
  arrow_column* make(const char* name, const std::string& format, int64_t length, int64_t offset);
  void* block(arrow_column* column, int buffer, size_t bytes);
  template <class T>
  void put(arrow_column* column, int buffer, const std::vector<T>& values);
  void mark(arrow_column* column, const std::vector<bool>& valid);
  const char* keep(const std::string& text) { return texts_.emplace_back(text).c_str(); }

  FuzzedDataProvider& input;
  std::deque<arrow_column> columns_;
  std::deque<std::vector<uint8_t>> blocks_;
  std::deque<std::string> texts_;
};

}  // namespace fuzz::arrow
