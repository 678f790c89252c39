/* Filters: sets of an index's items, what is made of them, and what is refused. SPDX-License-Identifier: Apache-2.0 */
#include "rules_rig.h"

/* The rows of a filter as bits. */
static uint64_t bits_of(const sidbeam_filter* filter) {
  const uint64_t* bits = NULL;
  int64_t words = -1;
  CHECK_OK(sidbeam_filter_rows(filter, &bits, &words, &err));
  CHECK_INT(words, 1);
  return bits[0];
}

static sidbeam_filter_info info_of(const sidbeam_filter* filter) {
  sidbeam_filter_info info = SIDBEAM_FILTER_INFO_INIT;
  CHECK_OK(sidbeam_filter_get_info(filter, &info, &err));
  return info;
}

static void a_filter_has_all_rows_of_its_items(void) {
  static const int64_t shared_ids[6] = {8, 7, 8, 7, 6, 8};
  catalogue shared = small;
  int64_t unknown = -1;
  sidbeam_filter* filter = NULL;
  shared.ids = shared_ids;
  sidbeam_index* index = make_index(&shared, SIDBEAM_KIND_TRIE);
  const sidbeam_item_list list = ids(LIST(8, 99, 8, 6, -1));
  CHECK_OK(sidbeam_filter_from_items(index, &list, &unknown, &filter, &err));
  CHECK_INT(unknown, 2);
  uint64_t expected = 0;
  for (int64_t row = 0; row < 6; ++row) {
    int64_t id = 0;
    CHECK_OK(sidbeam_index_item_id(index, row, &id, NULL, NULL, &err));
    if (id == 8 || id == 6) expected |= UINT64_C(1) << row;
  }
  CHECK_INT(bits_of(filter), expected);
  CHECK_INT(info_of(filter).items, 4);
  sidbeam_filter_release(filter);
  sidbeam_index_release(index);
}

static void items_are_named_by_row_or_by_name(void) {
  static const int64_t offsets[4] = {0, 7, 10, 13};
  int64_t unknown = -1;
  sidbeam_filter* filter = NULL;
  sidbeam_index* index = make_index(&small_named, SIDBEAM_KIND_TRIE);
  sidbeam_item_list list = SIDBEAM_ITEM_LIST_INIT;
  list.names = "fifteentennot";
  list.offsets = offsets;
  list.count = 3;
  CHECK_OK(sidbeam_filter_from_items(index, &list, &unknown, &filter, &err));
  CHECK_INT(unknown, 1);
  CHECK_INT(bits_of(filter), 3); /* the two items of ordinal 0 */
  sidbeam_filter_release(filter);
  list = rows_of(LIST(5, 0, 5, 6, -1, INT64_MIN, INT64_MAX));
  CHECK_OK(sidbeam_filter_from_items(index, &list, &unknown, &filter, &err));
  CHECK_INT(unknown, 4);
  CHECK_INT(bits_of(filter), 0x21);
  sidbeam_filter_release(filter);
  sidbeam_index_release(index);
}

static void filters_are_joined_row_by_row(void) {
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_filter* const three[3] = {make_filter(index, rows_of(LIST(0, 1, 2, 3))),
                                    make_filter(index, rows_of(LIST(1, 3, 5))),
                                    make_filter(index, rows_of(LIST(3, 1, 0)))};
  static const struct {
    int32_t op;
    int64_t count;
    uint64_t rows;
  } each[] = {{SIDBEAM_FILTER_AND, 3, 0x0a},
              {SIDBEAM_FILTER_OR, 3, 0x2f},
              {SIDBEAM_FILTER_NOT, 1, 0x30},
              {SIDBEAM_FILTER_AND, 1, 0x0f},
              {SIDBEAM_FILTER_OR, 2, 0x2f}};
  for (size_t i = 0; i < COUNT(each); ++i) {
    sidbeam_filter* joined = NULL;
    CHECK_OK(sidbeam_filter_combine(each[i].op, three, each[i].count, &joined, &err));
    CHECK_INT(bits_of(joined), each[i].rows);
    sidbeam_filter_release(joined);
  }
  for (int i = 0; i < 3; ++i) sidbeam_filter_release(three[i]);
  sidbeam_index_release(index);
}

static void an_update_is_a_filter_of_its_own(void) {
  static const uint8_t allowed[5] = {1, 0, 0, 1, 1};
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  for (int prepared = 0; prepared < 2; ++prepared) {
    sidbeam_filter *before = make_filter(index, rows_of(LIST(0, 1, 2))), *after = NULL;
    int64_t unknown = -1;
    if (prepared) CHECK_OK(sidbeam_filter_prepare(before, &err));
    const sidbeam_item_list change = rows_of(LIST(4, 1, 4, 77, 0));
    CHECK_OK(sidbeam_filter_update(before, &change, allowed, &unknown, &after, &err));
    CHECK_INT(unknown, 1);
    CHECK_INT(bits_of(before), 0x07);
    CHECK_INT(bits_of(after), 0x05); /* the last word on row 4 counts */
    CHECK_INT(info_of(after).items, 2);
    CHECK_INT(info_of(after).prepared, prepared);
    CHECK_INT(info_of(after).sids, prepared ? 2 : -1);
    sidbeam_filter_release(before);
    sidbeam_filter_release(after);
  }
  sidbeam_index_release(index);
}

