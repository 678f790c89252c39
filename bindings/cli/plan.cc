// sidbeam plan: how large an index would be.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "abi.h"
#include "catalogue.h"
#include "commands.h"
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

struct Sizes {
  Plan plan;  // what info borrows from
  sidbeam_plan_info info;
  std::vector<sidbeam_section_info> sections;
};

Sizes read_sizes(sidbeam_plan* owned) {
  Sizes sizes{Plan(owned), SIDBEAM_PLAN_INFO_INIT, {}};
  call(sidbeam_plan_get_info, owned, &sizes.info);
  for (int64_t i = 0; i < sizes.info.section_count; ++i) {
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    call(sidbeam_plan_get_section, owned, i, &section);
    sizes.sections.push_back(section);
  }
  return sizes;
}

double bytes_per_item(const sidbeam_plan_info& plan) {
  return plan.items > 0 ? static_cast<double>(plan.file_bytes) / static_cast<double>(plan.items) : 0.0;
}

Json plan_json(const Shape& shape, const Sizes& sizes, int32_t kinds) {
  const sidbeam_plan_info& plan = sizes.info;
  std::vector<Json> sections;
  for (const sidbeam_section_info& section : sizes.sections) {
    sections.push_back({{"kind", section.kind},
                        {"level", section.level >= 0 ? Json(section.level) : Json(nullptr)},
                        {"encoding", section.encoding},
                        {"bytes", section.bytes}});
  }
  return Json{{"exact", plan.exact != 0},
              {"sids", plan.sids},
              {"items", plan.items},
              {"levels", shape.levels()},
              {"codes", shape.codes},
              {"kinds", kind_names(kinds)},
              {"file_bytes", plan.file_bytes},
              {"bytes_per_item", bytes_per_item(plan)},
              {"peak_bytes", plan.peak_bytes},
              {"nodes_per_level", std::vector<int64_t>(plan.nodes, plan.nodes + shape.levels())},
              {"sections", sections}};
}

int64_t bytes_of(const Sizes& sizes, const std::string& kind, int32_t level) {
  int64_t bytes = 0;
  for (const sidbeam_section_info& section : sizes.sections)
    if (section.kind == kind && section.level == level) bytes += section.bytes;
  return bytes;
}

// A line per level, a column per kind of section. Sections of no level follow in the list below.
std::string section_table(const Shape& shape, const Sizes& sizes) {
  Table table{1, {{"level", "prefixes"}}};
  std::vector<std::string> kinds;
  for (const sidbeam_section_info& section : sizes.sections) {
    if (section.level < 0 || std::find(kinds.begin(), kinds.end(), section.kind) != kinds.end()) continue;
    kinds.emplace_back(section.kind);
    table.rows[0].emplace_back(section.kind);
  }
  std::vector<int64_t> sums(kinds.size());
  for (int32_t level = 0; level < shape.levels(); ++level) {
    std::vector<std::string> line{std::to_string(level), with_commas(sizes.info.nodes[level])};
    for (size_t k = 0; k < kinds.size(); ++k) {
      const int64_t bytes = bytes_of(sizes, kinds[k], level);
      sums[k] += bytes;
      line.push_back(with_commas(bytes));
    }
    table.rows.push_back(line);
  }
  std::vector<std::string> total{"bytes", ""};
  for (const int64_t sum : sums) total.push_back(with_commas(sum));
  table.rows.push_back(total);
  return table.text();
}

std::string plan_table(const Shape& shape, const Sizes& sizes) {
  const sidbeam_plan_info& plan = sizes.info;
  Table table{2,
              {{"sizes", plan.exact != 0 ? "exact"
                                         : "expected for SIDs drawn uniformly; real SIDs share prefixes and need less"},
               {"codes per level", join(shape.codes)},
               {"SIDs", with_commas(plan.sids)},
               {"items", with_commas(plan.items)}}};
  for (const sidbeam_section_info& section : sizes.sections)
    if (section.level < 0) table.rows.push_back({section.kind, with_commas(section.bytes) + " bytes"});
  table.rows.push_back(
      {"file", with_commas(plan.file_bytes) + " bytes (" + fixed(bytes_per_item(plan), 1) + " per item)"});
  table.rows.push_back({"peak memory", with_commas(plan.peak_bytes) + " bytes while it is built"});
  return section_table(shape, sizes) + "\n" + table.text();
}

void report(const Options& o, const Shape& shape, const Sizes& sizes) {
  if (o.json) return print_json(plan_json(shape, sizes, parse_kinds(o.build.kinds)));
  print(plan_table(shape, sizes));
}

void plan_catalogue(const Options& o) {
  Progress progress;
  const Catalogue catalogue = load_catalogue(o.import, o.build, progress);
  sidbeam_plan* plan = nullptr;
  call(sidbeam_builder_plan, catalogue.builder.get(), &plan);
  const Sizes sizes = read_sizes(plan);
  progress.clear();
  report(o, catalogue.shape, sizes);
}

void estimate(const Options& o) {
  if (o.import.levels == 0) throw UsageError("--levels: expected with --items, the codes of a SID");
  if (o.import.codes.empty()) throw UsageError("--codes: expected with --items, V or V1,V2,..");
  const bool variable = o.import.variable_length;
  const Shape shape{parse_codes(o.import.codes, o.import.levels, variable), variable};
  const sidbeam_builder_config config = builder_config(shape, o.build);
  sidbeam_plan* plan = nullptr;
  call(sidbeam_plan_estimate, &config, o.items, &plan);
  report(o, shape, read_sizes(plan));
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
  for (const char* const option : {"--format", "--ids", "--item-column", "--sid-columns", "--priority-column",
                                   "--token-pattern", "--token-base", "--quotes", "--memory-limit"}) {
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
