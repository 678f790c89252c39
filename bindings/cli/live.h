// Live catalogues: their folders as the commands name them, and the options of those that write one.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_LIVE_H
#define SIDBEAM_CLI_LIVE_H

#include <optional>
#include <string>

#include "abi.h"
#include "command_line.h"
#include "json.h"

namespace cli {

using Catalog = std::unique_ptr<sidbeam_catalog, Release<sidbeam_catalog_close>>;

// FOLDER, or FOLDER@VERSION.
struct LivePlace {
  std::string folder;
  int64_t version = 0;  // 0: the newest
};
// What a path names, if that is a folder. A file of that name comes first.
std::optional<LivePlace> live_place(const std::string& path);

// Opens a folder to read it: all versions that its files still have.
Catalog follow_catalog(const std::string& folder, const sidbeam_open_config& config = SIDBEAM_OPEN_CONFIG_INIT,
                       int32_t threads = 0);
Index open_version(sidbeam_catalog* catalog, int64_t version);

// Options of the commands that write a catalogue.
struct WriterOptions {
  std::string folder;
  int64_t keep_versions = 16;
  double keep_age = 0;  // seconds
  int32_t threads = 0;
  bool accept_loss = false, json = false;
};
void add_folder(Command command, std::string& folder);
void add_writer_options(Command command, WriterOptions& o);
sidbeam_catalog_config writer_config(const WriterOptions& o);
// Opens a folder to write it. What the library warns of goes to standard error.
Catalog open_catalog(const WriterOptions& o);

sidbeam_catalog_info catalog_info(const sidbeam_catalog* catalog);
sidbeam_version_info version_info(const sidbeam_catalog* catalog, int64_t version);
// "2026-01-31T12:00:00Z"
std::string time_text(int64_t ns);
// One line. In live_show.cc.
std::string version_text(const sidbeam_version_info& version);
Json version_json(const sidbeam_version_info& version);
// All versions that are kept, the newest first.
std::vector<sidbeam_version_info> kept_versions(const sidbeam_catalog* catalog);
Table versions_table(const std::vector<sidbeam_version_info>& versions);

// What a command that publishes a version reports, if there was anything to publish since the version `before`; json
// and table have what comes first.
struct Published {
  int64_t before;
  Json json;
  Table table;
};
void report_published(const WriterOptions& o, sidbeam_catalog* catalog, Published report, double seconds);

// The commands under `sidbeam catalog`.
void add_live_create(Command catalog);
void add_live_add(Command catalog);
void add_live_remove(Command catalog);
void add_live_rollback(Command catalog);
void add_live_compact(Command catalog);
void add_live_publish(Command catalog);
void add_live_log(Command catalog);
void add_live_follow(Command catalog);

}  // namespace cli

#endif
