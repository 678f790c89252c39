/* A runner with a draft model: the items and scores of the model alone, what results and counts say of rounds, and what
 * is refused. SPDX-License-Identifier: Apache-2.0 */
#include "runner_rig.h"

static sidbeam_model* open_t5(void) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  sidbeam_model* opened = NULL;
  CHECK_OK(sidbeam_model_open(T5, &config, &opened, &err));
  return opened;
}

static void a_draft_changes_no_bit(void) {
  sidbeam_runner_config config = settings();
  make_runner(&config);
  const outcome expected = run_once();
  CHECK_INT(expected.rounds + expected.drafted_levels + expected.accepted_levels + expected.draft_us, 0);
  CHECK_INT(stats_of().rounds, 0);
  sidbeam_runner_destroy(runner);
  sidbeam_model* shallow = make_tiny_variant(TINY_CONFIG("1", "64"));
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
  config.draft = make_tiny_variant(TINY_CONFIG("1", "64"));
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
  sidbeam_model *other = open_t5(), *shorter = make_tiny_variant(TINY_CONFIG("2", "16"));
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
      TEST(keys_and_values_of_the_host_are_refused),
  };
  after_test = clean_up;
  return RUN_TESTS(tests);
}
