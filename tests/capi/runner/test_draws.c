/* Runners that draw instead of searching: relaxed rounds of speculation, and stochastic beams.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runner_rig.h"

/* Under the runner's constraint, NULL, or another. */
static outcome draw_under(sidbeam_constraint* own, int64_t seed, int64_t sampling_request, int32_t beams) {
  outcome got;
  sidbeam_request request = ask(&got);
  request.constraint = own;
  request.seed = seed;
  request.sampling_request = sampling_request;
  request.beams = beams;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  return got;
}
static outcome draw(int64_t seed, int64_t sampling_request, int32_t beams) {
  return draw_under(NULL, seed, sampling_request, beams);
}

/* Settings of the runners that draw: relaxed rounds of both forms, and stochastic beams with and without a draft. */
enum { DRAWING = 4 };
static sidbeam_runner_config drawing(int which) {
  sidbeam_runner_config config = settings();
  config.draft = which < 3 ? model : NULL;
  config.speculate = which < 2 ? SIDBEAM_SPECULATE_RELAXED : SIDBEAM_SPECULATE_STRICT;
  config.mode = which < 2 ? SIDBEAM_MODE_SEARCH : SIDBEAM_MODE_STOCHASTIC;
  config.without_replacement = which == 1;
  config.draft_beams = which == 1 || which == 2 ? BEAMS + 3 : 0;
  return config;
}

/* Five SIDs of one to three codes instead. */
static void vary_lengths(sidbeam_runner_config* config) {
  vocabulary.end_column = 20;
  sidbeam_constraint_release(constraint);
  config->constraint = constraint = make_constraint(&small_variable, SIDBEAM_KIND_TRIE);
}

/* The target as its own draft is always right, and a request of one beam, which draws as one of two tickets, varies. */
static void draws_repeat_by_their_seeds(void) {
  for (int which = 0; which < DRAWING; ++which) {
    const sidbeam_runner_config config = drawing(which);
    int differ = 0;
    make_runner(&config);
    for (int64_t i = 0; i < 20; ++i) {
      const outcome first = draw(i, 7, 1), again = draw(i, 7, 1), other = draw(i + 100, 7, 1), all = draw(i, 7, 0);
      check_same(&again, &first);
      CHECK_INT(first.live, 1);
      CHECK(all.live == BEAMS);
      differ += first.ordinals[0] != other.ordinals[0];
      for (int m = 1; m < BEAMS && which > 0; ++m)
        for (int earlier = 0; earlier < m; ++earlier) CHECK(all.ordinals[m] != all.ordinals[earlier]);
      if (which < 3) CHECK(first.rounds >= 1 && first.rounds + first.accepted_levels == LEVELS);
    }
    CHECK(differ > 0);
    clean_up();
  }
}

static void no_way_of_running_changes_a_draw(void) {
  for (int form = 0; form < 2 * DRAWING; ++form) {
    const int which = form % DRAWING;
    outcome got[12], expected[12];
    sidbeam_runner_config config = drawing(which);
    if (form >= DRAWING) vary_lengths(&config);
    sidbeam_model* shallow = make_tiny_variant(TINY_CONFIG("1", "64"));
    if (config.draft != NULL) config.draft = shallow;
    make_runner(&config);
    for (int i = 0; i < 12; ++i) expected[i] = draw(3, i, i % 3);
    sidbeam_runner_destroy(runner);
    config.lane_threads = 1;
    config.lanes = 2;
    config.batch_requests = 3;
    config.wait_us = 1000;
    make_runner(&config);
    for (int i = 11; i >= 0; --i) {
      sidbeam_request request = ask(&got[i]);
      request.seed = 3;
      request.sampling_request = i;
      request.beams = i % 3;
      CHECK_OK(sidbeam_runner_submit(runner, &request, NULL, &err));
    }
    drain();
    for (int i = 0; i < 12; ++i) check_same(&got[i], &expected[i]);
    sidbeam_model_release(shallow);
    clean_up();
  }
}

