/* Attributes out of Arrow's columns: each layout gives the bytes that sidbeam_builder_set_attribute gives.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arrow_columns.h"

/* Three SIDs of two levels and four codes; the second and third value is null where nulls are asked for: bits 1001. */
static const int32_t four[2] = {4, 4}, sids[8] = {0, 1, 0, 2, 3, 0, 3, 3};
static const int64_t ids[4] = {10, 11, 12, 13};
static const unsigned char outer[1] = {0x9}, last[1] = {0x7};
static const catalogue wanted = {2, 0, SIDBEAM_ID_I64, four, sids, NULL, ids, NULL, NULL, 4};

static sidbeam_status add(sidbeam_builder* builder, const arrow_column* attribute, const arrow_column* other,
                          const char* const* names, int64_t count, int32_t all) {
  const arrow_column values = numbers("", "i", 8, sids, sizeof sids), sid = lists("sid", "+w:2", 4, NULL, 0, &values),
                     item = numbers("item", "l", 4, ids, sizeof ids);
  const arrow_column one = batch(4, &sid, attribute, &item, other);
  const arrow_column* const batches[] = {&one};
  arrow_source source = source_of(batches, 1);
  sidbeam_arrow_config config = SIDBEAM_ARROW_CONFIG_INIT;
  config.attributes = names;
  config.attribute_count = count;
  config.all_attributes = all;
  return add_stream(builder, &source, &config, NULL, &err);
}

static sidbeam_index* finished(sidbeam_builder* builder) {
  sidbeam_index* index = NULL;
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  return index;
}

/* The column gives what the values of `expected` give, as an attribute of this type. */
static void expect_values(const arrow_column* column, int32_t type, sidbeam_attribute_column expected) {
  sidbeam_builder *reference = empty_builder(&wanted), *builder = empty_builder(&wanted);
  const void *bytes = NULL, *other = NULL;
  int64_t size = 0, other_size = 0;
  expected.name = "a";
  CHECK_OK(sidbeam_builder_declare_attribute(reference, "a", type, &err));
  CHECK_OK(add_all(reference, &wanted, &err));
  CHECK_OK(sidbeam_builder_set_attribute(reference, &expected, 4, &err));
  CHECK_OK(add(builder, column, NULL, NULL, 0, 1));
  sidbeam_index *a = finished(reference), *b = finished(builder);
  CHECK_OK(sidbeam_index_bytes(a, &bytes, &size, &err));
  CHECK_OK(sidbeam_index_bytes(b, &other, &other_size, &err));
  CHECK_INT(other_size, size);
  CHECK(memcmp(other, bytes, (size_t)size) == 0);
  sidbeam_index_release(a);
  sidbeam_index_release(b);
}

#define VALUES 5, 0, 7, 100

static void integers_are_i64(void) {
  static const int64_t values[] = {VALUES};
  const arrow_column columns[] = {
      numbers("a", "c", 4, OF(int8_t, VALUES)),  numbers("a", "C", 4, OF(uint8_t, VALUES)),
      numbers("a", "s", 4, OF(int16_t, VALUES)), numbers("a", "S", 4, OF(uint16_t, VALUES)),
      numbers("a", "i", 4, OF(int32_t, VALUES)), numbers("a", "I", 4, OF(uint32_t, VALUES)),
      numbers("a", "l", 4, OF(int64_t, VALUES)), numbers("a", "L", 4, OF(uint64_t, VALUES)),
  };
  sidbeam_attribute_column expected = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  expected.integers = values;
  for (size_t i = 0; i < COUNT(columns); ++i) {
    expected.valid_bits = NULL;
    expect_values(&columns[i], SIDBEAM_ATTRIBUTE_I64, expected);
    const arrow_column some = with_nulls(columns[i], outer);
    expected.valid_bits = outer;
    expect_values(&some, SIDBEAM_ATTRIBUTE_I64, expected);
  }
}

static void floats_are_f32_and_nan_is_null(void) {
  static const float values[] = {0.5f, 0, 0, -3};
  sidbeam_attribute_column expected = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  expected.numbers = values;
  expected.valid_bits = outer;
  const arrow_column narrow = numbers("a", "f", 4, OF(float, 0.5f, NAN, NAN, -3)),
                     wide = numbers("a", "g", 4, OF(double, 0.5, NAN, NAN, -3));
  expect_values(&narrow, SIDBEAM_ATTRIBUTE_F32, expected);
  expect_values(&wide, SIDBEAM_ATTRIBUTE_F32, expected);
}

static void bits_are_bool(void) {
  static const uint8_t values[] = {1, 0, 1, 1};
  sidbeam_attribute_column expected = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  expected.bools = values;
  const arrow_column column = numbers("a", "b", 4, OF(uint8_t, 0xd));
  expect_values(&column, SIDBEAM_ATTRIBUTE_BOOL, expected);
  expected.valid_bits = outer;
  const arrow_column some = with_nulls(column, outer);
  expect_values(&some, SIDBEAM_ATTRIBUTE_BOOL, expected);
}

