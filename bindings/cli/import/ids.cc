// Ids from a file of their own (--ids).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "../failure.h"
#include "../npy.h"
#include "source.h"

namespace cli {
namespace {

int64_t count_lines(const InputFile& file) {
  TextReader text(file);
  std::string_view line;
  int64_t lines = 0;
  while (text.next_line(line)) ++lines;
  return lines;
}

}  // namespace

IdReader::IdReader(const InputFile& file, int64_t rows, const std::string& rows_path)
    : path_(file.path()), text_(file) {
  int64_t count;
  if (is_npy(file)) {
    array_ = read_npy(file);
    if (!array_->is_integer() || array_->shape.size() != 1) {
      throw Failure("'" + file.path() + "': shape " + array_->shape_text() + " of '" + array_->dtype +
                    "', expected (N,) integers");
    }
    count = array_->shape[0];
    numbers_.emplace(*array_);
  } else {
    count = count_lines(file);
  }
  if (count != rows) {
    throw Failure("'" + file.path() + "': " + std::to_string(count) + " ids, expected " + std::to_string(rows) +
                  ", one for each row of '" + rows_path + "'");
  }
}

IdForm IdReader::form() const {
  if (!array_) return IdForm::kText;
  return array_->dtype == "<u8" ? IdForm::kUnsigned : IdForm::kSigned;
}

void IdReader::next(Batch& batch) {
  if (array_) {
    batch.ids.push_back(*numbers_->next(1));
    return;
  }
  std::string_view name;
  text_.next_line(name);
  ++row_;
  if (name.empty()) throw Failure("'" + path_ + "':" + std::to_string(row_) + ": empty id");
  batch.add_name(name);
}

}  // namespace cli
