// NEZHA's draft head in float64, as the paper has it: equations 1-3 and Algorithm 3, one beam at a time. It shares no
// code with runtime/. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

namespace oracle {

using Vector = std::vector<double>;

enum class DraftInput { kBoth, kHidden, kState };
enum class DraftTransition { kRnn, kGru, kAdd, kNone };
enum class DraftVerification { kTrie, kHash, kNone };

// Matrices row by row; an empty bias is none.
struct DraftLayer {
  Vector head, head_bias;
  Vector embedding, input, input_bias, recurrent, recurrent_bias;  // not of the last level
};

struct DraftModel {
  int hidden = 1, embedding = 1;
  DraftInput input = DraftInput::kBoth;
  DraftTransition transition = DraftTransition::kRnn;
  std::vector<int> codes;
  std::vector<DraftLayer> layers;
  double (*rounded)(double) = nullptr;  // how hidden states and states are rounded for products; nullptr: not at all

  int levels() const { return static_cast<int>(codes.size()); }
};

struct DraftSid {
  std::vector<int> sid;
  double score = 0.0;
};

// Log-probabilities of level l, given its state s_l.
Vector draft_log_probs(const DraftModel& model, const std::vector<Vector>& hidden, int level, const Vector& state);
// The log-probability of a whole SID. hidden: h_0 .. h_L.
double draft_score(const DraftModel& model, const std::vector<Vector>& hidden, const std::vector<int>& sid);
// The best `beams` SIDs by beam search, best first; `top_k` codes per beam are looked up by the hash set.
std::vector<DraftSid> draft_search(const DraftModel& model, const std::vector<Vector>& hidden, int beams,
                                   DraftVerification verification, int top_k, const std::set<std::vector<int>>& valid);

}  // namespace oracle
