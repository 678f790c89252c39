// Reads and writes a catalogue and histories.
// SPDX-License-Identifier: Apache-2.0
#include "dataset.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unordered_map>

namespace recommend {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw std::runtime_error(where + ": " + what);
}

template <class Int>
Int parse_integer(std::string_view text, const std::string& where) {
  Int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(where, "expected a number, got '" + std::string(text) + "'");
  return value;
}

// "<a_60>" -> 60
int32_t parse_code(std::string_view text, const std::string& where) {
  const size_t from = text.find('_');
  if (from == std::string_view::npos || text.back() != '>')
    fail(where, "expected a code such as <a_60>, got '" + std::string(text) + "'");
  return parse_integer<int32_t>(text.substr(from + 1, text.size() - from - 2), where);
}

fs::path find_index(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().string().ends_with(".index.json")) found.push_back(entry.path());
  if (found.empty()) fail(path.string(), "no *.index.json in this folder");
  return *std::min_element(found.begin(), found.end());
}

void read_items(const std::string& path, Dataset& data) {
  simdjson::dom::parser parser;
  const simdjson::dom::object catalogue = parser.load(path);
  for (const auto& [key, value] : catalogue) {
    Item item{{}, parse_integer<int64_t>(key, path), {}};
    for (const std::string_view code : simdjson::dom::array(value)) item.sid.push_back(parse_code(code, path));
    data.items.push_back(std::move(item));
  }
}

void read_titles(const std::string& path, Dataset& data) {
  std::unordered_map<int64_t, std::string> titles;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find('\t'), last = line.rfind('\t');
    if (last == first) fail(path, "expected SID, title and item, separated by tabs: " + line);
    titles[parse_integer<int64_t>(std::string_view(line).substr(last + 1), path)] =
        line.substr(first + 1, last - first - 1);
  }
  for (Item& item : data.items) item.title = titles[item.id];
}

int32_t sid_number(const Dataset& data, simdjson::dom::array codes, const std::string& path) {
  Sid sid;
  for (const int64_t code : codes) sid.push_back(static_cast<int32_t>(code));
  const auto at = std::lower_bound(data.sids.begin(), data.sids.end(), sid);
  if (at == data.sids.end() || *at != sid) fail(path, "a SID that is not in the catalogue");
  return static_cast<int32_t>(at - data.sids.begin());
}

std::vector<Query> read_queries(const std::string& path, const Dataset& data) {
  std::vector<Query> queries;
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines = parser.load_many(path);
  for (const simdjson::dom::element line : lines) {
    Query query{std::string(std::string_view(line["user"])), {}, sid_number(data, line["target"], path)};
    for (const simdjson::dom::array sid : simdjson::dom::array(line["history"]))
      query.history.push_back(sid_number(data, sid, path));
    queries.push_back(std::move(query));
  }
  return queries;
}

// Fails where a file cannot be written.
struct Writer {
  explicit Writer(std::string to) : path(std::move(to)), file(path) {}
  void close() {
    file.close();
    if (!file) fail(path, "cannot be written");
  }
  std::string path;
  std::ofstream file;
};

// [1,2,3]
std::ostream& operator<<(std::ostream& out, const Sid& sid) {
  out << '[';
  for (size_t l = 0; l < sid.size(); l++) out << (l == 0 ? "" : ",") << sid[l];
  return out << ']';
}

void write_queries(const std::string& path, const Dataset& data, const std::vector<Query>& queries) {
  Writer out(path);
  for (const Query& query : queries) {
    out.file << R"({"user":")" << query.user << R"(","history":[)";
    for (size_t h = 0; h < query.history.size(); h++)
      out.file << (h == 0 ? "" : ",") << data.sids[static_cast<size_t>(query.history[h])];
    out.file << R"(],"target":)" << data.sids[static_cast<size_t>(query.target)] << "}\n";
  }
  out.close();
}

}  // namespace

void number_sids(Dataset& data) {
  if (data.items.empty()) fail(data.name, "no items");
  data.levels = static_cast<int32_t>(data.items[0].sid.size());
  data.codes.assign(data.items[0].sid.size(), 0);
  for (const Item& item : data.items) {
    if (item.sid.size() != data.codes.size())
      fail(data.name, "item " + std::to_string(item.id) + " has " + std::to_string(item.sid.size()) +
                          " codes, the first has " + std::to_string(data.codes.size()));
    for (size_t l = 0; l < item.sid.size(); l++) data.codes[l] = std::max(data.codes[l], item.sid[l] + 1);
    data.sids.push_back(item.sid);
  }
  std::sort(data.sids.begin(), data.sids.end());
  data.sids.erase(std::unique(data.sids.begin(), data.sids.end()), data.sids.end());
}

Dataset read_dataset(const std::string& path) {
  Dataset data;
  const std::string index = find_index(path).string();
  const std::string suffix = ".index.json";
  if (!index.ends_with(suffix)) fail(index, "expected a folder or a file *.index.json");
  const std::string stem = index.substr(0, index.size() - suffix.size());
  data.name = fs::path(stem).filename().string();
  read_items(index, data);
  read_titles(stem + ".items.tsv", data);
  number_sids(data);
  data.train = read_queries(stem + ".valid.jsonl", data);
  data.test = read_queries(stem + ".test.jsonl", data);
  return data;
}

void write_dataset(const Dataset& data, const std::string& folder) {
  fs::create_directories(folder);
  std::string stem = data.name;
  std::replace(stem.begin(), stem.end(), ' ', '_');
  stem = (fs::path(folder) / stem).string();
  Writer index(stem + ".index.json"), titles(stem + ".items.tsv");
  index.file << '{';
  for (const Item& item : data.items) {
    const char* before = &item == data.items.data() ? "\n" : ",\n";
    index.file << before << '"' << item.id << "\":[";
    for (size_t l = 0; l < item.sid.size(); l++)
      index.file << (l == 0 ? "" : ",") << R"("<)" << static_cast<char>('a' + l) << '_' << item.sid[l] << R"(>")";
    index.file << ']';
    titles.file << item.sid << '\t' << item.title << '\t' << item.id << '\n';
  }
  index.file << "\n}\n";
  index.close();
  titles.close();
  write_queries(stem + ".valid.jsonl", data, data.train);
  write_queries(stem + ".test.jsonl", data, data.test);
}

}  // namespace recommend
