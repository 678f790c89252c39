/* What sampling refuses, and that a refusal leaves the session as it was. What it draws is tested in tests/sampling and
 * tests/differential. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "fixtures.h"

static sidbeam_constraint* constraint;

static sidbeam_session_config config_of(int32_t mode, int32_t strategy) {
  sidbeam_session_config config = session_config(constraint);
  config.slots = 2;
  config.mode = mode;
  config.strategy = strategy;
  config.normalization = SIDBEAM_NORMALIZE_FULL;
  return config;
}

static sidbeam_session* session_of(int32_t mode, int32_t strategy) {
  const sidbeam_session_config config = config_of(mode, strategy);
  return make_session(&config);
}

static const int64_t keys[2] = {3, 4};

static sidbeam_sampling keyed(void) {
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = sampling.requests = keys;
  return sampling;
}

static sidbeam_status start(sidbeam_session* session, const sidbeam_sampling* sampling) {
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.sampling = sampling;
  return sidbeam_session_start(session, &args, &err);
}

static void step(sidbeam_session* session) { step_all(session, halving); }

/* A session in the middle of its draws, and another that goes on beside it and is never refused anything. */
typedef struct pair {
  sidbeam_session *session, *undisturbed;
} pair;

static pair make_pair(int32_t mode, int32_t strategy) {
  const int32_t top_ks[2] = {3, 4};
  sidbeam_sampling sampling = keyed();
  pair p = {session_of(mode, strategy), session_of(mode, strategy)};
  if (strategy == SIDBEAM_STRATEGY_SORTED_TOPK) sampling.top_ks = top_ks;
  CHECK_OK(start(p.session, mode == SIDBEAM_MODE_SEARCH ? NULL : &sampling));
  CHECK_OK(start(p.undisturbed, mode == SIDBEAM_MODE_SEARCH ? NULL : &sampling));
  step(p.session);
  step(p.undisturbed);
  return p;
}

static void check_unharmed(const pair* p) {
  const session_view a = view_of(p->session), b = view_of(p->undisturbed);
  CHECK(memcmp(&a, &b, sizeof a) == 0);
}

static void end_pair(pair* p) {
  for (int i = 0; i < 2; ++i) {
    step(p->session);
    step(p->undisturbed);
    check_unharmed(p);
  }
  sidbeam_session_destroy(p->session);
  sidbeam_session_destroy(p->undisturbed);
}

#define REFUSED(pair, sampling, ...)                                                        \
  do {                                                                                      \
    CHECK_FAILS(start((pair)->session, (sampling)), SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__); \
    check_unharmed(pair);                                                                   \
  } while (0)

static void modes_and_strategies_that_do_not_go_together(void) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_session* session = NULL;
  static const struct {
    int32_t mode, strategy;
    const char *strategy_text, *expected;
  } wrong[] = {
      {SIDBEAM_MODE_SAMPLE, SIDBEAM_STRATEGY_HASH_FINAL, "config.strategy is hash_final",
       "expected trie, sorted, sorted_topk or none in mode SAMPLE"},
      {SIDBEAM_MODE_STOCHASTIC, SIDBEAM_STRATEGY_SORTED_TOPK, "config.strategy is sorted_topk",
       "expected trie or sorted in mode STOCHASTIC"},
      {SIDBEAM_MODE_STOCHASTIC, SIDBEAM_STRATEGY_HASH_FINAL, "config.strategy is hash_final",
       "expected trie or sorted in mode STOCHASTIC"},
      {SIDBEAM_MODE_STOCHASTIC, SIDBEAM_STRATEGY_NONE, "config.strategy is none",
       "expected trie or sorted in mode STOCHASTIC"},
  };
  for (size_t i = 0; i < COUNT(wrong); ++i) {
    const sidbeam_session_config config = config_of(wrong[i].mode, wrong[i].strategy);
    CHECK_FAILS(sidbeam_session_create(runtime, &config, &session, &err), SIDBEAM_INVALID_ARGUMENT,
                wrong[i].strategy_text, wrong[i].expected);
    CHECK(session == NULL);
  }
  for (int32_t mode = -1; mode <= 3; mode += 4) {
    const sidbeam_session_config config = config_of(mode, SIDBEAM_STRATEGY_TRIE);
    CHECK_FAILS(sidbeam_session_create(runtime, &config, &session, &err), SIDBEAM_INVALID_ARGUMENT, "config.mode is",
                "expected 0..2");
  }
  sidbeam_runtime_release(runtime);
}

