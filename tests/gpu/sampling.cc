// Sampling on a device against the CPU: random lives of sessions, one captured graph through all of each (rig.h), and
// the stateless draw.
//   gpu_sampling [--cases N] [--seed S] [--only NAME]
// Exit status 77: no device. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>

#include "rig.h"

namespace {

using differential::call;
using differential::Case;
using differential::expect;
using differential::mix;
using gpu::Rig;

struct Options {
  int64_t cases = 60, seed = 1;
  std::string only;
};

struct Tally {
  int64_t steps = 0, same_bits = 0, strayed = 0, live = 0, errors = 0;
};

// A case of the differential test, as a session that samples takes it. Emulated threads are slow.
Case sampled_case(uint64_t seed, int mode) {
  Case c = differential::draw_case(seed);
  const auto draw = [seed](uint64_t what) { return mix(seed, 77, what); };
  if (c.strategy == SIDBEAM_STRATEGY_HASH_FINAL) c.strategy = SIDBEAM_STRATEGY_SORTED;
  if (mode == SIDBEAM_MODE_STOCHASTIC && c.strategy > SIDBEAM_STRATEGY_SORTED)
    c.strategy = static_cast<int64_t>(draw(1) % 2);
  if (mode == SIDBEAM_MODE_STOCHASTIC && draw(2) % 2 == 0) {
    c.normalization = static_cast<int64_t>(draw(5) % 4);
    c.given_lse = 1 + static_cast<int64_t>(draw(3) % 3);
  }
  c.shorter = c.promised = 0;
  c.codes = std::min<int64_t>(c.codes, 900);
  c.beams = std::min<int64_t>(c.beams, 20);
  c.slots = std::min<int64_t>(c.slots, 3);
  c.levels = std::min<int64_t>(c.levels, 5);
  c.sids = std::min<int64_t>(c.sids, 600);
  c.extra = std::min<int64_t>(c.extra, 200);
  if (draw(4) % 16 == 0) c.extra = 9000;  // wider than what is held in shared memory
  return repaired(c);
}

gpu::Sampling drawn_sampling(const Case& c, int mode, uint64_t hash) {
  gpu::Sampling sampling;
  sampling.seed = static_cast<int64_t>(mix(hash, 1));
  sampling.request = static_cast<int64_t>(mix(hash, 2) % 3);
  if (mode == SIDBEAM_MODE_STOCHASTIC) {
    constexpr float kScales[] = {1, 1, 1, 0, 0.5F};
    sampling.noise_scale = kScales[mix(hash, 3) % 5];
    return sampling;
  }
  if (mix(hash, 4) % 2 == 0)  // some that follow each other, and some that do not
    for (uint64_t m = 0; m < static_cast<uint64_t>(c.beams); ++m)
      sampling.draws.push_back(static_cast<int64_t>(m % 5 < 3 ? 7 + m : mix(hash, 5, m) >> 12));
  constexpr int32_t kTopKs[] = {0, 0, 0, 0, 1, 5, 40, 300, 2000000000};
  sampling.top_k = kTopKs[mix(hash, 6) % 9];
  const auto looked_up = static_cast<int32_t>(c.top_k > 0 ? c.top_k : c.beams);
  if (c.strategy == SIDBEAM_STRATEGY_SORTED_TOPK) sampling.top_k = std::clamp(sampling.top_k, 1, looked_up);
  constexpr float kTopPs[] = {1, 1, 1, 1, 0.97F, 0.9F, 0.5F, 0x1p-149F, 0.99999994F};
  sampling.top_p = kTopPs[mix(hash, 7) % 9];
  return sampling;
}

oracle::Sid beginning(const Rig& rig, size_t catalogue, uint64_t hash) {
  const std::vector<oracle::Sid>& sids = rig.world().catalogues[catalogue].sids;
  if (sids.empty()) return {};  // the rules leave none
  oracle::Sid prefix = sids[hash % sids.size()];
  prefix.resize(std::min<size_t>(prefix.size(), mix(hash, 1) % 3));
  return prefix;
}

// Of a slot, or, of stochastic beams, of each of its levels, where none may rise.
std::vector<int32_t> drawn_widths(const Case& c, int mode, uint64_t hash) {
  const bool per_level = mode == SIDBEAM_MODE_STOCHASTIC && hash % 2 == 0;
  std::vector<int32_t> widths(per_level ? static_cast<size_t>(c.levels) : 1);
  for (size_t l = 0; l < widths.size(); ++l)
    widths[l] = 1 + static_cast<int32_t>(mix(hash, l) % static_cast<uint64_t>(c.beams));
  std::sort(widths.begin(), widths.end(), std::greater<>());
  return widths;
}

// Starts, stops and steps by turns.
void live_through(const Case& c, int mode, Tally* tally) {
  const bool listed = mix(static_cast<uint64_t>(c.seed), 78) % 2 == 0;
  Rig rig(c, listed, mode);
  const auto draw = [&](uint64_t round, uint64_t what) { return mix(rig.world().seed(), 2000 + round, what); };
  for (uint64_t round = 0; round < static_cast<uint64_t>(c.levels) + 6; ++round) {
    const int slot = static_cast<int>(round < rig.slots() ? round : draw(round, 1) % rig.slots());
    const size_t catalogue = draw(round, 2) % rig.world().catalogues.size();
    if (draw(round, 3) % 5 == 0) rig.stop(slot);
    if (round < rig.slots() || draw(round, 3) % 5 == 1)
      rig.start(slot, catalogue, drawn_widths(c, mode, draw(round, 5)), beginning(rig, catalogue, draw(round, 6)),
                differential::draw_settings(c, draw(round, 40), true), drawn_sampling(c, mode, draw(round, 8)));
    std::vector<int> order;
    for (int s = static_cast<int>(rig.slots()) - 1; s >= 0; --s)
      if (draw(round, 10 + static_cast<uint64_t>(s)) % 4 != 0) order.push_back(s);
    if (listed) rig.list(order);
    std::vector<differential::Settings> settings(rig.slots());
    if (draw(round, 41) % 3 == 0) settings[0] = differential::draw_settings(c, draw(round, 42), true);
    rig.say(settings);
    for (const differential::Snapshot& after : rig.step(round)) {
      tally->errors += after.error != 0 ? 1 : 0;
      tally->live += after.live;
    }
  }
  tally->steps += rig.compared();
  tally->strayed += rig.strayed();
  tally->same_bits += rig.same_bits();
}

void lives_of_mode(const Options& options, int mode) {
  Tally tally;
  for (int64_t i = 0; i < options.cases; ++i) {
    const auto seed = static_cast<uint64_t>(options.seed + i);
#ifdef SIDBEAM_EMULATED
    emulator_set_seed(seed);
#endif
    const Case c = sampled_case(seed, mode);
    try {
      live_through(c, mode, &tally);
    } catch (const std::exception& error) {
      differential::mismatch("seed ", seed, ": ", error.what(), "\n  case ", to_line(c));
    }
  }
  std::cout << "        " << options.cases << " lives from seed " << options.seed << ": " << tally.steps
            << " steps of slots compared with the CPU, " << tally.same_bits << " of them bit for bit, " << tally.strayed
            << " strayed, " << tally.errors << " in error, " << tally.live << " live beams\n";
  expect(tally.live >= 8 * options.cases, "only ", tally.live, " live beams were compared");
  expect(tally.strayed * 100 <= tally.steps, tally.strayed, " of ", tally.steps, " steps strayed");
}

void draws_are_those_of_the_cpu(const Options& options) { lives_of_mode(options, SIDBEAM_MODE_SAMPLE); }
void stochastic_beams_are_those_of_the_cpu(const Options& options) { lives_of_mode(options, SIDBEAM_MODE_STOCHASTIC); }

// With noise, and whatever the normalization: no sum over the children depends on their order.
void noise_has_the_bits_of_the_cpu_under_every_normalization(const Options& /*options*/) {
  constexpr int32_t kLevels = 3;
  for (int64_t normalization = SIDBEAM_NORMALIZE_FULL; normalization <= SIDBEAM_NORMALIZE_NONE; ++normalization) {
    for (int64_t given = 0; given < (normalization == SIDBEAM_NORMALIZE_NONE ? 1 : 2); ++given) {
      Case c;
      c.seed = 41;
      c.levels = kLevels;
      c.codes = 500;
      c.sids = 20000;
      c.beams = 20;
      c.normalization = normalization;
      c.given_lse = given;
      Rig rig(c, false, SIDBEAM_MODE_STOCHASTIC);
      rig.start(0, 0, 20, {}, {}, {6, 7, {}, 0, 1, 1});
      for (uint64_t round = 1; round <= kLevels; ++round) rig.step(round);
      expect(rig.same_bits() == kLevels, "normalization ", normalization, ", lse given ", given, ": ", rig.same_bits(),
             " of ", kLevels, " steps had to have the bits of the CPU");
    }
  }
}

// Many children, so that a share of them has several, and as many draws as there can be.
void four_thousand_and_ninety_six_draws_of_one_row(const Options& /*options*/) {
  Case c;
  c.seed = 3;
  c.levels = 2;
  c.codes = 900;
  c.sids = 4000;
  c.beams = SIDBEAM_MAX_BEAMS;
  c.normalization = SIDBEAM_NORMALIZE_VALID;
  Rig rig(c, false, SIDBEAM_MODE_SAMPLE);
  rig.start(0, 0, SIDBEAM_MAX_BEAMS, {}, {}, {11, 4, {}, 0, 1, 1});
  const auto after = rig.step(1);
  expect(after[0].live == SIDBEAM_MAX_BEAMS, "live is ", after[0].live);
}

// Of more than 2^20 codes, where places have more bits; and of 2^24 codes that are all alike, the sum of whose weights
// would wrap around with the unit of narrower levels.
void draws_of_a_wide_level_are_those_of_the_cpu(const Options& /*options*/) {
  Case one, two;
  one.seed = two.seed = 12;
  one.codes = SIDBEAM_MAX_CODES;
  one.beams = 2;
  one.strategy = SIDBEAM_STRATEGY_NONE;
  one.normalization = SIDBEAM_NORMALIZE_NONE;
  one.distribution = 4;
  two.levels = 2;
  two.narrow = 4;
  two.codes = (1 << 20) + 1;
  two.sids = 40;
  two.beams = 6;
  two.normalization = SIDBEAM_NORMALIZE_VALID;
  for (const int mode : {SIDBEAM_MODE_SAMPLE, SIDBEAM_MODE_STOCHASTIC}) {
    const Case& c = mode == SIDBEAM_MODE_SAMPLE ? one : two;
    Rig rig(c, false, mode);
    rig.start(0, 0, static_cast<int>(c.beams), {}, {}, {5, 6, {}, 0, 1, 1});
    for (int64_t round = 1; round <= c.levels; ++round) {
      const auto after = rig.step(static_cast<uint64_t>(round));
      expect(after[0].live > 1, "mode ", mode, ": ", after[0].live, " live");
    }
    expect(rig.same_bits() == c.levels, "mode ", mode, ": ", rig.same_bits(), " steps had the bits of the CPU");
  }
}

// One more candidate than beams is selected, at every width and with any number of threads.
void the_best_candidate_that_is_left_out_is_the_threshold(const Options& /*options*/) {
  for (const int64_t beams : {1, 2, 254, 255, 256, 4096}) {
    Case c;
    c.seed = 20 + beams;
    c.levels = 2;
    c.codes = 40;
    c.sids = 1500;
    c.beams = beams;
    c.normalization = SIDBEAM_NORMALIZE_VALID;
    c.given_lse = 1;
    Rig rig(c, false, SIDBEAM_MODE_STOCHASTIC);
    rig.start(0, 0, static_cast<int>(beams), {}, {}, {5, beams, {}, 0, 1, 1});
    rig.step(1);
    const auto after = rig.step(2);
    expect(after[0].live == std::min<int64_t>(beams, after[0].live), "live is ", after[0].live);
    const sidbeam_beams shown = differential::beams_of(rig.device(), rig.eager());
    const bool all = after[0].live < beams;
    expect(std::isfinite(shown.thresholds[0]) != all, "with ", beams, " beams the threshold is ", shown.thresholds[0]);
    expect(all || shown.perturbed[beams - 1] >= shown.thresholds[0], "the last beam is below the threshold");
  }
}

// With the noise's scale at 0, the same bits as the search under VALID, on the device.
void without_noise_the_search_under_valid_is_left(const Options& /*options*/) {
  for (const int64_t dtype : {SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_BF16}) {
    Case c;
    c.seed = 9;
    c.levels = 4;
    c.codes = 60;
    c.sids = 900;
    c.beams = 30;
    c.dtype = dtype;
    c.normalization = SIDBEAM_NORMALIZE_VALID;
    Rig search(c), stochastic(c, false, SIDBEAM_MODE_STOCHASTIC);
    search.start(0, 0, 30, {}, {2, 0});
    stochastic.start(0, 0, 30, {}, {2, 0}, {1, 2, {}, 0, 1, 0});
    for (uint64_t round = 1; round <= 4; ++round) {
      differential::Snapshot silent = stochastic.step(round)[0];
      silent.log_masses = silent.perturbed = silent.log_inclusions = {};  // which a search has not
      silent.threshold = 0;
      expect_same(search.step(round)[0], silent, true, "step " + std::to_string(round));
    }
  }
}

// The stateless draw.

struct Answers {
  std::vector<int32_t> codes;
  std::vector<float> log_probs, log_masses;
  std::vector<sidbeam_state> next;
};

struct Question {
  std::vector<int32_t> which, top_ks;
  std::vector<sidbeam_state> states;
  std::vector<int64_t> seeds, requests, draws;  // draws: [rows, 3]
  std::vector<float> temperatures, top_ps;
  int32_t normalization = 0;
};

Answers ask(const differential::Place& place, sidbeam_constraint_set* set, const sidbeam_rows& rows_here,
            const std::vector<uint8_t>& logits, const Question& question) {
  const size_t n = question.states.size();
  differential::Array<uint8_t> data(place, logits);
  differential::Array<int32_t> which(place, question.which), top_ks(place, question.top_ks), codes(place, n, -9);
  differential::Array<sidbeam_state> states(place, question.states), next(place, n, sidbeam_state{-9});
  differential::Array<int64_t> seeds(place, question.seeds), requests(place, question.requests),
      draws(place, question.draws);
  differential::Array<float> temperatures(place, question.temperatures), top_ps(place, question.top_ps),
      log_probs(place, n, 9), log_masses(place, n, 9);
  sidbeam_rows rows = rows_here;
  rows.device_type = place.device_type();
  rows.data = data.data();
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = seeds.data();
  sampling.requests = requests.data();
  sampling.draws = draws.data();
  sampling.draw_stride = draws.size() > 0 ? 3 : 0;
  sampling.top_ks = top_ks.data();
  sampling.top_ps = top_ps.data();
  sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
  out.codes = codes.data();
  out.log_probs = log_probs.data();
  out.log_masses = log_masses.data();
  out.next = next.data();
  call("sidbeam_constraint_set_sample", sidbeam_constraint_set_sample, set, which.data(), states.data(), &rows,
       question.normalization, temperatures.data(), &sampling, &out, place.stream());
  return {codes.fetch(), log_probs.fetch(), log_masses.fetch(), next.fetch()};
}

bool same(float a, float b, bool exact) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (exact || a == b) return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
  return std::fabs(a - b) <= 4e-6F * std::max(1.0F, std::fabs(a));
}

