// The choice of a format: by content, and where the content serves several, by name.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "failure.h"
#include "fields.h"
#include "source.h"
#include "zip.h"

namespace importer {
namespace {

using Open = std::unique_ptr<Source>(const CatalogueFiles&, const Shape&);
constexpr struct {
  std::string_view name;
  Open* open;
  bool ids;      // may have ids from a file of their own
  bool columns;  // may have item_column and its like
} kFormats[] = {{"lcrec", open_objects, false, true}, {"records", open_records, false, true},
                {"jsonl", open_jsonl, false, true},   {"csv", open_csv, false, true},
                {"npy", open_npy, true, false},       {"npz", open_npz, true, true},
                {"raw", open_raw, true, false},       {"xllm", open_xllm, false, false}};
constexpr const char* kAll = "lcrec, records, jsonl, csv, npy, npz, raw or xllm";

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && std::string_view(text).substr(text.size() - end.size()) == end;
}

// Formats of others, which Python reads.
void refuse_tables(const InputFile& file, const Options& options) {
  constexpr struct {
    std::string_view magic;
    const char* name;
  } kTables[] = {{"PAR1", "Parquet"}, {"ARROW1", "Feather (Arrow)"}, {"FEA1", "Feather"}, {"ORC", "ORC"}};
  for (const auto& table : kTables) {
    if (file.head(static_cast<int64_t>(table.magic.size())) != table.magic) continue;
    const std::string line = "sidbeam.Index.from_file(\"" + file.path() + "\").save(\"items.sidx\")";
    throw Failure("'" + file.path() + "': " + table.name + ", which this library does not read" +
                      (options.command ? "; Python does where pyarrow is installed: " + line : ""),
                  SIDBEAM_UNSUPPORTED);
  }
}

// What the first value of a JSON text is, as far as telling formats apart needs it.
struct FirstValue {
  bool whole = false;             // it ends within the text
  bool last = false;              // and nothing follows it there
  bool followed = false;          // or another object does
  std::vector<std::string> keys;  // of an object, at its outermost level
};

constexpr size_t kMostKeys = 64;

FirstValue look_at(std::string_view text) {
  FirstValue value;
  int depth = 0;
  bool expects_key = true;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '[') ++depth;
    if (c == ',' && depth == 1) expects_key = true;
    if (c == '"') {
      const size_t begin = ++at;
      for (; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
      if (depth == 1 && expects_key && value.keys.size() < kMostKeys && at < text.size()) {
        value.keys.emplace_back(text.substr(begin, at - begin));
      }
      expects_key = false;
    }
    if ((c == '}' || c == ']') && --depth <= 0) {
      value.whole = true;
      const size_t next = std::min(text.find_first_not_of(" \t\r\n", at + 1), text.size());
      value.last = next == text.size();
      value.followed = !value.last && text[next] == '{';
      return value;
    }
  }
  return value;
}

// One object per line, or one object of all items: told by what follows the first one, by its keys, by the name. What
// has so many keys in front of its first SID is no record.
const char* detect_json(const CatalogueFiles& files, TextReader& text) {
  constexpr size_t kMostLine = size_t{64} << 20;
  const std::string& asked = files.options.sid_columns;
  FirstValue first = look_at(text.window());
  const auto has_sid = [&] {
    return std::any_of(first.keys.begin(), first.keys.end(),
                       [&](const std::string& key) { return asked.empty() ? is_among(kSidNames, key) : key == asked; });
  };
  while ((!first.whole || first.last) && (first.keys.size() < kMostKeys || has_sid()) &&
         text.window().size() < kMostLine && text.extend()) {
    first = look_at(text.window());
  }
  if (!first.whole) return "lcrec";
  if (first.followed || has_sid()) return "jsonl";
  return ends_with(files.input.path(), ".jsonl") || ends_with(files.input.path(), ".ndjson") ? "jsonl" : "lcrec";
}

// Some control characters are allowed: ids and titles are anybody's.
bool is_text(std::string_view bytes) {
  const auto controls = std::count_if(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r' && c != '\n';
  });
  return bytes.find('\0') == bytes.npos && static_cast<size_t>(controls) * 3 < bytes.size();
}

// The contents of binary rows do not tell them apart.
std::string detect_format(const CatalogueFiles& files) {
  const InputFile& file = files.input;
  if (is_npy(file)) return "npy";
  if (is_zip(file)) return "npz";
  refuse_tables(file, files.options);
  if (ends_with(file.path(), ".raw") || ends_with(file.path(), ".i32")) return "raw";
  TextReader text(file);
  text.extend();
  const std::string_view window = text.window();
  const size_t first = window.find_first_not_of(" \t\r\n");
  constexpr size_t kLook = 4096;
  if (is_text(window.substr(0, kLook))) {
    if (first != window.npos && window[first] == '{') return detect_json(files, text);
    if (first != window.npos && window[first] == '[') {
      const size_t second = window.find_first_not_of(" \t\r\n", first + 1);
      if (second != window.npos && (window[second] == '{' || window[second] == ']')) return "records";
      throw Failure("'" + file.path() + "': a JSON list, expected one of objects {\"item\": ..., \"sid\": [...]}");
    }
    if (first != window.npos) return "csv";
    throw Failure("'" + file.path() + "': no SID in it, expected at least one");
  }
  throw UsageError(files.options.named("format") + ": cannot tell the format of '" + file.path() +
                   "' from its content, expected " + files.options.named("format") + " " + kAll);
}

const auto& find_format(const Options& options, std::string_view name) {
  for (const auto& format : kFormats) {
    if (format.name == name) return format;
  }
  throw UsageError(options.named("format") + ": '" + std::string(name) + "', expected auto, " + kAll);
}

}  // namespace

CatalogueFiles::CatalogueFiles(const Options& o)
    : options(o), input(o.input, [&o] { o.progress(SIDBEAM_PHASE_SURVEY, 0, 0); }) {
  if (!o.format.empty() && o.format != "auto") find_format(o, o.format);
  if (input.size() == 0) throw Failure("'" + o.input + "': empty file, expected at least one SID");
  format = o.format.empty() || o.format == "auto" ? detect_format(*this) : o.format;
  const auto& known = find_format(o, format);
  if (!o.ids.empty()) {
    if (!known.ids)
      throw UsageError(o.named("ids") + ": goes with npy, npz and raw; " + format + " has ids of its own");
    ids = std::make_unique<InputFile>(o.ids, [&o] { o.progress(SIDBEAM_PHASE_SURVEY, 0, 0); });
  }
  if (!known.columns && !(o.item_column + o.sid_columns + o.priority_column).empty()) {
    throw UsageError(o.named("item_column") + ", " + o.named("sid_columns") + ", " + o.named("priority_column") +
                     ": go with lcrec, records, jsonl, csv and npz, not " + format);
  }
  if (!o.attributes.empty() && (known.ids || !known.columns))
    throw UsageError(o.named("attributes") + ": go with lcrec, records, jsonl and csv, not " + format);
}

std::unique_ptr<Source> open_source(const CatalogueFiles& files, const Shape& shape) {
  return find_format(files.options, files.format).open(files, shape);
}

}  // namespace importer
