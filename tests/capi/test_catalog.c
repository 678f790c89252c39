/* Live catalogues in memory: changes, versions, and what each call refuses.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sidbeam/catalog.h>

#include "arrow_columns.h"
#include "catalog_rig.h"

static void versions_hold_what_was_published(void) {
  sidbeam_catalog* catalog = make_catalog(NULL);
  CHECK_TEXT(content(catalog, 0), SMALL_CONTENT);
  CHECK_OK(add_pair(catalog, "333", 40, &err));
  CHECK_OK(remove_item(catalog, 15, &err));
  CHECK_TEXT(content(catalog, 0), SMALL_CONTENT);
  CHECK_INT(info_of(catalog).changes, 2);
  CHECK_INT(publish(catalog), 2);
  CHECK_INT(publish(catalog), 2); /* nothing has changed */
  CHECK_TEXT(content(catalog, 2), "012:10 013:11 030:12 221:13 300:14 333:40 ");
  CHECK_TEXT(content(catalog, 1), SMALL_CONTENT);
  CHECK_OK(add_pair(catalog, "333", 41, &err));
  CHECK_OK(sidbeam_catalog_discard(catalog, &err));
  CHECK_INT(info_of(catalog).changes, 0);
  CHECK_INT(publish(catalog), 2);
  CHECK_INT(publish_pair(catalog, "012", 9), 3);
  CHECK_TEXT(content(catalog, 0), "012:10,9 013:11 030:12 221:13 300:14 333:40 ");
  sidbeam_catalog_close(catalog);
}

static void a_rollback_publishes_what_was(void) {
  sidbeam_version_info info = SIDBEAM_VERSION_INFO_INIT;
  sidbeam_catalog* catalog = make_catalog(NULL);
  int64_t made = 0;
  (void)publish_pair(catalog, "333", 40);
  CHECK_OK(remove_item(catalog, 13, &err));
  CHECK_INT(publish(catalog), 3);
  CHECK_OK(add_pair(catalog, "333", 41, &err)); /* is dropped */
  CHECK_OK(sidbeam_catalog_rollback(catalog, 2, &made, &err));
  CHECK_INT(made, 4);
  CHECK_TEXT(content(catalog, 0), SMALL_CONTENT "333:40 ");
  CHECK_INT(info_of(catalog).changes, 0);
  CHECK_OK(sidbeam_catalog_get_version(catalog, 4, &info, &err));
  CHECK_INT(info.back_to, 2);
  CHECK_INT(info.changed, 1);
  CHECK_INT(info.items, 7);
  CHECK_OK(sidbeam_catalog_rollback(catalog, 4, NULL, &err)); /* the newest: a version all the same */
  CHECK_INT(info_of(catalog).version, 5);
  CHECK_TEXT(content(catalog, 3), "012:15,10 013:11 030:12 300:14 333:40 ");
  sidbeam_catalog_close(catalog);
}

static void a_snapshot_outlives_its_catalogue(void) {
  sidbeam_catalog* catalog = make_catalog(NULL);
  sidbeam_index *old = NULL, *index = NULL;
  CHECK_OK(sidbeam_catalog_snapshot(catalog, 0, &old, &err));
  (void)publish_pair(catalog, "333", 40);
  CHECK_OK(sidbeam_catalog_snapshot(catalog, 2, &index, &err));
  sidbeam_catalog_close(catalog);
  CHECK_TEXT(content_of(index), SMALL_CONTENT "333:40 ");
  CHECK_TEXT(content_of(old), SMALL_CONTENT);
  sidbeam_index_release(index);
  sidbeam_index_release(old);
  sidbeam_catalog_close(NULL);
}

/* --- Arguments --- */