static void text_is_strings(void) {
  static const int64_t offsets[] = {0, 1, 1, 3, 4};
  sidbeam_attribute_column expected = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  expected.text = "abba";
  expected.offsets = offsets;
  const arrow_column narrow = texts("a", "u", 4, OF(int32_t, 0, 1, 1, 3, 4), "abba"),
                     wide = texts("a", "U", 4, OF(int64_t, 0, 1, 1, 3, 4), "abba");
  expect_values(&narrow, SIDBEAM_ATTRIBUTE_STRING, expected);
  expect_values(&wide, SIDBEAM_ATTRIBUTE_STRING, expected);
  const arrow_column values = texts("", "u", 3, OF(int32_t, 0, 2, 3, 3), "bba"),
                     coded = indices("a", "c", 4, OF(int8_t, 1, 2, 0, 1), &values);
  expect_values(&coded, SIDBEAM_ATTRIBUTE_STRING, expected);
  /* An entry of the dictionary may be null as well as an index. */
  static const unsigned char first_two[1] = {3};
  const arrow_column null_entry = with_nulls(values, first_two);
  const arrow_column both = with_nulls(indices("a", "c", 4, OF(int8_t, 1, 2, 0, 1), &null_entry), last);
  static const uint8_t valid[4] = {1, 0, 1, 0};
  expected.valid = valid;
  expect_values(&both, SIDBEAM_ATTRIBUTE_STRING, expected);
}

static void lists_of_text_are_lists(void) {
  static const int64_t offsets[] = {0, 1, 2, 3}, starts[] = {0, 2, 2, 2, 3};
  sidbeam_attribute_column expected = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  expected.text = "aba";
  expected.offsets = offsets;
  expected.lists = starts;
  expected.valid_bits = outer;
  const arrow_column values = texts("", "u", 3, OF(int32_t, 0, 1, 2, 3), "aba"),
                     plain = lists("a", "+l", 4, OF(int32_t, 0, 2, 2, 2, 3), &values), some = with_nulls(plain, outer);
  expect_values(&some, SIDBEAM_ATTRIBUTE_STRING_LIST, expected);
  expected.valid_bits = NULL;
  expect_values(&plain, SIDBEAM_ATTRIBUTE_STRING_LIST, expected);
  const arrow_column dictionary = texts("", "u", 2, OF(int32_t, 0, 1, 2), "ba"),
                     coded = indices("", "i", 3, OF(int32_t, 1, 0, 1), &dictionary),
                     wide = lists("a", "+L", 4, OF(int64_t, 0, 2, 2, 2, 3), &coded);
  expect_values(&wide, SIDBEAM_ATTRIBUTE_STRING_LIST, expected);
}

/* An item's values go with each of its SIDs. */
static void rows_of_several_sids_share_their_values(void) {
  const arrow_column codes = numbers("", "i", 8, sids, sizeof sids), sid = lists("", "+w:2", 4, NULL, 0, &codes),
                     all = lists("sids", "+l", 2, OF(int32_t, 0, 3, 4), &sid),
                     item = numbers("item", "l", 2, OF(int64_t, 1, 2)), a = numbers("a", "l", 2, OF(int64_t, 7, 8));
  const arrow_column one = batch(2, &all, &item, &a, NULL);
  const arrow_column* const batches[] = {&one};
  arrow_source source = source_of(batches, 1);
  sidbeam_arrow_config config = SIDBEAM_ARROW_CONFIG_INIT;
  sidbeam_builder* builder = empty_builder(&wanted);
  static const int64_t expected[4] = {7, 7, 7, 8};
  int64_t values[4];
  config.all_attributes = 1;
  CHECK_OK(add_stream(builder, &source, &config, NULL, &err));
  sidbeam_index* index = finished(builder);
  CHECK_OK(sidbeam_index_attribute_integers(index, 0, 0, 4, values, NULL, &err));
  CHECK_I64(values, expected, 4);
  sidbeam_index_release(index);
}

static void named_columns_alone_are_taken_and_integers_go_into_f32(void) {
  static const char* const names[] = {"b"};
  const arrow_column a = texts("a", "tdD", 4, OF(int32_t, 0, 0, 0, 0, 0), ""), /* a date, which nobody asks for */
      b = numbers("b", "l", 4, OF(int64_t, VALUES));
  sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
  sidbeam_builder* builder = empty_builder(&wanted);
  CHECK_OK(sidbeam_builder_declare_attribute(builder, "b", SIDBEAM_ATTRIBUTE_F32, &err));
  CHECK_OK(sidbeam_builder_declare_attribute(builder, "c", SIDBEAM_ATTRIBUTE_I64, &err));
  CHECK_OK(add(builder, &a, &b, names, 1, 0));
  /* Another one may follow for the same rows. */
  sidbeam_attribute_column c = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  c.name = "c";
  c.integers = ids;
  CHECK_OK(sidbeam_builder_set_attribute(builder, &c, 4, &err));
  sidbeam_index* index = finished(builder);
  CHECK_OK(sidbeam_index_get_attribute(index, 0, &info, &err));
  CHECK_TEXT(info.name, "b");
  CHECK_INT(info.type, SIDBEAM_ATTRIBUTE_F32);
  CHECK(info.greatest_number == 100.0);
  CHECK_OK(sidbeam_index_get_attribute(index, 1, &info, &err));
  CHECK_INT(info.greatest, 13);
  sidbeam_index_release(index);
}

