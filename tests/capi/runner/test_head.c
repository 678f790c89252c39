/* A runner whose model carries a draft head: that it is used like any other, and what is refused. (Its items are those
 * of a decoder by hand in tests/unit/runner_head.cc.) SPDX-License-Identifier: Apache-2.0 */
#include "carried_head.h"
#include "runner_rig.h"

static sidbeam_draft_head* head;

static sidbeam_runner_config settings_with_head(void) {
  const sidbeam_draft_weights weights = carried_weights();
  sidbeam_runner_config config = settings();
  sidbeam_draft_head_release(head);
  head = open_weights(&weights);
  carry(&config, head);
  return config;
}

static void end(void) {
  clean_up();
  sidbeam_draft_head_release(head);
  head = NULL;
}

/* The runner holds its head; codes have tokens nowhere, so that a vocabulary changes nothing. */
static void a_request_needs_one_pass(void) {
  sidbeam_runner_config config = settings_with_head();
  make_runner(&config);
  sidbeam_draft_head_release(head);
  head = NULL;
  const outcome first = run_once();
  CHECK_INT(first.status, SIDBEAM_OK);
  CHECK_INT(first.live, BEAMS);
  CHECK_INT(first.levels, LEVELS);
  CHECK_INT(first.rounds + first.drafted_levels + first.accepted_levels, 0);
  for (int m = 0; m < first.live; ++m)
    CHECK(first.ordinals[m] >= 0 && (m == 0 || first.scores[m] <= first.scores[m - 1]));
  CHECK(first.scores[0] != first.scores[1]);
  const outcome again = run_once();
  check_same(&again, &first);
  CHECK_INT(stats_of().batch_rows, 2 * (COUNT(history) + LEVELS));
  CHECK_INT(stats_of().finished, 2);
  end();
  config = settings_with_head();
  config.vocabulary = NULL;
  make_runner(&config);
  const outcome without = run_once();
  check_same(&without, &first);
}

static void placeholders_and_prompts_matter(void) {
  static const int32_t others[LEVELS] = {20, 22, 21}, begin[] = {9};
  sidbeam_runner_config config = settings_with_head();
  make_runner(&config);
  const outcome first = run_once();
  sidbeam_runner_destroy(runner);
  config.placeholders = others;
  make_runner(&config);
  const outcome second = run_once();
  CHECK(second.scores[0] != first.scores[0]);
  sidbeam_runner_destroy(runner);
  carry(&config, head);
  config.begin_tokens = begin;
  config.begin_count = COUNT(begin);
  make_runner(&config);
  const outcome third = run_once();
  CHECK(third.scores[0] != first.scores[0]);
}

static int levels_seen;

/* Leaves only the SID (2, 2, 1) with a chance. */
static int32_t prefer_one(void* context, const sidbeam_level* level) {
  static const int32_t wanted[LEVELS] = {2, 2, 1};
  (void)context;
  CHECK_INT(level->level, levels_seen++);
  CHECK_INT(level->columns, 4);
  for (int64_t r = 0; r < level->rows; ++r)
    level->logits[r * level->row_stride + level->columns_of->offsets[level->level] + wanted[level->level]] += 100;
  return 0;
}

static void adjust_sees_the_codes_of_a_level(void) {
  sidbeam_draft_weights weights = carried_weights();
  for (int transition = SIDBEAM_DRAFT_TRANSITION_GRU; transition <= SIDBEAM_DRAFT_TRANSITION_NONE; ++transition) {
    sidbeam_runner_config config = settings_with_head();
    weights.transition = transition;
    sidbeam_draft_head_release(head);
    carry(&config, head = open_weights(&weights));
    config.adjust = prefer_one;
    levels_seen = 0;
    make_runner(&config);
    const outcome got = run_once();
    CHECK_INT(levels_seen, LEVELS);
    CHECK_INT(got.ordinals[0], 3);
    CHECK(got.scores[0] > -0.001f);
    clean_up();
  }
}

static int32_t stop_at_level_1(void* context, const sidbeam_level* level) {
  (void)context;
  return level->level == 1;
}

