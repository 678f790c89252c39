/* Catalogues in Arrow's layouts: each gives the bytes that sidbeam_builder_add gives for the same pairs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arrow_columns.h"

/* Those of `small`. */
#define SMALL_SIDS 2, 2, 1, 0, 1, 2, 3, 0, 0, 0, 1, 3, 0, 3, 0, 0, 1, 2
#define SMALL_IDS 13, 10, 14, 11, 12, 15
#define SMALL_RANKS 0, 0, 0, 0, 0, 7
#define SMALL_NAMES "thirteentenfourteeneleventwelvefifteen"
#define SMALL_NAME_ENDS 0, 8, 11, 19, 25, 31, 38

static void expect_small(const arrow_column* sid, const arrow_column* item) {
  const arrow_column priority = numbers("priority", "c", 6, OF(int8_t, SMALL_RANKS));
  const arrow_column one = batch(6, item, sid, &priority, NULL);
  sidbeam_builder* builder = empty_builder(&small);
  CHECK_OK(add_batch(builder, &one, &err));
  expect_catalogue(builder, &small);
}

static void expect_small_named(const arrow_column* item) {
  const arrow_column values = numbers("item", "i", 18, OF(int32_t, SMALL_SIDS));
  const arrow_column sid = lists("semantic_id", "+w:3", 6, NULL, 0, &values);
  const arrow_column priority = numbers("priority", "g", 6, OF(double, SMALL_RANKS));
  const arrow_column one = batch(6, &sid, &priority, item, NULL);
  sidbeam_builder* builder = empty_builder(&small_named);
  CHECK_OK(add_batch(builder, &one, &err));
  expect_catalogue(builder, &small_named);
}

static void lists_of_every_kind_and_type_are_the_builders_codes(void) {
  const arrow_column values[] = {
      numbers("", "c", 18, OF(int8_t, SMALL_SIDS)),  numbers("", "C", 18, OF(uint8_t, SMALL_SIDS)),
      numbers("", "s", 18, OF(int16_t, SMALL_SIDS)), numbers("", "S", 18, OF(uint16_t, SMALL_SIDS)),
      numbers("", "i", 18, OF(int32_t, SMALL_SIDS)), numbers("", "I", 18, OF(uint32_t, SMALL_SIDS)),
      numbers("", "l", 18, OF(int64_t, SMALL_SIDS)), numbers("", "L", 18, OF(uint64_t, SMALL_SIDS)),
      numbers("", "f", 18, OF(float, SMALL_SIDS)),   numbers("", "g", 18, OF(double, SMALL_SIDS)),
  };
  const arrow_column item = numbers("item_id", "l", 6, OF(int64_t, SMALL_IDS));
  const arrow_column first_two_swapped = numbers("item_id", "l", 6, OF(int64_t, 10, 13, 14, 11, 12, 15));
  for (size_t i = 0; i < COUNT(values); ++i) {
    const arrow_column fixed = lists("sid", "+w:3", 6, NULL, 0, &values[i]);
    expect_small(&fixed, &item);
    const arrow_column list = lists("codes", "+l", 6, OF(int32_t, 0, 3, 6, 9, 12, 15, 18), &values[i]);
    expect_small(&list, &item);
    const arrow_column large = lists("token_ids", "+L", 6, OF(int64_t, 0, 3, 6, 9, 12, 15, 18), &values[i]);
    expect_small(&large, &item);
    arrow_column view = lists("tokens", "+vl", 6, OF(int32_t, 3, 0, 6, 9, 12, 15), &values[i]);
    view.buffer_count = 3;
    view.buffers[2] = (const int32_t[]){3, 3, 3, 3, 3, 3};
    view.bytes[2] = 24;
    expect_small(&view, &first_two_swapped);
    view = lists("sids", "+vL", 6, OF(int64_t, 15, 0, 6, 9, 12, 3), &values[i]);
    view.buffer_count = 3;
    view.buffers[2] = (const int64_t[]){3, 3, 3, 3, 3, 3};
    view.bytes[2] = 48;
    expect_small(&view, &first_two_swapped);
  }
}

