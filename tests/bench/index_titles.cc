// Table titles-index: an index of titles by kind, beside the arrays of DISC-PPV's paper.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <stdexcept>

#include "index_tables.h"
#include "titles.h"

namespace bench {
namespace {

constexpr double kMB = 1e6;
constexpr int32_t kDraws = 70;

struct TitlesKind {
  const char* name;
  int32_t kinds, strategy;
};
constexpr TitlesKind kKinds[] = {{"trie", SIDBEAM_KIND_TRIE, SIDBEAM_STRATEGY_TRIE},
                                 {"compact", SIDBEAM_KIND_TRIE | SIDBEAM_KIND_COMPACT_TRIE, SIDBEAM_STRATEGY_TRIE},
                                 {"sorted", SIDBEAM_KIND_SORTED, SIDBEAM_STRATEGY_SORTED}};

// Seconds of a build in memory, and its peak beside the titles; then the file is written.
std::vector<double> build(const Catalogue& titles, int32_t kinds, int threads, const std::string& path) {
  const Runtime runtime = runtime_of(threads);
  const double before = memory_of_this_process("VmRSS");
  Builder builder;
  const double seconds = seconds_of([&] {
    builder = fill_builder(runtime.get(), titles, kinds);
    make<Index>("builder_finish", sidbeam_builder_finish, builder.get());
  });
  const double peak = memory_of_this_process("VmHWM") - before;
  call("builder_write", sidbeam_builder_write, builder.get(), path.c_str());
  return {seconds, peak / kMB};
}

Session make_session(sidbeam_runtime* runtime, sidbeam_constraint* constraint, int32_t strategy) {
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  const std::vector<int64_t> offsets(kLongestTitle, 0);
  vocabulary.levels = kLongestTitle;
  vocabulary.offsets = offsets.data();
  vocabulary.end_column = kTitleTokens;
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.beams = kDraws;
  config.strategy = strategy;
  config.constraint = constraint;
  config.vocabulary = &vocabulary;
  config.mode = SIDBEAM_MODE_SAMPLE;
  return make<Session>("session_create", sidbeam_session_create, runtime, &config);
}

// Draws titles from one row of logits, request after request.
void draw_titles_of(const Session& session, int64_t requests) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<float> row(kTitleTokens + 1);
  for (float& x : row) x = normal(random);
  sidbeam_rows rows = sidbeam_rows_dense(row.data(), SIDBEAM_DTYPE_F32, 1, kDraws, std::ssize(row));
  rows.row_stride = SIDBEAM_BROADCAST;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.rows = &rows;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  call("get_beams", sidbeam_session_get_beams, session.get(), &beams);
  const int64_t seed = 1;
  for (int64_t request = 0; request < requests; ++request) {
    sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
    sampling.seeds = &seed;
    sampling.requests = &request;
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.sampling = &sampling;
    call("start", sidbeam_session_start, session.get(), &start);
    while (beams.active[0] > 0) call("step", sidbeam_session_step, session.get(), &step);
  }
}

// Megabytes of a mapped file that draws bring into memory.
double touched(const Index& index, sidbeam_runtime* runtime, int32_t strategy, int64_t requests) {
  const Constraint constraint = constrain(index.get());
  const Session session = make_session(runtime, constraint.get(), strategy);
  const double before = memory_of_this_process("RssFile");
  draw_titles_of(session, requests);
  return (memory_of_this_process("RssFile") - before) / kMB;
}

class Report {
 public:
  Report(Measurements& out, const Catalogue& titles)
      : out_(out), where_({{"N", titles.sids}, {"V", int64_t{kTitleTokens}}, {"L", int64_t{kLongestTitle}}}) {}
  void add(const std::string& name, const char* unit, const Statistics& value, const std::string& note = "") {
    out_.push_back({"titles-index", where_, name, unit, value, note});
  }

 private:
  Measurements& out_;
  Case where_;
};

void add_sections(Report& report, const std::string& kind, const sidbeam_index* index) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  call("index_get_info", sidbeam_index_get_info, index, &info);
  std::map<std::string, double> bytes;
  for (int64_t i = 0; i < info.section_count; ++i) {
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    call("index_get_section", sidbeam_index_get_section, index, i, &section);
    bytes[section.kind] += static_cast<double>(section.bytes);
  }
  for (const auto& [section, size] : bytes) report.add(kind + ": section " + section, "MB", exactly(size / kMB));
  report.add(kind + ": file", "MB", exactly(static_cast<double>(info.file_bytes) / kMB));
}

void add_kind(Report& report, const Settings& settings, const Catalogue& titles, const TitlesKind& kind) {
  const std::string path = settings.files->scratch(), name = kind.name;
  const std::vector<double> built = in_child([&] { return build(titles, kind.kinds, settings.threads, path); });
  report.add(name + ": build", "s", exactly(built.at(0)), "from rows in memory to an index in memory");
  report.add(name + ": peak memory", "MB", exactly(built.at(1)), "without the rows");
  const Runtime runtime = runtime_of(1);
  std::vector<double> open;
  Index index;
  for (int run = 0; run < (settings.quick ? 3 : 100); ++run) {
    const sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
    index.reset();
    open.push_back(1e3 * seconds_of([&] {
                     index = make<Index>("index_open", sidbeam_index_open, runtime.get(), path.c_str(), &config);
                   }));
  }
  report.add(name + ": open, verify=header", "ms", summarise(open));
  add_sections(report, name, index.get());
  report.add(name + ": touched by 700 draws", "MB",
             exactly(touched(index, runtime.get(), kind.strategy, settings.quick ? 1 : 10)), "of the mapped file");
  index.reset();
  std::filesystem::remove(path);
}

}  // namespace

Measurements titles_table(const Settings& settings) {
  Measurements out;
  const Catalogue titles = draw_titles(settings.quick ? 2000 : settings.full ? 6000000 : 60000);
  int64_t tokens = 0, shared = 0, pieces = 0;
  for (int64_t i = 0; i < titles.sids; ++i) {
    const int32_t length = titles.length(i), *title = titles.sid(i);
    tokens += length;
    pieces += *std::lower_bound(std::begin(kTitlePieces), std::end(kTitlePieces), length);
    if (i > 0) shared += std::mismatch(title, title + length, titles.sid(i - 1)).first - title;
  }
  const double mean = static_cast<double>(tokens) / static_cast<double>(titles.sids);
  if (!(mean > 7.2 && mean < 8.2)) throw std::runtime_error("titles have " + figure(mean) + " tokens, expected 7.7");
  Report report(out, titles);
  const auto count = static_cast<double>(titles.sids);
  report.add("titles: tokens", "tokens per title", exactly(mean));
  report.add("titles: shared", "tokens per title", exactly(static_cast<double>(shared) / count),
             "with the title before it");
  report.add("padded rows", "MB", exactly(count * kLongestTitle * 4 / kMB), "one array of all titles");
  report.add("padded pieces", "MB", exactly(static_cast<double>(pieces) * 4 / kMB), "of titles to 8, 16, 32, 64");
  report.add("arrays by length", "MB", exactly(static_cast<double>(tokens) * 4 / kMB), "one for each");
  for (const TitlesKind& kind : kKinds) add_kind(report, settings, titles, kind);
  return out;
}

}  // namespace bench
