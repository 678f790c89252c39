// Making a session, and the slot lists of its calls.
// SPDX-License-Identifier: Apache-2.0
#include "decode/session.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "decode/device_choice.h"
#include "index/read/state.h"
#include "sidbeam/builder.h"
#include "support/error.h"

namespace sidbeam {
namespace {

constexpr int32_t kMaxSlots = 1 << 20;

void check_range(const char* what, int64_t value, int64_t lowest, int64_t highest) {
  if (value < lowest || value > highest)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is %lld, expected %lld..%lld", what, static_cast<long long>(value),
         static_cast<long long>(lowest), static_cast<long long>(highest));
}

void check_config(const sidbeam_session_config& config) {
  check_range("config.slots", config.slots, 0, kMaxSlots);
  check_range("config.beams", config.beams, 1, SIDBEAM_MAX_BEAMS);
  check_range("config.strategy", config.strategy, SIDBEAM_STRATEGY_TRIE, SIDBEAM_STRATEGY_NONE);
  check_range("config.normalization", config.normalization, SIDBEAM_NORMALIZE_FULL, SIDBEAM_NORMALIZE_NONE);
  check_range("config.top_k", config.top_k, 0, SIDBEAM_MAX_CODES);
  check_range("config.log_probs_promised", config.log_probs_promised, 0, 1);
  if (config.constraint == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "config.constraint is NULL, expected a constraint");
  const bool unconstrained = config.strategy == SIDBEAM_STRATEGY_HASH_FINAL || config.strategy == SIDBEAM_STRATEGY_NONE;
  if (unconstrained && config.normalization == SIDBEAM_NORMALIZE_VALID)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.normalization is VALID, expected FULL, LEVEL or NONE with strategy %s, which does not know the valid "
         "codes",
         config.strategy == SIDBEAM_STRATEGY_NONE ? "none" : "hash_final");
  check_device_choice(config.device_type, config.device_id);
}

template <class T>
void take(Buffer<T>& buffer, const Allocator& allocator, int64_t count, T value) {
  buffer = Buffer<T>(allocator, count);
  std::fill(buffer.begin(), buffer.end(), value);
}

void take_beams(sidbeam_session& session, const Allocator& allocator) {
  const int64_t slots = session.slots, beams = slots * session.beams, history = checked_bytes(beams, session.levels);
  take(session.states, allocator, beams, kDeadState);
  if (uses_columns(session.strategy)) take(session.range_ends, allocator, beams, uint64_t{0});
  take(session.scores, allocator, beams, -std::numeric_limits<float>::infinity());
  take(session.parents, allocator, beams, -1);
  take(session.tokens, allocator, beams, -1);
  take(session.history_parents, allocator, history, -1);
  take(session.history_tokens, allocator, history, -1);
  take(session.live, allocator, slots, 0);
  take(session.active, allocator, slots, 0);
  take(session.level, allocator, slots, -1);
  take(session.errors, allocator, slots, 0);
  take(session.slot_constraints, allocator, slots, static_cast<sidbeam_constraint*>(nullptr));
  take(session.start_states, allocator, slots, kDeadState);
  take(session.start_range_ends, allocator, slots, int64_t{0});
  session.steps = Buffer<SlotStep>(allocator, slots);
  take(session.widths, allocator, slots, 0);
  take(session.inverse_temperatures, allocator, slots, 0.0F);
  take(session.soft_caps, allocator, slots, 0.0F);
}

[[noreturn]] void refuse_setting(const Setting& setting, const char* expected) {
  char place[24] = "";
  if (setting.entry >= 0) std::snprintf(place, sizeof place, "[%lld]", static_cast<long long>(setting.entry));
  fail(SIDBEAM_INVALID_ARGUMENT, "%s%s is %g, expected %s, or 0 for %s", setting.name, place,
       static_cast<double>(setting.value), expected, setting.zero);
}

}  // namespace

void check_strategy(int32_t strategy, const IndexView& index, const char* what) {
  if (strategy == SIDBEAM_STRATEGY_TRIE && !index.has_trie)
    fail(SIDBEAM_MISSING_SECTION,
         "%s has no trie, expected an index built with kinds trie (SIDBEAM_KIND_TRIE) for strategy trie", what);
  if (uses_columns(strategy) && !index.has_columns)
    fail(SIDBEAM_MISSING_SECTION,
         "%s has no columns, expected an index built with kinds sorted (SIDBEAM_KIND_SORTED) for strategy %s", what,
         strategy == SIDBEAM_STRATEGY_SORTED ? "sorted" : "sorted_topk");
  if (strategy == SIDBEAM_STRATEGY_HASH_FINAL && index.hash.keys == nullptr)
    fail(SIDBEAM_MISSING_SECTION,
         "%s has no hash set, expected an index built with kinds hash (SIDBEAM_KIND_HASH) for strategy hash_final",
         what);
  const bool fixed_only = strategy == SIDBEAM_STRATEGY_HASH_FINAL || strategy == SIDBEAM_STRATEGY_NONE;
  if (fixed_only && index.variable_length)
    fail(SIDBEAM_UNSUPPORTED, "%s has SIDs of variable length, expected one length for strategy %s", what,
         strategy == SIDBEAM_STRATEGY_NONE ? "none" : "hash_final");
}

