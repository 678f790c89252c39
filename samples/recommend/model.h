// A small next-item model in place of a neural one: counts of what follows what, spread over codes. Like a neural model
// it gives every code of a level some probability, also after a prefix where that code leads to no item.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dataset.h"

namespace recommend {

struct Model {
  const Dataset* data;
  int64_t columns;  // of a row of logits: the codes of the widest level
  int64_t transitions = 0;
  struct Next {
    int32_t sid;
    float share;
  };
  std::vector<std::vector<Next>> next;  // [sids] what was taken near it, and how often
  std::vector<float> taken;             // [sids] how often
  std::vector<float> popularity;        // [sids] the same, smoothed; sums to 1
};

// Learns from the histories of data.train; targets and data.test stay unseen. `data` must outlive the model.
Model learn(const Dataset& data);

// What a user may take next: the probability of every SID [sids], and of every code of a level whatever precedes it
// [levels][columns].
struct Weights {
  std::vector<float> sid;
  std::vector<std::vector<float>> code;
};
Weights weigh(const Model& model, const std::vector<int32_t>& history);

// Writes logits of the code that follows `prefix` (of `level` codes) to row [columns]: log of P(code | prefix,
// history). The less a prefix was seen in training, the more the model trusts codes by their level alone. So it makes
// up SIDs whose codes are each likely but together name no item.
void logits(const Model& model, const Weights& weights, const int32_t* prefix, int32_t level, float* row);

}  // namespace recommend
