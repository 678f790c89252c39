// Slots that go on from the beams of another session: a draft's, from its target's.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/cpu/session.h"
#include "backend/take.h"

namespace sidbeam::cpu {

void CpuSession::take_slot(const CpuSession& from, int32_t slot) {
  const int64_t first = int64_t{slot} * shape_.beams, other = int64_t{slot} * from.shape_.beams;
  const int32_t live = from.live_[slot];
  clear_beams(slot);
  std::copy_n(from.states_.data() + other, live, states_.data() + first);
  std::copy_n(from.scores_.data() + other, live, scores_.data() + first);
  std::copy_n(from.parents_.data() + other, live, parents_.data() + first);
  std::copy_n(from.tokens_.data() + other, live, tokens_.data() + first);
  if (range_ends_.size() > 0) std::copy_n(from.range_ends_.data() + other, live, range_ends_.data() + first);
  for (int32_t level = 0; level < from.level_[slot]; ++level) {
    const int64_t to = history_at(slot) + int64_t{level} * shape_.beams,
                  at = from.history_at(slot) + int64_t{level} * from.shape_.beams;
    std::copy_n(from.history_parents_.data() + at, from.shape_.beams, history_parents_.data() + to);
    std::copy_n(from.history_tokens_.data() + at, from.shape_.beams, history_tokens_.data() + to);
  }
  live_[slot] = live;
  active_[slot] = from.active_[slot];
  level_[slot] = from.level_[slot];
  errors_[slot] = 0;
  if (draws()) std::copy_n(from.sampled_.log_masses.data() + other, live, sampled_.log_masses.data() + first);
  if (stochastic()) take_noise(from, slot);
}

// With the noise goes what it is keyed by, so that the slot's next noise is that of the other.
void CpuSession::take_noise(const CpuSession& from, int32_t slot) {
  const int64_t first = int64_t{slot} * shape_.beams, other = int64_t{slot} * from.shape_.beams;
  const int32_t live = from.live_[slot];
  const SlotSampling& sampling = from.sampled_.slots[slot];
  sampled_.slots[slot].seed = sampling.seed;
  sampled_.slots[slot].request = sampling.request;
  sampled_.slots[slot].noise_scale = sampling.noise_scale;
  sampled_.fresh[slot] = from.sampled_.fresh[slot];
  const StochasticSlots& noise = from.stochastic_;
  std::copy_n(noise.perturbed.data() + other, live, stochastic_.perturbed.data() + first);
  std::copy_n(noise.log_inclusions.data() + other, live, stochastic_.log_inclusions.data() + first);
  std::copy_n(noise.arrivals.data() + other, live, stochastic_.arrivals.data() + first);
  std::copy_n(noise.hashes.data() + other, live, stochastic_.hashes.data() + first);
  stochastic_.thresholds[slot] = noise.thresholds[slot];
}

void CpuSession::take_beams(const StepLists& lists, int64_t count, SessionBackend& other, void* /*stream*/) {
  const auto& from = static_cast<const CpuSession&>(other);
  for (int64_t i = 0; i < count; ++i) {
    const int32_t slot = lists.slots[i];
    check_take(slot, shape_.levels, {constraints_[slot], widths_of(slot)},
               {from.constraints_[slot], from.widths_of(slot)});
  }
  for (int64_t i = 0; i < count; ++i) take_slot(from, lists.slots[i]);
}

}  // namespace sidbeam::cpu
