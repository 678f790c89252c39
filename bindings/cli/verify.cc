// sidbeam verify: is this file what it was when it was written?
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "abi.h"
#include "commands.h"
#include "json.h"
#include "live.h"

namespace cli {
namespace {

struct Options {
  std::string index;
  bool full = false, json = false;
  int32_t threads = 0;
};

// A version of a live catalogue has no file of its own: what is read are the sections of its base.
int64_t bytes_read(const sidbeam_index* index, const sidbeam_index_info& info) {
  if (info.version == 0) return info.file_bytes;
  int64_t bytes = 0;
  for (int64_t i = 0; i < info.section_count; ++i) {
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    call(sidbeam_index_get_section, index, i, &section);
    bytes += section.bytes;
  }
  return bytes;
}

void run(const Options& o) {
  const Stopwatch watch;
  const auto place = live_place(o.index);  // following it has read its logs, whose records have checksums
  const Index index = open_index(o.index, o.threads);
  call_about(o.index, sidbeam_index_verify, index.get(),
             int32_t{o.full ? SIDBEAM_VERIFY_FULL : SIDBEAM_VERIFY_CHECKSUMS});
  const double seconds = watch.seconds();
  const sidbeam_index_info info = index_info(index.get());
  const int64_t bytes = bytes_read(index.get(), info);
  if (o.json) {
    std::vector<std::string> checked = {"header", "checksums"};
    if (o.full) checked.push_back("structure");
    if (place) checked.push_back("logs");
    return print_json(Json{{"ok", true},
                           {"checked", checked},
                           {"sections", info.section_count},
                           {"bytes", bytes},
                           {"fingerprint", info.fingerprint},
                           {"seconds", seconds}});
  }
  Table table{2,
              {{"header", "ok"},
               {"checksums", "ok, " + std::to_string(info.section_count) + " sections"},
               {"structure", o.full ? "ok, " + with_commas(info.sids) + " SIDs of " + std::to_string(info.levels) +
                                          " levels" + ", " + with_commas(info.items) + " items"
                                    : "not checked (--full)"},
               {"logs", "ok, version " + std::to_string(info.version)},
               {"read", with_commas(bytes) + " bytes in " + fixed(seconds, 3) + " s"}}};
  if (!place) table.rows.erase(table.rows.end() - 2);
  print(table.text());
}

}  // namespace

void add_verify(Command program) {
  const auto o = std::make_shared<Options>();
  const Command command =
      program.add_subcommand("verify", "Check an index file: every checksum, or the whole structure");
  add_index(command, o->index);
  command.add_flag("--full", o->full, "check the structure too: order, ranges, agreement between sections");
  command.add_option("--threads", o->threads, "0: one per core").between(0, 1024).capture_default_str();
  add_json(command, o->json);
  command.footer(
      "Of a live catalogue, the base of the version and the logs.\n"
      "Example:\n  sidbeam verify --full office.sidx");
  command.callback([o] { run(*o); });
}

}  // namespace cli