static void a_start_says_how_to_sample_in_the_modes_that_do(void) {
  const sidbeam_sampling sampling = keyed();
  for (int32_t mode = SIDBEAM_MODE_SEARCH; mode <= SIDBEAM_MODE_STOCHASTIC; ++mode) {
    pair p = make_pair(mode, SIDBEAM_STRATEGY_TRIE);
    if (mode == SIDBEAM_MODE_SEARCH)
      REFUSED(&p, &sampling, "sampling is given, expected NULL in mode SEARCH");
    else if (mode == SIDBEAM_MODE_SAMPLE)
      REFUSED(&p, NULL, "sampling is NULL, expected seeds and requests in mode SAMPLE");
    else
      REFUSED(&p, NULL, "sampling is NULL, expected seeds and requests in mode STOCHASTIC");
    end_pair(&p);
  }
}

static void seeds_and_requests_are_needed(void) {
  for (int32_t mode = SIDBEAM_MODE_SAMPLE; mode <= SIDBEAM_MODE_STOCHASTIC; ++mode) {
    pair p = make_pair(mode, SIDBEAM_STRATEGY_SORTED);
    sidbeam_sampling sampling = keyed();
    sampling.seeds = NULL;
    REFUSED(&p, &sampling, "sampling.seeds is NULL, expected an array");
    sampling = keyed();
    sampling.requests = NULL;
    REFUSED(&p, &sampling, "sampling.requests is NULL, expected an array");
    end_pair(&p);
  }
}

static void widths_per_level_are_refused_where_draws_cannot_follow(void) {
  static const int32_t widths[2][2] = {{3, 3}, {2, 3}};
  const sidbeam_sampling sampling = keyed();
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.widths = widths[0];
  args.width_levels = 2;
  args.sampling = &sampling;
  pair draws = make_pair(SIDBEAM_MODE_SAMPLE, SIDBEAM_STRATEGY_TRIE);
  CHECK_FAILS(sidbeam_session_start(draws.session, &args, &err), SIDBEAM_INVALID_ARGUMENT,
              "width_levels is 2, expected 0..1 in mode SAMPLE, whose draws stay in their rows");
  check_unharmed(&draws);
  end_pair(&draws);
  pair beams = make_pair(SIDBEAM_MODE_STOCHASTIC, SIDBEAM_STRATEGY_TRIE);
  CHECK_FAILS(sidbeam_session_start(beams.session, &args, &err), SIDBEAM_INVALID_ARGUMENT,
              "widths[1][1] is 3, expected at most 2, the width before: in mode STOCHASTIC none may rise");
  check_unharmed(&beams);
  end_pair(&beams);
}

static void arrays_of_the_other_mode_are_refused(void) {
  const int64_t draws[8] = {0};
  const int32_t top_ks[2] = {0};
  const float ones[2] = {1, 1};
  pair p = make_pair(SIDBEAM_MODE_STOCHASTIC, SIDBEAM_STRATEGY_TRIE);
  sidbeam_sampling sampling = keyed();
  sampling.draws = draws;
  REFUSED(&p, &sampling, "sampling.draws is given, expected NULL in mode STOCHASTIC");
  sampling = keyed();
  sampling.top_ks = top_ks;
  REFUSED(&p, &sampling, "sampling.top_ks is given, expected NULL in mode STOCHASTIC");
  sampling = keyed();
  sampling.top_ps = ones;
  REFUSED(&p, &sampling, "sampling.top_ps is given, expected NULL in mode STOCHASTIC");
  end_pair(&p);
  p = make_pair(SIDBEAM_MODE_SAMPLE, SIDBEAM_STRATEGY_TRIE);
  sampling = keyed();
  sampling.noise_scales = ones;
  REFUSED(&p, &sampling, "sampling.noise_scales is given, expected NULL in mode SAMPLE");
  end_pair(&p);
}