void check_stateless(const Case& c, Tally* tally) {
  const differential::World world = differential::make_world(c);
  const auto runtime = differential::make_runtime(nullptr);
  const gpu::DevicePlace device(0);
  const differential::Place here;
  const differential::Vocabulary vocabulary(world);
  const std::vector<differential::Loaded> loaded = differential::load_all(runtime.get(), world);
  std::vector<sidbeam_constraint*> constraints;
  for (const differential::Loaded& each : loaded) constraints.push_back(each.constraint.get());
  const auto there = differential::make_set(runtime.get(), device, constraints, &vocabulary.view);
  const auto on_cpu = differential::make_set(runtime.get(), here, constraints, &vocabulary.view);
  const uint64_t seed = world.seed();
  Question question;
  question.normalization = static_cast<int32_t>(c.normalization);
  const size_t n = 24, element = c.dtype == SIDBEAM_DTYPE_F32 ? 4 : 2, columns = static_cast<size_t>(world.columns);
  std::vector<uint8_t> logits(n * columns * element);
  for (size_t i = 0; i < n; ++i) {
    const auto draw = [&](uint64_t what) { return mix(seed, 5000 + i, what); };
    const size_t k = draw(1) % constraints.size();
    const std::vector<oracle::Sid>& sids = world.catalogues[k].sids;
    oracle::Sid prefix = sids.empty() ? oracle::Sid{0} : sids[draw(2) % sids.size()];  // the rules may leave none
    prefix.resize(draw(3) % 8 == 0 ? prefix.size() : draw(3) % prefix.size());
    question.which.push_back(static_cast<int32_t>(k));
    question.states.push_back(draw(4) % 9 == 0 ? sidbeam_state{-1}
                                               : differential::states_of(runtime.get(), constraints[k],
                                                                         world.catalogues[k], {{prefix, false, 0}})[0]);
    const gpu::Sampling how = drawn_sampling(c, SIDBEAM_MODE_SAMPLE, draw(5));
    question.seeds.push_back(how.seed);
    question.requests.push_back(how.request);
    question.top_ks.push_back(how.top_k);
    question.top_ps.push_back(how.top_p);
    for (uint64_t j = 0; j < 3; ++j) question.draws.push_back(static_cast<int64_t>(draw(6 + j) >> 12));
    question.temperatures.push_back(differential::draw_settings(c, draw(10), false).inverse_temperature);
    const differential::RawRow row = differential::make_row(world, {1, i, 0}, world.columns);
    for (size_t j = 0; j < columns; ++j)
      std::memcpy(&logits[(i * columns + j) * element], &row.elements[j], element);  // little-endian
  }
  const sidbeam_rows rows = sidbeam_rows_dense(nullptr, static_cast<int32_t>(c.dtype), 0, n, world.columns);
  const Answers a = ask(device, there.get(), rows, logits, question);
  const Answers b = ask(here, on_cpu.get(), rows, logits, question);
  const bool weighed = c.normalization == SIDBEAM_NORMALIZE_VALID || c.normalization == SIDBEAM_NORMALIZE_NONE;
  for (size_t i = 0; i < n; ++i) {
    const bool exact = weighed || question.top_ks[i] > 0 || question.top_ps[i] < 1;
    expect(a.codes[i] == b.codes[i] && a.next[i] == b.next[i], "row ", i, ": code ", a.codes[i], " and ", b.codes[i]);
    expect(same(a.log_probs[i], b.log_probs[i], exact), "row ", i, ": log_prob ", a.log_probs[i], " and ",
           b.log_probs[i]);
    expect(same(a.log_masses[i], b.log_masses[i], exact), "row ", i, ": log_mass ", a.log_masses[i], " and ",
           b.log_masses[i]);
    ++tally->steps;
    tally->live += a.codes[i] >= 0 ? 1 : 0;
    tally->errors += std::isnan(a.log_probs[i]) ? 1 : 0;
  }
}

