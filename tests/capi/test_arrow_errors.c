/* What is wrong with a stream of Arrow's is said with column, row and value; the stream is released, and nothing of the
 * call was added. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "arrow_columns.h"

static sidbeam_builder* builder; /* of `small`, with one pair */

/* A call that fails, and after which the builder is what it was. */
#define REFUSED(source, config, status, ...)                                           \
  do {                                                                                 \
    CHECK_FAILS(add_stream(builder, source, config, NULL, &err), status, __VA_ARGS__); \
    expect_one_pair();                                                                 \
  } while (0)

static void start(const catalogue* like) {
  sidbeam_builder_destroy(builder);
  builder = empty_builder(like);
  catalogue one = *like;
  one.count = 1;
  CHECK_OK(add_all(builder, &one, &err));
}

/* A builder cannot be looked into without an end to adding: it is tried on another one. */
static const catalogue* like = &small;
static void expect_one_pair(void) {
  catalogue one = *like;
  one.count = 1;
  sidbeam_builder* const tried = builder;
  builder = NULL;
  expect_catalogue(tried, &one);
  start(like);
}

static void refuse_batch(const arrow_column* one, const char* text) {
  const arrow_column* const batches[] = {one};
  arrow_source source = source_of(batches, 1);
  REFUSED(&source, NULL, SIDBEAM_INVALID_ARGUMENT, text);
}

static void refuse_sid(const arrow_column* sid, const char* text) {
  const arrow_column item = numbers("item", "l", 2, OF(int64_t, 1, 2));
  const arrow_column one = batch(2, sid, &item, NULL, NULL);
  refuse_batch(&one, text);
}

static const int32_t six_codes[] = {0, 1, 2, 0, 1, 3};

static void refuse_item(const arrow_column* item, const char* text) {
  const arrow_column values = numbers("", "i", 6, six_codes, 24), sid = lists("sid", "+w:3", 2, NULL, 0, &values);
  const arrow_column one = batch(2, &sid, item, NULL, NULL);
  refuse_batch(&one, text);
}

static void codes_out_of_range_name_column_row_level_and_value(void) {
  start(&small);
  const arrow_column values[] = {
      numbers("", "i", 6, OF(int32_t, 0, 1, 2, 0, 4, 3)),  numbers("", "l", 6, OF(int64_t, 0, 1, 2, 0, 4294967296, 3)),
      numbers("", "c", 6, OF(int8_t, 0, 1, 2, 0, -1, 3)),  numbers("", "L", 6, OF(uint64_t, 0, 1, 2, 0, UINT64_MAX, 3)),
      numbers("", "g", 6, OF(double, 0, 1, 2, 0, 1.5, 3)), numbers("", "f", 6, OF(float, 0, 1, 2, 0, INFINITY, 3))};
  static const char* const texts_of[] = {"4", "4294967296", "-1", "18446744073709551615", "1.5", "inf"};
  for (size_t i = 0; i < COUNT(values); ++i) {
    char expected[100];
    const arrow_column fixed = lists("sid", "+w:3", 2, NULL, 0, &values[i]);
    const arrow_column list = lists("codes", "+l", 2, OF(int32_t, 0, 3, 6), &values[i]);
    snprintf(expected, sizeof expected, "column 'sid', row 1, level 1: code %s, expected 0 to 3", texts_of[i]);
    refuse_sid(&fixed, expected);
    snprintf(expected, sizeof expected, "column 'codes', row 1, level 1: code %s, expected 0 to 3", texts_of[i]);
    refuse_sid(&list, expected);
  }
}

static void rows_are_counted_over_the_batches(void) {
  const arrow_column values = numbers("", "i", 6, six_codes, 24),
                     bad = numbers("", "i", 6, OF(int32_t, 0, 1, 2, 0, 1, 9));
  const arrow_column sids[] = {lists("sid", "+w:3", 2, NULL, 0, &values), lists("sid", "+w:3", 2, NULL, 0, &bad)};
  const arrow_column item = numbers("item", "l", 2, OF(int64_t, 1, 2));
  const arrow_column good = batch(2, &sids[0], &item, NULL, NULL), wrong = batch(2, &sids[1], &item, NULL, NULL);
  const arrow_column* const batches[] = {&good, &good, &wrong};
  arrow_source source = source_of(batches, 3);
  start(&small);
  REFUSED(&source, NULL, SIDBEAM_INVALID_ARGUMENT, "column 'sid', row 5, level 2: code 9, expected 0 to 3");
}