static void a_request_can_be_ended_between_levels(void) {
  outcome got;
  sidbeam_runner_config config = settings_with_head();
  config.adjust = stop_at_level_1;
  make_runner(&config);
  const sidbeam_request request = ask(&got);
  CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_CANCELLED, "config.adjust ended the request");
  CHECK_INT(got.calls, 1);
}

/* Temperature and soft-cap are those of the session. */
static void temperature_and_soft_cap_are_the_runners(void) {
  outcome got[3];
  sidbeam_runner_config config = settings_with_head();
  for (int i = 0; i < 3; ++i) {
    config.inverse_temperature = i == 1 ? 0.5f : 0.0f;
    config.soft_cap = i == 2 ? 0.5f : 0.0f;
    make_runner(&config);
    got[i] = run_once();
    sidbeam_runner_destroy(runner);
    runner = NULL;
    if (i > 0) CHECK(got[i].scores[0] != got[0].scores[0]);
  }
}

/* A constraint of another request may be any of the same codes, unless its codebook is another. */
static void constraints_of_requests_are_checked(void) {
  const int32_t sids[] = {0, 1, 2, 3, 3, 3}, codes[] = {4, 4, 4};
  const catalogue two = {3, 0, SIDBEAM_ID_I64, codes, sids, NULL, NULL, NULL, NULL, 2};
  outcome got;
  sidbeam_draft_weights weights = carried_weights();
  sidbeam_runner_config config = settings_with_head();
  weights.codebook = "books";
  sidbeam_draft_head_release(head);
  carry(&config, head = open_weights(&weights));
  make_runner(&config); /* its constraint names no codebook */
  sidbeam_constraint* const other = make_constraint(&two, SIDBEAM_KIND_TRIE);
  sidbeam_request request = ask(&got);
  request.constraint = other;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  CHECK_INT(got.live, 2);
  sidbeam_constraint_release(other);
}

