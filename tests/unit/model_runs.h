// Teacher-forced runs of the small models' golden sequences, wherever the forward pass is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "models.h"

namespace sidbeam::runner {

using Logits = std::vector<float>;

inline std::vector<Prompt> prompts_of(const Golden& golden) {
  std::vector<Prompt> prompts;
  for (const History& history : golden.prompts) prompts.push_back(history.prompt());
  return prompts;
}

// The golden sequences as beams of a depth, for each of so many requests.
struct BeamLists {
  std::vector<int32_t> requests, tokens, slots, ancestors;

  BeamLists(const Golden& golden, int32_t count, int32_t depth) {
    // Another place at each depth, so that a mixed-up list of ancestors shows.
    const auto place = [](int32_t d, int32_t beam) {
      return unshared_slot(kSequences, d, (beam * 2 + d) % kSequences);
    };
    for (int32_t request = 0; request < count; ++request) {
      for (int32_t beam = 0; beam < kSequences; ++beam) {
        requests.push_back(request);
        tokens.push_back(golden.codes[static_cast<size_t>(beam * (kLevels - 1) + depth - 1)]);
        slots.push_back(place(depth, beam));
        for (int32_t d = 1; d <= depth; ++d) ancestors.push_back(place(d, beam));
      }
    }
  }
  int32_t rows() const { return static_cast<int32_t>(requests.size()); }
};

// Of a forward pass on the CPU; others say how they take lists and give logits.
class Runs {
 public:
  Runs(Forward& forward, const Golden& golden) : forward_(forward), golden_(golden) {}
  virtual ~Runs() = default;

  // Prefill and decoding of a batch: per prompt the logits after the prompt, then [levels - 1, sequences].
  std::vector<Logits> run(const std::vector<Prompt>& prompts) {
    std::vector<Logits> all(prompts.size());
    const auto count = static_cast<int32_t>(prompts.size());
    forward_.prefill(prompts.data(), count);
    std::vector<int32_t> requests(prompts.size());
    for (size_t i = 0; i < requests.size(); ++i) requests[i] = static_cast<int32_t>(i);
    take(requests, forward_.logits(0), all);
    for (int32_t depth = 1; depth < kLevels; ++depth) {
      const BeamLists beams(golden_, count, depth);
      take(beams.requests, decode(depth, beams), all);
    }
    return all;
  }

 protected:
  // Returns the logits of the beams.
  virtual const float* decode(int32_t depth, const BeamLists& beams) {
    forward_.decode(
        {beams.rows(), depth, beams.requests.data(), beams.tokens.data(), beams.slots.data(), beams.ancestors.data()});
    return forward_.logits(depth);
  }
  virtual Logits fetch(const float* logits, size_t count) { return {logits, logits + count}; }

 private:
  void take(const std::vector<int32_t>& requests, const float* logits, std::vector<Logits>& all) {
    const Logits here = fetch(logits, requests.size() * kVocabulary);
    for (size_t row = 0; row < requests.size(); ++row) {
      const auto first = here.begin() + static_cast<std::ptrdiff_t>(row * kVocabulary);
      Logits& to = all[static_cast<size_t>(requests[row])];
      to.insert(to.end(), first, first + kVocabulary);
    }
  }

  Forward& forward_;
  const Golden& golden_;
};

// What a host computed of the first positions of prompt 2, and the prompt that goes on after them.
struct GoldenKv {
  explicit GoldenKv(const Golden& golden) : rest(golden.prompts[2]) {
    const Values &given_keys = golden.all.at("keys"), &given_values = golden.all.at("values");
    elements = given_keys.shape[1] * given_keys.shape[2] * given_keys.shape[3];
    for (int64_t layer = 0; layer < given_keys.shape[0]; ++layer) {
      keys.push_back(given_keys.values.data() + layer * elements);
      values.push_back(given_values.values.data() + layer * elements);
    }
    kv.length = given_keys.shape[1], kv.keys = keys.data(), kv.values = values.data();
    rest.tokens.erase(rest.tokens.begin(), rest.tokens.begin() + kv.length);
  }
  GoldenKv(const GoldenKv&) = delete;
  GoldenKv& operator=(const GoldenKv&) = delete;

  Prompt prompt() const {
    Prompt given = rest.prompt();
    given.shared_kv = &kv;
    return given;
  }

  int64_t elements = 0;  // of a layer's keys
  std::vector<const void*> keys, values;
  sidbeam_shared_kv kv = SIDBEAM_SHARED_KV_INIT;
  History rest;
};

inline float distance(const float* a, const float* b, size_t n) {
  float most = 0.0F;
  for (size_t i = 0; i < n; ++i) most = std::max(most, std::isnan(a[i]) ? INFINITY : std::fabs(a[i] - b[i]));
  return most;
}

// From what transformers gives for a prompt, after it and at all depths.
inline float distance_from(const Golden& golden, size_t prompt, const Logits& logits) {
  float most = distance(logits.data(), golden.prefill(prompt), kVocabulary);
  for (int32_t depth = 1; depth < kLevels; ++depth)
    most = std::max(most, distance(logits.data() + (1 + (depth - 1) * kSequences) * kVocabulary,
                                   golden.decode(prompt, depth, 0), kSequences * kVocabulary));
  return most;
}

// Root mean square of the difference, relative to a.
inline double spread(const std::vector<Logits>& a, const std::vector<Logits>& b) {
  double difference = 0, total = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < a[i].size(); ++k) {
      difference += std::pow(static_cast<double>(a[i][k] - b[i][k]), 2);
      total += std::pow(static_cast<double>(a[i][k]), 2);
    }
  }
  return std::sqrt(difference / total);
}

}  // namespace sidbeam::runner
