// The transition model, which needs no training: counts of what follows what, spread over items, and items over codes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dataset.h"

namespace recommend {

struct Transitions {
  const Dataset* data;
  int64_t columns;  // of a row of logits: the codes of the widest level
  int64_t counted = 0;
  struct Next {
    int32_t sid;
    double share;
  };
  std::vector<std::vector<Next>> next;  // [sids] what was taken near it, and how often
  std::vector<double> taken;            // [sids] how often
  std::vector<double> popularity;       // [sids] the same, smoothed; sums to 1
};

// Learns from the histories of data.train; targets and data.test stay unseen. `data` must outlive the model.
Transitions learn(const Dataset& data);

// What a user may take next: the probability of every SID [sids], and of every code of a level whatever precedes it
// [levels][columns].
struct Weights {
  std::vector<double> sid;
  std::vector<std::vector<double>> code;
};
Weights weigh(const Transitions& model, const std::vector<int32_t>& history);

// P(prefix, code | history) for every code that may follow `prefix` (of `level` codes), to row [columns]: weights
// summed over the SIDs that begin so, 0 where none does. Returns P(prefix | history).
double masses(const Transitions& model, const Weights& weights, const int32_t* prefix, int32_t level,
              std::vector<double>& row);

// How sure a model is that codes form SIDs.
enum class Smoothing {
  kNone,   // surely: codes that lead to no item have no probability
  kCodes,  // like a neural model it gives every code some: the less a prefix was seen in training, the more codes
           // count by their level alone, so that it makes up SIDs whose codes are each likely but name no item
};

// Writes logits of the code that follows `prefix` to row [columns]: log of P(code | prefix, history).
void logits(const Transitions& model, Smoothing smoothing, const Weights& weights, const int32_t* prefix, int32_t level,
            float* row);

}  // namespace recommend
