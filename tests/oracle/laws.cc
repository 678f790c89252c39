// SPDX-License-Identifier: Apache-2.0
#include "laws.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double sum(const Law& law) { return std::accumulate(law.begin(), law.end(), 0.0); }

struct Path {
  Sid prefix;
  double p = 1, x = 1, plain = 1;
};

void walk(const Sampler& sampler, const Path& path, Laws& laws) {
  if (path.prefix.size() == sampler.catalogue.codes.size()) {
    const auto ordinal = static_cast<size_t>(ordinal_of(sampler.catalogue, path.prefix));
    laws.p[ordinal] = path.p, laws.x[ordinal] = path.x, laws.plain[ordinal] = path.plain;
    return;
  }
  const Level& level = sampler.levels.at(path.prefix);
  if (level.codes.empty()) laws.dead += path.plain;
  for (size_t i = 0; i < level.codes.size(); ++i) {
    Path next = {path.prefix, path.p * level.p[i], path.x * level.mass, path.plain * (level.p[i] / level.mass)};
    if (level.codes[i] == sampler.catalogue.codes[path.prefix.size()]) {
      const auto ordinal = static_cast<size_t>(ordinal_of(sampler.catalogue, path.prefix));
      laws.p[ordinal] = next.p, laws.x[ordinal] = next.x, laws.plain[ordinal] = next.plain;
      continue;
    }
    next.prefix.push_back(level.codes[i]);
    walk(sampler, next, laws);
  }
}

// All ways to share K draws between outcomes i, i + 1, ...: `weight` is the multinomial probability of the counts so
// far, K! left out, and `total` the x of what was drawn.
struct Shares {
  const Law& law;  // the dead last
  const Law& x;
  Law counts, result;

  void visit(size_t i, int left, double weight, double total) {
    if (i + 1 < law.size()) {
      double power = 1;
      for (int c = 0; c <= left && power > 0; power *= law[i] / ++c) {
        counts[i] = c;
        visit(i + 1, left - c, weight * power, total + c * x[i]);
      }
      counts[i] = 0;
      return;
    }
    for (int c = 1; c <= left; ++c) weight *= law[i] / c;
    if (total == 0) result.back() += weight;
    for (size_t k = 0; total > 0 && k < i; ++k) result[k] += weight * counts[k] * x[k] / total;
  }
};

// `time` is the prefix's. Once the first SID below it has arrived, the others have forgotten how long that took.
void perturb(const Sampler& sampler, const NoiseOf& noise_of, const Sid& prefix, double p, double time, Law& scores) {
  if (prefix.size() == sampler.catalogue.codes.size()) {
    scores[static_cast<size_t>(ordinal_of(sampler.catalogue, prefix))] = -std::log(time);
    return;
  }
  const Level& level = sampler.levels.at(prefix);
  double earliest = kInfinity;
  std::vector<double> waits;
  for (size_t i = 0; i < level.codes.size(); ++i) {
    Sid next = prefix;
    next.push_back(level.codes[i]);
    waits.push_back(noise_of(next) / (p * level.p[i] / level.mass));
    earliest = std::min(earliest, waits.back());
  }
  for (size_t i = 0; i < level.codes.size(); ++i) {
    const double arrival = time + (waits[i] - earliest);
    Sid next = prefix;
    next.push_back(level.codes[i]);
    if (level.codes[i] == sampler.catalogue.codes[prefix.size()])
      scores[static_cast<size_t>(ordinal_of(sampler.catalogue, prefix))] = -std::log(arrival);
    else
      perturb(sampler, noise_of, next, p * level.p[i] / level.mass, arrival, scores);
  }
}

uint64_t mixed(uint64_t bits) {  // splitmix64
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
  return bits ^ bits >> 31;
}

}  // namespace

Laws enumerate(const Sampler& sampler) {
  const Law zeros(sampler.catalogue.sids.size(), 0);
  Laws laws{zeros, zeros, zeros, 0};
  walk(sampler, {}, laws);
  return laws;
}

