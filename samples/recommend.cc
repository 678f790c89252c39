// The main job, as a host does it: index a catalogue, then answer requests by beam search over it, constrained (trie)
// and unconstrained (none), and compare. The model is one of counts (recommend/transitions.h) under the core's session
// (recommend/search.cc), which shows the loop; or a trained decoder under the runner (recommend/decoder.cc), beside the
// counts and interpolated with them. Then it leaves out what a user has: afterwards, which makes lists shorter, or by
// excluding it from the search (constraint.h).
//
//   recommend [PATH] [--model FOLDER [--int8]] [--queries N] [--beams M] [--made-up] [--write FOLDER]
//
// PATH is a file *.index.json, or a folder that has one (see recommend/dataset.h). Without it the sample looks in
// $SIDBEAM_DATA/minionerec, then in ../shared/data/minionerec; if neither is there, or with --made-up, it makes a
// catalogue and histories itself. --model names a folder that samples/train wrote for that catalogue; with --int8 its
// matrices are held in 8 bits. --write writes the catalogue and the histories to files, and does nothing else.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "recommend/decoder.h"
#include "recommend/library.h"
#include "recommend/search.h"
#include "recommend/transitions.h"

namespace {

using namespace recommend;
using Clock = std::chrono::steady_clock;

constexpr size_t kAt = 10;  // recommendations that count

struct Report {
  std::vector<Answer> answers;
  std::vector<bool> hits;  // [queries] whether the target is among the first kAt
  size_t returned = 0, existing = 0;
  size_t first = 0, seen = 0;        // SIDs among the first kAt, and those of them that the user has
  size_t fresh = 0, fresh_hits = 0;  // queries whose target the user does not have, and hits of these
  double recall = 0, ndcg = 0, per_second = 0;
};

bool has(const Query& query, int64_t ordinal) {
  return std::find(query.history.begin(), query.history.end(), ordinal) != query.history.end();
}

void count_seen(const Answer& given, const Query& query, bool hit, Report& report) {
  const auto top = given.ordinals.begin() + std::min(std::ssize(given.ordinals), std::ptrdiff_t{kAt});
  report.first += static_cast<size_t>(top - given.ordinals.begin());
  report.seen += static_cast<size_t>(
      std::count_if(given.ordinals.begin(), top, [&](int64_t ordinal) { return has(query, ordinal); }));
  if (has(query, query.target)) return;
  report.fresh_hits += hit;
  report.fresh++;
}

Report judge(const Dataset& data, const std::function<std::vector<Answer>()>& answer) {
  Report report;
  const Clock::time_point begin = Clock::now();
  report.answers = answer();
  const auto queries = static_cast<double>(report.answers.size());
  report.per_second = queries / std::chrono::duration<double>(Clock::now() - begin).count();
  for (size_t q = 0; q < report.answers.size(); q++) {
    const Answer& given = report.answers[q];
    report.returned += given.sids.size();
    report.existing += static_cast<size_t>(
        std::count_if(given.ordinals.begin(), given.ordinals.end(), [](int64_t ordinal) { return ordinal >= 0; }));
    const Sid& target = data.sids[static_cast<size_t>(data.test[q].target)];
    const auto top = given.sids.begin() + std::min(std::ssize(given.sids), std::ptrdiff_t{kAt});
    const auto place = std::find(given.sids.begin(), top, target);
    report.hits.push_back(place != top);
    count_seen(given, data.test[q], place != top, report);
    report.recall += (place != top) / queries;
    if (place != top) report.ndcg += 1 / std::log2(static_cast<double>(place - given.sids.begin()) + 2) / queries;
  }
  return report;
}

double share(size_t some, size_t all) { return all == 0 ? 0.0 : static_cast<double>(some) / static_cast<double>(all); }

double existing(const Report& report) { return share(report.existing, report.returned); }

void check_exists(const Report& report) {
  if (report.existing != report.returned)
    throw std::runtime_error("the constrained search returned a SID that no item has");
}

// What others wrote, as a line for a terminal, which would obey control characters (the last are C1 in UTF-8).
std::string printable(std::string_view text) {
  std::string line;
  unsigned char before = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = byte < 0x20 || byte == 0x7F || (before == 0xC2 && byte < 0xA0);
    char shown[5];
    std::snprintf(shown, sizeof shown, control ? "\\x%02x" : "%c", byte);
    line += shown;
    before = byte;
  }
  return line;
}

// A title that fits on a line, not cut within a character of several bytes.
std::string line_of(const Item& item) {
  size_t end = std::min<size_t>(90, item.title.size());
  while (end > 0 && end < item.title.size() && (item.title[end] & 0xC0) == 0x80) end--;
  return printable(item.title.substr(0, end));
}

