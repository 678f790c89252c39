// Wrapping the C ABI for the differential test.
// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <bit>
#include <cstring>
#include <sstream>

#include "item_values.h"

namespace differential {

namespace {

// The worst that a host may do: the last task first, all on the caller's thread.
void execute_backwards(void* /*context*/, int32_t count, void (*task)(void* data, int32_t i), void* data) {
  while (count > 0) task(data, --count);
}

}  // namespace

Runtime make_runtime(const char* cpu_target, int step_threads, bool on_the_host) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = 1;
  config.cpu_target = cpu_target;
  config.step_threads = step_threads;
  config.step_grain = 1;
  if (on_the_host) config.execute = execute_backwards;
  sidbeam_runtime* runtime = nullptr;
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  const sidbeam_status status = sidbeam_runtime_create(&config, &runtime, &err);
  const bool lacking = cpu_target != nullptr && status == SIDBEAM_UNSUPPORTED;
  expect(status == SIDBEAM_OK || lacking, "sidbeam_runtime_create failed: ", static_cast<const char*>(err.message));
  return Runtime(runtime);
}

namespace {

int kinds_for(const Case& c) {
  const int trie = c.compact != 0 ? SIDBEAM_KIND_COMPACT_TRIE : SIDBEAM_KIND_TRIE;
  if (c.lean == 0) return trie | SIDBEAM_KIND_SORTED | (c.variable != 0 ? 0 : SIDBEAM_KIND_HASH);
  const int kinds[] = {trie, SIDBEAM_KIND_SORTED, SIDBEAM_KIND_SORTED, SIDBEAM_KIND_HASH, 0};
  return kinds[c.strategy];
}

void add_pairs(sidbeam_builder* builder, const World& world, size_t levels, const std::vector<oracle::Pair>& pairs,
               bool with_ids) {
  std::vector<int32_t> codes(pairs.size() * levels, -7);  // entries past a length are not read
  std::vector<int32_t> lengths;
  std::vector<int64_t> ids, priorities;
  for (size_t i = 0; i < pairs.size(); ++i) {
    for (size_t l = 0; l < pairs[i].sid.size(); ++l) codes[i * levels + l] = pairs[i].sid[l];
    lengths.push_back(static_cast<int32_t>(pairs[i].sid.size()));
    ids.push_back(pairs[i].id);
    priorities.push_back(pairs[i].priority);
  }
  const size_t half = pairs.size() / 2;  // in two pieces
  for (const auto& [from, to] : {std::pair{size_t{0}, half}, std::pair{half, pairs.size()}}) {
    call("sidbeam_builder_add", sidbeam_builder_add, builder, codes.data() + from * levels,
         world.c.variable != 0 ? lengths.data() + from : nullptr, static_cast<int64_t>(to - from),
         with_ids ? ids.data() + from : nullptr, world.c.priorities != 0 ? priorities.data() + from : nullptr);
    if (world.c.attributes != 0 && from < to) set_attributes(builder, world.c, pairs, from, to);
  }
}

sidbeam_index* build(sidbeam_runtime* runtime, const World& world, size_t which, const std::vector<oracle::Pair>& pairs,
                     bool with_ids) {
  const oracle::Catalogue& catalogue = world.wholes[which];
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = catalogue.levels();
  config.codes = catalogue.codes.data();
  config.variable_length = catalogue.variable ? 1 : 0;
  config.kinds = kinds_for(world.c);
  config.keep_priorities = world.c.live != 0 && world.c.priorities != 0 ? 1 : 0;  // rows that come back have theirs
  sidbeam_builder* made = nullptr;
  call("sidbeam_builder_create", sidbeam_builder_create, runtime, &config, &made);
  const std::unique_ptr<sidbeam_builder, Releaser<sidbeam_builder_destroy>> builder(made);
  if (world.c.attributes != 0) declare_attributes(builder.get());
  add_pairs(builder.get(), world, catalogue.codes.size(), pairs, with_ids);
  sidbeam_index* index = nullptr;
  call("sidbeam_builder_finish", sidbeam_builder_finish, builder.get(), &index);
  return index;
}

// A plain catalogue, or so many versions of a live one, from this number on.
std::vector<Index> indexes_of(sidbeam_runtime* runtime, const World& world, size_t which, size_t versions) {
  const bool live = !world.stories.empty();
  std::vector<Index> indexes;
  indexes.emplace_back(
      build(runtime, world, which, live ? world.stories[which].base : world.pairs[which], live || world.c.ids != 0));
  if (!live) return indexes;
  return live_indexes(world, indexes[0].get(), std::span(world.stories).subspan(which, versions),
                      mix(world.seed(), kDrawLive, which, 20));
}

Loaded constrained(const World& world, size_t which, Index index) {
  Constraint constraint = world.parts.empty()
                              ? constrain(index.get())
                              : constrain(index.get(), world.parts[which].rules, mix(world.seed(), kDrawRules, which));
  return {std::move(index), std::move(constraint)};
}

}  // namespace