static void missing_objects_are_named(void) {
  sidbeam_catalog* catalog = make_catalog(NULL);
  sidbeam_index* base = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_catalog* out = NULL;
  sidbeam_index* index = NULL;
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  sidbeam_version_info version = SIDBEAM_VERSION_INFO_INIT;
  const sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  const sidbeam_item_list list = ids(NULL, 0);
  const int bad = SIDBEAM_INVALID_ARGUMENT;
  struct ArrowArrayStream stream;
  arrow_source source = {0};
  CHECK_FAILS(sidbeam_catalog_create(NULL, NULL, NULL, &out, &err), bad, "base is NULL");
  CHECK_FAILS(sidbeam_catalog_create(base, NULL, NULL, NULL, &err), bad, "out is NULL");
  CHECK_FAILS(sidbeam_catalog_create(base, "", NULL, &out, &err), bad, "folder is \"\", expected the path of one");
  CHECK_FAILS(sidbeam_catalog_open(NULL, "x", NULL, &out, &err), bad, "runtime is NULL");
  CHECK_FAILS(sidbeam_catalog_open(runtime, NULL, NULL, &out, &err), bad, "folder is NULL");
  CHECK_FAILS(sidbeam_catalog_open(runtime, "x", NULL, NULL, &err), bad, "out is NULL");
  CHECK_FAILS(sidbeam_catalog_follow(NULL, "x", NULL, &out, &err), bad, "runtime is NULL");
  CHECK_FAILS(sidbeam_catalog_follow(runtime, NULL, NULL, &out, &err), bad, "folder is NULL");
  CHECK_FAILS(sidbeam_catalog_follow(runtime, "x", NULL, NULL, &err), bad, "out is NULL");
  CHECK_FAILS(sidbeam_catalog_refresh(NULL, 0, NULL, &err), bad, "catalog is NULL");
  CHECK_FAILS(sidbeam_catalog_refresh(catalog, -1, NULL, &err), bad, "wait_ms is -1, expected at least 0");
  CHECK_FAILS(sidbeam_catalog_add(NULL, &pairs, &err), bad, "catalog is NULL");
  CHECK_FAILS(sidbeam_catalog_add(catalog, NULL, &err), bad, "pairs is NULL");
  CHECK_FAILS(sidbeam_catalog_add_arrow(catalog, NULL, NULL, NULL, &err), bad, "stream is NULL");
  source.fail_at = -1;
  arrow_export(&source, &stream);
  CHECK_FAILS(sidbeam_catalog_add_arrow(NULL, &stream, NULL, NULL, &err), bad, "catalog is NULL");
  CHECK_INT(source.released, 1);
  CHECK_FAILS(sidbeam_catalog_remove(NULL, &list, NULL, &err), bad, "catalog is NULL");
  CHECK_FAILS(sidbeam_catalog_remove(catalog, NULL, NULL, &err), bad, "items is NULL");
  CHECK_FAILS(sidbeam_catalog_discard(NULL, &err), bad, "catalog is NULL");
  CHECK_FAILS(sidbeam_catalog_publish(NULL, NULL, &err), bad, "catalog is NULL");
  CHECK_FAILS(sidbeam_catalog_rollback(NULL, 1, NULL, &err), bad, "catalog is NULL");
  CHECK_FAILS(sidbeam_catalog_compact(NULL, NULL, NULL, &err), bad, "catalog is NULL");
  CHECK_FAILS(sidbeam_catalog_sync(NULL, &err), bad, "catalog is NULL");
  CHECK_FAILS(sidbeam_catalog_snapshot(NULL, 0, &index, &err), bad, "catalog is NULL");
  CHECK_FAILS(sidbeam_catalog_snapshot(catalog, 0, NULL, &err), bad, "out is NULL");
  CHECK_FAILS(sidbeam_catalog_get_info(NULL, &info, &err), bad, "catalog is NULL");
  CHECK_FAILS(sidbeam_catalog_get_info(catalog, NULL, &err), bad, "out is NULL");
  CHECK_FAILS(sidbeam_catalog_get_version(NULL, 1, &version, &err), bad, "catalog is NULL");
  CHECK_FAILS(sidbeam_catalog_get_version(catalog, 1, NULL, &err), bad, "out is NULL");
  CHECK(out == NULL && index == NULL);
  sidbeam_runtime_release(runtime);
  sidbeam_index_release(base);
  sidbeam_catalog_close(catalog);
}

