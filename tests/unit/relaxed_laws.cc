// SPDX-License-Identifier: Apache-2.0
#include "relaxed_laws.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>

namespace sidbeam::runner::laws {
namespace {

using Weights = std::vector<double>;
using Draws = std::vector<size_t>;
using Visit = std::function<void(const Draws& draws, double probability)>;

constexpr double kNothing = -std::numeric_limits<double>::infinity();

double sum_of(const Weights& weights) { return std::accumulate(weights.begin(), weights.end(), 0.0); }

// Valid continuations of paths, and the log-probabilities of both models.
struct Level {
  Paths paths;
  Weights target, draft;  // log-probabilities of the sequence
};

// Beams of a round: what the draft has, in order, with the log-probabilities by which it goes on, and which of these
// the target has.
struct Beams {
  Paths paths;
  Weights target, draft;
  std::vector<bool> kept;
};

bool has_ended(const Path& path) { return !path.empty() && path.back() == kEnd; }

// What may follow a path that has not ended: codes, and the end where the path is itself a SID.
std::vector<int32_t> valid_after(const Question& question, const Path& path) {
  std::vector<int32_t> codes;
  Path longer = path;
  longer.push_back(0);
  for (; longer.back() < question.world.codes[path.size()]; ++longer.back()) {
    const auto at = question.sids.lower_bound(longer);
    if (at != question.sids.end() && at->size() >= longer.size() &&
        std::equal(longer.begin(), longer.end(), at->begin()))
      codes.push_back(longer.back());
  }
  if (question.sids.count(path) > 0) codes.push_back(kEnd);
  return codes;
}

Level level_after(const Question& question, const Beams& beams) {
  Level level;
  const auto add = [&](const Path& path, double target, double draft) {
    level.paths.push_back(path);
    level.target.push_back(target);
    level.draft.push_back(draft);
  };
  for (size_t beam = 0; beam < beams.paths.size(); ++beam) {
    Path path = beams.paths[beam];
    const double target = beams.kept[beam] ? beams.target[beam] : kNothing, draft = beams.draft[beam];
    if (has_ended(path)) {
      add(path, target, draft);
      continue;
    }
    const std::vector<int32_t> valid = valid_after(question, path);
    path.push_back(0);
    for (const int32_t code : valid) {
      path.back() = code;
      add(path, beams.kept[beam] ? target + log_prob(question, path, trees::Kind::kSame) : kNothing,
          draft + log_prob(question, path, question.draft));
    }
  }
  return level;
}

Weights normalized(const Weights& log_probs) {
  Weights weights;
  for (const double log_prob : log_probs) weights.push_back(std::exp(log_prob));
  const double sum = sum_of(weights);
  for (double& weight : weights) weight = sum > 0 ? weight / sum : 0;
  return weights;
}

// Every way to draw up to `count` different ones, from the first of the distributions that has any left.
void draw_different(const std::vector<Weights>& from, size_t count, const Draws& drawn, double probability,
                    const Visit& visit) {
  if (drawn.size() < count) {
    for (Weights left : from) {
      for (const size_t i : drawn) left[i] = 0;
      const double sum = sum_of(left);
      if (sum <= 0) continue;
      for (size_t i = 0; i < left.size(); ++i) {
        if (left[i] <= 0) continue;
        Draws next = drawn;
        next.push_back(i);
        draw_different(from, count, next, probability * left[i] / sum, visit);
      }
      return;
    }
  }
  visit(drawn, probability);
}

void draw_independent(const Weights& from, size_t count, const Draws& drawn, double probability, const Visit& visit) {
  if (drawn.size() == count || sum_of(from) <= 0) return visit(drawn, probability);
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] <= 0) continue;
    Draws next = drawn;
    next.push_back(i);
    draw_independent(from, count, next, probability * from[i], visit);
  }
}

