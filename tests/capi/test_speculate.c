/* Speculation: a round by hand, and what is refused. That its beams are plain search's, and that relaxed draws follow
 * their laws, is tested in tests/speculation. SPDX-License-Identifier: Apache-2.0 */
#include "catalog_rig.h"

/* A target of two beams and a draft of three, over the same constraint, of the first of two versions. */
static struct {
  sidbeam_runtime* runtime;
  sidbeam_constraint *constraint, *other;
  sidbeam_session *target, *draft;
  sidbeam_speculation* speculation;
} w;

static void end_world(void) {
  sidbeam_speculation_destroy(w.speculation);
  sidbeam_session_destroy(w.target);
  sidbeam_session_destroy(w.draft);
  sidbeam_constraint_release(w.constraint);
  sidbeam_constraint_release(w.other);
  sidbeam_runtime_release(w.runtime);
  memset(&w, 0, sizeof w);
}

static sidbeam_session* session_of(int32_t beams, int32_t slots, int32_t mode) {
  sidbeam_session_config config = session_config(w.constraint);
  config.beams = beams;
  config.slots = slots;
  config.mode = mode;
  return make_session(&config);
}

static sidbeam_status create(sidbeam_session* target, sidbeam_session* draft, int32_t draft_levels) {
  sidbeam_speculation_config config = SIDBEAM_SPECULATION_CONFIG_INIT;
  sidbeam_speculation* made = NULL;
  config.draft_levels = draft_levels;
  config.target = target;
  config.draft = draft;
  const sidbeam_status status = sidbeam_speculation_create(w.runtime, &config, &made, &err);
  sidbeam_speculation_destroy(w.speculation);
  w.speculation = made;
  return status;
}

static void make_constraints(void) {
  sidbeam_index *base = make_index(&small, ALL_KINDS), *second = NULL;
  sidbeam_catalog* catalog = NULL;
  CHECK_OK(sidbeam_catalog_create(base, NULL, NULL, &catalog, &err));
  CHECK_INT(publish_pair(catalog, "333", 40), 2);
  CHECK_OK(sidbeam_catalog_snapshot(catalog, 2, &second, &err));
  w.constraint = constrain(base);
  w.other = constrain(second);
  sidbeam_index_release(base);
  sidbeam_index_release(second);
  sidbeam_catalog_close(catalog);
}

static void begin_world(int32_t slots) {
  w.runtime = make_runtime();
  make_constraints();
  w.target = session_of(2, slots, SIDBEAM_MODE_SEARCH);
  w.draft = session_of(3, slots, SIDBEAM_MODE_SEARCH);
  CHECK_OK(create(w.target, w.draft, 2));
}

static void start_both(void) {
  start_all(w.target);
  start_all(w.draft);
}

static int64_t begin(void) {
  int64_t active = -1;
  CHECK_OK(sidbeam_speculation_begin(w.speculation, NULL, 0, &active, &err));
  return active;
}

static sidbeam_speculation_tree tree(void) {
  sidbeam_speculation_tree out = SIDBEAM_SPECULATION_TREE_INIT;
  CHECK_OK(sidbeam_speculation_get_tree(w.speculation, &out, &err));
  return out;
}

static sidbeam_status verify_rows(int64_t slots, int64_t count, int64_t columns) {
  const sidbeam_rows rows = same_row(halving, slots, count, columns);
  sidbeam_speculation_verify_args args = SIDBEAM_SPECULATION_VERIFY_ARGS_INIT;
  args.rows = &rows;
  return sidbeam_speculation_verify(w.speculation, &args, &err);
}

static sidbeam_status verify(void) { return verify_rows(0, tree().nodes, 4); }

static void draft_level(void) {
  step_all(w.draft, halving);
  CHECK_OK(sidbeam_speculation_add(w.speculation, &err));
}