static void lengths_that_do_not_fit_are_refused(void) {
  const arrow_column values = numbers("", "i", 6, six_codes, 24);
  const arrow_column shorter = lists("sid", "+l", 2, OF(int32_t, 0, 3, 5), &values);
  const arrow_column longer = lists("sid", "+l", 2, OF(int32_t, 0, 4, 6), &values);
  const arrow_column empty = lists("sid", "+l", 2, OF(int32_t, 0, 0, 3), &values);
  const arrow_column pairs = lists("sid", "+w:2", 2, NULL, 0, &values);
  start(&small);
  refuse_sid(&shorter, "column 'sid', row 1 has 2 codes, expected 3 (variable_length is 0)");
  refuse_sid(&longer, "column 'sid', row 0 has 4 codes, expected 3");
  refuse_sid(&empty, "column 'sid', row 0 is empty, a SID has at least 1 code");
  refuse_sid(&pairs, "column 'sid', row 0 has 2 codes, expected 3 (variable_length is 0)");
  like = &small_variable;
  start(like);
  refuse_sid(&longer, "column 'sid', row 0 has 4 codes, expected 1 to 3");
  refuse_sid(&empty, "column 'sid', row 0 is empty, a SID has at least 1 code");
  like = &small;
}

static void nulls_are_refused_but_at_the_end_of_what_may_end(void) {
  const unsigned char last[1] = {0x1f}, middle[1] = {0x2f}, none[1] = {0x07}, list_bits[1] = {0x01};
  const arrow_column values = numbers("", "i", 6, six_codes, 24);
  const arrow_column with_last = with_nulls(values, last), with_middle = with_nulls(values, middle),
                     with_none = with_nulls(values, none);
  const arrow_column ends = lists("sid", "+w:3", 2, NULL, 0, &with_last),
                     gap = lists("sid", "+w:3", 2, NULL, 0, &with_middle),
                     nothing = lists("sid", "+w:3", 2, NULL, 0, &with_none),
                     missing = with_nulls(lists("sid", "+w:3", 2, NULL, 0, &values), list_bits);
  start(&small);
  refuse_sid(&ends, "column 'sid', row 1, level 2 is null, expected a code (variable_length is 0)");
  refuse_sid(&gap, "column 'sid', row 1, level 1 is null, and a code follows");
  refuse_sid(&nothing, "column 'sid', row 1 has nulls alone, a SID has at least 1 code");
  refuse_sid(&missing, "column 'sid', row 1 is null, expected a list of codes");
  like = &small_variable;
  start(like);
  refuse_sid(&gap, "column 'sid', row 1, level 1 is null, and a code follows");
  refuse_sid(&missing, "column 'sid', row 1 is null, expected a list of codes");
  like = &small;
  start(like);
  const arrow_column sid = lists("sid", "+w:3", 2, NULL, 0, &values), item = numbers("item", "l", 2, OF(int64_t, 1, 2));
  arrow_column one = batch(2, &sid, &item, NULL, NULL);
  one = with_nulls(one, list_bits);
  refuse_batch(&one, "row 1 is null, expected a SID");
}

