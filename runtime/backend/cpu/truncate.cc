// The boundary is searched by thresholds: how many elements, or how much mass, lie above one is a pass over the row in
// vectors. A dozen passes leave so few elements that sorting them finishes. (Digits of keys, as on a device, take three
// passes, but scattered additions: ten times as long. Sorting the row takes n log n comparisons and memory for it.)
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/truncate.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "backend/beams.h"
#include "backend/cpu/row_scan.h"

namespace sidbeam::cpu {
namespace {

constexpr int64_t kPart = 1024;  // elements of a row that are transformed at a time

struct RowToTruncate {
  const SlotPlan& plan;
  const void* data;

  const Kernels& kernels() const { return *plan.kernels; }
  Elements elements() const {
    Elements result = plan.elements;
    result.data = data;
    return result;
  }

  // Calls visit(x, n, position of the first) for parts of the row.
  template <class Visit>
  void each_part(const Visit& visit) const {
    const LevelColumns& columns = plan.columns;
    const int64_t codes = plan.index->level[plan.level].codes;
    const int64_t n = plan.over_level ? codes : plan.column_count, first = plan.over_level ? columns.offset : 0;
    const bool mapped = plan.over_level && columns.map != nullptr;
    const bool in_place = !mapped && !plan.elements.transformed() && plan.elements.dtype == SIDBEAM_DTYPE_F32;
    float x[kPart + kVectorSlack];
    for (int64_t at = 0; at < n; at += kPart) {
      const int64_t part = std::min(kPart, n - at);
      if (in_place) {
        visit(static_cast<const float*>(data) + first + at, part, at);
        continue;
      }
      if (mapped) {
        for (int64_t i = 0; i < part; ++i) x[i] = mapped_element(elements(), columns.map[at + i]);
        kernels().transform(elements(), x, part);
      } else {
        kernels().load(elements(), first + at, part, x);
      }
      visit(x, part, at);
    }
    if (!plan.over_level || !has_end(*plan.index, columns)) return;
    kernels().load(elements(), columns.end_column, 1, x);
    visit(x, int64_t{1}, codes);
  }

  // The largest x; +inf where one is bad.
  float largest() const {
    float result = -std::numeric_limits<float>::infinity();
    each_part([&](const float* x, int64_t n, int64_t) { result = std::max(result, kernels().largest(x, n)); });
    return result;
  }
};

constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr int64_t kFew = 128;  // elements that are sorted

// What the kept elements must reach.
struct Goal {
  bool by_mass = false;
  uint64_t least = 0;

  bool reached(const Above& above) const {
    return (by_mass ? above.mass : static_cast<uint64_t>(above.count)) >= least;
  }
  // How many of elements of one weight are needed beyond those above them.
  int64_t needed(const Above& above, uint64_t weight) const {
    if (!by_mass) return static_cast<int64_t>(least) - above.count;
    return weight > 0 ? static_cast<int64_t>((least - above.mass + weight - 1) / weight) : 1;
  }
};

struct Search {
  const RowToTruncate& row;
  float largest;