/* Too small a size, and one of a newer header that asks for something. */
#define CHECK_STRUCT(type, init, call)                                    \
  do {                                                                    \
    const type whole = init;                                              \
    type given = init;                                                    \
    type* it = &given;                                                    \
    given.struct_size = 3;                                                \
    CHECK_FAILS(call, SIDBEAM_INVALID_ARGUMENT, "struct_size is 3");      \
    it = grown(&whole, sizeof whole, 1);                                  \
    CHECK_FAILS(call, SIDBEAM_UNSUPPORTED, "asks for something at byte"); \
    it = grown(&whole, sizeof whole, 0);                                  \
    CHECK_OK(call);                                                       \
  } while (0)

static sidbeam_status create_with(sidbeam_index* base, const sidbeam_catalog_config* config) {
  sidbeam_catalog* made = NULL;
  const sidbeam_status status = sidbeam_catalog_create(base, NULL, config, &made, &err);
  CHECK((made != NULL) == (status == SIDBEAM_OK));
  sidbeam_catalog_close(made);
  return status;
}

static void sizes_of_structs_are_checked(void) {
  sidbeam_catalog* catalog = make_catalog(NULL);
  sidbeam_index* base = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  sidbeam_version_info version = SIDBEAM_VERSION_INFO_INIT;
  CHECK_STRUCT(sidbeam_catalog_config, SIDBEAM_CATALOG_CONFIG_INIT, create_with(base, it));
  CHECK_STRUCT(sidbeam_pairs, SIDBEAM_PAIRS_INIT, sidbeam_catalog_add(catalog, it, &err));
  CHECK_STRUCT(sidbeam_item_list, SIDBEAM_ITEM_LIST_INIT, sidbeam_catalog_remove(catalog, it, NULL, &err));
  CHECK_STRUCT(sidbeam_compact_config, SIDBEAM_COMPACT_CONFIG_INIT, sidbeam_catalog_compact(catalog, it, NULL, &err));
  info.struct_size = version.struct_size = 3;
  CHECK_FAILS(sidbeam_catalog_get_info(catalog, &info, &err), SIDBEAM_INVALID_ARGUMENT, "struct_size is 3");
  CHECK_FAILS(sidbeam_catalog_get_version(catalog, 1, &version, &err), SIDBEAM_INVALID_ARGUMENT, "struct_size is 3");
  sidbeam_catalog_info* longer = grown(&info, sizeof info, 0x55);
  CHECK_OK(sidbeam_catalog_get_info(catalog, longer, &err));
  CHECK_INT(((const unsigned char*)longer)[sizeof info], 0);
  sidbeam_index_release(base);
  sidbeam_catalog_close(catalog);
}

static void configurations_are_checked(void) {
  sidbeam_index* base = make_index(&small, SIDBEAM_KIND_TRIE);
  const sidbeam_catalog_config defaults = SIDBEAM_CATALOG_CONFIG_INIT;
  sidbeam_catalog_config config = defaults;
  config.sync = 3;
  CHECK_FAILS(create_with(base, &config), SIDBEAM_INVALID_ARGUMENT, "config.sync is 3, expected SIDBEAM_SYNC_PUBLISH");
  config.sync = -1;
  CHECK_FAILS(create_with(base, &config), SIDBEAM_INVALID_ARGUMENT, "config.sync is -1");
  config = defaults;
  config.sync_interval_ms = -1;
  CHECK_FAILS(create_with(base, &config), SIDBEAM_INVALID_ARGUMENT, "config.sync_interval_ms is -1, expected");
  config = defaults;
  config.keep_versions = -2;
  CHECK_FAILS(create_with(base, &config), SIDBEAM_INVALID_ARGUMENT, "config.keep_versions is -2, expected");
  config = defaults;
  config.keep_ms = INT64_MIN;
  CHECK_FAILS(create_with(base, &config), SIDBEAM_INVALID_ARGUMENT, "config.keep_ms is -9223372036854775808");
  config = defaults;
  config.residency = 9;
  CHECK_FAILS(create_with(base, &config), SIDBEAM_INVALID_ARGUMENT, "residency is 9, expected");
  config = defaults;
  config.verify = -1;
  CHECK_FAILS(create_with(base, &config), SIDBEAM_INVALID_ARGUMENT, "verify is -1, expected");
  config = defaults;
  config.sync = SIDBEAM_SYNC_INTERVAL;
  config.sync_interval_ms = config.keep_ms = config.keep_versions = INT64_MAX;
  CHECK_OK(create_with(base, &config));
  sidbeam_index_release(base);
}

