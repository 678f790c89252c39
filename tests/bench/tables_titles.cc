// Sampling of titles, as in DISC-PPV's table 5: by trie, by the sorted columns, and by the paper's own forms.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/split_verification.h"
#include "decode_case.h"
#include "disc_run.h"
#include "mix.h"
#include "tables.h"
#include "titles.h"

namespace bench {
namespace {

constexpr int32_t kBeams = 70;

void table_five(Context& context, World& world, const DecodeCase& decode) {
  const bool quick = context.options.quick;
  const int32_t results = quick ? 5 : 1050;  // so many that the shares and rows of a cell are no noise
  Logits logits(Source::kHot, 1, decode.shape.beams, decode.shape.columns, decode.shape.levels);
  const std::unique_ptr<RowModel> model = make_learned_rows(world.catalogue(), decode.shape);
  TextTable table;
  table.row({"ms per result", "K=1", "K=2", "K=3", "K=4"});
  for (const int32_t top_k : {50, 100, 500, 1000}) {
    SidbeamMethod sampler(world.runtime(), world.constraint(SIDBEAM_KIND_SORTED), decode.shape,
                          SIDBEAM_STRATEGY_SORTED_TOPK, top_k, {SIDBEAM_MODE_SAMPLE, top_k, 1});
    std::vector<std::string> cells = {"M=" + std::to_string(top_k)};
    for (const int32_t rounds : {1, 2, 3, 4}) {
      const DiscFigures disc = run_disc(world.runtime(), sampler, *model, logits, results, rounds);
      Case where = where_of(world, decode);
      where.emplace_back("top-k", int64_t{top_k});
      where.emplace_back("K", int64_t{rounds});
      const double ms = disc.us * 1e-3 / results;
      const std::string of = "of " + std::to_string(results) + " results";
      context.json.add({"titles", where, "DISC", "ms per result", exactly(ms), of});
      context.json.add({"titles", where, "DISC", "rows per result", exactly(disc.rows / results), of});
      context.json.add({"titles", where, "DISC", "share accepted", exactly(disc.accepted / results), of});
      context.json.add({"titles", where, "DISC", "share dead", exactly(disc.dead / results), of});
      cells.push_back(figure(ms) + " (" + figure(disc.rows / results) + " rows, " + figure(disc.accepted / results) +
                      " accepted)");
    }
    table.row(cells);
  }
  table.print();
}

// A probe of one code after a prefix: those of a title, which are there, and the codes beside them, which rarely are.
// In pieces by length a probe that fails has searched all longer titles.
void probes(Context& context, World& world, const char* name, World::MakeValidity make) {
  const Catalogue& titles = world.catalogue();
  const Validity& validity = world.validity(make);
  double us[2] = {0, 0};
  int64_t count = 0, found = 0;
  for (int64_t i = 0; i < (context.options.quick ? 100 : 20000); ++i) {
    const auto title = static_cast<int64_t>(mix(static_cast<uint64_t>(i)) % static_cast<uint64_t>(titles.sids));
    const int32_t length = titles.length(title), *codes = titles.sid(title);
    Place place = validity.root();
    std::vector<Place> places;
    double begin = thread_microseconds();
    for (int32_t l = 0; l < length; ++l) {
      places.push_back(place);
      place = validity.find(place, l, codes[l]).value();
    }
    us[0] += thread_microseconds() - begin;
    begin = thread_microseconds();
    for (int32_t l = 0; l < length; ++l)
      found += validity.find(places[static_cast<size_t>(l)], l, (codes[l] + 1) % kTitleTokens).has_value() ? 1 : 0;
    us[1] += thread_microseconds() - begin;
    count += length;
  }
  const Case where = {{"N", titles.sids}, {"V", int64_t{kTitleTokens}}, {"L", int64_t{kLongestTitle}}};
  const auto each = static_cast<double>(count);
  std::printf("%s: %.0f ns per probe, %.0f ns of the code beside it (%.1f %% are there)\n", name, 1e3 * us[0] / each,
              1e3 * us[1] / each, 100 * static_cast<double>(found) / each);
  context.json.add({"titles", where, std::string(name) + ": found", "ns per probe", exactly(1e3 * us[0] / each), ""});
  context.json.add(
      {"titles", where, std::string(name) + ": not found", "ns per probe", exactly(1e3 * us[1] / each), ""});
}

void run_titles(Context& context, int64_t draws) {
  World world(draw_titles(draws));
  DecodeCase decode;
  decode.table = "titles";
  decode.methods = {"draws",
                    "draws_sorted",
                    "draws_top50",
                    "draws_sorted_top50",
                    "draws_sorted_top100",
                    "draws_sorted_top500",
                    "draws_sorted_top1000",
                    "draws_ppv_top50",
                    "draws_pieces_top50",
                    "draws_split_top50"};
  decode.shape = shape_of(world.catalogue(), 1, context.options.quick ? 6 : kBeams);
  decode.make_rows = make_learned_rows;
  decode.by_level = false;  // most of 64 have no draw left
  decode.thread_time = true;
  decode.more = {{"model", "learned"}};
  const std::map<std::string, StepTimes> us = run_decode(context, world, decode);
  for (const std::string& name : decode.methods) {
    if (!us.contains(name)) continue;
    const double draw = us.at(name).step * decode.shape.levels / decode.shape.beams;
    context.json.add({"titles", where_of(world, decode), name, "us per draw", exactly(draw), "of the median decode"});
    std::printf("%-22s %8.1f us per draw, %.2f of the paper's\n", name.c_str(), draw,
                us.at(name).step / us.at("draws_ppv_top50").step);
  }
  table_five(context, world, decode);
  probes(context, world, "padded rows", make_prefix_verification);
  probes(context, world, "padded pieces", make_pieces_verification);
  probes(context, world, "arrays by length", make_split_verification);
}

}  // namespace

void titles_table(Context& context) {
  std::vector<int64_t> sizes = context.options.sids;
  if (sizes.empty()) sizes = {context.options.quick ? 2000 : context.options.full ? 6000000 : 60000};
  for (const int64_t draws : sizes) run_titles(context, draws);
}

}  // namespace bench