/* Small's first codes score -1, -4, -8; then (0,1) -3, (2,2) -8, (0,3) -9; then 0 (0,1,2) -7 and 3 (2,2,1) -10. */
static void a_round_gains_every_level_that_was_drafted_and_one_more(void) {
  static const int64_t tokens[7] = {-1, 0, 2, 3, 1, 2, 3};
  static const int32_t positions[7] = {-1, 0, 0, 0, 1, 1, 1}, parents[7] = {-1, 0, 0, 0, 1, 2, 1},
                       places[7] = {-1, 1, 2, 3, 4, 5, 6};
  static const int32_t ancestors[7 * 3] = {-1, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 1, 4, -1, 2, 5, -1, 1, 6, -1};
  static const uint8_t fifth[15] = {0, 1, 0, 0, 1};
  uint8_t mask[7 * 15];
  begin_world(1);
  start_both();
  CHECK_INT(begin(), 1);
  sidbeam_speculation_tree t = tree();
  CHECK_INT(t.nodes, 1);
  CHECK_INT(t.draft_count, 1);
  CHECK_INT(t.draft_slots[0], 0);
  CHECK_I32(t.draft_nodes, ((const int32_t[3]){0, -1, -1}), 3);
  draft_level();
  t = tree();
  CHECK_INT(t.nodes, 4);
  CHECK_I32(t.draft_nodes, ((const int32_t[3]){1, 2, 3}), 3);
  draft_level();
  t = tree();
  CHECK_INT(t.draft_count, 0);
  CHECK_INT(t.nodes, 7);
  CHECK_INT(t.count, 1);
  CHECK_INT(t.depth, 3);
  CHECK_INT(t.place_stride, 15);
  CHECK_INT(t.node_offsets[1], 7);
  CHECK_I64(t.tokens, tokens, 7);
  CHECK_I32(t.positions, positions, 7);
  CHECK_I32(t.parents, parents, 7);
  CHECK_I32(t.places, places, 7);
  CHECK_I32(t.ancestors, ancestors, 21);
  CHECK_OK(sidbeam_speculation_get_mask(w.speculation, mask, 15, &err));
  CHECK(memcmp(mask + 4 * 15, fifth, 15) == 0);
  CHECK_OK(verify());
  const sidbeam_beams beams = beams_of(w.target);
  CHECK_INT(beams.level[0], 3);
  CHECK_F32(beams.scores, ((const float[2]){-7, -10}), 2);
  CHECK_INT(begin(), 0);
  sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
  CHECK_OK(sidbeam_speculation_get_stats(w.speculation, &stats, &err));
  CHECK_INT(stats.rounds, 1);
  CHECK_INT(stats.levels, 3);
  CHECK_INT(stats.drafted_levels, 2);
  CHECK_INT(stats.accepted_levels, 2);
  CHECK_INT(stats.nodes, 7);
  CHECK(stats.memory_bytes > 0);
}

/* The draft's beams are the target's: what the host feeds its model by. */
static void check_taken_over(void) {
  int32_t sids[2][4 * 3], lengths[2][4];
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  sidbeam_session* const both[2] = {w.target, w.draft};
  for (int i = 0; i < 2; ++i) {
    items.sids = sids[i];
    items.lengths = lengths[i];
    CHECK_OK(sidbeam_session_get_items(both[i], NULL, 0, &items, &err));
  }
  const sidbeam_beams target = beams_of(w.target), draft = beams_of(w.draft);
  CHECK_INT(draft.live[0], target.live[0]);
  CHECK_INT(draft.level[0], target.level[0]);
  CHECK_F32(draft.scores, target.scores, 2);
  CHECK_I32(sids[1], sids[0], 6);
  CHECK_I32(lengths[1], lengths[0], 2);
}

/* A draft that is not asked leaves plain search, a level per round; the way back is kept from round to round. */
static void a_round_without_drafts_is_a_plain_step(void) {
  begin_world(1);
  start_both();
  for (int32_t level = 0; level < 3; ++level) {
    CHECK_INT(begin(), 1);
    check_taken_over();
    const sidbeam_speculation_tree t = tree();
    CHECK_INT(t.nodes, level == 0 ? 1 : 2);
    if (level == 2) CHECK_I32(t.ancestors, ((const int32_t[6]){1, 3, -1, 2, 4, -1}), 6);
    CHECK_OK(verify());
    CHECK_INT(beams_of(w.target).level[0], level + 1);
  }
  CHECK_INT(begin(), 0);
  CHECK_F32(beams_of(w.target).scores, ((const float[2]){-7, -10}), 2);
}