static void ids_of_every_type_and_dictionaries_are_the_same_ids(void) {
  const arrow_column values = numbers("item", "i", 18, OF(int32_t, SMALL_SIDS));
  const arrow_column sid = lists("sid", "+w:3", 6, NULL, 0, &values);
  const arrow_column dictionary = numbers("", "s", 7, OF(int16_t, 10, 11, -1, 12, 13, 14, 15));
  const arrow_column items[] = {
      numbers("item", "c", 6, OF(int8_t, SMALL_IDS)),
      numbers("iid", "C", 6, OF(uint8_t, SMALL_IDS)),
      numbers("id", "s", 6, OF(int16_t, SMALL_IDS)),
      numbers("asin", "S", 6, OF(uint16_t, SMALL_IDS)),
      numbers("docid", "i", 6, OF(int32_t, SMALL_IDS)),
      numbers("goods_id", "I", 6, OF(uint32_t, SMALL_IDS)),
      numbers("item_id", "L", 6, OF(uint64_t, SMALL_IDS)),
      numbers("item", "f", 6, OF(float, SMALL_IDS)),
      numbers("item", "g", 6, OF(double, SMALL_IDS)),
      indices("item", "C", 6, OF(uint8_t, 4, 0, 5, 1, 3, 6), &dictionary),
      indices("item", "l", 6, OF(int64_t, 4, 0, 5, 1, 3, 6), &dictionary),
  };
  for (size_t i = 0; i < COUNT(items); ++i) expect_small(&sid, &items[i]);
}

static void unsigned_ids_keep_their_bits(void) {
  static const int64_t ids[] = {-1, INT64_MIN, 5};
  catalogue two = two_levels;
  two.ids = ids;
  two.id_type = SIDBEAM_ID_U64;
  const arrow_column values = numbers("", "i", 6, two.sids, 24);
  const arrow_column sid = lists("sid", "+w:2", 3, NULL, 0, &values);
  const arrow_column item = numbers("id", "L", 3, OF(uint64_t, UINT64_MAX, (uint64_t)1 << 63, 5));
  const arrow_column one = batch(3, &sid, &item, NULL, NULL);
  sidbeam_builder* builder = empty_builder(&two);
  CHECK_OK(add_batch(builder, &one, &err));
  expect_catalogue(builder, &two);
}

static void texts_of_every_kind_are_names(void) {
  const arrow_column named = texts("item", "u", 6, OF(int32_t, SMALL_NAME_ENDS), SMALL_NAMES);
  const arrow_column large = texts("item", "U", 6, OF(int64_t, SMALL_NAME_ENDS), SMALL_NAMES);
  const arrow_column binary = texts("item", "z", 6, OF(int32_t, SMALL_NAME_ENDS), SMALL_NAMES);
  const arrow_column values = texts("", "u", 6, OF(int32_t, SMALL_NAME_ENDS), SMALL_NAMES);
  const arrow_column dictionary = indices("item", "c", 6, OF(int8_t, 0, 1, 2, 3, 4, 5), &values);
  expect_small_named(&named);
  expect_small_named(&large);
  expect_small_named(&binary);
  expect_small_named(&dictionary);
}

/* {length, the text, or its first four bytes, buffer, offset} */
typedef struct text_view {
  int32_t length;
  char head[4];
  int32_t buffer, offset;
} text_view;

static void views_of_text_are_names(void) {
  static const char* const long_names[] = {
      "a name of more than twelve bytes",          "ten", "fourteen", "eleven", "twelve",
      "another name that is too long to be inline"};
  char first[80] = "...";
  text_view views[6];
  int64_t sizes[2];
  memset(views, 0, sizeof views);
  for (int i = 1; i < 5; ++i) {
    views[i].length = (int32_t)strlen(long_names[i]);
    memcpy(views[i].head, long_names[i], strlen(long_names[i])); /* runs on into the next fields, as views do */
  }
  strcat(first, long_names[0]);
  views[0] = (text_view){(int32_t)strlen(long_names[0]), "a na", 0, 3};
  views[5] = (text_view){(int32_t)strlen(long_names[5]), "anot", 1, 0};
  sizes[0] = (int64_t)strlen(first);
  sizes[1] = (int64_t)strlen(long_names[5]);
  arrow_column item = numbers("item", "vu", 6, views, sizeof views);
  item.buffer_count = 5;
  item.buffers[2] = first, item.bytes[2] = sizes[0];
  item.buffers[3] = long_names[5], item.bytes[3] = sizes[1];
  item.buffers[4] = sizes, item.bytes[4] = sizeof sizes;
  catalogue expected = small_named;
  expected.names = long_names;
  const arrow_column values = numbers("", "i", 18, OF(int32_t, SMALL_SIDS));
  const arrow_column sid = lists("sid", "+w:3", 6, NULL, 0, &values);
  const arrow_column priority = numbers("priority", "i", 6, OF(int32_t, SMALL_RANKS));
  arrow_column one = batch(6, &sid, &item, &priority, NULL);
  sidbeam_builder* builder = empty_builder(&expected);
  CHECK_OK(add_batch(builder, &one, &err));
  expect_catalogue(builder, &expected);
  sizes[0] -= 1; /* what a view refers to must be in its buffer */
  item.bytes[2] = sizes[0];
  one = batch(6, &sid, &item, NULL, NULL);
  builder = empty_builder(&expected);
  CHECK_FAILS(add_batch(builder, &one, &err), SIDBEAM_INVALID_ARGUMENT,
              "column 'item': text 0 is 32 bytes at 3 of buffer 0, which has fewer");
  sidbeam_builder_destroy(builder);
}

