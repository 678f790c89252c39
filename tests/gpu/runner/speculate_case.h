// Lanes of speculation, and plain ones of the target alone, with the small models on either device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../unit/models.h"
#include "device_place.h"
#include "lane_case.h"
#include "runner/capi/speculation.h"
#include "small_catalogue.h"

namespace gpu {

using namespace sidbeam::runner;

struct SpeculateCase {
  const char *target = "qwen3", *draft = "llama";
  int32_t draft_beams = kBeams;
  int32_t weights = SIDBEAM_WEIGHTS_F32, normalization = SIDBEAM_NORMALIZE_FULL, mode = SIDBEAM_MODE_SEARCH;
  bool variable = false, relaxed = false, without_replacement = false;

  std::string text() const;
};

// Catalogues of many and of few SIDs, on the device as well.
struct SpeculateWorld {
  explicit SpeculateWorld(bool variable);
  differential::Runtime runtime;
  differential::Constraint many, few, ruled;
};

// A batch's outcomes, and what its rounds did.
class RoundsCollector final : public Ended {
 public:
  explicit RoundsCollector(size_t jobs, std::atomic<bool>* flag = nullptr) : all(jobs), rounds(jobs), flag_(flag) {}
  void ended(int32_t job, const Outcome& outcome) override {
    all.ended(job, outcome);
    rounds[static_cast<size_t>(job)] = outcome.rounds;
    if (flag_ != nullptr) *flag_ = true;
  }
  Collector all;
  std::vector<Rounds> rounds;

 private:
  std::atomic<bool>* flag_;  // set by the first that ends
};

enum class Drafts { kWith, kWithout };

class SpeculateLane {
 public:
  SpeculateLane(const SpeculateCase& c, const SpeculateWorld& w, int32_t device_type, Drafts drafts);
  RoundsCollector run(const std::vector<Job>& jobs, std::atomic<bool>* flag = nullptr);

 private:
  Service service_;  // what make_draft_lane() takes; it has no runner
  std::unique_ptr<Lane> lane_;
};

}  // namespace gpu
