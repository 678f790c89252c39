// The paths of a step from hidden states by the children of each beam. SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>

#include "hidden_case.h"

namespace bench {
namespace {

constexpr int32_t kPaths[] = {SIDBEAM_HIDDEN_CHILDREN, SIDBEAM_HIDDEN_PRODUCT, SIDBEAM_HIDDEN_FASTEST};

struct PathTimes {
  std::array<double, 3> least;  // of kPaths
  int64_t unions = 0, slots = 0;

  // Of the path that is chosen, in that of the better one of the others.
  double loss() const { return least[2] / std::min(least[0], least[1]); }
};

// Every path in turns, once after the one and once after the other.
PathTimes measure(HiddenCase& made, int runs) {
  PathTimes times;
  times.least.fill(std::numeric_limits<double>::infinity());
  for (int run = 0; run < runs; ++run) {
    for (size_t i = 0; i < times.least.size(); ++i) {
      const size_t path = run % 2 == 0 ? i : times.least.size() - 1 - i;
      made.to_last_level();
      const sidbeam_hidden_stats before = made.stats();
      keep_least([&] { made.step(kPaths[path]); }, times.least[path]);
      if (kPaths[path] != SIDBEAM_HIDDEN_FASTEST) continue;
      times.unions = made.stats().union_slots - before.union_slots;
      times.slots = times.unions + made.stats().child_slots - before.child_slots;
    }
  }
  return times;
}

void report(const HiddenCase& made, const PathTimes& times, Measurements& all) {
  const HiddenShape& shape = made.shape();
  const Case where = {{"V", shape.columns},
                      {"D", shape.width},
                      {"B", int64_t{shape.slots}},
                      {"M", int64_t{shape.beams}},
                      {"children", int64_t{shape.children}}};
  const char* const names[] = {"children", "product", "fastest"};
  for (size_t path = 0; path < times.least.size(); ++path)
    all.push_back({"paths", where, names[path], "us", exactly(times.least[path]), ""});
  all.push_back({"paths", where, "fastest / better", "", exactly(times.loss()), ""});
  all.push_back({"paths", where, "unions", "",
                 exactly(static_cast<double>(times.unions) / static_cast<double>(std::max<int64_t>(times.slots, 1))),
                 "share of the slots that fastest stepped"});
  all.push_back({"paths", where, "break-even", "", exactly(made.stats().break_even), "a product alone / in a tile"});
}

}  // namespace

Measurements paths_table(const HiddenOptions& options) {
  const handles::Runtime runtime = make_hidden_runtime();
  const int64_t columns = options.columns > 0 ? options.columns : options.quick ? 64 : 2048;
  const std::vector<int64_t> widths = options.width > 0 ? std::vector<int64_t>{options.width}
                                      : options.quick   ? std::vector<int64_t>{32}
                                                        : std::vector<int64_t>{256, 1024};
  const auto share = [&](int64_t of_16) { return static_cast<int32_t>(columns * of_16 / 16); };
  const std::vector<int32_t> counts =
      options.quick ? std::vector<int32_t>{2, share(12)}
                    : std::vector<int32_t>{1, 8, 32, share(1), share(4), share(6), share(8), share(12), share(16)};
  Measurements all;
  for (const int64_t width : widths) {
    for (const int32_t children : counts) {
      const int32_t slots = options.slots > 0 ? options.slots : 8, beams = options.beams > 0 ? options.beams : 512,
                    prefixes = std::max(4 * beams, std::min(2048, (1 << 22) / children));
      HiddenCase made(runtime.get(), options.quick ? HiddenShape{columns, width, 2, 8, 32, children}
                                                   : HiddenShape{columns, width, slots, beams, prefixes, children});
      report(made, measure(made, options.quick ? 1 : 6), all);
    }
  }
  return all;
}

}  // namespace bench
