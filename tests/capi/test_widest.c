/* Catalogues at the limits: SIDs of 255 codes, and levels of 2^24 codes, in every strategy, mode and stateless form.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

enum { LEVELS = SIDBEAM_MAX_LEVELS, CODES = SIDBEAM_MAX_CODES, DEEP = 5, BEAMS = 8 };

static const float end_of_row = -1e30f;

/* SIDs of one code, two of which have the same lowest 20 bits; and their logits. */
static const int32_t wide_sids[5] = {0, 5, (1 << 20) + 5, (1 << 23) + 1, CODES - 1};
static const float wide_logits[5] = {-3, -5, -1, -4, -2};

static float* make_wide_row(float others) {
  float* row = malloc(sizeof(float) * CODES);
  CHECK(row != NULL);
  for (int32_t i = 0; i < CODES; ++i) row[i] = others;
  for (int i = 0; i < 5; ++i) row[wide_sids[i]] = wide_logits[i];
  return row;
}

static sidbeam_index* make_wide_index(int32_t kinds) {
  static const int32_t codes[1] = {CODES};
  static const catalogue wide = {1, 0, SIDBEAM_ID_I64, codes, wide_sids, NULL, NULL, NULL, NULL, 5};
  return make_index(&wide, kinds);
}

static sidbeam_constraint* make_wide(int32_t kinds) {
  sidbeam_index* index = make_wide_index(kinds);
  sidbeam_constraint* constraint = constrain(index);
  CHECK_OK(sidbeam_index_verify(index, SIDBEAM_VERIFY_FULL, &err));
  sidbeam_index_release(index);
  return constraint;
}

/* A step in which all beams of the one slot have the same row. */
static void step_with(sidbeam_session* session, const float* row, int64_t beams, int64_t columns) {
  const sidbeam_rows rows = same_row(row, 1, beams, columns);
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.rows = &rows;
  CHECK_OK(sidbeam_session_step(session, &step, &err));
}

/* Starts the one slot of a session that draws; top_k 0: from whole rows. */
static void start_draws(sidbeam_session* session, int64_t seed, int64_t request, int32_t top_k) {
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sampling.seeds = &seed;
  sampling.requests = &request;
  if (top_k > 0) sampling.top_ks = &top_k;
  start.sampling = &sampling;
  CHECK_OK(sidbeam_session_start(session, &start, &err));
}

/* However many beams there are: at the first level they come from one. */
static void the_best_of_a_wide_level(void) {
  static const int32_t best[5] = {(1 << 20) + 5, CODES - 1, 0, (1 << 23) + 1, 5};
  sidbeam_constraint* constraint = make_wide(ALL_KINDS);
  float* row = make_wide_row(-20);
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_NONE; ++strategy) {
    for (int32_t normalization = SIDBEAM_NORMALIZE_FULL; normalization <= SIDBEAM_NORMALIZE_NONE; normalization += 3) {
      sidbeam_session_config config = session_config(constraint);
      config.strategy = strategy;
      config.normalization = normalization;
      config.beams = SIDBEAM_MAX_BEAMS;
      config.top_k = 7;
      sidbeam_session* session = make_session(&config);
      start_all(session);
      step_with(session, row, SIDBEAM_MAX_BEAMS, CODES);
      const sidbeam_beams beams = beams_of(session);
      CHECK_INT(beams.live[0], strategy == SIDBEAM_STRATEGY_NONE ? SIDBEAM_MAX_BEAMS : 5);
      CHECK_I32(beams.codes, best, 5);
      for (int i = 0; i < 5; ++i) {
        CHECK_INT(beams.parents[i], 0);
        const double lse = log(exp(-1) + exp(-2) + exp(-3) + exp(-4) + exp(-5) + (CODES - 5) * exp(-20));
        const double expected = -1 - i - (normalization == SIDBEAM_NORMALIZE_FULL ? lse : 0);
        CHECK(fabs((double)beams.scores[i] - expected) < 2e-6);
      }
      sidbeam_session_destroy(session);
    }
  }
  free(row);
  sidbeam_constraint_release(constraint);
}