/* The noise is the target's own, so that a draft changes no bit of the draw. */
static void a_draft_changes_no_stochastic_beam(void) {
  outcome expected[20];
  sidbeam_runner_config config = drawing(3);
  make_runner(&config);
  for (int i = 0; i < 20; ++i) expected[i] = draw(i, 1, 0);
  sidbeam_runner_destroy(runner);
  sidbeam_model* shallow = make_tiny_variant(TINY_CONFIG("1", "64"));
  config.draft = shallow;
  make_runner(&config);
  for (int i = 0; i < 20; ++i) {
    const outcome got = draw(i, 1, 0);
    check_same(&got, &expected[i]);
    CHECK(got.rounds >= 1);
  }
  sidbeam_model_release(shallow);
}

/* Different SIDs under a constraint, NULL or of one request: their scores and codes are the search's. */
static void check_scores(sidbeam_runner_config config, sidbeam_constraint* own) {
  config.inverse_temperature = 0.5f;
  config.soft_cap = 2.0f;
  make_runner(&config);
  const outcome search = draw_under(own, 0, 0, 0);
  sidbeam_runner_destroy(runner);
  config.draft = model;
  config.speculate = SIDBEAM_SPECULATE_RELAXED;
  config.without_replacement = 1;
  make_runner(&config);
  int compared = 0;
  for (int64_t seed = 0; seed < 20; ++seed) {
    const outcome got = draw_under(own, seed, 0, 0);
    for (int i = 0; i < got.live; ++i)
      for (int j = 0; j < search.live; ++j)
        if (got.ordinals[i] == search.ordinals[j]) {
          const float off = got.scores[i] - search.scores[j];
          CHECK(off < 2e-6f && off > -2e-6f);
          CHECK_I32(&got.sids[i * LEVELS], &search.sids[j * LEVELS], LEVELS);
          ++compared;
        }
  }
  CHECK(compared > 20);
  sidbeam_runner_destroy(runner);
  runner = NULL;
}

static void scores_are_the_models(void) {
  sidbeam_runner_config config = settings();
  sidbeam_constraint* const variable = make_constraint(&small_variable, SIDBEAM_KIND_TRIE);
  vocabulary.end_column = 20;
  for (int normalization = SIDBEAM_NORMALIZE_FULL; normalization <= SIDBEAM_NORMALIZE_VALID; ++normalization) {
    config.normalization = normalization;
    config.constraint = constraint;
    check_scores(config, NULL);
    config.constraint = variable;
    check_scores(config, NULL);
    check_scores(config, constraint); /* of one length, which has no end */
  }
  sidbeam_constraint_release(variable);
}

/* With the model as its own draft, and with less of it. */
static void sids_of_variable_length_are_drawn(void) {
  for (int without = 0; without < 2; ++without) {
    for (int shallow = 0; shallow < 2; ++shallow) {
      sidbeam_runner_config config = drawing(without);
      int short_ones = 0, live = 0, levels = 0;
      vary_lengths(&config);
      if (shallow) config.draft = make_tiny_variant(TINY_CONFIG("1", "64"));
      make_runner(&config);
      if (shallow) sidbeam_model_release(config.draft);
      for (int64_t seed = 0; seed < 50; ++seed) {
        const outcome got = draw(seed, 1, 0), again = draw(seed, 1, 0);
        check_same(&again, &got);
        CHECK(without ? got.live >= 2 : got.live == BEAMS);
        CHECK(got.rounds >= 1 && got.rounds + got.accepted_levels <= LEVELS);
        CHECK(got.accepted_levels <= got.drafted_levels);
        if (!without && !shallow) CHECK_INT(got.rounds, 1);
        for (int i = 0; i < got.live; ++i) {
          CHECK(got.ordinals[i] >= 0 && got.ordinals[i] < 5);
          CHECK(i == 0 || got.scores[i - 1] >= got.scores[i]);
          for (int other = 0; other < i && without; ++other) CHECK(got.ordinals[i] != got.ordinals[other]);
          short_ones += got.sids[i * LEVELS + 2] < 0;
        }
        live += got.live;
        levels += 2 * (got.rounds + got.accepted_levels);
      }
      CHECK(short_ones > 0 && short_ones < live);
      CHECK_INT(stats_of().round_levels, levels);
      CHECK_INT(stats_of().round_levels - stats_of().rounds, stats_of().accepted_levels);
      clean_up();
    }
  }
}

