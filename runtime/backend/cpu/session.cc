// Making a session on the CPU, starting and stopping its slots.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "backend/beams.h"
#include "backend/noise.h"
#include "index/rules/ruled_state.h"

namespace sidbeam::cpu {
namespace {

template <class T>
void take(Buffer<T>& buffer, const Allocator& allocator, int64_t count, T value) {
  buffer = Buffer<T>(allocator, count);
  std::fill(buffer.begin(), buffer.end(), value);
}

}  // namespace

SampledSlots::SampledSlots(const Allocator& allocator, int64_t slot_count, int64_t beams) {
  take(slots, allocator, slot_count, SlotSampling());
  take(draws, allocator, slot_count * beams, int64_t{0});
  take(fresh, allocator, slot_count, false);
  take(log_masses, allocator, slot_count * beams, -std::numeric_limits<float>::infinity());
}

StochasticSlots::StochasticSlots(const Allocator& allocator, int64_t slot_count, int64_t beams) {
  const int64_t count = slot_count * beams;
  take(perturbed, allocator, count, -std::numeric_limits<float>::infinity());
  take(log_inclusions, allocator, count, -std::numeric_limits<float>::infinity());
  take(arrivals, allocator, count, 0.0F);
  take(hashes, allocator, count, uint64_t{0});
  take(rows, allocator, count, PerturbedRow());
  take(thresholds, allocator, slot_count, -std::numeric_limits<float>::infinity());
}

StochasticBeams StochasticSlots::of(int64_t slot, int64_t beams) {
  const int64_t first = slot * beams;
  return {perturbed.data() + first, log_inclusions.data() + first, arrivals.data() + first,
          hashes.data() + first,    rows.data() + first,           thresholds.data() + slot};
}

void StochasticSlots::begin(int64_t slot, int64_t beams, const SlotSampling& sampling, bool lives) {
  const StochasticBeams own = of(slot, beams);
  if (!lives) return;
  own.hashes[0] = hash_of_request(sampling.request);
  own.arrivals[0] = root_arrival(sampling.seed, sampling.request);
  own.perturbed[0] = perturbed_of(0.0F, own.arrivals[0], sampling.noise_scale);
  own.log_inclusions[0] = 0.0F;
}

int64_t StochasticSlots::memory_bytes() const {
  return perturbed.bytes() + log_inclusions.bytes() + arrivals.bytes() + hashes.bytes() + rows.bytes() +
         thresholds.bytes();
}

CpuSession::CpuSession(const SessionShape& shape, const Constraint& constraint, const Allocator& allocator,
                       const Kernels& kernels, Executor* executor, int64_t grain)
    : shape_(shape), stepper_(kernels, allocator, executor, grain), named_(allocator, shape.slots) {
  take_arrays(allocator);
  stepper_.reserve({shape.beams, shape.levels, shape.top_k, widest_level(constraint.view()), draws()});
}

CpuSession::~CpuSession() {
  for (int64_t slot = 0; slot < constraints_.size(); ++slot) hold(slot, nullptr);
}

void CpuSession::take_arrays(const Allocator& allocator) {
  const int64_t slots = shape_.slots, beams = slots * shape_.beams, history = checked_bytes(beams, shape_.levels);
  take(states_, allocator, beams, kDeadState);
  if (uses_columns(shape_.strategy)) take(range_ends_, allocator, beams, uint64_t{0});
  take(scores_, allocator, beams, -std::numeric_limits<float>::infinity());
  take(parents_, allocator, beams, -1);
  take(tokens_, allocator, beams, -1);
  take(history_parents_, allocator, history, -1);
  take(history_tokens_, allocator, history, -1);
  take(live_, allocator, slots, 0);
  take(active_, allocator, slots, 0);
  take(level_, allocator, slots, -1);
  take(errors_, allocator, slots, 0);
  take(widths_, allocator, slots * shape_.levels, 0);
  take(settings_, allocator, slots, RowSettings{0.0F, 0.0F});
  take(steps_, allocator, slots, SlotStep());
  take(constraints_, allocator, slots, static_cast<Constraint*>(nullptr));
  earlier_ = OrdinalSet(allocator, shape_.beams);
  cap_counts_ = ValueCounts(allocator);
  if (draws()) sampled_ = SampledSlots(allocator, slots, shape_.beams);
  if (stochastic()) stochastic_ = StochasticSlots(allocator, slots, shape_.beams);
}

// Holds a constraint for a slot instead of the previous one; nullptr for none.
void CpuSession::hold(int64_t slot, Constraint* constraint) {
  if (constraint != nullptr) constraint->retain();
  Constraint* before = std::exchange(constraints_[slot], constraint);
  if (before != nullptr) before->release();
}

void CpuSession::clear_beams(int64_t slot) {
  const int64_t first = slot * shape_.beams;
  std::fill_n(states_.data() + first, shape_.beams, kDeadState);
  std::fill_n(parents_.data() + first, shape_.beams, -1);
  std::fill_n(tokens_.data() + first, shape_.beams, -1);
  std::fill_n(scores_.data() + first, shape_.beams, -std::numeric_limits<float>::infinity());
  if (draws()) std::fill_n(sampled_.log_masses.data() + first, shape_.beams, -std::numeric_limits<float>::infinity());
  if (!stochastic()) return;
  std::fill_n(stochastic_.perturbed.data() + first, shape_.beams, -std::numeric_limits<float>::infinity());
  std::fill_n(stochastic_.log_inclusions.data() + first, shape_.beams, -std::numeric_limits<float>::infinity());
  stochastic_.thresholds[slot] = -std::numeric_limits<float>::infinity();
}

void CpuSession::start(const SlotStart* starts, int64_t count, void* /*stream*/) {
  StepLimits limits{shape_.beams, shape_.levels, shape_.top_k, 0, draws()};
  for (int64_t i = 0; i < count; ++i) limits.codes = std::max(limits.codes, widest_level(starts[i].constraint->view()));
  stepper_.reserve(limits);  // the only thing that can fail
  for (int64_t i = 0; i < count; ++i) begin_slot(starts[i]);
}

void CpuSession::begin_slot(const SlotStart& start) {
  const int64_t slot = start.slot, first = slot * shape_.beams;
  const IndexView& index = start.constraint->view();
  hold(slot, start.constraint);
  for (int32_t l = 0; l < shape_.levels; ++l) widths_[slot * shape_.levels + l] = start.widths.at(l);
  settings_[slot] = start.settings;
  clear_beams(slot);
  for (int32_t l = 0; l < start.prefix_length; ++l) {
    history_parents_[history_at(slot) + int64_t{l} * shape_.beams] = 0;
    history_tokens_[history_at(slot) + int64_t{l} * shape_.beams] = start.prefix[l];
  }
  const BeamState begin = beginning_of(shape_.strategy, index, start.prefix, start.prefix_length);
  // Steps never test an only child, so that beams must begin at a state that has a SID below it.
  const bool lives = is_live(begin.state) && allows_state(index, start.constraint->rules(), decode_state(begin.state));
  if (lives) {
    states_[first] = begin.state;
    scores_[first] = 0.0F;
    if (range_ends_.size() > 0) range_ends_[first] = begin.range_end;
  }
  live_[slot] = lives ? 1 : 0;
  active_[slot] = lives && start.prefix_length < index.levels ? 1 : 0;
  level_[slot] = start.prefix_length;
  errors_[slot] = 0;
  if (draws()) begin_sampling(start);
}

void CpuSession::begin_sampling(const SlotStart& start) {
  const int64_t slot = start.slot, first = slot * shape_.beams;
  sampled_.slots[slot] = start.sampling;
  sampled_.slots[slot].draws = sampled_.draws.data() + first;
  for (int32_t m = 0; m < start.widths.at(0); ++m)
    sampled_.draws[first + m] = start.sampling.draws != nullptr ? start.sampling.draws[m] : m;
  sampled_.fresh[slot] = true;
  if (live_[slot] > 0) sampled_.log_masses[first] = 0.0F;
  if (stochastic()) stochastic_.begin(slot, shape_.beams, start.sampling, live_[slot] > 0);
}

void CpuSession::stop(const int32_t* slots, int64_t count, void* /*stream*/) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t slot = slots != nullptr ? slots[i] : i;
    hold(slot, nullptr);
    clear_beams(slot);
    live_[slot] = active_[slot] = 0;
    level_[slot] = -1;
    errors_[slot] = 0;
  }
}