static void items_that_are_no_ids_are_refused(void) {
  const unsigned char first[1] = {0x01};
  const arrow_column dictionary = numbers("", "l", 2, OF(int64_t, 1, 2));
  const arrow_column nulls = with_nulls(numbers("id", "l", 2, OF(int64_t, 1, 2)), first);
  const arrow_column large = numbers("id", "L", 2, OF(uint64_t, 1, (uint64_t)1 << 63));
  const arrow_column half = numbers("id", "g", 2, OF(double, 1, 2.5)),
                     far = numbers("id", "f", 2, OF(float, 1, 33554432));
  const arrow_column nearest = numbers("id", "g", 2, OF(double, 9007199254740991, 9007199254740992));
  const arrow_column outside = indices("id", "c", 2, OF(int8_t, 0, 2), &dictionary);
  const arrow_column below = indices("id", "c", 2, OF(int8_t, 0, -1), &dictionary);
  const arrow_column text = texts("id", "u", 2, OF(int32_t, 0, 1, 2), "ab");
  start(&small);
  refuse_item(&nulls, "column 'id', row 1 is null, expected a number");
  refuse_item(&large, "column 'id', row 1 is 9223372036854775808, expected an integer of 64 bits");
  refuse_item(&half, "column 'id', row 1 is 2.5, expected a whole number below 2^53");
  refuse_item(&far, "column 'id', row 1 is 3.35544e+07, expected a whole number below 2^24");
  refuse_item(&nearest, "column 'id', row 1 is 9.0072e+15, expected a whole number below 2^53");
  refuse_item(&outside, "column 'id', row 1: index 2, expected one of the 2 of its dictionary");
  refuse_item(&below, "column 'id', row 1: index -1, expected one of the 2 of its dictionary");
  refuse_item(&text, "column 'id' holds text, expected integers: the builder's ids are integers");
  like = &small_named;
  start(like);
  refuse_item(&dictionary, "no column of items, expected one of text: the builder's ids are strings");
  refuse_item(&nulls, "column 'id' holds numbers, expected text: the builder's ids are strings");
  const arrow_column missing = with_nulls(text, first), falling = texts("id", "u", 2, OF(int32_t, 0, 2, 1), "ab");
  refuse_item(&missing, "column 'id', row 1 is null, expected text");
  refuse_item(&falling, "column 'id': text 1 is the bytes 2 to 1, expected offsets that rise");
  const arrow_column latin = texts("id", "u", 2, OF(int32_t, 0, 1, 3), "a\xe9z");
  const arrow_column bytes = texts("id", "z", 2, OF(int32_t, 0, 1, 3), "\xff\xc3\xa9");
  refuse_item(&latin, "column 'id', row 1 is not UTF-8, expected text that is");
  refuse_item(&bytes, "column 'id', row 0 is not UTF-8, expected text that is");
  like = &small;
}

static void negative_ids_are_no_unsigned_ones(void) {
  catalogue of_u64 = small;
  of_u64.id_type = SIDBEAM_ID_U64;
  like = &of_u64;
  start(like);
  const arrow_column negative = numbers("id", "c", 2, OF(int8_t, 1, -2));
  refuse_item(&negative, "column 'id', row 1 is -2, expected an integer, 0 to 2^64 - 1");
  like = &small;
}

static void types_that_cannot_be_read_are_named(void) {
  static const char* const formats[] = {"+r", "+m", "+ud:0,1", "e", "d:10,2", "tdD", "n", "b", "w:4"};
  start(&small);
  for (size_t i = 0; i < COUNT(formats); ++i) {
    const arrow_column sid = numbers("sid", formats[i], 2, OF(int64_t, 0, 1)),
                       id = numbers("id", formats[i], 2, OF(int64_t, 1, 2));
    char text[100];
    snprintf(text, sizeof text, "column 'sid' has the format '%s', expected lists of integers", formats[i]);
    refuse_sid(&sid, text);
    snprintf(text, sizeof text, "column 'id' has the format '%s', expected integers or text for items", formats[i]);
    refuse_item(&id, text);
  }
}