/* Requests that are under way go on under the constraint that they were given. */
static void a_swap_touches_the_requests_after_it_alone(void) {
  outcome before[6], after[6], expected;
  sidbeam_runner_config config = drawing(0);
  sidbeam_constraint* const other = make_constraint(&small, SIDBEAM_KIND_TRIE);
  make_runner(&config);
  expected = draw(9, 4, 0);
  sidbeam_runner_destroy(runner);
  config.lane_threads = 1;
  config.lanes = 2;
  make_runner(&config);
  for (int i = 0; i < 6; ++i) {
    sidbeam_request first = ask(&before[i]), second = ask(&after[i]);
    first.seed = second.seed = 9;
    first.sampling_request = second.sampling_request = 4;
    second.constraint = other;
    CHECK_OK(sidbeam_runner_submit(runner, &first, NULL, &err));
    CHECK_OK(sidbeam_runner_submit(runner, &second, NULL, &err));
  }
  sidbeam_constraint_release(other); /* the requests hold it */
  drain();
  for (int i = 0; i < 6; ++i) {
    check_same(&before[i], &expected);
    CHECK_INT(after[i].status, SIDBEAM_OK);
    CHECK_INT(after[i].live, BEAMS);
  }
}

static void deadlines_and_cancelled_requests_are_told(void) {
  outcome got;
  sidbeam_runner_config config = drawing(0);
  make_runner(&config);
  sidbeam_request request = ask(&got);
  request.deadline_us = -1;
  CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_DEADLINE_EXCEEDED, "request.deadline_us is -1");
  CHECK_INT(draw(1, 1, 0).status, SIDBEAM_OK);
  CHECK_OK(sidbeam_runner_close(runner, &err));
  request = ask(&got);
  CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_BAD_STATE, "the runner is closed");
}

static void seeds_of_runners_that_search_are_refused(void) {
  outcome got;
  const sidbeam_runner_config config = settings();
  make_runner(&config);
  sidbeam_request request = ask(&got);
  request.seed = 5;
  CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_INVALID_ARGUMENT,
              "request.seed is 5, expected 0: the runner searches, and draws nothing");
  request.seed = 0;
  request.sampling_request = 2;
  CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_INVALID_ARGUMENT,
              "request.sampling_request is 2, expected 0");
  CHECK_INT(got.calls, 0);
}

/* Relaxed rounds draw as many beams at every level; a draw from fewer prefixes than SIDs is not the model's. */
static void widths_per_level_are_refused_where_draws_cannot_follow(void) {
  static const int32_t widths[LEVELS] = {3, 2, 3};
  for (int which = 0; which < DRAWING; ++which) {
    const sidbeam_runner_config config = drawing(which);
    outcome got;
    make_runner(&config);
    sidbeam_request request = ask(&got);
    request.seed = 1;
    request.widths = widths;
    request.width_levels = LEVELS;
    CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_INVALID_ARGUMENT,
                which < 2 ? "request.width_levels is 3, expected 0: the runner draws as many beams at every level"
                          : "request.widths[2] is 3, expected at most 2, the width before");
    request.width_levels = 2;
    if (which < 2) {
      CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_INVALID_ARGUMENT, "request.width_levels is 2");
    } else {
      CHECK_OK(sidbeam_runner_run(runner, &request, &err));
      const outcome same = draw(1, 0, 2); /* falling widths draw what the last draws alone */
      check_same(&got, &same);
    }
    clean_up();
  }
}

int main(void) {
  static const test_case tests[] = {
      TEST(draws_repeat_by_their_seeds),
      TEST(no_way_of_running_changes_a_draw),
      TEST(a_draft_changes_no_stochastic_beam),
      TEST(scores_are_the_models),
      TEST(sids_of_variable_length_are_drawn),
      TEST(a_swap_touches_the_requests_after_it_alone),
      TEST(deadlines_and_cancelled_requests_are_told),
      TEST(seeds_of_runners_that_search_are_refused),
      TEST(widths_per_level_are_refused_where_draws_cannot_follow),
  };
  after_test = clean_up;
  return RUN_TESTS(tests);
}
