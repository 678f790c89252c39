// The stateless forms: constraint sets and their calls.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "logits.h"
#include "operations.h"
#include "sampling.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostSets = 3, kMostStates = 64;
constexpr int64_t kHuge = int64_t{1} << 62;

// Columns of the widest level.
int64_t columns_of(const ConstraintSet& set) {
  int64_t columns = 0;
  for (const Facts& one : set.facts)
    for (int32_t l = 0; l < one->levels; ++l) columns = std::max(columns, set.vocabulary.columns(*one, l));
  return columns;
}

int32_t levels_of(const ConstraintSet& set) {
  int32_t levels = 0;
  for (const Facts& one : set.facts) levels = std::max(levels, one->levels);
  return levels;
}

std::vector<sidbeam_constraint*> draw_constraints(World& world, ConstraintSet& set) {
  std::vector<sidbeam_constraint*> handles;
  for (int32_t count = world.in(1, 3); count > 0; --count) {
    const Held<sidbeam_constraint>& constraint = world.any(world.constraints);
    handles.push_back(constraint.handle);
    set.facts.push_back(constraint.facts);
    world.expected.fails_if((constraint.facts->kinds & SIDBEAM_KIND_TRIE) == 0, SIDBEAM_MISSING_SECTION);
  }
  return handles;
}

// That of the deepest constraint, which suits most of the others.
void draw_columns(World& world, ConstraintSet& set) {
  const auto deepest = std::max_element(set.facts.begin(), set.facts.end(),
                                        [](const Facts& a, const Facts& b) { return a->levels < b->levels; });
  set.vocabulary = draw_vocabulary(world.input, **deepest);
  for (const Facts& one : set.facts) set.vocabulary.judge(*one, world.expected);
}

Array<int32_t> draw_which(World& world, const ConstraintSet& set, int64_t count, bool wrong) {
  if (!wrong && world.flip()) return {};
  const auto constraints = static_cast<int32_t>(set.facts.size());
  std::vector<int32_t> which = world.numbers(static_cast<size_t>(count), 0, constraints - 1);
  if (wrong && !which.empty()) which.back() = world.flip() ? -1 : constraints;
  world.expected.fails_if(wrong && count > 0, SIDBEAM_INVALID_ARGUMENT);
  return Array<int32_t>(std::move(which));
}

// States that calls gave, and some that none did.
Array<sidbeam_state> draw_states(World& world, int64_t count) {
  std::vector<sidbeam_state> states(static_cast<size_t>(count));
  for (sidbeam_state& state : states)
    state = world.one_in(8) ? world.input.ConsumeIntegral<sidbeam_state>() : world.any(world.states);
  return Array<sidbeam_state>(std::move(states));
}

int64_t draw_wrong_count(World& world) { return world.flip() ? -1 : (int64_t{1} << 32) + world.in(1, 9); }

void keep_states(World& world, const sidbeam_state* states, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (world.states.size() == kMostStates) world.states.erase(world.states.begin() + 2);
    world.states.push_back(states[i]);
  }
}

