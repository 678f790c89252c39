// Ids from a file of their own (--ids).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "../failure.h"
#include "../npy.h"
#include "source.h"

namespace cli {
namespace {

int64_t count_lines(std::string_view text) {
  const int64_t ends = std::count(text.begin(), text.end(), '\n');
  return ends + (!text.empty() && text.back() != '\n' ? 1 : 0);
}

}  // namespace

IdReader::IdReader(const FileBytes& file, int64_t rows, const std::string& rows_path) : file_(file) {
  int64_t count;
  if (is_npy(file)) {
    array_ = read_npy(file);
    if (!array_->is_integer() || array_->shape.size() != 1) {
      throw Failure("'" + file.path() + "': shape " + array_->shape_text() + " of '" + array_->dtype +
                    "', expected (N,) integers");
    }
    count = array_->shape[0];
  } else {
    count = count_lines(file.text());
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
    int64_t id;
    load_integers(*array_, row_++, 1, &id);
    batch.ids.push_back(id);
    return;
  }
  const std::string_view name = read_line(file_.text(), at_);
  ++row_;
  if (name.empty()) throw Failure("'" + file_.path() + "':" + std::to_string(row_) + ": empty id");
  batch.add_name(name);
}

}  // namespace cli
