// SPDX-License-Identifier: Apache-2.0
#include "steps.h"

#include <algorithm>
#include <limits>

#include "beams.h"
#include "logits.h"
#include "sampling.h"

namespace fuzz::abi {
namespace {

constexpr int64_t kHuge = int64_t{1} << 62;

// Some of the slots, in any order.
std::vector<int32_t> draw_some(World& world, std::vector<int32_t> slots) {
  for (size_t i = slots.size(); i > 1; --i)
    std::swap(slots[i - 1], slots[static_cast<size_t>(world.in(0, static_cast<int32_t>(i) - 1))]);
  slots.resize(static_cast<size_t>(world.in(0, static_cast<int32_t>(slots.size()))));
  return slots;
}

std::vector<int32_t> all_slots(const Session& session) {
  std::vector<int32_t> slots;
  for (int32_t slot = 0; slot < session.config.slots; ++slot) slots.push_back(slot);
  return slots;
}

// Slots that no list may name.
void spoil(World& world, const Session& session, std::vector<int32_t>& slots) {
  if (slots.size() > 1 && world.flip()) {
    slots[1] = slots[0];
  } else if (!slots.empty()) {
    slots[0] = world.flip() ? -1 : session.config.slots;
  }
}

// Slots of a call: listed, or all.
struct List {
  Array<int32_t> slots;
  std::vector<int32_t> named;
  int64_t count;
};

List draw_list(World& world, const Session& session) {
  if (world.flip()) return {{}, all_slots(session), world.flip() ? 0 : session.config.slots};
  std::vector<int32_t> some = draw_some(world, all_slots(session));
  const auto count = static_cast<int64_t>(some.size());
  return {Array<int32_t>(some), std::move(some), count};
}

// A count that does not go with the list.
int64_t wrong_count(World& world, const Session& session, const List& list) {
  const int32_t slots = session.config.slots;
  if (!list.slots.given() && slots > 1 && world.flip()) return world.in(1, slots - 1);
  return world.flip() ? -1 : slots + 1;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kWrong[] = {-1, std::numeric_limits<float>::quiet_NaN(), -kInfinity, kInfinity};

// 0 is that of the slot or none; a soft-cap may be infinite.
float draw_setting(World& world, bool soft_cap) {
  const int32_t kind = world.in(0, 7);
  if (kind < 3) return 0;
  return soft_cap && kind == 3 ? kInfinity : world.input.ConsumeFloatingPointInRange(0.001F, 100.0F);
}

float wrong_setting(World& world, bool soft_cap) { return kWrong[world.in(0, soft_cap ? 2 : 3)]; }

// One for each slot of a call; `wrong`: the last is none.
Array<float> draw_settings(World& world, size_t count, bool soft_cap, bool wrong) {
  if (!wrong && !world.one_in(4)) return {};
  std::vector<float> settings(count);
  for (float& setting : settings) setting = draw_setting(world, soft_cap);
  if (wrong && count > 0) settings.back() = wrong_setting(world, soft_cap);
  world.expected.fails_if(wrong && count > 0, SIDBEAM_INVALID_ARGUMENT);
  return Array<float>(std::move(settings));
}

void spoil_list(World& world, const Session& session, List& list) {
  if (!list.slots.given() || list.named.empty()) return;
  std::vector<int32_t> wrong = list.named;
  spoil(world, session, wrong);
  list.slots = Array<int32_t>(std::move(wrong));
  world.expected.fails(SIDBEAM_INVALID_ARGUMENT);
}

struct Start {
  List list;
  std::vector<Facts> facts;
  Array<int32_t> widths, prefixes, lengths;
  Array<float> inverse_temperatures, soft_caps;
  Array<sidbeam_constraint*> constraints;
  Sampling sampling;
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
};

void draw_constraints(World& world, const Session& session, Start& start) {
  start.facts.assign(start.list.named.size(), session.facts);
  if (world.constraints.empty() || !world.one_in(3)) return;
  std::vector<sidbeam_constraint*> handles(start.list.named.size());
  for (size_t i = 0; i < handles.size(); ++i) {
    if (world.flip()) continue;
    const Held<sidbeam_constraint>& constraint = world.any(world.constraints);
    handles[i] = constraint.handle;
    start.facts[i] = constraint.facts;
    if (start.facts[i] == session.facts) continue;
    world.expected.fails_if(start.facts[i]->levels > session.facts->levels, SIDBEAM_INVALID_ARGUMENT);
    session.vocabulary.judge(*start.facts[i], world.expected);
    judge_strategy(session.config, *start.facts[i], world.expected);
  }
  start.constraints = Array<sidbeam_constraint*>(std::move(handles));
}

// A prefix of one slot, mostly in no catalogue; entries past its length are not read.
void append_prefix(World& world, const Facts& facts, int32_t length, int32_t stride, std::vector<int32_t>& codes) {
  for (int32_t l = 0; l < stride; ++l) codes.push_back(l < length ? world.in(0, std::min(3, facts->codes[l] - 1)) : -7);
}

// Prefixes `stride` apart, dense, or one for all: of no code but 0, which every level has.
void draw_prefixes(World& world, const Session& session, Start& start, int32_t fault) {
  const size_t count = start.list.named.size();
  if (count == 0 || (!world.flip() && fault == 0)) return;
  const int32_t kind = world.in(0, 7), levels = session.facts->levels;
  const bool dense = kind == 1, one_for_all = kind == 2;
  const int32_t stride = dense || one_for_all ? levels : world.in(1, 4);
  std::vector<int32_t> codes, lengths;
  for (const Facts& facts : start.facts) {
    lengths.push_back(world.in(0, std::min(facts->levels, stride)));
    if (!one_for_all) append_prefix(world, facts, lengths.back(), stride, codes);
  }
  if (one_for_all) codes.resize(static_cast<size_t>(stride));
  start.args.prefix_stride = dense ? 0 : one_for_all ? SIDBEAM_BROADCAST : stride;
  if (count == 1 && !dense && world.flip()) start.args.prefix_stride = kHuge;  // one prefix has no stride to go wrong
  // Two prefixes 2^62 apart: an address beyond the address space may not be read.
  world.expected.fails_if(fault != 0 && (fault != 5 || count > 1), SIDBEAM_INVALID_ARGUMENT);
  if (fault == 1) start.args.prefix_stride = world.flip() ? -1 : INT64_MIN + 1;
  if (fault == 2) lengths.back() = world.flip() ? -1 : std::max(stride, start.facts.back()->levels) + 1;
  if (fault == 5 && count > 1) start.args.prefix_stride = world.flip() ? kHuge : INT64_MAX;
  if (fault == 3) lengths.back() = 1;
  if (fault == 3) codes[codes.size() - static_cast<size_t>(stride)] = world.flip() ? -1 : start.facts.back()->codes[0];
  start.prefixes = Array<int32_t>(std::move(codes));
  if (fault != 4) start.lengths = Array<int32_t>(std::move(lengths));
  start.args.prefixes = start.prefixes.get();
  start.args.prefix_lengths = start.lengths.get();
}

Sampled sampled_slots(const Session& session, const Start& start) {
  const sidbeam_session_config& config = session.config;
  Sampled sampled{config.mode, static_cast<int64_t>(start.list.named.size()), config.beams, 0, {}};
  if (config.strategy == SIDBEAM_STRATEGY_SORTED_TOPK) sampled.most_k = config.top_k > 0 ? config.top_k : config.beams;
  for (size_t i = 0; i < start.list.named.size(); ++i) {
    const int32_t width = start.widths.given() ? start.widths[i] : 0;
    sampled.widths.push_back(width > 0 ? std::min(width, config.beams) : config.beams);
  }
  return sampled;
}

void note_started(Session& session, const Start& start) {
  for (size_t i = 0; i < start.list.named.size(); ++i) {
    const int32_t slot = start.list.named[i];
    const auto at = static_cast<size_t>(slot);
    session.slots[at] = start.facts[i];
    const size_t levels = start.widths.given() ? static_cast<size_t>(std::max(start.args.width_levels, 1)) : 0;
    session.widths[at].assign(std::max<size_t>(levels, 1), session.config.beams);
    for (size_t l = 0; l < levels; ++l)
      if (start.widths[i * levels + l] > 0) session.widths[at][l] = start.widths[i * levels + l];
    session.fresh[at] = true;
    FUZZ_CHECK(session.beams.level[slot] == (start.lengths.given() ? start.lengths[i] : 0));
    FUZZ_CHECK(session.beams.live[slot] == 0 || session.beams.live[slot] == 1);
    FUZZ_CHECK(session.beams.errors[slot] == 0);
  }
}

struct Step {
  std::vector<int32_t> batch;    // the slot of each place of the batch
  std::vector<int32_t> stepped;  // of those the ones that will be
  bool listed = false, mapped = false;
  int64_t columns = 0, rows = 1;  // that are needed
  Array<int32_t> slots, map;
  Array<float> lse, inverse_temperatures, soft_caps;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
};

void draw_slots(World& world, const Session& session, Step& step) {
  const std::vector<int32_t> ready = steppable(session.beams);
  step.listed = world.one_in(3);
  step.batch = step.listed ? draw_some(world, ready) : all_slots(session);
  step.stepped = step.listed ? step.batch : ready;
  step.mapped = world.one_in(3);
  for (const int32_t slot : step.stepped) {
    const Facts& facts = session.slots[static_cast<size_t>(slot)];
    step.columns = std::max(step.columns, session.vocabulary.columns(*facts, session.beams.level[slot]));
    step.rows = std::max<int64_t>(step.rows, beams_in_use(session.beams, slot));
  }
  if (step.listed || world.flip()) step.args.count = static_cast<int64_t>(step.batch.size());
}

void draw_map(World& world, const Session& session, const Step& step, int64_t rows, std::vector<int32_t>& map) {
  for (const int32_t slot : step.batch) {
    const bool stepped = std::find(step.stepped.begin(), step.stepped.end(), slot) != step.stepped.end();
    for (int32_t m = 0; m < session.config.beams; ++m)
      map.push_back(stepped && is_live(session.beams, slot, m) ? world.in(0, static_cast<int32_t>(rows) - 1) : -1);
  }
}

void draw_scalars(World& world, const Session& session, Step& step, size_t rows) {
  if (!step.inverse_temperatures.given()) step.args.inverse_temperature = draw_setting(world, false);
  if (!step.soft_caps.given()) step.args.soft_cap = draw_setting(world, true);
  if (session.config.normalization == SIDBEAM_NORMALIZE_NONE || !world.one_in(4)) return;
  std::vector<float> lse(rows, world.flip() ? 3.5F : world.input.ConsumeFloatingPoint<float>());
  if (!lse.empty() && world.one_in(4)) lse[0] = std::numeric_limits<float>::quiet_NaN();
  step.lse = Array<float>(std::move(lse));
}

void spoil_scalars(World& world, int32_t fault, Step& step) {
  // Beside an array any scalar except 0 is wrong.
  if (fault == 1) step.args.inverse_temperature = step.inverse_temperatures.given() ? 1 : wrong_setting(world, false);
  if (fault == 2) step.args.soft_cap = step.soft_caps.given() ? 1 : wrong_setting(world, true);
  world.expected.fails_if(fault == 1 || fault == 2, SIDBEAM_INVALID_ARGUMENT);
}

// A list with a slot that is idle, done, named twice or no slot.
void spoil_slots(World& world, const Session& session, Step& step) {
  if (!step.listed || step.batch.empty()) return;
  const std::vector<int32_t> ready = steppable(session.beams);
  std::vector<int32_t> wrong = step.batch;
  const int32_t other = world.in(0, session.config.slots - 1);
  if (std::find(ready.begin(), ready.end(), other) == ready.end()) {
    wrong[0] = other;
    world.expected.fails(SIDBEAM_BAD_STATE);
  } else {
    spoil(world, session, wrong);
    world.expected.fails(SIDBEAM_INVALID_ARGUMENT);
  }
  step.slots = Array<int32_t>(std::move(wrong));
}

// An invalid setting of a slot that will be stepped; those of other slots are not read.
void spoil_settings(World& world, Step& step) {
  const bool soft_cap = world.flip();
  Array<float>& all = soft_cap ? step.soft_caps : step.inverse_temperatures;
  if (step.stepped.empty() || !all.given()) return;
  std::vector<float> settings = all.values();
  const auto at = std::find(step.batch.begin(), step.batch.end(), step.stepped.back());
  settings[static_cast<size_t>(at - step.batch.begin())] = wrong_setting(world, soft_cap);
  all = Array<float>(std::move(settings));
  world.expected.fails(SIDBEAM_INVALID_ARGUMENT);
}

void spoil_count(World& world, const Session& session, Step& step) {
  step.args.count = wrong_count(world, session, {});
  world.expected.fails(SIDBEAM_INVALID_ARGUMENT);
}

}  // namespace

void start(World& world, Session& session) {
  const int32_t fault = world.fault(11 + Sampling::kFaults);
  Start start;
  start.list = draw_list(world, session);
  const std::vector<int32_t>& named = start.list.named;
  draw_constraints(world, session, start);
  draw_prefixes(world, session, start, fault <= 5 ? fault : 0);
  if (world.flip()) start.widths = Array<int32_t>(world.numbers(named.size(), 0, session.config.beams));
  if (fault == 6 && !named.empty()) {
    start.widths = Array<int32_t>(std::vector<int32_t>(named.size(), world.flip() ? -1 : session.config.beams + 1));
    world.expected.fails(SIDBEAM_INVALID_ARGUMENT);
  } else if (session.config.mode == SIDBEAM_MODE_SEARCH && world.one_in(4)) {
    start.args.width_levels = world.in(1, session.facts->levels);
    start.widths = Array<int32_t>(
        world.numbers(named.size() * static_cast<size_t>(start.args.width_levels), 0, session.config.beams));
    world.expected.fails_if(!start.widths.given(), SIDBEAM_INVALID_ARGUMENT);
  }
  start.inverse_temperatures = draw_settings(world, named.size(), false, fault == 10);
  start.soft_caps = draw_settings(world, named.size(), true, fault == 11);
  if (fault == 7) spoil_list(world, session, start.list);
  start.args.slots = start.list.slots.get();
  start.args.count = fault == 8 ? wrong_count(world, session, start.list) : start.list.count;
  start.args.constraints = start.constraints.get();
  start.args.widths = start.widths.get();
  start.args.inverse_temperatures = start.inverse_temperatures.get();
  start.args.soft_caps = start.soft_caps.get();
  world.expected.fails_if(fault == 8 || fault == 9, SIDBEAM_INVALID_ARGUMENT);
  start.sampling.draw(world, sampled_slots(session, start), fault - 11);
  const bool samples = session.config.mode != SIDBEAM_MODE_SEARCH;
  const bool contrary = fault == 11 + Sampling::kFaults;
  std::unique_ptr<In<sidbeam_sampling>> sampling;
  if (samples != contrary) {
    sampling = std::make_unique<In<sidbeam_sampling>>(world, start.sampling.view);
    start.args.sampling = sampling->get();
  }
  world.expected.fails_if(contrary, SIDBEAM_INVALID_ARGUMENT);
  const bool may_be_old = start.args.sampling == nullptr && start.args.width_levels == 0;
  const In<sidbeam_start_args> args(world, start.args, may_be_old);
  const Bystanders bystanders(session);
  const sidbeam_status status = world.attempt(
      [&](sidbeam_error* err) { return ABI(session_start)(fault == 9 ? nullptr : session.handle, args.get(), err); });
  bystanders.check(status, named);
  if (status == SIDBEAM_OK) note_started(session, start);
}

void start(World& world) {
  if (!world.sessions.empty()) start(world, *world.any(world.sessions));
}

void step(World& world) {
  if (world.sessions.empty()) return;
  Session& session = *world.any(world.sessions);
  if (steppable(session.beams).empty() && !world.one_in(8)) start(world, session);
  const int32_t fault = world.fault(10 + Logits::kFaults);
  Step step;
  draw_slots(world, session, step);
  step.inverse_temperatures = draw_settings(world, step.batch.size(), false, false);
  step.soft_caps = draw_settings(world, step.batch.size(), true, false);
  const int64_t rows = step.mapped ? world.in(1, 5) : world.flip() ? session.config.beams : step.rows;
  Logits logits(world, step.mapped ? 0 : static_cast<int64_t>(step.batch.size()), rows, step.columns + world.in(0, 9));
  if (step.mapped) {
    std::vector<int32_t> map;
    draw_map(world, session, step, rows, map);
    if (fault == 3) map.assign(map.size(), world.flip() ? -1 : static_cast<int32_t>(rows));
    step.map = Array<int32_t>(std::move(map));
  } else if (fault == 3) {
    logits.view.rows = 0;
  }
  world.expected.fails_if(fault == 3 && !step.stepped.empty(), SIDBEAM_INVALID_ARGUMENT);
  draw_scalars(world, session, step, static_cast<size_t>(rows * (step.mapped ? 1 : logits.view.slots)));
  spoil_scalars(world, fault, step);
  if (step.listed) step.slots = Array<int32_t>(step.batch);
  if (fault == 4) spoil_slots(world, session, step);
  if (fault == 5) logits.view.slots += step.mapped ? 1 : -1;
  if (fault == 6) logits.view.columns = 0;
  world.expected.fails_if(fault == 5 || (fault == 6 && !step.stepped.empty()), SIDBEAM_INVALID_ARGUMENT);
  logits.spoil(world, fault - 10);
  if (fault == 9) spoil_settings(world, step);
  if (fault == 10 && !step.listed) spoil_count(world, session, step);
  world.expected.fails_if(step.stepped.empty(), SIDBEAM_BAD_STATE);
  world.expected.fails_if(fault == 7 || fault == 8, SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_rows> view(world, logits.view);
  step.args.slots = step.slots.get();
  step.args.rows = fault == 7 ? nullptr : view.get();
  step.args.row_map = step.map.get();
  step.args.lse = step.lse.get();
  step.args.inverse_temperatures = step.inverse_temperatures.get();
  step.args.soft_caps = step.soft_caps.get();
  const In<sidbeam_step_args> args(world, step.args);
  const Bystanders bystanders(session);
  const std::vector<int32_t> live(session.beams.live, session.beams.live + session.config.slots);
  const std::vector<int32_t> level(session.beams.level, session.beams.level + session.config.slots);
  const sidbeam_status status = world.attempt(
      [&](sidbeam_error* err) { return ABI(session_step)(fault == 8 ? nullptr : session.handle, args.get(), err); });
  bystanders.check(status, step.stepped);
  FUZZ_CHECK(logits.unwritten());
  if (status != SIDBEAM_OK) return;
  for (const int32_t slot : step.stepped) {
    const auto at = static_cast<size_t>(slot);
    check_step(session, slot, {live[at], level[at], session.fresh[at]});
    session.fresh[at] = false;
  }
}

void stop(World& world) {
  if (world.sessions.empty()) return;
  Session& session = *world.any(world.sessions);
  const int32_t fault = world.fault(3);
  List list = draw_list(world, session);
  if (fault == 1) spoil_list(world, session, list);
  world.expected.fails_if(fault >= 2, SIDBEAM_INVALID_ARGUMENT);
  const int64_t count = fault == 2 ? wrong_count(world, session, list) : list.count;
  const Bystanders bystanders(session);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(session_stop)(fault == 3 ? nullptr : session.handle, list.slots.get(), count, nullptr, err);
  });
  bystanders.check(status, list.named);
  if (status != SIDBEAM_OK) return;
  for (const int32_t slot : list.named) {
    session.slots[static_cast<size_t>(slot)] = nullptr;
    FUZZ_CHECK(session.beams.level[slot] == -1 && session.beams.live[slot] == 0 && session.beams.active[slot] == 0);
  }
}

}  // namespace fuzz::abi
