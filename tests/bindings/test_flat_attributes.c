/* Attributes through the flat layer: arrays with their lengths, which are held against what a call reads and writes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "flat_rig.h"

static const flat_in_bytes none = {NULL, 0};
#define BYTES(text) ((flat_in_bytes){(text), (int64_t)sizeof(text) - 1})

static flat_handle* added(flat_handle* runtime) {
  flat_handle* builder = rig_builder(runtime);
  OKAY(flat_builder_declare_attribute(builder, "i", SIDBEAM_ATTRIBUTE_I64, &err));
  OKAY(flat_builder_declare_attribute(builder, "f", SIDBEAM_ATTRIBUTE_F32, &err));
  OKAY(flat_builder_declare_attribute(builder, "b", SIDBEAM_ATTRIBUTE_BOOL, &err));
  OKAY(flat_builder_declare_attribute(builder, "s", SIDBEAM_ATTRIBUTE_STRING, &err));
  OKAY(flat_builder_declare_attribute(builder, "l", SIDBEAM_ATTRIBUTE_STRING_LIST, &err));
  OKAY(flat_builder_add(builder, (flat_in_i32){small.sids, 18}, 3, no_i32, 6, (flat_in_i64){small.ids, 6}, no_i64,
                        &err));
  return builder;
}

static void what_goes_in_comes_out(void) {
  flat_handle *runtime = rig_runtime(), *builder = added(runtime), *index;
  int64_t numbers[FLAT_ATTRIBUTE_COUNT], values[6], offsets[7], codes[8], ends[3] = {0};
  float range[2] = {0}, floats[6];
  char valid[6], name[4] = "", text[8] = "";
  OKAY(flat_builder_set_attribute(builder, "i", 6, BYTES("\1\1\1\0\1\1"), IN_I64(1, 2, 3, 4, 5, 6), no_f32, none, none,
                                  no_i64, no_i64, no_i64, &err));
  OKAY(flat_builder_set_attribute(builder, "f", 6, none, no_i64, IN_F32(1, 2, 3, 4, 5, -6), none, none, no_i64, no_i64,
                                  no_i64, &err));
  OKAY(flat_builder_set_attribute(builder, "b", 6, none, no_i64, no_f32, BYTES("\1\0\1\1\1\1"), none, no_i64, no_i64,
                                  no_i64, &err));
  OKAY(flat_builder_set_attribute(builder, "s", 6, none, no_i64, no_f32, none, BYTES("ba"), IN_I64(0, 1, 2), no_i64,
                                  IN_I64(0, 1, 0, 0, 0, 0), &err));
  OKAY(flat_builder_set_attribute(builder, "l", 6, none, no_i64, no_f32, none, BYTES("xyz"), IN_I64(0, 1, 2, 3),
                                  IN_I64(0, 2, 2, 3, 3, 3, 3), no_i64, &err));
  OKAY(index = flat_builder_finish(builder, &err));
  OKAY(CHECK_INT(flat_index_attribute_count(index, &err), 5));
  OKAY(CHECK_INT(flat_index_get_attribute(index, 2, OUT_I64(numbers), OUT_F32(range), OUT_BYTES(name), &err), 1));
  CHECK_TEXT(name, "i");
  const int64_t expected[FLAT_ATTRIBUTE_COUNT] = {SIDBEAM_ATTRIBUTE_I64, 1, -1, 0, 1, 6};
  CHECK_I64(numbers, expected, FLAT_ATTRIBUTE_COUNT);
  OKAY(flat_index_get_attribute(index, 1, OUT_I64(numbers), OUT_F32(range), no_out_bytes, &err));
  CHECK(range[0] == -6 && range[1] == 5);
  OKAY(flat_index_attribute_integers(index, 2, 0, 6, OUT_I64(values), OUT_BYTES(valid), &err));
  OKAY(flat_index_attribute_numbers(index, 1, 0, 6, OUT_F32(floats), no_out_bytes, &err));
  int64_t sum = 0;
  for (int i = 0; i < 6; ++i) sum += values[i] * valid[i];
  CHECK_INT(sum, 1 + 2 + 3 + 5 + 6);
  OKAY(flat_index_attribute_lists(index, 3, 0, 6, OUT_I64(offsets), OUT_I64(codes), OUT_BYTES(valid), &err));
  CHECK_INT(offsets[6], 3);
  OKAY(CHECK_INT(flat_index_attribute_strings(index, 4, 0, 2, OUT_I64(ends), OUT_BYTES(text), &err), 2));
  CHECK_TEXT(text, "ab");
  CHECK_INT(ends[1], 1);
  flat_free(index);
  flat_free(builder);
  flat_free(runtime);
}

#define SET(name, valid, integers, numbers, bools, text, offsets, lists, codes) \
  flat_builder_set_attribute(builder, name, 6, valid, integers, numbers, bools, text, offsets, lists, codes, &err)

static void arrays_that_are_too_short_are_refused(void) {
  flat_handle *runtime = rig_runtime(), *builder = added(runtime), *index;
  const sidbeam_status bad = SIDBEAM_INVALID_ARGUMENT;
  REFUSED(SET("i", none, IN_I64(1, 2), no_f32, none, none, no_i64, no_i64, no_i64), bad,
          "integers has 2 elements, expected at least 6");
  REFUSED(SET("i", BYTES("\1"), IN_I64(1, 2, 3, 4, 5, 6), no_f32, none, none, no_i64, no_i64, no_i64), bad,
          "valid has 1 elements, expected at least 6");
  REFUSED(SET("f", none, no_i64, IN_F32(1), none, none, no_i64, no_i64, no_i64), bad,
          "numbers has 1 elements, expected at least 6");
  REFUSED(SET("b", none, no_i64, no_f32, BYTES("\1"), none, no_i64, no_i64, no_i64), bad,
          "bools has 1 elements, expected at least 6");
  REFUSED(SET("s", none, no_i64, no_f32, none, BYTES("abc"), IN_I64(0, 1, 2, 3), no_i64, no_i64), bad,
          "offsets has 4 elements, expected at least 7");
  REFUSED(SET("s", none, no_i64, no_f32, none, BYTES("a"), IN_I64(0, 1, 2, 3, 4, 5, 6), no_i64, no_i64), bad,
          "text has 1 elements, expected at least 6");
  REFUSED(SET("s", none, no_i64, no_f32, none, BYTES("a"), IN_I64(0, 1), no_i64, IN_I64(0, 0)), bad,
          "codes has 2 elements, expected at least 6");
  REFUSED(SET("s", none, no_i64, no_f32, none, BYTES("a"), IN_I64(0, 9), no_i64, IN_I64(0, 0, 0, 0, 0, 0)), bad,
          "text has 1 elements, expected at least 9");
  REFUSED(SET("l", none, no_i64, no_f32, none, BYTES("a"), IN_I64(0, 1), IN_I64(0, 1), no_i64), bad,
          "lists has 2 elements, expected at least 7");
  REFUSED(SET("l", none, no_i64, no_f32, none, BYTES("a"), IN_I64(0, 1), IN_I64(0, 1, 2, 3, 4, 5, 6), no_i64), bad,
          "offsets has 2 elements, expected at least 7");
  REFUSED(SET("s", none, no_i64, no_f32, none, BYTES("a"), IN_I64(0, 1), IN_I64(0, 0, 0, 0, 0, 0, -5), no_i64), bad,
          "attribute 's' is of type string, and lists is given, expected NULL");
  OKAY(index = flat_builder_finish(builder, &err));
  int64_t few[1], numbers[FLAT_ATTRIBUTE_COUNT];
  float one[1], range[2];
  char valid[1];
  REFUSED(flat_index_get_attribute(index, 0, OUT_I64(few), OUT_F32(range), no_out_bytes, &err), bad,
          "numbers has 1 elements, expected at least 6");
  REFUSED(flat_index_get_attribute(index, 0, OUT_I64(numbers), OUT_F32(one), no_out_bytes, &err), bad,
          "range has 1 elements, expected at least 2");
  REFUSED(flat_index_attribute_integers(index, 2, 0, 6, OUT_I64(few), no_out_bytes, &err), bad,
          "values has 1 elements, expected at least 6");
  REFUSED(flat_index_attribute_numbers(index, 1, 0, 1, OUT_F32(one), (flat_out_bytes){valid, 0}, &err), bad,
          "valid has 0 elements, expected at least 1");
  REFUSED(flat_index_attribute_lists(index, 3, 0, 1, OUT_I64(few), no_out_i64, no_out_bytes, &err), bad,
          "offsets has 1 elements, expected at least 2");
  REFUSED(flat_index_attribute_strings(index, 4, 0, 1, OUT_I64(few), no_out_bytes, &err), bad,
          "offsets has 1 elements, expected at least 2");
  flat_free(index);
  flat_free(builder);
  flat_free(runtime);
}

int main(void) {
  static const test_case tests[] = {
      TEST(what_goes_in_comes_out),
      TEST(arrays_that_are_too_short_are_refused),
  };
  return RUN_TESTS(tests);
}
