// Ids that are no part of the rows: of a file or an array of their own.
// SPDX-License-Identifier: Apache-2.0
#include "failure.h"
#include "source.h"

namespace importer {
namespace {

int64_t count_lines(const InputFile& file) {
  TextReader text(file);
  std::string_view line;
  int64_t lines = 0;
  while (text.next_line(line)) ++lines;
  return lines;
}

}  // namespace

IdReader::IdReader(const InputFile& file, int64_t rows, const std::string& rows_path) : path_(file.path()) {
  if (is_npy(file)) {
    use(read_any_npy(file, path_, 0, file.size()));
  } else {
    text_.emplace(file);
  }
  check_count(numbers_ ? numbers_->rows() : count_lines(file), rows, rows_path);
}

IdReader::IdReader(const NpyArray& array, int64_t rows, const std::string& rows_path) : path_(array.path) {
  use(array);
  check_count(numbers_->rows(), rows, rows_path);
}

void IdReader::use(const NpyArray& array) {
  if (!array.is_integer() || array.shape.size() != 1) {
    throw Failure("'" + path_ + "': shape " + array.shape_text() + " of '" + array.dtype + "', expected (N,) integers");
  }
  numbers_.emplace(array);
  unsigned_ = array.is_u64();
}

void IdReader::check_count(int64_t count, int64_t rows, const std::string& rows_path) const {
  if (count == rows) return;
  throw Failure("'" + path_ + "': " + std::to_string(count) + " ids, expected " + std::to_string(rows) +
                ", one for each row of '" + rows_path + "'");
}

IdForm IdReader::form() const {
  if (!numbers_) return IdForm::kText;
  return unsigned_ ? IdForm::kUnsigned : IdForm::kSigned;
}

void IdReader::next(Batch& batch, IdTexts& texts) {
  if (numbers_) return batch.ids.push_back(*numbers_->next());
  std::string_view name;
  text_->next_line(name);
  ++row_;
  if (!IdTexts::plain(name)) texts.check(name, *this, "");
  batch.add_name(name);
}

}  // namespace importer
