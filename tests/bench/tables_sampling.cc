// Sampling: the step of a draw, draws per second, and how near results are to the exact law in what time.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "decode_case.h"
#include "disc_run.h"
#include "laws.h"
#include "mix.h"
#include "tables.h"

namespace bench {
namespace {

constexpr int32_t kBeams = 70;

World usual_world(bool quick, int32_t levels) {
  return World(draw_catalogue(Skew::kUniform, quick ? 3000 : 1000000, quick ? 4 : levels, quick ? 64 : 2048));
}

void print_ratio(Context& context, const Case& where, const std::map<std::string, StepTimes>& us, const char* name,
                 const char* to) {
  const double ratio = us.at(name).mean() / us.at(to).mean();
  std::printf("%s over %s: %.3f\n", name, to, ratio);
  context.json.add({"draws", where, std::string(name) + " over " + to, "ratio", exactly(ratio),
                    "of the means of the levels' medians"});
}

// Rows as they were drawn.
void broad_rows(Context& context, World& world, DecodeCase decode) {
  decode.methods = {"trie",       "draws", "sorted",     "draws_sorted",    "none",
                    "draws_none", "valid", "stochastic", "stochastic_mass", "philox"};
  decode.more = {{"model", "none"}};
  const std::map<std::string, StepTimes> us = run_decode(context, world, decode);
  const Case where = where_of(world, decode);
  print_ratio(context, where, us, "draws", "trie");
  print_ratio(context, where, us, "draws_sorted", "sorted");
  print_ratio(context, where, us, "draws_sorted", "draws");
  print_ratio(context, where, us, "draws_none", "none");
  print_ratio(context, where, us, "stochastic", "valid");
  print_ratio(context, where, us, "philox", "draws");
}

// The same rows at another temperature, and in half the bytes.
void warm_and_half_rows(Context& context, World& world, DecodeCase decode) {
  decode.methods = {"trie", "draws", "trie_warm", "draws_warm"};
  decode.thread_time = true;
  for (const int32_t dtype : {SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_BF16}) {
    decode.shape.dtype = dtype;
    decode.more = {{"model", "none"}, {"dtype", dtype == SIDBEAM_DTYPE_F32 ? "f32" : "bf16"}};
    const std::map<std::string, StepTimes> us = run_decode(context, world, decode);
    print_ratio(context, where_of(world, decode), us, "draws", "trie");
    print_ratio(context, where_of(world, decode), us, "draws_warm", "trie_warm");
  }
}

// The same rows truncated: without a mask no draw dies, and nothing has peaked them.
void broad_truncated_rows(Context& context, World& world, DecodeCase decode) {
  decode.methods = {"draws_none", "draws_none_top50", "draws_none_p95"};
  decode.thread_time = true;
  decode.more = {{"model", "none"}};
  const std::map<std::string, StepTimes> us = run_decode(context, world, decode);
  print_ratio(context, where_of(world, decode), us, "draws_none_top50", "draws_none");
  print_ratio(context, where_of(world, decode), us, "draws_none_p95", "draws_none");
}

// A model that knows the catalogue, under which truncated draws live on.
void learned_rows(Context& context, World& world, DecodeCase decode) {
  decode.methods = {"trie", "draws", "draws_top50", "draws_p95", "sorted", "draws_sorted", "draws_sorted_top50"};
  decode.make_rows = make_learned_rows;
  decode.thread_time = true;
  decode.more = {{"model", "learned"}};
  const std::map<std::string, StepTimes> us = run_decode(context, world, decode);
  for (const char* name : {"draws", "draws_top50", "draws_p95", "draws_sorted", "draws_sorted_top50"})
    print_ratio(context, where_of(world, decode), us, name, "trie");
  print_ratio(context, where_of(world, decode), us, "draws_sorted", "sorted");
}

double per_draw(const Shape& shape, double us_per_step) {
  return us_per_step * shape.levels / (shape.slots * shape.beams);
}

// [K] results per second, in turns.
void disc_rounds(Context& context, World& world, const DecodeCase& decode, int32_t results, double plain_us) {
  Shape shape = decode.shape;
  shape.beams *= shape.slots, shape.slots = 1;
  SidbeamMethod sampler(world.runtime(), world.constraint(SIDBEAM_KIND_TRIE), shape, SIDBEAM_STRATEGY_TRIE, 0,
                        {SIDBEAM_MODE_SAMPLE, 0, 1});
  Logits logits(Source::kHot, 1, shape.beams, shape.columns, shape.levels);
  const std::unique_ptr<RowModel> model = decode.make_rows(world.catalogue(), shape);
  std::map<int32_t, std::vector<double>> rates;
  std::map<int32_t, DiscFigures> last;
  for (int run = 0; run < (context.options.quick ? 1 : 7); ++run) {
    for (const int32_t rounds : {1, 2, 4}) {
      last[rounds] = run_disc(world.runtime(), sampler, *model, logits, results, rounds);
      rates[rounds].push_back(results / last[rounds].us * 1e6);
    }
  }
  TextTable table;
  table.row({"DISC", "results/s", "p10", "p90", "rows per result", "draws counted", "accepted", "us over its rows"});
  for (const auto& [rounds, all] : rates) {
    const Statistics rate = summarise(all);
    const DiscFigures& disc = last.at(rounds);
    Case where = where_of(world, decode);
    where.emplace_back("K", int64_t{rounds});
    context.json.add({decode.table, where, "DISC", "results/s", rate, ""});
    context.json.add({decode.table, where, "DISC", "rows per result", exactly(disc.rows / results), ""});
    context.json.add(
        {decode.table, where, "DISC", "draws per result", exactly(disc.draws / results), "as the paper counts"});
    context.json.add({decode.table, where, "DISC", "share accepted", exactly(disc.accepted / results), ""});
    table.row({"K=" + std::to_string(rounds), figure(rate.median), figure(rate.p10), figure(rate.p90),
               figure(disc.rows / results), figure(disc.draws / results), figure(disc.accepted / results),
               figure(1e6 / rate.median / (plain_us * disc.rows / results))});
  }
  table.print();
}

// A small catalogue in rows of usual width, whose laws can be enumerated.
Catalogue small_catalogue() {
  Catalogue catalogue = draw_catalogue(Skew::kUniform, 60, 4, 4);
  catalogue.name = "small";
  catalogue.codes = 2048;
  return catalogue;
}

// Its model's rows are of the prefix alone, with a valid mass between 0.3 and 1.
class SmallModel final : public RowModel {
 public:
  SmallModel(const Catalogue& catalogue, const Shape& shape) : RowModel(catalogue, shape) {}

