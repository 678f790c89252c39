// sidbeam sample: draws SIDs from logits in a file, where one row per level serves every draw.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include "commands.h"
#include "items.h"
#include "json.h"
#include "search_input.h"

namespace cli {
namespace {

using Disc = std::unique_ptr<sidbeam_disc, Release<sidbeam_disc_destroy>>;

struct Options {
  SearchOptions search;
  int64_t draws = 0, seed = 0;
  double temperature = 1.0, top_p = 1.0;
  int32_t top_k = 0, disc = 0, rows = 1024;
  bool without_replacement = false;

  bool stochastic() const { return without_replacement && disc == 0; }
};

constexpr int64_t kMostResults = 1 << 20;  // of a sidbeam_disc

void check_usage(const Options& o) {
  if (!is_above_0(o.temperature) || !is_above_0(1.0 / o.temperature)) {
    throw UsageError("--temperature: expected a number above 0");
  }
  if (!(is_above_0(o.top_p) && o.top_p <= 1)) throw UsageError("--top-p: expected a number above 0 and at most 1");
  check_soft_cap(o.search);
  if (o.search.strategy == "sorted_topk" && o.top_k == 0) {
    throw UsageError("--strategy: sorted_topk is exact only with --top-k, expected that too");
  }
  if (o.disc > 0 && o.draws > kMostResults) {
    throw UsageError("--draws: expected at most " + std::to_string(kMostResults) + " with --disc");
  }
  if (!o.stochastic()) return;
  if (o.draws > SIDBEAM_MAX_BEAMS) {
    throw UsageError("--draws: expected at most " + std::to_string(SIDBEAM_MAX_BEAMS) +
                     " with --without-replacement, unless --disc is given");
  }
  if (o.top_k > 0 || o.top_p < 1 || o.search.strategy == "sorted_topk") {
    throw UsageError(
        "--without-replacement: goes with --top-k, --top-p and sorted_topk only if --disc is given: stochastic beams "
        "draw from the whole distribution");
  }
}

struct Draw {
  int64_t ordinal = -1;
  bool accepted = false;
  int64_t draws_used = 1, rows_run = 1;
  float log_x = -std::numeric_limits<float>::infinity(), log_p = -std::numeric_limits<float>::infinity();
};

// One request at a time, of as many rows as a session has.
class Sampler {
 public:
  Sampler(const Options& o, const SearchInput& input) : o_(o), input_(input) {
    const auto most = static_cast<int32_t>(std::min<int64_t>(o.disc > 0 ? o.draws * 2 * o.disc : o.draws, o.rows));
    width_ = o.stochastic() ? static_cast<int32_t>(o.draws) : most;
    const int64_t rows = std::min<int64_t>(1, input.logits.requests);
    row_.resize(static_cast<size_t>(rows * input.logits.columns * input.logits.array.item_bytes));
    ordinals_.resize(static_cast<size_t>(width_));
    sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
    config.beams = width_;
    config.mode = o.stochastic() ? SIDBEAM_MODE_STOCHASTIC : SIDBEAM_MODE_SAMPLE;
    config.top_k = o.search.strategy == "sorted_topk" ? o.top_k : 0;
    session_ = input.make_session(config);
  }

  bool bad_row() const { return bad_row_; }

  std::vector<Draw> sample(int64_t request) {
    bad_row_ = false;
    if (o_.disc > 0) return corrected(request);
    std::vector<Draw> draws;
    if (o_.stochastic()) {
      run(request, width_, nullptr);
      append(width_, draws);
      return draws;
    }
    std::vector<int64_t> numbers(static_cast<size_t>(width_));
    for (int64_t first = 0; first < o_.draws; first += width_) {
      const auto count = static_cast<int32_t>(std::min<int64_t>(width_, o_.draws - first));
      std::iota(numbers.begin(), numbers.end(), first);
      run(request, count, numbers.data());
      append(count, draws);
    }
    return draws;
  }

 private:
  // Runs `width` rows to their end; `numbers` are those of their draws.
  void run(int64_t request, int32_t width, const int64_t* numbers) {
    const float top_p = static_cast<float>(o_.top_p);
    sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
    sampling.seeds = &o_.seed;
    sampling.requests = &request;
    sampling.draws = numbers;
    if (!o_.stochastic()) {
      sampling.top_ks = &o_.top_k;
      sampling.top_ps = &top_p;
    }
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.widths = &width;
    start.sampling = &sampling;
    call(sidbeam_session_start, session_.get(), &start);
    for (int64_t level = 0; any_active(session_.get()); ++level) {
      input_.read_rows(request, 1, level, row_.data());
      input_.step(session_.get(), row_.data(), 1, width_, static_cast<float>(1.0 / o_.temperature));
    }
    sidbeam_items items = SIDBEAM_ITEMS_INIT;
    items.ordinals = ordinals_.data();
    call(sidbeam_session_get_items, session_.get(), nullptr, 0, &items);
    call(sidbeam_session_get_beams, session_.get(), &beams_);
    bad_row_ = bad_row_ || beams_.errors[0] != 0;
  }