void create(World& world) {
  if (world.constraints.empty() || world.runtimes.empty() || world.sets.size() >= kMostSets) return;
  const int32_t fault = world.fault(7);
  ConstraintSet set;
  const Array<sidbeam_constraint*> constraints(draw_constraints(world, set));
  draw_columns(world, set);
  std::unique_ptr<In<sidbeam_vocabulary>> vocabulary;
  if (set.vocabulary.given) vocabulary = std::make_unique<In<sidbeam_vocabulary>>(world, set.vocabulary.view);
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  config.constraints = constraints.get();
  config.constraint_count = std::ssize(set.facts);
  config.vocabulary = vocabulary == nullptr ? nullptr : vocabulary->get();
  world.expected.fails_if(fault == 1 || fault == 2, SIDBEAM_NO_DEVICE);
  world.expected.fails_if(fault > 2, SIDBEAM_INVALID_ARGUMENT);
  if (fault == 1) config.device_type = SIDBEAM_DEVICE_CUDA;
  if (fault == 2) config.device_id = 1;
  if (fault == 3) config.device_type = world.flip() ? -1 : 2;
  if (fault == 4) config.constraint_count = world.flip() ? 0 : world.flip() ? -1 : INT64_MAX;
  if (fault == 5) config.constraints = nullptr;
  const In<sidbeam_constraint_set_config> argument(world, config);
  sidbeam_runtime* runtime = fault == 6 ? nullptr : world.any(world.runtimes);
  Out<sidbeam_constraint_set*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(constraint_set_create)(runtime, argument.get(), fault == 7 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  set.handle = *out;
  world.sets.push_back(std::move(set));
}

void destroy(World& world) {
  if (world.one_in(4)) ABI(constraint_set_destroy)(nullptr);
  if (world.sets.empty()) return;
  ConstraintSet& destroyed = world.any(world.sets);
  ABI(constraint_set_destroy)(destroyed.handle);
  std::swap(destroyed, world.sets.back());
  world.sets.pop_back();
}

// Prefixes of a call, `stride` apart, dense, or one for all.
struct Prefixes {
  Array<int32_t> codes, lengths;
  int64_t stride;
  bool some = false;  // not all are the beginning
};

Prefixes draw_prefixes(World& world, const ConstraintSet& set, int32_t count, int32_t fault) {
  const int32_t kind = world.in(0, 7);
  const bool dense = kind == 1, one_for_all = kind == 2;
  const int32_t stride = dense || one_for_all ? levels_of(set) : world.in(1, 4);
  std::vector<int32_t> lengths = world.numbers(static_cast<size_t>(count), 0, stride);
  if (fault == 2) lengths.back() = world.flip() ? -1 : stride + 1;
  Prefixes prefixes;
  prefixes.some = std::any_of(lengths.begin(), lengths.end(), [](int32_t length) { return length > 0; });
  prefixes.codes = Array<int32_t>(world.numbers(static_cast<size_t>((one_for_all ? 1 : count) * stride), -1, 4));
  prefixes.lengths = Array<int32_t>(std::move(lengths));
  prefixes.stride = dense ? 0 : one_for_all ? SIDBEAM_BROADCAST : stride;
  if (count == 1 && fault != 2 && world.one_in(4)) prefixes.stride = kHuge;  // one prefix has no stride to go wrong
  if (fault == 3 && count > 1) prefixes.stride = world.flip() ? kHuge : INT64_MAX;
  if (fault == 3 && world.flip()) prefixes.stride = -1;
  world.expected.fails_if(fault == 2 || (fault == 3 && prefixes.stride == -1), SIDBEAM_INVALID_ARGUMENT);
  return prefixes;
}

void prefixes(World& world) {
  if (world.sets.empty()) return;
  const ConstraintSet& set = world.any(world.sets);
  const int32_t fault = world.fault(8), count = world.in(fault == 0 ? 0 : 1, 6);
  const Array<int32_t> which = draw_which(world, set, count, fault == 1);
  const Prefixes given = draw_prefixes(world, set, count, fault);
  const bool none = fault == 4 || (!given.some && world.flip());
  const bool too_far = fault == 3 && count > 1 && !none;  // without codes nothing is read at a stride
  world.expected.fails_if((fault == 4 && given.some) || fault >= 5 || too_far, SIDBEAM_INVALID_ARGUMENT);
  const int32_t* codes = none ? nullptr : given.codes.get();
  const int32_t* lengths = fault == 5 ? nullptr : given.lengths.get();
  const int64_t claimed = fault == 7 ? draw_wrong_count(world) : count;
  Out<sidbeam_state> out(world, static_cast<size_t>(count));
  sidbeam_state* to = fault == 6 ? nullptr : out.get();
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(constraint_set_prefixes)(fault == 8 ? nullptr : set.handle, which.get(), codes, given.stride, lengths,
                                        claimed, to, nullptr, err);
  });
  if (status != SIDBEAM_OK) return;
  for (int32_t i = 0; i < count; ++i) FUZZ_CHECK(out[static_cast<size_t>(i)] >= -1);
  keep_states(world, out.get(), static_cast<size_t>(count));
}