/* At a later level as many beams as have places beside 2^24 codes. */
static void beams_of_a_wide_level_keep_their_parents(void) {
  static const int32_t codes[2] = {256, CODES}, sids[6] = {255, CODES - 1, 0, (1 << 20) + 5, 7, 5};
  static const catalogue from = {2, 0, SIDBEAM_ID_I64, codes, sids, NULL, NULL, NULL, NULL, 3};
  static const int32_t parents[3] = {0, 1, 2}, chosen[3] = {(1 << 20) + 5, 5, CODES - 1};
  static float first[256];
  sidbeam_constraint* constraint = make_constraint(&from, SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED);
  float* row = make_wide_row(end_of_row);
  sidbeam_session* session = NULL;
  sidbeam_runtime* runtime = make_runtime();
  for (int i = 0; i < 256; ++i) first[i] = -(float)i; /* so that beams 0, 1, 2 are the codes 0, 7, 255 */
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_SORTED; ++strategy) {
    sidbeam_session_config config = session_config(constraint);
    config.strategy = strategy;
    config.beams = 257;
    CHECK_FAILS(sidbeam_session_create(runtime, &config, &session, &err), SIDBEAM_INVALID_ARGUMENT,
                "config.constraint has 16777216 codes at level 1, expected at most 8388608 with 257 beams");
    config.beams = 256;
    session = make_session(&config);
    start_all(session);
    step_with(session, first, 256, 256);
    step_with(session, row, 256, CODES);
    const sidbeam_beams beams = beams_of(session);
    CHECK_INT(beams.live[0], 3);
    CHECK_I32(beams.parents, parents, 3);
    CHECK_I32(beams.codes, chosen, 3);
    sidbeam_session_destroy(session);
  }
  sidbeam_runtime_release(runtime);
  free(row);
  sidbeam_constraint_release(constraint);
}

static void a_start_with_too_many_codes_for_the_beams_is_refused(void) {
  static const int32_t codes[2] = {4, (1 << 20) + 1}, few[2] = {4, 1 << 20}, sids[2] = {0, 0};
  static const catalogue from = {2, 0, SIDBEAM_ID_I64, codes, sids, NULL, NULL, NULL, NULL, 1};
  static const catalogue fits = {2, 0, SIDBEAM_ID_I64, few, sids, NULL, NULL, NULL, NULL, 1};
  sidbeam_constraint *wide = make_constraint(&from, SIDBEAM_KIND_TRIE), *narrow = make_constraint(&fits, ALL_KINDS);
  sidbeam_session_config config = session_config(narrow);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  config.beams = SIDBEAM_MAX_BEAMS;
  sidbeam_session* session = make_session(&config);
  args.constraints = &wide;
  CHECK_FAILS(sidbeam_session_start(session, &args, &err), SIDBEAM_INVALID_ARGUMENT,
              "constraints[0] has 1048577 codes at level 1, expected at most 1048576 with 4096 beams");
  CHECK_INT(beams_of(session).level[0], -1);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(wide);
  sidbeam_constraint_release(narrow);
}

/* All codes alike, whose weights would wrap around 2^64 with the unit of narrower levels. */
static void draws_of_a_wide_level_are_spread_over_it(void) {
  sidbeam_constraint* constraint = make_wide(SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED);
  float* row = calloc(CODES, sizeof(float));
  sidbeam_session_config config = session_config(constraint);
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  const sidbeam_rows rows = same_row(row, 1, SIDBEAM_MAX_BEAMS, CODES);
  config.strategy = SIDBEAM_STRATEGY_NONE;
  config.normalization = SIDBEAM_NORMALIZE_FULL;
  config.mode = SIDBEAM_MODE_SAMPLE;
  config.beams = SIDBEAM_MAX_BEAMS;
  sidbeam_session* session = make_session(&config);
  start_draws(session, 3, 4, 0);
  step_with(session, row, SIDBEAM_MAX_BEAMS, CODES);
  const sidbeam_beams beams = beams_of(session);
  int32_t parts[16] = {0};
  CHECK_INT(beams.live[0], SIDBEAM_MAX_BEAMS);
  for (int i = 0; i < SIDBEAM_MAX_BEAMS; ++i) {
    ++parts[beams.codes[i] / (CODES / 16)];
    CHECK(fabs((double)beams.scores[i] + 24 * log(2)) < 1e-5 && fabs((double)beams.log_masses[i]) < 1e-5);
  }
  for (int i = 0; i < 16; ++i) CHECK(abs(parts[i] - SIDBEAM_MAX_BEAMS / 16) < 6 * 16); /* six deviations */
  start_draws(session, 3, 4, 2);
  step.rows = &rows;
  CHECK_FAILS(sidbeam_session_step(session, &step, &err), SIDBEAM_INVALID_ARGUMENT,
              "rows.columns is 16777216, expected at most 2097152 with top-k or top-p (slot 0)");
  sidbeam_session_destroy(session);
  free(row);
  sidbeam_constraint_release(constraint);
}