  void append(int32_t count, std::vector<Draw>& draws) const {
    for (int32_t m = 0; m < count; ++m) {
      const bool live = ordinals_[static_cast<size_t>(m)] >= 0;
      if (!live && o_.stochastic()) return;  // there are no more SIDs
      const float log_x = beams_.log_masses[m];
      const float log_p = beams_.scores[m] + (o_.stochastic() ? log_x : 0.0F);
      draws.push_back({ordinals_[static_cast<size_t>(m)], live, 1, 1, log_x, log_p});
    }
  }

  std::vector<Draw> corrected(int64_t request) {
    sidbeam_disc_config config = SIDBEAM_DISC_CONFIG_INIT;
    config.results = static_cast<int32_t>(o_.draws);
    config.rounds = o_.disc;
    config.without_replacement = o_.without_replacement ? 1 : 0;
    config.seed = o_.seed;
    config.request = request;
    sidbeam_disc* made = nullptr;
    const Runtime runtime = make_runtime(1);
    call(sidbeam_disc_create, runtime.get(), &config, &made);
    const Disc disc(made);
    std::vector<int64_t> numbers(static_cast<size_t>(width_));
    for (int64_t count = 0;;) {
      call(sidbeam_disc_next, disc.get(), int64_t{width_}, numbers.data(), &count);
      if (count == 0) break;
      run(request, static_cast<int32_t>(count), numbers.data());
      sidbeam_disc_draws done = SIDBEAM_DISC_DRAWS_INIT;
      done.count = count;
      done.draws = numbers.data();
      done.ordinals = ordinals_.data();
      done.log_probs = beams_.scores;
      done.log_masses = beams_.log_masses;
      call(sidbeam_disc_add, disc.get(), &done);
    }
    return results_of(disc.get());
  }

  std::vector<Draw> results_of(const sidbeam_disc* disc) const {
    const auto n = static_cast<size_t>(o_.draws);
    std::vector<int64_t> ordinals(n), used(n), rows(n);
    std::vector<int32_t> accepted(n);
    std::vector<float> log_x(n), log_p(n);
    sidbeam_disc_results out = SIDBEAM_DISC_RESULTS_INIT;
    out.ordinals = ordinals.data();
    out.accepted = accepted.data();
    out.draws_used = used.data();
    out.rows_run = rows.data();
    out.log_probs = log_p.data();
    out.log_masses = log_x.data();
    call(sidbeam_disc_get, disc, &out);
    std::vector<Draw> draws;
    for (size_t i = 0; i < n; ++i)
      draws.push_back({ordinals[i], accepted[i] != 0, used[i], rows[i], log_x[i], log_p[i]});
    return draws;
  }