/* Scores may well be finite there: stochastic beams are normalised over the children alone. */
static void a_mass_beyond_f32_leaves_no_beams(void) {
  static const float values[2] = {3e38f, -3e38f};
  static const int32_t errors[2] = {SIDBEAM_SLOT_BAD_ROW, 0};
  for (int32_t mode = SIDBEAM_MODE_SAMPLE; mode <= SIDBEAM_MODE_STOCHASTIC; ++mode) {
    for (int i = 0; i < 2; ++i) {
      const float x = values[i], row[4] = {x, x, x, x}, lse[2] = {-x, -x};
      const sidbeam_rows rows = same_row(row, 2, 1, 4);
      const sidbeam_sampling sampling = keyed();
      sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
      sidbeam_session* session = session_of(mode, SIDBEAM_STRATEGY_TRIE);
      CHECK_OK(start(session, &sampling));
      args.rows = &rows;
      args.lse = lse;
      CHECK_OK(sidbeam_session_step(session, &args, &err));
      const sidbeam_beams beams = beams_of(session);
      for (int slot = 0; slot < 2; ++slot) {
        CHECK_INT(beams.errors[slot], errors[i]);
        if (mode == SIDBEAM_MODE_STOCHASTIC) CHECK_INT(beams.live[slot], 0);
        for (int m = 0; m < 4; ++m) CHECK(isinf(beams.log_masses[slot * 4 + m]) && beams.log_masses[slot * 4 + m] < 0);
      }
      sidbeam_session_destroy(session);
    }
  }
}

static void numbers_of_draws_are_in_range_and_as_many_as_rows(void) {
  static const int64_t wrong[] = {-1, INT64_C(1) << 52, INT64_MIN}, strides[] = {3, -1, 1, INT64_C(1) << 53};
  pair p = make_pair(SIDBEAM_MODE_SAMPLE, SIDBEAM_STRATEGY_TRIE);
  sidbeam_sampling sampling = keyed();
  int64_t draws[8] = {0, 1, 2, 3, 4, 5, 6, (INT64_C(1) << 52) - 1};
  sampling.draws = draws;
  for (size_t i = 0; i < COUNT(strides); ++i) {
    sampling.draw_stride = strides[i];
    REFUSED(&p, &sampling, "sampling.draw_stride is", "expected 0 or at least 4");
  }
  sampling.draw_stride = 4;
  for (size_t i = 0; i < COUNT(wrong); ++i) {
    draws[6] = wrong[i];
    REFUSED(&p, &sampling, "sampling.draws[1][2] is", "expected 0..4503599627370495");
  }
  end_pair(&p);
}

static void numbers_of_draws_do_not_overflow(void) {
  enum { MANY = 200 };
  static const int64_t numbers[MANY] = {0};
  sidbeam_session_config config = config_of(SIDBEAM_MODE_SAMPLE, SIDBEAM_STRATEGY_TRIE);
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  config.slots = MANY;
  sidbeam_session* session = make_session(&config);
  sampling.seeds = sampling.requests = sampling.draws = numbers;
  sampling.draw_stride = INT64_C(1) << 52;
  CHECK_FAILS(start(session, &sampling), SIDBEAM_INVALID_ARGUMENT,
              "sampling.draw_stride is 4503599627370496, which overflows over 200 of them");
  sidbeam_session_destroy(session);
}

