/* Constraints with rules: what is left of a search, of a slot that nothing is left for, and of lists of items.
 * SPDX-License-Identifier: Apache-2.0 */
#include "rules_rig.h"

/* The ordinals that a search under a constraint ends with, -1 after the last. */
static void search(sidbeam_constraint* constraint, int64_t ordinals[4]) {
  sidbeam_session_config config = session_config(constraint);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  sidbeam_session* session = make_session(&config);
  start_all(session);
  for (int level = 0; level < 3 && beams_of(session).active[0] > 0; ++level) step_all(session, halving);
  items.ordinals = ordinals;
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  CHECK_INT(beams_of(session).errors[0], 0);
  sidbeam_session_destroy(session);
}

static void check_search(sidbeam_constraint* constraint, int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t expected[4] = {a, b, c, d};
  int64_t ordinals[4];
  search(constraint, ordinals);
  CHECK_I64(ordinals, expected, 4);
  sidbeam_constraint_release(constraint);
}

static void a_search_finds_what_rules_leave(void) {
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_filter* filter = make_filter(index, ids(LIST(10, 12, 13, 14)));
  const sidbeam_item_list out = ids(LIST(12, 11, 999)), in = ids(LIST(14, 10, 15)), both_of_0 = ids(LIST(10, 15)),
                          none = ids(NULL, 0);
  check_search(make_ruled(index, NULL, NULL, NULL), 0, 3, 2, 4);
  check_search(make_ruled(index, NULL, &out, NULL), 0, 3, 4, -1);
  check_search(make_ruled(index, NULL, &both_of_0, NULL), 3, 2, 4, 1);
  check_search(make_ruled(index, NULL, NULL, &in), 0, 4, -1, -1);
  check_search(make_ruled(index, filter, NULL, NULL), 0, 3, 2, 4);
  check_search(make_ruled(index, filter, &out, NULL), 0, 3, 4, -1);
  check_search(make_ruled(index, filter, &both_of_0, &in), 4, -1, -1, -1);
  check_search(make_ruled(index, filter, &none, NULL), 0, 3, 2, 4);
  sidbeam_filter_release(filter);
  sidbeam_index_release(index);
}

static void nothing_allowed_is_no_error(void) {
  static const int32_t prefix[2] = {3, 0}, length = 2;
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_COMPACT_TRIE);
  sidbeam_filter* nothing = make_filter(index, ids(NULL, 0));
  const sidbeam_item_list all = ids(LIST(10, 11, 12, 13, 14, 15)), fourteen = ids(LIST(14)), empty = ids(NULL, 0);
  check_search(make_ruled(index, nothing, NULL, NULL), -1, -1, -1, -1);
  check_search(make_ruled(index, NULL, &all, NULL), -1, -1, -1, -1);
  check_search(make_ruled(index, NULL, NULL, &empty), -1, -1, -1, -1);
  check_search(make_ruled(index, NULL, &all, &all), -1, -1, -1, -1);
  sidbeam_constraint* constraint = make_ruled(index, NULL, &fourteen, NULL);
  sidbeam_session_config config = session_config(constraint);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_session* session = make_session(&config);
  start.prefixes = prefix;
  start.prefix_lengths = &length;
  CHECK_OK(sidbeam_session_start(session, &start, &err));
  CHECK_INT(beams_of(session).live[0], 0);
  CHECK_INT(beams_of(session).active[0], 0);
  CHECK_INT(beams_of(session).errors[0], 0);
  CHECK_INT(beams_of(session).states[0], -1);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  sidbeam_filter_release(nothing);
  sidbeam_index_release(index);
}