/* Without replacement; the normaliser is a sum of weights, here of five codes. */
static void stochastic_beams_of_a_wide_level(void) {
  sidbeam_constraint* constraint = make_wide(SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED);
  float* row = make_wide_row(-20);
  const double lse = log(exp(-1) + exp(-2) + exp(-3) + exp(-4) + exp(-5));
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_SORTED; ++strategy) {
    sidbeam_session_config config = session_config(constraint);
    config.strategy = strategy;
    config.normalization = SIDBEAM_NORMALIZE_VALID;
    config.mode = SIDBEAM_MODE_STOCHASTIC;
    config.beams = BEAMS;
    sidbeam_session* session = make_session(&config);
    start_draws(session, 5, 6, 0);
    step_with(session, row, BEAMS, CODES);
    const sidbeam_beams beams = beams_of(session);
    CHECK_INT(beams.live[0], 5);
    for (int i = 0; i < 5; ++i) {
      int found = 0;
      for (int j = 0; j < 5; ++j) {
        if (beams.codes[i] != wide_sids[j]) continue;
        found = fabs((double)beams.scores[i] - ((double)wide_logits[j] - lse)) < 2e-6;
      }
      CHECK(found);
    }
    sidbeam_session_destroy(session);
  }
  free(row);
  sidbeam_constraint_release(constraint);
}

static void stateless_forms_at_a_wide_level(void) {
  static const int32_t best[3] = {(1 << 20) + 5, CODES - 1, 0}, length = 1;
  static const int64_t seed = 1;
  sidbeam_constraint* constraint = make_wide(SIDBEAM_KIND_TRIE);
  sidbeam_constraint_set* set = make_set(&constraint, 1, NULL);
  float *row = make_wide_row(-20), log_probs[3];
  uint32_t* words = malloc(CODES / 8);
  const sidbeam_rows rows = make_rows(row, 0, 1, CODES);
  const sidbeam_state beginning = 0;
  sidbeam_state next[3], expected[3];
  int32_t codes[3];
  CHECK_OK(sidbeam_constraint_set_topk(set, NULL, &beginning, &rows, SIDBEAM_NORMALIZE_NONE, 3, codes, log_probs, next,
                                       NULL, &err));
  CHECK_I32(codes, best, 3);
  for (int i = 0; i < 3; ++i)
    CHECK_OK(sidbeam_constraint_set_prefixes(set, NULL, best + i, 1, &length, 1, expected + i, NULL, &err));
  CHECK_I64(next, expected, 3);
  CHECK_OK(sidbeam_constraint_set_bitmask(set, NULL, &beginning, 1, CODES / 32, words, NULL, &err));
  int64_t valid = 0;
  for (int32_t i = 0; i < CODES; ++i) valid += words[i / 32] >> i % 32 & 1;
  CHECK_INT(valid, 5);
  for (int i = 0; i < 5; ++i) CHECK((words[wide_sids[i] / 32] >> wide_sids[i] % 32 & 1) != 0);

  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_sampled sampled = SIDBEAM_SAMPLED_INIT;
  sampling.seeds = sampling.requests = &seed;
  sampled.codes = codes;
  sampled.log_masses = log_probs;
  CHECK_OK(sidbeam_constraint_set_sample(set, NULL, &beginning, &rows, SIDBEAM_NORMALIZE_VALID, NULL, &sampling,
                                         &sampled, NULL, &err));
  CHECK((words[codes[0] / 32] >> codes[0] % 32 & 1) != 0 && log_probs[0] == 0);
  CHECK_OK(sidbeam_constraint_set_mask(set, NULL, &beginning, &rows, row, NULL, &err));
  for (int32_t i = 0; i < CODES; ++i) valid -= row[i] > -INFINITY;
  CHECK_INT(valid, 0);
  free(words);
  free(row);
  sidbeam_constraint_set_destroy(set);
  sidbeam_constraint_release(constraint);
}

