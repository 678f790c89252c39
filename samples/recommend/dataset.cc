// Reads or makes a catalogue and histories.
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

// Sets what follows from the items: levels, codes, sids.
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

// A generator that gives the same numbers everywhere, which the distributions of <random> do not.
struct Random {
  uint64_t state;
  uint32_t below(uint32_t limit) {  // splitmix64
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<uint32_t>((z ^ (z >> 31)) % limit);
  }
};

constexpr uint32_t kShelves = 40, kCodes = 64, kItems = 3000, kUsers = 1200;

// Items of a shelf follow each other in data.sids (they share the first code). Half of the steps go to one of a few
// items that always follow, the rest anywhere on the shelf, and sometimes the user moves on.
int32_t next_item(const std::vector<std::vector<int32_t>>& shelves, uint32_t& shelf, int32_t now, Random& random) {
  if (random.below(8) == 0) shelf = random.below(kShelves);
  const std::vector<int32_t>& here = shelves[shelf];
  const auto size = static_cast<uint32_t>(here.size());
  if (random.below(2) == 0) return here[(static_cast<uint32_t>(now) * 7 + random.below(3)) % size];
  return here[std::min(random.below(size), random.below(size))];  // some are popular
}

std::vector<Query> make_queries(const std::vector<std::vector<int32_t>>& shelves, const char* kind, Random random) {
  std::vector<Query> queries;
  for (uint32_t user = 0; user < kUsers; user++) {
    uint32_t shelf = random.below(kShelves);
    Query query{kind + std::to_string(user), {}, 0};
    query.target = shelves[shelf][0];
    for (uint32_t left = 2 + random.below(8); left > 0; left--) {
      query.target = next_item(shelves, shelf, query.target, random);
      query.history.push_back(query.target);
    }
    query.target = next_item(shelves, shelf, query.target, random);
    queries.push_back(std::move(query));
  }
  return queries;
}

}  // namespace

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

Dataset make_dataset() {
  Dataset data;
  data.name = "made up";
  Random random{1};
  for (uint32_t i = 0; i < kItems; i++) {
    const uint32_t shelf = random.below(kShelves);
    const auto code = [&](uint32_t n) { return static_cast<int32_t>(n % kCodes); };
    const Sid sid = {code(shelf), code(shelf * 11 + random.below(12)), code(random.below(kCodes))};
    data.items.push_back({sid, i, "item " + std::to_string(i) + " of shelf " + std::to_string(shelf)});
  }
  number_sids(data);
  data.codes.assign(data.codes.size(), kCodes);  // a model has a column for every code, used or not
  std::vector<std::vector<int32_t>> shelves(kShelves);
  for (size_t i = 0; i < data.sids.size(); i++)
    shelves[static_cast<size_t>(data.sids[i][0])].push_back(static_cast<int32_t>(i));
  data.train = make_queries(shelves, "train", {2});
  data.test = make_queries(shelves, "test", {3});
  return data;
}

}  // namespace recommend
