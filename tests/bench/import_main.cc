// bench_import: how fast catalogue files are read, by format, beside simdjson alone on the same text.
//
//   bench_import --list
//   bench_import --table NAME[,NAME..] [--quick] [--json FILE] [--rows N] [--dir FOLDER]
//
// A figure is of one core's CPU time, so that it holds on a machine that does other work too. The first pass is what
// sidbeam_import_open() does: every row is parsed, checked and surveyed. The second, sidbeam_import_add_to(), parses
// and checks the same way and adds the rows to a builder, on the same thread; beside it is the builder alone, given
// the same number of rows from memory. Files are made in FOLDER ($TMPDIR or the system's) and removed.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/import.h>
#include <simdjson.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "library.h"
#include "program.h"

namespace bench {
namespace {

constexpr int32_t kLevels = 4;

struct Settings {
  bool quick = false;
  int64_t rows = 0;
  std::filesystem::path folder;
};

double cpu_seconds_of(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double begin = now();
  work();
  return now() - begin;
}

std::string printed(const char* format, int64_t item, const int (&codes)[kLevels]) {
  char line[256];
  std::snprintf(line, sizeof line, format, static_cast<long long>(item), codes[0], codes[1], codes[2], codes[3]);
  return line;
}

struct Format {
  const char* name;
  const char* begin;
  const char* row;  // for printf
  const char* between;
  const char* end;
};
constexpr Format kFormats[] = {
    {"jsonl numbers", "", R"({"item": %lld, "sid": [%d, %d, %d, %d]})", "\n", "\n"},
    {"jsonl tokens", "", R"({"item": "B%09lld", "sid": ["<a_%d>", "<b_%d>", "<c_%d>", "<d_%d>"]})", "\n", "\n"},
    {"jsonl string", "",
     R"({"item": "B%09lld", "title": "Wood screws, 100 pieces", "sid": "<a_%d><b_%d><c_%d><d_%d>"})", "\n", "\n"},
    {"lcrec", "{", R"("%lld": ["<a_%d>", "<b_%d>", "<c_%d>", "<d_%d>"])", ", ", "}"},
    {"csv columns", "item,c0,c1,c2,c3\n", "%lld,%d,%d,%d,%d", "\n", "\n"},
    {"csv tokens", "item\tsid\n", "%lld\t<a_%d><b_%d><c_%d><d_%d>", "\n", "\n"},
    {"csv quoted", "item,title,sid\n", R"(%lld,"Wood screws, 100 pieces","[%d, %d, %d, %d]")", "\n", "\n"},
};

std::string text_of(const Format& format, int64_t rows) {
  std::mt19937_64 random(7);
  std::string text = format.begin;
  for (int64_t item = 0; item < rows; ++item) {
    int codes[kLevels];
    for (int& code : codes) code = static_cast<int>(random() % 2048);
    if (item > 0) text += format.between;
    text += printed(format.row, item, codes);
  }
  return text + format.end;
}

// Every document of a text is parsed, and its "sid" read: what any reader on simdjson pays at least.
int64_t simdjson_alone(simdjson::ondemand::parser& parser, const simdjson::padded_string& text) {
  int64_t sum = 0;
  simdjson::ondemand::document_stream documents;
  if (parser.iterate_many(text).get(documents)) return -1;
  for (auto document : documents) {
    for (auto field : document.get_object()) {
      std::string_view key;
      if (field.unescaped_key().get(key)) return -1;
      simdjson::ondemand::json_type type{};
      if (field.value().type().get(type)) return -1;
      if (type == simdjson::ondemand::json_type::array) {
        for (auto code : field.value().get_array()) {
          int64_t number = 0;
          std::string_view token;
          if (code.get_int64().get(number) && code.get_string().get(token)) return -1;
          sum += number + static_cast<int64_t>(token.size());
        }
      } else if (type == simdjson::ondemand::json_type::string) {
        std::string_view token;
        if (field.value().get_string().get(token)) return -1;
        sum += static_cast<int64_t>(token.size());
      }
    }
  }
  return sum;
}

using Import = std::unique_ptr<sidbeam_import, Releaser<sidbeam_import_destroy>>;

Import open_file(const std::string& path, int64_t rows) {
  sidbeam_import* opened = nullptr;
  call("import_open", sidbeam_import_open, path.c_str(), nullptr, &opened);
  Import import(opened);
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  call("import_get_info", sidbeam_import_get_info, opened, &info);
  if (info.rows != rows || info.levels != kLevels) throw std::runtime_error("not what was written");
  return import;
}

// On the caller's thread.
Builder builder_for(const sidbeam_import_info& info) {
  const Runtime runtime = make_runtime(0);
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = info.levels;
  config.codes = info.codes;
  config.id_type = info.id_type;
  config.threads = 1;
  sidbeam_builder* builder = nullptr;
  call("builder_create", sidbeam_builder_create, runtime.get(), &config, &builder);
  return Builder(builder);
}

double seconds_to_add(const std::string& path, int64_t rows) {
  const Import import = open_file(path, rows);
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  call("import_get_info", sidbeam_import_get_info, import.get(), &info);
  const Builder builder = builder_for(info);
  return cpu_seconds_of([&] { call("import_add_to", sidbeam_import_add_to, import.get(), builder.get()); });
}

// As many rows out of a block in memory, with ids of the same type and about the same length.
double seconds_of_builder(const std::string& path, int64_t rows) {
  constexpr int64_t kBatch = 1 << 16, kNameBytes = 10;
  const Import import = open_file(path, rows);
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  call("import_get_info", sidbeam_import_get_info, import.get(), &info);
  const std::vector<int32_t> codes(static_cast<size_t>(kBatch * kLevels), 1);
  std::vector<int64_t> ids(static_cast<size_t>(kBatch)), ends(static_cast<size_t>(kBatch + 1));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i), ends[i + 1] = ends[i] + kNameBytes;
  const std::string names(static_cast<size_t>(ends.back()), 'B');
  const Builder builder = builder_for(info);
  return cpu_seconds_of([&] {
    for (int64_t left = rows; left > 0; left -= kBatch) {
      const int64_t count = std::min(left, kBatch);
      if (info.id_type == SIDBEAM_ID_STRING)
        call("builder_add_named", sidbeam_builder_add_named, builder.get(), codes.data(), nullptr, count, names.data(),
             ends.data(), nullptr);
      else
        call("builder_add", sidbeam_builder_add, builder.get(), codes.data(), nullptr, count, ids.data(), nullptr);
    }
  });
}

// A file of a format, and how much text it has.
struct Subject {
  std::string text, path;
  int64_t rows;
  double gigabytes;
  bool lines;  // of JSON
};

using Way = std::pair<const char*, std::function<double(const Subject&)>>;  // seconds

// Each way on a file of each format, in turns.
Measurements measure(const Settings& settings, const char* table, const std::vector<Way>& ways) {
  Measurements measurements;
  const int64_t rows = settings.rows > 0 ? settings.rows : settings.quick ? 1000 : 2000000;
  const int runs = settings.quick ? 1 : 7;
  for (const Format& format : kFormats) {
    Subject subject = {text_of(format, rows), (settings.folder / "bench_import.catalogue").string(), rows, 0,
                       std::string_view(format.name).starts_with("jsonl")};
    subject.gigabytes = static_cast<double>(subject.text.size()) * 1e-9;
    std::ofstream(subject.path, std::ios::binary) << subject.text;
    std::vector<std::vector<double>> rates(ways.size());
    for (int run = 0; run < runs; ++run)
      for (size_t w = 0; w < ways.size(); ++w) {
        const double seconds = ways[w].second(subject);
        if (seconds > 0) rates[w].push_back(subject.gigabytes / seconds);
      }
    const Case where = {{"format", std::string(format.name)}, {"rows", rows}};
    for (size_t w = 0; w < ways.size(); ++w)
      if (!rates[w].empty()) measurements.push_back({table, where, ways[w].first, "GB/s", summarise(rates[w]), ""});
    std::filesystem::remove(subject.path);
  }
  return measurements;
}

Measurements read_table(const Settings& settings) {
  const auto alone = [](const Subject& s) -> double {
    if (!s.lines) return 0;
    const simdjson::padded_string padded(s.text);
    simdjson::ondemand::parser parser;
    return cpu_seconds_of([&] {
      if (simdjson_alone(parser, padded) < 0) throw std::runtime_error("simdjson failed");
    });
  };
  const auto read = [](const Subject& s) { return cpu_seconds_of([&] { open_file(s.path, s.rows); }); };
  return measure(settings, "import", {{"read", read}, {"simdjson alone", alone}});
}

Measurements add_table(const Settings& settings) {
  const auto added = [](const Subject& s) { return seconds_to_add(s.path, s.rows); };
  const auto builder = [](const Subject& s) { return seconds_of_builder(s.path, s.rows); };
  return measure(settings, "import-add", {{"read into a builder", added}, {"the builder alone", builder}});
}

constexpr TableOf<Settings> kTables[] = {
    {"import", "GB of text a second of one core, and simdjson's on the same lines", read_table},
    {"import-add", "the same of the second pass, into a builder, and the builder's on as many rows", add_table}};

int run(int argc, char** argv) {
  TableOptions options;
  Settings settings;
  std::string folder = std::filesystem::temp_directory_path().string();
  int rows = 0;
  options.parse(argc, argv, std::vector<Option>{{"--rows N", &rows}, {"--dir FOLDER", &folder}});
  settings.quick = options.quick;
  settings.rows = rows;
  settings.folder = folder;
  return run_tables<Settings>(kTables, options, settings);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program("bench_import", [&] { return bench::run(argc, argv); });
}