/* SIDs that differ at one level each: 0, 63, 64, 253, 254, where they have 1 instead of 0. In order: the later the
 * level, the earlier the SID; each is better than those before it by a logit. */
static const int32_t deep_levels[DEEP] = {254, 253, 64, 63, 0};
static int32_t deep_codes[LEVELS], deep_sids[DEEP * LEVELS];

static sidbeam_index* make_deep_index(int32_t kinds) {
  const catalogue deep = {LEVELS, 0, SIDBEAM_ID_I64, deep_codes, deep_sids, NULL, NULL, NULL, NULL, DEEP};
  for (int l = 0; l < LEVELS; ++l) deep_codes[l] = 3;
  for (int i = 0; i < DEEP; ++i) deep_sids[i * LEVELS + deep_levels[i]] = 1;
  return make_index(&deep, kinds);
}

static void check_deep_items(const sidbeam_session* session) {
  static int32_t sids[BEAMS * LEVELS];
  int64_t ordinals[BEAMS];
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals;
  items.sids = sids;
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  for (int i = 0; i < DEEP; ++i) CHECK_INT(ordinals[i], i);
  CHECK_I32(sids, deep_sids, DEEP * LEVELS);
}

/* Level l: code 0 weighs 1 more than code 1, so that SIDs tie, and the order of codes decides. */
static void searches_of_255_levels(void) {
  static const float row[3] = {-1, -1, -2};
  static const int32_t kinds[2] = {ALL_KINDS, ALL_KINDS | SIDBEAM_KIND_COMPACT_TRIE};
  for (size_t k = 0; k < COUNT(kinds); ++k) {
    sidbeam_index* index = make_deep_index(kinds[k]);
    sidbeam_constraint* constraint = constrain(index);
    CHECK_OK(sidbeam_index_verify(index, SIDBEAM_VERIFY_FULL, &err));
    for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_SORTED_TOPK; ++strategy) {
      sidbeam_session_config config = session_config(constraint);
      config.strategy = strategy;
      config.beams = BEAMS;
      config.top_k = 3;
      sidbeam_session* session = make_session(&config);
      start_all(session);
      for (int l = 0; l < LEVELS; ++l) {
        CHECK_INT(beams_of(session).level[0], l);
        step_with(session, row, BEAMS, 3);
      }
      CHECK_INT(beams_of(session).live[0], DEEP);
      CHECK_INT(beams_of(session).active[0], 0);
      for (int i = 0; i < DEEP; ++i) CHECK(beams_of(session).scores[i] == -LEVELS);
      check_deep_items(session);
      sidbeam_session_destroy(session);
    }
    sidbeam_constraint_release(constraint);
    sidbeam_index_release(index);
  }
}