void stateless_draws_are_those_of_the_cpu(const Options& options) {
  Tally tally;
  for (int64_t i = 0; i < options.cases; ++i) {
    const auto seed = static_cast<uint64_t>(options.seed + i);
    Case c = sampled_case(seed, SIDBEAM_MODE_SAMPLE);
    c.strategy = SIDBEAM_STRATEGY_TRIE;
    c.normalization = static_cast<int64_t>(mix(seed, 79) % 4);
    c.given_lse = 0;
    c = repaired(c);
    try {
      check_stateless(c, &tally);
    } catch (const std::exception& error) {
      differential::mismatch("seed ", seed, ": ", error.what(), "\n  case ", to_line(c));
    }
  }
  std::cout << "        " << tally.steps << " draws, " << tally.live << " live, " << tally.errors << " of bad rows\n";
  expect(tally.live * 4 > tally.steps, "most draws are dead");
}

struct Test {
  const char* name;
  void (*run)(const Options&);
};
#define GPU_TEST(function) \
  { #function, function }
constexpr Test kTests[] = {GPU_TEST(draws_are_those_of_the_cpu),
                           GPU_TEST(stochastic_beams_are_those_of_the_cpu),
                           GPU_TEST(noise_has_the_bits_of_the_cpu_under_every_normalization),
                           GPU_TEST(stateless_draws_are_those_of_the_cpu),
                           GPU_TEST(four_thousand_and_ninety_six_draws_of_one_row),
                           GPU_TEST(draws_of_a_wide_level_are_those_of_the_cpu),
                           GPU_TEST(the_best_candidate_that_is_left_out_is_the_threshold),
                           GPU_TEST(without_noise_the_search_under_valid_is_left)};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--cases") options.cases = std::stoll(argv[i + 1]);
    if (name == "--seed") options.seed = std::stoll(argv[i + 1]);
    if (name == "--only") options.only = argv[i + 1];
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (!gpu::has_device()) return 77;
  std::cout << std::unitbuf;  // a time limit may end this
  const Options options = read_options(argc, argv);
  int failed = 0;
  for (const Test& test : kTests) {
    if (std::string(test.name).find(options.only) == std::string::npos) continue;
    try {
      test.run(options);
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
