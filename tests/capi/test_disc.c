/* DISC's bookkeeping: which draws are asked for, and what becomes of them. Draws of valid mass 1 are accepted for sure,
 * those of mass 0 never, so that most results are known; random ones show that no schedule changes them. That the
 * results follow DISC's law is tested in tests/sampling. SPDX-License-Identifier: Apache-2.0 */
#include "disc_rig.h"

/* --- one result of K = 3: draws 0 1 2 are rounds, 3 4 5 fresh --- */

static fate second_is_accepted(int64_t draw) { return draw == 1 ? (fate){7, 0} : (fate){draw, -INFINITY}; }

static void the_first_accepted_round_is_the_result(void) {
  const sidbeam_disc_config config = disc_config(1, 3, 1);
  disc_outcome out;
  CHECK_INT(run_config(&config, 8, second_is_accepted, &out), 2);
  CHECK_INT(out.ordinals[0], 7);
  CHECK_INT(out.draws[0], 1);
  CHECK_INT(out.accepted[0], 1);
  CHECK_INT(out.used[0], 2);
  CHECK_INT(out.rows[0], 2);
  CHECK_F32(out.log_probs, ((const float[]){-8}), 1);
  CHECK_F32(out.log_masses, ((const float[]){0}), 1);
}

static void rows_run_ahead_are_counted_and_change_nothing_else(void) {
  for (int32_t side_by_side = 1; side_by_side <= 6; ++side_by_side) {
    const sidbeam_disc_config config = disc_config(1, 3, side_by_side);
    disc_outcome out;
    CHECK_INT(run_config(&config, 8, all_accepted, &out), side_by_side);
    CHECK_INT(out.draws[0], 0);
    CHECK_INT(out.used[0], 1);
    CHECK_INT(out.rows[0], side_by_side);
  }
}

static fate one_fresh_counts(int64_t draw) {
  if (draw == 3) return dead;
  return draw == 4 ? (fate){9, -80} : (fate){draw, -INFINITY}; /* e^-80 is rejected where it is a round */
}

static void after_k_rejections_one_of_k_fresh_draws_is_the_result(void) {
  const sidbeam_disc_config config = disc_config(1, 3, 1);
  disc_outcome out;
  CHECK_INT(run_config(&config, 8, one_fresh_counts, &out), 6);
  CHECK_INT(out.ordinals[0], 9);
  CHECK_INT(out.draws[0], 4);
  CHECK_INT(out.accepted[0], 0);
  CHECK_INT(out.used[0], 6);
  CHECK_F32(out.log_masses, ((const float[]){-80}), 1);
}

static fate tiny(int64_t draw) {
  if (draw == 5) return (fate){5, -2000};
  return draw < 3 ? dead : (fate){draw, -3000}; /* e^-1000 of the other, and both below the range of double */
}

static void masses_below_the_range_of_double_still_compare(void) {
  const sidbeam_disc_config config = disc_config(1, 3, 2);
  disc_outcome out;
  run_config(&config, 8, tiny, &out);
  CHECK_INT(out.ordinals[0], 5);
  CHECK_INT(out.accepted[0], 0);
}

static fate rounded_up(int64_t draw) { return draw < 3 ? dead : (fate){draw, draw == 4 ? 0x1p-12f : -80}; }

static void a_mass_that_rounding_brings_above_one_is_one(void) {
  sidbeam_disc_config config = disc_config(1, 3, 1);
  disc_outcome out;
  run_config(&config, 8, rounded_up, &out);
  CHECK_INT(out.ordinals[0], 4);
  config.rounds = 5; /* draw 4 is a round, and accepted */
  run_config(&config, 8, rounded_up, &out);
  CHECK_INT(out.draws[0], 4);
  CHECK_INT(out.accepted[0], 1);
  CHECK_F32(out.log_masses, ((const float[]){0x1p-12f}), 1);
}

static fate all_dead(int64_t draw) { return draw % 2 == 0 ? dead : (fate){1, -INFINITY}; }

static void a_result_without_a_draw_of_any_mass_is_dead_and_no_error(void) {
  const sidbeam_disc_config config = disc_config(2, 3, 6);
  disc_outcome out;
  run_config(&config, 100, all_dead, &out);
  for (int j = 0; j < 2; ++j) {
    CHECK_INT(out.ordinals[j], -1);
    CHECK_INT(out.draws[j], -1);
    CHECK_INT(out.accepted[j], 0);
    CHECK_INT(out.used[j], 6);
    CHECK_INT(out.rows[j], 6);
  }
  CHECK_F32(out.log_probs, ((const float[]){-INFINITY, -INFINITY}), 2);
  CHECK_F32(out.log_masses, ((const float[]){-INFINITY, -INFINITY}), 2);
}

/* --- which draws are asked for --- */

