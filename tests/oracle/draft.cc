// SPDX-License-Identifier: Apache-2.0
#include "draft.h"

#include <algorithm>
#include <cmath>

namespace oracle {
namespace {

using Sid = std::vector<int>;

struct Beam {
  Sid sid;
  double score = 0.0;
  Vector state;
};

// matrix [rows, x.size()] times x, plus bias.
Vector product(const Vector& matrix, const Vector& x, const Vector& bias) {
  Vector y(matrix.size() / x.size());
  for (size_t row = 0; row < y.size(); ++row) {
    y[row] = bias.empty() ? 0.0 : bias[row];
    for (size_t i = 0; i < x.size(); ++i) y[row] += matrix[row * x.size() + i] * x[i];
  }
  return y;
}

Vector rounded(const DraftModel& model, Vector x) {
  if (model.rounded != nullptr) std::transform(x.begin(), x.end(), x.begin(), model.rounded);
  return x;
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// torch.nn.GRUCell.
Vector gru(const Vector& in, const Vector& recurrent, const Vector& state) {
  const size_t n = state.size();
  Vector next(n);
  for (size_t i = 0; i < n; ++i) {
    const double reset = sigmoid(in[i] + recurrent[i]);
    const double update = sigmoid(in[n + i] + recurrent[n + i]);
    const double fresh = std::tanh(in[2 * n + i] + reset * recurrent[2 * n + i]);
    next[i] = (1.0 - update) * fresh + update * state[i];
  }
  return next;
}

Vector transition(const DraftModel& model, int level, const Vector& state, int code) {
  const DraftLayer& layer = model.layers[static_cast<size_t>(level)];
  if (model.transition == DraftTransition::kNone) return state;
  const auto first = layer.embedding.begin() + static_cast<std::ptrdiff_t>(code) * model.embedding;
  const Vector embedding(first, first + model.embedding);
  Vector next = state;
  if (model.transition == DraftTransition::kAdd) {
    for (size_t i = 0; i < next.size(); ++i) next[i] += embedding[i];
    return next;
  }
  const Vector in = product(layer.input, embedding, layer.input_bias);
  const Vector recurrent = product(layer.recurrent, rounded(model, state), layer.recurrent_bias);
  if (model.transition == DraftTransition::kGru) return gru(in, recurrent, state);
  for (size_t i = 0; i < next.size(); ++i) next[i] = std::tanh(in[i] + recurrent[i]);
  return next;
}

std::set<Sid> prefixes_of(const std::set<Sid>& sids) {
  std::set<Sid> prefixes;
  for (const Sid& sid : sids)
    for (size_t length = 1; length <= sid.size(); ++length)
      prefixes.insert(Sid(sid.begin(), sid.begin() + static_cast<std::ptrdiff_t>(length)));
  return prefixes;
}

// The codes of a level by log-probability falling, then code rising.
std::vector<int> ranked(const Vector& log_probs) {
  std::vector<int> codes(log_probs.size());
  for (size_t t = 0; t < codes.size(); ++t) codes[t] = static_cast<int>(t);
  std::stable_sort(codes.begin(), codes.end(),
                   [&](int a, int b) { return log_probs[static_cast<size_t>(a)] > log_probs[static_cast<size_t>(b)]; });
  return codes;
}

}  // namespace

Vector draft_log_probs(const DraftModel& model, const std::vector<Vector>& hidden, int level, const Vector& state) {
  const DraftLayer& layer = model.layers[static_cast<size_t>(level)];
  Vector x;
  if (model.input != DraftInput::kState) x = hidden[static_cast<size_t>(level) + 1];
  if (model.input != DraftInput::kHidden) x.insert(x.end(), state.begin(), state.end());
  Vector logits = product(layer.head, rounded(model, x), layer.head_bias);
  double sum = 0.0;
  const double most = *std::max_element(logits.begin(), logits.end());
  for (const double logit : logits) sum += std::exp(logit - most);
  for (double& logit : logits) logit -= most + std::log(sum);
  return logits;
}

double draft_score(const DraftModel& model, const std::vector<Vector>& hidden, const Sid& sid) {
  Vector state = hidden[0];
  double score = 0.0;
  for (int l = 0; l < model.levels(); ++l) {
    const int code = sid[static_cast<size_t>(l)];
    score += draft_log_probs(model, hidden, l, state)[static_cast<size_t>(code)];
    if (l + 1 < model.levels()) state = transition(model, l, state, code);
  }
  return score;
}

std::vector<DraftSid> draft_search(const DraftModel& model, const std::vector<Vector>& hidden, int beams,
                                   DraftVerification verification, int top_k, const std::set<Sid>& valid) {
  const std::set<Sid> prefixes = prefixes_of(valid);
  std::vector<Beam> live = {{{}, 0.0, hidden[0]}};
  for (int l = 0; l < model.levels(); ++l) {
    const bool last = l + 1 == model.levels();
    std::vector<Beam> next;
    for (const Beam& beam : live) {
      const Vector log_probs = draft_log_probs(model, hidden, l, beam.state);
      std::vector<int> codes = ranked(log_probs);
      if (last && verification == DraftVerification::kHash)
        codes.resize(std::min(codes.size(), static_cast<size_t>(top_k)));
      for (const int code : codes) {
        Beam child = {beam.sid, beam.score + log_probs[static_cast<size_t>(code)], beam.state};
        child.sid.push_back(code);
        if (verification == DraftVerification::kTrie && !prefixes.contains(child.sid)) continue;
        if (last && verification == DraftVerification::kHash && !valid.contains(child.sid)) continue;
        next.push_back(std::move(child));
      }
    }
    std::stable_sort(next.begin(), next.end(), [](const Beam& a, const Beam& b) { return a.score > b.score; });
    next.resize(std::min(next.size(), static_cast<size_t>(beams)));
    live = std::move(next);
    for (Beam& beam : live)
      if (!last) beam.state = transition(model, l, beam.state, beam.sid.back());
  }
  std::vector<DraftSid> found;
  for (const Beam& beam : live) found.push_back({beam.sid, beam.score});
  return found;
}

}  // namespace oracle
