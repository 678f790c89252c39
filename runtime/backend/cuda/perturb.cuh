// Stochastic beams: the perturbed scores of a row's children, and the ranking of candidates by them (backend/noise.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/finish.cuh"
#include "backend/noise.h"

namespace sidbeam::cuda {

// The noise of a beam's children.
struct NodeNoise {
  uint64_t seed = 0, hash = 0;
  int32_t level = 0;
  float arrival = 0.0F, earliest = 0.0F, scale = 1.0F;

  __device__ ChildNoise child(uint32_t code, float log_prob) const {
    return child_noise(exponential_noise(seed, hash, code, level), log_prob);
  }
  __device__ float arrival_of_child(uint32_t code, float log_prob) const {
    return arrival_of(child(code, log_prob), arrival, earliest);
  }
};

__device__ inline NodeNoise noise_of_beam(const SessionView& session, const SamplingView& sampling, const Entry& entry,
                                          int32_t m) {
  const SampledSlot& slot = sampling.table[entry.slot];
  const Sampling& how = slot.of[slot.now & 1];
  const int64_t at = beams_at(session, entry.slot) + m;
  return {how.seed,       sampling.hashes[at], entry.level, sampling.arrivals[at], sampling.rows[at].earliest,
          how.noise_scale};
}

// The key of child i by its perturbed score, 0 if it is no candidate.
__device__ inline uint64_t perturbed_key(const BeamRow& beam, const Children& children, const NodeNoise& noise,
                                         uint32_t i) {
  uint32_t token = 0;
  if (!children.at_number(i, token)) return 0;
  const float log_prob = log_prob_of(beam.score, beam.x(token, children.codes));
  const float arrival = noise.arrival_of_child(token, log_prob);
  const float perturbed = perturbed_of(beam.score.score + log_prob, arrival, noise.scale);
  return perturbed > -kInfinity ? key_of(perturbed + 0.0F, beam.score.place_base | i) : 0;
}

// A beam of the next level, until those of this level are not needed any more.
struct NextBeam {
  uint64_t hash;
  float perturbed, score, log_mass, arrival;
};
static_assert(sizeof(NextBeam) <= kKeysOfBeam * sizeof(uint64_t));

// Ranks candidates by perturbed score. One more than there are beams is selected: the best of what is left out.
struct ByNoise {
  static constexpr uint32_t kMore = 1;
  struct Group : OpenedGroup {
    NodeNoise noise;
  };

  __device__ float rank(int32_t m) const { return sampling.perturbed[at(m)]; }
  __device__ void open(int32_t m, Group& group) const { group.noise = noise_of_beam(session, sampling, entry, m); }
  __device__ uint64_t key(const Group& group, uint32_t i, bool& /*bad*/) const {
    return perturbed_key(group.beam, group.children, group.noise, i);
  }
  __device__ void leave_out(uint64_t key) const {
    float& threshold = sampling.thresholds[entry.slot];
    threshold = fmaxf(threshold, score_of_key(key));
  }
  __device__ void take(const Winner& winner) const {
    const int64_t parent = at(winner.parent);
    NextBeam next{sampling.hashes[parent], score_of_key(winner.key), session.scores[parent],
                  sampling.log_masses[parent], sampling.arrivals[parent]};
    if (!winner.stays) follow(winner, next);
    staged()[winner.i] = next;
  }
  __device__ void give(uint32_t i) const {
    const NextBeam next = staged()[i];
    const int64_t to = at(static_cast<int32_t>(i));
    session.scores[to] = next.score;
    sampling.log_masses[to] = next.log_mass;
    sampling.perturbed[to] = next.perturbed;
    sampling.log_inclusions[to] = log_inclusion_of(next.score, sampling.thresholds[entry.slot]);
    sampling.arrivals[to] = next.arrival;
    sampling.hashes[to] = next.hash;
  }
  __device__ void clear(uint32_t i) const {
    const int64_t to = at(static_cast<int32_t>(i));
    session.scores[to] = sampling.log_masses[to] = sampling.perturbed[to] = sampling.log_inclusions[to] = -kInfinity;
  }

  const SessionView& session;
  const SamplingView& sampling;
  const StepView& step;
  const Entry& entry;

 private:
  __device__ int64_t at(int32_t m) const { return beams_at(session, entry.slot) + m; }
  // In the place of the keys of groups, which are not needed once the candidates are known.
  __device__ NextBeam* staged() const { return reinterpret_cast<NextBeam*>(workspace_of(session, entry.slot).keys); }
  // Turns the parent into its child; the noise is computed again, since winners are few.
  __device__ void follow(const Winner& winner, NextBeam& next) const {
    const float* lse = nullptr;
    BeamRow beam;
    find_row(session, step, entry, winner.parent, beam, lse);
    const Note& note = workspace_of(session, entry.slot).notes[winner.parent];
    beam.score.normalizer = note.normalizer;
    beam.score.clamp = note.clamp;
    const float log_prob = log_prob_of(beam.score, beam.x(winner.code, entry.index->level[entry.level].codes));
    const NodeNoise noise = noise_of_beam(session, sampling, entry, winner.parent);
    next.score += log_prob;
    next.log_mass = sampling.rows[at(winner.parent)].log_mass;
    next.arrival = noise.arrival_of_child(winner.code, log_prob);
    next.hash = hash_after(next.hash, winner.code);
  }
};

}  // namespace sidbeam::cuda