static void draws_are_numbered_by_result_then_round(void) {
  sidbeam_disc_config config = disc_config(3, 2, 2);
  sidbeam_disc* disc = make_disc(&config);
  int64_t draws[16];
  CHECK_INT(next_of(disc, 16, draws), 6);
  CHECK_I64(draws, ((const int64_t[]){0, 1, 4, 5, 8, 9}), 6);
  CHECK_INT(next_of(disc, 16, draws), 0); /* all are out */
  CHECK_OK(add_fates(disc, (const int64_t[]){4, 5}, 2, all_dead));
  CHECK_INT(next_of(disc, 16, draws), 2);
  CHECK_I64(draws, ((const int64_t[]){6, 7}), 2);
  sidbeam_disc_destroy(disc);
}

static void a_batch_that_does_not_fit_is_handed_out_in_parts(void) {
  sidbeam_disc_config config = disc_config(2, 2, 3);
  sidbeam_disc* disc = make_disc(&config);
  int64_t draws[4];
  CHECK_INT(next_of(disc, 0, NULL), 0);
  CHECK_INT(next_of(disc, 2, draws), 2);
  CHECK_I64(draws, ((const int64_t[]){0, 1}), 2);
  CHECK_INT(next_of(disc, 2, draws), 2);
  CHECK_I64(draws, ((const int64_t[]){2, 4}), 2);
  CHECK_OK(add_fates(disc, (const int64_t[]){4}, 1, all_accepted)); /* decided without the rest of its batch */
  CHECK_INT(next_of(disc, 4, draws), 0);
  CHECK_OK(add_fates(disc, (const int64_t[]){2, 0, 1}, 3, all_dead));
  CHECK_INT(next_of(disc, 4, draws), 1);
  CHECK_I64(draws, ((const int64_t[]){3}), 1);
  sidbeam_disc_destroy(disc);
}

static void a_zeroed_config_has_one_result_run_one_draw_after_the_other(void) {
  sidbeam_disc_config config;
  int64_t draws[4];
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.rounds = 2;
  sidbeam_disc* disc = make_disc(&config);
  CHECK_INT(next_of(disc, 4, draws), 1);
  CHECK_OK(add_fates(disc, draws, 1, all_accepted));
  CHECK_INT(next_of(disc, 4, draws), 0);
  sidbeam_disc_destroy(disc);
}

/* --- without replacement --- */

/* Results 0 .. 2 of K = 1: two draws each, attempts 6 draws apart. SIDs by turns, accepted. */
static fate by_turns(int64_t draw) { return (fate){draw < 6 ? 5 : draw / 2 % 3 + draw / 12, 0}; }

static void repeats_are_drawn_again_with_draws_of_their_own(void) {
  sidbeam_disc_config config = disc_config(3, 1, 1);
  disc_outcome out;
  run_config(&config, 16, by_turns, &out);
  CHECK_I64(out.ordinals, ((const int64_t[]){5, 5, 5}), 3);
  config.without_replacement = 1;
  run_config(&config, 16, by_turns, &out);
  CHECK_I64(out.ordinals, ((const int64_t[]){5, 1, 2}), 3);
  CHECK_I64(out.draws, ((const int64_t[]){0, 8, 10}), 3);
  CHECK_I64(out.used, ((const int64_t[]){1, 2, 2}), 3);
  CHECK_I64(out.rows, ((const int64_t[]){1, 2, 2}), 3);
}

static void a_result_whose_attempts_are_used_up_is_dead(void) {
  sidbeam_disc_config config = disc_config(2, 1, 2);
  disc_outcome out;
  config.without_replacement = 1;
  config.attempts = 3;
  run_config(&config, 16, always_five, &out);
  CHECK_I64(out.ordinals, ((const int64_t[]){5, -1}), 2);
  CHECK_I64(out.used, ((const int64_t[]){1, 3}), 2);
  CHECK_I64(out.rows, ((const int64_t[]){2, 6}), 2);
  CHECK_I32(out.accepted, ((const int32_t[]){1, 0}), 2);
  config.attempts = 0;
  run_config(&config, 16, always_five, &out);
  CHECK_INT(out.used[1], 1000);
}

static fate dead_then_five(int64_t draw) { return draw < 4 ? dead : (fate){5, 0}; }

static void a_dead_result_is_not_drawn_again_and_repeats_nothing(void) {
  sidbeam_disc_config config = disc_config(3, 1, 1);
  disc_outcome out;
  config.without_replacement = 1;
  config.attempts = 1;
  run_config(&config, 16, dead_then_five, &out);
  CHECK_I64(out.ordinals, ((const int64_t[]){-1, -1, 5}), 3);
}

/* --- schedules --- */

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 31) * 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
  return x ^ x >> 32;
}

/* Seven SIDs, of which some draws die. */
static fate random_fate(int64_t draw) {
  const uint64_t bits = mixed((uint64_t)draw + 1);
  if (bits % 8 == 7) return dead;
  return (fate){(int64_t)(bits % 8), -0.5f * (float)(bits >> 8 & 7) - 0.25f};
}

