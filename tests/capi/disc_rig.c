/* SPDX-License-Identifier: Apache-2.0 */
#include "disc_rig.h"

const fate dead = {-1, 0};

fate all_accepted(int64_t draw) { return (fate){draw, 0}; }

fate always_five(int64_t draw) { return (fate){5, draw < 0 ? -1 : 0}; }

sidbeam_disc* make_disc(const sidbeam_disc_config* config) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_disc* disc = NULL;
  CHECK_OK(sidbeam_disc_create(runtime, config, &disc, &err));
  sidbeam_runtime_release(runtime); /* the disc holds it */
  return disc;
}

sidbeam_disc_config disc_config(int32_t results, int32_t rounds, int32_t side_by_side) {
  sidbeam_disc_config config = SIDBEAM_DISC_CONFIG_INIT;
  config.results = results;
  config.rounds = rounds;
  config.side_by_side = side_by_side;
  config.seed = 1;
  config.request = 2;
  return config;
}

sidbeam_status add_fates(sidbeam_disc* disc, const int64_t* numbers, int64_t count, fate_of of) {
  static int64_t ordinals[MOST_DRAWS];
  static float log_probs[MOST_DRAWS], log_masses[MOST_DRAWS];
  sidbeam_disc_draws draws = SIDBEAM_DISC_DRAWS_INIT;
  for (int64_t i = 0; i < count; ++i) {
    const fate f = of(numbers[i]);
    ordinals[i] = f.ordinal;
    log_masses[i] = f.log_mass;
    log_probs[i] = -1 - (float)f.ordinal;
  }
  draws.count = count;
  draws.draws = numbers;
  draws.ordinals = ordinals;
  draws.log_probs = log_probs;
  draws.log_masses = log_masses;
  return sidbeam_disc_add(disc, &draws, &err);
}

sidbeam_status get_results(const sidbeam_disc* disc, disc_outcome* to) {
  sidbeam_disc_results out = SIDBEAM_DISC_RESULTS_INIT;
  memset(to, 0x5a, sizeof *to);
  out.ordinals = to->ordinals;
  out.draws = to->draws;
  out.accepted = to->accepted;
  out.draws_used = to->used;
  out.rows_run = to->rows;
  out.log_probs = to->log_probs;
  out.log_masses = to->log_masses;
  return sidbeam_disc_get(disc, &out, &err);
}

int64_t next_of(sidbeam_disc* disc, int64_t capacity, int64_t* draws) {
  int64_t count = -1;
  CHECK_OK(sidbeam_disc_next(disc, capacity, draws, &count, &err));
  CHECK(count >= 0 && count <= capacity);
  return count;
}

/* Runs to the end, `capacity` draws at a time, in the order in which they come; returns how many were run. */
static int64_t run_all(sidbeam_disc* disc, int64_t capacity, fate_of of) {
  static int64_t draws[MOST_DRAWS];
  int64_t total = 0;
  for (int64_t count; (count = next_of(disc, capacity, draws)) > 0; total += count)
    CHECK_OK(add_fates(disc, draws, count, of));
  return total;
}

int64_t run_config(const sidbeam_disc_config* config, int64_t capacity, fate_of of, disc_outcome* to) {
  sidbeam_disc* disc = make_disc(config);
  const int64_t total = run_all(disc, capacity, of);
  CHECK_OK(get_results(disc, to));
  sidbeam_disc_destroy(disc);
  return total;
}
