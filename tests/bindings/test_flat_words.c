/* The words in which the languages show the library's messages. SPDX-License-Identifier: Apache-2.0 */
#include "flat_rig.h"

static void expect_words(const char* message, const char* expected) {
  char text[512];
  const flat_out_bytes out = {text, (int64_t)sizeof text - 1};
  const int64_t bytes = flat_words((flat_in_bytes){message, (int64_t)strlen(message)}, out);
  CHECK_INT(bytes, (int64_t)strlen(expected));
  text[bytes] = 0;
  CHECK_TEXT(text, expected);
}

static void fields_of_structs_are_arguments(void) {
  expect_words("config.beams is 0, expected 1..4096", "beams is 0, expected 1..4096");
  expect_words("config.%s is NULL", "%s is NULL");
  expect_words("args.drafts[0] is 3 (request.sampling.seeds, model_config.weights)", "drafts[0] is 3 (seeds, weights)");
  expect_words("config.begin_count is 1", "the number of begin_tokens is 1");
  expect_words("term.op is 11", "op is 11");
  expect_words("draft_count is 1", "the number of drafts is 1");
}

static void fields_of_rows_are_properties_of_an_array(void) {
  expect_words("rows.columns is 3, expected at least 4", "the number of columns of logits is 3, expected at least 4");
  expect_words("hidden.data is NULL", "hidden is NULL");
  expect_words("rows.unknown is 3", "rows.unknown is 3");
  expect_words("rows.bytes is -1, rows.encoding 9", "the number of bytes of rows is -1, the encoding of rows 9");
}

static void what_is_nobodys_name_stays(void) {
  static const char* const messages[] = {"",
                                         "config",
                                         "config.",
                                         "a config. It",
                                         "'config.d/x' in '/srv/rows.columns/args.count'",
                                         "\"config.beams\"",
                                         "no config.json",
                                         "the row_stride of my_config.beams",
                                         "vocabulary.offsets"};
  for (size_t i = 0; i < sizeof messages / sizeof *messages; ++i) expect_words(messages[i], messages[i]);
}

static void what_does_not_fit_is_counted_and_not_written(void) {
  char text[] = "........";
  CHECK_INT(flat_words((flat_in_bytes){"rows.data and more", 18}, (flat_out_bytes){text, 5}), 15);
  CHECK_TEXT(text, "logit...");
}

int main(void) {
  static const test_case tests[] = {
      TEST(fields_of_structs_are_arguments),
      TEST(fields_of_rows_are_properties_of_an_array),
      TEST(what_is_nobodys_name_stays),
      TEST(what_does_not_fit_is_counted_and_not_written),
  };
  return RUN_TESTS(tests);
}