/* Draws are handed out at different times and added in a random order, so that later ones come before earlier ones. */
static void run_shuffled(sidbeam_disc* disc, uint64_t seed) {
  static int64_t out[MOST_DRAWS];
  int64_t count = 0;
  for (uint64_t turn = 0;; ++turn) {
    const uint64_t bits = mixed(seed + 977 * turn);
    count += next_of(disc, (int64_t)(bits % 40), out + count);
    if (count == 0 && next_of(disc, 1, out) == 0) return;
    if (count == 0) count = 1;
    for (int64_t i = count - 1; i > 0; --i) { /* Fisher and Yates */
      const int64_t other = (int64_t)(mixed(bits + (uint64_t)i) % (uint64_t)(i + 1)), kept = out[i];
      out[i] = out[other];
      out[other] = kept;
    }
    const int64_t added = 1 + (int64_t)(bits >> 20) % count;
    CHECK_OK(add_fates(disc, out + count - added, added, random_fate));
    count -= added;
  }
}

static void check_same(const disc_outcome* a, const disc_outcome* b, int64_t n) {
  CHECK_I64(a->ordinals, b->ordinals, n);
  CHECK_I64(a->draws, b->draws, n);
  CHECK_I64(a->used, b->used, n);
  CHECK_I32(a->accepted, b->accepted, n);
  CHECK_F32(a->log_probs, b->log_probs, n);
  CHECK_F32(a->log_masses, b->log_masses, n);
}

static void check_schedules(sidbeam_disc_config config) {
  disc_outcome one_by_one, out;
  const int32_t n = config.results;
  run_config(&config, 1, random_fate, &one_by_one);
  for (int64_t j = 0; j < n; ++j) CHECK(one_by_one.rows[j] == one_by_one.used[j]);
  for (config.side_by_side = 1; config.side_by_side <= 2 * config.rounds; ++config.side_by_side) {
    run_config(&config, MOST_DRAWS, random_fate, &out);
    check_same(&out, &one_by_one, n);
    sidbeam_disc* disc = make_disc(&config);
    run_shuffled(disc, (uint64_t)config.side_by_side);
    CHECK_OK(get_results(disc, &out));
    check_same(&out, &one_by_one, n);
    sidbeam_disc_destroy(disc);
  }
}

static void no_schedule_changes_a_result(void) {
  static const int32_t rounds[] = {1, 2, 5, 40};
  for (size_t i = 0; i < COUNT(rounds); ++i) check_schedules(disc_config(200 / rounds[i], rounds[i], 1));
}

static void no_schedule_changes_a_result_without_replacement(void) {
  static const int32_t rounds[] = {1, 2, 40};
  for (size_t i = 0; i < COUNT(rounds); ++i) {
    sidbeam_disc_config config = disc_config(8, rounds[i], 1); /* of seven SIDs */
    config.without_replacement = 1;
    config.attempts = 50;
    check_schedules(config);
    disc_outcome out;
    run_config(&config, 64, random_fate, &out);
    for (int a = 0; a < 8; ++a)
      for (int b = 0; b < a; ++b) CHECK(out.ordinals[a] != out.ordinals[b] || out.ordinals[a] < 0);
  }
}

static void seed_and_request_change_what_is_accepted(void) {
  sidbeam_disc_config config = disc_config(100, 2, 1);
  disc_outcome out, other;
  run_config(&config, 64, random_fate, &out);
  config.seed = 3;
  run_config(&config, 64, random_fate, &other);
  CHECK(memcmp(out.draws, other.draws, sizeof(int64_t[100])) != 0);
  config.seed = 1;
  config.request = -1;
  run_config(&config, 64, random_fate, &other);
  CHECK(memcmp(out.draws, other.draws, sizeof(int64_t[100])) != 0);
}

int main(void) {
  static const test_case tests[] = {
      TEST(the_first_accepted_round_is_the_result),
      TEST(rows_run_ahead_are_counted_and_change_nothing_else),
      TEST(after_k_rejections_one_of_k_fresh_draws_is_the_result),
      TEST(masses_below_the_range_of_double_still_compare),
      TEST(a_mass_that_rounding_brings_above_one_is_one),
      TEST(a_result_without_a_draw_of_any_mass_is_dead_and_no_error),
      TEST(draws_are_numbered_by_result_then_round),
      TEST(a_batch_that_does_not_fit_is_handed_out_in_parts),
      TEST(a_zeroed_config_has_one_result_run_one_draw_after_the_other),
      TEST(repeats_are_drawn_again_with_draws_of_their_own),
      TEST(a_result_whose_attempts_are_used_up_is_dead),
      TEST(a_dead_result_is_not_drawn_again_and_repeats_nothing),
      TEST(no_schedule_changes_a_result),
      TEST(no_schedule_changes_a_result_without_replacement),
      TEST(seed_and_request_change_what_is_accepted),
  };
  return RUN_TESTS(tests);
}
