/* Versions of a live catalogue as indexes: what they say of themselves, and what they have no answer for.
 * SPDX-License-Identifier: Apache-2.0 */
#include "catalog_rig.h"

static sidbeam_index* version_of(sidbeam_catalog* catalog, int64_t version) {
  sidbeam_index* index = NULL;
  CHECK_OK(sidbeam_catalog_snapshot(catalog, version, &index, &err));
  return index;
}

/* `small` in all kinds: 1 as it was, 2 without item 13, 3 with item 40 of a SID of its own; each taken while it
 * was the newest. */
enum { VERSIONS = 3 };
static sidbeam_catalog* came_and_went(sidbeam_index* taken[VERSIONS]) {
  sidbeam_index* base = make_index(&small, ALL_KINDS);
  sidbeam_catalog* catalog = NULL;
  CHECK_OK(sidbeam_catalog_create(base, NULL, NULL, &catalog, &err));
  sidbeam_index_release(base);
  taken[0] = version_of(catalog, 0);
  CHECK_OK(remove_item(catalog, 13, &err));
  CHECK_INT(publish(catalog), 2);
  taken[1] = version_of(catalog, 0);
  CHECK_INT(publish_pair(catalog, "333", 40), 3);
  taken[2] = version_of(catalog, 0);
  return catalog;
}

static void let_go(sidbeam_catalog* catalog, sidbeam_index* const taken[VERSIONS]) {
  for (int i = 0; i < VERSIONS; ++i) sidbeam_index_release(taken[i]);
  sidbeam_catalog_close(catalog);
}

static sidbeam_index_info index_info(const sidbeam_index* index) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  CHECK_OK(sidbeam_index_get_info(index, &info, &err));
  return info;
}

static void a_version_says_which_it_is(void) {
  static const int64_t live[] = {6, 5, 6}, rows[] = {6, 6, 7}, sids[] = {5, 5, 6};
  sidbeam_index* taken[VERSIONS];
  sidbeam_catalog* catalog = came_and_went(taken);
  char fingerprints[VERSIONS][33];
  for (int i = 0; i < VERSIONS; ++i) {
    const sidbeam_index_info info = index_info(taken[i]);
    CHECK_INT(info.version, i + 1);
    CHECK_INT(info.generation, 1);
    CHECK_INT(info.live_items, live[i]);
    CHECK_INT(info.items, rows[i]);
    CHECK_INT(info.sids, sids[i]);
    CHECK_INT(info.file_bytes, 0);
    memcpy(fingerprints[i], info.fingerprint, sizeof fingerprints[0]);
    for (int b = 0; b < i; ++b) CHECK(strcmp(fingerprints[i], fingerprints[b]) != 0);
  }
  let_go(catalog, taken);
}

/* A version that is made again, since nobody held it and two newer ones came, has the rows of those after it too, none
 * of them live. */
static void an_older_version_counts_what_came_later(void) {
  static const int64_t rows[] = {8, 8, 7}, live[] = {6, 5, 6};
  sidbeam_index* taken[VERSIONS];
  sidbeam_catalog* catalog = came_and_went(taken);
  for (int i = 0; i < VERSIONS; ++i) sidbeam_index_release(taken[i]);
  CHECK_INT(publish_pair(catalog, "332", 41), 4);
  for (int i = 0; i < VERSIONS; ++i) {
    taken[i] = version_of(catalog, i + 1);
    CHECK_INT(index_info(taken[i]).items, rows[i]);
    CHECK_INT(index_info(taken[i]).live_items, live[i]);
  }
  CHECK_TEXT(content_of(taken[0]), SMALL_CONTENT);
  let_go(catalog, taken);
}

static void values_of_attributes_show_in_their_digest(void) {
  static const int32_t sid[] = {0, 1, 2};
  static const int64_t id = 10, prices[] = {7, 8};
  char digests[3][33];
  sidbeam_index* base = priced_index();
  sidbeam_catalog* catalog = NULL;
  CHECK_OK(sidbeam_catalog_create(base, NULL, NULL, &catalog, &err));
  memcpy(digests[0], index_info(base).attribute_digest, sizeof digests[0]);
  sidbeam_index_release(base);
  for (int i = 0; i < 2; ++i) {
    sidbeam_attribute_column price = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
    const sidbeam_attribute_column* const columns[] = {&price};
    sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
    price.name = "price";
    price.integers = &prices[i];
    pairs.codes = sid;
    pairs.count = 1;
    pairs.ids = &id;
    pairs.attributes = columns;
    pairs.attribute_count = 1;
    CHECK_OK(sidbeam_catalog_add(catalog, &pairs, &err));
    (void)publish(catalog);
    sidbeam_index* const version = version_of(catalog, 0);
    memcpy(digests[i + 1], index_info(version).attribute_digest, sizeof digests[0]);
    sidbeam_index_release(version);
    for (int b = 0; b <= i; ++b) CHECK(strcmp(digests[i + 1], digests[b]) != 0);
  }
  sidbeam_catalog_close(catalog);
}

