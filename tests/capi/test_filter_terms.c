/* Filters of terms on attributes, as structs and as text, and of rows as hosts have them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "rules_rig.h"

/* The catalogue `small`, whose items have in the order of their rows, with the ids 15 10 11 12 13 14: the price, which
 * is their id, but item 13 has none; a brand, "a" where the id is even, otherwise "b x"; stock below 12. */
static sidbeam_index* priced(void) {
  static const int64_t codes[6] = {1, 0, 0, 1, 0, 1}, offsets[3] = {0, 1, 4};
  static const int64_t ids_of_pairs[6] = {13, 10, 14, 11, 12, 15};
  static const uint8_t valid[6] = {0, 1, 1, 1, 1, 1}, stock[6] = {0, 1, 0, 1, 0, 0};
  const sidbeam_builder_config config = builder_config(&small, SIDBEAM_KIND_TRIE);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_builder* builder = NULL;
  sidbeam_index* index = NULL;
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  for (int i = 0; i < 6; ++i) CHECK_INT(small.ids[i], ids_of_pairs[i]);
  CHECK_OK(sidbeam_builder_create(runtime, &config, &builder, &err));
  CHECK_OK(sidbeam_builder_declare_attribute(builder, "price", SIDBEAM_ATTRIBUTE_I64, &err));
  CHECK_OK(sidbeam_builder_declare_attribute(builder, "brand", SIDBEAM_ATTRIBUTE_STRING, &err));
  CHECK_OK(sidbeam_builder_declare_attribute(builder, "stock", SIDBEAM_ATTRIBUTE_BOOL, &err));
  CHECK_OK(add_all(builder, &small, &err));
  column.name = "price";
  column.integers = small.ids;
  column.valid = valid;
  CHECK_OK(sidbeam_builder_set_attribute(builder, &column, 6, &err));
  column.name = "stock";
  column.valid = NULL;
  column.bools = stock;
  CHECK_OK(sidbeam_builder_set_attribute(builder, &column, 6, &err));
  column.name = "brand";
  column.text = "ab x";
  column.offsets = offsets;
  column.codes = codes;
  column.string_count = 2;
  for (int i = 0; i < 6; ++i) CHECK_INT(codes[i], i == 0 || i == 3 || i == 5);
  CHECK_OK(sidbeam_builder_set_attribute(builder, &column, 6, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  sidbeam_runtime_release(runtime);
  return index;
}

static void check_rows(sidbeam_filter* filter, uint64_t expected) {
  const uint64_t* bits = NULL;
  int64_t words = -1;
  CHECK_OK(sidbeam_filter_rows(filter, &bits, &words, &err));
  CHECK_INT(bits[0], expected);
}

static sidbeam_filter* parse(sidbeam_index* index, const char* text) {
  sidbeam_filter* filter = NULL;
  CHECK_OK(sidbeam_filter_parse(index, text, (int64_t)strlen(text), &filter, &err));
  return filter;
}

static void a_text_is_a_filter_whose_text_it_is(void) {
  static const struct {
    const char* text;
    uint64_t rows;
  } each[] = {{"price<12", 0x06},
              {"not price<12", 0x39},
              {"price!=12", 0x27},
              {"price between 11 and 14", 0x2c},
              {"price is null", 0x10},
              {"price in (10, 15, 99)", 0x03},
              {"brand='b x'", 0x15},
              {"stock", 0x06},
              {"price<20 and brand in (a, c) or stock=true and not price=10", 0x2e},
              {"true", 0x3f}};
  sidbeam_index* index = priced();
  for (size_t i = 0; i < COUNT(each); ++i) {
    char text[200];
    int64_t bytes = -1, less = -1;
    sidbeam_filter *filter = parse(index, each[i].text), *again = NULL;
    check_rows(filter, each[i].rows);
    CHECK_OK(sidbeam_filter_text(filter, 0, NULL, &bytes, &err));
    CHECK(bytes > 0 && bytes < (int64_t)sizeof text);
    memset(text, '#', sizeof text);
    CHECK_OK(sidbeam_filter_text(filter, bytes - 1, text, &less, &err));
    CHECK_INT(less, bytes);
    CHECK_INT(text[bytes - 1], '#');
    CHECK_OK(sidbeam_filter_text(filter, sizeof text, text, &bytes, &err));
    CHECK_OK(sidbeam_filter_parse(index, text, bytes, &again, &err));
    check_rows(again, each[i].rows);
    sidbeam_filter_release(filter);
    sidbeam_filter_release(again);
  }
  sidbeam_index_release(index);
}

static void a_term_is_given_by_a_struct_too(void) {
  static const int64_t two[2] = {11, 14};
  static const double half[1] = {12.0};
  static const uint8_t no[1] = {0};
  static const char* const brand[2] = {"b x", "z"};
  sidbeam_index* index = priced();
  const struct {
    sidbeam_term term;
    uint64_t rows;
  } each[] = {{{sizeof(sidbeam_term), SIDBEAM_TERM_BETWEEN, "price", two, NULL, NULL, NULL, 2}, 0x2c},
              {{sizeof(sidbeam_term), SIDBEAM_TERM_LESS, "price", NULL, half, NULL, NULL, 1}, 0x06},
              {{sizeof(sidbeam_term), SIDBEAM_TERM_EQUAL, "stock", NULL, NULL, no, NULL, 1}, 0x39},
              {{sizeof(sidbeam_term), SIDBEAM_TERM_IN, "brand", NULL, NULL, NULL, brand, 2}, 0x15},
              {{sizeof(sidbeam_term), SIDBEAM_TERM_IN, "brand", NULL, NULL, NULL, NULL, 0}, 0x00},
              {{sizeof(sidbeam_term), SIDBEAM_TERM_IS_NULL, "price", NULL, NULL, NULL, NULL, 0}, 0x10}};
  for (size_t i = 0; i < COUNT(each); ++i) {
    sidbeam_filter* filter = NULL;
    CHECK_OK(sidbeam_filter_from_term(index, &each[i].term, &filter, &err));
    check_rows(filter, each[i].rows);
    sidbeam_filter_release(filter);
  }
  sidbeam_index_release(index);
}

static void combinations_of_texts_have_one(void) {
  char text[100];
  int64_t bytes = 0;
  sidbeam_index* index = priced();
  sidbeam_filter* two[2] = {parse(index, "price<12 or stock"), parse(index, "brand=a")};
  sidbeam_filter *both = NULL, *rows = make_filter(index, rows_of(LIST(0))), *again = NULL;
  CHECK_OK(sidbeam_filter_combine(SIDBEAM_FILTER_AND, two, 2, &both, &err));
  CHECK_OK(sidbeam_filter_text(both, sizeof text, text, &bytes, &err));
  CHECK_OK(sidbeam_filter_parse(index, text, bytes, &again, &err));
  check_rows(both, 0x02);
  check_rows(again, 0x02);
  sidbeam_filter_release(both);
  sidbeam_filter_release(two[1]);
  two[1] = rows;
  CHECK_OK(sidbeam_filter_combine(SIDBEAM_FILTER_AND, two, 2, &both, &err));
  CHECK_FAILS(sidbeam_filter_text(both, sizeof text, text, &bytes, &err), SIDBEAM_UNSUPPORTED,
              "the filter has no text, expected one that was parsed, made of a term, or combined from such");
  sidbeam_filter_release(both);
  sidbeam_filter_release(again);
  sidbeam_filter_release(two[0]);
  sidbeam_filter_release(rows);
  sidbeam_index_release(index);
}

static void rows_come_as_hosts_have_them(void) {
  static const uint8_t bits[2] = {0x60 | 0x07, 0x01}, bytes[6] = {1, 0, 7, 0, 0, 255};
  /* Without runs, one container of the rows 0, 2 and 5. */
  static const uint8_t roaring[] = {0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 16, 0, 0, 0, 0, 0, 2, 0, 5, 0};
  sidbeam_index* index = priced();
  const struct {
    sidbeam_row_set rows;
    uint64_t expected;
  } each[] = {{{sizeof(sidbeam_row_set), SIDBEAM_ROWS_BITS, bits, 2, 0}, 0x27},
              {{sizeof(sidbeam_row_set), SIDBEAM_ROWS_BITS, bits, 1, 2}, 0x19},
              {{sizeof(sidbeam_row_set), SIDBEAM_ROWS_BITS, bits, 2, 3}, 0x2c},
              {{sizeof(sidbeam_row_set), SIDBEAM_ROWS_BYTES, bytes, 6, 0}, 0x25},
              {{sizeof(sidbeam_row_set), SIDBEAM_ROWS_ROARING, roaring, sizeof roaring, 0}, 0x25}};
  for (size_t i = 0; i < COUNT(each); ++i) {
    sidbeam_filter* filter = NULL;
    CHECK_OK(sidbeam_filter_from_rows(index, &each[i].rows, &filter, &err));
    check_rows(filter, each[i].expected);
    sidbeam_filter_release(filter);
  }
  sidbeam_index_release(index);
}

static void wrong_rows_are_refused(void) {
  static const uint8_t data[8] = {0};
  sidbeam_index* index = priced();
  sidbeam_filter* filter = NULL;
  sidbeam_row_set rows = SIDBEAM_ROW_SET_INIT;
#define REFUSED(...) \
  CHECK_FAILS(sidbeam_filter_from_rows(index, &rows, &filter, &err), SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__)
  rows.data = data;
  rows.bytes = 0;
  REFUSED("filter: 6 bits from bit 0 on in 0 bytes, expected them to end there");
  rows.bytes = 1;
  rows.offset = 3;
  REFUSED("filter: 6 bits from bit 3 on in 1 bytes");
  rows.offset = -1;
  REFUSED("rows.offset is -1, expected at least 0");
  rows.offset = 1;
  rows.encoding = SIDBEAM_ROWS_BYTES;
  REFUSED("rows.offset is 1, expected 0, since the rows are no bits");
  rows.offset = 0;
  rows.bytes = 5;
  REFUSED("filter: 5 bytes, expected 6, one per item");
  rows.encoding = SIDBEAM_ROWS_ROARING;
  REFUSED("filter: Roaring bitmap: at byte 0: cookie 0, expected 12346");
  rows.bytes = -1;
  REFUSED("rows.bytes is -1, expected at least 0");
  rows.bytes = 5;
  rows.encoding = 9;
  REFUSED("rows.encoding is 9, expected SIDBEAM_ROWS_BITS, BYTES or ROARING");
  rows.data = NULL;
  REFUSED("rows.data is NULL");
#undef REFUSED
  CHECK_FAILS(sidbeam_filter_from_rows(NULL, &rows, &filter, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK(filter == NULL);
  sidbeam_index_release(index);
}

static void wrong_terms_are_refused(void) {
  static const int64_t two[2] = {1, 2};
  static const double nan_bound[1] = {NAN}, fraction[1] = {1.5};
  static const char* const words[2] = {"x", NULL};
  sidbeam_index *index = priced(), *bare = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_filter* filter = NULL;
  sidbeam_term term = SIDBEAM_TERM_INIT;
#define REFUSED(of, ...) \
  CHECK_FAILS(sidbeam_filter_from_term(of, &term, &filter, &err), SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__)
  REFUSED(index, "term.attribute is NULL");
  term.attribute = "prize";
  REFUSED(index, "term.op is 0, expected SIDBEAM_TERM_EQUAL (1) to IS_NULL (10)");
  term.op = SIDBEAM_TERM_EQUAL;
  term.count = -1;
  REFUSED(index, "term.count is -1, expected 0..16777216");
  term.count = 1;
  REFUSED(index, "term gives 0 arrays of values, expected one of integers, numbers, bools, strings");
  term.integers = two;
  REFUSED(index, "filter: column 'prize' is not there, expected one of 'brand', 'price', 'stock'");
  REFUSED(bare, "filter: column 'prize' is not there, expected none, since the index has no attributes");
  term.numbers = fraction;
  REFUSED(index, "term gives 2 arrays of values");
  term.integers = NULL;
  term.attribute = "price";
  REFUSED(index, "filter: column 'price' holds integers", "found the number 1.5");
  term.numbers = nan_bound;
  REFUSED(index, "filter: column 'price': a value of = is NaN");
  term.numbers = NULL;
  term.strings = words;
  REFUSED(index, "expected an integer after =, found the text 'x'");
  term.count = 2;
  REFUSED(index, "term.strings[1] is NULL");
  term.strings = NULL;
  term.integers = two;
  REFUSED(index, "filter: column 'price': = has 2 values, expected 1");
  term.op = SIDBEAM_TERM_CONTAINS;
  REFUSED(index, "expected a comparison, in, between or is null, found contains");
#undef REFUSED
  CHECK(filter == NULL);
  sidbeam_index_release(index);
  sidbeam_index_release(bare);
}

static void wrong_texts_are_refused(void) {
  enum { MANY = 10000, MEGABYTE = 1 << 20 };
  sidbeam_index* index = priced();
  sidbeam_filter* filter = NULL;
  char* large = malloc(MEGABYTE + 1);
  CHECK(large != NULL);
#define REFUSED(text, bytes, ...) \
  CHECK_FAILS(sidbeam_filter_parse(index, text, bytes, &filter, &err), SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__)
  REFUSED("price<", 6, "filter: at byte 6 (after `price<`): expected a value, found the end");
  REFUSED("price<1 or", 10, "filter: at byte 10 (after `price<1 or`): expected a column");
  REFUSED("price~1", 7, "filter: at byte 5 (`~1`): expected an operator");
  REFUSED("", 0, "filter: at byte 0 (after ``): expected a column");
  REFUSED("prize<1", 7, "filter: column 'prize' is not there");
  REFUSED("brand<1", 7, "filter: column 'brand' holds strings, expected text after <, found 1");
  REFUSED("x", -1, "bytes is -1, expected at least 0");
  memset(large, '(', MEGABYTE + 1);
  REFUSED(large, MANY, "filter: at byte 200: expected at most 200 open parentheses and nots, found one more");
  REFUSED(large, MEGABYTE + 1, "filter: the text has 1048577 bytes, expected at most 1048576");
  for (int i = 0; i < MANY; ++i) memcpy(large + 4 * i, "not ", 4);
  REFUSED(large, 4 * MANY, "filter: at byte 800: expected at most 200 open parentheses and nots");
#undef REFUSED
  CHECK_FAILS(sidbeam_filter_parse(index, NULL, 3, &filter, &err), SIDBEAM_INVALID_ARGUMENT, "text is NULL");
  CHECK(filter == NULL);
  free(large);
  sidbeam_index_release(index);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_text_is_a_filter_whose_text_it_is),
      TEST(a_term_is_given_by_a_struct_too),
      TEST(combinations_of_texts_have_one),
      TEST(rows_come_as_hosts_have_them),
      TEST(wrong_rows_are_refused),
      TEST(wrong_terms_are_refused),
      TEST(wrong_texts_are_refused),
  };
  return RUN_TESTS(tests);
}