void advance(World& world) {
  if (world.sets.empty()) return;
  const ConstraintSet& set = world.any(world.sets);
  const int32_t fault = world.fault(7), count = world.in(fault == 0 ? 0 : 1, 6);
  const Array<int32_t> which = draw_which(world, set, count, fault == 1);
  const bool parented = fault != 2 && world.flip();
  const int32_t states = parented ? world.in(1, 4) : fault == 2 ? count - 1 : count;
  const Array<sidbeam_state> given = draw_states(world, std::max(states, 1));
  const Array<int32_t> codes(world.numbers(static_cast<size_t>(count), -1, 5));
  std::vector<int32_t> drawn;
  for (int32_t i = 0; i < count; ++i)
    drawn.push_back(world.one_in(8) ? static_cast<int32_t>(world.strange()) : world.in(0, std::max(states, 1) - 1));
  const Array<int32_t> parents(std::move(drawn));
  Out<sidbeam_state> out(world, static_cast<size_t>(std::max(count, 1)));
  const bool in_place = !parented && fault != 2 && world.flip();
  if (in_place) std::copy_n(given.get(), states, out.get());
  world.expected.fails_if(fault >= 2, SIDBEAM_INVALID_ARGUMENT);
  const sidbeam_state* in = fault == 3 ? nullptr : in_place ? out.get() : given.get();
  const int32_t* by = fault == 4 ? nullptr : codes.get();
  sidbeam_state* to = fault == 5 ? nullptr : out.get();
  const int64_t claimed = fault == 6 ? draw_wrong_count(world) : count;
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(constraint_set_advance)(fault == 7 ? nullptr : set.handle, which.get(), in, states,
                                       parented ? parents.get() : nullptr, by, claimed, to, nullptr, err);
  });
  if (status == SIDBEAM_OK && count > 0) keep_states(world, out.get(), static_cast<size_t>(count));
}

void mask(World& world) {
  if (world.sets.empty()) return;
  const ConstraintSet& set = world.any(world.sets);
  const int32_t fault = world.fault(6 + Logits::kFaults), count = world.in(0, 4);
  const Array<int32_t> which = draw_which(world, set, count, fault == 1);
  const Array<sidbeam_state> states = draw_states(world, count);
  Logits logits(world, 0, count, columns_of(set) + world.in(0, 9));
  if (fault == 2) logits.view.columns = 0;
  if (fault == 3) logits.view.slots = 1;
  world.expected.fails_if(fault == 2 || fault == 3 || (fault == 4 && count > 0) || fault == 5 || fault == 6,
                          SIDBEAM_INVALID_ARGUMENT);
  logits.spoil(world, fault - 6);
  const In<sidbeam_rows> view(world, logits.view);
  const sidbeam_state* of = fault == 4 ? nullptr : states.get();
  uint8_t* data = fault == 5 ? (world.flip() ? nullptr : logits.data() + 4) : logits.data();
  world.attempt([&](sidbeam_error* err) {
    return ABI(constraint_set_mask)(fault == 6 ? nullptr : set.handle, which.get(), of, view.get(), data, nullptr, err);
  });
}

