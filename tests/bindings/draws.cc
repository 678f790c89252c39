// Calls that draw.
// SPDX-License-Identifier: Apache-2.0
#include "draws.h"

#include <limits>
#include <numeric>

namespace shared_cases {
namespace {

using differential::call;
using differential::expect;
using differential::Loaded;
using differential::Machine;
using differential::mix;
using differential::World;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// What a start of all slots says about sampling.
struct Sampling {
  std::vector<int64_t> seeds, requests, draws;
  std::vector<int32_t> top_ks;
  std::vector<float> top_ps, noise_scales, inverse_temperatures;
  int64_t draw_stride = 0;

  sidbeam_sampling view() const {
    sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
    sampling.seeds = seeds.data();
    sampling.requests = requests.data();
    sampling.draws = draws.empty() ? nullptr : draws.data();
    sampling.draw_stride = draw_stride;
    sampling.top_ks = top_ks.empty() ? nullptr : top_ks.data();
    sampling.top_ps = top_ps.empty() ? nullptr : top_ps.data();
    sampling.noise_scales = noise_scales.empty() ? nullptr : noise_scales.data();
    return sampling;
  }
};

struct Run {
  const World& world;
  int32_t mode, slots, beams;
  differential::Session session{};
  differential::ConstraintSet set{};

