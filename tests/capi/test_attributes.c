/* Attributes of items: what a builder refuses and takes, and what an index tells of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

static const char* const names[] = {"price", "score", "stock", "brand", "tags"};

/* A builder for the catalogue `small`, of whose five types of attributes it has one each. */
static sidbeam_builder* declared(void) {
  const sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_builder* builder = NULL;
  CHECK_OK(sidbeam_builder_create(runtime, &config, &builder, &err));
  sidbeam_runtime_release(runtime);
  for (int32_t type = SIDBEAM_ATTRIBUTE_I64; type <= SIDBEAM_ATTRIBUTE_STRING_LIST; ++type)
    CHECK_OK(sidbeam_builder_declare_attribute(builder, names[type - 1], type, &err));
  return builder;
}

/* The pairs of `small` too. */
static sidbeam_builder* added(void) {
  sidbeam_builder* builder = declared();
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_INT(small.count, 6);
  return builder;
}

static sidbeam_attribute_column column_of(const char* name) {
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  column.name = name;
  return column;
}

/* By pair of `small`; strings of two bytes or none. */
static const int64_t prices[6] = {5, -7, 9, 0, 1, 2};
static const float scores[6] = {0.5f, -1, 4, 2, 1, 0};
static const uint8_t stock[6] = {1, 0, 2, 0, 0, 1}, bits[1] = {0x3d}, bytes_valid[6] = {1, 0, 1, 1, 1, 1};
static const int64_t two_each[7] = {0, 2, 4, 4, 6, 8, 10};
static const int64_t lists[7] = {0, 2, 2, 3, 3, 5, 5}, list_codes[5] = {1, 0, 1, 0, 0};

static void set_all(sidbeam_builder* builder) {
  sidbeam_attribute_column column = column_of("price");
  column.integers = prices;
  column.valid_bits = bits; /* all but the second */
  CHECK_OK(sidbeam_builder_set_attribute(builder, &column, 6, &err));
  column = column_of("score");
  column.numbers = scores;
  CHECK_OK(sidbeam_builder_set_attribute(builder, &column, 6, &err));
  column = column_of("stock");
  column.bools = stock;
  column.valid = bytes_valid;
  CHECK_OK(sidbeam_builder_set_attribute(builder, &column, 6, &err));
  column = column_of("brand");
  column.text = "b1a1b1c1a1";
  column.offsets = two_each;
  CHECK_OK(sidbeam_builder_set_attribute(builder, &column, 6, &err));
  column = column_of("tags");
  column.text = "b1a1b1c1a1";
  column.offsets = two_each;
  column.lists = lists;
  column.codes = list_codes;
  column.string_count = 2;
  CHECK_OK(sidbeam_builder_set_attribute(builder, &column, 6, &err));
}

static sidbeam_index* built(void) {
  sidbeam_builder* builder = added();
  sidbeam_index* index = NULL;
  set_all(builder);
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  return index;
}

/* The pair of `small` with this item id. */
static int64_t pair_of(const sidbeam_index* index, int64_t item_row) {
  int64_t id = 0, pair = 0;
  CHECK_OK(sidbeam_index_item_id(index, item_row, &id, NULL, NULL, &err));
  while (small.ids[pair] != id) ++pair;
  return pair;
}

static int64_t number_of(const sidbeam_index* index, const char* name) {
  int64_t attribute = -2;
  CHECK_OK(sidbeam_index_find_attribute(index, name, &attribute, &err));
  return attribute;
}

