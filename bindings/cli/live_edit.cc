// sidbeam catalog remove, rollback and compact.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "catalogue.h"
#include "commands.h"
#include "interrupt.h"
#include "item_lists.h"
#include "live.h"
#include "options.h"

namespace cli {
namespace {

struct RemoveOptions {
  WriterOptions writer;
  std::vector<std::string> items;
  std::string ids;
};

ItemLists items_of(const RemoveOptions& o, int32_t id_type) {
  if (o.ids.empty()) return {"item", o.items, id_type};
  return {o.ids == "-" ? "/dev/stdin" : o.ids, id_type, 1};
}

void remove(const RemoveOptions& o) {
  const Stopwatch watch;
  if (o.items.empty() == o.ids.empty()) throw UsageError("expected either ids or --ids FILE");
  const Catalog catalog = open_catalog(o.writer);
  const int64_t before = catalog_info(catalog.get()).version;
  catch_interrupts(o.writer.folder);
  const ItemLists lists = items_of(o, index_info(open_version(catalog.get(), 0).get()).id_type);
  const auto list = lists.of(0);
  int64_t unknown = 0;
  if (list) call(sidbeam_catalog_remove, catalog.get(), &*list, &unknown);
  call(sidbeam_catalog_publish, catalog.get(), nullptr);
  const int64_t given = list ? list->count : 0;
  report_published(o.writer, catalog.get(),
                   {before, Json{{"ids", given}, {"unknown", unknown}},
                    Table{2, {{"ids", with_commas(given) + ", " + with_commas(unknown) + " of them unknown"}}}},
                   watch.seconds());
}

struct RollbackOptions {
  WriterOptions writer;
  int64_t version = 0;
};

void roll_back(const RollbackOptions& o) {
  const Stopwatch watch;
  const Catalog catalog = open_catalog(o.writer);
  const int64_t before = catalog_info(catalog.get()).version;
  call(sidbeam_catalog_rollback, catalog.get(), o.version, nullptr);
  report_published(o.writer, catalog.get(),
                   {before, Json{{"back_to", o.version}}, Table{2, {{"back to version", std::to_string(o.version)}}}},
                   watch.seconds());
}

struct CompactOptions {
  WriterOptions writer;
  std::string memory_limit, rate;
};

sidbeam_compact_config compact_config(const CompactOptions& o) {
  sidbeam_compact_config config = SIDBEAM_COMPACT_CONFIG_INIT;
  config.threads = o.writer.threads;
  if (!o.memory_limit.empty()) config.memory_limit_bytes = parse_bytes("--memory-limit", o.memory_limit);
  if (!o.rate.empty()) config.bytes_per_second = parse_bytes("--rate", o.rate);
  config.progress = show_progress;
  return config;
}

void compact(const CompactOptions& o) {
  const Stopwatch watch;
  sidbeam_compact_config config = compact_config(o);
  const Catalog catalog = open_catalog(o.writer);
  const int64_t before = catalog_info(catalog.get()).version;
  catch_interrupts(o.writer.folder);
  {
    Progress progress;
    config.progress_context = &progress;
    call_cancellable(sidbeam_catalog_compact, catalog.get(), &config, nullptr);
  }
  const sidbeam_catalog_info info = catalog_info(catalog.get());
  report_published(
      o.writer, catalog.get(),
      {before, Json{{"base_items", info.base_items}}, Table{2, {{"items of the base", with_commas(info.base_items)}}}},
      watch.seconds());
}

}  // namespace

void add_live_remove(Command catalog) {
  const auto o = std::make_shared<RemoveOptions>();
  const Command command = catalog.add_subcommand("remove", "Remove items from a live catalogue, and publish that");
  add_folder(command, o->writer.folder);
  command.add_option("items", o->items, "ids of the items that go, with all their SIDs").type_name("ID");
  command
      .add_option("--ids", o->ids, "instead: a file with an id per line; '-': standard input; .jsonl: an array of ids")
      .type_name("FILE");
  add_writer_options(command, o->writer);
  command.footer(
      "Ids that the catalogue does not have are counted and passed over. Ids that begin with - come after --.\n"
      "Examples:\n"
      "  sidbeam catalog remove office_live 17 4711\n"
      "  sidbeam catalog remove office_live --ids sold_out.txt");
  command.callback([o] { remove(*o); });
}

void add_live_rollback(Command catalog) {
  const auto o = std::make_shared<RollbackOptions>();
  const Command command =
      catalog.add_subcommand("rollback", "Publish the content of an earlier version as a new version");
  add_folder(command, o->writer.folder);
  command.add_option("version", o->version, "one of those that 'sidbeam catalog log' shows").required();
  add_writer_options(command, o->writer);
  command.footer("Example:\n  sidbeam catalog rollback office_live 12");
  command.callback([o] { roll_back(*o); });
}

void add_live_compact(Command catalog) {
  const auto o = std::make_shared<CompactOptions>();
  const Command command =
      catalog.add_subcommand("compact", "Build a new base of the items that are live, and publish it");
  add_folder(command, o->writer.folder);
  command.add_option("--threads", o->writer.threads, "0: one per core").between(0, 1024).capture_default_str();
  command.add_option("--memory-limit", o->memory_limit, "fail before a build that would need more, such as 16G");
  command.add_option("--rate", o->rate, "bytes a second that are read and written at most, such as 100M");
  add_writer_options(command, o->writer);
  command.footer(
      "The items keep their ids and SIDs; ordinals and item rows are numbered anew.\n"
      "Example:\n"
      "  sidbeam catalog compact office_live --threads 4 --rate 200M");
  command.callback([o] { compact(*o); });
}

}  // namespace cli