static void a_version_has_no_bytes(void) {
  sidbeam_index* taken[VERSIONS];
  sidbeam_catalog* catalog = came_and_went(taken);
  for (int i = 0; i < VERSIONS; ++i) {
    const char *text = "is a version of a live catalogue, which has no bytes of its own",
               *path = temporary_path("none");
    const void* data = NULL;
    int64_t bytes = 0;
    CHECK_FAILS(sidbeam_index_bytes(taken[i], &data, &bytes, &err), SIDBEAM_UNSUPPORTED, text);
    CHECK_FAILS(sidbeam_index_write(taken[i], path, &err), SIDBEAM_UNSUPPORTED, text);
    CHECK(data == NULL && !file_exists(path));
  }
  let_go(catalog, taken);
}

static void what_was_added_is_no_range(void) {
  sidbeam_index* taken[VERSIONS];
  sidbeam_catalog* catalog = came_and_went(taken);
  const int32_t prefix[] = {3};
  int64_t lo = -7, hi = -7;
  CHECK_OK(sidbeam_index_ordinals(taken[1], prefix, 1, &lo, &hi, &err));
  CHECK(lo == 4 && hi == 5);
  CHECK_OK(sidbeam_index_item_rows(taken[1], 4, &lo, &hi, &err));
  lo = hi = -7;
  CHECK_FAILS(sidbeam_index_ordinals(taken[2], prefix, 1, &lo, &hi, &err), SIDBEAM_UNSUPPORTED,
              "items have been added to the index's base, and the ordinals below a prefix are no range");
  CHECK_FAILS(sidbeam_index_item_rows(taken[2], 4, &lo, &hi, &err), SIDBEAM_UNSUPPORTED,
              "the item rows of an ordinal are no range: list them with sidbeam_index_items()");
  CHECK(lo == -7 && hi == -7);
  let_go(catalog, taken);
}

static void check_rows(sidbeam_filter* filter, sidbeam_index* index, uint64_t expected) {
  const uint64_t* bits = NULL;
  int64_t words = 0;
  sidbeam_filter* on = NULL;
  CHECK_OK(sidbeam_filter_on(filter, index, &on, &err));
  CHECK_OK(sidbeam_filter_rows(on, &bits, &words, &err));
  CHECK_INT(words, 1);
  CHECK_INT(bits[0], expected);
  sidbeam_filter_release(on);
}

/* A question is asked of what came since, a set of rows has none of it; both lack nothing where something has gone, and
 * neither goes to a base that is another. */
static void filters_go_on_to_other_versions(void) {
  sidbeam_index *base = priced_index(), *added = NULL, *compacted = NULL;
  sidbeam_catalog* catalog = NULL;
  sidbeam_filter *asked = NULL, *refused = NULL;
  CHECK_OK(sidbeam_catalog_create(base, NULL, NULL, &catalog, &err));
  CHECK_INT(publish_pair(catalog, "333", 40), 2); /* row 6, of no price */
  CHECK_OK(sidbeam_catalog_snapshot(catalog, 2, &added, &err));
  CHECK_OK(sidbeam_filter_parse(base, "not price<3", 11, &asked, &err));
  const sidbeam_item_list two = ids(LIST(10, 12)), one = ids(LIST(40));
  sidbeam_filter *listed = make_filter(base, two), *newer = make_filter(added, one);
  const uint64_t* bits = NULL;
  int64_t words = 0;
  CHECK_OK(sidbeam_filter_rows(asked, &bits, &words, &err));
  check_rows(asked, base, bits[0]);
  check_rows(asked, added, bits[0] | 1 << 6);
  CHECK_OK(sidbeam_filter_rows(listed, &bits, &words, &err));
  check_rows(listed, added, bits[0]);
  check_rows(newer, added, 1 << 6);
  check_rows(newer, base, 0);
  CHECK_OK(sidbeam_catalog_compact(catalog, NULL, NULL, &err));
  CHECK_OK(sidbeam_catalog_snapshot(catalog, 3, &compacted, &err));
  CHECK_FAILS(sidbeam_filter_on(listed, compacted, &refused, &err), SIDBEAM_INVALID_ARGUMENT,
              "the filter is a set of items of an index on another base, expected one on the same");
  CHECK(refused == NULL);
  CHECK_OK(sidbeam_filter_on(asked, compacted, &refused, &err));
  sidbeam_filter_release(refused);
  sidbeam_filter_release(asked);
  sidbeam_filter_release(listed);
  sidbeam_filter_release(newer);
  sidbeam_index_release(base);
  sidbeam_index_release(added);
  sidbeam_index_release(compacted);
  sidbeam_catalog_close(catalog);
}

