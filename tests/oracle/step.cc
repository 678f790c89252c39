// The oracle's step: every candidate of a request, by the definitions of session.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "oracle.h"

namespace oracle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What the functions below share about one beam.
struct Place {
  const Catalogue& catalogue;
  const Rules& rules;
  size_t level;
  const Beam& beam;
  const Row& row;

  size_t column(int code) const {
    return static_cast<size_t>(code == catalogue.codes[level] ? rules.end_column
                                                              : rules.columns[level][static_cast<size_t>(code)]);
  }
  float element(int code) const { return row.elements[column(code)]; }
  float x(int code) const { return transformed(element(code), rules.soft_cap, rules.inverse_temperature); }
};

// Codes of the level, and the end where lengths vary.
std::vector<int> all_codes(const Catalogue& catalogue, size_t level) {
  std::vector<int> codes;
  for (int code = 0; code < catalogue.codes[level]; ++code) codes.push_back(code);
  if (catalogue.variable) codes.push_back(catalogue.codes[level]);
  return codes;
}

bool probes(const Place& at) {
  const bool last = at.level + 1 == at.catalogue.codes.size();
  return at.rules.strategy == Strategy::kSortedTopk || (at.rules.strategy == Strategy::kHashFinal && last);
}

// Elements that decide whether the row is bad.
std::vector<float> elements_read(const Place& at, const std::vector<int>& codes) {
  const bool children_only =
      at.row.lse || at.rules.normalization == Normalization::kNone || at.rules.normalization == Normalization::kValid;
  if (!children_only && at.rules.normalization == Normalization::kFull) return at.row.elements;
  const bool whole_level = probes(at) || !children_only;
  std::vector<float> elements;
  for (int code : whole_level ? all_codes(at.catalogue, at.level) : codes) elements.push_back(at.element(code));
  return elements;
}

bool is_bad(float value) { return std::isnan(value) || value == kInfinity; }

bool any_bad(const Rules& rules, const std::vector<float>& elements) {
  for (float element : elements) {
    const float x = transformed(element, rules.soft_cap, rules.inverse_temperature);
    if (is_bad(x)) return true;
  }
  return false;
}

// The K best codes of the level by x, ties to the lower code; and how close the choice was.
std::vector<int> top_k(const Place& at, double* closest_miss) {
  std::vector<int> codes = all_codes(at.catalogue, at.level);
  const size_t k = std::min(codes.size(), static_cast<size_t>(at.rules.top_k));
  std::partial_sort(codes.begin(), codes.begin() + static_cast<std::ptrdiff_t>(k), codes.end(),
                    [&](int a, int b) { return at.x(a) != at.x(b) ? at.x(a) > at.x(b) : a < b; });
  for (size_t in = 0; in < k && at.rules.soft_cap > 0; ++in) {
    for (size_t out = k; out < codes.size(); ++out) {
      if (at.element(codes[in]) == at.element(codes[out]) || at.x(codes[in]) == -kInfinity) continue;
      *closest_miss = std::min(*closest_miss, double{at.x(codes[in])} - double{at.x(codes[out])});
    }
  }
  codes.resize(k);
  return codes;
}

std::vector<int> only_valid(const Catalogue& catalogue, const Sid& prefix, const std::vector<int>& codes) {
  const std::vector<int> valid = children(catalogue, prefix);
  std::vector<int> kept;
  for (int code : valid) {
    if (std::find(codes.begin(), codes.end(), code) != codes.end()) kept.push_back(code);
  }
  return kept;
}

// log of the sum of exp, as its largest term and the rest: one number would lose the rest of a row around 1e30.
struct LogSum {
  double largest = 0, rest = 0;
};

LogSum log_sum_exp(const std::vector<double>& xs) {
  double largest = -std::numeric_limits<double>::infinity();
  for (double x : xs) largest = std::max(largest, x);
  if (std::isinf(largest)) return {largest, 0};
  double sum = 0;
  for (double x : xs) sum += std::exp(x - largest);
  return {largest, std::log(sum)};
}

// Log of what the candidates are divided by; largest -inf: the row has none.
LogSum normaliser(const Place& at, const std::vector<int>& codes) {
  if (at.row.lse) return {double{*at.row.lse}, 0};
  std::vector<double> xs;
  switch (at.rules.normalization) {
    case Normalization::kNone:
      return {0, 0};
    case Normalization::kFull:
      for (float element : at.row.elements) {
        xs.push_back(double{transformed(element, at.rules.soft_cap, at.rules.inverse_temperature)});
      }
      break;
    case Normalization::kLevel:
      for (int code : all_codes(at.catalogue, at.level)) xs.push_back(double{at.x(code)});
      break;
    case Normalization::kValid:
      for (int code : codes) xs.push_back(double{at.x(code)});
      break;
  }
  return log_sum_exp(xs);
}