double mass_of(const Laws& laws) { return sum(laws.p); }

Law exact_law(const Laws& laws) {
  Law law = laws.p;
  for (double& p : law) p /= mass_of(laws);
  return law;
}

Law resampled_law(const Law& law, const Law& x, double dead, int rounds) {
  Law outcomes = law;
  outcomes.push_back(dead);
  Law of_dead = x;
  of_dead.push_back(0);
  Shares shares{outcomes, of_dead, Law(outcomes.size(), 0), Law(outcomes.size(), 0)};
  shares.visit(0, rounds, std::tgamma(rounds + 1), 0);
  return shares.result;
}

DiscLaw disc_law(const Law& law, const Law& x, double dead, int rounds) {
  double accepted = 0;  // by one draw
  for (size_t i = 0; i < law.size(); ++i) accepted += law[i] * x[i];
  DiscLaw result{Law(law.size(), 0), 0, 0, 0};
  double reached = 1;  // that a round is
  for (int k = 1; k <= rounds; ++k) {
    for (size_t i = 0; i < law.size(); ++i) result.law[i] += reached * law[i] * x[i];
    result.accepted += reached * accepted;
    result.draws += reached * accepted * k;
    reached *= 1 - accepted;
  }
  const Law resampled = resampled_law(law, x, dead, rounds);
  for (size_t i = 0; i < law.size(); ++i) result.law[i] += reached * resampled[i];
  result.dead = reached * resampled.back();
  result.draws += reached * 2 * rounds;
  return result;
}

Law better_of_two(const Law& law, const Law& p) {
  Law result(law.size(), 0);
  for (size_t a = 0; a < law.size(); ++a) {
    if (law[a] == 1) result[a] = 1;
    for (size_t b = 0; b < law.size(); ++b) {
      const bool better = p[a] > p[b] || (p[a] == p[b] && a < b);
      if (a != b && better && law[a] > 0) result[a] += law[a] * law[b] * (1 / (1 - law[a]) + 1 / (1 - law[b]));
    }
  }
  return result;
}

double kl(const Law& target, const Law& law) {
  double divergence = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] > 0) divergence += target[i] * std::log(target[i] / law[i]);
  }
  return divergence;
}

double kl_bound(double bad_mass, int rounds) {
  const double good = 1 - bad_mass;
  return std::pow(bad_mass, rounds) * (std::sqrt(bad_mass / (rounds * good)) + bad_mass / (2 * rounds * good));
}

Law perturbed_scores(const Sampler& sampler, const NoiseOf& noise_of) {
  Law scores(sampler.catalogue.sids.size(), -kInfinity);
  perturb(sampler, noise_of, {}, 1, noise_of({}), scores);
  return scores;
}

NoiseOf noise_of_request(int64_t seed, int64_t request) {
  return [seed, request](const Sid& prefix) {
    uint64_t hash = mixed(static_cast<uint64_t>(request));  // of what is before the last code
    for (size_t l = 0; l + 1 < prefix.size(); ++l) hash = mixed(hash ^ mixed(static_cast<uint64_t>(prefix[l]) + 1));
    const uint32_t code = prefix.empty() ? 0xFFFFFFFF : static_cast<uint32_t>(prefix.back());
    const auto level = static_cast<uint32_t>(prefix.empty() ? 0 : prefix.size() - 1);
    const auto words = philox({static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32), code, 3 * 256 + level},
                              {static_cast<uint32_t>(seed), static_cast<uint32_t>(static_cast<uint64_t>(seed) >> 32)});
    // 48 bits, in the middle of their interval.
    const uint64_t bits = uint64_t{words[0]} << 16 | words[1] >> 16;
    return -std::log1p(-std::ldexp(static_cast<double>(bits) + 0.5, -48));
  };
}

}  // namespace oracle