static void truncation_and_noise_are_in_range(void) {
  static const float wrong_ps[] = {0, -0.5f, 1.5f, NAN, INFINITY}, wrong_noise[] = {-1, NAN, INFINITY};
  pair p = make_pair(SIDBEAM_MODE_SAMPLE, SIDBEAM_STRATEGY_TRIE);
  sidbeam_sampling sampling = keyed();
  int32_t top_ks[2] = {7, -1};
  float numbers[2] = {1, 1};
  sampling.top_ks = top_ks;
  REFUSED(&p, &sampling, "sampling.top_ks[1] is -1, expected at least 1, or 0 for none");
  sampling = keyed();
  sampling.top_ps = numbers;
  for (size_t i = 0; i < COUNT(wrong_ps); ++i) {
    numbers[1] = wrong_ps[i];
    REFUSED(&p, &sampling, "sampling.top_ps[1] is", "expected a number above 0 and at most 1");
  }
  end_pair(&p);
  p = make_pair(SIDBEAM_MODE_STOCHASTIC, SIDBEAM_STRATEGY_TRIE);
  sampling = keyed();
  sampling.noise_scales = numbers;
  for (size_t i = 0; i < COUNT(wrong_noise); ++i) {
    numbers[1] = wrong_noise[i];
    REFUSED(&p, &sampling, "sampling.noise_scales[1] is", "expected a finite number of at least 0");
  }
  end_pair(&p);
}

/* The session looks up four codes, as many as it has beams. */
static void sorted_topk_samples_no_more_codes_than_it_looks_up(void) {
  pair p = make_pair(SIDBEAM_MODE_SAMPLE, SIDBEAM_STRATEGY_SORTED_TOPK);
  int32_t top_ks[2] = {4, 0};
  sidbeam_sampling sampling = keyed();
  REFUSED(&p, &sampling, "sampling.top_ks[0] is 0, expected 1..4 with strategy sorted_topk");
  sampling.top_ks = top_ks;
  REFUSED(&p, &sampling, "sampling.top_ks[1] is 0, expected 1..4");
  top_ks[1] = 5;
  REFUSED(&p, &sampling, "sampling.top_ks[1] is 5, expected 1..4");
  end_pair(&p);
}

enum { MOST_TRUNCATED = 1 << 21 }; /* columns */

static float* wide_row(void) {
  float* row = calloc(MOST_TRUNCATED + 1, sizeof *row);
  CHECK(row != NULL);
  return row;
}

static void wide_rows_are_truncated_up_to_what_their_mass_allows(void) {
  float* row = wide_row();
  sidbeam_session* session = session_of(SIDBEAM_MODE_SAMPLE, SIDBEAM_STRATEGY_TRIE);
  sidbeam_sampling sampling = keyed();
  const float top_ps[2] = {1, 0.5f};
  sidbeam_rows rows = same_row(row, 2, 4, MOST_TRUNCATED + 1);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  sampling.top_ps = top_ps;
  args.rows = &rows;
  CHECK_OK(start(session, &sampling));
  const session_view before = view_of(session);
  CHECK_FAILS(sidbeam_session_step(session, &args, &err), SIDBEAM_INVALID_ARGUMENT,
              "rows.columns is 2097153, expected at most 2097152 with top-k or top-p (slot 1)");
  const session_view after = view_of(session);
  CHECK(memcmp(&before, &after, sizeof before) == 0);
  rows.columns = MOST_TRUNCATED; /* of equal elements: half of them are kept, those of all codes too */
  CHECK_OK(sidbeam_session_step(session, &args, &err));
  const sidbeam_beams beams = beams_of(session);
  CHECK_INT(beams.live[1], 4);
  for (int m = 0; m < 4; ++m) CHECK(fabsf(beams.scores[4 + m] + logf(MOST_TRUNCATED / 2.0f)) < 1e-5f);
  rows.columns = MOST_TRUNCATED + 1;
  sampling = keyed();
  CHECK_OK(start(session, &sampling));
  CHECK_OK(sidbeam_session_step(session, &args, &err));
  CHECK_INT(beams_of(session).live[1], 4);
  sidbeam_session_destroy(session);
  free(row);
}

