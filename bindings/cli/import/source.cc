// What all formats share: the checks of a row, the choice of a format.
// SPDX-License-Identifier: Apache-2.0
#include "source.h"

#include <sidbeam/sidbeam.h>

#include <algorithm>
#include <limits>

#include "../failure.h"
#include "../interrupt.h"
#include "../npy.h"
#include "../options.h"

namespace cli {
namespace {

std::string codes_text(int32_t count) { return std::to_string(count) + (count == 1 ? " code" : " codes"); }

}  // namespace

std::string_view Batch::name(size_t row) const {
  const size_t begin = row == 0 ? 0 : static_cast<size_t>(name_ends[row - 1]);
  return std::string_view(names).substr(begin, static_cast<size_t>(name_ends[row]) - begin);
}

void Batch::add_name(std::string_view name) {
  names += name;
  name_ends.push_back(static_cast<int64_t>(names.size()));
}

void Batch::clear() {
  codes.clear();
  lengths.clear();
  ids.clear();
  names.clear();
  name_ends.clear();
  priorities.clear();
}

Source::Source(const Shape& shape)
    : shape_(shape), most_(shape.levels > 0 ? shape.levels : int32_t{SIDBEAM_MAX_LEVELS}) {}

bool Source::next(Batch& batch) {
  throw_if_interrupted();
  batch.clear();
  while (batch.size() < kBatch && read_row(batch)) {
  }
  return batch.size() > 0;
}

void Source::fail(const std::string& what) const { throw Failure(place() + ": " + what); }

void Source::add_code(Batch& batch, int64_t code) {
  const size_t level = static_cast<size_t>(position_++);
  if (position_ > most_) fail_long();
  int64_t codes = SIDBEAM_MAX_CODES - (shape_.variable_length ? 1 : 0);
  if (shape_.levels == 0 && shape_.codes.size() == 1) codes = shape_.codes[0];
  if (level < shape_.codes.size()) codes = shape_.codes[level];
  if (code < 0 || code >= codes) {
    fail("code " + std::to_string(code) + " at level " + std::to_string(level) + ", expected 0.." +
         std::to_string(codes - 1));
  }
  batch.codes.push_back(static_cast<int32_t>(code));
}

// Throws at the first excess code: a row may be as long as its file.
void Source::fail_long() const {
  const bool as_first = shape_.levels == 0 && first_ > 0 && !shape_.variable_length;
  const bool exact = as_first || (shape_.levels > 0 && !shape_.variable_length);
  fail("SID of more than " + codes_text(most_) + ", expected " + (exact ? "" : "at most ") + std::to_string(most_) +
       (as_first ? " as in the first row (or --variable-length)" : ""));
}

void Source::end_row(Batch& batch) {
  const int32_t length = position_;
  position_ = 0;
  if (length == 0) fail("empty SID, expected at least one code");
  if (first_ == 0) {
    first_ = length;
    if (shape_.levels == 0 && !shape_.variable_length) most_ = length;
  }
  const std::string came = "SID of " + codes_text(length);
  if (!shape_.variable_length && shape_.levels > 0 && length != shape_.levels) {
    fail(came + ", expected " + std::to_string(shape_.levels) + " (or --variable-length)");
  }
  if (!shape_.variable_length && shape_.levels == 0 && length != first_) {
    fail(came + ", expected " + std::to_string(first_) + " as in the first row (or --variable-length)");
  }
  batch.lengths.push_back(length);
}

int64_t token_code(std::string_view token) {
  if (token.size() < 4 || token.front() != '<' || token.back() != '>') return -1;
  token = token.substr(1, token.size() - 2);
  const size_t bar = token.rfind('_');
  if (bar == token.npos || bar + 1 == token.size() || token[bar + 1] == '-') return -1;
  return parse_integer<int64_t>(token.substr(bar + 1)).value_or(-1);
}

namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && std::string_view(text).substr(text.size() - end.size()) == end;
}

// By the name, then by the first bytes. The contents of binary rows do not tell them apart.
std::string detect_format(const InputFile& file) {
  constexpr struct {
    std::string_view end;
    const char* format;
  } kNames[] = {{".json", "lcrec"}, {".jsonl", "jsonl"}, {".ndjson", "jsonl"}, {".csv", "csv"},
                {".tsv", "csv"},    {".npy", "npy"},     {".raw", "raw"},      {".i32", "raw"}};
  for (const auto& name : kNames) {
    if (ends_with(file.path(), name.end)) return name.format;
  }
  if (is_npy(file)) return "npy";
  TextReader text(file);
  for (std::string_view line; text.next_line(line);) {
    const size_t at = line.find_first_not_of(" \t\r");
    if (at == line.npos) continue;
    if (line[at] != '{') break;
    return line.find("\"sid\"") != line.npos ? "jsonl" : "lcrec";
  }
  throw UsageError("--format: cannot tell the format of '" + file.path() +
                   "' from its name or content, expected --format lcrec, jsonl, csv, npy, raw or xllm");
}

using Open = std::unique_ptr<Source>(const CatalogueFiles&, const Shape&);
constexpr struct {
  std::string_view name;
  Open* open;
  bool ids;      // may have --ids
  bool columns;  // may have --item-column and its like
} kFormats[] = {{"lcrec", open_lcrec, false, false}, {"jsonl", open_jsonl, false, true},
                {"csv", open_csv, false, true},      {"npy", open_npy, true, false},
                {"raw", open_raw, true, false},      {"xllm", open_xllm, false, false}};

const auto& find_format(std::string_view name) {
  for (const auto& format : kFormats) {
    if (format.name == name) return format;
  }
  throw UsageError("--format: '" + std::string(name) + "', expected auto, lcrec, jsonl, csv, npy, raw or xllm");
}

}  // namespace

CatalogueFiles::CatalogueFiles(const ImportOptions& o) : options(o), input(o.input) {
  format = o.format == "auto" ? detect_format(input) : o.format;
  const auto& known = find_format(format);
  if (!o.ids.empty()) {
    if (!known.ids) throw UsageError("--ids: goes with npy and raw; " + format + " has ids of its own");
    ids = std::make_unique<InputFile>(o.ids);
  }
  if (!known.columns && !(o.item_column + o.sid_columns + o.priority_column).empty()) {
    throw UsageError("--item-column, --sid-columns, --priority-column: go with csv and jsonl, not " + format);
  }
  if (input.size() == 0) throw Failure("'" + o.input + "': empty file, expected at least one SID");
}

std::unique_ptr<Source> CatalogueFiles::source(const Shape& shape) const {
  return find_format(format).open(*this, shape);
}

}  // namespace cli