  static std::vector<float> row_of(const Catalogue& catalogue, int32_t level, int64_t low, int64_t high) {
    const uint64_t node = mix(static_cast<uint64_t>(low) * 64 + static_cast<uint64_t>(level));
    const auto uniform = [&](uint64_t i) { return static_cast<double>(mix(node + i) >> 11) * 0x1p-53; };
    std::vector<float> row(static_cast<size_t>(catalogue.codes));
    std::vector<bool> is_valid(row.size());
    for (int64_t i = low; i < high; ++i) is_valid[static_cast<size_t>(catalogue.sid(i)[level])] = true;
    double sums[2] = {0, 0};
    for (size_t t = 0; t < row.size(); ++t) {
      row[t] = static_cast<float>(6 * (uniform(t) - 0.5));
      sums[is_valid[t]] += std::exp(static_cast<double>(row[t]));
    }
    const double mass = 0.3 + 0.7 * uniform(row.size());
    const auto by = static_cast<float>(std::log(mass / (1 - mass) * sums[0] / sums[1]));
    for (size_t t = 0; t < row.size(); ++t)
      if (is_valid[t]) row[t] += by;
    return row;
  }

 private:
  void write(float* row, int32_t level, const Range& range) override {
    std::vector<float>& known = rows_[{level, range.low}];
    if (known.empty()) known = row_of(catalogue_, level, range.low, range.high);
    std::copy(known.begin(), known.end(), row);
  }