static void what_a_search_reads_is_derived_once(void) {
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_filter* filter = make_filter(index, rows_of(LIST(1, 4)));
  CHECK_INT(info_of(filter).prepared, 0);
  CHECK_INT(info_of(filter).sids, -1);
  const int64_t bytes = info_of(filter).bytes;
  sidbeam_constraint_release(make_ruled(index, filter, NULL, NULL));
  CHECK_INT(info_of(filter).prepared, 1);
  CHECK_INT(info_of(filter).sids, 2);
  CHECK(info_of(filter).bytes > bytes);
  sidbeam_index_release(index); /* the filter holds it */
  CHECK_INT(bits_of(filter), 0x12);
  sidbeam_filter_retain(filter);
  sidbeam_filter_release(filter);
  CHECK_INT(bits_of(filter), 0x12);
  sidbeam_filter_release(filter);
  sidbeam_filter_release(NULL);
  sidbeam_filter_retain(NULL);
}

static void a_wrong_list_is_refused(void) {
  static const int64_t falling[3] = {0, 5, 3}, negative[2] = {-1, 3};
  sidbeam_index *index = make_index(&small, SIDBEAM_KIND_TRIE), *named = make_index(&small_named, SIDBEAM_KIND_TRIE);
  sidbeam_filter* filter = NULL;
  int64_t unknown = -3;
  sidbeam_item_list list = ids(LIST(1, 2));
#define REFUSED(of, ...) \
  CHECK_FAILS(sidbeam_filter_from_items(of, &list, &unknown, &filter, &err), SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__)
  REFUSED(NULL, "index is NULL");
  REFUSED(named, "items gives numbers, expected names, since its ids are strings");
  list.by = 7;
  REFUSED(index, "items.by is 7, expected 0 (ids) or 1 (item rows)");
  list.by = SIDBEAM_ITEMS_BY_ID;
  list.count = -1;
  REFUSED(index, "items.count is -1, expected at least 0");
  list.count = 2;
  list.names = "ab";
  REFUSED(index, "items gives names, expected numbers, since its ids are integers");
  list.by = SIDBEAM_ITEMS_BY_ROW;
  REFUSED(named, "items gives names, expected item rows as numbers");
  list = ids(NULL, 2);
  REFUSED(index, "items.numbers is NULL, expected 2 entries");
  REFUSED(named, "items.names or .offsets is NULL, expected 2 entries");
  list.names = "abcde";
  REFUSED(named, "items.names or .offsets is NULL");
  list.offsets = falling;
  REFUSED(named, "items.offsets[2] is 3 after 5, expected offsets that rise from 0");
  list.offsets = negative;
  list.count = 1;
  REFUSED(named, "items.offsets[1] is 3 after -1");
  list.struct_size = 4;
  REFUSED(named, "items.struct_size is 4");
#undef REFUSED
  CHECK_FAILS(sidbeam_filter_from_items(index, NULL, NULL, &filter, &err), SIDBEAM_INVALID_ARGUMENT, "items is NULL");
  list = ids(NULL, 0);
  CHECK_FAILS(sidbeam_filter_from_items(index, &list, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK(filter == NULL);
  CHECK_INT(unknown, -3);
  sidbeam_index_release(index);
  sidbeam_index_release(named);
}

static void a_wrong_combination_or_update_is_refused(void) {
  sidbeam_index *index = make_index(&small, SIDBEAM_KIND_TRIE), *other = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_filter* two[3] = {make_filter(index, rows_of(LIST(0))), make_filter(other, rows_of(LIST(0))), NULL};
  sidbeam_filter* out = NULL;
  const sidbeam_item_list list = rows_of(LIST(1));
  const uint8_t allowed = 1;
#define REFUSED(op, filters, count, ...) \
  CHECK_FAILS(sidbeam_filter_combine(op, filters, count, &out, &err), SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__)
  REFUSED(3, two, 1, "op is 3, expected SIDBEAM_FILTER_AND, OR or NOT");
  REFUSED(SIDBEAM_FILTER_AND, two, 0, "count is 0, expected at least 1");
  REFUSED(SIDBEAM_FILTER_NOT, two, 2, "count is 2, expected 1, since op is NOT");
  REFUSED(SIDBEAM_FILTER_OR, NULL, 1, "filters is NULL");
  REFUSED(SIDBEAM_FILTER_OR, two, 2, "filters[1] is of another index, expected that of filters[0]");
  REFUSED(SIDBEAM_FILTER_OR, two + 2, 1, "filters[0] is NULL, expected a filter");
#undef REFUSED
  CHECK_FAILS(sidbeam_filter_combine(0, two, 1, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_FAILS(sidbeam_filter_update(NULL, &list, &allowed, NULL, &out, &err), SIDBEAM_INVALID_ARGUMENT,
              "filter is NULL");
  CHECK_FAILS(sidbeam_filter_update(two[0], &list, NULL, NULL, &out, &err), SIDBEAM_INVALID_ARGUMENT,
              "allowed is NULL");
  CHECK_FAILS(sidbeam_filter_prepare(NULL, &err), SIDBEAM_INVALID_ARGUMENT, "filter is NULL");
  CHECK(out == NULL);
  sidbeam_filter_release(two[0]);
  sidbeam_filter_release(two[1]);
  sidbeam_index_release(index);
  sidbeam_index_release(other);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_filter_has_all_rows_of_its_items),
      TEST(items_are_named_by_row_or_by_name),
      TEST(filters_are_joined_row_by_row),
      TEST(an_update_is_a_filter_of_its_own),
      TEST(what_a_search_reads_is_derived_once),
      TEST(a_wrong_list_is_refused),
      TEST(a_wrong_combination_or_update_is_refused),
  };
  return RUN_TESTS(tests);
}
