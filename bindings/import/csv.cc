// CSV and TSV. The SID is one column, "3 1 2", "3-1-2", "3,1,2" in quotes, "[3, 1, 2]" or "<a_3><b_1><c_2>", or one
// column per level. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "csv_text.h"
#include "failure.h"
#include "family.h"
#include "fields.h"
#include "level_columns.h"
#include "numbers.h"
#include "source.h"

namespace importer {
namespace {

constexpr size_t kNone = ~size_t{0};

struct Columns {
  std::vector<std::string> names;  // of the first line, or "0", "1", ...
  bool named = true;
  size_t item = kNone, priority = kNone;
  std::vector<size_t> sid, attributes;
  bool per_level = false;
};

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Whether a cell is a SID of tokens, which no name of a column is.
bool is_tokens(std::string_view cell) {
  std::vector<std::string_view> tokens;
  if (cell.empty() || cell[0] != '<') return false;
  split_sid(cell, tokens);
  return std::any_of(tokens.begin(), tokens.end(), has_digit) &&
         std::all_of(tokens.begin(), tokens.end(), [](std::string_view t) { return !t.empty() && t.back() == '>'; });
}

class ColumnFinder {
 public:
  ColumnFinder(const InputFile& file, const Options& options)
      : file_(file), options_(options), where_("'" + file.path() + "'") {}

  Columns find() {
    CsvText text(file_, options_);
    if (!text.next()) text.fail("no line of column names");
    columns_.names.assign(text.fields().begin(), text.fields().end());
    columns_.named = has_names();
    if (!columns_.named) number_columns();
    find_sid();
    find_item();
    if (!options_.priority_column.empty()) {
      columns_.priority = found(options_.priority_column, kPriorityNames, "priority_column");
    }
    for (const AttributeSpec& spec : parse_attributes(options_))
      columns_.attributes.push_back(found(spec.name, {}, "attributes"));
    return columns_;
  }

 private:
  size_t found(const std::string& asked, const Names& known, const char* option) const {
    const int at = find_field(columns_.names, asked, known, options_.named(option), where_, "column");
    return at < 0 ? kNone : static_cast<size_t>(at);
  }

  // The first line has names, unless what was asked for are numbers and not among them, or it has a SID of tokens.
  bool has_names() const {
    const auto& names = columns_.names;
    for (const std::string& list : {options_.item_column, options_.sid_columns}) {
      if (list.empty()) continue;
      for (const std::string& asked : split_commas(list)) {
        if (parse_canonical<int32_t>(asked) && std::find(names.begin(), names.end(), asked) == names.end())
          return false;
      }
    }
    return std::none_of(names.begin(), names.end(), [](const std::string& name) { return is_tokens(name); });
  }

  void number_columns() {
    first_ = columns_.names;
    for (size_t i = 0; i < first_.size(); ++i) columns_.names[i] = std::to_string(i);
  }

  void find_sid() {
    if (!options_.sid_columns.empty()) {
      for (const std::string& name : split_commas(options_.sid_columns)) {
        columns_.sid.push_back(found(name, kSidNames, "sid_columns"));
      }
      columns_.per_level = columns_.sid.size() > 1;
      return;
    }
    if (!columns_.named) return guess_sid();
    const size_t one = found("", kSidNames, "sid_columns");
    const LevelColumns levels = find_level_columns(columns_.names, options_.named("sid_columns"), where_);
    if (one != kNone && !levels.places.empty()) {
      throw Failure(where_ + ": columns '" + columns_.names[one] + "' and '" +
                    columns_.names[static_cast<size_t>(levels.places[0])] + "' ... both fit, expected " +
                    options_.named("sid_columns") + " to say which");
    }
    if (one != kNone) return columns_.sid.push_back(one);
    use_levels(levels);
  }

  void use_levels(const LevelColumns& levels) {
    const std::string option = options_.named("sid_columns");
    if (levels.places.empty() && !levels.gap.empty()) {
      throw Failure(where_ + ": no column of SIDs: " + levels.gap + " are there, and no '" + levels.missing[0] +
                    "': expected a column per level, or " + option + " to say which they are");
    }
    if (levels.places.empty()) fail_no_column("SIDs", "sid_columns");
    CsvText text(file_, options_);
    if (text.next() && text.next()) check_siblings(levels, columns_.names, text.fields(), option, where_);
    for (const int column : levels.places) columns_.sid.push_back(static_cast<size_t>(column));
    columns_.per_level = true;
  }

  void guess_sid() {
    for (size_t i = 0; i < first_.size(); ++i) {
      if (!is_tokens(first_[i])) continue;
      if (!columns_.sid.empty()) fail_no_column("SIDs that can be told from others", "sid_columns");
      columns_.sid.push_back(i);
    }
    if (columns_.sid.empty()) fail_no_column("SIDs", "sid_columns");
  }

  void find_item() {
    columns_.item = found(options_.item_column, kItemNames, "item_column");
    if (columns_.item != kNone) return;
    if (columns_.named) fail_no_column("item ids", "item_column");
    guess_item();
  }

  // In a file without names: the only other column, or the only other one of integers, as far as the first rows say.
  void guess_item() {
    std::vector<bool> integers(columns_.names.size(), true);
    for (const size_t column : columns_.sid) integers[column] = false;
    const auto others = std::count(integers.begin(), integers.end(), true);
    CsvText text(file_, options_);
    for (int row = 0; others > 1 && row < 1000 && text.next(); ++row) {
      for (size_t i = 0; i < std::min(integers.size(), text.fields().size()); ++i) {
        integers[i] = integers[i] && parse_canonical<int64_t>(text.fields()[i]).has_value();
      }
    }
    if (std::count(integers.begin(), integers.end(), true) != 1) fail_no_column("item ids", "item_column");
    columns_.item = static_cast<size_t>(std::find(integers.begin(), integers.end(), true) - integers.begin());
  }

