// SPDX-License-Identifier: Apache-2.0
#include "laws.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace speculation {
namespace {

using Weights = std::vector<double>;
using Draws = std::vector<int64_t>;
using Visit = std::function<void(const Draws& draws, double probability)>;

double sum_of(const Weights& weights) { return std::accumulate(weights.begin(), weights.end(), 0.0); }

Weights without(Weights weights, const Draws& out) {
  for (const int64_t i : out) weights[static_cast<size_t>(i)] = 0;
  return weights;
}

// Every way to draw up to `count` more, from the first of the distributions that has any left.
void draw_on(const std::vector<Weights>& from, size_t count, const Draws& drawn, double probability,
             const Visit& visit) {
  for (const Weights& all : from) {
    const Weights left = without(all, drawn);
    const double sum = sum_of(left);
    if (sum <= 0) continue;
    if (drawn.size() == count) break;
    for (size_t i = 0; i < left.size(); ++i) {
      if (left[i] <= 0) continue;
      Draws next = drawn;
      next.push_back(static_cast<int64_t>(i));
      draw_on(from, count, next, probability * left[i] / sum, visit);
    }
    return;
  }
  visit(drawn, probability);
}

// Every set of accepted drafts, in their order.
void accept_on(const Weights& ratio, const Draws& drafts, size_t at, const Draws& accepted, double probability,
               const Visit& visit) {
  if (at == drafts.size()) return visit(accepted, probability);
  const double accept = ratio[static_cast<size_t>(drafts[at])];
  Draws with = accepted;
  with.push_back(drafts[at]);
  if (accept > 0) accept_on(ratio, drafts, at + 1, with, probability * accept, visit);
  if (accept < 1) accept_on(ratio, drafts, at + 1, accepted, probability * (1 - accept), visit);
}

// What rejected drafts are replaced from: max(0, p - q).
Weights residual(const Weights& p, const Weights& q) {
  Weights rest(p.size());
  for (size_t i = 0; i < p.size(); ++i) rest[i] = std::max(0.0, p[i] - q[i]);
  return rest;
}

Law product(const Weights& one, int32_t beams) {
  Law law = {1};
  for (int32_t k = 0; k < beams; ++k) {
    Law longer;
    for (const double before : law)
      for (const double probability : one) longer.push_back(before * probability);
    law = longer;
  }
  return law;
}

}  // namespace

size_t outcomes(size_t n, int32_t beams) {
  size_t count = 1;
  for (int32_t k = 0; k < beams; ++k) count *= n;
  return count;
}

size_t outcome_of(size_t n, const std::vector<int64_t>& extensions) {
  size_t outcome = 0;
  for (const int64_t extension : extensions) outcome = outcome * n + static_cast<size_t>(extension);
  return outcome;
}

std::vector<double> probabilities(const std::vector<float>& log_probs, float inverse_temperature) {
  Weights weights;
  const double factor = inverse_temperature > 0 ? double{inverse_temperature} : 1;
  for (const float log_prob : log_probs) weights.push_back(std::exp(factor * double{log_prob}));
  const double sum = sum_of(weights);
  for (double& weight : weights) weight /= sum;
  return weights;
}

Law independent_draws(const Lists& lists, const Form& form) {
  return product(probabilities(lists.target, form.inverse_temperature), form.beams);
}

Law draws_without_replacement(const Lists& lists, const Form& form) {
  Law law(outcomes(lists.target.size(), form.beams));
  draw_on({probabilities(lists.target, form.inverse_temperature)}, static_cast<size_t>(form.beams), {}, 1,
          [&](const Draws& drawn, double probability) { law[outcome_of(lists.target.size(), drawn)] += probability; });
  return law;
}

// One draw: every draft, accepted or replaced.
Law law_with_replacement(const Lists& lists, const Form& form) {
  const Weights p = probabilities(lists.target, form.inverse_temperature),
                q = probabilities(lists.draft, form.inverse_temperature), rest = residual(p, q);
  Weights one(p.size());
  for (size_t draft = 0; draft < q.size(); ++draft) {
    if (q[draft] <= 0) continue;
    const double accept = std::min(1.0, p[draft] / q[draft]);
    one[draft] += q[draft] * accept;
    if (accept >= 1) continue;
    for (size_t i = 0; i < p.size(); ++i) one[i] += q[draft] * (1 - accept) * rest[i] / sum_of(rest);
  }
  return product(one, form.beams);
}

Law law_without_replacement(const Lists& lists, const Form& form) {
  const size_t n = lists.target.size();
  const Weights p = probabilities(lists.target, form.inverse_temperature),
                q = probabilities(lists.draft, form.inverse_temperature), rest = residual(p, q);
  Weights ratio(n);
  for (size_t i = 0; i < n; ++i) ratio[i] = q[i] > 0 ? std::min(1.0, p[i] / q[i]) : 0;
  const auto beams = static_cast<size_t>(form.beams);
  Law law(outcomes(n, form.beams));
  const Visit finish = [&](const Draws& accepted, double probability) {
    const Visit count = [&](const Draws& out, double each) { law[outcome_of(n, out)] += each; };
    if (accepted.size() < beams) return draw_on({rest, p}, beams, accepted, probability, count);
    Weights same(n);
    for (const int64_t i : accepted) same[static_cast<size_t>(i)] = 1;
    draw_on({same}, beams, {}, probability, count);  // K of the accepted, at random
  };
  draw_on({q}, static_cast<size_t>(form.drafts), {}, 1,
          [&](const Draws& drafts, double probability) { accept_on(ratio, drafts, 0, {}, probability, finish); });
  return law;
}

Law as_sets(size_t n, const Law& law) {
  Law sets(law.size());
  for (size_t outcome = 0; outcome < law.size(); ++outcome) {
    Draws members;
    for (size_t rest = outcome, left = law.size(); left > 1; left /= n, rest /= n)
      members.push_back(static_cast<int64_t>(rest % n));
    std::sort(members.begin(), members.end());
    sets[outcome_of(n, members)] += law[outcome];
  }
  return sets;
}

double distance(const Law& a, const Law& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::fabs(a[i] - b[i]);
  return sum / 2;
}

}  // namespace speculation
