// SPDX-License-Identifier: Apache-2.0
#include "trajectory.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace bench {
namespace {

// Of sums of L log-probabilities, each by another log-sum-exp.
bool nearly(float a, float b) { return std::fabs(a - b) <= 1e-4F * std::max(1.0F, std::fabs(b)); }

std::string at_place(size_t level, int32_t slot, int32_t beam) {
  return "level " + std::to_string(level) + ", slot " + std::to_string(slot) + ", beam " + std::to_string(beam) + ": ";
}

std::string beam_text(const Trajectory::Level& level, size_t i) {
  char text[96];
  std::snprintf(text, sizeof text, "parent %d, code %d, score %.9g", level.parents[i], level.codes[i],
                static_cast<double>(level.scores[i]));
  return text;
}

std::string difference_of_slot(const Trajectory& got, const Trajectory& wanted, int32_t slot, bool exact_ties) {
  for (size_t l = 0; l < wanted.levels.size(); ++l) {
    const Trajectory::Level &a = got.levels[l], &b = wanted.levels[l];
    const int32_t live = b.live[static_cast<size_t>(slot)];
    if (a.live[static_cast<size_t>(slot)] != live)
      return at_place(l, slot, 0) + "expected " + std::to_string(live) + " live beams, got " +
             std::to_string(a.live[static_cast<size_t>(slot)]);
    for (int32_t m = 0; m < live; ++m) {
      const auto i = static_cast<size_t>(slot) * static_cast<size_t>(wanted.beams) + static_cast<size_t>(m);
      const bool same_place = a.parents[i] == b.parents[i] && a.codes[i] == b.codes[i];
      const bool same_score = exact_ties ? a.scores[i] == b.scores[i] : nearly(a.scores[i], b.scores[i]);
      if (same_place && same_score) continue;
      if (!exact_ties && same_score) return "";
      return at_place(l, slot, m) + "expected " + beam_text(b, i) + ", got " + beam_text(a, i);
    }
  }
  return "";
}

}  // namespace

Trajectory record(Method& method, const Shape& shape, const Logits& logits, RowModel* model) {
  Trajectory trajectory{shape.slots, shape.beams, {}};
  const int64_t cells = int64_t{shape.slots} * shape.beams;
  method.start();
  if (model != nullptr) model->start();
  for (int32_t level = 0; level < shape.levels; ++level) {
    const Rows rows = logits.at(level);
    if (model != nullptr) model->before(rows);
    method.step(level, rows);
    const BeamsView beams = method.beams();
    if (model != nullptr) model->after(beams);
    trajectory.levels.push_back({{beams.parents, beams.parents + cells},
                                 {beams.codes, beams.codes + cells},
                                 {beams.scores, beams.scores + cells},
                                 {beams.live, beams.live + shape.slots}});
  }
  return trajectory;
}

std::string difference(const Trajectory& got, const Trajectory& wanted, bool exact_ties) {
  for (int32_t slot = 0; slot < wanted.slots; ++slot) {
    std::string text = difference_of_slot(got, wanted, slot, exact_ties);
    if (!text.empty()) return text;
  }
  return "";
}

std::string difference_of_draws(const Trajectory& got, const Trajectory& wanted) {
  for (size_t l = 0; l < wanted.levels.size(); ++l) {
    const Trajectory::Level &a = got.levels[l], &b = wanted.levels[l];
    for (size_t i = 0; i < b.codes.size(); ++i) {
      const bool dead = a.parents[i] < 0 && b.parents[i] < 0;
      if (dead || (a.parents[i] == b.parents[i] && a.codes[i] == b.codes[i] && nearly(a.scores[i], b.scores[i])))
        continue;
      const auto width = static_cast<size_t>(wanted.beams);
      return at_place(l, static_cast<int32_t>(i / width), static_cast<int32_t>(i % width)) + "expected " +
             beam_text(b, i) + ", got " + beam_text(a, i);
    }
  }
  return "";
}

std::vector<std::vector<std::vector<int32_t>>> final_sids(const Trajectory& trajectory) {
  std::vector<std::vector<std::vector<int32_t>>> result;
  for (int32_t slot = 0; slot < trajectory.slots; ++slot) {
    const auto first = static_cast<size_t>(slot) * static_cast<size_t>(trajectory.beams);
    std::vector<std::vector<int32_t>>& sids = result.emplace_back();
    const int32_t live = trajectory.levels.back().live[static_cast<size_t>(slot)];
    for (int32_t m = 0; m < live; ++m) {
      std::vector<int32_t> sid;
      auto beam = static_cast<size_t>(m);
      for (auto level = trajectory.levels.rbegin(); level != trajectory.levels.rend(); ++level) {
        sid.push_back(level->codes[first + beam]);
        beam = static_cast<size_t>(level->parents[first + beam]);
      }
      std::reverse(sid.begin(), sid.end());
      sids.push_back(std::move(sid));
    }
  }
  return result;
}

double share_found(const Trajectory& got, const Trajectory& wanted) {
  auto all = final_sids(got);
  const auto exact = final_sids(wanted);
  int64_t found = 0, count = 0;
  for (size_t slot = 0; slot < exact.size(); ++slot) {
    std::sort(all[slot].begin(), all[slot].end());
    for (const std::vector<int32_t>& sid : exact[slot])
      found += std::binary_search(all[slot].begin(), all[slot].end(), sid) ? 1 : 0;
    count += std::ssize(exact[slot]);
  }
  return count == 0 ? 1.0 : static_cast<double>(found) / static_cast<double>(count);
}

double share_valid(const Trajectory& got, const Catalogue& catalogue) {
  int64_t valid = 0, count = 0;
  for (const auto& sids : final_sids(got)) {
    for (const std::vector<int32_t>& sid : sids) {
      int64_t low = 0, high = catalogue.sids;
      while (low < high) {
        const int64_t middle = (low + high) / 2;
        const int32_t* other = catalogue.sid(middle);
        if (std::lexicographical_compare(other, other + catalogue.levels, sid.begin(), sid.end())) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      valid += low < catalogue.sids && std::equal(sid.begin(), sid.end(), catalogue.sid(low)) ? 1 : 0;
      ++count;
    }
  }
  return count == 0 ? 1.0 : static_cast<double>(valid) / static_cast<double>(count);
}

}  // namespace bench