  [[noreturn]] void fail_no_column(const std::string& what, const char* option) const {
    std::string names;
    const auto& first = columns_.named ? columns_.names : first_;
    for (size_t i = 0; i < std::min<size_t>(first.size(), 12); ++i) {
      names += (i > 0 ? ", '" : "'") + first[i].substr(0, 40) + "'";
    }
    throw Failure(where_ + ": no column of " + what + " (" + options_.named(option) +
                  (columns_.named ? "" : ", a number from 0") + "), the first line has " + names +
                  (first.size() > 12 ? ", ..." : ""));
  }

  const InputFile& file_;
  const Options& options_;
  std::string where_;
  Columns columns_;
  std::vector<std::string> first_;  // the first row of a file without names
};

class CsvSource final : public Source {
 public:
  CsvSource(const CatalogueFiles& files, const Shape& shape)
      : Source(files, shape), text_(file_, options_), columns_(ColumnFinder(file_, options_).find()) {
    if (columns_.named) text_.next();
    text_.expect(columns_.names.size(), columns_.sid);
  }

  IdForm id_form() const override { return IdForm::kText; }
  bool gives_priorities() const override { return columns_.priority != kNone; }
  int64_t done() const override { return text_.position(); }
  int64_t total() const override { return file_.size(); }

 protected:
  bool read_record(Batch& batch) override {
    if (read_alike_lines(batch)) return true;
    if (!text_.next()) return false;
    const std::vector<std::string_view>& fields = text_.fields();
    if (fields.size() != columns_.names.size()) {
      fail(std::to_string(fields.size()) + " fields, expected " + std::to_string(columns_.names.size()) +
           " as in the first line");
    }
    const std::string_view item = fields[columns_.item];
    if (item.empty()) fail("empty '" + columns_.names[columns_.item] + "'");
    name_item(item);
    if (columns_.per_level) {
      read_levels(batch, fields);
    } else {
      sids_.text(fields[columns_.sid[0]]);
    }
    sids_.end_sid(batch);
    end_record(batch, item);
    batch.priorities.push_back(columns_.priority == kNone ? 0 : read_priority(fields));
    read_attributes(batch, fields);
    learn_line();
    return true;
  }

  int64_t line() const override { return text_.line(); }
  std::string id_field() const override { return "'" + columns_.names[columns_.item] + "'"; }

 private:
  bool read_alike_lines(Batch& batch) {
    do {
      size_t lines;
      const size_t bytes = read_alike(batch, text_.window(), &lines);
      if (bytes == 0) continue;
      text_.skip_lines(bytes, static_cast<int64_t>(lines));
      return true;
    } while (text_.extend());
    return false;
  }

  int64_t read_priority(const std::vector<std::string_view>& fields) const {
    const auto priority = parse_whole(fields[columns_.priority]);
    if (!priority) fail_cell(columns_.priority, fields, "an integer");
    return *priority;
  }

  void read_attributes(Batch& batch, const std::vector<std::string_view>& fields) {
    attributes_.begin();
    for (size_t i = 0; i < attributes_.size(); ++i)
      if (!attributes_.cell(i, fields[columns_.attributes[i]]))
        fail_cell(columns_.attributes[i], fields, attributes_.expected(i));
    attributes_.end(batch);
  }

  void learn_line() {
    if (!attributes_.empty()) return;  // what is read by a pattern would have none
    std::vector<Pattern::Mark> marks = text_.marks();
    if (marks.empty()) return;
    marks[columns_.item].hole = Pattern::Hole::kItem;
    if (columns_.priority != kNone) marks[columns_.priority].hole = Pattern::Hole::kPriority;
    std::vector<std::string_view> sid;
    for (const size_t column : columns_.sid) sid.push_back(text_.fields()[column]);
    while (shape_.variable_length && columns_.per_level && !sid.empty() && is_missing(sid.back())) sid.pop_back();
    // Without the holes of the SID's fields, which learn() has.
    std::vector<Pattern::Mark> others;
    for (size_t i = 0; i < marks.size(); ++i) {
      if (std::find(columns_.sid.begin(), columns_.sid.end(), i) == columns_.sid.end()) others.push_back(marks[i]);
    }
    learn(text_.record(), others, sid, columns_.per_level);
  }

  // Where lengths vary, missing cells end the SID.
  void read_levels(Batch& batch, const std::vector<std::string_view>& fields) {
    size_t length = columns_.sid.size();
    while (shape_.variable_length && length > 0 && is_missing(fields[columns_.sid[length - 1]])) --length;
    for (size_t i = 0; i < length; ++i) {
      const size_t column = columns_.sid[i];
      const std::string_view cell = fields[column];
      if (const auto code = parse_whole(cell)) {
        sids_.number(batch, *code);
      } else if (is_missing(cell)) {
        fail_cell(column, fields,
                  shape_.variable_length ? "a code, as another follows"
                                         : "a code (or " + options_.named("variable_length") + ")");
      } else if (looks_like_number(cell)) {
        fail_cell(column, fields, "an integer");
      } else {
        sids_.token(cell);
      }
    }
  }

  [[noreturn]] void fail_cell(size_t column, const std::vector<std::string_view>& fields,
                              const std::string& expected) const {
    fail("'" + columns_.names[column] + "': '" + std::string(fields[column]) + "', expected " + expected);
  }

  CsvText text_;
  Columns columns_;
};

}  // namespace

std::unique_ptr<Source> open_csv(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<CsvSource>(files, shape);
}

}  // namespace importer