static void an_index_says_what_attributes_it_has(void) {
  static const char* const sorted[] = {"brand", "price", "score", "stock", "tags"};
  static const int32_t types[] = {4, 1, 2, 3, 5};
  sidbeam_index* index = built();
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  sidbeam_attribute_info attribute = SIDBEAM_ATTRIBUTE_INFO_INIT;
  CHECK_OK(sidbeam_index_get_info(index, &info, &err));
  CHECK_INT(info.attribute_count, 5);
  CHECK_INT(strlen(info.attribute_digest), 32);
  CHECK_INT(info.format_minor, 3);
  for (int64_t i = 0; i < 5; ++i) {
    CHECK_OK(sidbeam_index_get_attribute(index, i, &attribute, &err));
    CHECK_TEXT(attribute.name, sorted[i]);
    CHECK_INT(attribute.type, types[i]);
    CHECK_INT(number_of(index, sorted[i]), i);
  }
  CHECK_INT(attribute.codes, 4); /* 1 0, 1, 0 (twice): a repeated string stays once */
  CHECK_INT(attribute.distinct, 2);
  CHECK_OK(sidbeam_index_get_attribute(index, 0, &attribute, &err));
  CHECK_INT(attribute.distinct, 4); /* "" too */
  CHECK_OK(sidbeam_index_get_attribute(index, 1, &attribute, &err));
  CHECK_INT(attribute.nulls, 1);
  CHECK_INT(attribute.least, 0);
  CHECK_INT(attribute.greatest, 9);
  CHECK_INT(attribute.distinct, -1);
  CHECK_OK(sidbeam_index_get_attribute(index, 2, &attribute, &err));
  CHECK(attribute.least_number == -1.0 && attribute.greatest_number == 4.0);
  CHECK_OK(sidbeam_index_get_attribute(index, 3, &attribute, &err));
  CHECK_INT(attribute.distinct, 2);
  CHECK_INT(number_of(index, "Price"), -1);
  sidbeam_index_release(index);
}

static void values_come_back_by_item_row(void) {
  sidbeam_index* index = built();
  int64_t integers[6], truths[6], codes[6];
  float numbers[6];
  uint8_t valid[6], known[6];
  const char* text = NULL;
  int64_t length = 0;
  CHECK_OK(sidbeam_index_attribute_integers(index, number_of(index, "price"), 0, 6, integers, valid, &err));
  CHECK_OK(sidbeam_index_attribute_integers(index, number_of(index, "stock"), 0, 6, truths, known, &err));
  CHECK_OK(sidbeam_index_attribute_integers(index, number_of(index, "brand"), 0, 6, codes, NULL, &err));
  CHECK_OK(sidbeam_index_attribute_numbers(index, number_of(index, "score"), 0, 6, numbers, NULL, &err));
  for (int64_t row = 0; row < 6; ++row) {
    const int64_t pair = pair_of(index, row);
    CHECK_INT(valid[row], pair != 1);
    CHECK_INT(integers[row], pair == 1 ? 0 : prices[pair]);
    CHECK_INT(known[row], pair != 1);
    CHECK_INT(truths[row], pair != 1 && stock[pair] != 0);
    CHECK(numbers[row] == scores[pair]);
    CHECK_OK(sidbeam_index_attribute_string(index, 0, codes[row], &text, &length, &err));
    CHECK_INT(length, two_each[pair + 1] - two_each[pair]);
    CHECK(memcmp(text, &"b1a1b1c1a1"[two_each[pair]], (size_t)length) == 0);
    int64_t one = -1;
    CHECK_OK(sidbeam_index_attribute_integers(index, 1, row, 1, &one, NULL, &err));
    CHECK_INT(one, integers[row]);
  }
  CHECK_OK(sidbeam_index_attribute_integers(index, 1, 6, 0, NULL, NULL, &err));
  sidbeam_index_release(index);
}