static void a_constraint_counts_what_it_allows(void) {
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_filter* filter = make_filter(index, ids(LIST(10, 11, 12)));
  const sidbeam_item_list out = ids(LIST(12, 15, 999, 12, 999)), in = ids(LIST(10, 11, 12, 13, 7));
  static const struct {
    int filtered, excludes, allows, rules;
    int64_t sids, items, unknown_excluded, unknown_allowed;
  } each[] = {{0, 0, 0, 0, 5, 6, 0, 0}, {1, 0, 0, 1, 3, 3, 0, 0}, {0, 1, 0, 1, 4, 4, 2, 0},
              {1, 1, 0, 1, 2, 2, 2, 0}, {0, 0, 1, 1, 4, 4, 0, 1}, {1, 1, 1, 1, 2, 2, 2, 1}};
  for (size_t i = 0; i < COUNT(each); ++i) {
    sidbeam_constraint* constraint = make_ruled(index, each[i].filtered ? filter : NULL, each[i].excludes ? &out : NULL,
                                                each[i].allows ? &in : NULL);
    sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
    CHECK_OK(sidbeam_constraint_get_info(constraint, &info, &err));
    CHECK_INT(info.rules, each[i].rules);
    CHECK_INT(info.allowed_sids, each[i].sids);
    CHECK_INT(info.allowed_items, each[i].items);
    CHECK_INT(info.unknown_excluded, each[i].unknown_excluded);
    CHECK_INT(info.unknown_allowed, each[i].unknown_allowed);
    CHECK_INT(info.sids, 5);
    CHECK_INT(info.items, 6);
    sidbeam_constraint_release(constraint);
  }
  sidbeam_filter_release(filter);
  sidbeam_index_release(index);
}

static void more_is_excluded_in_a_constraint_of_its_own(void) {
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  const sidbeam_item_list first = ids(LIST(11, 5)), more = ids(LIST(12, 11, 6)), in = ids(LIST(10, 11, 12));
  sidbeam_constraint *plain = make_ruled(index, NULL, NULL, NULL), *excluding = make_ruled(index, NULL, &first, NULL);
  sidbeam_constraint *allowing = make_ruled(index, NULL, &first, &in), *out = NULL;
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  CHECK_OK(sidbeam_constraint_exclude(excluding, &more, &out, &err));
  CHECK_OK(sidbeam_constraint_get_info(out, &info, &err));
  CHECK_INT(info.unknown_excluded, 2);
  check_search(out, 0, 3, 4, -1);
  CHECK_OK(sidbeam_constraint_exclude(plain, &more, &out, &err));
  check_search(out, 0, 3, 4, -1);
  CHECK_OK(sidbeam_constraint_exclude(allowing, &more, &out, &err));
  check_search(out, 0, -1, -1, -1);
  check_search(excluding, 0, 3, 2, 4);
  check_search(allowing, 0, 2, -1, -1);
  check_search(plain, 0, 3, 2, 4);
  sidbeam_index_release(index);
}