/* A constraint's filter is of the version that it names. */
static void a_filter_of_another_version_is_refused(void) {
  sidbeam_index* taken[VERSIONS];
  sidbeam_catalog* catalog = came_and_went(taken);
  const sidbeam_item_list one = ids(LIST(10));
  sidbeam_filter* filter = make_filter(taken[1], one);
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_constraint* constraint = NULL;
  config.filter = filter;
  config.index = taken[2];
  CHECK_FAILS(sidbeam_constraint_create(&config, &constraint, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.filter is of another index, expected one of config.index");
  config.index = taken[1];
  CHECK_OK(sidbeam_constraint_create(&config, &constraint, &err));
  sidbeam_constraint_release(constraint);
  sidbeam_filter_release(filter);
  let_go(catalog, taken);
}

/* What is not searched by trie takes a version of which nothing came and nothing went, and no other: neither a session
 * nor its slots. */
static void only_tries_follow(void) {
  static const char* const names[] = {"trie", "sorted", "sorted_topk", "hash_final", "none"};
  static const char* const says[] = {NULL, "items that have gone from its base", "items that were added to its base"};
  sidbeam_index* taken[VERSIONS];
  sidbeam_catalog* catalog = came_and_went(taken);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint* constraints[VERSIONS];
  for (int i = 0; i < VERSIONS; ++i) constraints[i] = constrain(taken[i]);
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_NONE; ++strategy) {
    sidbeam_session_config config = session_config(constraints[0]);
    config.strategy = strategy;
    sidbeam_session *session = make_session(&config), *made = NULL;
    for (int i = 0; i < VERSIONS; ++i) {
      char follows[100];
      sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
      config.constraint = constraints[i];
      start.constraints = &constraints[i];
      start.count = 1;
      snprintf(follows, sizeof follows, "expected strategy trie, which follows them, not %s", names[strategy]);
      if (says[i] == NULL || strategy == SIDBEAM_STRATEGY_TRIE) {
        sidbeam_session_destroy(make_session(&config));
        CHECK_OK(sidbeam_session_start(session, &start, &err));
        continue;
      }
      CHECK_FAILS(sidbeam_session_create(runtime, &config, &made, &err), SIDBEAM_UNSUPPORTED, "config.constraint has",
                  says[i], follows);
      CHECK_FAILS(sidbeam_session_start(session, &start, &err), SIDBEAM_UNSUPPORTED, "constraints[0] has", says[i],
                  follows);
    }
    sidbeam_session_destroy(session);
  }
  for (int i = 0; i < VERSIONS; ++i) sidbeam_constraint_release(constraints[i]);
  sidbeam_runtime_release(runtime);
  let_go(catalog, taken);
}

/* Whoever holds rules for none reads that a version has some: what has gone is left out as by a filter. */
static void a_constraint_says_what_is_live(void) {
  static const int64_t allowed_sids[] = {5, 4, 5}, allowed_items[] = {6, 5, 6};
  sidbeam_index* taken[VERSIONS];
  sidbeam_catalog* catalog = came_and_went(taken);
  for (int i = 0; i < VERSIONS; ++i) {
    sidbeam_constraint* constraint = constrain(taken[i]);
    sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
    CHECK_OK(sidbeam_constraint_get_info(constraint, &info, &err));
    CHECK_INT(info.rules, i > 0);
    CHECK_INT(info.allowed_sids, allowed_sids[i]);
    CHECK_INT(info.allowed_items, allowed_items[i]);
    sidbeam_constraint_release(constraint);
  }
  let_go(catalog, taken);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_version_says_which_it_is),
      TEST(an_older_version_counts_what_came_later),
      TEST(values_of_attributes_show_in_their_digest),
      TEST(a_version_has_no_bytes),
      TEST(what_was_added_is_no_range),
      TEST(filters_go_on_to_other_versions),
      TEST(a_filter_of_another_version_is_refused),
      TEST(only_tries_follow),
      TEST(a_constraint_says_what_is_live),
  };
  return RUN_TESTS(tests);
}