void print_recommendation(const Dataset& data, const Catalogue& catalogue, const Query& query, const Answer& answer) {
  std::printf("\nuser %s, who took last\n", printable(query.user).c_str());
  const size_t shown = std::min<size_t>(3, query.history.size());
  for (size_t h = query.history.size() - shown; h < query.history.size(); h++) {
    const Sid& sid = data.sids[static_cast<size_t>(query.history[h])];
    const auto item = std::find_if(data.items.begin(), data.items.end(), [&](const Item& i) { return i.sid == sid; });
    std::printf("      %s\n", line_of(*item).c_str());
  }
  std::printf("  is recommended (* what was taken next)\n");
  size_t left = 5;
  for (const int64_t ordinal : answer.ordinals) {
    for (const int64_t id : items_of(catalogue, ordinal)) {
      if (left-- == 0) return;
      const auto item = std::find_if(data.items.begin(), data.items.end(), [&](const Item& i) { return i.id == id; });
      std::printf("    %c %s\n", ordinal == query.target ? '*' : ' ', line_of(*item).c_str());
    }
  }
}

// The first three users.
void print_recommendations(const Dataset& data, const Catalogue& catalogue, const Report& report) {
  int left = 3;
  for (size_t q = 0; q < report.answers.size() && left > 0; q++) {
    if (q > 0 && data.test[q].user == data.test[q - 1].user) continue;
    print_recommendation(data, catalogue, data.test[q], report.answers[q]);
    left--;
  }
}

