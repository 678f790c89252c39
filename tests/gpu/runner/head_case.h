// Small models with random draft heads, and lanes of them, on either device. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../random_head.h"
#include "../../unit/models.h"
#include "device_place.h"
#include "lane_case.h"
#include "runner/cuda/cuda_forward.h"

namespace gpu {

using namespace sidbeam::runner;

inline constexpr int64_t kEnding = 13;  // the number of a request that `adjust` ends at level 1

struct HeadCase {
  const char* model = "qwen3";
  int32_t weights = SIDBEAM_WEIGHTS_F32, dtype = SIDBEAM_DTYPE_F32;  // of the model and of the head
  int32_t input = SIDBEAM_DRAFT_INPUT_BOTH, transition = SIDBEAM_DRAFT_TRANSITION_GRU;
  int32_t strategy = SIDBEAM_STRATEGY_TRIE, normalization = SIDBEAM_NORMALIZE_FULL;
  int32_t beams = 6;
  bool adjusts = false;

  std::string text() const;
};

struct HeadModel {
  HeadModel(const std::string& name, int32_t device_type, int32_t weights = SIDBEAM_WEIGHTS_F32);
  int64_t hidden() const { return model->info().hidden; }
  sidbeam::Ref<Model> model;
};

History random_history(std::mt19937_64& random, size_t positions, int32_t group);

// States of batches with the placeholders of all tests, [prompts, 4, hidden].
std::vector<float> cpu_states(const HeadModel& model, const std::vector<int32_t>& begin,
                              const std::vector<Prompt>& prompts);
class DeviceStates {
 public:
  DeviceStates(const HeadModel& model, const std::vector<int32_t>& begin);
  std::vector<float> of(const std::vector<Prompt>& prompts);
  CudaForward& forward() { return forward_; }

 private:
  int64_t hidden_;
  CudaForward forward_;
};

// A head of three levels, and two catalogues for it, on the device as well.
struct HeadWorld {
  explicit HeadWorld(const HeadCase& of);
  HeadCase c;
  differential::Runtime runtime;
  heads::DraftHead head;
  handles::Index index;  // of `many`
  differential::Constraint many, few;
};

class HeadLane {
 public:
  HeadLane(const HeadWorld& w, int32_t device_type);
  Collector run(const std::vector<Job>& jobs);
  // How often the host's callback was called.
  int adjusted() const { return adjusted_; }

 private:
  HeadModel model_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<Lane> lane_;
  int adjusted_ = 0;
};

// What a decoder on the device makes of the states there, with the catalogue `many` and the trie.
std::vector<Found> decoded(const HeadWorld& w, const std::vector<Prompt>& prompts);

// What a runner answers to requests, one after the other.
std::vector<Found> answers(const HeadWorld& w, int32_t device_type, const std::vector<History>& histories);

}  // namespace gpu