static void a_base_needs_a_trie_of_its_own(void) {
  sidbeam_index *sorted = make_index(&small, SIDBEAM_KIND_SORTED), *version = NULL;
  sidbeam_catalog* catalog = make_catalog(NULL);
  (void)publish_pair(catalog, "333", 40);
  CHECK_OK(sidbeam_catalog_snapshot(catalog, 0, &version, &err));
  CHECK_FAILS(create_with(sorted, NULL), SIDBEAM_MISSING_SECTION, "the index has no trie");
  CHECK_FAILS(create_with(version, NULL), SIDBEAM_INVALID_ARGUMENT, "the base is a version of a live catalogue");
  sidbeam_index_release(sorted);
  sidbeam_index_release(version);
  sidbeam_catalog_close(catalog);
}

/* --- Changes --- */

static sidbeam_pairs pairs_of(const int32_t* codes, const int64_t* numbers, int64_t count) {
  sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  pairs.codes = codes;
  pairs.ids = numbers;
  pairs.count = count;
  return pairs;
}

static void pairs_that_do_not_fit_change_nothing(void) {
  static const int32_t codes[6] = {3, 3, 3, 1, 4, 0}, negative[6] = {3, 3, -1}, short_ones[2] = {3, 2};
  static const int64_t numbers[2] = {40, 41}, offsets[3] = {0, 1, 2};
  const int bad = SIDBEAM_INVALID_ARGUMENT;
  sidbeam_catalog* catalog = make_catalog(NULL);
  sidbeam_pairs pairs = pairs_of(codes, numbers, 2);
  (void)publish_pair(catalog, "111", 39);
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "level 1: code 4, expected 0 to 3");
  pairs.codes = negative;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "level 2: code -1, expected 0 to 3");
  pairs.count = -1;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "count is -1, expected 0 or more");
  pairs = pairs_of(NULL, numbers, 2);
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "codes is NULL, expected 2 rows");
  pairs = pairs_of(codes, NULL, 1);
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "ids is NULL, expected the ids of 1 items");
  pairs.id_bytes = "xy";
  pairs.id_offsets = offsets;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "ids of the catalogue are integers");
  pairs = pairs_of(codes, numbers, 2);
  pairs.lengths = short_ones;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "has 2 codes, expected 3");
  pairs = pairs_of(codes, numbers, (int64_t)1 << 40);
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "count is 1099511627776", "fewer than 2^40");
  pairs = pairs_of(codes, numbers, 1);
  pairs.attribute_count = -1;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "pairs has -1 attributes");
  pairs.attribute_count = 1;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "pairs.attributes is NULL");
  CHECK_INT(info_of(catalog).changes, 0);
  CHECK_TEXT(content(catalog, 0), "012:15,10 013:11 030:12 111:39 221:13 300:14 ");
  sidbeam_catalog_close(catalog);
}

