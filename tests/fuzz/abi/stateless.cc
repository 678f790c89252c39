// The stateless forms, each over a list of constraints or over a table that was made of one.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "logits.h"
#include "operations.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostTables = 3, kMostStates = 64;
constexpr int64_t kHuge = int64_t{1} << 62;

// What a call goes over: a table, or else a list and a vocabulary.
struct Over {
  const sidbeam_constraint_set* table = nullptr;
  Array<sidbeam_constraint*> list;
  std::vector<Facts> facts;
  Vocabulary own;
  const Vocabulary* vocabulary = nullptr;
  std::unique_ptr<In<sidbeam_vocabulary>> view;
  int32_t count() const { return static_cast<int32_t>(facts.size()); }
  const sidbeam_vocabulary* columns() const { return own.given ? view->get() : nullptr; }
  // Columns of the widest level.
  int64_t needed() const {
    int64_t columns = 0;
    for (const Facts& one : facts)
      for (int32_t l = 0; l < one->levels; ++l) columns = std::max(columns, vocabulary->columns(*one, l));
    return columns;
  }
};

void draw_list(World& world, Over& over) {
  std::vector<sidbeam_constraint*> handles;
  for (int32_t count = world.in(1, 3); count > 0; --count) {
    const Held<sidbeam_constraint>& constraint = world.any(world.constraints);
    handles.push_back(constraint.handle);
    over.facts.push_back(constraint.facts);
    world.expected.fails_if((constraint.facts->kinds & SIDBEAM_KIND_TRIE) == 0, SIDBEAM_MISSING_SECTION);
  }
  over.list = Array<sidbeam_constraint*>(std::move(handles));
}

// The vocabulary of the deepest constraint, which mostly suits the others.
void draw_columns(World& world, Over& over) {
  const auto deepest = std::max_element(over.facts.begin(), over.facts.end(),
                                        [](const Facts& a, const Facts& b) { return a->levels < b->levels; });
  over.own = draw_vocabulary(world.input, **deepest);
  over.vocabulary = &over.own;
  if (over.own.given) over.view = std::make_unique<In<sidbeam_vocabulary>>(world, over.own.view);
  for (const Facts& one : over.facts) over.own.judge(*one, world.expected);
}

// false: there is nothing to go over.
bool draw_over(World& world, Over& over, bool with_rows) {
  if (!world.tables.empty() && (world.constraints.empty() || world.flip())) {
    const Table& table = world.any(world.tables);
    over.table = table.handle;
    over.facts = table.facts;
    over.vocabulary = &table.vocabulary;
    return true;
  }
  if (world.constraints.empty()) return false;
  draw_list(world, over);
  if (with_rows) draw_columns(world, over);
  return true;
}

Array<int32_t> draw_which(World& world, const Over& over, int64_t count, bool wrong) {
  if (!wrong && world.flip()) return {};
  std::vector<int32_t> which = world.numbers(static_cast<size_t>(count), 0, over.count() - 1);
  if (wrong && !which.empty()) which.back() = world.flip() ? -1 : over.count();
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

void keep_states(World& world, const sidbeam_state* states, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (world.states.size() == kMostStates) world.states.erase(world.states.begin() + 2);
    world.states.push_back(states[i]);
  }
}

void create(World& world) {
  if (world.constraints.empty() || world.runtimes.empty() || world.tables.size() >= kMostTables) return;
  const int32_t fault = world.fault(7);
  Over over;
  draw_list(world, over);
  draw_columns(world, over);
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  config.constraints = over.list.get();
  config.constraint_count = over.count();
  config.vocabulary = over.columns();
  world.expected.fails_if(fault == 1 || fault == 2, SIDBEAM_NO_DEVICE);
  world.expected.fails_if(fault > 2, SIDBEAM_INVALID_ARGUMENT);
  if (fault == 1) config.device_type = SIDBEAM_DEVICE_CUDA;
  if (fault == 2) config.device_id = 1;
  if (fault == 3) config.device_type = world.flip() ? -1 : 2;
  if (fault == 4) config.constraint_count = world.flip() ? 0 : -1;
  if (fault == 5) config.constraints = nullptr;
  const In<sidbeam_constraint_set_config> argument(world, config);
  sidbeam_runtime* runtime = fault == 6 ? nullptr : world.any(world.runtimes);
  Out<sidbeam_constraint_set*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(table_create)(runtime, argument.get(), fault == 7 ? nullptr : out.get(), err);
  });
  if (status == SIDBEAM_OK) world.tables.push_back({*out, std::move(over.facts), std::move(over.own)});
}

void destroy(World& world) {
  if (world.one_in(4)) ABI(table_destroy)(nullptr);
  if (world.tables.empty()) return;
  Table& destroyed = world.any(world.tables);
  ABI(table_destroy)(destroyed.handle);
  std::swap(destroyed, world.tables.back());
  world.tables.pop_back();
}

