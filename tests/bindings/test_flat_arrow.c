/* Streams of Arrow's through the flat layer: names as bytes, and a stream that is gone after every call.
 * SPDX-License-Identifier: Apache-2.0 */
#include "flat_rig.h"

#include "../capi/arrow_columns.h"

static const flat_in_bytes none = {NULL, 0};
#define NAMES(text) ((flat_in_bytes){(text), (int64_t)sizeof(text)})

/* The catalogue `small`, in columns per level. */
static arrow_source source;
static struct ArrowArrayStream stream;

static int64_t table(void) {
  static arrow_column levels[3], item, one;
  static const arrow_column* const batches[] = {&one};
  static const char* const level_names[] = {"a", "b", "c"};
  static int32_t codes[3][6];
  for (int l = 0; l < 3; ++l) {
    for (int i = 0; i < 6; ++i) codes[l][i] = small.sids[3 * i + l];
    levels[l] = numbers(level_names[l], "i", 6, codes[l], sizeof codes[l]);
  }
  item = numbers("item", "l", 6, small.ids, 48);
  one = batch(6, &levels[0], &levels[1], &levels[2], &item);
  source = source_of(batches, 1);
  arrow_export(&source, &stream);
  return (int64_t)(intptr_t)&stream;
}

static void expect_consumed(void) {
  CHECK(stream.release == NULL && source.streams == 0 && source.objects == 0);
  CHECK_INT(source.released, 1);
}

static void names_are_bytes_that_end_with_nul(void) {
  flat_handle *runtime = rig_runtime(), *builder = rig_builder(runtime), *index;
  int64_t info[FLAT_ARROW_COUNT];
  int32_t codes[SIDBEAM_MAX_LEVELS] = {0};
  OKAY(CHECK_INT(
      flat_builder_add_arrow(builder, table(), none, NAMES("a\0b\0c"), none, NAMES("item"), NAMES(""), none, 0, &err),
      6));
  expect_consumed();
  OKAY(flat_arrow_inspect(table(), none, NAMES("a\0b\0c"), none, none, none, OUT_I64(info), OUT_I32(codes), &err));
  expect_consumed();
  const int64_t expected[FLAT_ARROW_COUNT] = {3, 3, SIDBEAM_ID_I64, 1, 0, 6};
  const int32_t expected_codes[3] = {4, 4, 4};
  CHECK_I64(info, expected, FLAT_ARROW_COUNT);
  CHECK_I32(codes, expected_codes, 3);
  OKAY(index = flat_builder_finish(builder, &err));
  flat_free(index);
  flat_free(builder);
  flat_free(runtime);
}

static void every_call_consumes_its_stream(void) {
  flat_handle *runtime = rig_runtime(), *builder = rig_builder(runtime);
  int64_t info[FLAT_ARROW_COUNT];
  int32_t few[3];
  char many[2 * (SIDBEAM_MAX_LEVELS + 1)];
  for (size_t i = 0; i < sizeof many; ++i) many[i] = i % 2 == 0 ? 'a' : 0;
  REFUSED(flat_builder_add_arrow(builder, table(), (flat_in_bytes){"sid", 3}, none, none, none, none, none, 0, &err),
          SIDBEAM_INVALID_ARGUMENT, "sid does not end with NUL");
  expect_consumed();
  const flat_in_bytes too_many = {many, (int64_t)sizeof many};
  flat_builder_add_arrow(builder, table(), none, too_many, none, none, none, none, 0, &err);
  CHECK_INT(err.code, SIDBEAM_INVALID_ARGUMENT);
  CHECK(strstr(err.message, "levels has more than ") != NULL);
  expect_consumed();
  REFUSED(flat_builder_add_arrow(NULL, table(), none, none, none, none, none, none, 0, &err), SIDBEAM_INVALID_ARGUMENT,
          "builder is null, expected a handle of it");
  expect_consumed();
  REFUSED(flat_builder_add_arrow(builder, table(), NAMES("x"), none, none, none, none, none, 0, &err),
          SIDBEAM_INVALID_ARGUMENT, "sid is 'x', expected one of the columns 'a', 'b', 'c', 'item'");
  expect_consumed();
  flat_arrow_inspect(table(), none, none, none, none, none, OUT_I64(info), OUT_I32(few), &err);
  CHECK_INT(err.code, SIDBEAM_INVALID_ARGUMENT);
  CHECK(strstr(err.message, "codes has 3 elements, expected at least ") != NULL);
  expect_consumed();
  flat_arrow_release(table());
  expect_consumed();
  flat_close(builder);
  REFUSED(flat_builder_add_arrow(builder, table(), none, none, none, none, none, none, 0, &err), SIDBEAM_BAD_STATE,
          "builder is closed");
  expect_consumed();
  flat_free(builder);
  flat_free(runtime);
}

int main(void) {
  static const test_case tests[] = {
      TEST(names_are_bytes_that_end_with_nul),
      TEST(every_call_consumes_its_stream),
  };
  return RUN_TESTS(tests);
}