/* Two rows before and one behind, in every array; the bits of nulls move with them. */
static void slices_are_read_from_their_offsets(void) {
  const unsigned char valid[1] = {0x7c}; /* elements 2 .. 6 */
  arrow_column values = numbers("", "s", 12, OF(int16_t, 9, 9, 9, -1, 9, 9, 3, 1, 1, 2, 1, 0));
  values.offset = 0;
  arrow_column sid = lists("sid", "+w:2", 4, NULL, 0, &values); /* rows 2, 3, 4 and 5 of these */
  sid.offset = 2;
  arrow_column item = with_nulls(numbers("id", "i", 5, OF(int32_t, 0, 0, 7, 32, 31, 30, 0)), valid);
  item.offset = 2;
  arrow_column one = batch(3, &sid, &item, NULL, NULL);
  one.offset = 1; /* of the struct: one more row of each column */
  sidbeam_builder* builder = empty_builder(&two_levels);
  CHECK_OK(add_batch(builder, &one, &err));
  expect_catalogue(builder, &two_levels);

  values = numbers("", "I", 6, OF(uint32_t, 77, 3, 1, 1, 2, 1, 0));
  values.offset = 1;
  sid = lists("sid", "+l", 3, OF(int32_t, 99, 0, 2, 4, 6), &values);
  sid.offset = 1;
  item = numbers("id", "l", 3, OF(int64_t, 5, 32, 31, 30));
  item.offset = 1;
  one = batch(3, &sid, &item, NULL, NULL);
  builder = empty_builder(&two_levels);
  CHECK_OK(add_batch(builder, &one, &err));
  expect_catalogue(builder, &two_levels);
}

static void batches_come_one_after_the_other_each_with_its_dictionary(void) {
  const arrow_column first = numbers("", "i", 4, OF(int32_t, 3, 1, 1, 2)),
                     last = numbers("", "i", 2, OF(int32_t, 1, 0));
  const arrow_column none = numbers("", "i", 0, NULL, 0);
  const arrow_column names[] = {texts("", "u", 2, OF(int32_t, 0, 1, 3), "abb"), texts("", "u", 0, NULL, 0, NULL),
                                texts("", "u", 3, OF(int32_t, 0, 1, 2, 4), "xycc")};
  const arrow_column sids[] = {lists("sid", "+w:2", 2, NULL, 0, &first), lists("sid", "+w:2", 0, NULL, 0, &none),
                               lists("sid", "+w:2", 1, NULL, 0, &last)};
  const arrow_column items[] = {indices("item", "c", 2, OF(int8_t, 1, 0), &names[0]),
                                indices("item", "c", 0, NULL, 0, &names[1]),
                                indices("item", "c", 1, OF(int8_t, 2), &names[2])};
  const arrow_column batches[] = {batch(2, &sids[0], &items[0], NULL, NULL), batch(0, &sids[1], &items[1], NULL, NULL),
                                  batch(1, &sids[2], &items[2], NULL, NULL)};
  const arrow_column* const in_order[] = {&batches[1], &batches[0], &batches[1], &batches[2]};
  static const char* const expected_names[] = {"bb", "a", "cc"};
  catalogue expected = two_levels;
  expected.id_type = SIDBEAM_ID_STRING;
  expected.ids = NULL;
  expected.names = expected_names;
  arrow_source source = source_of(in_order, 4);
  int64_t pairs = -1;
  sidbeam_builder* builder = empty_builder(&expected);
  CHECK_OK(add_stream(builder, &source, NULL, &pairs, &err));
  CHECK_INT(pairs, 3);
  expect_catalogue(builder, &expected);
}

