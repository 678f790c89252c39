// Making a session, stopping its slots, and the slot lists of its calls.
// SPDX-License-Identifier: Apache-2.0
#include "decode/session.h"

#include <algorithm>
#include <bit>

#include "backend/beams.h"
#include "decode/device_choice.h"
#include "sidbeam/builder.h"
#include "support/error.h"

namespace sidbeam {
namespace {

constexpr int32_t kMaxSlots = 1 << 20;
constexpr int64_t kMostListed = 1 << 24, kDefaultListed = 4096;

const char* name_of(int32_t strategy) {
  constexpr const char* kNames[] = {"trie", "sorted", "sorted_topk", "hash_final", "none"};
  return kNames[strategy];
}

// Only what is exact may be sampled; sorted_topk is where no start keeps more codes than it looks up.
void check_mode(const sidbeam_session_config& config) {
  const int32_t strategy = config.strategy;
  const bool exact = strategy == SIDBEAM_STRATEGY_TRIE || strategy == SIDBEAM_STRATEGY_SORTED;
  if (config.mode == SIDBEAM_MODE_SAMPLE && strategy == SIDBEAM_STRATEGY_HASH_FINAL)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.strategy is hash_final, expected trie, sorted, sorted_topk or none in mode SAMPLE: hash_final does "
         "not know the valid mass");
  if (config.mode == SIDBEAM_MODE_STOCHASTIC && !exact)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.strategy is %s, expected trie or sorted in mode STOCHASTIC, which is exact",
         name_of(strategy));
}

void check_config(const sidbeam_session_config& config) {
  check_range("config.slots", config.slots, 0, kMaxSlots);
  check_range("config.beams", config.beams, 1, SIDBEAM_MAX_BEAMS);
  check_range("config.strategy", config.strategy, SIDBEAM_STRATEGY_TRIE, SIDBEAM_STRATEGY_NONE);
  check_range("config.normalization", config.normalization, SIDBEAM_NORMALIZE_FULL, SIDBEAM_NORMALIZE_NONE);
  check_range("config.top_k", config.top_k, 0, SIDBEAM_MAX_CODES);
  check_range("config.log_probs_promised", config.log_probs_promised, 0, 1);
  check_range("config.mode", config.mode, SIDBEAM_MODE_SEARCH, SIDBEAM_MODE_STOCHASTIC);
  check_range("config.max_listed", config.max_listed, 0, kMostListed);
  if (config.constraint == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "config.constraint is NULL, expected a constraint");
  const bool unconstrained = config.strategy == SIDBEAM_STRATEGY_HASH_FINAL || config.strategy == SIDBEAM_STRATEGY_NONE;
  if (unconstrained && config.normalization == SIDBEAM_NORMALIZE_VALID)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.normalization is VALID, expected FULL, LEVEL or NONE with strategy %s, which does not know the valid "
         "codes",
         name_of(config.strategy));
  check_mode(config);
  check_device_choice(config.device_type, config.device_id);
}

// 0 on the CPU, where lists are read in place.
int64_t max_listed_of(const sidbeam_session_config& config) {
  if (config.device_type == SIDBEAM_DEVICE_CPU) return 0;
  return config.max_listed > 0 ? config.max_listed : kDefaultListed;
}

SessionShape shape_of(const sidbeam_session& session, const sidbeam_session_config& config) {
  SessionShape shape;
  shape.slots = session.slots;
  shape.beams = session.beams;
  shape.levels = session.levels;
  shape.strategy = session.strategy;
  shape.normalization = session.normalization;
  shape.top_k = session.top_k;
  shape.mode = session.mode;
  shape.log_probs_promised = config.log_probs_promised != 0;
  shape.vocabulary = view_of(session.vocabulary);
  shape.max_listed = session.max_listed;
  shape.makes_room_for_rules =
      session.strategy == SIDBEAM_STRATEGY_TRIE && (config.max_listed > 0 || config.constraint->rules() != nullptr);
  return shape;
}

// What a constraint has beside the sections of its index; null: nothing.
const char* followed_by_tries(const sidbeam_constraint& constraint) {
  if (constraint.view().overlay != nullptr) return "items that were added to its base";
  if (constraint.rules() == nullptr) return nullptr;
  return constraint.filter || constraint.lists != nullptr ? "rules" : "items that have gone from its base";
}

}  // namespace

