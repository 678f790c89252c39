// SPDX-License-Identifier: Apache-2.0
#include "csv_text.h"

#include <algorithm>
#include <cstring>

#include "failure.h"
#include "family.h"

namespace importer {
namespace {

// A quote that is not closed within so many bytes is text: no file is read into memory for it.
constexpr size_t kMostQuoted = size_t{64} << 20;

}  // namespace

CsvText::CsvText(const InputFile& file, const Options& options) : file_(file), options_(options), text_(file) {
  TextReader peek(file);
  std::string_view first;
  peek.next_line(first);
  separator_ = first.find('\t') != first.npos ? '\t' : ',';
}

void CsvText::fail(const std::string& what) const {
  throw Failure("'" + file_.path() + "':" + std::to_string(line_) + ": " + what);
}

void CsvText::expect(size_t fields, const std::vector<size_t>& sid_columns) {
  expected_ = fields;
  sid_columns_ = sid_columns;
}

bool CsvText::next() {
  for (;; text_.skip(1)) {
    if (text_.window().empty() && !text_.extend()) return false;
    const char next = text_.window()[0];
    if (next != '\n' && next != '\r') break;
    if (next == '\n') ++next_line_;
  }
  line_ = next_line_;
  while (!read_fields(text_.window())) text_.extend();
  if (over_lines_ && options_.quotes == SIDBEAM_QUOTES_AUTO) check_lines(text_.window().substr(0, at_));
  record_ = text_.window().substr(0, at_);
  text_.skip(record_.size());
  ++next_line_;
  return true;
}

void CsvText::skip_lines(size_t bytes, int64_t lines) {
  text_.skip(bytes);
  next_line_ += lines;
  line_ = next_line_ - 1;
}

std::vector<Pattern::Mark> CsvText::marks() const {
  const bool quotes = options_.quotes != SIDBEAM_QUOTES_TEXT;
  std::vector<Pattern::Mark> marks;
  if (over_lines_ || unquoted_count_ > 0 || record_.back() != '\n') return marks;
  for (const std::string_view field : fields_) {
    const bool quoted = quotes && field.data() > record_.data() && field.data()[-1] == '"';
    if (quotes && !quoted && *field.data() == '"') return {};
    marks.push_back({Pattern::Hole::kText, field, quoted ? '"' : separator_, quotes ? '"' : separator_});
  }
  return marks;
}

// The record that begins the text; false if it may continue past the text, which is not all of the file.
bool CsvText::read_fields(std::string_view text) {
  at_ = 0;
  fields_.clear();
  unquoted_count_ = 0;
  next_line_ = line_;
  over_lines_ = false;
  for (bool more = true; more;) {
    if (!read_field(text, &more)) return false;
  }
  return true;
}

// Where the field without quotes ends.
size_t CsvText::find_end(std::string_view text) const {
  const char ends[] = {separator_, '\n'};
  return std::min(text.find_first_of(std::string_view(ends, 2), at_), text.size());
}

// Appends a field; *more: another follows in this record. False as read_fields.
bool CsvText::read_field(std::string_view text, bool* more) {
  bool quoted = false;
  if (options_.quotes != SIDBEAM_QUOTES_TEXT && at_ < text.size() && text[at_] == '"') {
    if (!read_quoted(text, &quoted)) return false;
  }
  const size_t end = find_end(text);
  if (end == text.size() && !text_.complete()) return false;
  *more = end < text.size() && text[end] == separator_;
  if (!quoted) {
    std::string_view field = text.substr(at_, end - at_);
    if (!*more && !field.empty() && field.back() == '\r') field.remove_suffix(1);
    fields_.push_back(field);
  }
  at_ = end + 1;
  return true;
}

// A field that begins with a quote: appended, and at_ behind it, where it ends with one too; otherwise it is text.
bool CsvText::read_quoted(std::string_view text, bool* quoted) {
  const bool strict = options_.quotes == SIDBEAM_QUOTES_RFC4180;
  const size_t begin = at_ + 1;
  size_t close = begin;
  bool doubled = false;
  for (;; close += 2, doubled = true) {
    close = text.find('"', close);
    if (close == text.npos || close + 1 >= text.size() || text[close + 1] != '"') break;
  }
  const bool cut = (close == text.npos || close + 2 >= text.size()) && !text_.complete();
  if (cut && text.size() - begin < kMostQuoted) return false;
  if (close == text.npos) {
    if (strict) fail("a quote that does not end");
    return true;
  }
  const size_t after = close + 1;
  const bool ends = after >= text.size() || text[after] == separator_ || text[after] == '\n' ||
                    (text[after] == '\r' && (after + 1 >= text.size() || text[after + 1] == '\n'));
  if (!ends) {
    if (strict) fail("text after a closing quote");
    return true;
  }
  std::string_view field = text.substr(begin, close - begin);
  const auto lines = std::count(field.begin(), field.end(), '\n');
  next_line_ += lines;
  over_lines_ = over_lines_ || lines > 0;
  if (doubled) {
    if (unquoted_count_ == unquoted_.size()) unquoted_.emplace_back();
    std::string& copy = unquoted_[unquoted_count_++];
    copy.clear();
    for (size_t i = 0; i < field.size(); i += field[i] == '"' ? 2 : 1) copy += field[i];
    field = copy;
  }
  fields_.push_back(field);
  at_ = after;
  *quoted = true;
  return true;
}

// A file in which quotes are text may have one at the beginning of a field and another at the end of a later one: the
// records between would be swallowed. Where each line of a quoted field is as good a record as the whole, nobody can
// say which is meant.
void CsvText::check_lines(std::string_view record) const {
  if (!record.empty() && record.back() == '\n') record.remove_suffix(1);
  for (bool more = true; more;) {
    const size_t end = std::min(record.find('\n'), record.size());
    std::string_view line = record.substr(0, end);
    more = end < record.size();
    record.remove_prefix(std::min(end + 1, record.size()));
    for (size_t field = 0;; ++field) {
      const size_t stop = std::min(line.find(separator_), line.size());
      const bool is_sid = std::find(sid_columns_.begin(), sid_columns_.end(), field) != sid_columns_.end();
      if (is_sid && !has_digit(line.substr(0, stop))) return;
      if (stop == line.size()) {
        if (field + 1 != (expected_ > 0 ? expected_ : fields_.size())) return;
        break;
      }
      line.remove_prefix(stop + 1);
    }
  }
  fail("quotes go over several lines, each of which is a record too: expected " + options_.named("quotes") +
       " rfc4180 or text");
}

}  // namespace importer