static void without_items_the_id_is_the_pairs_number_over_all_calls(void) {
  static const int64_t numbers_of_pairs[] = {0, 1, 2};
  catalogue expected = two_levels;
  expected.ids = numbers_of_pairs;
  const arrow_column values = numbers("", "i", 4, OF(int32_t, 1, 2, 1, 0));
  const arrow_column list = lists("", "+L", 2, OF(int64_t, 0, 2, 4), &values); /* a stream of arrays, no batches */
  sidbeam_builder* builder = empty_builder(&expected);
  CHECK_OK(sidbeam_builder_add(builder, expected.sids, NULL, 1, NULL, NULL, &err));
  CHECK_OK(add_batch(builder, &list, &err));
  expected.ids = NULL;
  expect_catalogue(builder, &expected);
}

static void columns_per_level_by_name_or_by_prefix(void) {
  const arrow_column a = numbers("c_9", "C", 6, OF(uint8_t, 2, 0, 3, 0, 0, 0));
  const arrow_column b = numbers("c_10", "g", 6, OF(double, 2, 1, 0, 1, 3, 1));
  const arrow_column c = numbers("c_11", "L", 6, OF(uint64_t, 1, 2, 0, 3, 0, 2));
  const arrow_column item = numbers("id", "i", 6, OF(int32_t, SMALL_IDS));
  const arrow_column one = batch(6, &c, &a, &item, &b);
  static const char* const names[] = {"c_9", "c_10", "c_11"};
  catalogue expected = small;
  expected.priorities = NULL;
  sidbeam_arrow_config config = SIDBEAM_ARROW_CONFIG_INIT;
  const arrow_column* const batches[] = {&one};
  arrow_source source = source_of(batches, 1);
  config.levels = names;
  config.level_count = 3;
  sidbeam_builder* builder = empty_builder(&expected);
  CHECK_OK(add_stream(builder, &source, &config, NULL, &err));
  expect_catalogue(builder, &expected);

  arrow_column x = a, y = b, z = c;
  x.name = "code1", y.name = "code2", z.name = "code3";
  const arrow_column other = batch(6, &z, &y, &item, &x);
  const arrow_column* const others[] = {&other};
  source = source_of(others, 1);
  config = (sidbeam_arrow_config)SIDBEAM_ARROW_CONFIG_INIT;
  config.level_prefix = "code";
  builder = empty_builder(&expected);
  CHECK_OK(add_stream(builder, &source, &config, NULL, &err));
  expect_catalogue(builder, &expected);
}

static void an_item_may_have_several_sids(void) {
  static const int64_t ids[] = {5, 5, 9}, ranks[] = {3, 3, 1};
  catalogue expected = two_levels;
  expected.ids = ids;
  expected.priorities = ranks;
  const arrow_column codes = numbers("", "S", 8, OF(uint16_t, 9, 9, 3, 1, 1, 2, 1, 0));
  const arrow_column inner[] = {lists("", "+w:2", 4, NULL, 0, &codes),
                                lists("", "+l", 4, OF(int32_t, 0, 2, 4, 6, 8), &codes)};
  const arrow_column item = numbers("item", "c", 2, OF(int8_t, 5, 9)),
                     rank = numbers("priority", "c", 2, OF(int8_t, 3, 1));
  for (int i = 0; i < 2; ++i) {
    const arrow_column sids = lists("sids", "+l", 2, OF(int32_t, 1, 3, 4), &inner[i]);
    const arrow_column one = batch(2, &sids, &item, &rank, NULL);
    sidbeam_builder* builder = empty_builder(&expected);
    CHECK_OK(add_batch(builder, &one, &err));
    expect_catalogue(builder, &expected);
  }
}

