// SPDX-License-Identifier: Apache-2.0
#include "live.h"

#include <sys/stat.h>

#include <cstdio>
#include <ctime>
#include <limits>

#include "commands.h"
#include "options.h"

namespace cli {
namespace {

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_there(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

Runtime make_writer_runtime(int32_t threads) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = threads;
  config.log_level = SIDBEAM_LOG_WARNING;
  config.log = [](void*, int32_t, const char* message) {
    std::fprintf(stderr, "sidbeam catalog: warning: %s\n", message);
  };
  sidbeam_runtime* runtime = nullptr;
  call(sidbeam_runtime_create, &config, &runtime);
  return Runtime(runtime);
}

}  // namespace

std::optional<LivePlace> live_place(const std::string& path) {
  if (is_folder(path)) return LivePlace{path};
  const size_t at = path.rfind('@');
  if (at == path.npos || is_there(path) || !is_folder(path.substr(0, at))) return std::nullopt;
  const auto version = parse_integer<int64_t>(path.substr(at + 1));
  if (!version || *version < 1) throw UsageError("'" + path + "', expected a version after the @, as in FOLDER@12");
  return LivePlace{path.substr(0, at), *version};
}

Catalog follow_catalog(const std::string& folder, const sidbeam_open_config& config, int32_t threads) {
  const Runtime runtime = make_runtime(threads);
  sidbeam_catalog_config follow = SIDBEAM_CATALOG_CONFIG_INIT;
  follow.keep_versions = std::numeric_limits<int64_t>::max();
  follow.residency = config.residency;
  follow.verify = config.verify;
  sidbeam_catalog* catalog = nullptr;
  call_about(folder, sidbeam_catalog_follow, runtime.get(), folder.c_str(), &follow, &catalog);
  return Catalog(catalog);
}

Index open_version(sidbeam_catalog* catalog, int64_t version) {
  sidbeam_index* index = nullptr;
  call(sidbeam_catalog_snapshot, catalog, version, &index);
  return Index(index);
}

Index open_index(const std::string& path, const sidbeam_open_config& config, int32_t threads) {
  if (const auto place = live_place(path)) {
    const Catalog catalog = follow_catalog(place->folder, config, threads);
    sidbeam_index* index = nullptr;
    call_about(path, sidbeam_catalog_snapshot, catalog.get(), place->version, &index);
    return Index(index);
  }
  const Runtime runtime = make_runtime(threads);
  sidbeam_index* index = nullptr;
  call_about(path, sidbeam_index_open, runtime.get(), path.c_str(), &config, &index);
  return Index(index);
}

void add_folder(Command command, std::string& folder) {
  command.add_option("folder", folder, "folder of a live catalogue").required().type_name("FOLDER");
}

void add_writer_options(Command command, WriterOptions& o) {
  command
      .add_option("--keep-versions", o.keep_versions,
                  "versions that can be gone back to; files that none of them needs are removed")
      .between(1, std::numeric_limits<int64_t>::max())
      .capture_default_str();
  command
      .add_option("--keep-age", o.keep_age,
                  "of these, only such as were replaced at most so many seconds before the newest came; 0: whatever "
                  "their age")
      .check(seconds_complaint)
      .type_name("SECONDS")
      .capture_default_str();
  command.add_flag("--accept-loss", o.accept_loss,
                   "where a log is damaged, go on from what was published before the damage");
  add_json(command, o.json);
}

sidbeam_catalog_config writer_config(const WriterOptions& o) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  config.keep_versions = o.keep_versions;
  config.keep_ms = to_milliseconds(o.keep_age);
  config.accept_loss = o.accept_loss ? 1 : 0;
  return config;
}

Catalog open_catalog(const WriterOptions& o) {
  name_mapped(o.folder);
  const Runtime runtime = make_writer_runtime(o.threads);
  const sidbeam_catalog_config config = writer_config(o);
  sidbeam_catalog* catalog = nullptr;
  call_about(o.folder, sidbeam_catalog_open, runtime.get(), o.folder.c_str(), &config, &catalog);
  return Catalog(catalog);
}

sidbeam_catalog_info catalog_info(const sidbeam_catalog* catalog) {
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  call(sidbeam_catalog_get_info, catalog, &info);
  return info;
}

sidbeam_version_info version_info(const sidbeam_catalog* catalog, int64_t version) {
  sidbeam_version_info info = SIDBEAM_VERSION_INFO_INIT;
  call(sidbeam_catalog_get_version, catalog, version, &info);
  return info;
}

std::string time_text(int64_t ns) {
  const std::time_t seconds = static_cast<std::time_t>(ns / 1000000000);
  struct tm parts {};
  char text[32] = "";
  if (::gmtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Json version_json(const sidbeam_version_info& version) {
  return Json{{"version", version.version},
              {"generation", version.generation},
              {"published", time_text(version.published_ns)},
              {"published_ns", version.published_ns},
              {"items", version.items},
              {"changed", version.changed},
              {"back_to", version.back_to > 0 ? Json(version.back_to) : Json(nullptr)},
              {"bytes", version.bytes}};
}

std::vector<sidbeam_version_info> kept_versions(const sidbeam_catalog* catalog) {
  const sidbeam_catalog_info info = catalog_info(catalog);
  std::vector<sidbeam_version_info> versions;
  for (int64_t number = info.version; number >= info.oldest_version; --number)
    versions.push_back(version_info(catalog, number));
  return versions;
}

Table versions_table(const std::vector<sidbeam_version_info>& versions) {
  Table table{0, {{"version", "generation", "published", "items", "changed", "back to", "bytes"}}};
  for (const sidbeam_version_info& each : versions) {
    table.rows.push_back({std::to_string(each.version), std::to_string(each.generation), time_text(each.published_ns),
                          with_commas(each.items), with_commas(each.changed),
                          each.back_to > 0 ? std::to_string(each.back_to) : "", with_commas(each.bytes)});
  }
  return table;
}

void report_published(const WriterOptions& o, sidbeam_catalog* catalog, Published report, double seconds) {
  const sidbeam_catalog_info info = catalog_info(catalog);
  const bool is_new = info.version > report.before;
  const int64_t changed = is_new ? version_info(catalog, info.version).changed : 0;
  if (o.json) {
    report.json.add("version", info.version);
    report.json.add("published", is_new);
    report.json.add("generation", info.generation);
    report.json.add("items", info.items);
    report.json.add("changed", changed);
    report.json.add("compact_soon", info.compact_soon != 0);
    report.json.add("seconds", seconds);
    return print_json(report.json);
  }
  auto& rows = report.table.rows;
  rows.insert(rows.end(), {{"version", std::to_string(info.version) + (is_new ? "" : ", as before")},
                           {"items", with_commas(info.items)},
                           {"changed", with_commas(changed)}});
  if (info.compact_soon != 0) rows.push_back({"compaction", "due: sidbeam catalog compact"});
  rows.push_back({"seconds", fixed(seconds, 2)});
  print(report.table.text());
}

}  // namespace cli
