// sidbeam catalog log and follow.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "commands.h"
#include "live.h"
#include "options.h"

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

// A catalogue that keeps all versions keeps all of their bases too. So it is opened again, now and then, while it has
// versions of an earlier generation: that lets go of those that the writer has dropped.
class Follower {
 public:
  explicit Follower(const FollowOptions& o) : o_(o) {
    open();
    shown_ = o.has_since ? o.since : catalog_info(catalog_.get()).version;
  }

  void run() {
    constexpr int64_t kForever = int64_t{1} << 40;
    const int64_t wait_ms = o_.has_wait ? to_milliseconds(o_.wait) : kForever;
    while (show_newer(catalog_.get())) {
      if (is_due()) {
        if (!open_again()) return;
      } else if (refresh(catalog_.get(), wait_ms) <= shown_ && o_.has_wait) {
        return;
      }
    }
  }

 private:
  void open() {
    catalog_ = follow_catalog(o_.folder);
    opened_ = catalog_info(catalog_.get()).version;
  }

  // Whether it is to be opened again: after one version, then two, four and so on, since each time reads all logs.
  bool is_due() {
    const sidbeam_catalog_info info = catalog_info(catalog_.get());
    if (version_info(catalog_.get(), info.oldest_version).generation != info.generation)
      return info.version >= opened_ + step_;
    step_ = 1;
    return false;
  }

  // The old one is read once more: it has versions that the writer may have dropped by now. False at the end.
  bool open_again() {
    const Catalog before = std::move(catalog_);
    open();
    step_ *= 2;
    refresh(before.get(), 0);
    return show_newer(before.get());
  }

  int64_t refresh(sidbeam_catalog* catalog, int64_t wait_ms) const {
    int64_t newest = 0;
    call_about(o_.folder, sidbeam_catalog_refresh, catalog, wait_ms, &newest);
    return newest;
  }

  // Prints the versions after those that were shown; false once there are as many as are wanted.
  bool show_newer(const sidbeam_catalog* catalog) {
    const sidbeam_catalog_info info = catalog_info(catalog);
    for (int64_t version = std::max(shown_ + 1, info.oldest_version); version <= info.version; ++version) {
      const sidbeam_version_info each = version_info(catalog, version);
      o_.json ? print_json(version_json(each)) : print_line(version_text(each));
      shown_ = version;
      if (++count_ == o_.count) return false;
    }
    return true;
  }

  const FollowOptions& o_;
  Catalog catalog_;
  int64_t opened_ = 0, step_ = 1;  // the newest version when it was opened; versions until that is done again
  int64_t shown_ = 0, count_ = 0;
};

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
  const Option wait =
      command.add_option("--wait", o->wait, "end when none has come for so many seconds").check(seconds_complaint);
  command.add_flag("--json", o->json, "one JSON document per line");
  command.footer("Example:\n  sidbeam catalog follow office_live --json");
  command.callback([o, since, wait] {
    o->has_since = since.given();
    o->has_wait = wait.given();
    Follower(*o).run();
  });
}

}  // namespace cli