static void columns_that_are_not_clear_are_refused(void) {
  const arrow_column values = numbers("", "i", 6, six_codes, 24),
                     words = texts("", "u", 6, OF(int32_t, 0, 1, 2, 3, 4, 5, 6), "abcdef");
  const arrow_column sid = lists("sid", "+w:3", 2, NULL, 0, &values),
                     codes = lists("codes", "+w:3", 2, NULL, 0, &values);
  const arrow_column other = lists("a\nb", "+w:3", 2, NULL, 0, &values),
                     tokens = lists("tokens", "+w:3", 2, NULL, 0, &words);
  const arrow_column item = numbers("item", "l", 2, OF(int64_t, 1, 2)), id = numbers("id", "l", 2, OF(int64_t, 1, 2));
  const arrow_column text = texts("sid", "u", 2, OF(int32_t, 0, 1, 2), "ab");
  const arrow_column both = batch(2, &sid, &codes, &item, NULL), ids = batch(2, &sid, &item, &id, NULL),
                     none = batch(2, &other, &item, NULL, NULL), named = batch(2, &tokens, &item, NULL, NULL),
                     as_text = batch(2, &text, &item, NULL, NULL);
  start(&small);
  refuse_batch(&both, "columns 'sid' and 'codes' both fit: name one of them as sid");
  refuse_batch(&ids, "columns 'item' and 'id' both fit: name one of them as item");
  refuse_batch(&none, "no column of SIDs: there are 'a\\x0ab', 'item'; expected sid, sids,");
  refuse_batch(&named, "column 'tokens' holds text, expected codes as numbers: tokens are read by the importers");
  refuse_batch(&as_text, "column 'sid' holds text, expected codes as numbers: tokens are read by the importers");
  const arrow_column* const batches[] = {&both};
  arrow_source source = source_of(batches, 1);
  sidbeam_arrow_config config = SIDBEAM_ARROW_CONFIG_INIT;
  config.sid = "nothing";
  REFUSED(&source, &config, SIDBEAM_INVALID_ARGUMENT,
          "sid is 'nothing', expected one of the columns 'sid', 'codes', 'item'");
  config.level_prefix = "c";
  REFUSED(&source, &config, SIDBEAM_INVALID_ARGUMENT, "sid, levels and level_prefix are given together");
  config.sid = NULL;
  REFUSED(&source, &config, SIDBEAM_INVALID_ARGUMENT, "level_prefix is 'c', expected columns of that and a number");
  config.level_prefix = NULL;
  config.levels = &config.sid;
  REFUSED(&source, &config, SIDBEAM_INVALID_ARGUMENT, "level_count is 0, expected 1 to");
  config.level_count = 1;
  REFUSED(&source, &config, SIDBEAM_INVALID_ARGUMENT, "levels[0] is NULL, expected a name");
}

static void levels_must_be_complete(void) {
  const arrow_column a = numbers("c_0", "i", 2, OF(int32_t, 0, 1)), b = numbers("c_2", "i", 2, OF(int32_t, 0, 1));
  const arrow_column one = batch(2, &a, &b, NULL, NULL);
  const arrow_column* const batches[] = {&one};
  arrow_source source = source_of(batches, 1);
  sidbeam_arrow_config config = SIDBEAM_ARROW_CONFIG_INIT;
  static const char* const names[] = {"c_2", "c_0"};
  start(&small);
  config.level_prefix = "c_";
  REFUSED(&source, &config, SIDBEAM_INVALID_ARGUMENT,
          "level_prefix is 'c_': column 'c_2' stands where that of level 1 is expected");
  config.level_prefix = NULL;
  config.levels = names;
  config.level_count = 2;
  REFUSED(&source, &config, SIDBEAM_INVALID_ARGUMENT, "2 columns of levels, expected 3");
}

/* What can be known of an array is checked before it is read. */
static void arrays_that_cannot_be_are_refused(void) {
  const arrow_column values = numbers("", "i", 6, six_codes, 24);
  const arrow_column good = lists("sid", "+w:3", 2, NULL, 0, &values);
  arrow_column sid = good, bad = values;
  start(&small);
  sid.offset = -1;
  refuse_sid(&sid, "column 'sid': offset -1, expected 0 to 2^56");
  sid = good, sid.length = -1;
  refuse_sid(&sid, "column 'sid': length -1, expected 0 to 2^56");
  sid = good, sid.length = 1;
  refuse_sid(&sid, "column 'sid' has the length 1, expected at least 2, for what holds it");
  sid = good, sid.length = (int64_t)1 << 56;
  refuse_sid(&sid, "column 'sid': length 72057594037927936, expected fewer lists");
  sid = good, sid.null_count = 3;
  refuse_sid(&sid, "column 'sid': null_count 3, expected -1 to the length");
  sid = good, sid.null_count = 1;
  refuse_sid(&sid, "column 'sid': no validity bitmap and null_count 1, expected 0");
  sid = good, sid.buffer_count = 2;
  refuse_sid(&sid, "column 'sid': n_buffers 2, expected 1");
  sid = good, sid.children[0] = &bad, bad.length = 5;
  refuse_sid(&sid, "column '' has the length 5, expected at least 6, for what holds it");
  bad = values, bad.buffers[1] = NULL;
  refuse_sid(&sid, "column '': NULL as buffer 1, expected memory");
  arrow_column list = lists("sid", "+l", 2, OF(int32_t, 0, 3, 7), &values);
  refuse_sid(&list, "column 'sid': list 1 is up to 7 at 3, expected a part of 6 elements");
  list = lists("sid", "+l", 2, OF(int32_t, 0, 3, 2), &values);
  refuse_sid(&list, "column 'sid': list 1 is up to 2 at 3, expected a part of 6 elements");
  list = lists("sid", "+l", 2, OF(int32_t, -3, 0, 3), &values);
  refuse_sid(&list, "column 'sid': list 0 is up to 0 at -3, expected a part of 6 elements");
  arrow_column view = lists("sid", "+vl", 2, OF(int32_t, 0, 4), &values);
  view.buffer_count = 3, view.buffers[2] = (const int32_t[]){3, 3}, view.bytes[2] = 8;
  refuse_sid(&view, "column 'sid': list 1 is of 3 at 4, expected a part of 6 elements");
  sid = good, sid.format = "+w:x";
  refuse_sid(&sid, "column 'sid' has the format '+w:x', expected a number of elements after '+w:'");
}