  const Options& o_;
  const SearchInput& input_;
  int32_t width_ = 0;
  std::vector<char> row_;  // [columns] of the level
  std::vector<int64_t> ordinals_;
  sidbeam_beams beams_ = SIDBEAM_BEAMS_INIT;
  Session session_;
  bool bad_row_ = false;  // of the request
};

std::vector<int32_t> codes_of(const SearchInput& input, int64_t ordinal) {
  return ordinal < 0 ? std::vector<int32_t>() : sid_of(input.index.get(), input.info.levels, ordinal);
}

Json request_json(const SearchInput& input, bool bad_row, const std::vector<Draw>& draws) {
  std::vector<int64_t> ordinals;
  for (const Draw& draw : draws) ordinals.push_back(draw.ordinal);
  const std::vector<std::vector<std::string>> items =
      items_of(input.index.get(), nullptr, input.info.id_type, ordinals, input.o.distinct);
  std::vector<Json> all;
  for (const Draw& draw : draws) {
    all.push_back({{"sid", codes_of(input, draw.ordinal)},
                   {"ordinal", draw.ordinal},
                   {"accepted", draw.accepted},
                   {"draws_used", draw.draws_used},
                   {"rows_run", draw.rows_run},
                   {"log_x", printable(draw.log_x)},
                   {"log_p", printable(draw.log_p)},
                   {"items", items[all.size()]}});
  }
  Json document{{"draws", all}};
  if (bad_row) document.add("error", "bad_row");
  return document;
}

// How often each SID was drawn, the most frequent first.
std::string request_table(const SearchInput& input, int64_t request, bool bad_row, const std::vector<Draw>& draws) {
  std::map<int64_t, int64_t> counts;
  std::map<int64_t, float> log_p;
  int64_t dead = 0, resampled = 0, used = 0, rows = 0;
  for (const Draw& draw : draws) {
    used += draw.draws_used;
    rows += draw.rows_run;
    dead += draw.ordinal < 0 ? 1 : 0;
    resampled += draw.ordinal >= 0 && !draw.accepted ? 1 : 0;
    if (draw.ordinal < 0) continue;
    ++counts[draw.ordinal];
    log_p[draw.ordinal] = draw.log_p;
  }
  std::vector<std::pair<int64_t, int64_t>> ranked(counts.begin(), counts.end());
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<int64_t> ordinals;
  for (const auto& [ordinal, count] : ranked) ordinals.push_back(ordinal);
  const std::vector<std::vector<std::string>> items =
      items_of(input.index.get(), nullptr, input.info.id_type, ordinals, input.o.distinct);
  constexpr size_t kLongest = 40;
  Table table{0, {{"count", "share", "log P", "ordinal", "SID", "items", ""}}};
  for (const auto& [ordinal, count] : ranked) {
    std::string shown;
    for (const std::string& item : items[table.rows.size() - 1]) shown += (shown.empty() ? "" : " ") + item;
    const auto bar = static_cast<size_t>(count * static_cast<int64_t>(kLongest) / ranked[0].second);
    table.rows.push_back({with_commas(count), fixed(static_cast<double>(count) / static_cast<double>(draws.size()), 4),
                          fixed(log_p[ordinal], 4), with_commas(ordinal), join(codes_of(input, ordinal)), shown,
                          std::string(bar, '#') + std::string(kLongest - bar, ' ')});
  }
  return "request " + std::to_string(request) + ": " + with_commas(static_cast<int64_t>(draws.size())) + " draws of " +
         with_commas(static_cast<int64_t>(ranked.size())) + " SIDs, " + with_commas(dead) + " dead, " +
         with_commas(resampled) + " resampled, " + with_commas(used) + " draws used, " + with_commas(rows) +
         " rows run" + (bad_row ? ", error bad_row" : "") + "\n" + (ranked.empty() ? "" : table.text());
}

void run(const Options& o) {
  check_usage(o);
  const SearchInput input(o.search);
  Sampler sampler(o, input);
  std::string out;
  for (int64_t request = 0; request < input.logits.requests; ++request) {
    const std::vector<Draw> draws = sampler.sample(request);
    if (request > 0) out += o.search.json ? "," : "\n";
    out += o.search.json ? request_json(input, sampler.bad_row(), draws).text()
                         : request_table(input, request, sampler.bad_row(), draws);
  }
  print(o.search.json ? "{\"requests\":[" + out + "]}\n" : out);
}

}  // namespace

void add_sample(Command program) {
  const auto o = std::make_shared<Options>();
  const Command command = program.add_subcommand("sample", "Draw SIDs by logits from a file: only valid ones come out");
  add_search_options(command, o->search, {"trie", "sorted", "sorted_topk"}, {"full", "level"});
  command
      .add_option("--draws", o->draws,
                  "N, results of a request: at most 2^20 with --disc, 4096 with --without-replacement alone")
      .required()
      .between(1, std::numeric_limits<int32_t>::max());
  command.add_option("--seed", o->seed, "S: the same seed draws the same").required();
  command.add_option("--temperature", o->temperature, "T: logits are divided by it").capture_default_str();
  command.add_option("--top-k", o->top_k, "keep the K largest logits of a row, before the mask")
      .between(1, SIDBEAM_MAX_CODES);
  command.add_option("--top-p", o->top_p, "then keep the fewest of them with this part of their probability")
      .capture_default_str();
  command.add_option("--disc", o->disc, "K: make draws exact by at most K rounds of DISC; default: plain draws")
      .between(1, 1024);
  command.add_flag("--without-replacement", o->without_replacement,
                   "different SIDs: stochastic beams, or with --disc draws that repeat are rejected");
  command.add_option("--rows", o->rows, "rows that run at a time, which changes nothing else")
      .between(1, SIDBEAM_MAX_BEAMS)
      .capture_default_str();
  command.footer(
      "A row with NaN or +inf kills the draws that read it, and gives 'error bad_row' for its request.\n"
      "Plain draws prefer prefixes that lead to few items; --disc 2 corrects most of that, see sampling.h and disc.h.\n"
      "Example:\n"
      "  sidbeam sample office.sidx --logits logits.npy --draws 1000 --seed 1 --disc 2");
  command.callback([o] { run(*o); });
}

}  // namespace cli
