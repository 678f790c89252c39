// Records of CSV and TSV: LF or CRLF, an optional byte order mark, quotes of RFC 4180 or as text.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_CSV_TEXT_H
#define SIDBEAM_IMPORT_CSV_TEXT_H

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "options.h"
#include "pattern.h"

namespace importer {

class CsvText {
 public:
  CsvText(const InputFile& file, const Options& options);

  // The next record into fields(); false at the end. Empty lines are passed over.
  bool next();
  // Valid until the next record is read.
  const std::vector<std::string_view>& fields() const { return fields_; }
  // The text of the record with its end of line, which the last one of a file may lack. Valid as the fields are.
  std::string_view record() const { return record_; }
  // The holes of the record's fields for a pattern, all as text that is nothing; empty where a field is not as it is in
  // the text.
  std::vector<Pattern::Mark> marks() const;
  // The text that comes next, as far as it is in memory; more of it, where no record may be complete.
  std::string_view window() const { return text_.window(); }
  bool extend() { return !text_.has_line() && text_.extend(); }
  // Passes over records of one line each.
  void skip_lines(size_t bytes, int64_t lines);
  // The line in which the record begins.
  int64_t line() const { return line_; }
  int64_t position() const { return text_.position(); }
  // The columns whose cells tell whether a line of a quoted field might be a record of its own.
  void expect(size_t fields, const std::vector<size_t>& sid_columns);
  [[noreturn]] void fail(const std::string& what) const;

 private:
  bool read_fields(std::string_view text);
  bool read_field(std::string_view text, bool* more);
  bool read_quoted(std::string_view text, bool* quoted);
  size_t find_end(std::string_view text) const;
  void check_lines(std::string_view record) const;

  const InputFile& file_;
  const Options& options_;
  TextReader text_;
  char separator_ = ',';
  size_t at_ = 0;  // in the window, within a record
  int64_t line_ = 1, next_line_ = 1;
  bool over_lines_ = false;  // a quoted field has an end of line
  std::vector<std::string_view> fields_;
  std::string_view record_;
  std::deque<std::string> unquoted_;  // fields with doubled quotes
  size_t unquoted_count_ = 0;
  size_t expected_ = 0;
  std::vector<size_t> sid_columns_;
};

}  // namespace importer

#endif