static void lengths_may_vary_by_lists_nulls_and_nan(void) {
  const arrow_column item = numbers("item", "l", 5, OF(int64_t, 20, 21, 22, 23, 24));
  const arrow_column ragged = numbers("", "i", 11, OF(int32_t, 0, 0, 1, 0, 1, 2, 2, 2, 1, 3, 0));
  const arrow_column list = lists("sid", "+l", 5, OF(int32_t, 0, 1, 3, 6, 9, 11), &ragged);
  const arrow_column nan = numbers("", "f", 15, OF(float, 0, NAN, NAN, 0, 1, NAN, 0, 1, 2, 2, 2, 1, 3, 0, NAN));
  const arrow_column fixed = lists("sid", "+w:3", 5, NULL, 0, &nan);
  arrow_column holes = numbers("", "i", 15, OF(int32_t, 0, 9, 9, 0, 1, 9, 0, 1, 2, 2, 2, 1, 3, 0, 9));
  holes.buffers[0] = (const unsigned char[]){0xd9, 0x3f}; /* of 15: 1, 2, 5 and 14 are null */
  holes.bytes[0] = 2;
  holes.null_count = 4;
  const arrow_column nulls = lists("sid", "+l", 5, OF(int32_t, 0, 3, 6, 9, 12, 15), &holes);
  const arrow_column* const all[] = {&list, &fixed, &nulls};
  for (size_t i = 0; i < COUNT(all); ++i) {
    const arrow_column one = batch(5, all[i], &item, NULL, NULL);
    sidbeam_builder* builder = empty_builder(&small_variable);
    CHECK_OK(add_batch(builder, &one, &err));
    expect_catalogue(builder, &small_variable);
  }
  const unsigned char second[1] = {0x1e}, third[1] = {0x0c}; /* of five */
  const arrow_column a = numbers("l0", "i", 5, OF(int32_t, 0, 0, 0, 2, 3));
  const arrow_column b = with_nulls(numbers("l1", "i", 5, OF(int32_t, 9, 1, 1, 2, 0)), second);
  const arrow_column c = with_nulls(numbers("l2", "i", 5, OF(int32_t, 9, 9, 2, 1, 9)), third);
  const arrow_column columns = batch(5, &a, &b, &c, &item);
  const arrow_column* const batches[] = {&columns};
  arrow_source source = source_of(batches, 1);
  sidbeam_arrow_config config = SIDBEAM_ARROW_CONFIG_INIT;
  config.level_prefix = "l";
  sidbeam_builder* builder = empty_builder(&small_variable);
  CHECK_OK(add_stream(builder, &source, &config, NULL, &err));
  expect_catalogue(builder, &small_variable);
}

static void inspect_tells_what_a_builder_needs(void) {
  const arrow_column values = numbers("", "C", 11, OF(uint8_t, 0, 0, 1, 0, 1, 2, 2, 250, 1, 3, 0));
  const arrow_column list = lists("sid", "+l", 5, OF(int32_t, 0, 1, 3, 6, 9, 11), &values);
  const arrow_column item = texts("asin", "u", 5, OF(int32_t, 0, 1, 2, 3, 4, 5), "abcde");
  const arrow_column one = batch(5, &list, &item, NULL, NULL), more = batch(2, &list, &item, NULL, NULL);
  const arrow_column* const batches[] = {&one, &more};
  arrow_source source = source_of(batches, 2);
  struct ArrowArrayStream stream;
  sidbeam_arrow_info info = SIDBEAM_ARROW_INFO_INIT;
  int32_t codes[SIDBEAM_MAX_LEVELS];
  static const int32_t expected[4] = {4, 251, 3, -7};
  codes[3] = -7;
  arrow_export(&source, &stream);
  CHECK_OK(sidbeam_arrow_inspect(&stream, NULL, codes, &info, &err));
  CHECK(stream.release == NULL && source.streams == 0 && source.objects == 0);
  CHECK_I32(codes, expected, 4);
  CHECK_INT(info.levels, 3);
  CHECK_INT(info.shortest, 1);
  CHECK_INT(info.id_type, SIDBEAM_ID_STRING);
  CHECK_INT(info.items, 1);
  CHECK_INT(info.priorities, 0);
  CHECK_INT(info.pairs, 7);
}

int main(void) {
  static const test_case tests[] = {
      TEST(lists_of_every_kind_and_type_are_the_builders_codes),
      TEST(ids_of_every_type_and_dictionaries_are_the_same_ids),
      TEST(unsigned_ids_keep_their_bits),
      TEST(texts_of_every_kind_are_names),
      TEST(views_of_text_are_names),
      TEST(slices_are_read_from_their_offsets),
      TEST(batches_come_one_after_the_other_each_with_its_dictionary),
      TEST(without_items_the_id_is_the_pairs_number_over_all_calls),
      TEST(columns_per_level_by_name_or_by_prefix),
      TEST(an_item_may_have_several_sids),
      TEST(lengths_may_vary_by_lists_nulls_and_nan),
      TEST(inspect_tells_what_a_builder_needs),
  };
  return RUN_TESTS(tests);
}