// Every set of accepted drafts, in their order.
void accept(const Weights& ratio, const Draws& drafts, size_t at, const Draws& accepted, double probability,
            const Visit& visit) {
  if (probability <= 0) return;
  if (at == drafts.size()) return visit(accepted, probability);
  Draws with = accepted;
  with.push_back(drafts[at]);
  accept(ratio, drafts, at + 1, with, probability * ratio[drafts[at]], visit);
  accept(ratio, drafts, at + 1, accepted, probability * (1 - ratio[drafts[at]]), visit);
}

size_t positive(const Weights& weights) {
  return static_cast<size_t>(std::count_if(weights.begin(), weights.end(), [](double w) { return w > 0; }));
}

// How drafts that are drawn from q fare against p.
struct Decisions {
  Weights p, ratio, rest;
};
Decisions decisions(const Weights& target, const Weights& draft) {
  const Weights p = normalized(target), q = normalized(draft);
  Decisions made{p, Weights(p.size()), Weights(p.size())};
  for (size_t i = 0; i < p.size(); ++i) {
    made.ratio[i] = q[i] > 0 ? std::min(1.0, p[i] / q[i]) : 0;
    made.rest[i] = std::max(0.0, p[i] - q[i]);
    if (made.rest[i] < 1e-12) made.rest[i] = 0;
  }
  return made;
}

// What becomes of one level's drafts, each of which is accepted or drawn again.
void verify_independent(const Decisions& made, const Draws& drafts, const Draws& drawn, double probability,
                        const Visit& visit) {
  if (probability <= 0) return;
  if (drawn.size() == drafts.size()) return visit(drawn, probability);
  const size_t draft = drafts[drawn.size()];
  Draws next = drawn;
  next.push_back(draft);
  verify_independent(made, drafts, next, probability * made.ratio[draft], visit);
  const double sum = sum_of(made.rest), rejected = probability * (1 - made.ratio[draft]);
  for (size_t i = 0; i < made.rest.size() && sum > 0; ++i) {
    next.back() = i;
    verify_independent(made, drafts, next, rejected * made.rest[i] / sum, visit);
  }
}

// Likewise of different ones: K of the accepted, or all of them and draws from the rest.
void verify(const Level& level, const Draws& drafts, size_t beams, double probability, const Visit& visit) {
  Weights among = level.draft;  // q is over what the target's beams may continue with, as p is
  Draws kept;
  for (size_t i = 0; i < among.size(); ++i)
    if (level.target[i] == kNothing) among[i] = kNothing;
  for (const size_t draft : drafts)
    if (among[draft] > kNothing) kept.push_back(draft);
  const Decisions made = decisions(level.target, among);
  const size_t wanted = std::min(beams, positive(made.p));
  accept(made.ratio, kept, 0, {}, probability, [&](const Draws& accepted, double each) {
    if (accepted.size() < wanted) return draw_different({made.rest, made.p}, wanted, accepted, each, visit);
    Weights same(made.p.size());
    for (const size_t i : accepted) same[i] = 1;
    draw_different({same}, wanted, {}, each, visit);
  });
}

// Beams where a round begins.
Beams roots(const Paths& paths, const Weights& target) {
  return {paths, target, target, std::vector<bool>(paths.size(), true)};
}

// What a level's draws leave: the paths, their log-probabilities by the target, and, unless the round has ended, the
// draft's beams with them.
struct After {
  bool goes_on = false;
  Beams beams;
};

// A beam that has ended needs no row of the tree, and is among the next ones whether the draft has it or not.
After after(const Level& level, const Draws& drafts, const Draws& drawn) {
  After next;
  const auto has = [](const Draws& all, size_t i) { return std::find(all.begin(), all.end(), i) != all.end(); };
  next.goes_on =
      std::all_of(drawn.begin(), drawn.end(), [&](size_t i) { return has_ended(level.paths[i]) || has(drafts, i); });
  Draws members = drawn;
  if (next.goes_on) members.insert(members.end(), drafts.begin(), drafts.end());
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  for (const size_t i : members) {
    next.beams.paths.push_back(level.paths[i]);
    next.beams.target.push_back(level.target[i]);
    next.beams.draft.push_back(!next.goes_on ? level.target[i] : has(drafts, i) ? level.draft[i] : kNothing);
    next.beams.kept.push_back(has(drawn, i));
  }
  return next;
}

