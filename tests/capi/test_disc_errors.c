/* What the functions of disc.h refuse, and that nothing has changed then. SPDX-License-Identifier: Apache-2.0 */
#include "disc_rig.h"

static void wrong_configs_are_refused(void) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_disc* disc = NULL;
  sidbeam_disc_config c;
#define REFUSED(change, text) \
  c = disc_config(1, 3, 1);   \
  change;                     \
  CHECK_FAILS(sidbeam_disc_create(runtime, &c, &disc, &err), SIDBEAM_INVALID_ARGUMENT, text)
  REFUSED(c.results = -1, "config.results is -1, expected 0..1048576");
  REFUSED(c.results = (1 << 20) + 1, "config.results is 1048577, expected 0..1048576");
  REFUSED(c.rounds = 0, "config.rounds is 0, expected 1..1024");
  REFUSED(c.rounds = 1025, "config.rounds is 1025, expected 1..1024");
  REFUSED(c.without_replacement = 2, "config.without_replacement is 2, expected 0..1");
  REFUSED(c.attempts = -1, "config.attempts is -1, expected 0..1048576");
  REFUSED(c.side_by_side = 7, "config.side_by_side is 7, expected 0..6");
  REFUSED(c.struct_size = 0, "config.struct_size is 0");
#undef REFUSED
  CHECK_FAILS(sidbeam_disc_create(NULL, &c, &disc, &err), SIDBEAM_INVALID_ARGUMENT, "runtime is NULL");
  CHECK_FAILS(sidbeam_disc_create(runtime, NULL, &disc, &err), SIDBEAM_INVALID_ARGUMENT, "config is NULL");
  c = disc_config(1, 3, 1);
  CHECK_FAILS(sidbeam_disc_create(runtime, &c, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK(disc == NULL);
  sidbeam_disc_destroy(NULL);
  sidbeam_runtime_release(runtime);
}

/* Two results of K = 2, all four draws of each out. */
static sidbeam_disc* all_out(void) {
  const sidbeam_disc_config config = disc_config(2, 2, 4);
  sidbeam_disc* disc = make_disc(&config);
  int64_t draws[8];
  CHECK_INT(next_of(disc, 8, draws), 8);
  return disc;
}

static void draws_that_are_not_out_are_refused_and_nothing_is_added(void) {
  static const int64_t wrong[] = {8, -1, INT64_MIN, INT64_MAX, 0};
  sidbeam_disc* disc = all_out();
  disc_outcome out;
  for (size_t i = 0; i < COUNT(wrong); ++i) {
    const int64_t draws[] = {0, 1, wrong[i], 2};
    char text[80];
    snprintf(text, sizeof text, "draws.draws[2] is %lld, expected one that sidbeam_disc_next() has handed out",
             (long long)wrong[i]);
    CHECK_FAILS(add_fates(disc, draws, 4, always_five), SIDBEAM_INVALID_ARGUMENT, text);
  }
  CHECK_OK(add_fates(disc, (const int64_t[]){3, 2, 1, 0, 4, 5, 6}, 7, all_accepted));
  CHECK_FAILS(
      add_fates(disc, (const int64_t[]){6}, 1, all_accepted), SIDBEAM_INVALID_ARGUMENT,
      "draws.draws[0] is 6, expected one that sidbeam_disc_next() has handed out and that was not added before");
  CHECK_OK(add_fates(disc, (const int64_t[]){7}, 1, all_accepted));
  CHECK_OK(get_results(disc, &out));
  CHECK_I64(out.draws, ((const int64_t[]){0, 4}), 2);
  CHECK_I64(out.rows, ((const int64_t[]){4, 4}), 2);
  sidbeam_disc_destroy(disc);
}

static void draws_that_were_not_handed_out_yet_are_refused(void) {
  const sidbeam_disc_config config = disc_config(2, 40, 1);
  sidbeam_disc* disc = make_disc(&config);
  int64_t draws[2];
  CHECK_INT(next_of(disc, 2, draws), 2); /* 0, and 80 of the other result */
  for (int64_t draw = 1; draw < 80; ++draw)
    CHECK_FAILS(add_fates(disc, &draw, 1, always_five), SIDBEAM_INVALID_ARGUMENT,
                "expected one that sidbeam_disc_next()");
  CHECK_OK(add_fates(disc, draws, 2, always_five));
  sidbeam_disc_destroy(disc);
}

static fate bad;
static fate third_is_bad(int64_t draw) { return draw == 2 ? bad : (fate){draw, -80}; }

static void wrong_values_are_refused_and_nothing_is_added(void) {
  static const int64_t draws[] = {0, 1, 2, 3};
  sidbeam_disc* disc = all_out();
  bad = (fate){-2, 0};
  CHECK_FAILS(add_fates(disc, draws, 4, third_is_bad), SIDBEAM_INVALID_ARGUMENT,
              "draws.ordinals[2] is -2, expected at least 0, or -1 for a dead draw");
  bad = (fate){4, 0.5f};
  CHECK_FAILS(add_fates(disc, draws, 4, third_is_bad), SIDBEAM_INVALID_ARGUMENT,
              "draws.log_masses[2] is 0.5, expected at most 0.001");
  bad = (fate){4, NAN};
  CHECK_FAILS(add_fates(disc, draws, 4, third_is_bad), SIDBEAM_INVALID_ARGUMENT, "draws.log_masses[2] is ",
              "nan, expected at most 0.001");
  bad = (fate){-1, NAN}; /* not read where dead */
  CHECK_OK(add_fates(disc, draws, 4, third_is_bad));
  sidbeam_disc_destroy(disc);
}

static void missing_arrays_and_wrong_counts_are_refused(void) {
  static const int64_t numbers[1] = {0};
  static const float zeros[1] = {0};
  sidbeam_disc* disc = all_out();
  sidbeam_disc_draws draws = SIDBEAM_DISC_DRAWS_INIT;
  int64_t count = -5, number = -5;
  CHECK_OK(sidbeam_disc_add(disc, &draws, &err)); /* none */
  draws.count = -1;
  CHECK_FAILS(sidbeam_disc_add(disc, &draws, &err), SIDBEAM_INVALID_ARGUMENT, "draws.count is -1, expected at least 0");
  draws.count = 1;
  CHECK_FAILS(sidbeam_disc_add(disc, &draws, &err), SIDBEAM_INVALID_ARGUMENT, "draws.draws is NULL");
  draws.draws = numbers;
  CHECK_FAILS(sidbeam_disc_add(disc, &draws, &err), SIDBEAM_INVALID_ARGUMENT, "draws.ordinals is NULL");
  draws.ordinals = numbers;
  CHECK_FAILS(sidbeam_disc_add(disc, &draws, &err), SIDBEAM_INVALID_ARGUMENT, "draws.log_probs is NULL");
  draws.log_probs = zeros;
  CHECK_FAILS(sidbeam_disc_add(disc, &draws, &err), SIDBEAM_INVALID_ARGUMENT, "draws.log_masses is NULL");
  CHECK_FAILS(sidbeam_disc_add(disc, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "draws is NULL");
  CHECK_FAILS(sidbeam_disc_add(NULL, &draws, &err), SIDBEAM_INVALID_ARGUMENT, "disc is NULL");
  CHECK_FAILS(sidbeam_disc_next(disc, -1, &number, &count, &err), SIDBEAM_INVALID_ARGUMENT,
              "capacity is -1, expected at least 0");
  CHECK_FAILS(sidbeam_disc_next(disc, 1, NULL, &count, &err), SIDBEAM_INVALID_ARGUMENT, "draws is NULL");
  CHECK_FAILS(sidbeam_disc_next(disc, 1, &number, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "count is NULL");
  CHECK_FAILS(sidbeam_disc_next(NULL, 1, &number, &count, &err), SIDBEAM_INVALID_ARGUMENT, "disc is NULL");
  CHECK_FAILS(sidbeam_disc_get(disc, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_INT(count, -5);
  sidbeam_disc_destroy(disc);
}

static void results_are_not_given_before_all_are_decided(void) {
  sidbeam_disc* disc = all_out();
  sidbeam_disc_results none = SIDBEAM_DISC_RESULTS_INIT;
  disc_outcome out;
  CHECK_FAILS(get_results(disc, &out), SIDBEAM_BAD_STATE, "result 0 of 2 is not decided, expected draws to be added");
  CHECK_OK(add_fates(disc, (const int64_t[]){0, 1, 2, 3}, 4, all_accepted));
  CHECK_FAILS(get_results(disc, &out), SIDBEAM_BAD_STATE, "result 1 of 2 is not decided");
  CHECK_OK(add_fates(disc, (const int64_t[]){4, 5, 6, 7}, 4, all_accepted));
  CHECK_OK(get_results(disc, &out));
  CHECK_OK(sidbeam_disc_get(disc, &none, &err)); /* any array may be missing */
  sidbeam_disc_destroy(disc);
}

static void the_largest_config_has_numbers_for_all_draws(void) {
  sidbeam_disc_config config = disc_config(1 << 20, 1 << 10, 1);
  static int64_t draws[1 << 20];
  sidbeam_disc* disc = make_disc(&config);
  CHECK_INT(next_of(disc, 1 << 20, draws), 1 << 20);
  CHECK(draws[(1 << 20) - 1] == (int64_t)((1 << 20) - 1) << 11);
  sidbeam_disc_destroy(disc);
}

int main(void) {
  static const test_case tests[] = {
      TEST(wrong_configs_are_refused),
      TEST(draws_that_are_not_out_are_refused_and_nothing_is_added),
      TEST(draws_that_were_not_handed_out_yet_are_refused),
      TEST(wrong_values_are_refused_and_nothing_is_added),
      TEST(missing_arrays_and_wrong_counts_are_refused),
      TEST(results_are_not_given_before_all_are_decided),
      TEST(the_largest_config_has_numbers_for_all_draws),
  };
  return RUN_TESTS(tests);
}
