// SPDX-License-Identifier: Apache-2.0
#include "play.h"

#include <algorithm>
#include <limits>

#include "float_mode.h"

namespace fuzz::numeric {
namespace {

using differential::RawRow;
using differential::Snapshot;

const differential::Place kHere;

// The logits row of beam m of a slot: that of another slot is one of the request's too, moved on.
const RawRow& row_of(const Request& request, const Arrangement& at, size_t step, int32_t slot, size_t m) {
  return request.row(step, m + static_cast<size_t>(slot == at.slot ? 0 : slot + 1));
}

// Rows in a block of exactly their size; what the library must not look at is NaN.
class Memory {
 public:
  Memory(const Request& request, const Arrangement& at, int64_t slots, int64_t rows) {
    const int64_t columns = request.world.columns;
    const bool wide = request.world.c.dtype == SIDBEAM_DTYPE_F32;
    element_ = wide ? 4 : 2;
    view.dtype = static_cast<int32_t>(request.world.c.dtype);
    view.slots = slots;
    view.rows = rows;
    view.columns = columns;
    const int64_t apart = columns + at.gap, all = std::max<int64_t>(slots, 1) * rows;
    view.row_stride = at.backwards ? -apart : apart;
    view.slot_stride = view.row_stride * rows;
    const auto count = static_cast<size_t>(at.misalign + (all - 1) * apart + columns);
    block_.reset(new uint8_t[count * element_]);
    std::memset(block_.get(), 0xFF, count * element_);
    data = block_.get() + static_cast<size_t>(at.misalign + (at.backwards ? (all - 1) * apart : 0)) * element_;
    view.data = data;
    lse.assign(static_cast<size_t>(all), std::numeric_limits<float>::quiet_NaN());
  }
  // Row r, counted over all slots.
  void write(int64_t r, const RawRow& row) {
    uint8_t* to = data + r * view.row_stride * static_cast<int64_t>(element_);
    for (const uint32_t bits : row.elements) {
      std::memcpy(to, &bits, element_);
      to += element_;
    }
    if (row.lse) lse[static_cast<size_t>(r)] = *row.lse;
  }
  std::vector<uint8_t> bytes(int64_t r) const {
    const uint8_t* from = data + r * view.row_stride * static_cast<int64_t>(element_);
    return {from, from + static_cast<size_t>(view.columns) * element_};
  }
  sidbeam_rows view = SIDBEAM_ROWS_INIT;
  uint8_t* data = nullptr;
  std::vector<float> lse;