// Whether draws are what the request ends with, after `depth` codes; adds them to the law if so.
bool is_result(const Question& question, const Level& level, size_t depth, const Draws& drawn, double probability,
               Law& law) {
  const bool ended = std::all_of(drawn.begin(), drawn.end(), [&](size_t i) { return has_ended(level.paths[i]); });
  if (!ended && depth < question.world.codes.size()) return false;
  Paths sids;
  for (const size_t i : drawn) {
    sids.push_back(level.paths[i]);
    if (has_ended(sids.back())) sids.back().pop_back();
  }
  std::sort(sids.begin(), sids.end());
  law[sids] += probability;
  return true;
}

// States that are the same go on alike: the paths, those that were drawn, and the draft's log-probabilities.
using State = std::tuple<Paths, std::vector<bool>, Weights>;

// Every way of one level: the drafts and what is drawn, each sorted.
using Ways = std::map<std::pair<Draws, Draws>, double>;

Ways ways_of(const Question& question, const Level& level, bool last, bool with_replacement) {
  const auto drafts = static_cast<size_t>(question.drafts), wanted = static_cast<size_t>(question.beams);
  Ways ways;
  const auto add = [&](Draws drafted, Draws drawn, double probability) {
    std::sort(drafted.begin(), drafted.end());
    std::sort(drawn.begin(), drawn.end());
    ways[{drafted, drawn}] += probability;
  };
  const Weights p = normalized(level.target), q = normalized(level.draft);
  const bool alone = last || positive(q) == 0;
  const Visit draw_alone = [&](const Draws& drawn, double each) { add({}, drawn, each); };
  if (with_replacement && alone) draw_independent(p, wanted, {}, 1, draw_alone);
  if (with_replacement && !alone) {
    const Decisions made = decisions(level.target, level.draft);
    draw_independent(q, drafts, {}, 1, [&](const Draws& drafted, double each) {
      verify_independent(made, drafted, {}, each, [&](const Draws& drawn, double of) { add(drafted, drawn, of); });
    });
  }
  if (!with_replacement && alone) draw_different({p}, wanted, {}, 1, draw_alone);
  if (!with_replacement && !alone) {
    draw_different({q}, drafts, {}, 1, [&](const Draws& drafted, double each) {
      verify(level, drafted, wanted, each, [&](const Draws& drawn, double of) { add(drafted, drawn, of); });
    });
  }
  return ways;
}

void next_levels(const Question& question, const Beams& beams, size_t depth, bool with_replacement, double probability,
                 Law& law) {
  const Level level = level_after(question, beams);
  const bool last = depth + 1 == question.world.codes.size();
  std::map<State, std::pair<double, Beams>> states;
  for (const auto& [way, of_way] : ways_of(question, level, last, with_replacement)) {
    const double each = probability * of_way;
    if (is_result(question, level, depth + 1, way.second, each, law)) continue;
    After next = after(level, way.first, way.second);
    auto& state = states[{next.beams.paths, next.beams.kept, next.beams.draft}];
    state.first += each;
    state.second = std::move(next.beams);
  }
  for (const auto& [key, state] : states)
    next_levels(question, state.second, depth + 1, with_replacement, state.first, law);
}

// Of the target alone.
void target_levels(const Question& question, const Beams& beams, size_t depth, bool with_replacement,
                   double probability, Law& law) {
  const Level level = level_after(question, beams);
  const auto wanted = static_cast<size_t>(question.beams);
  std::map<Paths, std::pair<double, Beams>> states;
  const Visit visit = [&](const Draws& drawn, double each) {
    if (is_result(question, level, depth + 1, drawn, each, law)) return;
    Draws members = drawn;
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    const Beams next = after(level, members, members).beams;
    auto& state = states[next.paths];
    state.first += each;
    state.second = next;
  };
  if (with_replacement)
    draw_independent(normalized(level.target), wanted, {}, probability, visit);
  else
    draw_different({normalized(level.target)}, wanted, {}, probability, visit);
  for (const auto& [paths, state] : states)
    target_levels(question, state.second, depth + 1, with_replacement, state.first, law);
}

