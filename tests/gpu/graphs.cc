// One captured graph through everything that may happen to a session: each test steps three sessions alike (rig.h).
// Exit status 77: no device. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>

#include "rig.h"

namespace {

using differential::call;
using differential::Case;
using differential::expect;
using differential::mix;
using gpu::Rig;

// Three catalogues of four levels, four slots of twelve beams; log-probabilities, so that the CPU has the same bits.
Case mixed() {
  Case c;
  c.seed = 5;
  c.catalogues = 3;
  c.levels = 4;
  c.codes = 40;
  c.sids = 400;
  c.copy = 1;
  c.beams = 12;
  c.slots = 4;
  c.normalization = SIDBEAM_NORMALIZE_NONE;
  return repaired(c);
}

oracle::Sid beginning(const Rig& rig, size_t catalogue, size_t length) {
  const std::vector<oracle::Sid>& sids = rig.world().catalogues[catalogue].sids;
  oracle::Sid prefix = sids[7 % sids.size()];
  prefix.resize(length);
  return prefix;
}

void slots_at_levels_0_1_and_3_share_a_graph() {
  Rig rig(mixed());
  rig.start(0, 0, 12, {});
  rig.start(1, 1, 5, beginning(rig, 1, 1));
  rig.start(2, 2, 1, beginning(rig, 2, 3));
  const auto after = rig.step(1);
  expect(after[0].level == 1 && after[1].level == 2 && after[2].level == 4 && after[3].level == -1, "levels are ",
         after[0].level, ", ", after[1].level, ", ", after[2].level, ", ", after[3].level);
  expect(after[1].live == 5, "a slot of width 5 has ", after[1].live, " live beams");
  expect(after[2].active == 0, "a slot after its last level is active");
  const auto again = rig.step(2);
  expect(again[2].level == 4, "a finished slot moved to level ", again[2].level);
}

// Wider and narrower from level to level, by one graph, whatever the start before.
void widths_per_level_are_the_slots_own() {
  Rig rig(mixed());
  const std::vector<int32_t> widths[2] = {{12, 3, 12, 2}, {1, 12, 2}};
  for (int slot = 0; slot < 2; ++slot) rig.start(slot, 0, widths[slot], {});
  rig.start(2, 2, 12, {});
  for (size_t level = 0; level < 4; ++level) {
    const auto after = rig.step(level);
    for (size_t slot = 0; slot < 2; ++slot) {
      const int32_t width = widths[slot][std::min(level, widths[slot].size() - 1)];
      expect(after[slot].live == width || (width == 12 && after[slot].live < width), "slot ", slot, " has ",
             after[slot].live, " live beams after level ", level, ", expected ", width);
    }
  }
  rig.start(0, 0, 5, {});
  rig.step(9);
  expect(rig.step(10)[0].live == 5, "a start's widths per level are those of the start before");
}

// The settings of each slot of a step, or none.
std::vector<differential::Settings> drawn_settings(const Case& c, size_t slots, uint64_t hash) {
  std::vector<differential::Settings> each(slots);
  for (size_t i = 0; i < slots; ++i)
    if (mix(hash, i) % 3 == 0) each[i] = differential::draw_settings(c, mix(hash, i, 1), true);
  return each;
}

// Of a slot, or of each of its levels.
std::vector<int32_t> drawn_widths(const Case& c, uint64_t hash) {
  std::vector<int32_t> widths(hash % 2 == 0 ? 1 : static_cast<size_t>(c.levels));
  for (size_t l = 0; l < widths.size(); ++l)
    widths[l] = 1 + static_cast<int32_t>(mix(hash, l) % static_cast<uint64_t>(c.beams));
  return widths;
}

// Starts, stops, swaps and steps by turns.
void wander(const Case& c, bool listed, int rounds) {
  Rig rig(c, listed);
  const auto draw = [&](uint64_t round, uint64_t what) { return mix(rig.world().seed(), 1000 + round, what); };
  for (uint64_t round = 0; round < static_cast<uint64_t>(rounds); ++round) {
    const int slot = static_cast<int>(draw(round, 1) % rig.slots());
    const size_t catalogue = draw(round, 2) % rig.world().catalogues.size();
    switch (draw(round, 3) % 5) {
      case 0:
        rig.stop(slot);
        break;
      case 1:
        rig.swap(catalogue, draw(round, 4) % 1000);
        [[fallthrough]];
      case 2:
        rig.start(slot, catalogue, drawn_widths(c, draw(round, 5)), beginning(rig, catalogue, draw(round, 6) % 4),
                  differential::draw_settings(c, draw(round, 40), true));
        break;
      default:
        break;
    }
    std::vector<int> order;
    for (int s = 0; s < static_cast<int>(rig.slots()); ++s) {
      if (draw(round, 7 + static_cast<uint64_t>(s)) % 3 != 0) order.push_back(s);
    }
    std::reverse(order.begin(), order.end());
    if (listed) rig.list(order);
    rig.say(drawn_settings(c, rig.slots(), draw(round, 41)));
    rig.step(round);
  }
}

constexpr int kRounds = SIDBEAM_SANITIZED ? 4 : 60;

void starts_stops_and_swaps_leave_the_graph_valid() { wander(mixed(), false, kRounds); }

void a_list_and_a_row_map_are_read_at_each_replay() { wander(mixed(), true, kRounds); }

void temperatures_and_soft_caps_of_slots_and_of_steps_are_read_at_each_replay() {
  for (const bool listed : {false, true}) {
    Case c = mixed();
    c.temperature = c.soft_cap = 1;
    wander(repaired(c), listed, kRounds);
  }
}

// Of two slots that are given the same, each by another temperature; then neither by its own.
void a_slots_temperature_is_the_slots_alone() {
  Case c = mixed();
  c.distribution = 4;  // equal logits: a score is as many times the row's element as there were levels
  c.slots = 2;
  Rig rig(repaired(c));
  const oracle::Sid prefix = beginning(rig, 0, 1);
  rig.start(0, 0, 12, prefix, {2, 0});
  rig.start(1, 0, 12, prefix, {0.5F, 0});
  auto after = rig.step(1);
  const auto element = [&](int slot) {
    const auto row = differential::make_row(rig.world(), {1, static_cast<uint64_t>(slot), 0}, rig.world().columns);
    return oracle::decode(oracle::Dtype::kF32, row.elements[0]);
  };
  expect(after[0].scores[0] == 2 * element(0) && after[1].scores[0] == element(1) / 2, "scores are ",
         after[0].scores[0], " of ", element(0), " and ", after[1].scores[0], " of ", element(1));
  rig.start(0, 0, 12, prefix, {2, 0});
  rig.start(1, 0, 12, prefix, {0.5F, 0});
  rig.say({{4, 0}, {1, 0}});
  after = rig.step(1);
  expect(after[0].scores[0] == 4 * element(0) && after[1].scores[0] == element(1), "scores are ", after[0].scores[0],
         " of ", element(0), " and ", after[1].scores[0], " of ", element(1));
}

void a_graph_has_the_bits_of_a_call_under_every_normalisation() {
  for (const int64_t normalization : {SIDBEAM_NORMALIZE_FULL, SIDBEAM_NORMALIZE_LEVEL, SIDBEAM_NORMALIZE_VALID}) {
    Case c = mixed();
    c.normalization = normalization;
    c.dtype = SIDBEAM_DTYPE_BF16;
    c.bad_rows = 60;
    c.mask = 100;
    wander(repaired(c), false, 25);
  }
}

// In a trie with a tail, with ends, codes anywhere among the columns, and some that have none; of versions too.
void children_are_listed_as_on_the_cpu() {
  for (const int64_t live : {0, 1})
    for (const int64_t variable : {0, 1}) {
      for (const int64_t given_lse : {0, 2}) {
        Case c = mixed();
        c.live = live, c.compact = 1, c.variable = variable, c.given_lse = given_lse, c.maps = 1 + variable;
        c.normalization = given_lse != 0 ? SIDBEAM_NORMALIZE_FULL : SIDBEAM_NORMALIZE_NONE;
        c.beams = 40;
        wander(repaired(c), variable == 1, 25);
      }
    }
}

// Versions of live catalogues that were not there when the graph was captured, with plain indexes beside them.
void starts_with_other_versions_leave_the_graph_valid() {
  for (const int64_t form : {0, 1, 2, 3}) {
    Case c = mixed();
    c.live = 1, c.items = 3, c.variable = form % 2, c.compact = form / 2;
    wander(repaired(c), form == 3, kRounds);
  }
}

// Slots of one index, or of versions, under rules of every kind, and under none, whatever they followed before.
// Prefixes may be forbidden.
void starts_under_other_rules(int64_t live) {
  for (const int64_t form : {0, 1, 2, 3}) {
    Case c = mixed();
    c.live = live;
    c.rules = 1, c.items = 3, c.variable = form % 2, c.compact = form / 2;
    Rig rig(repaired(c), form == 3);
    if (form == 3) rig.list({3, 1, 0, 2});
    uint64_t round = 0;
    for (const int64_t rules : {1, 2, 4, 0, 7, 3, 5, 6, 0, 2, 1, 4}) {
      const int slot = static_cast<int>(round % 4);
      const size_t catalogue = round % 3;
      const std::vector<oracle::Sid>& sids = rig.world().wholes[catalogue].sids;
      oracle::Sid prefix = sids[mix(round, 3) % sids.size()];
      prefix.resize(std::min(prefix.size(), round % 5 % 3));
      rig.rule(catalogue, rules, 100 + round);
      rig.start(slot, catalogue, drawn_widths(c, mix(round, 1)), prefix);
      rig.step(++round);
    }
  }
}
void starts_under_other_rules_leave_the_graph_valid() { starts_under_other_rules(0); }
void versions_under_other_rules_leave_the_graph_valid() { starts_under_other_rules(1); }

void every_strategy_may_be_captured() {
  for (const int64_t strategy :
       {SIDBEAM_STRATEGY_SORTED, SIDBEAM_STRATEGY_SORTED_TOPK, SIDBEAM_STRATEGY_HASH_FINAL, SIDBEAM_STRATEGY_NONE}) {
    Case c = mixed();
    c.strategy = strategy;
    c.top_k = 9;
    wander(repaired(c), false, 15);
  }
}

void equal_logits_are_kept_in_the_order_of_parents_and_codes() {
  Case c = mixed();
  c.distribution = 4;  // all of a row
  for (const int64_t dtype : {SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_BF16}) {
    c.dtype = dtype;
    Rig rig(repaired(c));
    rig.start(0, 0, 12, {});
    const auto after = rig.step(1);
    for (size_t k = 1; k < 12; ++k)
      expect(after[0].codes[k] > after[0].codes[k - 1], "equal codes came as ", after[0].codes[k - 1], ", ",
             after[0].codes[k]);
    for (uint64_t round = 2; round <= 4; ++round) rig.step(round);
  }
}

// Few values in bf16: most candidates tie, also with the last one that is kept.
void ties_in_bf16_are_those_of_the_cpu() {
  Case c = mixed();
  c.dtype = SIDBEAM_DTYPE_BF16;
  c.distribution = 2;
  c.sids = 3000;
  c.beams = 100;
  Rig rig(repaired(c));
  for (int s = 0; s < 4; ++s) rig.start(s, static_cast<size_t>(s) % 3, 100 - 13 * s, {});
  for (uint64_t round = 1; round <= 4; ++round) rig.step(round);
}

void four_thousand_and_ninety_six_beams() {
  Case c = mixed();
  c.catalogues = 1;
  c.levels = 3;
  c.codes = 40;
  c.sids = 30000;
  c.copy = 0;
  c.beams = SIDBEAM_MAX_BEAMS;
  c.slots = 1;
  for (const int64_t distribution : {0, 2}) {
    c.distribution = distribution;
    Rig rig(repaired(c));
    rig.start(0, 0, SIDBEAM_MAX_BEAMS, {});
    for (uint64_t round = 1; round <= 3; ++round) rig.step(round);
  }
}

void fewer_candidates_than_beams_leave_dead_ones() {
  Case c = mixed();
  c.sids = 6;
  c.mask_rows = 300;
  wander(repaired(c), false, 20);
}

void rows_at_odd_addresses() {
  Case c = mixed();
  c.codes = 333;
  c.offsets = 2;  // all levels at one odd offset
  c.extra = 7;
  for (const int64_t dtype : {SIDBEAM_DTYPE_F16, SIDBEAM_DTYPE_F32}) {
    c.dtype = dtype;
    wander(repaired(c), true, 10);
  }
}

void a_beam_without_a_row_puts_its_slot_in_error_and_no_other() {
  const Case c = mixed();
  Rig rig(c, true);
  rig.start(0, 0, 12, {});
  rig.start(1, 0, 12, {});
  rig.list({0, 1});
  const auto stream = static_cast<cudaStream_t>(rig.device().stream());
  const int32_t order[4] = {0, 1, -1, -1};
  std::vector<int32_t> map(48, 0);
  map[12] = -1;  // slot 1, beam 0
  const std::shared_ptr<void> list_there = gpu::device_memory(sizeof order, stream);
  const std::shared_ptr<void> map_there = gpu::device_memory(map.size() * 4, stream);
  std::vector<float> logits(static_cast<size_t>(rig.world().columns), -1.0F);
  const std::shared_ptr<void> data = gpu::device_memory(logits.size() * 4, stream);
  gpu::expect_cuda(cudaMemcpyAsync(list_there.get(), order, sizeof order, cudaMemcpyHostToDevice, stream), "copy");
  gpu::expect_cuda(cudaMemcpyAsync(map_there.get(), map.data(), map.size() * 4, cudaMemcpyHostToDevice, stream),
                   "copy");
  gpu::expect_cuda(cudaMemcpyAsync(data.get(), logits.data(), logits.size() * 4, cudaMemcpyHostToDevice, stream),
                   "copy");
  sidbeam_rows rows = sidbeam_rows_dense(data.get(), SIDBEAM_DTYPE_F32, 0, 1, rig.world().columns);
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.slots = static_cast<const int32_t*>(list_there.get());
  args.count = 4;
  args.row_map = static_cast<const int32_t*>(map_there.get());
  args.rows = &rows;
  args.stream = stream;
  call("sidbeam_session_step", sidbeam_session_step, rig.eager(), &args);
  const sidbeam_beams beams = differential::beams_of(rig.device(), rig.eager());
  expect(beams.errors[0] == 0 && beams.live[0] == 12, "slot 0 has error ", beams.errors[0], ", live ", beams.live[0]);
  expect(beams.errors[1] == SIDBEAM_SLOT_BAD_MAP && beams.live[1] == 0, "slot 1 has error ", beams.errors[1], ", live ",
         beams.live[1]);
}

void rows_too_narrow_for_a_level_put_the_slot_in_error() {
  Case c = mixed();
  c.offsets = 1;  // levels one after another: deeper ones need more columns
  const gpu::DevicePlace device(0);
  Rig rig(repaired(c));
  rig.start(0, 0, 12, {});
  rig.start(1, 0, 12, beginning(rig, 0, 1));
  const auto stream = static_cast<cudaStream_t>(rig.device().stream());
  const int64_t columns = rig.world().offsets[1];  // level 0 alone
  const std::vector<float> logits(static_cast<size_t>(columns), -1.0F);
  const std::shared_ptr<void> data = gpu::device_memory(logits.size() * 4, stream);
  gpu::expect_cuda(cudaMemcpyAsync(data.get(), logits.data(), logits.size() * 4, cudaMemcpyHostToDevice, stream),
                   "copy");
  sidbeam_rows rows = sidbeam_rows_dense(data.get(), SIDBEAM_DTYPE_F32, 4, 1, columns);
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  rows.slot_stride = rows.row_stride = SIDBEAM_BROADCAST;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  args.stream = stream;
  call("sidbeam_session_step", sidbeam_session_step, rig.eager(), &args);
  const sidbeam_beams beams = differential::beams_of(rig.device(), rig.eager());
  expect(beams.errors[0] == 0 && beams.live[0] > 0, "slot 0 has error ", beams.errors[0]);
  expect(beams.errors[1] == SIDBEAM_SLOT_BAD_MAP, "slot 1 has error ", beams.errors[1]);
}

void replays_are_counted() {
  Rig rig(mixed());
  rig.start(0, 0, 12, {});
  rig.start(1, 0, 12, {});
  for (uint64_t round = 1; round <= 3; ++round) rig.step(round);
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  call("sidbeam_session_get_stats", sidbeam_session_get_stats, static_cast<const sidbeam_session*>(rig.graphed()),
       &stats);
  const int64_t slot_steps = differential::counters_of(rig.graphed())["slot_steps"];
  expect(stats.steps == 3 && slot_steps == 6, "steps ", stats.steps, ", slot_steps ", slot_steps);
}

void fetch_and_items_may_be_captured() {
  Rig rig(mixed());
  const auto stream = static_cast<cudaStream_t>(rig.device().stream());
  const size_t beams = 12, slots = 4;
  differential::Array<int64_t> ordinals(rig.device(), slots * beams, -9);
  differential::Array<int32_t> lengths(rig.device(), slots * beams, -9);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals.data();
  items.lengths = lengths.data();
  items.stream = stream;
  sidbeam_beams fetched = SIDBEAM_BEAMS_INIT;
  const gpu::Graph graph(stream, [&] {
    call("sidbeam_session_get_items", sidbeam_session_get_items, static_cast<const sidbeam_session*>(rig.graphed()),
         static_cast<const int32_t*>(nullptr), int64_t{0}, &items);
    call("sidbeam_session_fetch", sidbeam_session_fetch, rig.graphed(), &fetched, static_cast<void*>(stream));
  });
  rig.start(3, 1, 12, {});
  for (uint64_t round = 1; round <= 4; ++round) {
    const auto after = rig.step(round);
    graph.launch();
    rig.device().wait();
    expect_same(differential::snapshot(fetched, 3), after[3], true, "what a graph fetched");
    expect(lengths.fetch()[36] == static_cast<int>(round), "length is ", lengths.fetch()[36], " after step ", round);
    expect((ordinals.fetch()[36] >= 0) == (round == 4), "ordinal is ", ordinals.fetch()[36], " after step ", round);
  }
}

void a_captured_topk_follows_its_states() {
  Rig rig(mixed());
  const auto& device = rig.device();
  const differential::Place here;
  const auto stream = static_cast<cudaStream_t>(device.stream());
  const differential::Vocabulary vocabulary(rig.world());
  const differential::Loaded loaded = differential::load(rig.runtime(), rig.world(), 0);
  const auto set = differential::make_set(rig.runtime(), device, {loaded.constraint.get()}, &vocabulary.view);
  const auto on_cpu = differential::make_set(rig.runtime(), here, {loaded.constraint.get()}, &vocabulary.view);
  const auto columns = static_cast<size_t>(rig.world().columns);
  std::vector<float> logits(2 * columns);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(mix(3, i) % 1000) / 100;
  const differential::Array<float> data(device, logits);
  differential::Array<int32_t> codes(device, 16, -9), codes_here(here, 16, -9);
  differential::Array<float> log_probs(device, 16, 0), log_probs_here(here, 16, 0);
  const std::shared_ptr<void> states = gpu::device_memory(16, stream);
  sidbeam_rows rows = sidbeam_rows_dense(data.data(), SIDBEAM_DTYPE_F32, 0, 2, rig.world().columns);
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  const gpu::Graph graph(stream, [&] {
    call("sidbeam_constraint_set_topk", sidbeam_constraint_set_topk, set.get(), static_cast<const int32_t*>(nullptr),
         static_cast<const sidbeam_state*>(states.get()), static_cast<const sidbeam_rows*>(&rows),
         static_cast<int32_t>(SIDBEAM_NORMALIZE_NONE), 8, codes.data(), log_probs.data(),
         static_cast<sidbeam_state*>(nullptr), static_cast<void*>(stream));
  });
  const sidbeam_rows rows_here = sidbeam_rows_dense(logits.data(), SIDBEAM_DTYPE_F32, 0, 2, rig.world().columns);
  for (const size_t length : {size_t{0}, size_t{1}, size_t{3}}) {
    const auto state = differential::states_of(rig.runtime(), loaded.constraint.get(), rig.world().catalogues[0],
                                               {{beginning(rig, 0, length), false, 0}, {{}, false, 0}});
    gpu::expect_cuda(cudaMemcpyAsync(states.get(), state.data(), 16, cudaMemcpyHostToDevice, stream), "copy");
    graph.launch();
    call("sidbeam_constraint_set_topk", sidbeam_constraint_set_topk, on_cpu.get(), static_cast<const int32_t*>(nullptr),
         state.data(), &rows_here, static_cast<int32_t>(SIDBEAM_NORMALIZE_NONE), 8, codes_here.data(),
         log_probs_here.data(), static_cast<sidbeam_state*>(nullptr), static_cast<void*>(nullptr));
    expect(codes.fetch() == codes_here.fetch() && log_probs.fetch() == log_probs_here.fetch(),
           "replayed topk differs from the CPU's after ", length, " codes");
  }
}

// The index is released while steps that read it are still enqueued.
void an_index_released_under_work_is_still_read_whole() {
  Rig rig(mixed());
  rig.start(0, 0, 12, {});
  rig.step(1);
  rig.swap(0, 77);  // drops the only other hold of the first index; slot 0 keeps it
  rig.step(2);
  rig.start(0, 0, 12, {});
  for (uint64_t round = 3; round <= 6; ++round) rig.step(round);
}

struct Test {
  const char* name;
  void (*run)();
};
#define GPU_TEST(function) \
  { #function, function }
constexpr Test kTests[] = {GPU_TEST(slots_at_levels_0_1_and_3_share_a_graph),
                           GPU_TEST(widths_per_level_are_the_slots_own),
                           GPU_TEST(starts_stops_and_swaps_leave_the_graph_valid),
                           GPU_TEST(a_list_and_a_row_map_are_read_at_each_replay),
                           GPU_TEST(temperatures_and_soft_caps_of_slots_and_of_steps_are_read_at_each_replay),
                           GPU_TEST(a_slots_temperature_is_the_slots_alone),
                           GPU_TEST(a_graph_has_the_bits_of_a_call_under_every_normalisation),
                           GPU_TEST(children_are_listed_as_on_the_cpu),
                           GPU_TEST(starts_with_other_versions_leave_the_graph_valid),
                           GPU_TEST(starts_under_other_rules_leave_the_graph_valid),
                           GPU_TEST(versions_under_other_rules_leave_the_graph_valid),
                           GPU_TEST(every_strategy_may_be_captured),
                           GPU_TEST(equal_logits_are_kept_in_the_order_of_parents_and_codes),
                           GPU_TEST(ties_in_bf16_are_those_of_the_cpu),
                           GPU_TEST(four_thousand_and_ninety_six_beams),
                           GPU_TEST(fewer_candidates_than_beams_leave_dead_ones),
                           GPU_TEST(rows_at_odd_addresses),
                           GPU_TEST(a_beam_without_a_row_puts_its_slot_in_error_and_no_other),
                           GPU_TEST(rows_too_narrow_for_a_level_put_the_slot_in_error),
                           GPU_TEST(replays_are_counted),
                           GPU_TEST(fetch_and_items_may_be_captured),
                           GPU_TEST(a_captured_topk_follows_its_states),
                           GPU_TEST(an_index_released_under_work_is_still_read_whole)};

}  // namespace

int main(int argc, char** argv) {
  if (!gpu::has_device()) return 77;
  std::cout << std::unitbuf;  // a time limit may end this
  int failed = 0;
  for (const Test& test : kTests) {
    if (argc > 1 && std::string(test.name).find(argv[1]) == std::string::npos) continue;
    try {
      test.run();
      std::cout << "ok      " << test.name << '\n';
    } catch (const std::exception& error) {
      std::cout << "FAILED  " << test.name << ": " << error.what() << '\n';
      ++failed;
    }
  }
#ifdef SIDBEAM_EMULATED
  cudaDeviceSynchronize();
  if (emulator_live_allocations() != 0) {
    std::cout << emulator_live_allocations() << " allocations were not given back\n";
    ++failed;
  }
#endif
  return failed == 0 ? 0 : 1;
}