static void lists_come_back_by_item_row(void) {
  sidbeam_index* index = built();
  const int64_t tags = number_of(index, "tags");
  int64_t offsets[7], codes[4];
  CHECK_OK(sidbeam_index_attribute_lists(index, tags, 0, 6, offsets, 0, NULL, NULL, &err));
  CHECK_INT(offsets[6], 4);
  CHECK_OK(sidbeam_index_attribute_lists(index, tags, 0, 6, offsets, 4, codes, NULL, &err));
  for (int64_t row = 0; row < 6; ++row) {
    const int64_t pair = pair_of(index, row), from = offsets[row];
    /* Sorted, "a1" is 0 and "b1" 1; the caller's dictionary was b1 a1. */
    CHECK_INT(offsets[row + 1] - from, pair == 0 ? 2 : pair == 2 || pair == 4 ? 1 : 0);
    if (pair == 0) CHECK(codes[from] == 0 && codes[from + 1] == 1);
    if (pair == 2) CHECK_INT(codes[from], 0);
    if (pair == 4) CHECK_INT(codes[from], 1);
  }
  CHECK_FAILS(sidbeam_index_attribute_lists(index, tags, 0, 6, offsets, 3, codes, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "capacity is 3, expected at least the 4 codes");
  sidbeam_index_release(index);
}

static void a_file_keeps_them(void) {
  sidbeam_index *index = built(), *opened = NULL;
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT, peeked = SIDBEAM_INDEX_INFO_INIT;
  sidbeam_runtime* runtime = make_runtime();
  const char* path = temporary_path("attributes.sidx");
  int64_t before[6], after[6];
  config.verify = SIDBEAM_VERIFY_FULL;
  CHECK_OK(sidbeam_index_write(index, path, &err));
  CHECK_OK(sidbeam_index_open(runtime, path, &config, &opened, &err));
  CHECK_OK(sidbeam_index_get_info(opened, &info, &err));
  CHECK_OK(sidbeam_index_peek(path, 0, NULL, NULL, NULL, &peeked, &err));
  CHECK_INT(peeked.attribute_count, 5);
  CHECK_TEXT(peeked.attribute_digest, info.attribute_digest);
  CHECK_OK(sidbeam_index_attribute_integers(index, 1, 0, 6, before, NULL, &err));
  CHECK_OK(sidbeam_index_attribute_integers(opened, 1, 0, 6, after, NULL, &err));
  CHECK_I64(after, before, 6);
  sidbeam_index_release(opened);
  sidbeam_index_release(index);
  sidbeam_runtime_release(runtime);
}

static void declarations_are_checked(void) {
  sidbeam_builder* builder = declared();
  char long_name[130] = {0};
  memset(long_name, 'x', 129);
  const sidbeam_status bad = SIDBEAM_INVALID_ARGUMENT;
  CHECK_FAILS(sidbeam_builder_declare_attribute(NULL, "a", 1, &err), bad, "builder is NULL");
  CHECK_FAILS(sidbeam_builder_declare_attribute(builder, NULL, 1, &err), bad, "name is NULL");
  CHECK_FAILS(sidbeam_builder_declare_attribute(builder, "a", 0, &err), bad,
              "type is 0, expected 1 to 5: i64, f32, bool, string or string lists");
  CHECK_FAILS(sidbeam_builder_declare_attribute(builder, "a", 6, &err), bad, "type is 6");
  CHECK_FAILS(sidbeam_builder_declare_attribute(builder, "", 1, &err), bad, "the name '' is empty, expected 1 to 128");
  CHECK_FAILS(sidbeam_builder_declare_attribute(builder, long_name, 1, &err), bad, "has more than 128 bytes");
  CHECK_FAILS(sidbeam_builder_declare_attribute(builder, "a\nb", 1, &err), bad,
              "the name 'a\\x0ab' has a control character");
  CHECK_FAILS(sidbeam_builder_declare_attribute(builder, "\xff", 1, &err), bad, "is not valid UTF-8");
  CHECK_FAILS(sidbeam_builder_declare_attribute(builder, "tags", 1, &err), bad,
              "attribute 'tags' is of type string_list, and declared as i64");
  for (int i = 5; i < 256; ++i) {
    char name[16];
    snprintf(name, sizeof name, "a%d", i);
    CHECK_OK(sidbeam_builder_declare_attribute(builder, name, 1, &err));
  }
  CHECK_FAILS(sidbeam_builder_declare_attribute(builder, "last", 1, &err), bad, "one too many, expected at most 256");
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_FAILS(sidbeam_builder_declare_attribute(builder, "late", 1, &err), SIDBEAM_BAD_STATE,
              "attribute 'late': 6 rows were added, and attributes are declared before the first");
  CHECK_OK(sidbeam_builder_declare_attribute(builder, "tags", SIDBEAM_ATTRIBUTE_STRING_LIST, &err));
  sidbeam_builder_destroy(builder);
}

static void values_are_checked(void) {
  static const float not_a_number[6] = {1, NAN, NAN, 1, 1, 1};
  static const int64_t falling[7] = {0, 2, 1, 1, 1, 1, 1}, negative[7] = {-1, 0, 0, 0, 0, 0, 0}, high[6] = {0, 1, 2};
  sidbeam_builder* builder = added();
  sidbeam_attribute_column column = column_of(NULL);
  const sidbeam_status bad = SIDBEAM_INVALID_ARGUMENT;
  CHECK_FAILS(sidbeam_builder_set_attribute(NULL, &column, 6, &err), bad, "builder is NULL");
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, NULL, 6, &err), bad, "column is NULL");
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "column.name is NULL");
  column.name = "colour";
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad,
              "no attribute 'colour' was declared, expected one of 5");
  column.name = "price";
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 5, &err), bad,
              "attribute 'price': count is 5, expected 6, the rows of the last add");
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "'price': integers is NULL");
  column.integers = prices;
  column.valid = bytes_valid;
  column.valid_bits = bits;
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "valid and valid_bits are given");
  column = column_of("score");
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "'score': numbers is NULL");
  column.numbers = not_a_number;
  column.valid = bytes_valid; /* row 1 is null */
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad,
              "attribute 'score': row 2 is NaN, expected a number, or null");
  column = column_of("stock");
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "'stock': bools is NULL");
  column = column_of("brand");
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "'brand': offsets is NULL, expected 7");
  column.offsets = two_each;
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "'brand': text is NULL");
  column.text = "ok\xc3(ok";
  column.offsets = falling;
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "offsets[2] is 1 after 2");
  column.offsets = negative;
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "offsets[1] is 0 after -1");
  column.offsets = two_each;
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad,
              "attribute 'brand': row 1 has '\\xc3(', expected valid UTF-8");
  column.text = "b1a1b1c1a1";
  column.codes = high;
  column.string_count = 2;
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad,
              "attribute 'brand': row 2 has code 2, expected 0 to 1");
  column.lists = two_each;
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad,
              "attribute 'brand' is of type string, and lists is given");
  column.lists = NULL;
  column.string_count = -1;
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "string_count is -1");
  column.name = "tags";
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "'tags': lists is NULL");
  column.lists = falling;
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "lists[2] is 1, expected at least 2");
  column.lists = negative;
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad, "lists[0] is -1");
  /* None of these left a value behind. */
  set_all(builder);
  column = column_of("price");
  column.integers = prices;
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), bad,
              "attribute 'price' has values for row 0 already");
  sidbeam_index* index = NULL;
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  CHECK_OK(sidbeam_index_verify(index, SIDBEAM_VERIFY_FULL, &err));
  sidbeam_index_release(index);
  CHECK_FAILS(sidbeam_builder_set_attribute(builder, &column, 6, &err), SIDBEAM_BAD_STATE, "has been sorted");
  CHECK_FAILS(sidbeam_builder_declare_attribute(builder, "late", 1, &err), SIDBEAM_BAD_STATE, "has been sorted");
  sidbeam_builder_destroy(builder);
}

