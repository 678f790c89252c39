// The library's side of a case.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "case.h"
#include "constrain.h"

namespace speculation {
namespace {

using handles::check;
using handles::made;

using differential::Array;

sidbeam_beams beams_of(const World& world, sidbeam_session* session) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  check([&](sidbeam_error* err) { return sidbeam_session_fetch(session, &beams, world.place->stream(), err); });
  world.place->wait();
  return beams;
}

std::vector<uint32_t> bits_of(const float* values, int64_t count) {
  std::vector<uint32_t> bits;
  for (int64_t i = 0; values != nullptr && i < count; ++i) bits.push_back(std::bit_cast<uint32_t>(values[i]));
  return bits;
}

// Logits rows of prefixes, one after the other, and their log-sum-exps.
struct Rows {
  Array<float> data, sums;
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;

  Rows(const World& world, const Model& model, const std::vector<Prefix>& prefixes)
      : data(*world.place, all_of(model, prefixes)), sums(*world.place, sums_of(model, prefixes)) {
    rows = sidbeam_rows_dense(data.data(), SIDBEAM_DTYPE_F32, 0, static_cast<int64_t>(prefixes.size()), model.columns);
    rows.device_type = world.place->device_type();
    rows.device_id = world.place->device_id();
  }
  const float* lse(const Case& c) const { return c.given_lse ? sums.data() : nullptr; }

 private:
  static std::vector<float> all_of(const Model& model, const std::vector<Prefix>& prefixes) {
    std::vector<float> all;
    for (const Prefix& prefix : prefixes) {
      const std::vector<float> row = model.row_of(prefix);
      all.insert(all.end(), row.begin(), row.end());
    }
    all.resize(all.size() + 1);  // never empty
    return all;
  }
  static std::vector<float> sums_of(const Model& model, const std::vector<Prefix>& prefixes) {
    std::vector<float> sums;
    for (const Prefix& prefix : prefixes) {
      double sum = 0;
      for (const float value : model.row_of(prefix)) sum += std::exp(static_cast<double>(value));
      sums.push_back(static_cast<float>(std::log(sum)));
    }
    sums.resize(sums.size() + 1);
    return sums;
  }
};

std::vector<int32_t> copy_of(const int32_t* values, int64_t count) { return {values, values + count}; }

// A step of listed slots on mapped rows.
void step_slots(const World& world, sidbeam_session* session, const Rows& rows, const float* lse,
                const std::vector<int32_t>& slots, const std::vector<int32_t>& map) {
  const Array<int32_t> slots_there(*world.place, slots), map_there(*world.place, map);
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.slots = slots_there.data();
  step.count = static_cast<int64_t>(slots.size());
  step.rows = &rows.rows;
  step.row_map = map_there.data();
  step.lse = lse;
  step.stream = world.place->stream();
  world.place->step(session, &step);
}

// What the two models remember: the token that was written at each place.
struct Memory {
  const Case& c;
  std::map<int32_t, int64_t> tokens;

  // The prefix that a node's list of ancestors shows.
  Prefix prefix_of(const sidbeam_speculation_tree& tree, int64_t node, int32_t slot) const {
    Prefix prefix = c.starts[static_cast<size_t>(slot)];
    for (int32_t i = 0; i < tree.depth; ++i) {
      const int32_t place = tree.ancestors[node * tree.depth + i];
      if (place < 0) break;
      prefix.push_back(static_cast<int32_t>(tokens.at(place) - c.target.offsets[prefix.size()]));
    }
    return prefix;
  }
  void write(const sidbeam_speculation_tree& tree) {
    for (int64_t node = 0; node < tree.nodes; ++node)
      if (tree.places[node] >= 0) tokens[tree.places[node]] = tree.tokens[node];
  }
};

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "the tree is wrong: %s\n", what);
  std::abort();
}