  Above above(float threshold, bool with_mass) const {
    Above result;
    row.each_part([&](const float* x, int64_t n, int64_t) {
      const Above part = row.kernels().above(x, n, threshold, with_mass ? &largest : nullptr);
      result.count += part.count;
      result.mass += part.mass;
    });
    return result;
  }
};

// Where the boundary lies: low <= order of its x < high, and what lies above each.
struct Bracket {
  uint32_t low = 0, high = 0;
  Above at_low, at_high;
};

// False if all elements together do not reach the goal.
bool find_bracket(const Search& search, const Goal& goal, Bracket& bracket) {
  bracket.high = order_of(search.largest) + 1;
  for (float step = 1.0F;; step *= 2.0F) {
    const float threshold = std::max(search.largest - step, kLowest);
    const Above above = search.above(threshold, goal.by_mass);
    if (goal.reached(above)) {
      bracket.low = order_of(threshold);
      bracket.at_low = above;
      return true;
    }
    bracket.high = order_of(threshold);
    bracket.at_high = above;
    if (threshold == kLowest) return false;
  }
}

void narrow(const Search& search, const Goal& goal, Bracket& bracket) {
  while (bracket.high - bracket.low > 1 && bracket.at_low.count - bracket.at_high.count > kFew) {
    const uint32_t middle = bracket.low + (bracket.high - bracket.low) / 2;
    const Above above = search.above(x_of_order(middle), goal.by_mass);
    (goal.reached(above) ? bracket.low : bracket.high) = middle;
    (goal.reached(above) ? bracket.at_low : bracket.at_high) = above;
  }
}

// The boundary of a goal.
struct FoundBoundary {
  Boundary boundary;
  uint64_t mass = 0;  // of what is kept
};

// The boundary is at x: of the `equal` elements of that x, the first ones that are needed are kept.
FoundBoundary boundary_at(const Search& search, const Goal& goal, const Above& above, float x, int64_t equal) {
  const uint64_t weight = weight_of(x, search.largest);
  int64_t needed = goal.needed(above, weight);
  FoundBoundary found;
  found.boundary.x = x;
  found.mass = above.mass + static_cast<uint64_t>(needed) * weight;
  if (needed == equal) return found;
  search.row.each_part([&](const float* part, int64_t n, int64_t first) {
    for (int64_t i = 0; i < n && needed > 0; ++i)
      if (part[i] == x && --needed == 0) found.boundary.position = first + i;
  });
  return found;
}

// The elements of a bracket, falling; there are at most kFew.
int64_t few_of(const Search& search, const Bracket& bracket, float* few) {
  int64_t count = 0;
  const float low = x_of_order(bracket.low);
  search.row.each_part([&](const float* x, int64_t n, int64_t) {
    uint32_t at[kPart];
    const int64_t most = search.row.kernels().find_at_least(x, n, low, at);
    for (int64_t i = 0; i < most; ++i)
      if (order_of(x[at[i]]) < bracket.high) few[count++] = x[at[i]];
  });
  std::sort(few, few + count, std::greater<>());
  return count;
}

FoundBoundary find_boundary(const Search& search, const Goal& goal, Bracket bracket) {
  narrow(search, goal, bracket);
  // The mass above is known only if the goal is one.
  Above above =
      goal.by_mass || bracket.at_high.count == 0 ? bracket.at_high : search.above(x_of_order(bracket.high), true);
  if (bracket.high - bracket.low == 1)
    return boundary_at(search, goal, above, x_of_order(bracket.low), bracket.at_low.count - above.count);
  float few[kFew];
  const int64_t count = few_of(search, bracket, few);
  for (int64_t i = 0;;) {
    const int64_t equal = std::find_if(few + i, few + count, [&](float x) { return x != few[i]; }) - (few + i);
    const Above through{above.count + equal,
                        above.mass + static_cast<uint64_t>(equal) * weight_of(few[i], search.largest)};
    if (goal.reached(through) || i + equal == count) return boundary_at(search, goal, above, few[i], equal);
    above = through;
    i += equal;
  }
}

}  // namespace

Kept truncate_row(const SlotPlan& plan, const void* data) {
  const Truncation& truncation = plan.truncation;
  const RowToTruncate row{plan, data};
  const float largest = row.largest();
  const RowOutcome outcome = outcome_of_largest(largest);
  if (outcome != RowOutcome::kReady) return {outcome, {}, {}};
  const Search search{row, largest};
  FoundBoundary found;
  Bracket bracket;
  const Goal by_count{false, static_cast<uint64_t>(truncation.top_k)};
  if (truncation.top_k > 0 && find_bracket(search, by_count, bracket)) {
    found = find_boundary(search, by_count, bracket);
  } else {
    found.mass = search.above(kLowest, true).mass;
  }
  const Goal by_mass{true, mass_goal(found.mass, truncation.top_p)};
  bracket = {};
  if (truncation.top_p < 1.0F && find_bracket(search, by_mass, bracket))
    found = find_boundary(search, by_mass, bracket);
  return {outcome, found.boundary, log_of_weights(found.mass, largest)};
}

}  // namespace sidbeam::cpu