static void values_that_differ_are_refused(void) {
  sidbeam_builder* builder = added();
  sidbeam_index* index = NULL;
  set_all(builder);
  CHECK_OK(add_all(builder, &small, &err));
  sidbeam_attribute_column column = column_of("price");
  int64_t other[6];
  memcpy(other, prices, sizeof other);
  other[2] = 10;
  column.integers = other;
  CHECK_OK(sidbeam_builder_set_attribute(builder, &column, 6, &err));
  CHECK_FAILS(sidbeam_builder_finish(builder, &index, &err), SIDBEAM_INVALID_ARGUMENT, "attribute 'price' of the item",
              "expected the same value in both, or null in one");
  sidbeam_builder_destroy(builder);
}

static void questions_are_checked(void) {
  sidbeam_index* index = built();
  sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
  int64_t values[6], length = 0;
  float numbers[6];
  const char* text = NULL;
  const sidbeam_status bad = SIDBEAM_INVALID_ARGUMENT;
  CHECK_FAILS(sidbeam_index_get_attribute(NULL, 0, &info, &err), bad, "index is NULL");
  CHECK_FAILS(sidbeam_index_get_attribute(index, 5, &info, &err), bad, "i is 5, expected less than 5");
  CHECK_FAILS(sidbeam_index_get_attribute(index, -1, &info, &err), bad, "i is -1");
  CHECK_FAILS(sidbeam_index_get_attribute(index, 0, NULL, &err), bad, "out is NULL");
  CHECK_FAILS(sidbeam_index_find_attribute(NULL, "a", values, &err), bad, "index is NULL");
  CHECK_FAILS(sidbeam_index_find_attribute(index, NULL, values, &err), bad, "name is NULL");
  CHECK_FAILS(sidbeam_index_find_attribute(index, "a", NULL, &err), bad, "attribute is NULL");
  CHECK_FAILS(sidbeam_index_attribute_integers(index, 5, 0, 6, values, NULL, &err), bad, "attribute is 5, expected");
  CHECK_FAILS(sidbeam_index_attribute_integers(index, 1, -1, 2, values, NULL, &err), bad, "expected rows of 0 to 5");
  CHECK_FAILS(sidbeam_index_attribute_integers(index, 1, 5, 2, values, NULL, &err), bad,
              "item rows 5 and 2 after it, expected rows of 0 to 5");
  CHECK_FAILS(sidbeam_index_attribute_integers(index, 1, 0, INT64_MAX, values, NULL, &err), bad, "expected rows of 0");
  CHECK_FAILS(sidbeam_index_attribute_integers(index, 1, 0, 6, NULL, NULL, &err), bad, "values is NULL");
  CHECK_FAILS(sidbeam_index_attribute_integers(index, 2, 0, 6, values, NULL, &err), bad,
              "attribute 'score' is of type f32, expected i64, bool or string");
  CHECK_FAILS(sidbeam_index_attribute_numbers(index, 1, 0, 6, numbers, NULL, &err), bad,
              "attribute 'price' is of type i64, expected f32");
  CHECK_FAILS(sidbeam_index_attribute_lists(index, 0, 0, 5, values, 0, NULL, NULL, &err), bad,
              "attribute 'brand' is of type string, expected string_list");
  CHECK_FAILS(sidbeam_index_attribute_lists(index, 4, 0, 0, NULL, 0, NULL, NULL, &err), bad, "offsets is NULL");
  CHECK_FAILS(sidbeam_index_attribute_string(index, 0, 4, &text, &length, &err), bad,
              "code is 4, expected less than 4, the strings of attribute 'brand'");
  CHECK_FAILS(sidbeam_index_attribute_string(index, 1, 0, &text, &length, &err), bad, "expected less than 0");
  CHECK_FAILS(sidbeam_index_attribute_string(index, 0, 0, NULL, &length, &err), bad, "text is NULL");
  CHECK_FAILS(sidbeam_index_attribute_string(index, 0, 0, &text, NULL, &err), bad, "bytes is NULL");
  sidbeam_index_release(index);
}

int main(void) {
  static const test_case tests[] = {
      TEST(an_index_says_what_attributes_it_has),
      TEST(values_come_back_by_item_row),
      TEST(lists_come_back_by_item_row),
      TEST(a_file_keeps_them),
      TEST(declarations_are_checked),
      TEST(values_are_checked),
      TEST(values_that_differ_are_refused),
      TEST(questions_are_checked),
  };
  return RUN_TESTS(tests);
}