void prefixes(World& world) {
  Over over;
  if (!draw_over(world, over, false)) return;
  const int32_t fault = world.fault(6), count = world.in(fault == 0 ? 0 : 1, 6), stride = world.in(0, 4);
  const Array<int32_t> which = draw_which(world, over, count, fault == 1);
  std::vector<int32_t> lengths = world.numbers(static_cast<size_t>(count), 0, stride);
  std::vector<int32_t> rows = world.numbers(static_cast<size_t>(count * stride), -1, 4);
  if (fault == 2) lengths.back() = world.flip() ? -1 : stride + 1;
  const bool some = std::any_of(lengths.begin(), lengths.end(), [](int32_t length) { return length > 0; });
  int64_t step = stride;
  if (count == 1 && fault != 2 && world.one_in(4)) step = kHuge;  // one row has no stride to go wrong
  if (fault == 3 && count > 1) step = world.flip() ? kHuge : INT64_MAX;
  world.expected.fails_if(fault == 2 || (fault == 3 && count > 1) || fault >= 5, SIDBEAM_INVALID_ARGUMENT);
  const Array<int32_t> codes(std::move(rows)), sizes(std::move(lengths));
  const bool none = fault == 4 || (!some && world.flip());
  world.expected.fails_if(fault == 4 && some, SIDBEAM_INVALID_ARGUMENT);
  const int32_t* from = none ? nullptr : codes.get();
  const int32_t* long_as = fault == 5 ? nullptr : sizes.get();
  Out<sidbeam_state> out(world, static_cast<size_t>(count));
  sidbeam_state* to = fault == 6 ? nullptr : out.get();
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    if (over.table != nullptr)
      return ABI(table_prefixes)(over.table, which.get(), from, step, long_as, count, to, nullptr, err);
    return ABI(states_from_prefixes)(over.list.get(), over.count(), which.get(), from, step, long_as, count, to,
                                     nullptr, err);
  });
  if (status != SIDBEAM_OK) return;
  for (int32_t i = 0; i < count; ++i) FUZZ_CHECK(out[static_cast<size_t>(i)] >= -1);
  keep_states(world, out.get(), static_cast<size_t>(count));
}

void advance(World& world) {
  Over over;
  if (!draw_over(world, over, false)) return;
  const int32_t fault = world.fault(6), count = world.in(fault == 0 ? 0 : 1, 6);
  const Array<int32_t> which = draw_which(world, over, count, fault == 1);
  const bool parented = fault != 2 && world.flip();
  const int32_t states = parented ? world.in(1, 4) : fault == 2 ? count - 1 : count;
  const Array<sidbeam_state> given = draw_states(world, std::max(states, 1));
  const Array<int32_t> tokens(world.numbers(static_cast<size_t>(count), -1, 5));
  std::vector<int64_t> drawn;
  for (int32_t i = 0; i < count; ++i)
    drawn.push_back(world.one_in(8) ? world.strange() : world.in(0, std::max(states, 1) - 1));
  const Array<int64_t> parents(std::move(drawn));
  Out<sidbeam_state> out(world, static_cast<size_t>(std::max(count, 1)));
  const bool in_place = !parented && fault != 2 && world.flip();
  if (in_place) std::copy_n(given.get(), states, out.get());
  world.expected.fails_if(fault >= 2, SIDBEAM_INVALID_ARGUMENT);
  const sidbeam_state* in = fault == 3 ? nullptr : in_place ? out.get() : given.get();
  const int64_t* of = parented ? parents.get() : nullptr;
  const int32_t* by = fault == 4 ? nullptr : tokens.get();
  sidbeam_state* to = fault == 5 ? nullptr : out.get();
  const int64_t claimed = fault == 6 ? -1 : count;
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    if (over.table != nullptr)
      return ABI(table_advance)(over.table, which.get(), in, states, of, by, claimed, to, nullptr, err);
    return ABI(states_advance)(over.list.get(), over.count(), which.get(), in, states, of, by, claimed, to, nullptr,
                               err);
  });
  if (status == SIDBEAM_OK && count > 0) keep_states(world, out.get(), static_cast<size_t>(count));
}

void mask(World& world) {
  Over over;
  if (!draw_over(world, over, true)) return;
  const int32_t fault = world.fault(4 + Logits::kFaults), count = world.in(0, 4);
  const Array<int32_t> which = draw_which(world, over, count, fault == 1);
  const Array<sidbeam_state> states = draw_states(world, count);
  Logits logits(world, 0, count, over.needed() + world.in(0, 9));
  if (fault == 2) logits.view.columns = 0;
  if (fault == 3) logits.view.slots = 1;
  world.expected.fails_if(fault == 2 || fault == 3 || (fault == 4 && count > 0), SIDBEAM_INVALID_ARGUMENT);
  logits.spoil(world, fault - 4);
  const In<sidbeam_rows> view(world, logits.view);
  const sidbeam_state* of = fault == 4 ? nullptr : states.get();
  world.attempt([&](sidbeam_error* err) {
    if (over.table != nullptr) return ABI(table_mask)(over.table, which.get(), of, view.get(), nullptr, err);
    return ABI(rows_mask)(over.list.get(), over.count(), which.get(), over.columns(), of, view.get(), nullptr, err);
  });
}