  std::map<std::pair<int32_t, int64_t>, std::vector<float>> rows_;
};

oracle::Laws laws_of(const Catalogue& catalogue) {
  oracle::Model model;
  std::vector<oracle::Pair> pairs;
  for (int64_t i = 0; i < catalogue.sids; ++i)
    pairs.push_back({oracle::Sid(catalogue.sid(i), catalogue.sid(i) + catalogue.levels), i, 0});
  const auto levels = static_cast<size_t>(catalogue.levels);
  model.catalogue = oracle::make_catalogue(std::vector<int>(levels, catalogue.codes), false, pairs);
  std::vector<int> columns(static_cast<size_t>(catalogue.codes));
  for (size_t t = 0; t < columns.size(); ++t) columns[t] = static_cast<int>(t);
  model.rules.columns.assign(levels, columns);
  model.row_of = [&](const oracle::Sid& prefix) {
    int64_t low = 0, high = catalogue.sids;
    const auto begins = [&](int64_t i) { return std::equal(prefix.begin(), prefix.end(), catalogue.sid(i)); };
    while (!begins(low)) ++low;
    while (!begins(high - 1)) --high;
    return SmallModel::row_of(catalogue, static_cast<int32_t>(prefix.size()), low, high);
  };
  return oracle::enumerate(oracle::make_sampler(model));
}

// Where a method stands: the time of a result, and how far its law is from the exact one.
void add_point(Context& context, TextTable& table, Case where, const std::string& name, int64_t rounds,
               const Statistics& us, double kl) {
  if (rounds > 0) where.emplace_back("K", rounds);
  context.json.add({"quality", where, name, "us per result", us, ""});
  context.json.add({"quality", where, name, "nats", exactly(kl), "KL of the exact law from its own, by enumeration"});
  table.row({name + (rounds > 0 ? ", K=" + std::to_string(rounds) : ""), figure(us.median), figure(kl)});
}

}  // namespace

void draws_table(Context& context) {
  for (const int32_t levels : {4, 8}) {
    World world = usual_world(context.options.quick, levels);
    DecodeCase decode;
    decode.table = "draws";
    decode.shape = shape_of(world.catalogue(), 2, context.options.quick ? 10 : kBeams);
    broad_rows(context, world, decode);
    warm_and_half_rows(context, world, decode);
    broad_truncated_rows(context, world, decode);
    learned_rows(context, world, decode);
    if (context.options.quick) return;
  }
}

void disc_table(Context& context) {
  World world = usual_world(context.options.quick, 8);
  DecodeCase decode;
  decode.table = "disc";
  decode.methods = {"draws", "draws_sorted", "draws_pointer_trie", "draws_dfa", "draws_ppv"};
  decode.shape = shape_of(world.catalogue(), 2, context.options.quick ? 10 : kBeams);
  decode.make_rows = make_learned_rows;
  decode.thread_time = true;
  const std::map<std::string, StepTimes> us = run_decode(context, world, decode);
  for (const auto& [name, step] : us) {
    const double rate = 1e6 / per_draw(decode.shape, step.mean());
    context.json.add({"disc", where_of(world, decode), name, "draws/s", exactly(rate), "of the levels' medians"});
    std::printf("%s: %.0f draws/s\n", name.c_str(), rate);
  }
  disc_rounds(context, world, decode, context.options.quick ? 20 : 1400, per_draw(decode.shape, us.at("draws").mean()));
}

void quality_table(Context& context) {
  World world(small_catalogue());
  DecodeCase decode;
  decode.table = "quality";
  decode.methods = {"draws", "draws_none", "draws_pointer_trie", "draws_dfa", "draws_ppv"};
  decode.shape = shape_of(world.catalogue(), 2, context.options.quick ? 10 : kBeams);
  decode.make_rows = [](const Catalogue& catalogue, const Shape& shape) -> std::unique_ptr<RowModel> {
    return std::make_unique<SmallModel>(catalogue, shape);
  };
  decode.thread_time = true;
  const std::map<std::string, StepTimes> us = run_decode(context, world, decode);
  const oracle::Laws laws = laws_of(world.catalogue());
  const oracle::Law exact = oracle::exact_law(laws);
  const double mass = oracle::mass_of(laws);
  std::printf("P of the catalogue: %.4f\n", mass);
  context.json.add({"quality", where_of(world, decode), "catalogue", "probability", exactly(mass), "by enumeration"});
  TextTable table;
  table.row({"quality", "us per result", "KL, nats"});
  const auto point = [&](const char* label, const char* method, double draws, double kl) {
    const double result = draws * per_draw(decode.shape, us.at(method).mean());
    add_point(context, table, where_of(world, decode), label, 0, exactly(result), kl);
  };
  point("vanilla, rejected until valid", "draws_none", 1 / mass, 0);
  const double plain = oracle::kl(exact, laws.plain);
  point("plain", "draws", 1, plain);
  point("plain, the paper's CPU trie", "draws_pointer_trie", 1, plain);
  point("plain, DFA mask", "draws_dfa", 1, plain);
  point("plain, exact PPV", "draws_ppv", 1, plain);
  Shape shape = decode.shape;
  shape.beams *= shape.slots, shape.slots = 1;
  SidbeamMethod sampler(world.runtime(), world.constraint(SIDBEAM_KIND_TRIE), shape, SIDBEAM_STRATEGY_TRIE, 0,
                        {SIDBEAM_MODE_SAMPLE, 0, 1});
  Logits logits(Source::kHot, 1, shape.beams, shape.columns, shape.levels);
  SmallModel model(world.catalogue(), shape);
  const int32_t results = context.options.quick ? 20 : 1400;
  for (const int32_t rounds : {1, 2, 4}) {
    std::vector<double> times;
    for (int run = 0; run < (context.options.quick ? 1 : 7); ++run)
      times.push_back(run_disc(world.runtime(), sampler, model, logits, results, rounds).us / results);
    const oracle::Law law = oracle::disc_law(laws.plain, laws.x, laws.dead, rounds).law;
    add_point(context, table, where_of(world, decode), "DISC", rounds, summarise(times), oracle::kl(exact, law));
  }
  table.print();
}

}  // namespace bench