struct Options {
  std::string path, model, write;
  size_t queries = SIZE_MAX;
  int32_t beams = 50;
  bool made_up = false, int8 = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i++) {
    const std::string_view argument = argv[i];
    if (argument == "--made-up")
      options.made_up = true;
    else if (argument == "--int8")
      options.int8 = true;
    else if (argument == "--queries" && i + 1 < argc)
      options.queries = static_cast<size_t>(std::max(1, std::atoi(argv[++i])));
    else if (argument == "--beams" && i + 1 < argc)
      options.beams = std::atoi(argv[++i]);
    else if (argument == "--model" && i + 1 < argc)
      options.model = argv[++i];
    else if (argument == "--write" && i + 1 < argc)
      options.write = argv[++i];
    else if (!argument.starts_with("-") && options.path.empty())
      options.path = argument;
    else
      throw std::invalid_argument(
          "usage: recommend [PATH] [--model FOLDER [--int8]] [--queries N] [--beams M] [--made-up] [--write FOLDER]");
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

// What every comparison works on.
struct Setting {
  const Dataset& data;
  const Transitions& transitions;
  const Catalogue& catalogue;
  size_t queries;
  int32_t beams;
};

// What remains of answers where what users have is taken out of them: the usual way, and fewer results.
std::vector<Answer> without_seen(const Dataset& data, const std::vector<Answer>& answers) {
  std::vector<Answer> left(answers.size());
  for (size_t q = 0; q < answers.size(); q++) {
    for (size_t i = 0; i < answers[q].ordinals.size(); i++) {
      if (has(data.test[q], answers[q].ordinals[i])) continue;
      left[q].ordinals.push_back(answers[q].ordinals[i]);
      left[q].sids.push_back(answers[q].sids[i]);
    }
  }
  return left;
}

// Shows users what they have, takes it out afterwards, or excludes it from the search: `excluded` searches so, and its
// report is returned.
Report compare_seen(const Setting& at, const Report& shown, const std::function<std::vector<Answer>()>& excluded) {
  std::printf("\nwhat users have  of the first %zu  Recall@%zu  of what is new  SIDs per query\n", kAt, kAt);
  const auto print = [](const char* name, const Report& report) {
    std::printf("%-15s  %14.1f %%  %9.4f  %14.4f  %14.1f\n", name, 100 * share(report.seen, report.first),
                report.recall, share(report.fresh_hits, report.fresh), share(report.returned, report.answers.size()));
  };
  print("is shown", shown);
  print("is taken out", judge(at.data, [&] { return without_seen(at.data, shown.answers); }));
  check_exists(shown);
  Report report = judge(at.data, excluded);
  print("is excluded", report);
  check_exists(report);
  if (report.seen > 0) throw std::runtime_error("a search returned an item that was excluded");
  return report;
}

// Counts that guess at codes as a neural model does, with the constraint and without. What they recommend of what users
// do not have is returned, here and below.
Report compare_strategies(const Setting& at) {
  std::printf("strategy  returned SIDs exist  Recall@%zu  queries/s  us per step (median)\n", kAt);
  double step_us = 0;
  const auto run = [&](const char* name, int32_t strategy) {
    Report report = judge(at.data, [&] {
      Search found = search(at.transitions, Smoothing::kCodes, at.catalogue, strategy, at.beams, at.queries);
      step_us = found.step_us;
      return std::move(found.answers);
    });
    std::printf("%-8s  %18.1f %%  %9.4f  %9.0f  %15.1f\n", name, 100 * existing(report), report.recall,
                report.per_second, step_us);
    return report;
  };
  const Report trie = run("trie", SIDBEAM_STRATEGY_TRIE);
  run("none", SIDBEAM_STRATEGY_NONE);
  return compare_seen(at, trie, [&] {
    return search(at.transitions, Smoothing::kCodes, at.catalogue, SIDBEAM_STRATEGY_TRIE, at.beams, at.queries,
                  Seen::kExcluded)
        .answers;
  });
}

void print(const char* model, const char* strategy, const Report& report, const Report* against) {
  std::printf("%-12s  %-8s  %18.1f %%  %9.4f  %7.4f", model, strategy, 100 * existing(report), report.recall,
              report.ndcg);
  if (against == nullptr) {
    std::printf("  %5s  %6s", "", "");
  } else {
    int wins = 0, losses = 0;
    for (size_t q = 0; q < report.hits.size(); q++) {
      wins += report.hits[q] && !against->hits[q];
      losses += against->hits[q] && !report.hits[q];
    }
    std::printf("  %5d  %6d", wins, losses);
  }
  std::printf("  %9.0f\n", report.per_second);
}

// The decoder, the counts, and both. Wins are queries that a model hits and the counts miss, losses the reverse.
Report compare_models(const Setting& at, const Decoder& decoder) {
  const auto answers = [&](const Transitions* with, int32_t strategy, Seen seen) {
    return run(decoder, with, at.catalogue, at.data, strategy, at.beams, at.queries, seen);
  };
  const auto run_decoder = [&](const Transitions* with, int32_t strategy) {
    return judge(at.data, [&] { return answers(with, strategy, Seen::kShown); });
  };
  std::printf("model         strategy  returned SIDs exist  Recall@%zu  NDCG@%zu   wins  losses  queries/s\n", kAt,
              kAt);
  const Report counts = judge(at.data, [&] {
    return search(at.transitions, Smoothing::kNone, at.catalogue, SIDBEAM_STRATEGY_TRIE, at.beams, at.queries).answers;
  });
  print("transitions", "trie", counts, nullptr);
  print("decoder", "none", run_decoder(nullptr, SIDBEAM_STRATEGY_NONE), &counts);
  print("decoder", "trie", run_decoder(nullptr, SIDBEAM_STRATEGY_TRIE), &counts);
  const Report both = run_decoder(&at.transitions, SIDBEAM_STRATEGY_TRIE);
  print("interpolated", "trie", both, &counts);
  return compare_seen(at, both, [&] { return answers(&at.transitions, SIDBEAM_STRATEGY_TRIE, Seen::kExcluded); });
}

void print_model(const Decoder& decoder) {
  const sidbeam_model_info& info = decoder.info;
  std::printf("decoder    %s: %d layers of %d, %lld weights in %lld bytes, %d token%s per position\n", info.family,
              static_cast<int>(info.layers), static_cast<int>(info.hidden), static_cast<long long>(info.parameters),
              static_cast<long long>(info.memory_bytes), static_cast<int>(decoder.group),
              decoder.group == 1 ? "" : "s");
}

// The model's codes are those that the index is to have, used or not.
void match(const Decoder& decoder, Dataset& data) {
  const auto [least, most] = std::minmax_element(data.codes.begin(), data.codes.end());
  if (data.levels != decoder.levels || *most > decoder.codes)
    throw std::runtime_error("the model was trained for SIDs of " + std::to_string(decoder.levels) + " codes below " +
                             std::to_string(decoder.codes) + ", " + data.name + " has " + std::to_string(data.levels) +
                             " below " + std::to_string(*most));
  data.codes.assign(data.codes.size(), decoder.codes);
}

void recommend_all(const Options& options) {
  Dataset data = load(options);
  if (!options.write.empty()) return write_dataset(data, options.write);
  const bool trained = !options.model.empty();
  const Decoder decoder = trained ? open_decoder(options.model, options.int8) : Decoder{};
  if (trained) match(decoder, data);
  std::printf("catalogue  %s: %zu items, %zu SIDs of %d codes\n", printable(data.name).c_str(), data.items.size(),
              data.sids.size(), static_cast<int>(data.levels));
  const Transitions transitions = learn(data);
  std::printf("counts     %lld transitions from %zu training histories\n", static_cast<long long>(transitions.counted),
              data.train.size());
  const Catalogue catalogue = open_catalogue(data);
  const Setting at{data, transitions, catalogue, std::min(options.queries, data.test.size()), options.beams};
  if (trained) print_model(decoder);
  std::printf("search     %zu test queries, unseen; %d beams each\n\n", at.queries, static_cast<int>(at.beams));
  const Report best = trained ? compare_models(at, decoder) : compare_strategies(at);
  print_recommendations(data, catalogue, best);
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
    std::fprintf(stderr, "recommend: %s\n", printable(error.what()).c_str());
    return 1;
  }
}
