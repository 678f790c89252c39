// bench_import: how fast catalogue files are read, by format, beside simdjson alone on the same text.
//
//   bench_import --list
//   bench_import --table NAME[,NAME..] [--quick] [--json FILE] [--rows N] [--dir FOLDER]
//
// A figure is of one core's CPU time, so that it holds on a machine that does other work too. Reading is what
// sidbeam_import_open() does: every row is parsed, checked and surveyed; the reading that follows, into a builder,
// parses and checks the same way. Files are made in FOLDER ($TMPDIR or the system's) and removed.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/import.h>
#include <simdjson.h>
#include <time.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "program.h"

namespace bench {
namespace {

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

std::string printed(const char* format, int64_t item, const int (&codes)[4]) {
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
    int codes[4];
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

void open_file(const std::string& path, int64_t rows) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  sidbeam_import* import = nullptr;
  if (sidbeam_import_open(path.c_str(), nullptr, &import, &err) != SIDBEAM_OK) throw std::runtime_error(err.message);
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  const sidbeam_status status = sidbeam_import_get_info(import, &info, &err);
  sidbeam_import_destroy(import);
  if (status != SIDBEAM_OK || info.rows != rows || info.levels != 4) throw std::runtime_error("not what was written");
}

Measurements read_table(const Settings& settings) {
  Measurements measurements;
  const int64_t rows = settings.rows > 0 ? settings.rows : settings.quick ? 1000 : 2000000;
  const int runs = settings.quick ? 1 : 7;
  for (const Format& format : kFormats) {
    const std::string text = text_of(format, rows);
    const std::string path = (settings.folder / "bench_import.catalogue").string();
    std::ofstream(path, std::ios::binary) << text;
    const simdjson::padded_string padded(text);
    simdjson::ondemand::parser parser;
    std::vector<double> reading, alone;
    const double gigabytes = static_cast<double>(text.size()) * 1e-9;
    const bool lines = std::string_view(format.name).substr(0, 5) == "jsonl";
    for (int run = 0; run < runs; ++run) {
      reading.push_back(gigabytes / cpu_seconds_of([&] { open_file(path, rows); }));
      if (!lines) continue;
      alone.push_back(gigabytes / cpu_seconds_of([&] {
                        if (simdjson_alone(parser, padded) < 0) throw std::runtime_error("simdjson failed");
                      }));
    }
    const Case where = {{"format", std::string(format.name)}, {"rows", rows}};
    measurements.push_back({"import", where, "read", "GB/s", summarise(reading), ""});
    if (lines) measurements.push_back({"import", where, "simdjson alone", "GB/s", summarise(alone), ""});
    std::filesystem::remove(path);
  }
  return measurements;
}

constexpr TableOf<Settings> kTables[] = {
    {"import", "GB of text a second of one core, and simdjson's on the same lines", read_table}};

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