// What a tree's arrays say about each other, and the mask about the lists.
void check_tree(const sidbeam_speculation* speculation, const sidbeam_speculation_tree& tree) {
  const int64_t stride = tree.place_stride;
  std::vector<uint8_t> mask(static_cast<size_t>(tree.nodes * stride + 1), 7);
  check([&](sidbeam_error* err) { return sidbeam_speculation_get_mask(speculation, mask.data(), stride, err); });
  for (int64_t i = 0; i < tree.count; ++i) {
    const int64_t first = tree.slots[i] * stride;
    for (int64_t n = tree.node_offsets[i]; n < tree.node_offsets[i + 1]; ++n) {
      const int32_t* list = tree.ancestors + n * tree.depth;
      int32_t length = 0;
      while (length < tree.depth && list[length] >= 0) ++length;
      expect(tree.parents[n] < n, "a parent comes first");
      expect(tree.parents[n] < 0 || tree.positions[n] == tree.positions[tree.parents[n]] + 1 ||
                 tree.positions[tree.parents[n]] == -1,
             "positions rise by one");
      expect(length == 0 ? tree.places[n] == -1 : list[length - 1] == tree.places[n], "a list ends with its node");
      int64_t ones = 0;
      for (int64_t p = 0; p < stride; ++p) ones += mask[static_cast<size_t>(n * stride + p)];
      expect(ones == length, "the mask has as many places as the list");
      for (int32_t a = 0; a < length; ++a) {
        expect(list[a] >= first && list[a] < first + stride, "places are the slot's");
        expect(mask[static_cast<size_t>(n * stride + list[a] - first)] == 1, "the mask has the list's places");
      }
    }
  }
}

sidbeam_speculation_tree tree_of(const sidbeam_speculation* speculation) {
  sidbeam_speculation_tree tree = SIDBEAM_SPECULATION_TREE_INIT;
  check([&](sidbeam_error* err) { return sidbeam_speculation_get_tree(speculation, &tree, err); });
  check_tree(speculation, tree);
  return tree;
}

// The prefixes of all nodes. Those of a slot are different: what continues a prefix shares its node.
std::vector<Prefix> prefixes_of(const Memory& memory, const sidbeam_speculation_tree& tree) {
  std::vector<Prefix> prefixes;
  for (int64_t i = 0; i < tree.count; ++i) {
    std::set<Prefix> of_slot;
    for (int64_t n = tree.node_offsets[i]; n < tree.node_offsets[i + 1]; ++n) {
      prefixes.push_back(memory.prefix_of(tree, n, tree.slots[i]));
      expect(of_slot.insert(prefixes.back()).second, "a slot has no prefix twice");
    }
  }
  return prefixes;
}

// What a speculation works on.
struct Pair {
  const Case& c;
  const World& world;
  sidbeam_session *target, *draft;
  sidbeam_speculation* speculation;
};

// Drafts until the tree is complete; returns it.
sidbeam_speculation_tree draft(const Pair& pair, Memory& memory) {
  for (;;) {
    const sidbeam_speculation_tree tree = tree_of(pair.speculation);
    memory.write(tree);
    if (tree.draft_count == 0) return tree;
    const Rows rows(pair.world, pair.c.draft, prefixes_of(memory, tree));
    step_slots(pair.world, pair.draft, rows, nullptr, copy_of(tree.draft_slots, tree.draft_count),
               copy_of(tree.draft_nodes, tree.draft_count * pair.c.width));
    check([&](sidbeam_error* err) { return sidbeam_speculation_add(pair.speculation, err); });
  }
}

// A round of some slots, or of all where the list is empty; false if there is nothing left to do.
bool round(const Pair& pair, const std::vector<int32_t>& slots, Memory& memory) {
  int64_t active = 0;
  const auto count = static_cast<int64_t>(slots.size());
  check([&](sidbeam_error* err) {
    return sidbeam_speculation_begin(pair.speculation, count > 0 ? slots.data() : nullptr, count, &active, err);
  });
  if (active == 0) return false;
  const sidbeam_speculation_tree tree = draft(pair, memory);
  const Rows rows(pair.world, pair.c.target, prefixes_of(memory, tree));
  sidbeam_speculation_verify_args args = SIDBEAM_SPECULATION_VERIFY_ARGS_INIT;
  args.rows = &rows.rows;
  args.lse = rows.lse(pair.c);
  check([&](sidbeam_error* err) { return sidbeam_speculation_verify(pair.speculation, &args, err); });
  return true;
}

