/* Lists, filters and constraints of a few items. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_RULES_RIG_H
#define SIDBEAM_TESTS_CAPI_RULES_RIG_H

#include "fixtures.h"

/* LIST(1, 2): as the arguments `numbers, count`. */
#define LIST(...) (const int64_t[]){__VA_ARGS__}, (int64_t)COUNT(((const int64_t[]){__VA_ARGS__}))

static inline sidbeam_item_list items_by(int32_t by, const int64_t* numbers, int64_t count) {
  sidbeam_item_list list = SIDBEAM_ITEM_LIST_INIT;
  list.by = by;
  list.numbers = numbers;
  list.count = count;
  return list;
}
static inline sidbeam_item_list ids(const int64_t* numbers, int64_t count) {
  return items_by(SIDBEAM_ITEMS_BY_ID, numbers, count);
}
static inline sidbeam_item_list rows_of(const int64_t* numbers, int64_t count) {
  return items_by(SIDBEAM_ITEMS_BY_ROW, numbers, count);
}

static inline sidbeam_filter* make_filter(sidbeam_index* index, sidbeam_item_list list) {
  sidbeam_filter* filter = NULL;
  CHECK_OK(sidbeam_filter_from_items(index, &list, NULL, &filter, &err));
  return filter;
}

/* Any of the rules may be NULL. */
static inline sidbeam_constraint* make_ruled(sidbeam_index* index, sidbeam_filter* filter,
                                             const sidbeam_item_list* excluded, const sidbeam_item_list* allowed) {
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_constraint* constraint = NULL;
  config.index = index;
  config.filter = filter;
  config.excluded = excluded;
  config.allowed = allowed;
  CHECK_OK(sidbeam_constraint_create(&config, &constraint, &err));
  return constraint;
}

#endif