static void sessions_that_do_not_fit_are_refused(void) {
  begin_world(1);
  CHECK_FAILS(create(NULL, w.draft, 1), SIDBEAM_INVALID_ARGUMENT, "config.target is NULL");
  CHECK_FAILS(create(w.target, NULL, 1), SIDBEAM_INVALID_ARGUMENT, "config.draft is NULL");
  CHECK_FAILS(create(w.target, w.target, 1), SIDBEAM_INVALID_ARGUMENT, "expected a session of its own");
  CHECK_FAILS(create(w.draft, w.target, 1), SIDBEAM_INVALID_ARGUMENT, "has 2 beams, expected at least 3");
  CHECK_FAILS(create(w.target, w.draft, 0), SIDBEAM_INVALID_ARGUMENT, "config.draft_levels is 0");
  CHECK_FAILS(create(w.target, w.draft, 256), SIDBEAM_INVALID_ARGUMENT, "config.draft_levels is 256");
  sidbeam_session* bad = session_of(3, 2, SIDBEAM_MODE_SEARCH);
  CHECK_FAILS(create(w.target, bad, 1), SIDBEAM_INVALID_ARGUMENT, "slots 2, expected 1");
  sidbeam_session_destroy(bad);
  bad = session_of(3, 1, SIDBEAM_MODE_STOCHASTIC);
  CHECK_FAILS(create(w.target, bad, 1), SIDBEAM_INVALID_ARGUMENT, "mode 2, expected 0");
  sidbeam_session_destroy(bad);
  bad = session_of(3, 1, SIDBEAM_MODE_SAMPLE);
  sidbeam_session* same = session_of(3, 1, SIDBEAM_MODE_SAMPLE);
  CHECK_FAILS(create(bad, same, 1), SIDBEAM_INVALID_ARGUMENT, "mode SAMPLE, expected SEARCH or STOCHASTIC");
  sidbeam_session_destroy(bad);
  sidbeam_session_destroy(same);
  sidbeam_constraint* two = make_constraint(&two_levels, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(two);
  bad = make_session(&config);
  CHECK_FAILS(create(w.target, bad, 1), SIDBEAM_INVALID_ARGUMENT, "levels 2, expected 3");
  sidbeam_session_destroy(bad);
  sidbeam_constraint_release(two);
}

static void a_draft_under_another_version_of_the_index_is_refused(void) {
  int64_t active = -1;
  begin_world(1);
  start_all(w.target);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.constraints = &w.other;
  start.count = 1;
  CHECK_OK(sidbeam_session_start(w.draft, &start, &err));
  CHECK_FAILS(sidbeam_speculation_begin(w.speculation, NULL, 0, &active, &err), SIDBEAM_INVALID_ARGUMENT,
              "slot 0 of the draft follows another constraint", "the same version of an index");
  const int32_t narrow = 1;
  start = (sidbeam_start_args)SIDBEAM_START_ARGS_INIT;
  start.widths = &narrow;
  CHECK_OK(sidbeam_session_start(w.draft, &start, &err));
  CHECK_FAILS(sidbeam_speculation_begin(w.speculation, NULL, 0, &active, &err), SIDBEAM_INVALID_ARGUMENT,
              "has width 1 at level 0, expected at least 2, the target's");
  const int32_t widths[2] = {2, 1};
  start.widths = widths;
  start.width_levels = 2;
  CHECK_OK(sidbeam_session_start(w.draft, &start, &err));
  CHECK_FAILS(sidbeam_speculation_begin(w.speculation, NULL, 0, &active, &err), SIDBEAM_INVALID_ARGUMENT,
              "has width 1 at level 1, expected at least 2");
  CHECK_INT(active, -1);
  CHECK_INT(tree().nodes, 0);
  step_all(w.target, halving); /* both are as they were */
  step_all(w.draft, halving);
}

static void rounds_of_slots_that_cannot_begin_are_refused(void) {
  const int32_t both[2] = {0, 1}, twice[2] = {0, 0}, far = 2;
  int64_t active = -1;
  begin_world(2);
  CHECK_INT(begin(), 0); /* nothing is started */
  start_slot(w.target, 0);
  CHECK_FAILS(sidbeam_speculation_begin(w.speculation, both, 2, &active, &err), SIDBEAM_BAD_STATE,
              "slot 0 of the draft is not started");
  start_slot(w.draft, 0);
  CHECK_FAILS(sidbeam_speculation_begin(w.speculation, both, 2, &active, &err), SIDBEAM_BAD_STATE,
              "slot 1 of the target is not started");
  CHECK_FAILS(sidbeam_speculation_begin(w.speculation, twice, 2, &active, &err), SIDBEAM_INVALID_ARGUMENT,
              "named before");
  CHECK_FAILS(sidbeam_speculation_begin(w.speculation, &far, 1, &active, &err), SIDBEAM_INVALID_ARGUMENT,
              "expected 0..1");
  CHECK_FAILS(sidbeam_speculation_begin(w.speculation, NULL, 1, &active, &err), SIDBEAM_INVALID_ARGUMENT, "count is 1");
  CHECK_INT(begin(), 1);
  step_all(w.target, halving);
  CHECK_FAILS(verify_rows(0, 1, 4), SIDBEAM_BAD_STATE, "slot 0 of the target is at level 1, expected 0");
  CHECK_FAILS(sidbeam_speculation_begin(w.speculation, NULL, 0, &active, &err), SIDBEAM_BAD_STATE,
              "slot 0 of the target is at level 1, expected 0");
  start_slot(w.target, 0);
  CHECK_INT(begin(), 1);
  CHECK_OK(verify());
}

static void drafts_that_are_not_one_step_further_are_refused(void) {
  begin_world(1);
  CHECK_FAILS(sidbeam_speculation_add(w.speculation, &err), SIDBEAM_BAD_STATE, "no round is under way");
  start_both();
  begin();
  step_all(w.draft, halving);
  step_all(w.draft, halving);
  CHECK_FAILS(sidbeam_speculation_add(w.speculation, &err), SIDBEAM_BAD_STATE,
              "slot 0 of the draft is at level 2, expected 0, or one more");
  begin();
  draft_level();
  draft_level();
  step_all(w.draft, halving);
  CHECK_FAILS(sidbeam_speculation_add(w.speculation, &err), SIDBEAM_BAD_STATE, "where it is drafted no further");
  begin();
  CHECK_OK(sidbeam_speculation_add(w.speculation, &err)); /* nothing was drafted */
  CHECK_INT(tree().draft_count, 0);
  CHECK_OK(verify());
}

static void rows_for_another_number_of_nodes_are_refused(void) {
  uint8_t mask[64];
  sidbeam_speculation_verify_args args = SIDBEAM_SPECULATION_VERIFY_ARGS_INIT;
  begin_world(1);
  CHECK_FAILS(verify_rows(0, 0, 4), SIDBEAM_BAD_STATE, "no round is under way, expected begin() before verify()");
  start_both();
  begin();
  draft_level();
  CHECK_FAILS(sidbeam_speculation_get_mask(w.speculation, mask, 14, &err), SIDBEAM_INVALID_ARGUMENT,
              "columns is 14, expected at least 15");
  CHECK_FAILS(sidbeam_speculation_get_mask(w.speculation, mask, INT64_C(1) << 62, &err), SIDBEAM_INVALID_ARGUMENT,
              "columns is 4611686018427387904, which overflows over 4 of them");
  CHECK_FAILS(sidbeam_speculation_verify(w.speculation, &args, &err), SIDBEAM_INVALID_ARGUMENT, "args.rows is NULL");
  CHECK_FAILS(verify_rows(0, 3, 4), SIDBEAM_INVALID_ARGUMENT, "rows are [0, 3, ...], expected [4, ...]");
  CHECK_FAILS(verify_rows(1, 4, 4), SIDBEAM_INVALID_ARGUMENT, "a logits row per node of the tree");
  CHECK_FAILS(verify_rows(0, 4, 3), SIDBEAM_INVALID_ARGUMENT, "rows.columns is 3");
  CHECK_INT(beams_of(w.target).level[0], 0);
  CHECK_OK(verify_rows(0, 4, 4)); /* the round goes on */
  CHECK_INT(beams_of(w.target).level[0], 2);
}

/* The last level has a column of its own, which rows of the first two levels need not have. */
static void a_later_step_that_fails_leaves_the_target_where_plain_steps_would(void) {
  static const int64_t offsets[3] = {0, 0, 1};
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  begin_world(1);
  vocabulary.levels = 3;
  vocabulary.offsets = offsets;
  sidbeam_session_config config = session_config(w.constraint);
  config.beams = 2;
  config.vocabulary = &vocabulary;
  sidbeam_session_destroy(w.target);
  w.target = make_session(&config);
  CHECK_OK(create(w.target, w.draft, 2));
  start_both();
  begin();
  draft_level();
  draft_level();
  CHECK_FAILS(verify(), SIDBEAM_INVALID_ARGUMENT, "rows.columns is 4, expected at least 5");
  CHECK_INT(beams_of(w.target).level[0], 2);
  CHECK_F32(beams_of(w.target).scores, ((const float[2]){-3, -8}), 2);
  CHECK_INT(begin(), 1);
  CHECK_I32(tree().ancestors, ((const int32_t[6]){1, 7, -1, 2, 8, -1}), 6);
}

static sidbeam_relaxed_verify_args relaxed_args(void) {
  static const float target[3] = {0, -1, -2}, draft[3] = {-1, 0, -INFINITY};
  static const int64_t drafts[2] = {1, 0};
  sidbeam_relaxed_verify_args args = SIDBEAM_RELAXED_VERIFY_ARGS_INIT;
  args.beams = 2;
  args.count = 3;
  args.target = target;
  args.draft = draft;
  args.drafts = drafts;
  args.draft_count = 2;
  return args;
}

static void relaxed_calls_refuse_what_is_no_distribution(void) {
  static const float bad[3] = {0, NAN, 0}, infinite[3] = {0, 0, INFINITY};
  int64_t found[2];
  sidbeam_relaxed_beams out = SIDBEAM_RELAXED_BEAMS_INIT;
  sidbeam_relaxed_draw_args draw = SIDBEAM_RELAXED_DRAW_ARGS_INIT;
  begin_world(1);
  out.extensions = found;
  draw.count = 3;
  draw.log_probs = bad;
  CHECK_FAILS(sidbeam_relaxed_draw(w.runtime, &draw, found, &err), SIDBEAM_INVALID_ARGUMENT,
              "args.log_probs[1] is nan");
  draw.draws = 0;
  CHECK_FAILS(sidbeam_relaxed_draw(w.runtime, &draw, found, &err), SIDBEAM_INVALID_ARGUMENT, "args.draws is 0");
  sidbeam_relaxed_verify_args args = relaxed_args();
  args.draft = infinite;
  CHECK_FAILS(sidbeam_relaxed_verify(w.runtime, &args, &out, &err), SIDBEAM_INVALID_ARGUMENT, "args.draft[2] is inf");
  args = relaxed_args();
  args.inverse_temperature = -1;
  CHECK_FAILS(sidbeam_relaxed_verify(w.runtime, &args, &out, &err), SIDBEAM_INVALID_ARGUMENT,
              "args.inverse_temperature is -1");
  args = relaxed_args();
  args.level = 255;
  CHECK_FAILS(sidbeam_relaxed_verify(w.runtime, &args, &out, &err), SIDBEAM_INVALID_ARGUMENT, "args.level is 255");
}

static void relaxed_calls_refuse_drafts_that_were_not_drawn(void) {
  static const int64_t far[2] = {0, 3}, twice[2] = {1, 1}, never[2] = {0, 2};
  int64_t found[2];
  sidbeam_relaxed_beams out = SIDBEAM_RELAXED_BEAMS_INIT;
  begin_world(1);
  out.extensions = found;
  sidbeam_relaxed_verify_args args = relaxed_args();
  args.draft_count = 1;
  CHECK_FAILS(sidbeam_relaxed_verify(w.runtime, &args, &out, &err), SIDBEAM_INVALID_ARGUMENT,
              "args.draft_count is 1, expected 2");
  args = relaxed_args();
  args.drafts = far;
  CHECK_FAILS(sidbeam_relaxed_verify(w.runtime, &args, &out, &err), SIDBEAM_INVALID_ARGUMENT,
              "args.drafts[1] is 3, expected 0..2");
  args.drafts = never;
  CHECK_FAILS(sidbeam_relaxed_verify(w.runtime, &args, &out, &err), SIDBEAM_INVALID_ARGUMENT,
              "args.drafts[1] is 2, which the draft gives no probability");
  args.drafts = twice;
  CHECK_OK(sidbeam_relaxed_verify(w.runtime, &args, &out, &err));
  args.without_replacement = 1;
  CHECK_FAILS(sidbeam_relaxed_verify(w.runtime, &args, &out, &err), SIDBEAM_INVALID_ARGUMENT,
              "args.drafts[1] is 1, which comes before");
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_round_gains_every_level_that_was_drafted_and_one_more),
      TEST(a_round_without_drafts_is_a_plain_step),
      TEST(sessions_that_do_not_fit_are_refused),
      TEST(a_draft_under_another_version_of_the_index_is_refused),
      TEST(rounds_of_slots_that_cannot_begin_are_refused),
      TEST(drafts_that_are_not_one_step_further_are_refused),
      TEST(rows_for_another_number_of_nodes_are_refused),
      TEST(a_later_step_that_fails_leaves_the_target_where_plain_steps_would),
      TEST(relaxed_calls_refuse_what_is_no_distribution),
      TEST(relaxed_calls_refuse_drafts_that_were_not_drawn),
  };
  after_test = end_world;
  return RUN_TESTS(tests);
}
