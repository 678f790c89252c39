/* A runner with a draft model: the items and scores of the model alone, what results and counts say of rounds, and what
 * is refused. SPDX-License-Identifier: Apache-2.0 */
#include "runner_rig.h"

#define CONFIG(layers, positions)                                                                                     \
  "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"hidden_size\": 16,\n"                     \
  " \"intermediate_size\": 24, \"num_hidden_layers\": " layers                                                        \
  ", \"num_attention_heads\": 4, \"num_key_value_heads\": 2,\n"                                                       \
  " \"head_dim\": 4, \"vocab_size\": 24, \"hidden_act\": \"silu\", \"rms_norm_eps\": 1e-05, \"rope_theta\": 10000.0," \
  " \"max_position_embeddings\": " positions                                                                          \
  ", \"tie_word_embeddings\": true, \"attention_bias\": false, \"mlp_bias\": false}\n"

static sidbeam_model* open_folder(const char* folder) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  sidbeam_model* opened = NULL;
  CHECK_OK(sidbeam_model_open(folder, &config, &opened, &err));
  return opened;
}

/* The tiny model under another config.json. */
static sidbeam_model* variant(const char* config) {
  tiny_damage damage = {0};
  damage.config = config;
  return open_folder(write_tiny_model("variant", &damage));
}

static void a_draft_changes_no_bit(void) {
  sidbeam_runner_config config = settings();
  make_runner(&config);
  const outcome expected = run_once();
  CHECK_INT(expected.rounds + expected.drafted_levels + expected.accepted_levels + expected.draft_us, 0);
  CHECK_INT(stats_of().rounds, 0);
  sidbeam_runner_destroy(runner);
  sidbeam_model* shallow = variant(CONFIG("1", "64"));
  sidbeam_model* const drafts[] = {model, shallow};
  for (size_t i = 0; i < COUNT(drafts); ++i) {
    for (config.draft_beams = 0; config.draft_beams <= BEAMS + 3; config.draft_beams += BEAMS + 3) {
      config.draft = drafts[i];
      make_runner(&config);
      const outcome got = run_once();
      check_same(&got, &expected);
      CHECK(got.rounds >= 1 && got.rounds + got.accepted_levels == LEVELS);
      CHECK(got.accepted_levels <= got.drafted_levels);
      CHECK(got.draft_us >= 0 && got.draft_us <= got.run_us);
      if (i == 0 && config.draft_beams == 0) CHECK_INT(got.rounds, 1);
      sidbeam_runner_destroy(runner);
      runner = NULL;
    }
  }
  sidbeam_model_release(shallow);
}

static void temperature_and_soft_cap_are_the_runners(void) {
  sidbeam_runner_config config = settings();
  outcome got[3][2]; /* as they are, a temperature, a soft-cap; alone, with a draft */
  for (int i = 0; i < 3; ++i) {
    config.inverse_temperature = i == 1 ? 0.5f : 0.0f;
    config.soft_cap = i == 2 ? 0.5f : 0.0f;
    for (int drafts = 0; drafts < 2; ++drafts) {
      config.draft = drafts ? model : NULL;
      make_runner(&config);
      got[i][drafts] = run_once();
      sidbeam_runner_destroy(runner);
      runner = NULL;
    }
    check_same(&got[i][1], &got[i][0]);
    if (i > 0) CHECK(got[i][0].scores[0] != got[0][0].scores[0]);
  }
}

/* The runner holds its draft, and counts what the results say. */
static void rounds_are_counted(void) {
  sidbeam_runner_config config = settings();
  config.draft = variant(CONFIG("1", "64"));
  make_runner(&config);
  sidbeam_model_release(config.draft);
  const outcome first = run_once(), second = run_once();
  check_same(&second, &first);
  const sidbeam_runner_stats stats = stats_of();
  CHECK_INT(stats.rounds, first.rounds + second.rounds);
  CHECK_INT(stats.round_levels, 2 * LEVELS);
  CHECK_INT(stats.drafted_levels, first.drafted_levels + second.drafted_levels);
  CHECK_INT(stats.accepted_levels, first.accepted_levels + second.accepted_levels);
  CHECK_INT(stats.round_levels - stats.rounds, stats.accepted_levels);
  CHECK(stats.nodes > stats.rounds);
  CHECK(stats.draft_us >= first.draft_us + second.draft_us && stats.draft_us <= stats.busy_us + 1);
}

