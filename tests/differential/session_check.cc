// A session run through starts, steps and stops, every slot checked after every call.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "checks.h"

namespace differential {
namespace {

struct Slot {
  bool idle = true;
  Life life;
  int level = 0, error = 0;
  std::vector<oracle::Beam> beams;
  Snapshot last;
};

struct Run {
  const Way& way;
  const World& world;
  const std::vector<Loaded>& loaded;
  Coverage* coverage;
  Session session;
  std::vector<Slot> slots;
  std::vector<Life> lives;  // of slots that have stopped or started again
  uint64_t operation = 0;
  int64_t steps = 0, slot_steps = 0;

  uint64_t draw(uint64_t what, uint64_t more = 0) const {
    return mix(world.seed(), kDrawOperation, operation, what, more);
  }
  const oracle::Catalogue& catalogue(const Slot& slot) const { return world.catalogues[slot.life.catalogue]; }
  bool must_be_fed(const Slot& slot, const oracle::Beam& beam) const {
    return !beam.ended && slot.level < catalogue(slot).levels();
  }
  bool done(const Slot& slot) const {
    return slot.idle || std::none_of(slot.beams.begin(), slot.beams.end(),
                                     [&](const oracle::Beam& beam) { return must_be_fed(slot, beam); });
  }
};

// Slots in a random order, about half of those that `wanted` accepts and at least one if there is one.
template <typename Predicate>
std::vector<int> some_slots(const Run& run, uint64_t what, Predicate wanted) {
  std::vector<std::pair<uint64_t, int>> order;
  for (size_t s = 0; s < run.slots.size(); ++s) {
    if (wanted(run.slots[s])) order.push_back({run.draw(what, s), static_cast<int>(s)});
  }
  std::sort(order.begin(), order.end());
  std::vector<int> slots;
  for (const auto& [hash, s] : order) {
    if (slots.empty() || hash % 2 == 0) slots.push_back(s);
  }
  return slots;
}

void check_states(const Run& run, const Slot& slot, const Snapshot& now) {
  if (run.world.c.strategy != SIDBEAM_STRATEGY_TRIE) return;
  const auto states = states_of(run.way.runtime.get(), run.loaded[slot.life.catalogue].constraint.get(),
                                run.catalogue(slot), slot.beams);
  for (size_t k = 0; k < states.size(); ++k) {
    expect(now.states[k] == states[k], "state of beam ", k, " is ", now.states[k], ", from its prefix ",
           text(slot.beams[k].prefix), " it is ", states[k]);
  }
}

// What holds after every call.
void check_counts(const Run& run, const Slot& slot, const Snapshot& now) {
  const auto active = std::count_if(slot.beams.begin(), slot.beams.end(),
                                    [&](const oracle::Beam& beam) { return run.must_be_fed(slot, beam); });
  expect(now.live == static_cast<int>(slot.beams.size()), "live is ", now.live, " and should be ", slot.beams.size());
  expect(now.active == active, "active is ", now.active, " and should be ", active);
  expect(now.level == slot.level, "level is ", now.level, " and should be ", slot.level);
  expect(now.error == slot.error, "error flags are ", now.error, " and should be ", slot.error);
  for (size_t k = slot.beams.size(); k < now.scores.size(); ++k) {
    expect(now.parents[k] == -1 && now.codes[k] == -1 && now.scores[k] == -std::numeric_limits<float>::infinity() &&
               now.states[k] == -1,
           "beam ", k, " is not dead");
  }
  check_states(run, slot, now);
}

// Applies `check` to the touched slots and expects the others unchanged.
template <typename Check>
void check_slots(Run* run, const std::vector<int>& touched, const char* what, Check check) {
  const sidbeam_beams beams = beams_of(*run->way.place, run->session.get());
  for (size_t s = 0; s < run->slots.size(); ++s) {
    Slot& slot = run->slots[s];
    const Snapshot now = snapshot(beams, s);
    try {
      const auto found = std::find(touched.begin(), touched.end(), static_cast<int>(s));
      if (found == touched.end()) {
        expect_same(now, slot.last, true, "a slot that was not named has changed");
      } else {
        check(slot, now, static_cast<size_t>(found - touched.begin()));
        check_counts(*run, slot, now);
      }
    } catch (const Mismatch& error) {
      mismatch("operation ", run->operation, " (", what, "), slot ", s, ", level ", slot.level, ": ", error.what());
    }
    slot.last = now;
  }
}

oracle::Sid draw_prefix(const World& world, const oracle::Catalogue& catalogue, uint64_t hash) {
  if (world.c.prefixes == 0) return {};
  if (world.c.prefixes == 2 && hash % 2 == 0) {
    oracle::Sid prefix(mix(hash, 1) % (catalogue.codes.size() + 1));
    for (size_t l = 0; l < prefix.size(); ++l) {
      prefix[l] = static_cast<int>(mix(hash, 2, l) % static_cast<uint64_t>(catalogue.codes[l]));
    }
    return prefix;
  }
  oracle::Sid prefix = catalogue.sids[mix(hash, 3) % catalogue.sids.size()];
  prefix.resize(mix(hash, 4) % (prefix.size() + 1));
  return prefix;
}

// Whether a start sets temperature and soft-cap. One that does not must forget the previous start's.
bool starts_say(const Run& run) { return run.world.c.settings % 2 == 1 && run.draw(11) % 4 != 0; }

// Of each level. Where levels differ some have all beams or one, so that others rise and fall beside them.
std::vector<int32_t> draw_widths(const Case& c, uint64_t hash) {
  const auto beams = static_cast<uint64_t>(c.beams);
  std::vector<int32_t> widths;
  for (int64_t l = 0; l < c.levels; ++l) {
    const uint64_t drawn = c.widths < 2 ? hash : mix(hash, static_cast<uint64_t>(l));
    const uint64_t width = c.widths == 0 || (c.widths == 2 && drawn % 5 == 0) ? beams
                           : c.widths == 2 && drawn % 5 == 1                  ? 1
                                                                              : 1 + drawn / 5 % beams;
    widths.push_back(static_cast<int32_t>(width));
  }
  return widths;
}

// How many of its widths a start names: where the last ones are equal, the first of them may stand for all.
int32_t named_levels(const Case& c, const std::vector<Life>& lives, uint64_t hash) {
  if (c.widths < 2) return 0;
  size_t levels = static_cast<size_t>(c.levels);
  const auto is_repeated = [&](const Life& life) { return life.widths[levels - 1] == life.widths[levels - 2]; };
  while (levels > 1 && hash % 2 == 0 && std::all_of(lives.begin(), lives.end(), is_repeated)) --levels;
  return static_cast<int32_t>(levels);
}

Life draw_life(const Run& run, size_t s) {
  const uint64_t hash = mix(run.world.seed(), kDrawStart, run.operation, s);
  Life life;
  life.catalogue = hash % run.world.catalogues.size();
  life.widths = draw_widths(run.world.c, mix(hash, 1));
  life.prefix = draw_prefix(run.world, run.world.wholes[life.catalogue], mix(hash, 2));
  if (starts_say(run)) life.start = draw_settings(run.world.c, mix(hash, 3), true);
  return life;
}

// The lists of a start, an entry per life.
struct StartLists {
  std::vector<sidbeam_constraint*> constraints;
  std::vector<int32_t> widths, lengths, prefixes;
  std::vector<float> inverse_temperatures, soft_caps;
};

StartLists start_lists(const Run& run, const std::vector<Life>& lives, size_t stride, int32_t width_levels) {
  StartLists lists;
  lists.prefixes.assign(lives.size() * stride, -7);
  for (size_t i = 0; i < lives.size(); ++i) {
    // The session's own constraint is the first, named by NULL.
    lists.constraints.push_back(lives[i].catalogue == 0 ? nullptr : run.loaded[lives[i].catalogue].constraint.get());
    for (size_t l = 0; l < static_cast<size_t>(std::max(width_levels, 1)); ++l)
      lists.widths.push_back(lives[i].widths[l] == run.world.c.beams ? 0 : lives[i].widths[l]);
    lists.lengths.push_back(static_cast<int32_t>(lives[i].prefix.size()));
    std::copy(lives[i].prefix.begin(), lives[i].prefix.end(),
              lists.prefixes.begin() + static_cast<std::ptrdiff_t>(i * stride));
    lists.inverse_temperatures.push_back(lives[i].start.inverse_temperature);
    lists.soft_caps.push_back(lives[i].start.soft_cap);
  }
  return lists;
}

// Prefixes lie apart or dense; a single one may also be one for all.
void call_start(Run* run, const std::vector<int>& slots, const std::vector<Life>& lives) {
  const uint64_t way = run->draw(6) % 3;
  const auto levels = static_cast<size_t>(run->world.c.levels), stride = way == 0 ? levels + 1 : levels;
  const int32_t width_levels = named_levels(run->world.c, lives, run->draw(12));
  const StartLists lists = start_lists(*run, lives, stride, width_levels);
  const SlotList list(slots, run->slots.size(), run->draw(7));
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.slots = list.slots;
  args.count = list.count;
  if (run->world.catalogues.size() > 1) args.constraints = lists.constraints.data();
  if (run->world.c.widths != 0) args.widths = lists.widths.data();
  args.width_levels = width_levels;
  if (run->world.c.prefixes != 0) {
    args.prefixes = lists.prefixes.data();
    args.prefix_lengths = lists.lengths.data();
    args.prefix_stride = way == 0 ? static_cast<int64_t>(stride) : way == 1 || slots.size() > 1 ? 0 : SIDBEAM_BROADCAST;
  }
  if (starts_say(*run)) {
    args.inverse_temperatures = lists.inverse_temperatures.data();
    args.soft_caps = lists.soft_caps.data();
  }
  args.stream = run->way.place->stream();
  if (list.slots == nullptr) ++(*run->coverage)["starts of all slots, unlisted"];
  call("sidbeam_session_start", sidbeam_session_start, run->session.get(), &args);
}

void start(Run* run, const std::vector<int>& slots) {
  std::vector<Life> lives;
  for (const int s : slots) lives.push_back(draw_life(*run, static_cast<size_t>(s)));
  call_start(run, slots, lives);
  const bool constrained = run->world.rules.strategy != oracle::Strategy::kNone;
  check_slots(run, slots, "start", [&](Slot& slot, const Snapshot& now, size_t i) {
    if (!slot.idle) run->lives.push_back(slot.life);
    slot = {false, lives[i], static_cast<int>(lives[i].prefix.size()), 0, {}, {}};
    if (!constrained || oracle::has_prefix(run->catalogue(slot), slot.life.prefix)) {
      slot.beams.push_back({slot.life.prefix, false, 0});
      expect(now.scores[0] == 0, "score of a started beam is ", now.scores[0]);
    } else {
      ++(*run->coverage)[slot.life.prefix.empty() ? "starts of which nothing is allowed"
                                                  : "starts at a prefix that no SID has"];
    }
    if (!slot.life.prefix.empty()) ++(*run->coverage)["starts at a prefix"];
    slot.life.after.push_back(now);
  });
}

void stop(Run* run, const std::vector<int>& slots) {
  const SlotList list(slots, run->slots.size(), run->draw(7));
  call("sidbeam_session_stop", sidbeam_session_stop, run->session.get(), list.slots, list.count,
       run->way.place->stream());
  ++(*run->coverage)["stops in the middle"];
  const sidbeam_beams beams = beams_of(*run->way.place, run->session.get());
  for (const int s : slots) {
    Slot& slot = run->slots[static_cast<size_t>(s)];
    if (!slot.idle) run->lives.push_back(slot.life);
    slot = {};
    slot.last = snapshot(beams, static_cast<size_t>(s));
    expect(slot.last.level == -1 && slot.last.live == 0 && slot.last.active == 0 && slot.last.error == 0, "operation ",
           run->operation, " (stop), slot ", s, ": level ", slot.last.level, ", live ", slot.last.live, ", active ",
           slot.last.active, ", error ", slot.last.error);
  }
}

void count_mixture(Run* run, const std::vector<int>& slots) {
  for (const int s : slots) {
    const Slot& slot = run->slots[static_cast<size_t>(s)];
    const Slot& first = run->slots[static_cast<size_t>(slots[0])];
    if (slot.level != first.level) ++(*run->coverage)["steps of slots at different levels"];
    if (slot.life.catalogue == first.life.catalogue) continue;
    ++(*run->coverage)["steps of slots with different constraints"];
    if (run->world.newest_of(slot.life.catalogue) == run->world.newest_of(first.life.catalogue))
      ++(*run->coverage)["steps of slots with different versions of a catalogue"];
  }
}

// The settings of a step, for all or per slot.
struct StepSettings {
  bool listed = false;
  Settings all;
  std::vector<Settings> each;
};

StepSettings draw_step_settings(const Run& run, size_t slots) {
  const Case& c = run.world.c;
  StepSettings drawn;
  if (c.settings == 0) drawn.all = {run.world.rules.inverse_temperature, run.world.rules.soft_cap};
  drawn.listed = c.settings == 2 || (c.settings == 3 && run.draw(8) % 3 != 0);
  if (c.settings == 3 && !drawn.listed && run.draw(8) % 2 == 0) drawn.all = draw_settings(c, run.draw(9), true);
  for (size_t i = 0; i < slots; ++i) {
    const bool says = drawn.listed && (c.settings == 2 || run.draw(10, i) % 2 == 0);
    drawn.each.push_back(says ? draw_settings(c, run.draw(9, i + 1), true) : drawn.all);
  }
  return drawn;
}

void call_step(Run* run, const std::vector<int>& slots, bool named, const Feed& feed, const StepSettings& settings) {
  const Place& place = *run->way.place;
  const Delivery there(place, feed);
  const Array<int32_t> list(place, named ? slots : std::vector<int32_t>());
  std::vector<float> temperatures, soft_caps;
  for (size_t i = 0; settings.listed && i < slots.size(); ++i) {
    temperatures.push_back(settings.each[i].inverse_temperature);
    soft_caps.push_back(settings.each[i].soft_cap);
  }
  const Array<float> temperatures_there(place, temperatures), soft_caps_there(place, soft_caps);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.slots = list.data();
  args.count = named || run->draw(7) % 2 == 0 ? static_cast<int64_t>(slots.size()) : 0;
  args.rows = &there.rows;
  args.row_map = there.row_map.data();
  args.lse = there.lse.data();
  args.inverse_temperature = settings.all.inverse_temperature;
  args.soft_cap = settings.all.soft_cap;
  args.inverse_temperatures = temperatures_there.data();
  args.soft_caps = soft_caps_there.data();
  args.stream = place.stream();
  place.step(run->session.get(), &args);
}

void count_settings(const Settings& step, const Settings& start, Coverage* coverage) {
  if (step == Settings{} && !(start == Settings{})) ++(*coverage)["steps that follow what a slot was started with"];
  if (step.inverse_temperature != 0 && start.inverse_temperature != 0)
    ++(*coverage)["steps whose temperature comes before the slot's"];
  if (step.soft_cap != 0 && start.soft_cap != 0) ++(*coverage)["steps whose soft-cap comes before the slot's"];
  if (std::isinf(step.soft_cap)) ++(*coverage)["steps that lift the soft-cap"];
}

void count_width(const Slot& slot, int32_t width, Coverage* coverage) {
  if (slot.beams.size() > static_cast<size_t>(width)) ++(*coverage)["steps narrower than the one before"];
  const auto level = static_cast<size_t>(slot.level);
  if (level > 0 && width > slot.life.widths[level - 1]) ++(*coverage)["steps wider than the one before"];
}

// Steps `stepped`; the call names them, or (named false) means all slots.
void step(Run* run, const std::vector<int>& stepped, bool named) {
  std::vector<int> slots = stepped;
  if (!named) {
    slots.clear();
    for (size_t s = 0; s < run->slots.size(); ++s) slots.push_back(static_cast<int>(s));
  }
  std::vector<std::vector<bool>> fed;
  for (const int s : slots) {
    const Slot& slot = run->slots[static_cast<size_t>(s)];
    fed.emplace_back(static_cast<size_t>(run->world.c.beams), false);
    for (size_t m = 0; m < slot.beams.size(); ++m)
      fed.back()[m] = !run->done(slot) && run->must_be_fed(slot, slot.beams[m]);
  }
  Feed feed = make_feed(run->world, run->operation, slots, fed);
  count_mixture(run, stepped);
  const StepSettings settings = draw_step_settings(*run, slots.size());
  call_step(run, slots, named, feed, settings);
  ++run->steps;
  run->slot_steps += static_cast<int64_t>(stepped.size());
  check_slots(run, stepped, "step", [&](Slot& slot, const Snapshot& now, size_t i) {
    const auto place = std::find(slots.begin(), slots.end(), stepped[i]) - slots.begin();
    std::vector<RawRow>& rows = feed.seen[static_cast<size_t>(place)];
    rows.resize(slot.beams.size());
    const Settings& step = settings.each[static_cast<size_t>(place)];
    count_settings(step, slot.life.start, run->coverage);
    const Settings under = followed(step, slot.life.start);
    const oracle::Rules rules = rules_under(run->world, under);
    const int32_t width = slot.life.widths[static_cast<size_t>(slot.level)];
    count_width(slot, width, run->coverage);
    check_step({run->world, rules, run->catalogue(slot), slot.level, width, rows}, now, &slot.beams, &slot.error,
               run->coverage);
    ++slot.level;
    slot.life.rows.push_back(std::move(rows));
    slot.life.settings.push_back(under);
    slot.life.after.push_back(now);
  });
}

void check_stats(const Run& run) {
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  call("sidbeam_session_get_stats", sidbeam_session_get_stats, run.session.get(), &stats);
  expect(stats.steps == run.steps, "stats.steps is ", stats.steps, " and should be ", run.steps);
  std::map<std::string, int64_t> counters = counters_of(run.session.get());
  expect(counters["slot_steps"] == run.slot_steps, "slot_steps is ", counters["slot_steps"], " and should be ",
         run.slot_steps);
  Coverage& coverage = *run.coverage;
  coverage["rows read"] += stats.rows_read;
  coverage["rows skipped"] += stats.rows_skipped;
  coverage["rows bad"] += stats.rows_bad;
  coverage["dead beams"] += stats.dead_beams;
  coverage["selection workspace cut back"] += counters["shrinks"];
  const bool summed = run.world.c.given_lse == 0 && run.world.c.normalization != SIDBEAM_NORMALIZE_NONE;
  coverage[summed ? "rows with one child, summed" : "rows with one child, not summed"] += counters["single_rows"];
  if (summed && run.world.c.beams >= 16)
    coverage["rows with one child, summed, of many beams"] += counters["single_rows"];
  coverage["slots divided among threads"] += counters["split_slots"];
  coverage["rows with listed children"] += counters["list_rows"];
  constexpr const char* kDtypes[] = {"f32", "f16", "bf16"};
  coverage[std::string("rows with dense children, ") + kDtypes[run.world.c.dtype]] += counters["dense_rows"];
  if (run.world.columns > 2 * run.world.c.codes + 1024)
    coverage["rows with dense children, too wide for maxima"] += counters["dense_rows"];
  coverage["unconstrained rows"] += counters["unconstrained_rows"];
  coverage["probed rows"] += counters["probed_rows"];
}

void check_all_items(const Run& run) {
  std::vector<SlotItems> slots;
  for (const Slot& slot : run.slots) slots.push_back({slot.life.catalogue, slot.beams});
  check_items(run.world, run.loaded, *run.way.place, run.session.get(), slots, run.operation, run.coverage);
}

void check_all_children(const Run& run) {
  std::vector<std::vector<FedBeam>> slots;
  for (const Slot& slot : run.slots) {
    slots.emplace_back();
    for (const oracle::Beam& beam : slot.beams)
      slots.back().push_back({slot.life.catalogue, &beam.prefix, !run.done(slot) && run.must_be_fed(slot, beam)});
  }
  check_children(run.world, *run.way.place, run.session.get(), slots, run.draw(13), run.coverage);
}

}  // namespace

std::vector<Life> check_session(const Machine& machine, const World& world, const std::vector<Loaded>& loaded,
                                Coverage* coverage) {
  const auto slots = static_cast<int>(world.c.slots);
  const Way& way = machine.for_seed(world.seed());
  for (const Loaded& one : loaded) way.place->prepare(one.index.get());
  Run run{way,
          world,
          loaded,
          coverage,
          make_session(way.runtime.get(), *way.place, loaded[0].constraint.get(), world,
                       static_cast<int>(world.c.strategy), slots),
          {},
          {}};
  run.slots.resize(static_cast<size_t>(slots));
  for (size_t s = 0; s < run.slots.size(); ++s)
    run.slots[s].last = snapshot(beams_of(*run.way.place, run.session.get()), s);
  const auto any = [](const Slot&) { return true; };
  for (; run.operation < static_cast<uint64_t>(world.c.operations); ++run.operation) {
    std::vector<int> ready;
    for (int s = 0; s < slots; ++s) {
      if (!run.done(run.slots[static_cast<size_t>(s)])) ready.push_back(s);
    }
    const uint64_t choice = world.c.restarts != 0 ? run.draw(1) % 6 : 5;
    if (run.operation == 0) {
      std::vector<int> all;
      for (int s = 0; s < slots; ++s) all.push_back(s);
      start(&run, world.c.restarts != 0 ? some_slots(run, 2, any) : all);
    } else if (choice == 0) {
      stop(&run, some_slots(run, 2, any));
    } else if (choice == 1 || (ready.empty() && world.c.restarts != 0)) {
      start(&run, some_slots(run, 2, any));
    } else if (ready.empty()) {
      break;
    } else if (world.c.subsets != 0 && run.draw(3) % 3 != 0) {
      step(&run, some_slots(run, 4, [&](const Slot& slot) { return !run.done(slot); }), true);
    } else {
      step(&run, ready, false);
    }
    if (run.draw(5) % 3 == 0) check_all_items(run);
    if (run.draw(5) % 3 == 1) check_all_children(run);
  }
  check_all_items(run);
  check_stats(run);
  for (Slot& slot : run.slots) {
    if (!slot.idle) run.lives.push_back(slot.life);
  }
  return std::move(run.lives);
}

}  // namespace differential