static void names_are_refused_before_the_first_pair_too(void) {
  static const int32_t codes[3] = {3, 3, 3};
  static const int64_t offsets[2] = {0, 1}, number = 5;
  sidbeam_catalog* catalog = make_catalog(NULL);
  sidbeam_pairs pairs = pairs_of(codes, NULL, 1);
  pairs.id_bytes = "x";
  pairs.id_offsets = offsets;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), SIDBEAM_INVALID_ARGUMENT,
              "ids of the catalogue are integers");
  sidbeam_catalog_close(catalog);
  sidbeam_index* base = make_index(&small_named, SIDBEAM_KIND_TRIE);
  CHECK_OK(sidbeam_catalog_create(base, NULL, NULL, &catalog, &err));
  sidbeam_index_release(base);
  pairs = pairs_of(codes, &number, 1);
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), SIDBEAM_INVALID_ARGUMENT, "ids of the catalogue are strings");
  pairs.id_bytes = "x";
  pairs.id_offsets = offsets;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), SIDBEAM_INVALID_ARGUMENT, "ids of the catalogue are strings");
  pairs.ids = NULL;
  CHECK_OK(sidbeam_catalog_add(catalog, &pairs, &err));
  CHECK_INT(publish(catalog), 2);
  CHECK_INT(info_of(catalog).items, 7);
  sidbeam_catalog_close(catalog);
}

static void attributes_that_do_not_fit_change_nothing(void) {
  static const int32_t codes[3] = {3, 3, 3};
  static const int64_t numbers[1] = {40}, price_of_it[1] = {7};
  static const float wrong[1] = {7};
  const int bad = SIDBEAM_INVALID_ARGUMENT;
  sidbeam_index* base = priced_index();
  sidbeam_catalog* catalog = NULL;
  sidbeam_attribute_column price = SIDBEAM_ATTRIBUTE_COLUMN_INIT, other = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  const sidbeam_attribute_column* columns[2] = {&price, &other};
  sidbeam_pairs pairs = pairs_of(codes, numbers, 1);
  CHECK_OK(sidbeam_catalog_create(base, NULL, NULL, &catalog, &err));
  sidbeam_index_release(base);
  price.name = "price";
  price.integers = price_of_it;
  other = price;
  pairs.attributes = columns;
  pairs.attribute_count = 2;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "attribute 'price' has values for row");
  other.name = "colour";
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "no attribute 'colour' was declared, expected one of 2");
  other.name = NULL;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "name is NULL, expected");
  other.name = "region"; /* a string */
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "attribute 'region': offsets is NULL");
  pairs.attribute_count = 1;
  price.integers = NULL;
  price.numbers = wrong;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "attribute 'price': integers is NULL");
  columns[0] = NULL;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "attributes is NULL");
  columns[0] = &price;
  pairs.attribute_count = (int64_t)1 << 40;
  CHECK_FAILS(sidbeam_catalog_add(catalog, &pairs, &err), bad, "pairs has 1099511627776 attributes, expected 0 to 2");
  CHECK_INT(info_of(catalog).changes, 0);
  CHECK_TEXT(content(catalog, 0), SMALL_CONTENT);
  sidbeam_catalog_close(catalog);
}