Loaded load(sidbeam_runtime* runtime, const World& world, size_t which) {
  return constrained(world, which, std::move(indexes_of(runtime, world, which, 1)[0]));
}

std::vector<Loaded> load_all(sidbeam_runtime* runtime, const World& world) {
  std::vector<Loaded> loaded;
  while (loaded.size() < world.catalogues.size()) {
    const size_t first = loaded.size();
    size_t end = first + 1;
    while (end < world.stories.size() && world.stories[end].is_older) ++end;
    for (Index& index : indexes_of(runtime, world, first, end - first))
      loaded.push_back(constrained(world, loaded.size(), std::move(index)));
  }
  return loaded;
}

Loaded load_allowed(sidbeam_runtime* runtime, const World& world, size_t which) {
  Loaded loaded;
  loaded.index.reset(build(runtime, world, which, world.allowed_pairs(which), true));
  loaded.constraint = constrain(loaded.index.get());
  return loaded;
}

Loaded finished(sidbeam_builder* builder) {
  sidbeam_index* index = nullptr;
  call("sidbeam_builder_finish", sidbeam_builder_finish, builder, &index);
  Loaded loaded;
  loaded.index.reset(index);
  loaded.constraint = constrain(index);
  return loaded;
}

Vocabulary::Vocabulary(const World& world) {
  for (const std::vector<int32_t>& map : world.maps) {
    maps.push_back(map.empty() ? nullptr : map.data());
    map_codes.push_back(static_cast<int64_t>(map.size()));
  }
  view.levels = static_cast<int32_t>(world.offsets.size());
  view.offsets = world.offsets.data();
  view.maps = world.c.maps != 0 ? maps.data() : nullptr;
  view.map_codes = world.c.maps != 0 ? map_codes.data() : nullptr;
  view.end_column = world.end_column;
}

Session make_session(sidbeam_runtime* runtime, const Place& place, sidbeam_constraint* constraint, const World& world,
                     int strategy, int slots) {
  const Case& c = world.c;
  const Vocabulary vocabulary(world);
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = slots;
  config.beams = static_cast<int32_t>(c.beams);
  config.strategy = strategy;
  config.normalization = static_cast<int32_t>(c.normalization);
  config.top_k = static_cast<int32_t>(c.top_k);
  config.constraint = constraint;
  const bool plain = c.offsets == 0 && c.maps == 0 && c.variable == 0;
  config.vocabulary = plain ? nullptr : &vocabulary.view;
  config.device_type = place.device_type();
  config.device_id = place.device_id();
  config.log_probs_promised = static_cast<int32_t>(c.promised);
  config.mode = static_cast<int32_t>(c.mode);
  sidbeam_session* session = nullptr;
  call("sidbeam_session_create", sidbeam_session_create, runtime, &config, &session);
  return Session(session);
}

ConstraintSet make_set(sidbeam_runtime* runtime, const Place& place,
                       const std::vector<sidbeam_constraint*>& constraints, const sidbeam_vocabulary* vocabulary) {
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  config.constraints = constraints.data();
  config.constraint_count = static_cast<int64_t>(constraints.size());
  config.vocabulary = vocabulary;
  config.device_type = place.device_type();
  config.device_id = place.device_id();
  sidbeam_constraint_set* set = nullptr;
  call("sidbeam_constraint_set_create", sidbeam_constraint_set_create, runtime, &config, &set);
  return ConstraintSet(set);
}

