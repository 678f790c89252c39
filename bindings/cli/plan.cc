// sidbeam plan: how large an index would be.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "abi.h"
#include "commands.h"
#include "import/catalogue.h"
#include "json.h"
#include "options.h"

namespace cli {
namespace {

struct Options {
  ImportOptions import;
  BuildOptions build;
  int64_t items = 0;
  bool json = false;
};

struct SectionKind {
  const char* name;
  int64_t (sidbeam_plan::*bytes)[64];
};
constexpr SectionKind kByLevel[] = {{"row_pointers", &sidbeam_plan::row_pointer_bytes},
                                    {"tokens", &sidbeam_plan::token_bytes},
                                    {"dense", &sidbeam_plan::dense_bytes},
                                    {"ordinals", &sidbeam_plan::ordinal_bytes},
                                    {"ends", &sidbeam_plan::end_bytes},
                                    {"columns", &sidbeam_plan::sorted_bytes}};

double bytes_per_item(const sidbeam_plan& plan) {
  return plan.items > 0 ? static_cast<double>(plan.file_bytes) / static_cast<double>(plan.items) : 0.0;
}

Json plan_json(const Shape& shape, const sidbeam_plan& plan, int32_t kinds) {
  Json sections = Json::array();
  const auto add = [&sections](const char* kind, const Json& level, int64_t bytes) {
    if (bytes > 0) sections.push_back({{"kind", kind}, {"level", level}, {"bytes", bytes}});
  };
  for (const SectionKind& kind : kByLevel) {
    for (int32_t level = 0; level < shape.levels; ++level) add(kind.name, level, (plan.*kind.bytes)[level]);
  }
  add("hash", nullptr, plan.hash_bytes);
  add("items", nullptr, plan.item_bytes);
  return Json{
      {"exact", plan.exact != 0},      {"sids", plan.sids},
      {"items", plan.items},           {"levels", shape.levels},
      {"codes", shape.codes},          {"kinds", kind_names(kinds)},
      {"file_bytes", plan.file_bytes}, {"bytes_per_item", bytes_per_item(plan)},
      {"peak_bytes", plan.peak_bytes}, {"nodes_per_level", std::vector<int64_t>(plan.nodes, plan.nodes + shape.levels)},
      {"sections", sections}};
}

// Levels down, kinds of section across; kinds without a byte are left out.
std::string section_table(const Shape& shape, const sidbeam_plan& plan) {
  Table table{1, {{"level", "prefixes"}}};
  std::vector<const SectionKind*> shown;
  std::vector<int64_t> sums;
  for (const SectionKind& kind : kByLevel) {
    int64_t sum = 0;
    for (int32_t level = 0; level < shape.levels; ++level) sum += (plan.*kind.bytes)[level];
    if (sum == 0) continue;
    shown.push_back(&kind);
    sums.push_back(sum);
    table.rows[0].emplace_back(kind.name);
  }
  for (int32_t level = 0; level < shape.levels; ++level) {
    std::vector<std::string> row{std::to_string(level), with_commas(plan.nodes[level])};
    for (const SectionKind* kind : shown) row.push_back(with_commas((plan.*kind->bytes)[level]));
    table.rows.push_back(row);
  }
  std::vector<std::string> total{"bytes", ""};
  for (const int64_t sum : sums) total.push_back(with_commas(sum));
  table.rows.push_back(total);
  return table.text();
}

std::string plan_table(const Shape& shape, const sidbeam_plan& plan) {
  return section_table(shape, plan) + "\n" +
         Table{
             2,
             {{"sizes",
               plan.exact != 0 ? "exact" : "expected for SIDs drawn uniformly; real SIDs share prefixes and need less"},
              {"codes a level", join(shape.codes)},
              {"SIDs", with_commas(plan.sids)},
              {"items", with_commas(plan.items)},
              {"hash set", with_commas(plan.hash_bytes) + " bytes"},
              {"item ids", with_commas(plan.item_bytes) + " bytes"},
              {"file", with_commas(plan.file_bytes) + " bytes (" + fixed(bytes_per_item(plan), 1) + " an item)"},
              {"peak memory", with_commas(plan.peak_bytes) + " bytes while it is built"}}}
             .text();
}

void report(const Options& o, const Shape& shape, const sidbeam_plan& plan) {
  if (o.json) return print_json(plan_json(shape, plan, parse_kinds(o.build.kinds)));
  print(plan_table(shape, plan));
}

void plan_catalogue(const Options& o) {
  Progress progress;
  const Catalogue catalogue = load_catalogue(o.import, o.build, progress);
  sidbeam_plan plan = SIDBEAM_PLAN_INIT;
  call(sidbeam_builder_plan, catalogue.builder.get(), &plan);
  progress.clear();
  report(o, catalogue.shape, plan);
}

void estimate(const Options& o) {
  if (o.import.levels == 0) throw UsageError("--levels: expected with --items, the codes of a SID");
  if (o.import.codes.empty()) throw UsageError("--codes: expected with --items, V or V1,V2,..");
  const bool variable = o.import.variable_length;
  const Shape shape{o.import.levels, parse_codes(o.import.codes, o.import.levels, variable), variable};
  const sidbeam_builder_config config = builder_config(shape, o.build);
  sidbeam_plan plan = SIDBEAM_PLAN_INIT;
  call(sidbeam_plan_estimate, &config, o.items, &plan);
  report(o, shape, plan);
}

}  // namespace

void add_plan(Command program) {
  const auto o = std::make_shared<Options>();
  const Command command =
      program.add_subcommand("plan", "Tell how large an index would be, and what memory building it takes");
  const Option input =
      command.add_option("--input", o->import.input, "catalogue file, as for build: exact sizes").type_name("FILE");
  command.add_option("--items", o->items, "instead of a file: number of distinct SIDs, expected sizes")
      .between(1, int64_t{1} << 40)
      .excludes(input);
  add_import_options(command, o->import);
  add_build_options(command, o->build);
  for (const char* const option :
       {"--format", "--ids", "--item-column", "--sid-columns", "--priority-column", "--memory-limit"}) {
    command.option(option).needs(input);
  }
  add_json(command, o->json);
  command.footer(
      "Examples:\n"
      "  sidbeam plan --input Office_Products.index.json\n"
      "  sidbeam plan --items 100000000 --levels 8 --codes 2048 --kinds trie,sorted");
  command.callback([o] {
    if (o->items > 0) return estimate(*o);
    if (o->import.input.empty()) throw UsageError("expected --input FILE, or --items N with --levels and --codes");
    plan_catalogue(*o);
  });
}

}  // namespace cli