static void the_stateless_draw_truncates_the_same_rows(void) {
  float* row = wide_row();
  sidbeam_constraint_set* set = make_set(&constraint, 1, NULL);
  const sidbeam_state states[2] = {0, 0};
  const int32_t top_ks[2] = {0, 4};
  int32_t codes[2] = {-9, -9};
  sidbeam_rows rows = same_row(row, 0, 2, MOST_TRUNCATED + 1);
  sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
  sidbeam_sampling sampling = keyed();
  out.codes = codes;
  sampling.top_ks = top_ks;
  CHECK_FAILS(sidbeam_constraint_set_sample(set, NULL, states, &rows, SIDBEAM_NORMALIZE_VALID, NULL, &sampling, &out,
                                            NULL, &err),
              SIDBEAM_INVALID_ARGUMENT,
              "logits.columns is 2097153, expected at most 2097152 with top-k or top-p (row 1)");
  CHECK(codes[0] == -9 && codes[1] == -9);
  sampling.top_ks = NULL;
  CHECK_OK(sidbeam_constraint_set_sample(set, NULL, states, &rows, SIDBEAM_NORMALIZE_VALID, NULL, &sampling, &out, NULL,
                                         &err));
  CHECK(codes[0] >= 0 && codes[1] >= 0);
  sidbeam_constraint_set_destroy(set);
  free(row);
}

enum { DRAWS = 300, AT_A_TIME = 100 };

/* The codes of all draws after the first level, a number of them at a time; every slot reads one row for its own. */
static void first_codes(int32_t beams, float top_p, const float* row, int32_t* codes) {
  sidbeam_session_config config = config_of(SIDBEAM_MODE_SAMPLE, SIDBEAM_STRATEGY_TRIE);
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  int64_t draws[DRAWS];
  sidbeam_sampling sampling = keyed();
  config.slots = 1;
  config.beams = beams;
  sidbeam_session* session = make_session(&config);
  sampling.draws = draws;
  sampling.top_ps = &top_p;
  for (int32_t first = 0; first < DRAWS; first += beams) {
    for (int32_t m = 0; m < beams; ++m) draws[m] = first + m;
    CHECK_OK(start(session, &sampling));
    step_all(session, row);
    memcpy(codes + first, beams_of(session).codes, (size_t)beams * sizeof *codes);
  }
  CHECK_OK(sidbeam_session_get_stats(session, &stats, &err));
  CHECK_INT(stats.rows_read, DRAWS / beams);
  CHECK_INT(stats.rows_bad, isnan(row[0]) ? DRAWS / beams : 0);
  sidbeam_session_destroy(session);
}

static void a_row_is_read_once_for_all_of_its_draws(void) {
  static const float bad[4] = {NAN, 0, 0, 0};
  int32_t together[DRAWS], apart[DRAWS], different = 0;
  for (int truncated = 0; truncated < 2; ++truncated) {
    first_codes(DRAWS, truncated != 0 ? 0.9f : 1, halving, together);
    first_codes(AT_A_TIME, truncated != 0 ? 0.9f : 1, halving, apart);
    CHECK_I32(together, apart, DRAWS);
    for (int i = 0; i < DRAWS; ++i) different += together[i] != together[0];
    CHECK(different > 0);
  }
  first_codes(DRAWS, 1, bad, together);
  for (int i = 0; i < DRAWS; ++i) CHECK_INT(together[i], -1);
}