std::map<std::string, int64_t> counters_of(const sidbeam_session* session) {
  int64_t count = 0;
  call("sidbeam_session_get_counters", sidbeam_session_get_counters, session, int64_t{0}, nullptr, nullptr, &count);
  std::vector<const char*> names(static_cast<size_t>(count));
  std::vector<int64_t> values(static_cast<size_t>(count));
  call("sidbeam_session_get_counters", sidbeam_session_get_counters, session, count, names.data(), values.data(),
       &count);
  std::map<std::string, int64_t> counters;
  for (size_t i = 0; i < names.size(); ++i) counters[names[i]] = values[i];
  return counters;
}

SlotList::SlotList(const std::vector<int32_t>& listed, size_t all, uint64_t hash)
    : slots(listed.data()), count(static_cast<int64_t>(listed.size())) {
  if (listed.size() != all || hash % 3 == 0) return;
  for (size_t i = 0; i < all; ++i)
    if (listed[i] != static_cast<int32_t>(i)) return;
  slots = nullptr;
  if (hash % 3 == 1) count = 0;
}

sidbeam_beams beams_of(const Place& place, sidbeam_session* session) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  call("sidbeam_session_fetch", sidbeam_session_fetch, session, &beams, place.stream());
  place.wait();
  return beams;
}

Snapshot snapshot(const sidbeam_beams& beams, size_t slot) {
  const auto m = static_cast<size_t>(beams.beams);
  const auto part = [slot](const auto* data, size_t size) {
    return std::vector(data + slot * size, data + (slot + 1) * size);
  };
  Snapshot now{part(beams.parents, m), part(beams.codes, m), part(beams.scores, m), part(beams.states, m),
               beams.live[slot],       beams.active[slot],   beams.level[slot],     beams.errors[slot]};
  if (beams.log_masses != nullptr) now.log_masses = part(beams.log_masses, m);
  if (beams.perturbed == nullptr) return now;
  now.perturbed = part(beams.perturbed, m);
  now.log_inclusions = part(beams.log_inclusions, m);
  now.threshold = beams.thresholds[slot];
  return now;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void expect_same(const Snapshot& a, const Snapshot& b, bool with_states, const std::string& what) {
  expect(a.live == b.live, what, ": live ", a.live, " and ", b.live);
  expect(a.active == b.active, what, ": active ", a.active, " and ", b.active);
  expect(a.level == b.level, what, ": level ", a.level, " and ", b.level);
  expect(a.error == b.error, what, ": error ", a.error, " and ", b.error);
  for (size_t m = 0; m < a.scores.size(); ++m) {
    expect(a.parents[m] == b.parents[m] && a.codes[m] == b.codes[m] &&
               std::bit_cast<uint32_t>(a.scores[m]) == std::bit_cast<uint32_t>(b.scores[m]),
           what, ": beam ", m, " is (parent ", a.parents[m], ", code ", a.codes[m], ", score ", a.scores[m], ") and (",
           b.parents[m], ", ", b.codes[m], ", ", b.scores[m], ")");
  }
  expect(!with_states || a.states == b.states, what, ": states differ");
  expect(same_bits(a.log_masses, b.log_masses), what, ": log masses differ");
  expect(same_bits(a.perturbed, b.perturbed), what, ": perturbed scores differ");
  expect(same_bits(a.log_inclusions, b.log_inclusions), what, ": log inclusions differ");
  expect(same_bits({a.threshold}, {b.threshold}), what, ": thresholds are ", a.threshold, " and ", b.threshold);
}

// Not by a stream: messages are written whether or not they are wanted, and streams took a third of all cases' time.
std::string text(const std::vector<int>& codes) {
  std::string result = "(";
  for (const int code : codes) {
    if (result.size() > 1) result += ',';
    result += std::to_string(code);
  }
  return result + ")";
}

}  // namespace differential
