/* Plans: the sizes of an index before it is built, section by section. SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

static sidbeam_plan_info plan_info(const sidbeam_plan* plan) {
  sidbeam_plan_info info = SIDBEAM_PLAN_INFO_INIT;
  CHECK_OK(sidbeam_plan_get_info(plan, &info, &err));
  CHECK_INT(info.struct_size, sizeof info);
  return info;
}

static sidbeam_section_info plan_section(const sidbeam_plan* plan, int64_t i) {
  sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
  CHECK_OK(sidbeam_plan_get_section(plan, i, &section, &err));
  return section;
}

static const struct {
  const catalogue* from;
  int32_t kinds;
} planned[] = {{&small, ALL_KINDS},
               {&small_named, ALL_KINDS},
               {&small_variable, SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED},
               {&small, SIDBEAM_KIND_COMPACT_TRIE}};

static void a_plan_is_the_index_that_is_built(void) {
  for (size_t c = 0; c < COUNT(planned); ++c) {
    sidbeam_plan* plan = NULL;
    sidbeam_index* index = NULL;
    sidbeam_index_info built = SIDBEAM_INDEX_INFO_INIT;
    sidbeam_builder* builder = make_builder(planned[c].from, planned[c].kinds);
    CHECK_OK(sidbeam_builder_plan(builder, &plan, &err));
    CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
    sidbeam_builder_destroy(builder); /* the plan needs it no more */
    CHECK_OK(sidbeam_index_get_info(index, &built, &err));
    const sidbeam_plan_info info = plan_info(plan);
    CHECK_INT(info.exact, 1);
    CHECK_INT(info.sids, built.sids);
    CHECK_INT(info.items, built.items);
    CHECK_INT(info.file_bytes, built.file_bytes);
    CHECK_INT(info.section_count, built.section_count);
    CHECK_INT(info.levels, built.levels);
    CHECK_I64(info.nodes, built.nodes, info.levels);
    CHECK(info.peak_bytes >= info.file_bytes);
    for (int64_t i = 0; i < info.section_count; ++i) {
      sidbeam_section_info expected = SIDBEAM_SECTION_INFO_INIT;
      const sidbeam_section_info section = plan_section(plan, i);
      CHECK_OK(sidbeam_index_get_section(index, i, &expected, &err));
      CHECK_TEXT(section.kind, expected.kind);
      CHECK_TEXT(section.encoding, expected.encoding);
      CHECK_INT(section.level, expected.level);
      CHECK_INT(section.offset, expected.offset);
      CHECK_INT(section.bytes, expected.bytes);
      CHECK_INT(section.checksum, 0);
      CHECK(expected.checksum != 0);
    }
    sidbeam_index_release(index);
    sidbeam_plan_destroy(plan);
  }
}

/* Sections lie one after another, at multiples of 64, from the header to the end of the file. */
static void check_sections_fill_the_file(const sidbeam_plan* plan) {
  const sidbeam_plan_info info = plan_info(plan);
  int64_t end = plan_section(plan, 0).offset, sum = end; /* the header's share */
  CHECK(end > 0);
  for (int64_t i = 0; i < info.section_count; ++i) {
    const sidbeam_section_info section = plan_section(plan, i);
    CHECK(section.offset % 64 == 0 && section.bytes >= 0 && section.offset >= end && section.offset - end < 4096);
    sum += section.offset - end + section.bytes;
    end = section.offset + section.bytes;
  }
  CHECK_INT(sum, end);
  CHECK(end <= info.file_bytes && info.file_bytes - end < 64); /* padding */
}

static void the_sections_of_a_plan_are_its_file(void) {
  for (size_t c = 0; c < COUNT(planned); ++c) {
    const sidbeam_builder_config config = builder_config(planned[c].from, planned[c].kinds);
    sidbeam_plan* plan = NULL;
    sidbeam_builder* builder = make_builder(planned[c].from, planned[c].kinds);
    CHECK_OK(sidbeam_builder_plan(builder, &plan, &err));
    check_sections_fill_the_file(plan);
    sidbeam_plan_destroy(plan);
    sidbeam_builder_destroy(builder);
    CHECK_OK(sidbeam_plan_estimate(&config, 30, &plan, &err));
    check_sections_fill_the_file(plan);
    sidbeam_plan_destroy(plan);
  }
}

static void sections_that_a_plan_has_not_are_refused(void) {
  sidbeam_plan* plan = NULL;
  sidbeam_plan_info info = SIDBEAM_PLAN_INFO_INIT;
  sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
  char expected[60];
  sidbeam_builder* builder = make_builder(&small, ALL_KINDS);
  CHECK_OK(sidbeam_builder_plan(builder, &plan, &err));
  snprintf(expected, sizeof expected, "expected 0..%d", (int)plan_info(plan).section_count - 1);
  CHECK_FAILS(sidbeam_plan_get_section(plan, plan_info(plan).section_count, &section, &err), SIDBEAM_INVALID_ARGUMENT,
              expected);
  CHECK_FAILS(sidbeam_plan_get_section(plan, -1, &section, &err), SIDBEAM_INVALID_ARGUMENT, "i is -1, expected 0..",
              expected);
  CHECK_FAILS(sidbeam_plan_get_section(plan, 0, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_FAILS(sidbeam_plan_get_section(NULL, 0, &section, &err), SIDBEAM_INVALID_ARGUMENT, "plan is NULL");
  CHECK_FAILS(sidbeam_plan_get_info(plan, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_FAILS(sidbeam_plan_get_info(NULL, &info, &err), SIDBEAM_INVALID_ARGUMENT, "plan is NULL");
  sidbeam_plan_destroy(plan);
  sidbeam_plan_destroy(NULL);
  sidbeam_builder_destroy(builder);
}

static void estimate_needs_no_catalogue(void) {
  sidbeam_builder_config config = builder_config(&small, ALL_KINDS);
  sidbeam_plan* plan = NULL;
  CHECK_OK(sidbeam_plan_estimate(&config, 30, &plan, &err));
  const sidbeam_plan_info info = plan_info(plan);
  CHECK_INT(info.exact, 0);
  CHECK_INT(info.sids, 30);
  CHECK_INT(info.items, 30);
  CHECK_INT(info.nodes[0], 4);
  CHECK_INT(info.nodes[2], 30);
  CHECK_INT(info.levels, 3);
  CHECK(info.file_bytes > 0 && info.peak_bytes > 0);
  sidbeam_plan_destroy(plan);
  plan = NULL;
  CHECK_FAILS(sidbeam_plan_estimate(&config, 0, &plan, &err), SIDBEAM_INVALID_ARGUMENT, "sids is 0, expected 1 to ");
  CHECK_FAILS(sidbeam_plan_estimate(&config, 65, &plan, &err), SIDBEAM_INVALID_ARGUMENT,
              "sids is 65, but these codes allow only 64 SIDs");
  config.variable_length = 1; /* 4 + 16 + 64 */
  CHECK_FAILS(sidbeam_plan_estimate(&config, 85, &plan, &err), SIDBEAM_INVALID_ARGUMENT,
              "sids is 85, but these codes allow only 84 SIDs");
  CHECK(plan == NULL);
  CHECK_OK(sidbeam_plan_estimate(&config, 84, &plan, &err));
  sidbeam_plan_destroy(plan);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_plan_is_the_index_that_is_built),
      TEST(the_sections_of_a_plan_are_its_file),
      TEST(sections_that_a_plan_has_not_are_refused),
      TEST(estimate_needs_no_catalogue),
  };
  return RUN_TESTS(tests);
}
