// SPDX-License-Identifier: Apache-2.0
#include "disc_run.h"

#include <algorithm>
#include <numeric>

#include "context.h"

namespace bench {
namespace {

Disc make_disc(sidbeam_runtime* runtime, int32_t results, int32_t rounds) {
  sidbeam_disc_config config = SIDBEAM_DISC_CONFIG_INIT;
  config.results = results;
  config.rounds = rounds;
  config.seed = kSeed;
  sidbeam_disc* disc;
  call("disc_create", sidbeam_disc_create, runtime, &config, &disc);
  return Disc(disc);
}

// Adds up the time between start and stop.
class Watch {
 public:
  template <typename Work>
  void time(const Work& work) {
    const double begin = thread_microseconds();
    work();
    us += thread_microseconds() - begin;
  }
  double us = 0;
};

void run_draws(SidbeamMethod& sampler, RowModel& model, Logits& logits, std::span<const int64_t> draws, Watch& watch) {
  watch.time([&] { sampler.start_draws(draws); });
  model.start();
  for (int32_t level = 0; sampler.arrays().active[0] > 0; ++level) {
    const Rows rows = logits.next();
    model.before(rows);
    watch.time([&] { sampler.step(level, rows); });
    model.after(sampler.beams());
  }
}

}  // namespace

DiscFigures run_disc(sidbeam_runtime* runtime, SidbeamMethod& sampler, RowModel& model, Logits& logits, int32_t results,
                     int32_t rounds) {
  const Disc disc = make_disc(runtime, results, rounds);
  const sidbeam_beams& beams = sampler.arrays();
  std::vector<int64_t> draws(static_cast<size_t>(beams.beams)), ordinals(draws.size());
  Watch watch;
  for (;;) {
    int64_t count = 0;
    watch.time([&] { call("disc_next", sidbeam_disc_next, disc.get(), int64_t{beams.beams}, draws.data(), &count); });
    if (count == 0) break;
    run_draws(sampler, model, logits, std::span(draws).first(static_cast<size_t>(count)), watch);
    watch.time([&] {
      sampler.get_ordinals(ordinals.data());
      sidbeam_disc_draws added = SIDBEAM_DISC_DRAWS_INIT;
      added.count = count;
      added.draws = draws.data();
      added.ordinals = ordinals.data();
      added.log_probs = beams.scores;
      added.log_masses = beams.log_masses;
      call("disc_add", sidbeam_disc_add, disc.get(), &added);
    });
  }
  const auto n = static_cast<size_t>(results);
  std::vector<int64_t> found(n), used(n), run(n);
  std::vector<int32_t> accepted(n);
  sidbeam_disc_results out = SIDBEAM_DISC_RESULTS_INIT;
  out.ordinals = found.data();
  out.accepted = accepted.data();
  out.draws_used = used.data();
  out.rows_run = run.data();
  watch.time([&] { call("disc_get", sidbeam_disc_get, disc.get(), &out); });
  const auto sum = [](const auto& all) {
    return static_cast<double>(std::accumulate(all.begin(), all.end(), int64_t{0}));
  };
  return {watch.us, sum(run), sum(used), sum(accepted),
          static_cast<double>(std::count(found.begin(), found.end(), int64_t{-1}))};
}

}  // namespace bench