/* The last live draw decides how many rows are needed, whatever dead ones lie before it. */
static void too_few_rows_name_the_last_live_draw(void) {
  const float row[16] = {0, 0, 0, 0, NAN, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  sidbeam_session* session = session_of(SIDBEAM_MODE_SAMPLE, SIDBEAM_STRATEGY_TRIE);
  const sidbeam_sampling sampling = keyed();
  const int32_t slot = 0;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  CHECK_OK(start(session, &sampling));
  step(session);
  sidbeam_rows rows = make_rows(row, 1, 4, 4);
  args.slots = &slot;
  args.count = 1;
  args.rows = &rows;
  CHECK_OK(sidbeam_session_step(session, &args, &err));
  const sidbeam_beams beams = beams_of(session);
  CHECK(beams.states[1] == -1 && beams.states[3] != -1);
  CHECK_INT(beams.errors[0], SIDBEAM_SLOT_BAD_ROW);
  CHECK_INT(beams.live[0], 3);
  rows.rows = 3;
  CHECK_FAILS(sidbeam_session_step(session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "rows.rows is 3",
              "expected at least 4");
  sidbeam_session_destroy(session);
}

static void the_stateless_draw_refuses_the_same(void) {
  sidbeam_constraint_set* set = make_set(&constraint, 1, NULL);
  const sidbeam_state states[2] = {0, 0};
  const sidbeam_rows rows = same_row(halving, 0, 2, 4);
  int32_t codes[2] = {-9, -9}, top_ks[2] = {0, -1};
  float wrong[2] = {1, NAN};
  int64_t draws[2] = {0, -1};
  sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
  sidbeam_sampling sampling = keyed();
#define SAMPLE(normalization, temperatures) \
  sidbeam_constraint_set_sample(set, NULL, states, &rows, (normalization), (temperatures), &sampling, &out, NULL, &err)
  CHECK_FAILS(SAMPLE(SIDBEAM_NORMALIZE_FULL, NULL), SIDBEAM_INVALID_ARGUMENT, "out.codes is NULL");
  out.codes = codes;
  CHECK_FAILS(SAMPLE(9, NULL), SIDBEAM_INVALID_ARGUMENT, "normalization is 9");
  CHECK_FAILS(SAMPLE(SIDBEAM_NORMALIZE_FULL, wrong), SIDBEAM_INVALID_ARGUMENT, "inverse_temperatures[1] is nan");
  sampling.draws = draws;
  CHECK_FAILS(SAMPLE(SIDBEAM_NORMALIZE_FULL, NULL), SIDBEAM_INVALID_ARGUMENT, "sampling.draws[1][0] is -1");
  sampling = keyed();
  sampling.top_ks = top_ks;
  CHECK_FAILS(SAMPLE(SIDBEAM_NORMALIZE_FULL, NULL), SIDBEAM_INVALID_ARGUMENT, "sampling.top_ks[1] is -1");
  sampling = keyed();
  sampling.top_ps = wrong;
  CHECK_FAILS(SAMPLE(SIDBEAM_NORMALIZE_FULL, NULL), SIDBEAM_INVALID_ARGUMENT, "sampling.top_ps[1] is nan");
  sampling = keyed();
  sampling.noise_scales = wrong;
  CHECK_FAILS(SAMPLE(SIDBEAM_NORMALIZE_FULL, NULL), SIDBEAM_INVALID_ARGUMENT,
              "sampling.noise_scales is given, expected NULL");
  sampling = keyed();
  sampling.seeds = NULL;
  CHECK_FAILS(SAMPLE(SIDBEAM_NORMALIZE_FULL, NULL), SIDBEAM_INVALID_ARGUMENT, "sampling.seeds is NULL");
  CHECK(codes[0] == -9 && codes[1] == -9);
  sampling = keyed();
  CHECK_OK(SAMPLE(SIDBEAM_NORMALIZE_FULL, NULL));
  CHECK(codes[0] >= 0 && codes[1] >= 0);
  sidbeam_constraint_set_destroy(set);
}

int main(void) {
  static const test_case tests[] = {
      TEST(modes_and_strategies_that_do_not_go_together),
      TEST(a_start_says_how_to_sample_in_the_modes_that_do),
      TEST(seeds_and_requests_are_needed),
      TEST(widths_per_level_are_refused_where_draws_cannot_follow),
      TEST(arrays_of_the_other_mode_are_refused),
      TEST(a_mass_beyond_f32_leaves_no_beams),
      TEST(numbers_of_draws_are_in_range_and_as_many_as_rows),
      TEST(numbers_of_draws_do_not_overflow),
      TEST(truncation_and_noise_are_in_range),
      TEST(sorted_topk_samples_no_more_codes_than_it_looks_up),
      TEST(wide_rows_are_truncated_up_to_what_their_mass_allows),
      TEST(the_stateless_draw_truncates_the_same_rows),
      TEST(a_row_is_read_once_for_all_of_its_draws),
      TEST(too_few_rows_name_the_last_live_draw),
      TEST(the_stateless_draw_refuses_the_same),
  };
  constraint = make_constraint(&small, ALL_KINDS);
  const int status = RUN_TESTS(tests);
  sidbeam_constraint_release(constraint);
  return status;
}
