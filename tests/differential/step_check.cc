// One step of one slot against the oracle.
//
// Where f32 is exact (log-probabilities or their log-sum-exp given, no soft-cap) everything must be equal to the bit.
// Elsewhere each score must be near the float64 score of the same candidate, the order must follow the scores that were
// returned, and no candidate left out may be better than the last kept one by more than the tolerance.
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>

#include "checks.h"

namespace differential {
namespace {

constexpr double kHalfUlp = 0x1p-24;  // relative rounding of one f32 operation

// A soft-capped x is that of an f32 tanh; 16 half ulps of the cap are more than any one errs by that deserves its name.
double x_tolerance(const oracle::Rules& rules) {
  const float t = rules.inverse_temperature == 0 ? 1 : rules.inverse_temperature;
  return 16 * kHalfUlp * double{rules.soft_cap} * double{t};
}

bool exact(const SlotStep& at) {
  return at.rules.soft_cap == 0 &&
         (at.world.c.given_lse != 0 || at.rules.normalization == oracle::Normalization::kNone);
}

// How far an f32 score may be from the float64 one. log-prob = (x - ref) - log(sum): the sum is within 1e-6 relative,
// which its logarithm turns into 1e-6; then x - ref, the logarithm and their difference are each rounded once (|x -
// ref| <= |log-prob| + |log sum|, and the sum of n terms is at most a factor e from n or 1), and the score once.
double tolerance(const SlotStep& at, const oracle::Candidate& candidate, size_t columns) {
  if (candidate.code == -1) return 0;
  const double log_sum = std::log(static_cast<double>(columns)) + 1;
  const double rounding = kHalfUlp * (2 * std::fabs(candidate.log_prob) + 2 * log_sum + std::fabs(candidate.score));
  return (exact(at) ? 0 : 1e-6) + rounding + 2 * x_tolerance(at.rules);
}

void check_exact(const std::vector<oracle::Candidate>& candidates, const Snapshot& after, int width) {
  const auto kept = oracle::best(candidates, width);
  for (size_t k = 0; k < kept.size(); ++k) {
    expect(after.parents[k] == kept[k].parent && after.codes[k] == kept[k].code &&
               std::bit_cast<uint32_t>(after.scores[k]) == std::bit_cast<uint32_t>(kept[k].score32),
           "beam ", k, " is (parent ", after.parents[k], ", code ", after.codes[k], ", score ", after.scores[k],
           ") and should be (", kept[k].parent, ", ", kept[k].code, ", ", kept[k].score32, ")");
  }
}

void check_order(const Snapshot& after, size_t k) {
  const float score = after.scores[k], before = after.scores[k - 1];
  const auto place = std::pair{after.parents[k], after.codes[k]};
  const auto place_before = std::pair{after.parents[k - 1], after.codes[k - 1]};
  expect(score < before || (score == before && place > place_before), "beams ", k - 1, " and ", k,
         " are out of order: ", before, " and ", score, ", parents ", place_before.first, " and ", place.first);
}

void check_near(const SlotStep& at, const std::vector<oracle::Candidate>& candidates, const Snapshot& after,
                size_t live, size_t columns) {
  std::map<std::pair<int, int>, const oracle::Candidate*> left;
  for (const oracle::Candidate& candidate : candidates) left[{candidate.parent, candidate.code}] = &candidate;
  double last_tolerance = 0;
  for (size_t k = 0; k < live; ++k) {
    const auto found = left.find({after.parents[k], after.codes[k]});
    expect(found != left.end(), "beam ", k, " (parent ", after.parents[k], ", code ", after.codes[k],
           ") is no candidate, or was returned twice");
    const oracle::Candidate& candidate = *found->second;
    last_tolerance = tolerance(at, candidate, columns);
    const double difference = std::fabs(double{after.scores[k]} - candidate.score);
    expect(difference <= last_tolerance, "beam ", k, " (parent ", candidate.parent, ", code ", candidate.code,
           ") scored ", after.scores[k], ", float64 says ", candidate.score, ": ", difference, " apart, allowed ",
           last_tolerance);
    expect(after.scores[k] != 0 || !std::signbit(after.scores[k]), "beam ", k, " scored -0");
    if (k > 0) check_order(after, k);
    left.erase(found);
  }
  for (const auto& [place, candidate] : left) {
    const double last = double{after.scores[live - 1]};
    expect(candidate->score <= last + last_tolerance + tolerance(at, *candidate, columns), "candidate (parent ",
           place.first, ", code ", place.second, ") of score ", candidate->score,
           " was left out, and the last kept one has ", last);
  }
}

void check_dead(const Snapshot& after, size_t live) {
  for (size_t k = live; k < after.scores.size(); ++k) {
    expect(after.parents[k] == -1 && after.codes[k] == -1 &&
               after.scores[k] == -std::numeric_limits<float>::infinity() && after.states[k] == -1,
           "dead beam ", k, " has parent ", after.parents[k], ", code ", after.codes[k], ", score ", after.scores[k],
           ", state ", after.states[k]);
  }
}

void count_features(const SlotStep& at, const oracle::Outcome& outcome, size_t live, int error, Coverage* coverage) {
  ++(*coverage)[exact(at) ? "steps compared bit for bit" : "steps compared within tolerance"];
  if (live == 0) ++(*coverage)["steps that leave nothing"];
  if (live > 0 && live < static_cast<size_t>(at.width)) ++(*coverage)["steps with fewer candidates than the width"];
  if ((error & SIDBEAM_SLOT_BAD_ROW) != 0) ++(*coverage)["bad rows that are errors"];
  if ((error & SIDBEAM_SLOT_BAD_LSE) != 0) ++(*coverage)["bad normalisers of the caller's that are errors"];
  if (!(outcome.bad_rows.empty() && outcome.bad_lses.empty()) && error == 0)
    ++(*coverage)["bad rows that cannot matter"];
  for (const oracle::Candidate& candidate : outcome.candidates) {
    if (candidate.code == -1) ++(*coverage)["ended beams that compete"];
  }
}

}  // namespace

void check_step(const SlotStep& at, const Snapshot& after, std::vector<oracle::Beam>* beams, int* error,
                Coverage* coverage) {
  std::vector<oracle::Row> rows;
  size_t columns = 1;
  for (size_t m = 0; m < beams->size(); ++m) {
    rows.push_back(decoded(at.world, at.rows[m]));
    columns = std::max(columns, rows.back().elements.size());
  }
  const oracle::Outcome outcome = oracle::step(at.catalogue, at.rules, at.level, *beams, rows);
  const auto live = std::min(outcome.candidates.size(), static_cast<size_t>(at.width));
  if (outcome.closest_miss <= 2 * x_tolerance(at.rules)) {
    ++(*coverage)["steps that a soft-cap leaves open"];
    *error = after.error;
  } else {
    expect(after.live == static_cast<int>(live), "live is ", after.live, " and should be ", live, " of ",
           outcome.candidates.size(), " candidates");
    if (exact(at)) {
      check_exact(outcome.candidates, after, at.width);
    } else {
      check_near(at, outcome.candidates, after, live, columns);
    }
    const float last = live == 0 ? 0 : after.scores[live - 1];
    const auto in_error = [&](const std::vector<int>& bad) {
      return oracle::in_error(bad, *beams, static_cast<int>(live), last, at.width);
    };
    const int flags = (in_error(outcome.bad_rows) ? SIDBEAM_SLOT_BAD_ROW : 0) |
                      (in_error(outcome.bad_lses) ? SIDBEAM_SLOT_BAD_LSE : 0);
    *error |= flags;
    expect(after.error == *error, "error flags are ", after.error, " and should be ", *error);
    count_features(at, outcome, live, flags, coverage);
  }
  check_dead(after, static_cast<size_t>(after.live));

  std::vector<oracle::Beam> next;
  for (size_t k = 0; k < static_cast<size_t>(after.live); ++k) {
    next.push_back(oracle::continued(at.catalogue, *beams, after.parents[k], after.codes[k], after.scores[k]));
  }
  *beams = next;
}

}  // namespace differential