static void arrays_must_be_of_their_schema(void) {
  const arrow_column values = numbers("", "i", 6, six_codes, 24), sid = lists("sid", "+w:3", 2, NULL, 0, &values);
  const arrow_column item = numbers("item", "c", 2, OF(int8_t, 0, 1)),
                     indexed = indices("item", "c", 2, OF(int8_t, 0, 1), &values);
  const arrow_column one = batch(2, &sid, NULL, NULL, NULL), two = batch(2, &sid, &item, NULL, NULL),
                     with_dictionary = batch(2, &sid, &indexed, NULL, NULL);
  const arrow_column *first = &one, *second = &two;
  arrow_source source = source_of(&first, 1);
  start(&small);
  source.schema = &two;
  REFUSED(&source, NULL, SIDBEAM_INVALID_ARGUMENT, "column '': n_children 1, expected 2");
  source = source_of(&second, 1);
  source.schema = &with_dictionary;
  REFUSED(&source, NULL, SIDBEAM_INVALID_ARGUMENT, "column 'item' comes without a dictionary, expected the contrary");
}

static void streams_that_fail_are_quoted(void) {
  const arrow_column values = numbers("", "i", 6, six_codes, 24), sid = lists("sid", "+w:3", 2, NULL, 0, &values);
  const arrow_column item = numbers("item", "l", 2, OF(int64_t, 1, 2)), one = batch(2, &sid, &item, NULL, NULL);
  const arrow_column* const batches[] = {&one, &one};
  arrow_source source = source_of(batches, 2);
  start(&small);
  source.fail_at = 2;
  source.error = EIO;
  source.message = "disk \x1b[31mon\nfire";
  REFUSED(&source, NULL, SIDBEAM_IO_ERROR,
          "the stream's get_next failed with 5 (Input/output error): disk \\x1b[31mon\\x0afire");
  source.message = NULL;
  source.fail_at = 0;
  source.error = ENOMEM;
  REFUSED(&source, NULL, SIDBEAM_OUT_OF_MEMORY, "the stream's get_schema failed with 12 (Cannot allocate memory)");
}

