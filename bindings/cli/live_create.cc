// sidbeam catalog create, and add: items into a live catalogue, by the importers.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "catalogue.h"
#include "commands.h"
#include "interrupt.h"
#include "live.h"

namespace cli {
namespace {

struct CreateOptions {
  WriterOptions writer;
  std::string base;
  ImportOptions import;
  BuildOptions build;
};

Index built(const CreateOptions& o) {
  Progress progress;
  const Catalogue catalogue = load_catalogue(o.import, o.build, progress);
  sidbeam_index* index = nullptr;
  call_cancellable(sidbeam_builder_finish, catalogue.builder.get(), &index);
  return Index(index);
}

// Checked as a whole: what is wrong with it would be in the catalogue for good.
Index opened(const CreateOptions& o) {
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  config.verify = SIDBEAM_VERIFY_FULL;
  Index index = open_index(o.base, config, o.writer.threads);
  if (index_info(index.get()).version > 0)
    throw Failure("'" + o.base + "' is a version of a live catalogue, expected an index file");
  return index;
}

Catalog make_catalog(const CreateOptions& o, sidbeam_index* base) {
  const sidbeam_catalog_config config = writer_config(o.writer);
  sidbeam_catalog* catalog = nullptr;
  try {
    call(sidbeam_catalog_create, base, o.writer.folder.c_str(), &config, &catalog);
  } catch (const LibraryFailure& failure) {
    if (failure.status != SIDBEAM_MISSING_SECTION) throw;  // it is about the folder, and names it
    const std::string& source = o.base.empty() ? o.import.input : o.base;
    throw Failure("'" + source + "' was built without trie: build it with --kinds trie");
  }
  return Catalog(catalog);
}

void create(const CreateOptions& o) {
  const Stopwatch watch;
  if (o.base.empty() == o.import.input.empty()) throw UsageError("expected either --base INDEX or --input FILE");
  catch_interrupts(o.writer.folder);
  const Index base = o.base.empty() ? built(o) : opened(o);
  throw_if_interrupted();
  const Catalog catalog = make_catalog(o, base.get());
  report_published(o.writer, catalog.get(),
                   {0, Json{{"folder", o.writer.folder}}, Table{2, {{"folder", o.writer.folder}}}}, watch.seconds());
}

struct AddOptions {
  WriterOptions writer;
  ImportOptions import;
  std::vector<std::string> inputs;
};

void add(const AddOptions& o) {
  const Stopwatch watch;
  const Catalog catalog = open_catalog(o.writer);
  const int64_t before = catalog_info(catalog.get()).version;
  catch_interrupts(o.writer.folder);
  int64_t rows = 0;
  {
    Progress progress;
    ImportOptions import = o.import;
    for (const std::string& input : o.inputs) {
      import.input = input;
      rows += add_to_catalog(import, catalog.get(), progress);
    }
  }
  call(sidbeam_catalog_publish, catalog.get(), nullptr);
  report_published(o.writer, catalog.get(),
                   {before, Json{{"rows", rows}}, Table{2, {{"rows read", with_commas(rows)}}}}, watch.seconds());
}

}  // namespace

void add_live_create(Command catalog) {
  const auto o = std::make_shared<CreateOptions>();
  const Command command = catalog.add_subcommand("create", "Make a live catalogue of an index");
  add_folder(command, o->writer.folder);
  const Option base = command.add_option("--base", o->base, "index file: checked, copied").type_name("INDEX");
  const Option input =
      command.add_option("--input", o->import.input, "instead: catalogue file, as for build").type_name("FILE");
  base.excludes(input);
  add_import_options(command, o->import);
  add_build_options(command, o->build);
  add_kept_options(command, o->build);
  for (const char* const option :
       {"--levels",       "--codes",           "--variable-length", "--format",        "--ids",
        "--item-column",  "--sid-columns",     "--priority-column", "--token-pattern", "--token-base",
        "--attributes",   "--quotes",          "--kinds",           "--collisions",    "--threads",
        "--memory-limit", "--keep-priorities", "--metadata",        "--codebook",      "--hash-seed"})
    command.option(option).needs(input);
  add_json(command, o->writer.json);
  command.footer(
      "The base needs a trie, and ids. A folder that holds a catalogue already is refused.\n"
      "Example:\n"
      "  sidbeam catalog create office_live --base office.sidx");
  command.callback([o] { create(*o); });
}

void add_live_add(Command catalog) {
  const auto o = std::make_shared<AddOptions>();
  const Command command = catalog.add_subcommand("add", "Add items to a live catalogue, and publish them");
  add_folder(command, o->writer.folder);
  command.add_option("inputs", o->inputs, "files of items, as for build").required().type_name("INPUT");
  add_file_options(command, o->import);
  add_writer_options(command, o->writer);
  command.footer(
      "All of it becomes one version, or nothing does. Formats are those of 'sidbeam build --help'; levels, codes and\n"
      "types of attributes are those of the catalogue. A (SID, item) pair that is live already is updated: where the\n"
      "file has no priorities, or an attribute is not named, it keeps what it has.\n"
      "Example:\n"
      "  sidbeam catalog add office_live new.jsonl --attributes price,region");
  command.callback([o] { add(*o); });
}

}  // namespace cli