void bitmask(World& world) {
  Over over;
  if (!draw_over(world, over, true)) return;
  const int32_t fault = world.fault(6), count = world.in(fault == 0 ? 0 : 1, 4);
  const Array<int32_t> which = draw_which(world, over, count, fault == 1);
  const Array<sidbeam_state> states = draw_states(world, count);
  const int64_t words = (over.needed() + 31) / 32 + world.in(0, 2);
  Out<uint32_t> out(world, static_cast<size_t>(count * words));
  const int64_t claimed = fault == 2 ? 0 : fault == 3 ? (world.flip() ? -1 : INT64_MAX) : words;
  world.expected.fails_if(fault >= 2, SIDBEAM_INVALID_ARGUMENT);
  const sidbeam_state* of = fault == 4 ? nullptr : states.get();
  uint32_t* to = fault == 5 ? nullptr : out.get();
  const int64_t rows = fault == 6 ? -1 : count;
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    if (over.table != nullptr) return ABI(table_bitmask)(over.table, which.get(), of, rows, to, claimed, nullptr, err);
    return ABI(rows_bitmask)(over.list.get(), over.count(), which.get(), over.columns(), of, rows, to, claimed, nullptr,
                             err);
  });
  if (status != SIDBEAM_OK) return;
  for (int32_t i = 0; i < count; ++i)
    for (int64_t c = over.needed(); c < 32 * words; ++c)
      FUZZ_CHECK((out[static_cast<size_t>(i * words + c / 32)] >> (c % 32) & 1) == 0);
}

// Log-probabilities fall, and what is left over is filled.
void check_row(const int32_t* tokens, const float* log_probs, const sidbeam_state* next, int32_t k) {
  const bool bad = std::isnan(log_probs[0]);
  for (int32_t i = 0; i < k; ++i) {
    if (tokens[i] == -1) {
      FUZZ_CHECK((bad && i == 0) || (std::isinf(log_probs[i]) && log_probs[i] < 0));
      FUZZ_CHECK(next == nullptr || next[i] == -1);
      continue;
    }
    FUZZ_CHECK(!bad && std::isfinite(log_probs[i]));
    FUZZ_CHECK(next == nullptr || next[i] >= 0);
    if (i == 0) continue;
    FUZZ_CHECK(tokens[i - 1] >= 0);
    FUZZ_CHECK(log_probs[i - 1] > log_probs[i] || (log_probs[i - 1] == log_probs[i] && tokens[i - 1] < tokens[i]));
  }
}

void topk(World& world) {
  Over over;
  if (!draw_over(world, over, true)) return;
  const int32_t fault = world.fault(7 + Logits::kFaults), count = world.in(fault == 0 ? 0 : 1, 4);
  const Array<int32_t> which = draw_which(world, over, count, fault == 1);
  const Array<sidbeam_state> states = draw_states(world, count);
  Logits logits(world, 0, count, over.needed() + world.in(0, 9));
  if (fault == 2) logits.view.columns = 0;
  const int32_t k = world.one_in(8) ? world.in(1, 400) : world.in(1, 6);
  const int32_t claimed = fault == 3 ? (world.flip() ? 0 : SIDBEAM_MAX_CODES + 1) : k;
  const int32_t normalization = fault == 4 ? (world.flip() ? -1 : 4) : world.in(0, 3);
  const auto places = static_cast<size_t>(count * k);
  Out<int32_t> tokens(world, places);
  Out<float> log_probs(world, places);
  Out<sidbeam_state> next(world, places);
  world.expected.fails_if(fault >= 2 && fault <= 7, SIDBEAM_INVALID_ARGUMENT);
  logits.spoil(world, fault - 7);
  const In<sidbeam_rows> view(world, logits.view);
  const sidbeam_state* of = fault == 5 ? nullptr : states.get();
  int32_t* to = fault == 6 ? nullptr : tokens.get();
  float* scores = fault == 7 ? nullptr : log_probs.get();
  sidbeam_state* after = world.flip() ? next.get() : nullptr;
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    if (over.table != nullptr)
      return ABI(table_topk)(over.table, which.get(), of, view.get(), normalization, claimed, to, scores, after,
                             nullptr, err);
    return ABI(rows_topk)(over.list.get(), over.count(), which.get(), over.columns(), of, view.get(), normalization,
                          claimed, to, scores, after, nullptr, err);
  });
  FUZZ_CHECK(logits.unwritten());
  if (status != SIDBEAM_OK) return;
  for (int32_t i = 0; i < count; ++i)
    check_row(to + i * k, scores + i * k, after == nullptr ? nullptr : after + i * k, k);
  if (after != nullptr) keep_states(world, after, std::min<size_t>(places, 4));
}

}  // namespace

void make_table(World& world) {
  for (int attempts = 0; attempts < 2 && world.tables.empty(); ++attempts) create(world);
}

std::span<const Operation> stateless_operations() {
  static constexpr Operation kAll[] = {create,  destroy, prefixes, prefixes, advance,
                                       advance, mask,    bitmask,  topk,     topk};
  return kAll;
}

}  // namespace fuzz::abi
