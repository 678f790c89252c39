// The library through its C ABI: handles that free themselves, and failures as exceptions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <sidbeam/sidbeam.h>

#include "../handles.h"
#include "place.h"
#include "world.h"

namespace differential {

// The library did not do what the oracle or the contract says.
struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename... Parts>
[[noreturn]] void mismatch(const Parts&... parts);
template <typename... Parts>
void expect(bool ok, const Parts&... parts) {
  if (!ok) mismatch(parts...);
}

using namespace handles;

// A call of the library that must succeed: call("sidbeam_x", sidbeam_x, arguments without the error).
template <typename Function, typename... Arguments>
void call(const char* name, Function function, Arguments... arguments) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  const sidbeam_status status = function(arguments..., &err);
  expect(status == SIDBEAM_OK, name, " failed: ", sidbeam_status_name(status), ": ",
         static_cast<const char*>(err.message));
}

// cpu_target NULL: this machine's best. Empty where the machine lacks the target.
Runtime make_runtime(const char* cpu_target, int step_threads = 1, bool on_the_host = false);

// A catalogue in the library.
struct Loaded {
  Index index;
  Constraint constraint;
};
Loaded load(sidbeam_runtime* runtime, const World& world, size_t which);
// All of them; older versions come from the live catalogue that they are of.
std::vector<Loaded> load_all(sidbeam_runtime* runtime, const World& world);
// The items that rules allow, as a catalogue of their own.
Loaded load_allowed(sidbeam_runtime* runtime, const World& world, size_t which);
// What a builder makes of all that it was given.
Loaded finished(sidbeam_builder* builder);

Session make_session(sidbeam_runtime* runtime, const Place& place, sidbeam_constraint* constraint, const World& world,
                     int strategy, int slots);
ConstraintSet make_set(sidbeam_runtime* runtime, const Place& place,
                       const std::vector<sidbeam_constraint*>& constraints, const sidbeam_vocabulary* vocabulary);
// The index after all turns of each story, as versions of one live catalogue that began with `base`. The first story is
// the whole one.
std::vector<Index> live_indexes(const World& world, sidbeam_index* base, std::span<const Story> stories, uint64_t hash);
// `rules` are given in a way that the hash chooses.
Constraint constrain(sidbeam_index* index, const ItemRules& rules = {}, uint64_t hash = 0);
std::map<std::string, int64_t> counters_of(const sidbeam_session* session);

// The world's vocabulary in the ABI's form; borrows from the world.
struct Vocabulary {
  explicit Vocabulary(const World& world);
  Vocabulary(const Vocabulary&) = delete;
  std::vector<const int32_t*> maps;
  std::vector<int64_t> map_codes;
  sidbeam_vocabulary view = SIDBEAM_VOCABULARY_INIT;
};

// What a session says about one slot.
struct Snapshot {
  std::vector<int32_t> parents, codes;  // [M]
  std::vector<float> scores;
  std::vector<sidbeam_state> states;
  int32_t live = 0, active = 0, level = 0, error = 0;
  // Of the modes that sample, otherwise empty.
  std::vector<float> log_masses = {}, perturbed = {}, log_inclusions = {};
  float threshold = 0;
};
// The beams in the host's memory, once all work is done.
sidbeam_beams beams_of(const Place& place, sidbeam_session* session);
Snapshot snapshot(const sidbeam_beams& beams, size_t slot);
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);
// Same bits; states compared only where the strategies are the same.
void expect_same(const Snapshot& a, const Snapshot& b, bool with_states, const std::string& what);

std::string text(const std::vector<int>& codes);

// A list of slots as a call takes it: NULL, with a count of 0 or S, where it is all of them in order and the hash says
// so.
struct SlotList {
  SlotList(const std::vector<int32_t>& slots, size_t all, uint64_t hash);
  const int32_t* slots;
  int64_t count;
};

}  // namespace differential

#include <sstream>

template <typename... Parts>
[[noreturn]] void differential::mismatch(const Parts&... parts) {
  std::ostringstream message;
  message.precision(9);
  (message << ... << parts);
  throw Mismatch(message.str());
}