  uint64_t draw(uint64_t what, uint64_t i = 0) const { return mix(world.seed(), 7000 + what, i); }
};

differential::ConstraintSet make_set(const Machine& machine, const World& world, const std::vector<Loaded>& loaded) {
  const differential::Way& way = machine.best();
  const differential::Vocabulary vocabulary(world);
  std::vector<sidbeam_constraint*> constraints;
  for (const Loaded& one : loaded) constraints.push_back(one.constraint.get());
  return differential::make_set(way.runtime.get(), *way.place, constraints, &vocabulary.view);
}

Run make_run(const Machine& machine, const World& world, const std::vector<Loaded>& loaded, int32_t mode) {
  Run run{world, mode, static_cast<int32_t>(world.c.slots), static_cast<int32_t>(world.c.beams)};
  const differential::Vocabulary vocabulary(world);
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = run.slots;
  config.beams = run.beams;
  config.strategy = static_cast<int32_t>(world.c.strategy);
  config.normalization = static_cast<int32_t>(world.c.normalization);
  config.constraint = loaded[0].constraint.get();
  config.vocabulary = &vocabulary.view;
  config.mode = mode;
  sidbeam_session* session = nullptr;
  call("sidbeam_session_create", sidbeam_session_create, machine.best().runtime.get(), &config, &session);
  run.session.reset(session);
  run.set = make_set(machine, world, loaded);
  return run;
}

// Rows of eighths from -4 to 4, some of them -inf; as log-probabilities, from -8 to 0.
std::vector<float> make_rows(const Run& run, uint64_t step, int64_t rows) {
  const float shift = run.world.c.normalization == SIDBEAM_NORMALIZE_NONE ? -4 : 0;
  std::vector<float> elements(static_cast<size_t>(rows * run.world.columns));
  for (size_t i = 0; i < elements.size(); ++i) {
    const uint64_t hash = run.draw(100 + step, i);
    elements[i] = hash % 16 == 0 ? kMinusInfinity : static_cast<float>(hash / 16 % 65) / 8 - 4 + shift;
  }
  return elements;
}

sidbeam_beams beams_of(const Run& run) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  call("sidbeam_session_get_beams", sidbeam_session_get_beams, run.session.get(), &beams);
  return beams;
}

Sampling draw_sampling(const Run& run) {
  Sampling s;
  const bool more = run.draw(1) % 2 == 0, sample = run.mode == SIDBEAM_MODE_SAMPLE;
  for (int32_t i = 0; i < run.slots; ++i) {
    const auto slot = static_cast<uint64_t>(i);
    s.seeds.push_back(static_cast<int64_t>(run.draw(2, slot)));  // of any sign
    s.requests.push_back(static_cast<int64_t>(run.draw(3, slot) % 1000));
    s.inverse_temperatures.push_back(static_cast<float>(run.draw(4, slot) % 4) / 2);  // 0 is 1
    if (!more) continue;
    if (!sample) {
      s.noise_scales.push_back(static_cast<float>(run.draw(5, slot) % 3) / 2);
      continue;
    }
    s.top_ks.push_back(static_cast<int32_t>(run.draw(6, slot) % 12));
    s.top_ps.push_back(static_cast<float>(1 + run.draw(7, slot) % 16) / 16);
    for (int32_t m = 0; m <= run.beams; ++m)
      s.draws.push_back(static_cast<int64_t>(run.draw(8, slot * 16 + static_cast<uint64_t>(m)) >> 12));
    s.draw_stride = run.beams + 1;
  }
  return s;
}

// Codes that the stateless form draws for the rows of a session, which must be the session's.
void expect_the_same_draws(const Run& run, const Sampling& s, const std::vector<sidbeam_state>& states,
                           const std::vector<bool>& done, const std::vector<float>& elements, bool first) {
  const sidbeam_beams beams = beams_of(run);
  const int64_t rows = int64_t{run.slots} * run.beams, columns = run.world.columns;
  std::vector<float> logits, scales, top_ps;
  std::vector<int64_t> seeds, requests, draws;
  std::vector<int32_t> top_ks, codes(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    const auto slot = static_cast<size_t>(i / run.beams), m = static_cast<size_t>(i % run.beams);
    const auto row = elements.begin() + static_cast<std::ptrdiff_t>((first ? 0 : m) * static_cast<size_t>(columns));
    logits.insert(logits.end(), row, row + columns);
    scales.push_back(s.inverse_temperatures[slot]);
    seeds.push_back(s.seeds[slot]);
    requests.push_back(s.requests[slot]);
    draws.push_back(s.draws.empty() ? static_cast<int64_t>(m) : s.draws[slot * static_cast<size_t>(s.draw_stride) + m]);
    top_ks.push_back(s.top_ks.empty() ? 0 : s.top_ks[slot]);
    top_ps.push_back(s.top_ps.empty() ? 1 : s.top_ps[slot]);
  }
  const sidbeam_rows described = sidbeam_rows_dense(logits.data(), SIDBEAM_DTYPE_F32, 0, rows, columns);
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = seeds.data();
  sampling.requests = requests.data();
  sampling.draws = draws.data();
  sampling.top_ks = top_ks.data();
  sampling.top_ps = top_ps.data();
  sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
  out.codes = codes.data();
  call("sidbeam_constraint_set_sample", sidbeam_constraint_set_sample, run.set.get(), nullptr, states.data(),
       &described, static_cast<int32_t>(run.world.c.normalization), scales.data(), &sampling, &out, nullptr);
  for (int64_t i = 0; i < rows; ++i) {
    if (done[static_cast<size_t>(i / run.beams)]) continue;
    expect(codes[static_cast<size_t>(i)] == beams.codes[i], "row ", i, " draws ", beams.codes[i],
           " in a session and by itself ", codes[static_cast<size_t>(i)]);
  }
}

// The states that the rows of a session are drawn from: the first codes of a slot all from beam 0.
std::vector<sidbeam_state> drawn_from(const Run& run, bool first) {
  const sidbeam_beams beams = beams_of(run);
  std::vector<sidbeam_state> states;
  for (int32_t i = 0; i < run.slots * run.beams; ++i)
    states.push_back(beams.states[first ? i / run.beams * run.beams : i]);
  return states;
}

// All slots from the beginning to their end.
void run_levels(const Run& run, const Sampling& s) {
  const sidbeam_sampling sampling = s.view();
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.inverse_temperatures = s.inverse_temperatures.data();
  start.sampling = &sampling;
  call("sidbeam_session_start", sidbeam_session_start, run.session.get(), &start);
  const sidbeam_beams beams = beams_of(run);
  const auto active = [&] { return std::accumulate(beams.active, beams.active + run.slots, 0); };
  for (uint64_t step = 0; active() > 0; ++step) {
    const std::vector<float> elements = make_rows(run, step, run.beams);
    sidbeam_rows rows = sidbeam_rows_dense(elements.data(), SIDBEAM_DTYPE_F32, run.slots, run.beams, run.world.columns);
    rows.slot_stride = SIDBEAM_BROADCAST;
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.rows = &rows;
    const std::vector<sidbeam_state> states = drawn_from(run, step == 0);
    std::vector<bool> done;
    for (int32_t i = 0; i < run.slots; ++i) done.push_back(beams.active[i] == 0);
    call("sidbeam_session_step", sidbeam_session_step, run.session.get(), &args);
    // States of another strategy mean nothing to the stateless form.
    if (run.mode == SIDBEAM_MODE_SAMPLE && run.world.c.strategy == SIDBEAM_STRATEGY_TRIE)
      expect_the_same_draws(run, s, states, done, elements, step == 0);
  }
}

std::vector<int64_t> ordinals_of(const Run& run) {
  std::vector<int64_t> ordinals(static_cast<size_t>(run.slots) * static_cast<size_t>(run.beams));
  const auto all = ordinals.size();
  std::vector<int32_t> sids(all * static_cast<size_t>(run.world.c.levels)), lengths(all), truncated(all);
  std::vector<int64_t> offsets(all + static_cast<size_t>(run.slots));
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals.data();
  items.sids = sids.data();
  items.lengths = lengths.data();
  items.offsets = offsets.data();
  items.truncated = truncated.data();
  call("sidbeam_session_get_items", sidbeam_session_get_items, run.session.get(), nullptr, int64_t{0}, &items);
  return ordinals;
}

void refused(const Run& run, const char* what, const sidbeam_sampling* sampling) {
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.sampling = sampling;
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  const sidbeam_status status = sidbeam_session_start(run.session.get(), &start, &err);
  expect(status == SIDBEAM_INVALID_ARGUMENT, what, ": ", sidbeam_status_name(status), " '",
         static_cast<const char*>(err.message), "', expected INVALID_ARGUMENT");
}

void refuse_samplings(const Run& run, const Sampling& s) {
  const std::vector<float> zeros(static_cast<size_t>(run.slots)), fives(static_cast<size_t>(run.slots), 5);
  const std::vector<int32_t> negative(static_cast<size_t>(run.slots), -1);
  refused(run, "a start without seeds", nullptr);
  sidbeam_sampling wrong = s.view();
  wrong.requests = nullptr;
  refused(run, "a start without requests", &wrong);
  wrong = s.view();
  wrong.top_ps = zeros.data();
  refused(run, "top-p of 0", &wrong);
  wrong.top_ps = fives.data();
  refused(run, "top-p above 1", &wrong);
  wrong = s.view();
  wrong.top_ks = negative.data();
  refused(run, "a negative top-k", &wrong);
  wrong = s.view();
  wrong.noise_scales = fives.data();
  refused(run, "noise of draws", &wrong);
}

// The draws that DISC asks for, in slot 0, as many at a time as there are beams. Other slots stay idle.
void run_draws(const Run& run, const sidbeam_disc_config& config, const std::vector<int64_t>& draws, int64_t count) {
  const int32_t slot = 0, width = static_cast<int32_t>(count);
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = &config.seed;
  sampling.requests = &config.request;
  sampling.draws = draws.data();
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.slots = &slot;
  start.count = 1;
  start.widths = &width;
  start.sampling = &sampling;
  call("sidbeam_session_start", sidbeam_session_start, run.session.get(), &start);
  const sidbeam_beams beams = beams_of(run);
  for (uint64_t step = 0; beams.active[0] > 0; ++step) {
    const std::vector<float> elements = make_rows(run, step, 1);
    sidbeam_rows rows = sidbeam_rows_dense(elements.data(), SIDBEAM_DTYPE_F32, 1, run.beams, run.world.columns);
    rows.row_stride = SIDBEAM_BROADCAST;
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.slots = &slot;
    args.count = 1;
    args.rows = &rows;
    call("sidbeam_session_step", sidbeam_session_step, run.session.get(), &args);
  }
}

void run_disc(const Machine& machine, const Run& run, bool without_replacement, differential::Coverage* coverage) {
  const auto beams = static_cast<size_t>(run.beams);
  sidbeam_disc_config config = SIDBEAM_DISC_CONFIG_INIT;
  config.results = 4;
  config.rounds = 2;
  config.side_by_side = static_cast<int32_t>(run.draw(9) % 4) + 1;
  config.without_replacement = without_replacement ? 1 : 0;
  config.attempts = 2;
  config.seed = static_cast<int64_t>(run.draw(10));
  config.request = 5;
  sidbeam_disc* made = nullptr;
  call("sidbeam_disc_create", sidbeam_disc_create, machine.best().runtime.get(), &config, &made);
  const handles::Disc disc(made);
  call("sidbeam_session_stop", sidbeam_session_stop, run.session.get(), nullptr, int64_t{0}, nullptr);
  for (;;) {
    std::vector<int64_t> draws(beams);
    int64_t count = 0;
    call("sidbeam_disc_next", sidbeam_disc_next, disc.get(), int64_t{run.beams}, draws.data(), &count);
    if (count == 0) break;
    run_draws(run, config, draws, count);
    const std::vector<int64_t> ordinals = ordinals_of(run);
    const sidbeam_beams now = beams_of(run);
    sidbeam_disc_draws added = SIDBEAM_DISC_DRAWS_INIT;
    added.count = count;
    added.draws = draws.data();
    added.ordinals = ordinals.data();
    added.log_probs = now.scores;
    added.log_masses = now.log_masses;
    call("sidbeam_disc_add", sidbeam_disc_add, disc.get(), &added);
  }
  std::vector<int64_t> ordinals(4), chosen(4), used(4), rows(4);
  std::vector<int32_t> accepted(4);
  std::vector<float> log_probs(4), log_masses(4);
  sidbeam_disc_results out = SIDBEAM_DISC_RESULTS_INIT;
  out.ordinals = ordinals.data();
  out.draws = chosen.data();
  out.accepted = accepted.data();
  out.draws_used = used.data();
  out.rows_run = rows.data();
  out.log_probs = log_probs.data();
  out.log_masses = log_masses.data();
  call("sidbeam_disc_get", sidbeam_disc_get, disc.get(), &out);
  for (size_t i = 0; i < ordinals.size(); ++i)
    ++(*coverage)[accepted[i] != 0 ? "results accepted" : ordinals[i] >= 0 ? "results resampled" : "dead results"];
}

}  // namespace