// Slots that go ahead of the others, the last one first.
std::vector<int32_t> every_other(const Case& c) {
  std::vector<int32_t> slots;
  for (int32_t s = c.slots - 1; s >= 0; s -= 2) slots.push_back(s);
  return slots;
}

sidbeam_speculation_stats stats_of(const sidbeam_speculation* speculation) {
  sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
  check([&](sidbeam_error* err) { return sidbeam_speculation_get_stats(speculation, &stats, err); });
  return stats;
}

}  // namespace

World make_world(const Case& c) {
  static const differential::Place cpu;
  return make_world(c, cpu);
}

World make_world(const Case& c, const differential::Place& place) {
  World world;
  world.place = &place;
  sidbeam_runtime_config how = SIDBEAM_RUNTIME_CONFIG_INIT;
  how.threads = 1;
  world.runtime = made<handles::Runtime>([&](auto out, auto err) { return sidbeam_runtime_create(&how, out, err); });
  world.constraint = constrain(world, c, {c.sids, c.rules, c.levels()});
  if (!c.other_sids.empty()) world.other = constrain(world, c, {c.other_sids, c.other_rules, c.other_levels});
  return world;
}

handles::Session make_session(const World& world, const Case& c, const Model& model, int32_t beams) {
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = c.levels();
  vocabulary.offsets = model.offsets.data();
  vocabulary.end_column = model.end_column;
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = c.slots;
  config.beams = beams;
  config.strategy = c.strategy;
  config.normalization = c.normalization;
  config.top_k = c.strategy == SIDBEAM_STRATEGY_SORTED_TOPK ? 3 : 0;
  config.constraint = world.constraint.get();
  config.vocabulary = &vocabulary;
  config.mode = c.mode;
  config.device_type = world.place->device_type();
  config.device_id = world.place->device_id();
  return made<handles::Session>(
      [&](auto out, auto err) { return sidbeam_session_create(world.runtime.get(), &config, out, err); });
}

void start(const World& world, const Case& c, const Scaling& scaling, sidbeam_session* session, int32_t wider) {
  std::vector<sidbeam_constraint*> constraints;
  for (const bool other : c.other) constraints.push_back(other ? world.other.get() : nullptr);
  std::vector<int32_t> prefixes, lengths;
  for (const Prefix& prefix : c.starts) {
    lengths.push_back(static_cast<int32_t>(prefix.size()));
    prefixes.insert(prefixes.end(), prefix.begin(), prefix.end());
    prefixes.resize(lengths.size() * c.codes.size());
  }
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = c.seeds.data();
  sampling.requests = c.requests.data();
  if (!c.noise_scales.empty()) sampling.noise_scales = c.noise_scales.data();
  std::vector<int32_t> widths = c.widths;
  for (int32_t& width : widths) width += wider;
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  if (!widths.empty()) args.widths = widths.data();
  if (!widths.empty()) args.width_levels = c.levels();
  if (!constraints.empty()) args.constraints = constraints.data();
  args.count = c.slots;
  args.prefixes = prefixes.data();
  args.prefix_lengths = lengths.data();
  if (!scaling.inverse_temperatures.empty()) args.inverse_temperatures = scaling.inverse_temperatures.data();
  if (!scaling.soft_caps.empty()) args.soft_caps = scaling.soft_caps.data();
  if (c.mode == SIDBEAM_MODE_STOCHASTIC) args.sampling = &sampling;
  args.stream = world.place->stream();
  check([&](sidbeam_error* err) { return sidbeam_session_start(session, &args, err); });
}