void bitmask(World& world) {
  if (world.sets.empty()) return;
  const ConstraintSet& set = world.any(world.sets);
  const int32_t fault = world.fault(7), count = world.in(fault == 0 ? 0 : 1, 4);
  const Array<int32_t> which = draw_which(world, set, count, fault == 1);
  const Array<sidbeam_state> states = draw_states(world, count);
  const int64_t needed = columns_of(set), words = (needed + 31) / 32 + world.in(0, 2);
  Out<uint32_t> out(world, static_cast<size_t>(count * words));
  const int64_t claimed = fault == 2 ? 0 : fault == 3 ? (world.flip() ? -1 : INT64_MAX) : words;
  world.expected.fails_if(fault >= 2, SIDBEAM_INVALID_ARGUMENT);
  const sidbeam_state* of = fault == 4 ? nullptr : states.get();
  uint32_t* to = fault == 5 ? nullptr : out.get();
  const int64_t rows = fault == 6 ? draw_wrong_count(world) : count;
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(constraint_set_bitmask)(fault == 7 ? nullptr : set.handle, which.get(), of, rows, claimed, to, nullptr,
                                       err);
  });
  if (status != SIDBEAM_OK) return;
  for (int32_t i = 0; i < count; ++i)
    for (int64_t c = needed; c < 32 * words; ++c)
      FUZZ_CHECK((out[static_cast<size_t>(i * words + c / 32)] >> (c % 32) & 1) == 0);
}

// Log-probabilities fall, and what is left over is filled.
void check_row(const int32_t* codes, const float* log_probs, const sidbeam_state* next, int32_t k) {
  const bool bad = std::isnan(log_probs[0]);
  for (int32_t i = 0; i < k; ++i) {
    if (codes[i] == -1) {
      FUZZ_CHECK((bad && i == 0) || (std::isinf(log_probs[i]) && log_probs[i] < 0));
      FUZZ_CHECK(next == nullptr || next[i] == -1);
      continue;
    }
    FUZZ_CHECK(!bad && std::isfinite(log_probs[i]));
    FUZZ_CHECK(next == nullptr || next[i] >= 0);
    if (i == 0) continue;
    FUZZ_CHECK(codes[i - 1] >= 0);
    FUZZ_CHECK(log_probs[i - 1] > log_probs[i] || (log_probs[i - 1] == log_probs[i] && codes[i - 1] < codes[i]));
  }
}

void topk(World& world) {
  if (world.sets.empty()) return;
  const ConstraintSet& set = world.any(world.sets);
  const int32_t fault = world.fault(8 + Logits::kFaults), count = world.in(fault == 0 ? 0 : 1, 4);
  const Array<int32_t> which = draw_which(world, set, count, fault == 1);
  const Array<sidbeam_state> states = draw_states(world, count);
  Logits logits(world, 0, count, columns_of(set) + world.in(0, 9));
  if (fault == 2) logits.view.columns = 0;
  const int32_t k = world.one_in(8) ? world.in(1, 400) : world.in(1, 6);
  const int32_t claimed = fault == 3 ? (world.flip() ? 0 : SIDBEAM_MAX_CODES + 1) : k;
  const int32_t normalization = fault == 4 ? (world.flip() ? -1 : 4) : world.in(0, 3);
  const auto places = static_cast<size_t>(count * k);
  Out<int32_t> codes(world, places);
  Out<float> log_probs(world, places);
  Out<sidbeam_state> next(world, places);
  world.expected.fails_if(fault >= 2 && fault <= 8, SIDBEAM_INVALID_ARGUMENT);
  logits.spoil(world, fault - 8);
  const In<sidbeam_rows> view(world, logits.view);
  const sidbeam_state* of = fault == 5 ? nullptr : states.get();
  int32_t* to = fault == 6 ? nullptr : codes.get();
  float* scores = fault == 7 ? nullptr : log_probs.get();
  sidbeam_state* after = world.flip() ? next.get() : nullptr;
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(constraint_set_topk)(fault == 8 ? nullptr : set.handle, which.get(), of, view.get(), normalization,
                                    claimed, to, scores, after, nullptr, err);
  });
  FUZZ_CHECK(logits.unwritten());
  if (status != SIDBEAM_OK) return;
  for (int32_t i = 0; i < count; ++i)
    check_row(to + i * k, scores + i * k, after == nullptr ? nullptr : after + i * k, k);
  if (after != nullptr) keep_states(world, after, std::min<size_t>(places, 4));
}

