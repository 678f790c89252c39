/* Constraints: what they are made of, and what they tell. SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

static void a_constraint_tells_what_a_host_must_know(void) {
  static const catalogue* const from[] = {&small, &small_variable, &two_levels};
  for (size_t i = 0; i < COUNT(from); ++i) {
    sidbeam_index* index = make_index(from[i], from[i]->variable_length ? SIDBEAM_KIND_COMPACT_TRIE : ALL_KINDS);
    sidbeam_constraint* constraint = constrain(index);
    sidbeam_index_info expected = SIDBEAM_INDEX_INFO_INIT;
    sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
    CHECK_OK(sidbeam_index_get_info(index, &expected, &err));
    CHECK_OK(sidbeam_constraint_get_info(constraint, &info, &err));
    CHECK_INT(info.struct_size, sizeof info);
    CHECK_INT(info.levels, from[i]->levels);
    CHECK_INT(info.variable_length, from[i]->variable_length);
    CHECK_INT(info.kinds, expected.kinds);
    CHECK_INT(info.sids, expected.sids);
    CHECK_INT(info.items, expected.items);
    CHECK_I32(info.codes, from[i]->codes, from[i]->levels);
    CHECK(info.codes == expected.codes);
    CHECK_TEXT(info.fingerprint, expected.fingerprint);
    sidbeam_index_release(index); /* the constraint holds it */
    CHECK_I32(info.codes, from[i]->codes, from[i]->levels);
    sidbeam_constraint_release(constraint);
  }
}

static void a_constraint_needs_an_index(void) {
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_constraint* constraint = NULL;
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  CHECK_FAILS(sidbeam_constraint_create(NULL, &constraint, &err), SIDBEAM_INVALID_ARGUMENT, "config is NULL");
  CHECK_FAILS(sidbeam_constraint_create(&config, &constraint, &err), SIDBEAM_INVALID_ARGUMENT, "config.index is NULL");
  config.index = make_index(&small, SIDBEAM_KIND_TRIE);
  CHECK_FAILS(sidbeam_constraint_create(&config, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK(constraint == NULL);
  constraint = constrain(config.index);
  CHECK_FAILS(sidbeam_constraint_get_info(NULL, &info, &err), SIDBEAM_INVALID_ARGUMENT, "constraint is NULL");
  CHECK_FAILS(sidbeam_constraint_get_info(constraint, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(config.index);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_constraint_tells_what_a_host_must_know),
      TEST(a_constraint_needs_an_index),
  };
  return RUN_TESTS(tests);
}
