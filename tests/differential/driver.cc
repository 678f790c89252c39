// Drawing cases, running them, and shrinking the one that fails.
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "driver.h"

namespace differential {

namespace {

// Which form the tail of a compact trie has, and what is in it.
void count_tail(const Loaded& loaded, Coverage* coverage) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  call("sidbeam_index_get_info", sidbeam_index_get_info, loaded.index.get(), &info);
  if ((info.kinds & SIDBEAM_KIND_COMPACT_TRIE) == 0) return;
  std::string form;
  int32_t level = 0;
  for (int64_t i = 0; i < info.section_count; ++i) {
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    call("sidbeam_index_get_section", sidbeam_index_get_section, loaded.index.get(), i, &section);
    if (std::string(section.kind) != "tail") continue;
    form = section.encoding;
    level = section.level;
  }
  ++(*coverage)["tails, " + form];
  if (level > 1) ++(*coverage)["tails that begin below level 1"];
  if (info.shortest < info.longest) ++(*coverage)["tails with ends"];
  if (info.shortest < level - 1) ++(*coverage)["tails with SIDs that ended above the node before"];
  if (info.collisions > 0) ++(*coverage)["tails with several items per SID"];
}

// How a version of a live catalogue came about.
void count_version(const Story& story, const Loaded& loaded, Coverage* coverage) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  call("sidbeam_index_get_info", sidbeam_index_get_info, loaded.index.get(), &info);
  ++(*coverage)["versions of live catalogues"];
  const auto has = [&](bool Turn::*what) {
    return std::any_of(story.turns.begin(), story.turns.end(), [&](const Turn& turn) { return turn.*what; });
  };
  if (has(&Turn::taken_back)) ++(*coverage)["versions that were gone back to"];
  if (has(&Turn::dropped)) ++(*coverage)["versions for which changes were dropped"];
  if (has(&Turn::compacted)) ++(*coverage)["versions that came after a compaction"];
  if (has(&Turn::compacted_in_vain)) ++(*coverage)["versions of a base that had been compacted"];
  if (info.live_items < info.items) ++(*coverage)["versions from which items have gone"];
}

}  // namespace

void check_case(const Machine& machine, const Case& c, Coverage* coverage) {
  const World world = make_world(c);
  const std::vector<Loaded> loaded = load_all(machine.best().runtime.get(), world);
  for (size_t k = 0; k < loaded.size(); ++k) {
    count_tail(loaded[k], coverage);
    if (!world.stories.empty()) count_version(world.stories[k], loaded[k], coverage);
  }
  const std::vector<Life> lives = check_session(machine, world, loaded, coverage);
  if (!lives.empty())
    check_replays(machine, world, loaded, lives[mix(world.seed(), kDrawReplay) % lives.size()], coverage);
  const bool has_trie = c.lean == 0 || c.strategy == SIDBEAM_STRATEGY_TRIE;
  if (c.stateless != 0 && has_trie) check_stateless(machine.for_seed(world.seed()), world, loaded, coverage);
}