static void what_fits_no_attribute_is_refused(void) {
  static const char* const names[] = {"a", "b"};
  const sidbeam_status bad = SIDBEAM_INVALID_ARGUMENT;
  const arrow_column a = numbers("a", "l", 4, OF(int64_t, VALUES)), days = numbers("a", "tdD", 4, OF(int32_t, VALUES)),
                     large = numbers("a", "L", 4, OF(uint64_t, 1, 2, UINT64_MAX, 4)),
                     huge = numbers("a", "g", 4, OF(double, 1, 1e300, 2, 3)),
                     inner = texts("", "u", 3, OF(int32_t, 0, 1, 2, 3), "aba"),
                     dictionary = texts("", "u", 1, OF(int32_t, 0, 1), "x"),
                     stray = indices("a", "c", 4, OF(int8_t, 0, 0, 1, 0), &dictionary);
  static const unsigned char second[1] = {5};
  const arrow_column holes = with_nulls(inner, second),
                     broken = lists("a", "+l", 4, OF(int32_t, 0, 2, 2, 2, 3), &holes),
                     text = texts("a", "u", 4, OF(int32_t, 0, 1, 2, 3, 4), "ab\xff.");
  sidbeam_builder* builder = empty_builder(&wanted);
  CHECK_FAILS(add(builder, &a, NULL, names, 2, 0), bad,
              "an attribute's column is 'b', expected one of the columns 'sid'");
  CHECK_FAILS(add(builder, &a, NULL, names, 1, 1), bad, "attributes are named and all are asked for, expected one");
  CHECK_FAILS(add(builder, &a, NULL, NULL, 1, 0), bad, "attributes is NULL, expected 1 names");
  CHECK_FAILS(add(builder, &a, NULL, names, -1, 0), bad, "attribute_count is -1, expected 0 to 256");
  CHECK_FAILS(add(builder, &days, NULL, NULL, 0, 1), bad, "column 'a' has the format 'tdD'",
              "expected integers, floats, bool, text or lists of text for an attribute");
  CHECK_FAILS(add(builder, &large, NULL, NULL, 0, 1), bad, "column 'a', row 2 is 18446744073709551615",
              "expected an integer of 64 bits");
  CHECK_FAILS(add(builder, &huge, NULL, NULL, 0, 1), bad, "column 'a', row 1 is 1e+300, expected a number of 32 bits");
  CHECK_FAILS(add(builder, &broken, NULL, NULL, 0, 1), bad, "column 'a', row 0 is a list with a null");
  CHECK_FAILS(add(builder, &stray, NULL, NULL, 0, 1), bad, "column 'a', row 2: index 1, expected one of the 1");
  CHECK_FAILS(add(builder, &text, NULL, NULL, 0, 1), bad, "attribute 'a': row 2 has '\\xff', expected valid UTF-8");
  /* None of these has left anything, not even the attribute. */
  CHECK_OK(sidbeam_builder_declare_attribute(builder, "a", SIDBEAM_ATTRIBUTE_BOOL, &err));
  CHECK_FAILS(add(builder, &a, NULL, NULL, 0, 1), bad, "attribute 'a' is of type bool, and declared as i64");
  CHECK_OK(add(builder, NULL, NULL, NULL, 0, 1));
  CHECK_FAILS(add(builder, NULL, &a, NULL, 0, 1), bad, "attribute 'a' is of type bool");
  sidbeam_index* index = finished(builder);
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  CHECK_OK(sidbeam_index_get_info(index, &info, &err));
  CHECK_INT(info.items, 4);
  CHECK_INT(info.attribute_count, 1);
  sidbeam_index_release(index);
}

int main(void) {
  static const test_case tests[] = {
      TEST(integers_are_i64),
      TEST(floats_are_f32_and_nan_is_null),
      TEST(bits_are_bool),
      TEST(text_is_strings),
      TEST(lists_of_text_are_lists),
      TEST(rows_of_several_sids_share_their_values),
      TEST(named_columns_alone_are_taken_and_integers_go_into_f32),
      TEST(what_fits_no_attribute_is_refused),
  };
  return RUN_TESTS(tests);
}