void make_draws(const Machine& machine, const World& world, const std::vector<Loaded>& loaded,
                differential::Coverage* coverage) {
  {
    const Run run = make_run(machine, world, loaded, SIDBEAM_MODE_STOCHASTIC);
    run_levels(run, draw_sampling(run));
    ordinals_of(run);
  }
  const Run run = make_run(machine, world, loaded, SIDBEAM_MODE_SAMPLE);
  const Sampling sampling = draw_sampling(run);
  refuse_samplings(run, sampling);
  run_levels(run, sampling);
  ordinals_of(run);
  // Of rows that are no log-probabilities: x may exceed 1.
  if (world.c.normalization == SIDBEAM_NORMALIZE_NONE) return;
  run_disc(machine, run, false, coverage);
  run_disc(machine, run, true, coverage);
}

void make_samples(const Machine& machine, const World& world, const std::vector<Loaded>& loaded) {
  Run run{world, SIDBEAM_MODE_SAMPLE, 1, 1};
  run.set = make_set(machine, world, loaded);
  constexpr int64_t kRows = 6;
  std::vector<int32_t> which;
  std::vector<int64_t> seeds, requests, draws;
  for (int64_t i = 0; i < kRows; ++i) {
    which.push_back(static_cast<int32_t>(i % static_cast<int64_t>(loaded.size())));
    seeds.push_back(static_cast<int64_t>(run.draw(20, static_cast<uint64_t>(i))));
    requests.push_back(i);
    draws.push_back(3 * i);
  }
  std::vector<sidbeam_state> states(kRows, 0), next(kRows);
  const std::vector<int32_t> top_ks{0, 1, 2, 5, 0, 0};
  const std::vector<float> top_ps{1, 1, 1, 0.75F, 0.5F, 0.25F}, scales{0, 0.5F, 1, 2, 1, 0};
  for (uint64_t step = 0; step < 3; ++step) {
    const std::vector<float> elements = make_rows(run, step, kRows);
    const sidbeam_rows rows = sidbeam_rows_dense(elements.data(), SIDBEAM_DTYPE_F32, 0, kRows, world.columns);
    sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
    sampling.seeds = seeds.data();
    sampling.requests = requests.data();
    if (step > 0) sampling.draws = draws.data();
    if (step < 2) sampling.top_ks = top_ks.data();
    if (step < 2) sampling.top_ps = top_ps.data();
    std::vector<int32_t> codes(kRows);
    std::vector<float> log_probs(kRows), log_masses(kRows);
    sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
    out.codes = codes.data();
    out.log_probs = log_probs.data();
    out.log_masses = log_masses.data();
    out.next = next.data();
    call("sidbeam_constraint_set_sample", sidbeam_constraint_set_sample, run.set.get(), which.data(), states.data(),
         &rows, static_cast<int32_t>(world.c.normalization), step == 1 ? nullptr : scales.data(), &sampling, &out,
         nullptr);
    states = next;
  }
}

}  // namespace shared_cases
