// What lanes tell of batches of three-level SIDs, and a device's beside the CPU's. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "library.h"
#include "runner/schedule/lane.h"

namespace gpu {

using sidbeam::runner::Ended;
using sidbeam::runner::Outcome;

struct Found {
  sidbeam_status status = SIDBEAM_INTERNAL;
  std::vector<int32_t> sids;
  std::vector<float> scores;
  std::vector<int64_t> ordinals;
  int endings = 0;
  bool operator==(const Found&) const = default;
};

class Collector final : public Ended {
 public:
  explicit Collector(size_t jobs) : found(jobs) {}
  void ended(int32_t job, const Outcome& outcome) override {
    Found& one = found[static_cast<size_t>(job)];
    ++one.endings;
    one.status = outcome.status;
    one.sids.assign(outcome.sids, outcome.sids + outcome.live * 3);
    one.scores.assign(outcome.scores, outcome.scores + outcome.live);
    one.ordinals.assign(outcome.ordinals, outcome.ordinals + outcome.live);
    if (outcome.status != SIDBEAM_OK) message = outcome.message;
  }
  std::vector<Found> found;
  std::string message;
};

// Scores within `allowed`, and the same SIDs where no neighbour is so near.
inline void compare(const Found& there, const Found& here, const std::string& what, float allowed = 1e-4F) {
  differential::expect(there.endings == 1 && here.endings == 1, what, ": ended ", there.endings, " times");
  differential::expect(there.status == here.status, what, ": status ", there.status, ", expected ", here.status);
  differential::expect(there.scores.size() == here.scores.size(), what, ": ", there.scores.size(), " beams, expected ",
                       here.scores.size());
  const size_t count = here.scores.size();
  for (size_t i = 0; i < count; ++i) {
    differential::expect(std::fabs(there.scores[i] - here.scores[i]) < allowed, what, ": score ", i, " is ",
                         there.scores[i], ", expected ", here.scores[i]);
    const auto is_near = [&](size_t other) { return std::fabs(here.scores[other] - here.scores[i]) < 2 * allowed; };
    const bool near = (i > 0 && is_near(i - 1)) || (i + 1 < count && is_near(i + 1));
    if (near) continue;
    differential::expect(there.ordinals[i] == here.ordinals[i], what, ": other item at ", i);
    differential::expect(std::equal(there.sids.begin() + static_cast<std::ptrdiff_t>(3 * i),
                                    there.sids.begin() + static_cast<std::ptrdiff_t>(3 * i + 3),
                                    here.sids.begin() + static_cast<std::ptrdiff_t>(3 * i)),
                         what, ": other SID at ", i);
  }
}

}  // namespace gpu
