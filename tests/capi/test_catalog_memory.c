/* What a live catalogue keeps, in memory and in its log, of what it is given.
 * SPDX-License-Identifier: Apache-2.0 */
#include "catalog_rig.h"

static sidbeam_catalog* catalog_of(sidbeam_index* base, const char* folder) {
  sidbeam_catalog* catalog = NULL;
  CHECK_OK(sidbeam_catalog_create(base, folder, NULL, &catalog, &err));
  sidbeam_index_release(base);
  return catalog;
}

/* Item i, of 64, has a SID of its own, a name of five characters, and priority 1; item 17 has another. */
static void add_many(sidbeam_catalog* catalog, int64_t priority) {
  enum { COUNT = 64 };
  int32_t codes[COUNT * 3];
  char names[COUNT * 5 + 1];
  int64_t offsets[COUNT + 1], priorities[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    for (int l = 0; l < 3; ++l) codes[3 * i + l] = i >> (4 - 2 * l) & 3;
    snprintf(names + 5 * i, 6, "it%03d", i);
    offsets[i] = (int64_t)5 * i;
    priorities[i] = i == 17 ? priority : 1;
  }
  offsets[COUNT] = (int64_t)5 * COUNT;
  sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  pairs.codes = codes;
  pairs.count = COUNT;
  pairs.id_bytes = names;
  pairs.id_offsets = offsets;
  pairs.priorities = priorities;
  CHECK_OK(sidbeam_catalog_add(catalog, &pairs, &err));
}

static void what_is_there_takes_no_memory_again(void) {
  sidbeam_catalog* const catalog = catalog_of(make_index(&small_named, SIDBEAM_KIND_TRIE), NULL);
  add_many(catalog, 1);
  CHECK_INT(publish(catalog), 2);
  const int64_t bytes = info_of(catalog).memory_bytes;
  for (int again = 0; again < 1000; ++again) add_many(catalog, 1);
  CHECK_INT(info_of(catalog).changes, 0);
  CHECK_INT(info_of(catalog).memory_bytes, bytes);
  add_many(catalog, 2); /* one of them is new, in the place of another */
  CHECK_INT(info_of(catalog).changes, 1);
  CHECK_INT(publish(catalog), 3);
  CHECK_INT(info_of(catalog).items, 6 + 64);
  static const int64_t offsets[] = {0, 5, 10, 15, 20};
  sidbeam_item_list items = SIDBEAM_ITEM_LIST_INIT;
  items.names = "it016it017it018it063";
  items.offsets = offsets;
  items.count = 4;
  int64_t unknown = -1;
  CHECK_OK(sidbeam_catalog_remove(catalog, &items, &unknown, &err));
  CHECK_INT(unknown, 0);
  CHECK_INT(publish(catalog), 4);
  CHECK_INT(info_of(catalog).items, 6 + 64 - 4);
  sidbeam_catalog_close(catalog);
}

static int64_t items_where(sidbeam_catalog* catalog, const char* text) {
  sidbeam_filter_info info = SIDBEAM_FILTER_INFO_INIT;
  sidbeam_index* version = NULL;
  sidbeam_filter* filter = NULL;
  CHECK_OK(sidbeam_catalog_snapshot(catalog, 0, &version, &err));
  CHECK_OK(sidbeam_filter_parse(version, text, (int64_t)strlen(text), &filter, &err));
  CHECK_OK(sidbeam_filter_get_info(filter, &info, &err));
  sidbeam_filter_release(filter);
  sidbeam_index_release(version);
  return info.items;
}

/* Strings are slices of a larger text, and what a null has is not read. */
static void the_log_has_what_was_given_and_nothing_beside_it(void) {
  enum { BEFORE = 1 << 20 };
  static const int32_t sids[] = {3, 3, 3, 3, 3, 2};
  static const int64_t ids[] = {40, 41}, offsets[] = {BEFORE, BEFORE + 5, BEFORE + 5}, prices[] = {4, 5};
  static const uint8_t valid[] = {1, 0};
  char* const text = calloc(1, BEFORE + 5);
  CHECK(text != NULL);
  memcpy(text + BEFORE, "north", 5);
  const char* const folder = fresh_folder("slices");
  sidbeam_catalog* catalog = catalog_of(priced_index(), folder);
  sidbeam_attribute_column region = SIDBEAM_ATTRIBUTE_COLUMN_INIT, price = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  const sidbeam_attribute_column* const columns[] = {&region, &price};
  sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  region.name = "region";
  region.offsets = offsets;
  region.text = text;
  price.name = "price";
  price.integers = prices;
  price.valid = valid;
  pairs.codes = sids;
  pairs.count = 2;
  pairs.ids = ids;
  pairs.attributes = columns;
  pairs.attribute_count = 2;
  const int64_t before = info_of(catalog).log_bytes;
  CHECK_OK(sidbeam_catalog_add(catalog, &pairs, &err));
  CHECK_INT(publish(catalog), 2);
  CHECK(info_of(catalog).log_bytes - before < 1024);
  sidbeam_catalog_close(catalog);
  free(text);
  catalog = open_catalog(folder, NULL);
  CHECK_INT(items_where(catalog, "region = north and price = 4"), 1);
  CHECK_INT(items_where(catalog, "price is null"), 1);
  sidbeam_catalog_close(catalog);
}

int main(void) {
  static const test_case tests[] = {
      TEST(what_is_there_takes_no_memory_again),
      TEST(the_log_has_what_was_given_and_nothing_beside_it),
  };
  return RUN_TESTS(tests);
}