int32_t named_slot(sidbeam_session& session, const int32_t* slots, int64_t i) {
  const int64_t slot = slots != nullptr ? slots[i] : i;
  if (slot < 0 || slot >= session.slots)
    fail(SIDBEAM_INVALID_ARGUMENT, "slots[%lld] is %lld, expected 0..%d", static_cast<long long>(i),
         static_cast<long long>(slot), session.slots - 1);
  if (session.marks[slot] == session.calls)
    fail(SIDBEAM_INVALID_ARGUMENT, "slots[%lld] is %lld, which is named before, expected each slot once",
         static_cast<long long>(i), static_cast<long long>(slot));
  session.marks[slot] = session.calls;
  return static_cast<int32_t>(slot);
}

void hold_constraint(sidbeam_session& session, int64_t slot, sidbeam_constraint* constraint) {
  if (constraint != nullptr) constraint->retain();
  sidbeam_constraint* before = std::exchange(session.slot_constraints[slot], constraint);
  if (before != nullptr) before->release();
}

void clear_beams(sidbeam_session& session, int64_t slot) {
  const int64_t first = slot * session.beams;
  std::fill_n(session.states.data() + first, session.beams, kDeadState);
  std::fill_n(session.parents.data() + first, session.beams, -1);
  std::fill_n(session.tokens.data() + first, session.beams, -1);
  std::fill_n(session.scores.data() + first, session.beams, -std::numeric_limits<float>::infinity());
}

int64_t listed_slots(const sidbeam_session& session, const int32_t* slots, int64_t count) {
  if (slots == nullptr && count != 0 && count != session.slots)
    fail(SIDBEAM_INVALID_ARGUMENT, "count is %lld, expected 0 or %d, all slots, where slots is NULL",
         static_cast<long long>(count), session.slots);
  check_range("count", count, 0, session.slots);
  return slots != nullptr ? count : session.slots;
}

void check_inverse_temperature(const Setting& setting) {
  if (!(std::isfinite(setting.value) && setting.value >= 0.0F)) refuse_setting(setting, "a finite number above 0");
}

void check_soft_cap(const Setting& setting) {
  if (!(setting.value >= 0.0F)) refuse_setting(setting, "a number above 0 (+inf for none)");
}

std::unique_ptr<sidbeam_session> create_session(sidbeam_runtime* runtime, const sidbeam_session_config& config) {
  check_config(config);
  const IndexView& index = config.constraint->view();
  check_strategy(config.strategy, index, "config.constraint");
  auto session = std::make_unique<sidbeam_session>();
  session->runtime = Ref<sidbeam_runtime>::share(runtime);
  session->constraint = Ref<sidbeam_constraint>::share(config.constraint);
  session->slots = std::max(config.slots, 1);
  session->beams = config.beams;
  session->levels = index.levels;
  session->strategy = config.strategy;
  session->normalization = config.normalization;
  const bool probes = config.strategy == SIDBEAM_STRATEGY_SORTED_TOPK || config.strategy == SIDBEAM_STRATEGY_HASH_FINAL;
  session->top_k = !probes ? 0 : config.top_k > 0 ? config.top_k : config.beams;
  session->log_probs_promised = config.log_probs_promised != 0;
  session->vocabulary = make_vocabulary(config.vocabulary, index.levels, &runtime->allocator);
  check_vocabulary(session->vocabulary, *config.constraint, "config.constraint");
  take(session->marks, runtime->allocator, session->slots, int64_t{0});
  if (config.device_type == SIDBEAM_DEVICE_CUDA) {
    session->device = make_device_session(*session, config.device_id);
    return session;
  }
  take_beams(*session, runtime->allocator);
  session->stepper = runtime->cpu->make_stepper(runtime->allocator);
  session->stepper->reserve({session->beams, session->levels, session->top_k, widest_level(index)});
  return session;
}

void stop_slots(sidbeam_session& session, const int32_t* slots, int64_t count, void* stream) {
  count = listed_slots(session, slots, count);
  if (session.device != nullptr) check_host(*session.device, slots, "slots");
  ++session.calls;
  for (int64_t i = 0; i < count; ++i) named_slot(session, slots, i);
  if (session.device != nullptr) return stop_on_device(session, slots, count, stream);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t slot = slots != nullptr ? slots[i] : i;
    hold_constraint(session, slot, nullptr);
    clear_beams(session, slot);
    session.live[slot] = session.active[slot] = 0;
    session.level[slot] = -1;
    session.errors[slot] = 0;
  }
}

sidbeam_beams beams_of(const sidbeam_session& session) {
  sidbeam_beams out = SIDBEAM_BEAMS_INIT;
  if (session.device != nullptr) {
    get_beams_on_device(session, out);
    return out;
  }
  out.slots = session.slots;
  out.beams = session.beams;
  out.levels = session.levels;
  out.parents = session.parents.data();
  out.codes = session.tokens.data();
  out.scores = session.scores.data();
  out.states = session.states.data();
  out.live = session.live.data();
  out.active = session.active.data();
  out.level = session.level.data();
  out.errors = session.errors.data();
  return out;
}

sidbeam_beams fetch_beams(sidbeam_session& session, void* stream) {
  if (session.device == nullptr) return beams_of(session);
  sidbeam_beams out = SIDBEAM_BEAMS_INIT;
  fetch_from_device(session, out, stream);
  return out;
}

}  // namespace sidbeam

sidbeam_session::~sidbeam_session() {
  for (int64_t slot = 0; slot < slot_constraints.size(); ++slot) sidbeam::hold_constraint(*this, slot, nullptr);
}
