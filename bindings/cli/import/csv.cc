// CSV and TSV (RFC 4180 quotes, LF or CRLF, an optional BOM) with a line of column names. The SID is one column, "3 1
// 2", "3-1-2", "3,1,2" in quotes or "<a_3><b_1><c_2>", or one column per level. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "../failure.h"
#include "../options.h"
#include "source.h"

namespace cli {
namespace {

class CsvSource final : public Source {
 public:
  CsvSource(const CatalogueFiles& files, const Shape& shape) : Source(shape), file_(files.input), text_(files.input) {
    TextReader peek(files.input);
    std::string_view first;
    peek.next_line(first);
    separator_ = first.find('\t') != first.npos ? '\t' : ',';
    if (!read_record()) fail("no line of column names");
    names_.assign(fields_.begin(), fields_.begin() + static_cast<std::ptrdiff_t>(count_));
    find_columns(files.options);
  }

  IdForm id_form() const override { return IdForm::kText; }
  int64_t done() const override { return text_.position(); }
  int64_t total() const override { return file_.size(); }

 protected:
  bool read_row(Batch& batch) override {
    if (!read_record()) return false;
    if (count_ != names_.size()) {
      fail(std::to_string(count_) + " fields, expected " + std::to_string(names_.size()) + " as in the first line");
    }
    if (sid_.size() == 1 && one_column_) {
      read_sid(batch, fields_[sid_[0]]);
    } else {
      read_levels(batch);
    }
    end_row(batch);
    const std::string& item = fields_[item_];
    if (item.empty()) fail("empty '" + names_[item_] + "'");
    batch.add_name(item);
    if (priority_ != kNone) batch.priorities.push_back(parse_number(fields_[priority_], priority_));
    return true;
  }

  std::string place() const override { return "'" + file_.path() + "':" + std::to_string(line_); }

 private:
  static constexpr size_t kNone = ~size_t{0};

  void find_columns(const ImportOptions& o) {
    item_ = column(o.item_column.empty() ? "item" : o.item_column, "--item-column");
    const std::vector<std::string> sid = split(o.sid_columns.empty() ? "sid" : o.sid_columns, ',');
    for (const std::string& name : sid) sid_.push_back(column(name, "--sid-columns"));
    one_column_ = sid.size() == 1;
    if (!o.priority_column.empty()) priority_ = column(o.priority_column, "--priority-column");
  }

  size_t column(const std::string& name, const char* option) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found != names_.end()) {
      if (std::find(found + 1, names_.end(), name) != names_.end())
        throw Failure("'" + file_.path() + "': column '" + name + "' (" + option + ") comes twice in the first line");
      return static_cast<size_t>(found - names_.begin());
    }
    std::string all;  // enough of the file to see its first line
    for (size_t i = 0; i < std::min<size_t>(names_.size(), 12); ++i) {
      all += (i > 0 ? ", '" : "'") + names_[i].substr(0, 40) + "'";
    }
    throw Failure("'" + file_.path() + "': no column '" + name + "' (" + option + "), the first line has " + all +
                  (names_.size() > 12 ? ", ..." : ""));
  }

  // One record into fields_[0 .. count_); false at the end. Empty lines are passed over.
  bool read_record() {
    for (;; text_.skip(1)) {
      if (text_.window().empty() && !text_.extend()) return false;
      const char next = text_.window()[0];
      if (next != '\n' && next != '\r') break;
      if (next == '\n') ++next_line_;
    }
    line_ = next_line_;
    while (!read_fields(text_.window())) text_.extend();
    text_.skip(std::min(at_, text_.window().size()));
    ++next_line_;
    return true;
  }

  // The record that begins the text; false if it may continue past the text, which is not all of the file.
  bool read_fields(std::string_view text) {
    at_ = 0;
    count_ = 0;
    next_line_ = line_;
    cut_ = false;
    while (read_field(text)) {
    }
    return !cut_;
  }

  // Appends a field; true where another follows in this record.
  bool read_field(std::string_view text) {
    if (count_ == fields_.size()) fields_.emplace_back();
    std::string& field = fields_[count_++];
    field.clear();
    quoted_ = at_ < text.size() && text[at_] == '"';
    if (quoted_) read_quoted(text, field);
    const size_t end = std::min(text.find_first_of(separator_ == '\t' ? "\t\n" : ",\n", at_), text.size());
    cut_ = end == text.size() && !text_.complete();
    if (cut_) return false;
    std::string_view rest = text.substr(at_, end - at_);
    at_ = end + 1;
    const bool more = end < text.size() && text[end] == separator_;
    if (!more && !rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
    if (quoted_ && !rest.empty()) fail("text after a closing quote");
    field += rest;
    return more;
  }

  void read_quoted(std::string_view text, std::string& field) {
    while (++at_ < text.size()) {
      if (text[at_] == '"' && (at_ + 1 == text.size() || text[at_ + 1] != '"')) {
        ++at_;
        return;
      }
      if (text[at_] == '"') ++at_;
      if (text[at_] == '\n') ++next_line_;
      field += text[at_];
    }
    if (text_.complete()) fail("a quote that does not end");
  }

  void read_sid(Batch& batch, std::string_view cell) {
    if (!cell.empty() && cell[0] == '<') return read_tokens(batch, cell);
    constexpr std::string_view kSeparators = " ,-";
    while (!cell.empty()) {
      const size_t end = std::min(cell.find_first_of(kSeparators, 1), cell.size());
      add_code(batch, parse_number(cell.substr(0, end), sid_[0]));
      cell.remove_prefix(end);
      if (cell.empty()) return;
      const size_t next = cell.find_first_not_of(' ', cell[0] == ' ' ? 0 : 1);
      if (next == cell.npos) {
        if (cell[0] == ' ') return;
        fail("'" + names_[sid_[0]] + "': ends with '" + std::string(cell.substr(0, 1)) + "', expected a code");
      }
      cell.remove_prefix(next);
    }
  }

  void read_tokens(Batch& batch, std::string_view cell) {
    while (!cell.empty()) {
      const size_t end = std::min(cell.find('>'), cell.size() - 1) + 1;
      const int64_t code = token_code(cell.substr(0, end));
      if (code < 0) fail("'" + names_[sid_[0]] + "': '" + std::string(cell.substr(0, end)) + "', expected '<a_236>'");
      add_code(batch, code);
      cell.remove_prefix(std::min(cell.find_first_not_of(' ', end), cell.size()));
    }
  }

  // One column per level; where lengths vary, empty cells end the SID.
  void read_levels(Batch& batch) {
    size_t length = sid_.size();
    while (shape().variable_length && length > 0 && fields_[sid_[length - 1]].empty()) --length;
    for (size_t i = 0; i < length; ++i) add_code(batch, parse_number(fields_[sid_[i]], sid_[i]));
  }

  int64_t parse_number(std::string_view text, size_t column) const {
    const auto number = parse_integer<int64_t>(text);
    if (!number) fail("'" + names_[column] + "': '" + std::string(text) + "', expected an integer");
    return *number;
  }

  const InputFile& file_;
  TextReader text_;
  char separator_ = ',';
  size_t at_ = 0;  // in the window, within a record
  int64_t line_ = 1, next_line_ = 1;
  bool cut_ = false, quoted_ = false, one_column_ = true;
  std::vector<std::string> fields_, names_;
  size_t count_ = 0, item_ = 0, priority_ = kNone;
  std::vector<size_t> sid_;
};

}  // namespace

std::unique_ptr<Source> open_csv(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<CsvSource>(files, shape);
}

}  // namespace cli