void check_strategy(int32_t strategy, const IndexView& index, const char* what) {
  if (strategy == SIDBEAM_STRATEGY_TRIE && !index.has_trie)
    fail(SIDBEAM_MISSING_SECTION,
         "%s has no trie, expected an index built with kinds trie (SIDBEAM_KIND_TRIE) for strategy trie", what);
  if (uses_columns(strategy) && !index.has_columns)
    fail(SIDBEAM_MISSING_SECTION,
         "%s has no columns, expected an index built with kinds sorted (SIDBEAM_KIND_SORTED) for strategy %s", what,
         name_of(strategy));
  if (strategy == SIDBEAM_STRATEGY_HASH_FINAL && index.hash.keys == nullptr)
    fail(SIDBEAM_MISSING_SECTION,
         "%s has no hash set, expected an index built with kinds hash (SIDBEAM_KIND_HASH) for strategy hash_final",
         what);
  const bool fixed_only = strategy == SIDBEAM_STRATEGY_HASH_FINAL || strategy == SIDBEAM_STRATEGY_NONE;
  if (fixed_only && index.variable_length)
    fail(SIDBEAM_UNSUPPORTED, "%s has SIDs of variable length, expected one length for strategy %s", what,
         name_of(strategy));
}

void check_rules(int32_t strategy, int64_t max_listed, const sidbeam_constraint& constraint, const char* what) {
  const char* followed = followed_by_tries(constraint);
  if (strategy != SIDBEAM_STRATEGY_TRIE && followed != nullptr)
    fail(SIDBEAM_UNSUPPORTED, "%s has %s, expected strategy trie, which follows them, not %s", what, followed,
         name_of(strategy));
  const RulesView* rules = constraint.rules();
  if (rules == nullptr) return;
  auto listed = static_cast<int64_t>(rules->rows.listed.count);
  if (rules->delta != nullptr) listed += static_cast<int64_t>(rules->delta->rows.listed.count);
  if (max_listed > 0 && listed > max_listed)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s lists %lld item rows, expected at most %lld, the session's max_listed", what,
         static_cast<long long>(listed), static_cast<long long>(max_listed));
}

void check_places(int32_t beams, const IndexView& index, const char* what) {
  const auto beam_bits = static_cast<int>(std::bit_width(static_cast<uint32_t>(beams) - 1));
  const int64_t most = (int64_t{1} << (32 - beam_bits)) - (index.variable_length ? 1 : 0);
  for (int l = 1; l < index.levels; ++l)  // at level 0 there is one beam
    if (index.level[l].codes > most)
      fail(SIDBEAM_INVALID_ARGUMENT, "%s has %u codes at level %d, expected at most %lld with %d beams", what,
           index.level[l].codes, l, static_cast<long long>(most), beams);
}

int64_t listed_slots(const sidbeam_session& session, const int32_t* slots, int64_t count) {
  if (slots == nullptr && count != 0 && count != session.slots)
    fail(SIDBEAM_INVALID_ARGUMENT, "count is %lld, expected 0 or %d, all slots, where slots is NULL",
         static_cast<long long>(count), session.slots);
  check_range("count", count, 0, session.slots);
  return slots != nullptr ? count : session.slots;
}

std::unique_ptr<sidbeam_session> create_session(sidbeam_runtime* runtime, const sidbeam_session_config& config) {
  check_config(config);
  const IndexView& index = config.constraint->view();
  check_strategy(config.strategy, index, "config.constraint");
  const int64_t max_listed = max_listed_of(config);
  check_rules(config.strategy, max_listed, *config.constraint, "config.constraint");
  check_places(config.beams, index, "config.constraint");
  auto session = std::make_unique<sidbeam_session>();
  session->runtime = Ref<sidbeam_runtime>::share(runtime);
  session->constraint = Ref<sidbeam_constraint>::share(config.constraint);
  session->device_type = config.device_type;
  session->device_id = config.device_id;
  session->slots = std::max(config.slots, 1);
  session->beams = config.beams;
  session->levels = index.levels;
  session->strategy = config.strategy;
  session->normalization = config.normalization;
  session->mode = config.mode;
  session->max_listed = max_listed;
  const bool probes = config.strategy == SIDBEAM_STRATEGY_SORTED_TOPK || config.strategy == SIDBEAM_STRATEGY_HASH_FINAL;
  if (probes) session->top_k = config.top_k > 0 ? config.top_k : config.beams;
  session->vocabulary = make_vocabulary(config.vocabulary, index.levels, &runtime->allocator);
  check_vocabulary(session->vocabulary, *config.constraint, "config.constraint");
  session->named = NamedSlots(runtime->allocator, session->slots);
  session->starts = Buffer<SlotStart>(runtime->allocator, session->slots);
  session->backend = backend_on(*runtime, config.device_type, config.device_id)
                         .make_session(shape_of(*session, config), *config.constraint, runtime->allocator);
  return session;
}

void stop_slots(sidbeam_session& session, const int32_t* slots, int64_t count, void* stream) {
  count = listed_slots(session, slots, count);
  session.backend->check_host(slots, "slots");
  session.named.begin();
  for (int64_t i = 0; i < count; ++i) session.named.take(slots, i);
  session.backend->stop(slots, count, stream);
}

}  // namespace sidbeam
