// The same life, repeated elsewhere.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "checks.h"

namespace differential {
namespace {

// Who sets temperature and soft-cap: the start, as far as steps agree, or each step, for all or per slot.
enum class Sayer { kStart, kStep, kStepPerSlot };

Settings start_alone(const World& world, const Way& way, sidbeam_session* session, Sayer sayer, const Life& life) {
  const auto length = static_cast<int32_t>(life.prefix.size());
  const uint64_t hash = mix(world.seed(), kDrawReplay, 1);
  Settings settings;
  if (sayer == Sayer::kStart && !life.settings.empty()) settings = life.settings[0];
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.widths = life.widths.data();
  start.width_levels = static_cast<int32_t>(life.widths.size());
  start.stream = way.place->stream();
  start.inverse_temperatures = &settings.inverse_temperature;
  start.soft_caps = &settings.soft_cap;
  if (length > 0) {
    start.prefixes = life.prefix.data();
    start.prefix_lengths = &length;
    start.prefix_stride = hash % 2 == 0 ? length : SIDBEAM_BROADCAST;
  }
  call("sidbeam_session_start", sidbeam_session_start, session, &start);
  return settings;
}

// The slot after its start and after each step. Where rounding let beams change places, the life may end sooner.
std::vector<Snapshot> relive(const World& world, const Way& way, const Loaded& loaded, int strategy, Sayer sayer,
                             const Life& life) {
  const Place& place = *way.place;
  const Session session = make_session(way.runtime.get(), place, loaded.constraint.get(), world, strategy, 1);
  const Settings start = start_alone(world, way, session.get(), sayer, life);
  std::vector<Snapshot> after{snapshot(beams_of(place, session.get()), 0)};
  for (size_t k = 0; k < life.rows.size() && after.back().active != 0; ++k) {
    const Feed feed = plain_feed(world, life.rows[k], world.c.beams, static_cast<int64_t>(k % 3));
    const Delivery there(place, feed);
    const Settings settings = said(life.settings[k], start);
    const Array<float> temperature(place, 1, settings.inverse_temperature), soft_cap(place, 1, settings.soft_cap);
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.rows = &there.rows;
    args.lse = there.lse.data();
    if (sayer == Sayer::kStepPerSlot) {
      args.inverse_temperatures = temperature.data();
      args.soft_caps = soft_cap.data();
    } else {
      args.inverse_temperature = settings.inverse_temperature;
      args.soft_cap = settings.soft_cap;
    }
    args.stream = place.stream();
    place.step(session.get(), &args);
    after.push_back(snapshot(beams_of(place, session.get()), 0));
  }
  return after;
}

void expect_equal(const Life& life, const std::vector<Snapshot>& elsewhere, bool with_states, const std::string& what) {
  expect(elsewhere.size() == life.after.size(), what, ": ended after ", elsewhere.size() - 1, " steps, expected ",
         life.after.size() - 1);
  for (size_t k = 0; k < elsewhere.size(); ++k) {
    expect_same(elsewhere[k], life.after[k], with_states,
                what + (k == 0 ? ", after the start" : ", after its step " + std::to_string(k)));
  }
}

double ulp(float value) {
  return double{std::nextafter(std::fabs(value), std::numeric_limits<float>::infinity())} - std::fabs(double{value});
}

using Chosen = std::map<std::pair<int, int>, float>;
Chosen chosen(const Snapshot& after) {
  Chosen all;
  for (size_t k = 0; k < static_cast<size_t>(after.live); ++k)
    all[{after.parents[k], after.codes[k]}] = after.scores[k];
  return all;
}

// Candidates of `a` that `b` lacks must be as good as its last one, except for rounding.
int64_t count_only(const Chosen& a, const Chosen& b, double last, double allowed, const std::string& what) {
  int64_t count = 0;
  for (const auto& [place, score] : a) {
    const auto found = b.find(place);
    if (found == b.end()) ++count;
    const double difference = std::fabs(double{score} - (found == b.end() ? last : double{found->second}));
    expect(difference <= allowed, what, ": candidate (parent ", place.first, ", code ", place.second, ") of score ",
           score, found == b.end() ? " is on one side only, and the last has " : " has on the other side ",
           found == b.end() ? last : double{found->second}, ": ", difference, " apart, allowed ", allowed);
  }
  return count;
}

}  // namespace

// Each side's log-sum-exp is within 1e-6, so that a score moves by 2e-6 against another, and the last one of the other
// side by as much; each score is rounded. Beams that agree carry their difference to the next step. Rows belong to
// beams by their place: once two have changed places, the sides get different rows and are followed no further.
void expect_near(const World& world, const Life& life, const std::vector<Snapshot>& elsewhere, Coverage* coverage) {
  double allowed = 0;
  for (size_t k = 0; k < elsewhere.size(); ++k) {
    const Snapshot &a = life.after[k], &b = elsewhere[k];
    const std::string what = "on the CPU, after its step " + std::to_string(k);
    expect(a.live == b.live && a.level == b.level, what, ": live ", a.live, " and ", b.live, ", level ", a.level,
           " and ", b.level);
    if (a.live == 0) return;
    const auto last = static_cast<size_t>(a.live - 1);
    double largest = 0;
    for (size_t m = 0; m <= last; ++m) largest = std::max(largest, ulp(a.scores[m]));
    if (k > 0) allowed += 4e-6 + 2 * largest;
    const Chosen ours = chosen(a), theirs = chosen(b);
    const int64_t differ = count_only(ours, theirs, double{b.scores[last]}, allowed, what) +
                           count_only(theirs, ours, double{a.scores[last]}, allowed, what);
    (*coverage)["steps compared between device and CPU"] += 1;
    (*coverage)["candidates that device and CPU chose differently"] += differ;
    if (a.parents != b.parents || a.codes != b.codes) return;
    expect(a.active == b.active, what, ": active ", a.active, " and ", b.active);
    expect(world.c.bad_rows != 0 || a.error == b.error, what, ": error ", a.error, " and ", b.error);
  }
}

void check_replays(const Machine& machine, const World& world, const std::vector<Loaded>& loaded, const Life& life,
                   Coverage* coverage) {
  const auto strategy = static_cast<int>(world.c.strategy);
  const Loaded& own = loaded[life.catalogue];
  // A session is as long as its constraint, and the columns of a shorter SID would no longer agree.
  if (world.catalogues[life.catalogue].levels() != world.c.levels) return;
  const Way& best = machine.best();
  if (world.c.slots > 1) ++(*coverage)["lives repeated alone"];
  expect_equal(life, relive(world, best, own, strategy, Sayer::kStart, life), true, "alone");
  const bool exact = strategy == SIDBEAM_STRATEGY_TRIE || strategy == SIDBEAM_STRATEGY_SORTED;
  if (!world.parts.empty() && !world.catalogues[life.catalogue].sids.empty()) {
    ++(*coverage)["lives repeated on the allowed items alone"];
    const Loaded alone = load_allowed(best.runtime.get(), world, life.catalogue);
    expect_equal(life, relive(world, best, alone, strategy, Sayer::kStart, life), false, "on the allowed items alone");
    if (world.c.lean == 0)
      expect_equal(life, relive(world, best, alone, SIDBEAM_STRATEGY_SORTED, Sayer::kStep, life), false,
                   "on the allowed items alone, by their columns");
  }
  if (exact && world.c.lean == 0 && world.parts.empty()) {
    ++(*coverage)["lives repeated with trie and sorted"];
    const int other = SIDBEAM_STRATEGY_TRIE + SIDBEAM_STRATEGY_SORTED - strategy;
    expect_equal(life, relive(world, best, own, other, Sayer::kStep, life), false, "with the other exact strategy");
  }
  const bool same_everywhere = world.c.given_lse != 0 || world.c.normalization == SIDBEAM_NORMALIZE_NONE;
  constexpr Sayer kSayers[] = {Sayer::kStart, Sayer::kStep, Sayer::kStepPerSlot};
  for (size_t r = 1; r < machine.ways.size(); ++r) {
    const Way& way = machine.ways[r];
    ++(*coverage)["lives repeated on " + way.name];
    const std::vector<Snapshot> elsewhere = relive(world, way, own, strategy, kSayers[r % std::size(kSayers)], life);
    if (same_everywhere || way.place->device_type() == best.place->device_type()) {
      expect_equal(life, elsewhere, true, "on " + way.name);
      continue;
    }
    expect_near(world, life, elsewhere, coverage);
  }
  check_sorted(machine.for_seed(world.seed()), world, own, life, coverage);
}

}  // namespace differential