// The candidates of one beam that is not ended. false: its row is bad.
bool beam_candidates(const Place& at, int parent, Outcome* outcome) {
  if (at.row.lse && *at.row.lse == -kInfinity) return true;  // a row without candidates, whatever its elements
  std::vector<int> codes;
  if (at.rules.strategy == Strategy::kExact) {
    codes = children(at.catalogue, at.beam.prefix);
  } else if (!probes(at)) {
    codes = all_codes(at.catalogue, at.level);
  }
  if (any_bad(at.rules, elements_read(at, codes))) return false;
  if (probes(at)) codes = only_valid(at.catalogue, at.beam.prefix, top_k(at, &outcome->closest_miss));

  const LogSum lse = normaliser(at, codes);
  if (lse.largest == -kInfinity) return true;
  const bool clamped = !at.row.lse && at.rules.normalization != Normalization::kNone;
  const size_t before = outcome->candidates.size();
  for (int code : codes) {
    const float x = at.x(code);
    if (x == -kInfinity) continue;
    Candidate candidate{parent, code, (double{x} - lse.largest) - lse.rest, 0, 0};
    if (clamped) candidate.log_prob = std::min(0.0, candidate.log_prob);
    candidate.score = double{at.beam.score} + candidate.log_prob;
    const float log_prob32 = clamped ? static_cast<float>(candidate.log_prob) : x - static_cast<float>(lse.largest);
    candidate.score32 = at.beam.score + log_prob32;
    if (candidate.score32 == 0) candidate.score32 = 0;  // -0 made +0
    if (candidate.score32 == kInfinity) {
      outcome->candidates.resize(before);
      return false;
    }
    if (candidate.score32 != -kInfinity) outcome->candidates.push_back(candidate);
  }
  return true;
}

}  // namespace

float transformed(float element, float soft_cap, float inverse_temperature) {
  const float t = inverse_temperature == 0 ? 1 : inverse_temperature;
  // f32 on purpose: x is an f32 in the library, and this product is exact to the bit. The soft-cap is not.
  if (soft_cap == 0 || std::isinf(element) || std::isnan(element)) return t * element;
  return static_cast<float>(double{t} * double{soft_cap} * std::tanh(double{element} / double{soft_cap}));
}

Outcome step(const Catalogue& catalogue, const Rules& rules, int level, const std::vector<Beam>& beams,
             const std::vector<Row>& rows) {
  Outcome outcome;
  for (size_t m = 0; m < beams.size(); ++m) {
    const Beam& beam = beams[m];
    const int parent = static_cast<int>(m);
    if (beam.ended) {
      outcome.candidates.push_back({parent, -1, 0, double{beam.score}, beam.score});
    } else if (rows[m].lse && is_bad(*rows[m].lse)) {
      outcome.bad_lses.push_back(parent);
    } else if (!beam_candidates({catalogue, rules, static_cast<size_t>(level), beam, rows[m]}, parent, &outcome)) {
      outcome.bad_rows.push_back(parent);
    }
  }
  return outcome;
}

std::vector<Candidate> best(const std::vector<Candidate>& candidates, int width) {
  std::vector<Candidate> kept(std::min(candidates.size(), static_cast<size_t>(width)));
  std::partial_sort_copy(candidates.begin(), candidates.end(), kept.begin(), kept.end(),
                         [](const Candidate& a, const Candidate& b) {
                           if (a.score32 != b.score32) return a.score32 > b.score32;
                           if (a.parent != b.parent) return a.parent < b.parent;
                           return a.code < b.code;
                         });
  return kept;
}

bool in_error(const std::vector<int>& bad, const std::vector<Beam>& beams, int kept, float last_score, int width) {
  for (int m : bad) {
    if (kept < width || beams[static_cast<size_t>(m)].score >= last_score) return true;
  }
  return false;
}

Beam continued(const Catalogue& catalogue, const std::vector<Beam>& beams, int parent, int code, float score) {
  Beam beam = beams[static_cast<size_t>(parent)];
  beam.score = score;
  if (code == -1) return beam;
  if (code == catalogue.codes[beam.prefix.size()]) {
    beam.ended = true;
  } else {
    beam.prefix.push_back(code);
  }
  return beam;
}

}  // namespace oracle
