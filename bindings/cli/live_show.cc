// sidbeam catalog log and follow.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "commands.h"
#include "live.h"

namespace cli {
namespace {

struct LogOptions {
  std::string folder;
  bool json = false;
};

void show_log(const LogOptions& o) {
  const Catalog catalog = follow_catalog(o.folder);
  const std::vector<sidbeam_version_info> versions = kept_versions(catalog.get());
  if (!o.json) return print(versions_table(versions).text());
  std::vector<Json> all;
  for (const sidbeam_version_info& each : versions) all.push_back(version_json(each));
  print_json({{"folder", o.folder}, {"versions", all}});
}

struct FollowOptions {
  std::string folder;
  int64_t since = 0, count = 0;
  double wait = 0;
  bool has_since = false, has_wait = false, json = false;
};

}  // namespace

std::string version_text(const sidbeam_version_info& version) {
  return "version " + std::to_string(version.version) + "  generation " + std::to_string(version.generation) + "  " +
         time_text(version.published_ns) + "  " + with_commas(version.items) + " items  " +
         with_commas(version.changed) + " changed" +
         (version.back_to > 0 ? "  back to " + std::to_string(version.back_to) : "");
}

namespace {

void follow(const FollowOptions& o) {
  constexpr int64_t kForever = int64_t{1} << 40;
  const Catalog catalog = follow_catalog(o.folder);
  int64_t shown = o.has_since ? o.since : catalog_info(catalog.get()).version;
  const int64_t wait_ms = o.has_wait ? static_cast<int64_t>(o.wait * 1000) : kForever;
  for (int64_t count = 0;;) {
    const sidbeam_catalog_info info = catalog_info(catalog.get());
    for (int64_t version = std::max(shown + 1, info.oldest_version); version <= info.version; ++version) {
      const sidbeam_version_info each = version_info(catalog.get(), version);
      o.json ? print_json(version_json(each)) : print_line(version_text(each));
      shown = version;
      if (++count == o.count) return;
    }
    int64_t newest = 0;
    call_about(o.folder, sidbeam_catalog_refresh, catalog.get(), wait_ms, &newest);
    if (newest <= shown && o.has_wait) return;
  }
}

}  // namespace

void add_live_log(Command catalog) {
  const auto o = std::make_shared<LogOptions>();
  const Command command = catalog.add_subcommand("log", "List the versions of a live catalogue, the newest first");
  add_folder(command, o->folder);
  add_json(command, o->json);
  command.footer(
      "'changed' counts (SID, item) pairs that came or went; 'bytes' is memory that a version takes by itself.\n"
      "Any command that reads an index takes FOLDER for the newest version, and FOLDER@12 for version 12.\n"
      "Example:\n"
      "  sidbeam catalog log office_live");
  command.callback([o] { show_log(*o); });
}

void add_live_follow(Command catalog) {
  const auto o = std::make_shared<FollowOptions>();
  const Command command =
      catalog.add_subcommand("follow", "Print a line for every version that is published, until interrupted");
  add_folder(command, o->folder);
  const Option since = command.add_option("--since", o->since, "begin after this version; default: the newest")
                           .between(0, int64_t{1} << 62);
  command.add_option("--count", o->count, "end after so many versions").between(1, int64_t{1} << 62);
  const Option wait = command.add_option("--wait", o->wait, "end when none has come for so many seconds");
  command.add_flag("--json", o->json, "one JSON document per line");
  command.footer("Example:\n  sidbeam catalog follow office_live --json");
  command.callback([o, since, wait] {
    if (!(o->wait >= 0 && o->wait <= 1e9)) throw UsageError("--wait: expected seconds, at least 0");
    o->has_since = since.given();
    o->has_wait = wait.given();
    follow(*o);
  });
}

}  // namespace cli
