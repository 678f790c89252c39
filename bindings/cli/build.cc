// sidbeam build: a catalogue to an index file.
// SPDX-License-Identifier: Apache-2.0
#include <support/output_file.h>

#include <memory>

#include "abi.h"
#include "catalogue.h"
#include "commands.h"
#include "files.h"
#include "interrupt.h"
#include "json.h"

namespace cli {
namespace {

struct Options {
  ImportOptions import;
  BuildOptions build;
  std::string output;
  bool json = false;
};

double bytes_per_item(const sidbeam_index_info& info) {
  return static_cast<double>(info.file_bytes) / static_cast<double>(info.items);
}

Json summary(const Options& o, const Catalogue& catalogue, const sidbeam_index_info& info, double seconds) {
  return Json{{"output", o.output},
              {"format", catalogue.format},
              {"rows", catalogue.rows},
              {"sids", info.sids},
              {"items", info.items},
              {"merged_pairs", info.merged_pairs},
              {"collisions", info.collisions},
              {"max_items_per_sid", info.max_items_per_sid},
              {"levels", info.levels},
              {"codes", catalogue.shape.codes},
              {"bytes", info.file_bytes},
              {"bytes_per_item", bytes_per_item(info)},
              {"fingerprint", info.fingerprint},
              {"seconds", seconds},
              {"seen", seen_json(catalogue)}};
}

std::string summary_table(const Options& o, const Catalogue& catalogue, const sidbeam_index_info& info,
                          double seconds) {
  const std::string from_data = o.import.codes.empty() ? " (from the data)" : "";
  return Table{2,
               {{"output", o.output},
                {"input", catalogue.summary},
                {"codes per level", join(catalogue.shape.codes) + from_data},
                {"rows read", with_commas(catalogue.rows) + " (" + catalogue.format + ")"},
                {"SIDs", with_commas(info.sids)},
                {"items", with_commas(info.items)},
                {"merged pairs", with_commas(info.merged_pairs)},
                {"collisions", with_commas(info.collisions) + " SIDs with more than one item, at most " +
                                   with_commas(info.max_items_per_sid)},
                {"bytes", with_commas(info.file_bytes) + " (" + fixed(bytes_per_item(info), 1) + " an item)"},
                {"fingerprint", info.fingerprint},
                {"seconds", fixed(seconds, 2)}}}
      .text();
}

// Runs before the catalogue is read, so that an obstacle to writing the file is reported at once.
void try_output(const Options& o) { const sidbeam::OutputFile trial(o.output.c_str(), o.build.allow_attribute_loss); }

void run(const Options& o) {
  const Stopwatch watch;
  for (const std::string& input : {o.import.input, o.import.ids}) {
    if (same_file(input, o.output)) throw UsageError("--output: '" + o.output + "' is an input file");
  }
  try_output(o);
  catch_interrupts(o.output);
  Progress progress;
  const Catalogue catalogue = load_catalogue(o.import, o.build, progress);
  try {
    call(sidbeam_builder_write, catalogue.builder.get(), o.output.c_str());
  } catch (const LibraryFailure& failure) {
    if (failure.status == SIDBEAM_CANCELLED) throw_cancelled();
    const bool about_sids = failure.status == SIDBEAM_COLLISION || failure.status == SIDBEAM_INVALID_ARGUMENT;
    if (about_sids) throw Failure("'" + o.import.input + "': " + failure.what());
    throw;
  }
  progress.clear();
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  call(sidbeam_index_peek, o.output.c_str(), 0, nullptr, nullptr, nullptr, &info);
  if (o.json) return print_json(summary(o, catalogue, info, watch.seconds()));
  print(summary_table(o, catalogue, info, watch.seconds()));
}

}  // namespace

void add_build(Command program) {
  const auto o = std::make_shared<Options>();
  const Command command =
      program.add_subcommand("build", "Build an index file from a catalogue of items and their SIDs");
  command.add_option("--input", o->import.input, "catalogue file").required().type_name("FILE");
  command.add_option("--output", o->output, "index file to write; an old one is replaced when the new one is whole")
      .required()
      .type_name("FILE");
  add_import_options(command, o->import);
  add_build_options(command, o->build);
  add_kept_options(command, o->build);
  add_attribute_loss(command, o->build.allow_attribute_loss);
  add_json(command, o->json);
  command.footer(
      "Formats:\n"
      "  lcrec    one JSON object {\"item\": [\"<a_236>\", \"<b_231>\"], ...}, or a string or an object for each item\n"
      "  records  a JSON list of objects as in jsonl\n"
      "  jsonl    {\"item\": \"B07\", \"sid\": [3, 1, 2], \"priority\": 5} a line; priority is optional\n"
      "  csv      comma or tab separated, with or without a line of column names\n"
      "  npy      integers [N, L]; the id is the row's number, or comes from --ids\n"
      "  npz      the same with ids among its arrays\n"
      "  raw      little-endian int32 [N, --levels]; ids as npy\n"
      "  xllm     records of 20 bytes: int64 id, 3 x int32\n"
      "A SID is a list of tokens or numbers, a string of them, or a list of several SIDs. A token is a family and a\n"
      "code: <a_236> is code 236 of <a_*>. Each level has one family, which is found in the file.\n"
      "Ids that are all integers are kept as integers, others as strings. Rows are counted from 0, lines from 1.\n"
      "Examples:\n"
      "  sidbeam build --input Office_Products.index.json --output office.sidx\n"
      "  sidbeam build --input items.csv --sid-columns c0,c1,c2 --codes 256 --kinds trie,sorted --output items.sidx");
  command.callback([o] { run(*o); });
}

}  // namespace cli