double log_sum(const Weights& x) {
  const double largest = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double each : x) sum += std::exp(each - largest);
  return largest + std::log(sum);
}

}  // namespace

std::set<Path> sids_of(const fakes::Codes& codes, const handles::SidRows& rows) {
  std::set<Path> all;
  auto row = rows.codes.begin();
  for (const int32_t length : rows.lengths) {
    all.insert(Path(row, row + length));
    row += static_cast<std::ptrdiff_t>(codes.size());
  }
  return all;
}

double log_prob(const Question& question, const Path& path, trees::Kind kind) {
  const fakes::World& world = question.world;
  const auto level = static_cast<int32_t>(path.size()) - 1;
  fakes::Codes tokens;
  for (size_t l = 0; l + 1 < path.size(); ++l) tokens.push_back(static_cast<int32_t>(world.offsets[l] + path[l]));
  const double factor = world.inverse_temperature > 0 ? double{world.inverse_temperature} : 1.0;
  const auto x = [&](int64_t column) {
    double value = double{trees::changed(kind, world.element(question.prompt, tokens, level, column), column)};
    if (world.soft_cap > 0 && std::isfinite(value))
      value = double{world.soft_cap} * std::tanh(value / double{world.soft_cap});
    return factor * value;
  };
  const auto column_of = [&](int32_t code) {
    if (code == kEnd) return world.output->full() ? world.tokens - 1 : int64_t{0};
    return world.output->full() ? world.offsets[static_cast<size_t>(level)] + code : int64_t{1} + code;
  };
  Weights all;
  if (world.normalization == SIDBEAM_NORMALIZE_FULL) {
    for (int64_t column = 0; column < world.tokens; ++column) all.push_back(x(column));
  } else if (world.normalization == SIDBEAM_NORMALIZE_LEVEL) {
    for (int32_t code = world.variable ? kEnd : 0; code < world.codes[static_cast<size_t>(level)]; ++code)
      all.push_back(x(column_of(code)));
  } else {
    for (const int32_t code : valid_after(question, Path(path.begin(), path.end() - 1)))
      all.push_back(x(column_of(code)));
  }
  const double sum = log_sum(all), own = x(column_of(path.back()));
  return std::isfinite(sum) ? own - sum : kNothing;  // NaN, and nothing but -inf, draft nothing
}

Law draws_with_replacement(const Question& question) {
  Law law;
  target_levels(question, roots({{}}, {0}), 0, true, 1, law);
  return law;
}

Law draws_without_replacement(const Question& question) {
  Law law;
  target_levels(question, roots({{}}, {0}), 0, false, 1, law);
  return law;
}

Law rounds_with_replacement(const Question& question) {
  Law law;
  next_levels(question, roots({{}}, {0}), 0, true, 1, law);
  return law;
}

Law released_rounds(const Question& question) {
  Law law;
  next_levels(question, roots({{}}, {0}), 0, false, 1, law);
  return law;
}

Path path_of(const fakes::Found& found, int32_t levels, size_t i) {
  const auto first = found.sids.begin() + static_cast<std::ptrdiff_t>(i) * levels;
  return {first, std::find(first, first + levels, -1)};
}

Paths paths_of(const fakes::Found& found, int32_t levels) {
  Paths paths;
  for (size_t i = 0; i < found.scores.size(); ++i) paths.push_back(path_of(found, levels, i));
  std::sort(paths.begin(), paths.end());
  return paths;
}

double total_variation(const Law& a, const Law& b) {
  double sum = 0;
  for (const auto& [paths, probability] : a) {
    const auto found = b.find(paths);
    sum += std::fabs(probability - (found == b.end() ? 0 : found->second));
  }
  for (const auto& [paths, probability] : b)
    if (a.find(paths) == a.end()) sum += probability;
  return sum / 2;
}

}  // namespace sidbeam::runner::laws