static void streams_are_released_whatever_else_is_wrong(void) {
  const arrow_column values = numbers("", "i", 6, six_codes, 24), sid = lists("sid", "+w:3", 2, NULL, 0, &values);
  const arrow_column item = numbers("item", "l", 2, OF(int64_t, 1, 2)), one = batch(2, &sid, &item, NULL, NULL);
  const arrow_column* const batches[] = {&one};
  arrow_source source = source_of(batches, 1);
  sidbeam_arrow_config config = SIDBEAM_ARROW_CONFIG_INIT;
  struct ArrowArrayStream stream;
  sidbeam_plan* plan = NULL;
  sidbeam_arrow_info info = SIDBEAM_ARROW_INFO_INIT;
  start(&small);
  CHECK_FAILS(add_stream(NULL, &source, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "builder is NULL");
  config.struct_size = 4;
  CHECK_FAILS(add_stream(builder, &source, &config, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "config.struct_size is 4");
  CHECK_FAILS(sidbeam_builder_add_arrow(builder, NULL, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "stream is NULL or has been released");
  memset(&stream, 0, sizeof stream);
  CHECK_FAILS(sidbeam_builder_add_arrow(builder, &stream, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "stream is NULL or has been released");
  arrow_export(&source, &stream);
  stream.get_next = NULL;
  CHECK_FAILS(sidbeam_builder_add_arrow(builder, &stream, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "stream.get_next is NULL, expected a function");
  CHECK_INT(source.streams, 0);
  arrow_export(&source, &stream);
  CHECK_FAILS(sidbeam_arrow_inspect(&stream, NULL, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_INT(source.streams, 0);
  arrow_export(&source, &stream);
  config = (sidbeam_arrow_config)SIDBEAM_ARROW_CONFIG_INIT;
  config.sid = "x";
  CHECK_FAILS(sidbeam_arrow_inspect(&stream, &config, NULL, &info, &err), SIDBEAM_INVALID_ARGUMENT, "sid is 'x'");
  CHECK(source.streams == 0 && source.objects == 0);
  CHECK_OK(sidbeam_builder_plan(builder, &plan, &err));
  sidbeam_plan_destroy(plan);
  source.released = 0;
  CHECK_FAILS(add_stream(builder, &source, NULL, NULL, &err), SIDBEAM_BAD_STATE, "the builder has been sorted");
  sidbeam_builder_destroy(builder);
  builder = NULL;
}

/* Priorities and names that a call had added before it failed leave no trace. */
static void a_call_that_fails_leaves_no_trace(void) {
  const arrow_column values = numbers("", "i", 6, six_codes, 24),
                     bad = numbers("", "i", 6, OF(int32_t, 0, 1, 2, 0, 1, 9));
  const arrow_column sids[] = {lists("sid", "+w:3", 2, NULL, 0, &values), lists("sid", "+w:3", 2, NULL, 0, &bad)};
  const arrow_column item = texts("item", "u", 2, OF(int32_t, 0, 1, 2), "ab"),
                     rank = numbers("priority", "l", 2, OF(int64_t, 9, 9));
  const arrow_column good = batch(2, &sids[0], &item, &rank, NULL), wrong = batch(2, &sids[1], &item, &rank, NULL);
  const arrow_column* const batches[] = {&good, &good, &wrong};
  arrow_source source = source_of(batches, 3);
  catalogue unranked = small_named;
  unranked.priorities = NULL;
  like = &unranked;
  start(like);
  REFUSED(&source, NULL, SIDBEAM_INVALID_ARGUMENT, "row 5, level 2: code 9");
  CHECK_FAILS(add_stream(builder, &source, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "row 5, level 2: code 9");
  catalogue rest = unranked; /* the builder goes on as if nothing had been */
  rest.sids += 3, rest.names += 1, rest.count = 5;
  CHECK_OK(add_all(builder, &rest, &err));
  sidbeam_builder* const done = builder;
  builder = NULL;
  expect_catalogue(done, &unranked);
  like = &small;
}

static void clean_up(void) {
  sidbeam_builder_destroy(builder);
  builder = NULL;
  like = &small;
}

int main(void) {
  static const test_case tests[] = {
      TEST(codes_out_of_range_name_column_row_level_and_value),
      TEST(rows_are_counted_over_the_batches),
      TEST(lengths_that_do_not_fit_are_refused),
      TEST(nulls_are_refused_but_at_the_end_of_what_may_end),
      TEST(items_that_are_no_ids_are_refused),
      TEST(negative_ids_are_no_unsigned_ones),
      TEST(types_that_cannot_be_read_are_named),
      TEST(columns_that_are_not_clear_are_refused),
      TEST(levels_must_be_complete),
      TEST(arrays_that_cannot_be_are_refused),
      TEST(arrays_must_be_of_their_schema),
      TEST(streams_that_fail_are_quoted),
      TEST(streams_are_released_whatever_else_is_wrong),
      TEST(a_call_that_fails_leaves_no_trace),
  };
  after_test = clean_up;
  return RUN_TESTS(tests);
}