static sidbeam_constraint* constraint_of(const char* codebook, int variable_length) {
  const int32_t sids[] = {0, 1, 2, 3, 3, 3}, codes[] = {4, 4, 4}, lengths[] = {3, 2};
  sidbeam_builder_config how = SIDBEAM_BUILDER_CONFIG_INIT;
  sidbeam_constraint_config all = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_builder* builder = NULL;
  sidbeam_index* index = NULL;
  sidbeam_constraint* made = NULL;
  how.levels = LEVELS;
  how.codes = codes;
  how.codebook = codebook;
  how.variable_length = variable_length;
  CHECK_OK(sidbeam_builder_create(runtime, &how, &builder, &err));
  CHECK_OK(sidbeam_builder_add(builder, sids, variable_length ? lengths : NULL, 2, NULL, NULL, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  all.index = index;
  CHECK_OK(sidbeam_constraint_create(&all, &made, &err));
  sidbeam_index_release(index);
  return made;
}

static void heads_that_make_no_sense_are_refused(void) {
  static const int32_t outside[LEVELS] = {20, 24, 22}, negative[LEVELS] = {20, 21, -1}, fewer[LEVELS] = {4, 3, 4};
  const sidbeam_runner_config good = settings_with_head();
  sidbeam_draft_weights weights = carried_weights();
  weights.hidden = TINY_HIDDEN / 2;
  sidbeam_draft_head* const narrow = open_weights(&weights);
  weights = carried_weights();
  weights.levels = 2;
  sidbeam_draft_head* const shallow = open_weights(&weights);
  weights = carried_weights();
  weights.codes = fewer;
  sidbeam_draft_head* const small_head = open_weights(&weights);
  weights = carried_weights();
  weights.codebook = "films\n";
  sidbeam_draft_head* const films = open_weights(&weights);
  sidbeam_constraint *books = constraint_of("books", 0), *variable = constraint_of("", 1);
#define BAD(change, status, ...)                                                              \
  do {                                                                                        \
    sidbeam_runner_config config = good;                                                      \
    change;                                                                                   \
    CHECK_FAILS(sidbeam_runner_create(runtime, &config, &runner, &err), status, __VA_ARGS__); \
    CHECK(runner == NULL);                                                                    \
  } while (0)
  BAD(config.draft = model, SIDBEAM_INVALID_ARGUMENT, "config.draft is given, expected NULL beside config.head");
  BAD((config.mode = SIDBEAM_MODE_STOCHASTIC, config.normalization = SIDBEAM_NORMALIZE_VALID), SIDBEAM_UNSUPPORTED,
      "config.mode is 2, expected 0 (SEARCH) beside config.head");
  BAD(config.head = NULL, SIDBEAM_INVALID_ARGUMENT,
      "config.head is NULL, expected one, since config.placeholder_count is 3");
  BAD(config.placeholder_count = 2, SIDBEAM_INVALID_ARGUMENT,
      "config.placeholder_count is 2, expected 3, one per level of config.head");
  BAD(config.placeholder_count = -1, SIDBEAM_INVALID_ARGUMENT, "config.placeholder_count is -1, expected 3");
  BAD(config.placeholders = NULL, SIDBEAM_INVALID_ARGUMENT, "config.placeholders is NULL");
  BAD(config.placeholders = outside, SIDBEAM_INVALID_ARGUMENT,
      "config.placeholders[1] is 24, expected 0..23, one of the model's tokens");
  BAD(config.placeholders = negative, SIDBEAM_INVALID_ARGUMENT, "config.placeholders[2] is -1, expected 0..23");
  BAD(config.head = narrow, SIDBEAM_INVALID_ARGUMENT,
      "config.head is for hidden states of 8 elements, expected 16, those of the model");
  BAD(config.head = shallow, SIDBEAM_INVALID_ARGUMENT, "config.head has 2 levels, expected 3, as config.constraint");
  BAD(config.head = small_head, SIDBEAM_INVALID_ARGUMENT,
      "config.head has 3 codes at level 1, expected 4, as config.constraint");
  BAD((config.head = films, config.constraint = books), SIDBEAM_INVALID_ARGUMENT,
      "config.constraint is of codebook 'books', expected 'films\\x0a', that of the draft head");
  BAD((config.constraint = variable, config.vocabulary = NULL), SIDBEAM_UNSUPPORTED,
      "config.constraint has SIDs of variable length, expected one length for a draft head");
  BAD(config.strategy = SIDBEAM_STRATEGY_HASH_FINAL, SIDBEAM_MISSING_SECTION,
      "expected an index built with kinds hash");
  BAD((config.output_path = SIDBEAM_HIDDEN_CHILDREN, config.normalization = SIDBEAM_NORMALIZE_VALID),
      SIDBEAM_UNSUPPORTED,
      "config.output_path is SIDBEAM_HIDDEN_CHILDREN, expected another, since config.head is given");
  BAD(config.output_path = 3, SIDBEAM_INVALID_ARGUMENT, "config.output_path is 3, expected 0..2");
  BAD(config.top_k = -1, SIDBEAM_INVALID_ARGUMENT, "config.top_k is -1, expected 0..");
  BAD(config.max_prompt = TINY_POSITIONS - LEVELS + 1, SIDBEAM_INVALID_ARGUMENT,
      "config.max_prompt is 62, expected at most 61: the model has 64 positions, and 0 begin tokens and 3 "
      "placeholders");
  sidbeam_runner_config config = good;
  config.head = films;
  make_runner(&config); /* where one names no codebook, it is not compared */
  outcome got;
  sidbeam_request request = ask(&got);
  request.constraint = books;
  CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_INVALID_ARGUMENT,
              "request.constraint is of codebook 'books', expected 'films\\x0a', that of the draft head");
  CHECK_INT(got.calls, 0);
  CHECK_INT(run_once().status, SIDBEAM_OK); /* nothing was spoilt */
  sidbeam_draft_head_release(narrow);
  sidbeam_draft_head_release(shallow);
  sidbeam_draft_head_release(small_head);
  sidbeam_draft_head_release(films);
  sidbeam_constraint_release(books);
  sidbeam_constraint_release(variable);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_request_needs_one_pass),
      TEST(placeholders_and_prompts_matter),
      TEST(adjust_sees_the_codes_of_a_level),
      TEST(a_request_can_be_ended_between_levels),
      TEST(temperature_and_soft_cap_are_the_runners),
      TEST(constraints_of_requests_are_checked),
      TEST(heads_that_make_no_sense_are_refused),
  };
  after_test = end;
  return RUN_TESTS(tests);
}
