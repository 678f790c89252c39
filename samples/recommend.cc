// The main job, as a host does it: index a catalogue, then for each request feed the logits of every live beam to a
// session, level by level, and take the items. It runs twice, constrained (trie) and unconstrained (none), and
// compares.
//
//   recommend [PATH] [--queries N] [--beams M] [--made-up]
//
// PATH is a file *.index.json, or a folder that has one (see recommend/dataset.h). Without it the sample looks in
// $SIDBEAM_DATA/minionerec, then in ../shared/data/minionerec; if neither is there, or with --made-up, it makes a
// catalogue and histories itself. The model is a small one of counts (recommend/model.h) where a real host has a neural
// network.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/sidbeam.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "recommend/dataset.h"
#include "recommend/model.h"

namespace {

using namespace recommend;
using Clock = std::chrono::steady_clock;

constexpr int32_t kSlots = 8;
constexpr int32_t kRecallAt = 10;

template <auto Release>
struct Releaser {
  template <class T>
  void operator()(T* handle) const {
    Release(handle);
  }
};
using Runtime = std::unique_ptr<sidbeam_runtime, Releaser<sidbeam_runtime_release>>;
using Builder = std::unique_ptr<sidbeam_builder, Releaser<sidbeam_builder_destroy>>;
using Index = std::unique_ptr<sidbeam_index, Releaser<sidbeam_index_release>>;
using Constraint = std::unique_ptr<sidbeam_constraint, Releaser<sidbeam_constraint_release>>;
using Session = std::unique_ptr<sidbeam_session, Releaser<sidbeam_session_destroy>>;

sidbeam_error err = SIDBEAM_ERROR_INIT;

void check(sidbeam_status status) {
  if (status != SIDBEAM_OK) throw std::runtime_error(std::string(sidbeam_status_name(status)) + ": " + err.message);
}

Runtime make_runtime() {
  sidbeam_runtime* runtime;
  check(sidbeam_runtime_create(nullptr, &runtime, &err));
  return Runtime(runtime);
}

Index build_index(sidbeam_runtime* runtime, const Dataset& data) {
  std::vector<int32_t> codes;
  std::vector<int64_t> ids;
  for (const Item& item : data.items) {
    codes.insert(codes.end(), item.sid.begin(), item.sid.end());
    ids.push_back(item.id);
  }
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = data.levels;
  config.codes = data.codes.data();
  sidbeam_builder* raw_builder;
  check(sidbeam_builder_create(runtime, &config, &raw_builder, &err));
  const Builder builder(raw_builder);
  check(sidbeam_builder_add(builder.get(), codes.data(), nullptr, static_cast<int64_t>(ids.size()), ids.data(), nullptr,
                            &err));
  sidbeam_index* index;
  check(sidbeam_builder_finish(builder.get(), &index, &err));
  return Index(index);
}

Session make_session(sidbeam_runtime* runtime, sidbeam_index* index, int32_t strategy, int32_t beams) {
  sidbeam_constraint_config items = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  items.index = index;
  sidbeam_constraint* raw_constraint;
  check(sidbeam_constraint_create(&items, &raw_constraint, &err));
  const Constraint constraint(raw_constraint);  // the session holds its own reference
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = kSlots;
  config.beams = beams;
  config.strategy = strategy;
  config.constraint = constraint.get();
  sidbeam_session* session;
  check(sidbeam_session_create(runtime, &config, &session, &err));
  return Session(session);
}

// One request's answer, best first.
struct Answer {
  std::vector<Sid> sids;
  std::vector<bool> exists;    // of each SID
  std::vector<int64_t> items;  // ids of the items of those that exist
};

struct Host {
  const Model& model;
  sidbeam_index* index;
  sidbeam_session* session;
  sidbeam_beams beams;            // views of the session's arrays
  std::vector<float> logits;      // [S, M, columns]
  std::vector<int32_t> prefixes;  // [S, M, L] codes of each beam, as a model's KV cache would hold them
  std::vector<double> step_us;    // time of each step
};

Host make_host(const Model& model, sidbeam_index* index, sidbeam_session* session) {
  Host host{model, index, session, SIDBEAM_BEAMS_INIT, {}, {}, {}};
  check(sidbeam_session_get_beams(session, &host.beams, &err));
  const auto rows = static_cast<size_t>(host.beams.slots) * static_cast<size_t>(host.beams.beams);
  host.logits.resize(rows * static_cast<size_t>(model.columns));
  host.prefixes.resize(rows * static_cast<size_t>(host.beams.levels));
  return host;
}

int32_t* prefix_of(Host& host, size_t slot, size_t beam) {
  return &host.prefixes[(slot * static_cast<size_t>(host.beams.beams) + beam) * static_cast<size_t>(host.beams.levels)];
}

// "Forward pass": logits for the live beams, and only those. Here all slots are at the same level; they need not be.
void run_model(Host& host, const std::vector<Weights>& weights) {
  for (size_t slot = 0; slot < weights.size(); slot++) {
    const int32_t fed = host.beams.active[slot];
    for (size_t beam = 0; beam < static_cast<size_t>(fed); beam++) {
      const size_t row = slot * static_cast<size_t>(host.beams.beams) + beam;
      recommend::logits(host.model, weights[slot], prefix_of(host, slot, beam), host.beams.level[slot],
                        &host.logits[row * static_cast<size_t>(host.model.columns)]);
    }
  }
}

void step(Host& host, const std::vector<int32_t>& slots) {
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  rows.data = host.logits.data();
  rows.slots = static_cast<int64_t>(slots.size());
  rows.rows = host.beams.beams;
  rows.columns = host.model.columns;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.slots = slots.data();
  args.count = rows.slots;
  args.rows = &rows;
  const Clock::time_point before = Clock::now();
  check(sidbeam_session_step(host.session, &args, &err));
  host.step_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
}

// Beams moved: beam m now continues what was beam parents[m]. A model reorders its KV cache in the same way.
void follow_parents(Host& host, const std::vector<int32_t>& slots) {
  const auto width = static_cast<size_t>(host.beams.beams), levels = static_cast<size_t>(host.beams.levels);
  const std::vector<int32_t> before = host.prefixes;
  for (const int32_t slot : slots) {
    const size_t base = static_cast<size_t>(slot) * width;
    for (size_t m = 0; m < static_cast<size_t>(host.beams.live[slot]); m++) {
      const auto parent = static_cast<size_t>(host.beams.parents[base + m]);
      int32_t* prefix = prefix_of(host, static_cast<size_t>(slot), m);
      std::copy_n(&before[(base + parent) * levels], levels, prefix);
      prefix[host.beams.level[slot] - 1] = host.beams.codes[base + m];
    }
  }
}

std::vector<Answer> take_answers(Host& host, const std::vector<int32_t>& slots) {
  const auto width = static_cast<size_t>(host.beams.beams), levels = static_cast<size_t>(host.beams.levels);
  const size_t limit = 4 * width;  // item rows of a request
  std::vector<int64_t> ordinals(slots.size() * width), item_rows(slots.size() * limit);
  std::vector<int64_t> offsets(slots.size() * (width + 1));
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit = static_cast<int64_t>(limit);
  items.ordinals = ordinals.data();
  items.item_rows = item_rows.data();
  items.offsets = offsets.data();
  check(sidbeam_session_get_items(host.session, slots.data(), static_cast<int64_t>(slots.size()), &items, &err));
  std::vector<Answer> answers(slots.size());
  for (size_t i = 0; i < slots.size(); i++) {
    for (size_t m = 0; m < static_cast<size_t>(host.beams.live[slots[i]]); m++) {
      const int32_t* prefix = prefix_of(host, static_cast<size_t>(slots[i]), m);
      answers[i].sids.emplace_back(prefix, prefix + levels);
      answers[i].exists.push_back(ordinals[i * width + m] >= 0);
    }
    for (int64_t r = 0; r < offsets[i * (width + 1) + width]; r++) {
      int64_t id, bytes;
      const char* name;
      const int64_t item_row = item_rows[i * limit + static_cast<size_t>(r)];
      check(sidbeam_index_item_id(host.index, item_row, &id, &name, &bytes, &err));
      answers[i].items.push_back(id);
    }
  }
  return answers;
}

// A batch of requests from start to items.
std::vector<Answer> answer(Host& host, const Query* queries, size_t count) {
  std::vector<int32_t> slots(count);
  std::vector<Weights> weights(count);
  for (size_t i = 0; i < count; i++) {
    slots[i] = static_cast<int32_t>(i);
    weights[i] = weigh(host.model, queries[i].history);
  }
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.slots = slots.data();
  start.count = static_cast<int64_t>(count);
  check(sidbeam_session_start(host.session, &start, &err));
  while (host.beams.active[0] > 0) {  // all SIDs have one length, so all slots end together
    run_model(host, weights);
    step(host, slots);
    follow_parents(host, slots);
  }
  return take_answers(host, slots);
}

struct Report {
  size_t returned = 0, existing = 0, hits = 0, queries = 0;
  double seconds = 0, step_us = 0;
  std::vector<Answer> first;  // answers to the first queries
};

void count(const Sid& target, const Answer& answer, Report& report) {
  report.queries++;
  report.returned += answer.sids.size();
  report.existing += static_cast<size_t>(std::count(answer.exists.begin(), answer.exists.end(), true));
  const auto top = answer.sids.begin() + std::min(std::ssize(answer.sids), ptrdiff_t{kRecallAt});
  report.hits += std::find(answer.sids.begin(), top, target) != top;
}

Report run(const Model& model, sidbeam_runtime* runtime, sidbeam_index* index, int32_t strategy, int32_t beams,
           size_t queries) {
  const Session session = make_session(runtime, index, strategy, beams);
  Host host = make_host(model, index, session.get());
  const std::vector<Query>& test = model.data->test;
  Report report;
  const Clock::time_point begin = Clock::now();
  for (size_t from = 0; from < queries; from += kSlots) {
    const size_t size = std::min<size_t>(kSlots, queries - from);
    std::vector<Answer> answers = answer(host, &test[from], size);
    for (size_t i = 0; i < size; i++)
      count(model.data->sids[static_cast<size_t>(test[from + i].target)], answers[i], report);
    if (from == 0) report.first = std::move(answers);
  }
  report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto middle = host.step_us.begin() + static_cast<ptrdiff_t>(host.step_us.size() / 2);
  std::nth_element(host.step_us.begin(), middle, host.step_us.end());
  report.step_us = *middle;
  return report;
}

void print(const char* strategy, const Report& report) {
  const auto share = [](size_t part, size_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  std::printf("%-8s  %18.1f %%  %9.4f  %9.0f  %15.1f\n", strategy, 100 * share(report.existing, report.returned),
              share(report.hits, report.queries), static_cast<double>(report.queries) / report.seconds, report.step_us);
}

// A title that fits on a line, not cut within a character of several bytes.
std::string line_of(const Item& item) {
  size_t end = std::min<size_t>(90, item.title.size());
  while (end > 0 && end < item.title.size() && (item.title[end] & 0xC0) == 0x80) end--;
  return item.title.substr(0, end);
}

void print_recommendation(const Dataset& data, const Query& query, const Answer& answer) {
  std::printf("\nuser %s, who took last\n", query.user.c_str());
  const size_t shown = std::min<size_t>(3, query.history.size());
  for (size_t h = query.history.size() - shown; h < query.history.size(); h++) {
    const Sid& sid = data.sids[static_cast<size_t>(query.history[h])];
    const auto item = std::find_if(data.items.begin(), data.items.end(), [&](const Item& i) { return i.sid == sid; });
    std::printf("      %s\n", line_of(*item).c_str());
  }
  std::printf("  is recommended (* what was taken next)\n");
  for (size_t r = 0; r < std::min<size_t>(5, answer.items.size()); r++) {
    const auto item =
        std::find_if(data.items.begin(), data.items.end(), [&](const Item& i) { return i.id == answer.items[r]; });
    const bool taken = item->sid == data.sids[static_cast<size_t>(query.target)];
    std::printf("    %c %s\n", taken ? '*' : ' ', line_of(*item).c_str());
  }
}

// The first three users of the first batch.
void print_recommendations(const Dataset& data, const Report& report) {
  int left = 3;
  for (size_t i = 0; i < report.first.size() && left > 0; i++) {
    if (i > 0 && data.test[i].user == data.test[i - 1].user) continue;
    print_recommendation(data, data.test[i], report.first[i]);
    left--;
  }
}

struct Options {
  std::string path;
  size_t queries = SIZE_MAX;
  int32_t beams = 50;
  bool made_up = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i++) {
    const std::string_view argument = argv[i];
    if (argument == "--made-up")
      options.made_up = true;
    else if (argument == "--queries" && i + 1 < argc)
      options.queries = static_cast<size_t>(std::max(1, std::atoi(argv[++i])));
    else if (argument == "--beams" && i + 1 < argc)
      options.beams = std::atoi(argv[++i]);
    else if (!argument.starts_with("-") && options.path.empty())
      options.path = argument;
    else
      throw std::invalid_argument("usage: recommend [PATH] [--queries N] [--beams M] [--made-up]");
  }
  return options;
}

Dataset load(const Options& options) {
  std::string path = options.path;
  if (path.empty()) {
    const char* folder = std::getenv("SIDBEAM_DATA");
    path = std::string(folder != nullptr ? folder : "../shared/data") + "/minionerec";
    if (!std::filesystem::exists(path)) path.clear();
  }
  return path.empty() || options.made_up ? make_dataset() : read_dataset(path);
}

void recommend_all(const Options& options) {
  const Dataset data = load(options);
  std::printf("catalogue  %s: %zu items, %zu SIDs of %d codes\n", data.name.c_str(), data.items.size(),
              data.sids.size(), static_cast<int>(data.levels));
  const Model model = learn(data);
  std::printf("model      counts of %lld transitions from %zu training histories\n",
              static_cast<long long>(model.transitions), data.train.size());
  const Runtime runtime = make_runtime();
  const Index index = build_index(runtime.get(), data);
  const size_t queries = std::min(options.queries, data.test.size());
  std::printf("search     %zu test queries, unseen; batches of %d, %d beams each\n\n", queries,
              static_cast<int>(kSlots), static_cast<int>(options.beams));

  std::printf("strategy  returned SIDs exist  Recall@%d  queries/s  us per step (median)\n",
              static_cast<int>(kRecallAt));
  const Report trie = run(model, runtime.get(), index.get(), SIDBEAM_STRATEGY_TRIE, options.beams, queries);
  print("trie", trie);
  const Report none = run(model, runtime.get(), index.get(), SIDBEAM_STRATEGY_NONE, options.beams, queries);
  print("none", none);
  print_recommendations(data, trie);
  if (trie.existing != trie.returned)
    throw std::runtime_error("the constrained search returned a SID that no item has");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    recommend_all(parse(argc, argv));
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "recommend: %s\n", error.what());
    return 1;
  }
}