/* Ordinal 0 has the items 15 and 10, in rows 0 and 1. */
static void lists_of_items_leave_out_what_is_forbidden(void) {
  static const int64_t ordinals[3] = {0, -1, 2};
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  const sidbeam_item_list fifteen = ids(LIST(15)), row = rows_of(LIST(1));
  sidbeam_constraint* constraint = make_ruled(index, NULL, &fifteen, NULL);
  int64_t rows[4] = {-9, -9, -9, -9}, offsets[5];
  int32_t truncated = -1;
  sidbeam_item_limits limits = SIDBEAM_ITEM_LIMITS_INIT;
  limits.limit_per_sid = 1;
  limits.limit = 4;
  CHECK_OK(sidbeam_constraint_items(constraint, ordinals, 3, &limits, rows, offsets, &truncated, NULL, &err));
  CHECK_I64(offsets, ((const int64_t[]){0, 1, 1, 2}), 4);
  CHECK_I64(rows, ((const int64_t[]){1, 3}), 2);
  CHECK_INT(truncated, 0); /* a limit counts what is allowed */
  CHECK_FAILS(sidbeam_constraint_items(NULL, ordinals, 3, &limits, rows, offsets, NULL, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "constraint is NULL");
  sidbeam_session_config config = session_config(constraint);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  sidbeam_constraint_release(constraint);
  constraint = make_ruled(index, NULL, &row, NULL);
  config.constraint = constraint;
  sidbeam_session* session = make_session(&config);
  start_all(session);
  for (int level = 0; level < 3; ++level) step_all(session, halving);
  items.limit = 4;
  items.item_rows = rows;
  items.offsets = offsets;
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  CHECK_I64(offsets, ((const int64_t[]){0, 1, 2, 3, 4}), 5);
  CHECK_I64(rows, ((const int64_t[]){0, 4, 3, 5}), 4);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
}

static void rules_that_cannot_be_followed_are_refused(void) {
  sidbeam_index *index = make_index(&small, ALL_KINDS), *sorted = make_index(&small, SIDBEAM_KIND_SORTED);
  sidbeam_index* other = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_filter *filter = make_filter(other, ids(LIST(10))), *own = make_filter(index, ids(LIST(10)));
  sidbeam_item_list list = ids(LIST(10));
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_constraint* constraint = NULL;
  config.index = index;
  config.filter = filter;
  CHECK_FAILS(sidbeam_constraint_create(&config, &constraint, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.filter is of another index, expected one of config.index");
  config.filter = NULL;
  config.index = sorted;
  config.excluded = &list;
  CHECK_FAILS(sidbeam_constraint_create(&config, &constraint, &err), SIDBEAM_MISSING_SECTION,
              "the index has no trie, which rules need: build it with SIDBEAM_KIND_TRIE");
  sidbeam_filter* sorted_filter = make_filter(sorted, rows_of(LIST(0)));
  CHECK_FAILS(sidbeam_filter_prepare(sorted_filter, &err), SIDBEAM_MISSING_SECTION,
              "the index has no trie, which rules need");
  sidbeam_filter_release(sorted_filter);
  config.index = index;
  list.count = -5;
  CHECK_FAILS(sidbeam_constraint_create(&config, &constraint, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.excluded.count is -5, expected at least 0");
  config.excluded = NULL;
  config.allowed = &list;
  CHECK_FAILS(sidbeam_constraint_create(&config, &constraint, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.allowed.count is -5");
  CHECK(constraint == NULL);
  constraint = make_ruled(index, own, NULL, NULL);
  sidbeam_session_config session = session_config(constraint);
  sidbeam_session* out = NULL;
  static const struct {
    int32_t strategy;
    const char* text;
  } others[] = {
      {SIDBEAM_STRATEGY_SORTED, "config.constraint has rules, expected strategy trie, which follows them, not sorted"},
      {SIDBEAM_STRATEGY_SORTED_TOPK, "not sorted_topk"},
      {SIDBEAM_STRATEGY_HASH_FINAL, "not hash_final"},
      {SIDBEAM_STRATEGY_NONE, "not none"}};
  sidbeam_runtime* runtime = make_runtime();
  for (size_t i = 0; i < COUNT(others); ++i) {
    session.strategy = others[i].strategy;
    CHECK_FAILS(sidbeam_session_create(runtime, &session, &out, &err), SIDBEAM_UNSUPPORTED, others[i].text);
  }
  sidbeam_constraint* all = constrain(index);
  session.constraint = all;
  session.strategy = SIDBEAM_STRATEGY_SORTED;
  out = make_session(&session);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.constraints = &constraint;
  CHECK_FAILS(sidbeam_session_start(out, &start, &err), SIDBEAM_UNSUPPORTED, "constraints[0] has rules");
  sidbeam_session_destroy(out);
  sidbeam_constraint_release(all);
  sidbeam_constraint_release(constraint);
  sidbeam_filter_release(filter);
  sidbeam_filter_release(own);
  sidbeam_index_release(index);
  sidbeam_index_release(other);
  sidbeam_index_release(sorted);
  sidbeam_runtime_release(runtime);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_search_finds_what_rules_leave),
      TEST(nothing_allowed_is_no_error),
      TEST(a_constraint_counts_what_it_allows),
      TEST(more_is_excluded_in_a_constraint_of_its_own),
      TEST(lists_of_items_leave_out_what_is_forbidden),
      TEST(rules_that_cannot_be_followed_are_refused),
  };
  return RUN_TESTS(tests);
}