static void removals_are_by_id(void) {
  sidbeam_catalog* catalog = make_catalog(NULL);
  sidbeam_item_list list = rows_of(LIST(1));
  int64_t unknown = -1;
  const int bad = SIDBEAM_INVALID_ARGUMENT;
  CHECK_FAILS(sidbeam_catalog_remove(catalog, &list, NULL, &err), bad, "items are removed by id");
  list = ids(NULL, 1);
  CHECK_FAILS(sidbeam_catalog_remove(catalog, &list, NULL, &err), bad, "items.numbers is NULL, expected 1 entries");
  list.count = -1;
  CHECK_FAILS(sidbeam_catalog_remove(catalog, &list, NULL, &err), bad, "items.count is -1");
  list = ids(LIST(10));
  list.names = "x";
  CHECK_FAILS(sidbeam_catalog_remove(catalog, &list, NULL, &err), bad, "its ids are integers");
  list = ids(LIST(10));
  for (int bits = 40; bits <= 60; bits += 20) {
    list.count = (int64_t)1 << bits;
    CHECK_FAILS(sidbeam_catalog_remove(catalog, &list, NULL, &err), bad, "a catalogue holds fewer than 2^40 items");
  }
  list = ids(LIST(10, 99, 10));
  CHECK_OK(sidbeam_catalog_remove(catalog, &list, &unknown, &err));
  CHECK_INT(unknown, 1);
  list = ids(LIST(10, 99));
  CHECK_OK(sidbeam_catalog_remove(catalog, &list, &unknown, &err));
  CHECK_INT(unknown, 2);
  CHECK_INT(info_of(catalog).changes, 1);
  (void)publish(catalog);
  CHECK_TEXT(content(catalog, 0), "012:15 013:11 030:12 221:13 300:14 ");
  list = ids(LIST(11, 12, 13, 14, 15));
  CHECK_OK(sidbeam_catalog_remove(catalog, &list, &unknown, &err));
  CHECK_INT(unknown, 0);
  (void)publish(catalog);
  CHECK_TEXT(content(catalog, 0), "");
  CHECK_FAILS(sidbeam_catalog_compact(catalog, NULL, NULL, &err), bad, "no item is live");
  sidbeam_catalog_close(catalog);
}

static void versions_that_are_gone_are_refused_with_those_that_are_kept(void) {
  sidbeam_index *base = make_index(&small, SIDBEAM_KIND_TRIE), *index = NULL;
  sidbeam_catalog* catalog = NULL;
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  sidbeam_version_info info = SIDBEAM_VERSION_INFO_INIT;
  config.keep_versions = 2;
  CHECK_OK(sidbeam_catalog_create(base, NULL, &config, &catalog, &err));
  sidbeam_index_release(base);
  for (int64_t id = 40; id < 44; ++id) (void)publish_pair(catalog, "333", id);
  CHECK_INT(info_of(catalog).oldest_version, 4);
  for (int64_t version = -1; version < 8; version += version == -1 ? 2 : version == 3 ? 3 : 1) {
    const char* const kept = "expected one of those that are kept, 4 to 5";
    CHECK_FAILS(sidbeam_catalog_snapshot(catalog, version, &index, &err), SIDBEAM_INVALID_ARGUMENT, kept);
    CHECK_FAILS(sidbeam_catalog_rollback(catalog, version, NULL, &err), SIDBEAM_INVALID_ARGUMENT, kept);
    CHECK_FAILS(sidbeam_catalog_get_version(catalog, version, &info, &err), SIDBEAM_INVALID_ARGUMENT, kept);
  }
  CHECK_FAILS(sidbeam_catalog_rollback(catalog, 0, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "version is 0");
  CHECK_FAILS(sidbeam_catalog_refresh(catalog, 0, NULL, &err), SIDBEAM_BAD_STATE, "opened to write it");
  CHECK_OK(sidbeam_catalog_sync(catalog, &err));
  CHECK_OK(sidbeam_catalog_rollback(catalog, 4, NULL, &err));
  CHECK_TEXT(content(catalog, 6), SMALL_CONTENT "333:40,41,42 ");
  sidbeam_catalog_close(catalog);
}

int main(void) {
  static const test_case tests[] = {
      TEST(versions_hold_what_was_published),
      TEST(a_rollback_publishes_what_was),
      TEST(a_snapshot_outlives_its_catalogue),
      TEST(missing_objects_are_named),
      TEST(sizes_of_structs_are_checked),
      TEST(configurations_are_checked),
      TEST(a_base_needs_a_trie_of_its_own),
      TEST(pairs_that_do_not_fit_change_nothing),
      TEST(names_are_refused_before_the_first_pair_too),
      TEST(attributes_that_do_not_fit_change_nothing),
      TEST(removals_are_by_id),
      TEST(versions_that_are_gone_are_refused_with_those_that_are_kept),
  };
  return RUN_TESTS(tests);
}