Result result_of(const World& world, const Case& c, sidbeam_session* session) {
  const sidbeam_beams beams = beams_of(world, session);
  const int64_t count = int64_t{c.slots} * c.beams;
  Result result;
  result.live.assign(beams.live, beams.live + c.slots);
  result.errors.assign(beams.errors, beams.errors + c.slots);
  result.level.assign(beams.level, beams.level + c.slots);
  result.scores = bits_of(beams.scores, count);
  result.log_masses = bits_of(beams.log_masses, count);
  result.perturbed = bits_of(beams.perturbed, count);
  result.log_inclusions = bits_of(beams.log_inclusions, count);
  result.thresholds = bits_of(beams.thresholds, beams.thresholds != nullptr ? c.slots : 0);
  Array<int64_t> ordinals(*world.place, static_cast<size_t>(count), int64_t{0});
  Array<int32_t> sids(*world.place, static_cast<size_t>(count * c.levels()), 0);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals.data();
  items.sids = sids.data();
  items.stream = world.place->stream();
  check([&](sidbeam_error* err) { return sidbeam_session_get_items(session, nullptr, 0, &items, err); });
  result.ordinals = ordinals.fetch();
  result.sids = sids.fetch();
  return result;
}

Result plain(const Case& c, const World& world) {
  const handles::Session session = make_session(world, c, c.target, c.beams);
  start(world, c, c.target_scaling, session.get());
  for (;;) {
    std::vector<int32_t> slots, map;
    std::vector<Prefix> prefixes;
    Result now = result_of(world, c, session.get());
    const sidbeam_beams beams = beams_of(world, session.get());
    for (int32_t s = 0; s < c.slots; ++s) {
      if (beams.active[s] == 0) continue;
      slots.push_back(s);
      for (int32_t m = 0; m < c.beams; ++m) {
        const auto* sid = now.sids.data() + (int64_t{s} * c.beams + m) * c.levels();
        map.push_back(static_cast<int32_t>(prefixes.size()));
        // An ended beam gets a row as well, which nobody reads.
        prefixes.emplace_back(sid, std::find(sid, sid + c.levels(), -1));
      }
    }
    if (slots.empty()) return now;
    const Rows rows(world, c.target, prefixes);
    step_slots(world, session.get(), rows, rows.lse(c), slots, map);
  }
}

Result speculative(const Case& c, const World& world, sidbeam_speculation_stats& stats) {
  const handles::Session target = make_session(world, c, c.target, c.beams),
                         drafts = make_session(world, c, c.draft, c.width);
  sidbeam_speculation_config config = SIDBEAM_SPECULATION_CONFIG_INIT;
  config.draft_levels = c.draft_levels;
  config.target = target.get();
  config.draft = drafts.get();
  config.stream = world.place->stream();
  const auto speculation = made<handles::Speculation>(
      [&](auto out, auto err) { return sidbeam_speculation_create(world.runtime.get(), &config, out, err); });
  const Pair pair{c, world, target.get(), drafts.get(), speculation.get()};
  Memory memory{c, {}};
  Case drafted = c;  // begun with other noise than the target's, which the draft takes over
  for (int64_t& draft_seed : drafted.seeds) ++draft_seed;
  for (int64_t& request : drafted.requests) ++request;
  drafted.noise_scales.assign(static_cast<size_t>(c.slots), 0.25F);
  // A request that is left in its midst, after a round of one slot alone.
  start(world, c, c.target_scaling, target.get());
  start(world, drafted, c.draft_scaling, drafts.get(), c.width - c.beams);
  round(pair, {0}, memory);
  const sidbeam_speculation_stats before = stats_of(speculation.get());
  start(world, c, c.target_scaling, target.get());
  start(world, drafted, c.draft_scaling, drafts.get(), c.width - c.beams);
  while (round(pair, {}, memory)) round(pair, every_other(c), memory);
  stats = stats_of(speculation.get());
  stats.rounds -= before.rounds;
  stats.levels -= before.levels;
  stats.drafted_levels -= before.drafted_levels;
  stats.accepted_levels -= before.accepted_levels;
  return result_of(world, c, target.get());
}

}  // namespace speculation