namespace {

constexpr const char* kStrategies[] = {"trie", "sorted", "sorted_topk", "hash_final", "none"};
constexpr const char* kNormalizations[] = {"full", "level", "valid", "none"};
constexpr const char* kDtypes[] = {"f32", "f16", "bf16"};

void count_case(const Case& c, Coverage* coverage) {
  const std::string normalization = c.given_lse != 0 ? "given lse" : kNormalizations[c.normalization];
  ++(*coverage)["cases of " + std::string(kStrategies[c.strategy]) + ", " + normalization];
  ++(*coverage)["cases of " + std::string(kDtypes[c.dtype]) + (c.layout < 6 ? ", by slot" : ", row map")];
  if (c.variable != 0) ++(*coverage)["cases of variable length"];
  if (c.soft_cap != 0) ++(*coverage)["cases with soft-cap"];
  if (c.beams == SIDBEAM_MAX_BEAMS) ++(*coverage)["cases of 4096 beams"];
  if (c.levels > 6) ++(*coverage)["cases of many levels"];
  if (c.codes > 65536) ++(*coverage)["cases of more than 65536 codes"];
}

// The library's message, "" if there was none.
std::string failure(Check check, const Machine& machine, const Case& c) {
  Coverage ignored;
  try {
    check(machine, c, &ignored);
  } catch (const Mismatch& error) {
    return error.what();
  }
  return "";
}

char current[2048];  // the case being run, to be printed if the library dies or a time limit ends it

void set_current(const Case& c) { std::snprintf(current, sizeof current, "\ncase: %s\n", to_line(c).c_str()); }

extern "C" void report_death(int number) {
  if (write(STDERR_FILENO, current, std::strlen(current)) < 0) _exit(1);
  raise(number);
}

// Smaller cases that might fail too, the boldest first.
std::vector<Case> smaller(const Case& c) {
  std::vector<Case> all;
  const auto add = [&](int64_t Case::*value, int64_t to) {
    Case next = c;
    next.*value = to;
    all.push_back(repaired(next));
  };
  const Case plain;
  for (const Knob& knob : knobs()) {
    const int64_t now = c.*knob.value, least = plain.*knob.value;
    if (knob.value == &Case::seed || now == least) continue;
    add(knob.value, least);
    if (now > least + 3) add(knob.value, least + (now - least) / 2);
    if (now > least + 1) add(knob.value, now - 1);
  }
  if (c.sids > 1) {  // the other end of the list
    Case next = c;
    next.first += c.sids / 2;
    next.sids -= c.sids / 2;
    all.push_back(next);
    next = c;
    ++next.first;
    --next.sids;
    all.push_back(next);
  }
  return all;
}

Case shrunk(Check check, const Machine& machine, Case c) {
  for (int budget = 3000; budget > 0;) {
    bool better = false;
    for (const Case& next : smaller(c)) {
      if (to_line(next) == to_line(c) || --budget < 0) continue;
      set_current(next);
      if (failure(check, machine, next).empty()) continue;
      c = next;
      better = true;
      break;
    }
    if (!better) break;
  }
  return c;
}

int report(Check check, const Machine& machine, const Case& c, const std::string& message, bool shrink) {
  std::cout << "FAILED: " << message << "\n  case: " << to_line(c) << '\n';
  if (!shrink) return 1;
  const Case small = shrunk(check, machine, c);
  std::cout << "shrunk: " << failure(check, machine, small) << "\n  --case '" << to_line(small) << "'\n";
  return 1;
}

int check_coverage(Check check, std::vector<Floor> floors, const Coverage& coverage) {
  for (const char* name : kReachedByAll)
    if (check == check_case) floors.push_back({name, 1});
  int missing = 0;
  for (const auto& [name, least] : floors) {
    const auto found = coverage.find(name);
    const int64_t count = found == coverage.end() ? 0 : found->second;
    if (count >= least) continue;
    std::cout << "reached " << count << " times, expected " << least << " at least: " << name << '\n';
    ++missing;
  }
  return missing == 0 ? 0 : 1;
}

struct Options {
  int64_t cases = 3000, seed = 1;
  double seconds = 1e9;
  std::string line;
  bool coverage = false, shrink = true;
};

int run(Check check, const Machine& machine, const std::vector<Floor>& floors, const Options& options,
        Case (*adjusted)(Case)) {
  if (!options.line.empty()) {
    const Case c = from_line(options.line);
    set_current(c);
    const std::string message = failure(check, machine, c);
    if (message.empty()) std::cout << "passed\n";
    return message.empty() ? 0 : report(check, machine, c, message, false);
  }
  Coverage coverage;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
  int64_t i = 0;
  for (; i < options.cases && std::chrono::steady_clock::now() < end; ++i) {
    const Case c = adjusted(draw_case(static_cast<uint64_t>(options.seed + i)));
    set_current(c);
    try {
      check(machine, c, &coverage);
    } catch (const Mismatch& error) {
      return report(check, machine, c, error.what(), options.shrink);
    }
    count_case(c, &coverage);
  }
  for (const auto& [name, count] : coverage) std::cout << "  " << count << '\t' << name << '\n';
  std::cout << "seeds " << options.seed << " .. " << options.seed + i - 1 << ": " << i << " cases passed\n";
  return options.coverage ? check_coverage(check, floors, coverage) : 0;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--coverage") {
      options.coverage = true;
      continue;
    }
    if (name == "--no-shrink") {
      options.shrink = false;
      continue;
    }
    if (i + 1 == argc)
      throw std::invalid_argument(
          "expected --cases N, --seed S, --seconds S, --case LINE, --coverage or --no-shrink, got '" + name + "'");
    const std::string value = argv[++i];
    if (name == "--cases") {
      options.cases = std::stoll(value);
    } else if (name == "--seconds") {
      options.seconds = std::stod(value);
    } else if (name == "--seed") {
      options.seed = std::stoll(value);
    } else if (name == "--case") {
      options.line = value;
    } else {
      throw std::invalid_argument("expected --cases, --seed, --seconds, --case, --coverage or --no-shrink, got '" +
                                  name + "'");
    }
  }
  return options;
}

}  // namespace

int drive(int argc, char** argv, Machine (*make_machine)(), const std::vector<Floor>& floors, Case (*adjusted)(Case),
          Check check) {
  struct sigaction action = {};
  action.sa_handler = report_death;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM}) sigaction(number, &action, nullptr);
  try {
    const Options options = parse(argc, argv);
    return run(check, make_machine(), floors, options, adjusted);
  } catch (const std::exception& error) {
    std::cerr << "differential: " << error.what() << '\n';
    return 2;
  }
}

}  // namespace differential