static void no_way_of_running_changes_a_bit(void) {
  outcome got[6];
  sidbeam_runner_config config = settings();
  make_runner(&config);
  const outcome expected = run_once();
  const int64_t memory = stats_of().memory_bytes;
  sidbeam_runner_destroy(runner);
  config.draft = model;
  config.draft_beams = BEAMS + 2;
  make_runner(&config);
  CHECK(stats_of().memory_bytes > memory);
  sidbeam_runner_destroy(runner);
  config.lane_threads = 1;
  config.lanes = 2;
  config.batch_requests = 3;
  config.wait_us = 1000;
  make_runner(&config);
  for (size_t i = 0; i < COUNT(got); ++i) {
    sidbeam_request request = ask(&got[i]);
    request.beams = i % 2 == 0 ? 0 : 1;
    CHECK_OK(sidbeam_runner_submit(runner, &request, NULL, &err));
  }
  drain();
  for (size_t i = 0; i < COUNT(got); i += 2) check_same(&got[i], &expected);
  for (size_t i = 3; i < COUNT(got); i += 2) check_same(&got[i], &got[1]);
  CHECK_INT(got[1].live, 1);
}

static int32_t adjust(void* context, const sidbeam_level* level) {
  (void)context, (void)level;
  return 0;
}

static void drafts_that_make_no_sense_are_refused(void) {
  const sidbeam_runner_config good = settings();
  sidbeam_model *other = open_folder(T5), *shorter = variant(CONFIG("2", "16"));
#define BAD(change, status, ...)                                                              \
  do {                                                                                        \
    sidbeam_runner_config config = good;                                                      \
    config.draft = model;                                                                     \
    change;                                                                                   \
    CHECK_FAILS(sidbeam_runner_create(runtime, &config, &runner, &err), status, __VA_ARGS__); \
    CHECK(runner == NULL);                                                                    \
  } while (0)
  BAD(config.draft = other, SIDBEAM_INVALID_ARGUMENT,
      "config.draft has a vocabulary of 50 tokens, expected 24, as config.model");
  BAD(config.draft_beams = BEAMS - 1, SIDBEAM_INVALID_ARGUMENT,
      "config.draft_beams is 3, expected at least 4, config.beams");
  BAD(config.draft_beams = -1, SIDBEAM_INVALID_ARGUMENT, "config.draft_beams is -1, expected 0..4096");
  BAD(config.draft_beams = SIDBEAM_MAX_BEAMS + 1, SIDBEAM_INVALID_ARGUMENT, "config.draft_beams is 4097");
  BAD((config.draft = NULL, config.draft_beams = 5), SIDBEAM_INVALID_ARGUMENT,
      "config.draft is NULL, expected a model, since config.draft_beams is 5");
  BAD((config.draft = NULL, config.speculate = SIDBEAM_SPECULATE_RELAXED), SIDBEAM_INVALID_ARGUMENT,
      "config.draft is NULL, expected a model, since config.speculate is 1");
  BAD((config.draft = NULL, config.without_replacement = 1), SIDBEAM_INVALID_ARGUMENT,
      "config.draft is NULL, expected a model, since config.without_replacement is 1");
  BAD(config.without_replacement = 1, SIDBEAM_INVALID_ARGUMENT,
      "config.without_replacement is 1, expected 0, since config.speculate is not SIDBEAM_SPECULATE_RELAXED");
  BAD(config.without_replacement = 2, SIDBEAM_INVALID_ARGUMENT, "config.without_replacement is 2, expected 0..1");
  BAD((config.speculate = SIDBEAM_SPECULATE_RELAXED, config.draft_beams = BEAMS + 1), SIDBEAM_INVALID_ARGUMENT,
      "config.draft_beams is 5, expected 4, config.beams, or config.without_replacement");
  BAD((config.speculate = SIDBEAM_SPECULATE_RELAXED, config.draft_beams = BEAMS - 1), SIDBEAM_INVALID_ARGUMENT,
      "config.draft_beams is 3, expected at least 4, config.beams");
  BAD((config.speculate = SIDBEAM_SPECULATE_RELAXED, config.strategy = SIDBEAM_STRATEGY_NONE), SIDBEAM_UNSUPPORTED,
      "config.strategy is 4, expected SIDBEAM_STRATEGY_TRIE, 0, with SIDBEAM_SPECULATE_RELAXED");
  BAD((config.speculate = SIDBEAM_SPECULATE_RELAXED, config.mode = SIDBEAM_MODE_STOCHASTIC), SIDBEAM_INVALID_ARGUMENT,
      "config.mode is 2, expected SIDBEAM_MODE_SEARCH, 0, with SIDBEAM_SPECULATE_RELAXED, which draws itself");
  BAD(config.mode = SIDBEAM_MODE_SAMPLE, SIDBEAM_UNSUPPORTED,
      "config.mode is SIDBEAM_MODE_SAMPLE, 1, expected SEARCH, 0, or STOCHASTIC, 2");
  BAD(config.mode = 3, SIDBEAM_INVALID_ARGUMENT, "config.mode is 3, expected 0..2");
  BAD(config.speculate = 2, SIDBEAM_INVALID_ARGUMENT, "config.speculate is 2, expected 0..1");
  BAD(config.adjust = adjust, SIDBEAM_INVALID_ARGUMENT, "config.adjust is given, expected NULL beside config.draft");
  BAD(config.draft = shorter, SIDBEAM_INVALID_ARGUMENT,
      "config.max_prompt is 16, expected at most 14: the draft has 16 positions");
  BAD((config.batch_requests = 1 << 18, config.draft_beams = SIDBEAM_MAX_BEAMS), SIDBEAM_INVALID_ARGUMENT,
      "config.batch_requests * (config.beams + (L - 1) * config.draft_beams) is 2148532224, expected 1..2147483647");
  sidbeam_model_release(other);
  sidbeam_model_release(shorter);
}

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
  for (int which = 0; which < DRAWING; ++which) {
    outcome got[12], expected[12];
    sidbeam_runner_config config = drawing(which);
    sidbeam_model* shallow = variant(CONFIG("1", "64"));
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
  sidbeam_model* shallow = variant(CONFIG("1", "64"));
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

/* Five SIDs of one to three codes, with the model as its own draft, and with less. */
static void sids_of_variable_length_are_drawn(void) {
  for (int without = 0; without < 2; ++without) {
    for (int shallow = 0; shallow < 2; ++shallow) {
      sidbeam_runner_config config = drawing(without);
      int short_ones = 0, live = 0, levels = 0;
      vocabulary.end_column = 20;
      sidbeam_constraint_release(constraint);
      config.constraint = constraint = make_constraint(&small_variable, SIDBEAM_KIND_TRIE);
      if (shallow) config.draft = variant(CONFIG("1", "64"));
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

static void keys_and_values_of_the_host_are_refused(void) {
  sidbeam_runner_config config = settings();
  const sidbeam_shared_kv kv = SIDBEAM_SHARED_KV_INIT;
  outcome got;
  config.draft = model;
  make_runner(&config);
  sidbeam_request request = ask(&got);
  request.shared_kv = &kv;
  CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_INVALID_ARGUMENT,
              "request.shared_kv is given, expected NULL: the runner has a draft, which reads the prompt itself");
  CHECK_INT(got.calls, 0);
  CHECK_INT(run_once().status, SIDBEAM_OK); /* nothing was spoilt */
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_draft_changes_no_bit),
      TEST(temperature_and_soft_cap_are_the_runners),
      TEST(rounds_are_counted),
      TEST(no_way_of_running_changes_a_bit),
      TEST(drafts_that_make_no_sense_are_refused),
      TEST(draws_repeat_by_their_seeds),
      TEST(no_way_of_running_changes_a_draw),
      TEST(a_draft_changes_no_stochastic_beam),
      TEST(scores_are_the_models),
      TEST(sids_of_variable_length_are_drawn),
      TEST(a_swap_touches_the_requests_after_it_alone),
      TEST(deadlines_and_cancelled_requests_are_told),
      TEST(seeds_of_runners_that_search_are_refused),
      TEST(keys_and_values_of_the_host_are_refused),
  };
  after_test = clean_up;
  return RUN_TESTS(tests);
}