sidbeam_beams CpuSession::beams() const {
  sidbeam_beams out = SIDBEAM_BEAMS_INIT;
  out.slots = shape_.slots;
  out.beams = shape_.beams;
  out.levels = shape_.levels;
  out.parents = parents_.data();
  out.codes = tokens_.data();
  out.scores = scores_.data();
  out.states = states_.data();
  out.live = live_.data();
  out.active = active_.data();
  out.level = level_.data();
  out.errors = errors_.data();
  if (draws()) out.log_masses = sampled_.log_masses.data();
  if (stochastic()) {
    out.perturbed = stochastic_.perturbed.data();
    out.log_inclusions = stochastic_.log_inclusions.data();
    out.thresholds = stochastic_.thresholds.data();
  }
  return out;
}

SessionCounts CpuSession::counts() const {
  const int64_t bytes = stepper_.memory_bytes() + named_.memory_bytes() + constraints_.bytes() + widths_.bytes() +
                        settings_.bytes() + states_.bytes() + range_ends_.bytes() + scores_.bytes() + parents_.bytes() +
                        tokens_.bytes() + history_parents_.bytes() + history_tokens_.bytes() + live_.bytes() +
                        active_.bytes() + level_.bytes() + errors_.bytes() + steps_.bytes() + sampled_.memory_bytes() +
                        stochastic_.memory_bytes() + earlier_.bytes() + cap_counts_.bytes();
  return {counters_, bytes};
}

}  // namespace sidbeam::cpu