void check_sampled(const sidbeam_sampled& out, int32_t i) {
  const bool dead = out.codes[i] == -1;
  FUZZ_CHECK(out.codes[i] >= -1);
  if (out.next != nullptr) FUZZ_CHECK((out.next[i] == -1) == dead && out.next[i] >= -1);
  if (out.log_probs != nullptr) FUZZ_CHECK(std::isfinite(out.log_probs[i]) == !dead);
  if (out.log_masses != nullptr) FUZZ_CHECK(std::isfinite(out.log_masses[i]) == !dead);
  if (dead && out.log_probs != nullptr) FUZZ_CHECK(!(out.log_probs[i] > 0));
}

void sample(World& world) {
  if (world.sets.empty()) return;
  const ConstraintSet& set = world.any(world.sets);
  const int32_t fault = world.fault(8 + Sampling::kFaults + Logits::kFaults);
  const int32_t count = world.in(fault == 0 ? 0 : 1, 4);
  const Array<int32_t> which = draw_which(world, set, count, fault == 1);
  const Array<sidbeam_state> states = draw_states(world, count);
  Logits logits(world, 0, count, columns_of(set) + world.in(0, 9));
  if (fault == 2) logits.view.columns = 0;
  const int32_t normalization = fault == 3 ? (world.flip() ? -1 : 4) : world.in(0, 3);
  std::vector<float> drawn(static_cast<size_t>(count));
  for (float& t : drawn) t = world.flip() ? 0 : world.input.ConsumeFloatingPointInRange(0.001F, 100.0F);
  if (fault == 4) drawn.back() = world.flip() ? -1 : std::numeric_limits<float>::quiet_NaN();
  const Array<float> temperatures(std::move(drawn));
  Sampling how;
  how.draw(world, {SIDBEAM_MODE_SAMPLE, count, 1, 0, std::vector<int32_t>(static_cast<size_t>(count), 1)}, fault - 8);
  const auto places = static_cast<size_t>(count);
  Out<int32_t> codes(world, places);
  Out<float> log_probs(world, places), log_masses(world, places);
  Out<sidbeam_state> next(world, places);
  sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
  out.codes = fault == 5 ? nullptr : codes.get();
  if (world.flip()) out.log_probs = log_probs.get();
  if (world.flip()) out.log_masses = log_masses.get();
  if (world.flip()) out.next = next.get();
  world.expected.fails_if((fault >= 2 && fault <= 8) || fault == 8 + Sampling::kFaults, SIDBEAM_INVALID_ARGUMENT);
  logits.spoil(world, fault - 8 - Sampling::kFaults);
  const In<sidbeam_rows> view(world, logits.view);
  const In<sidbeam_sampling> sampling(world, how.view);
  const In<sidbeam_sampled> to(world, out);
  const bool without = fault == 8 + Sampling::kFaults;
  const sidbeam_state* of = fault == 6 ? nullptr : states.get();
  const float* at = fault == 4 || world.flip() ? temperatures.get() : nullptr;
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(constraint_set_sample)(fault == 7 ? nullptr : set.handle, which.get(), of, view.get(), normalization, at,
                                      without ? nullptr : sampling.get(), fault == 8 ? nullptr : to.get(), nullptr,
                                      err);
  });
  FUZZ_CHECK(logits.unwritten());
  if (status != SIDBEAM_OK) return;
  for (int32_t i = 0; i < count; ++i) check_sampled(out, i);
  if (out.next != nullptr) keep_states(world, out.next, places);
}

}  // namespace

void make_set(World& world) {
  for (int attempts = 0; attempts < 2 && world.sets.empty(); ++attempts) create(world);
}

std::span<const Operation> stateless_operations() {
  static constexpr Operation kAll[] = {create, destroy, prefixes, prefixes, advance, advance,
                                       mask,   bitmask, topk,     topk,     sample,  sample};
  return kAll;
}

}  // namespace fuzz::abi