/* Only the last code is looked up: by the hash of all 255. */
static void the_last_of_255_codes_is_looked_up(void) {
  static const float row[3] = {-1, -2, -30};
  sidbeam_index* index = make_deep_index(ALL_KINDS);
  sidbeam_constraint* constraint = constrain(index);
  sidbeam_session_config config = session_config(constraint);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  static const int32_t length = LEVELS - 1;
  int64_t ordinal = -1;
  config.strategy = SIDBEAM_STRATEGY_HASH_FINAL;
  config.beams = BEAMS;
  config.top_k = 3;
  sidbeam_session* session = make_session(&config);
  start.prefixes = deep_sids + LEVELS; /* that of SID 1; SID 0 has another at level 253 */
  start.prefix_lengths = &length;
  CHECK_OK(sidbeam_session_start(session, &start, &err));
  step_with(session, row, BEAMS, 3);
  const sidbeam_beams beams = beams_of(session);
  CHECK_INT(beams.live[0], 1);
  CHECK_INT(beams.codes[0], 0);
  for (int i = 0; i < DEEP; ++i) {
    CHECK_OK(sidbeam_index_find_sid(index, deep_sids + i * LEVELS, LEVELS, &ordinal, &err));
    CHECK_INT(ordinal, i);
  }
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
}

/* A state knows its level up to the last, and whether it has ended there. */
static void states_of_255_levels(void) {
  sidbeam_index* index = make_deep_index(SIDBEAM_KIND_TRIE);
  sidbeam_constraint* constraint = constrain(index);
  sidbeam_constraint_set* set = make_set(&constraint, 1, NULL);
  for (int i = 0; i < DEEP; ++i) {
    sidbeam_state state = 0, found = -2;
    for (int32_t l = 0; l < LEVELS; ++l) {
      const int32_t length = l + 1, *sid = deep_sids + i * LEVELS;
      CHECK_OK(sidbeam_constraint_set_advance(set, NULL, &state, 1, NULL, sid + l, 1, &state, NULL, &err));
      CHECK_OK(sidbeam_constraint_set_prefixes(set, NULL, sid, LEVELS, &length, 1, &found, NULL, &err));
      CHECK(state > 0 && state == found);
    }
  }
  sidbeam_constraint_set_destroy(set);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
}

static void draws_of_255_levels(void) {
  static const float row[3] = {-1, -1, -2};
  sidbeam_index* index = make_deep_index(ALL_KINDS);
  sidbeam_constraint* constraint = constrain(index);
  for (int32_t mode = SIDBEAM_MODE_SAMPLE; mode <= SIDBEAM_MODE_STOCHASTIC; ++mode) {
    sidbeam_session_config config = session_config(constraint);
    int64_t ordinals[BEAMS];
    sidbeam_items items = SIDBEAM_ITEMS_INIT;
    items.ordinals = ordinals;
    config.mode = mode;
    config.normalization = SIDBEAM_NORMALIZE_VALID;
    config.beams = BEAMS;
    sidbeam_session* session = make_session(&config);
    start_draws(session, 3, 4, 0);
    for (int l = 0; l < LEVELS; ++l) step_with(session, row, BEAMS, 3);
    const int32_t live = mode == SIDBEAM_MODE_SAMPLE ? BEAMS : DEEP;
    CHECK_INT(beams_of(session).live[0], live);
    CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
    for (int i = 0; i < live; ++i) {
      CHECK(ordinals[i] >= 0 && ordinals[i] < DEEP);
      for (int j = 0; mode == SIDBEAM_MODE_STOCHASTIC && j < i; ++j) CHECK(ordinals[i] != ordinals[j]);
      /* Halves at the levels where SIDs part: P is 2^-1 .. 2^-4, by ordinal falling. */
      const int halves = ordinals[i] == 0 ? DEEP - 1 : DEEP - (int)ordinals[i];
      CHECK(fabs((double)beams_of(session).scores[i] + halves * log(2)) < 1e-6);
    }
    sidbeam_session_destroy(session);
  }
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
}

int main(void) {
  static const test_case tests[] = {
      TEST(the_best_of_a_wide_level),
      TEST(beams_of_a_wide_level_keep_their_parents),
      TEST(a_start_with_too_many_codes_for_the_beams_is_refused),
      TEST(draws_of_a_wide_level_are_spread_over_it),
      TEST(stochastic_beams_of_a_wide_level),
      TEST(stateless_forms_at_a_wide_level),
      TEST(searches_of_255_levels),
      TEST(the_last_of_255_codes_is_looked_up),
      TEST(states_of_255_levels),
      TEST(draws_of_255_levels),
  };
  return RUN_TESTS(tests);
}