 private:
  size_t element_ = 4;
  std::unique_ptr<uint8_t[]> block_;
};

void start_all(const Request& request, const Arrangement& at, sidbeam_session* session) {
  const auto slots = static_cast<size_t>(at.slots), stride = std::max<size_t>(1, request.prefix.size());
  std::vector<int32_t> widths(slots, static_cast<int32_t>(request.world.c.beams)), lengths(slots),
      prefixes(slots * stride);
  const auto own = static_cast<size_t>(at.slot);
  widths[own] = request.width;
  lengths[own] = static_cast<int32_t>(request.prefix.size());
  std::copy(request.prefix.begin(), request.prefix.end(), prefixes.begin() + static_cast<std::ptrdiff_t>(own * stride));
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.widths = widths.data();
  args.prefixes = prefixes.data();
  args.prefix_lengths = lengths.data();
  args.prefix_stride = static_cast<int64_t>(stride);
  const std::vector<int64_t> keys(slots, request.seed);  // equal ones draw alike
  const std::vector<int32_t> top_ks(slots, request.truncation_k);
  const std::vector<float> top_ps(slots, request.truncation_p), noise(slots, request.noise);
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = sampling.requests = keys.data();
  if (request.world.c.mode == SIDBEAM_MODE_STOCHASTIC) {
    sampling.noise_scales = noise.data();
  } else {
    sampling.top_ks = top_ks.data();
    sampling.top_ps = top_ps.data();
  }
  if (request.world.c.mode != SIDBEAM_MODE_SEARCH) args.sampling = &sampling;
  differential::call("sidbeam_session_start", sidbeam_session_start, session, &args);
}

// The slots of a call, its own last where it names them.
std::vector<int32_t> batch_of(const Arrangement& at, const sidbeam_beams& beams) {
  std::vector<int32_t> batch;
  for (int32_t slot = 0; slot < at.slots; ++slot)
    if (!at.listed || (slot != at.slot && beams.active[slot] > 0)) batch.push_back(slot);
  if (at.listed) batch.push_back(at.slot);
  return batch;
}

void step_all(const Request& request, const Arrangement& at, sidbeam_session* session, const sidbeam_beams& beams,
              size_t step) {
  const std::vector<int32_t> batch = batch_of(at, beams);
  const int64_t width = beams.beams, places = static_cast<int64_t>(batch.size()) * width;
  Memory memory(request, at, at.mapped ? 0 : static_cast<int64_t>(batch.size()), at.mapped ? places : width);
  std::vector<int32_t> map(static_cast<size_t>(places), -1);
  for (size_t i = 0; i < batch.size(); ++i) {
    for (int32_t m = 0; m < width; ++m) {
      if (beams.states[int64_t{batch[i]} * width + m] == -1) continue;
      const int64_t place = static_cast<int64_t>(i) * width + m;
      const int64_t r = at.mapped ? places - 1 - place : place;
      memory.write(r, row_of(request, at, step, batch[i], static_cast<size_t>(m)));
      map[static_cast<size_t>(place)] = static_cast<int32_t>(r);
    }
  }
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &memory.view;
  args.slots = at.listed ? batch.data() : nullptr;
  args.count = at.listed ? static_cast<int64_t>(batch.size()) : 0;
  args.row_map = at.mapped ? map.data() : nullptr;
  args.lse = request.world.c.given_lse != 0 ? memory.lse.data() : nullptr;
  args.inverse_temperature = request.world.rules.inverse_temperature;
  args.soft_cap = request.world.rules.soft_cap;
  const FloatMode mode(at.float_mode);
  differential::call("sidbeam_session_step", sidbeam_session_step, session, &args);
}

template <class T>
void append(std::vector<uint8_t>& bytes, const std::vector<T>& from) {
  const auto* data = reinterpret_cast<const uint8_t*>(from.data());
  bytes.insert(bytes.end(), data, data + from.size() * sizeof(T));
}

}  // namespace

Arrangement draw_arrangement(FuzzedDataProvider& input, const Request& request) {
  Arrangement at;
  const Ways& all = ways();
  const int kind = input.ConsumeIntegralInRange(0, 15);  // threads of the library's own are slow to wake
  at.way = kind < 8    ? input.ConsumeIntegralInRange<size_t>(0, all.alone - 1)
           : kind < 14 ? all.alone
                       : all.alone + 1 + static_cast<size_t>(kind) % 2;
  at.strategy = static_cast<int32_t>(request.world.c.strategy);
  if (request.world.rules.strategy == oracle::Strategy::kExact) at.strategy = input.ConsumeIntegralInRange(0, 1);
  at.slots = request.world.c.beams > 8 ? 1 : input.ConsumeIntegralInRange(1, 3);
  at.slot = input.ConsumeIntegralInRange(0, at.slots - 1);
  at.listed = input.ConsumeBool();
  at.mapped = input.ConsumeBool();
  at.gap = input.ConsumeIntegralInRange(0, 9);
  at.backwards = input.ConsumeBool();
  at.misalign = input.ConsumeIntegralInRange(0, 9);
  at.float_mode = FloatMode::kModes[input.ConsumeIntegralInRange<size_t>(0, std::size(FloatMode::kModes) - 1)];
  return at;
}

std::vector<Snapshot> play(const Request& request, const Arrangement& at) {
  const Way& way = ways().all[at.way];
  sidbeam_constraint* constraint = ways().all[0].constraints[request.subject].get();
  handles::Session session;
  {
    const FloatMode mode(at.float_mode);
    session = differential::make_session(way.runtime.get(), kHere, constraint, request.world, at.strategy, at.slots);
    start_all(request, at, session.get());
  }
  const sidbeam_beams beams = differential::beams_of(kHere, session.get());
  std::vector<Snapshot> after{differential::snapshot(beams, static_cast<size_t>(at.slot))};
  for (size_t step = 0; beams.active[at.slot] > 0; ++step) {
    step_all(request, at, session.get(), beams, step);
    after.push_back(differential::snapshot(beams, static_cast<size_t>(at.slot)));
  }
  return after;
}

std::vector<uint8_t> answer_states(const Request& request, const Arrangement& at,
                                   const std::vector<sidbeam_state>& states) {
  constexpr int32_t kBest = 3;
  const auto count = static_cast<int64_t>(states.size());
  sidbeam_constraint* constraint = ways().all[at.way].constraints[request.subject].get();
  const differential::Vocabulary vocabulary(request.world);
  const differential::ConstraintSet set =
      differential::make_set(ways().all[at.way].runtime.get(), kHere, {constraint}, &vocabulary.view);
  Memory memory(request, at, 0, count);
  for (int64_t r = 0; r < count; ++r) memory.write(r, request.row(1, static_cast<size_t>(r)));
  std::vector<int32_t> codes(states.size() * kBest);
  std::vector<float> log_probs(codes.size());
  std::vector<sidbeam_state> next(codes.size());
  {
    const FloatMode mode(at.float_mode);
    differential::call("sidbeam_constraint_set_topk", sidbeam_constraint_set_topk, set.get(), nullptr, states.data(),
                       &memory.view, static_cast<int32_t>(request.world.c.normalization), kBest, codes.data(),
                       log_probs.data(), next.data(), nullptr);
    differential::call("sidbeam_constraint_set_mask", sidbeam_constraint_set_mask, set.get(), nullptr, states.data(),
                       &memory.view, memory.data, nullptr);
  }
  std::vector<uint8_t> bytes;
  append(bytes, codes);
  append(bytes, log_probs);
  append(bytes, next);
  for (int64_t r = 0; r < count; ++r) append(bytes, memory.bytes(r));
  return bytes;
}

}  // namespace fuzz::numeric
