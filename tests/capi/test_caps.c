/* Caps on lists of items: at most so many rows per value of an attribute, of a constraint's ordinals and of beams.
 * SPDX-License-Identifier: Apache-2.0 */
#include "rules_rig.h"

/* By pair of `small`, whose items are 13 10 14 11 12 15; 14 has none. */
static const uint8_t present[6] = {1, 1, 0, 1, 1, 1};
static const int64_t prices[6] = {5, -7, 5, 5, -7, 5};
static const float weights[6] = {1, 1, 1, 1, 1, 1};
static const uint8_t stock[6] = {1, 1, 1, 0, 0, 1};
static const char brands[] = "aacaba", tags[] = "zxxzyxy";
static const int64_t one_each[8] = {0, 1, 2, 3, 4, 5, 6, 7}, lists[7] = {0, 2, 2, 3, 4, 5, 7};

/* `small` with an attribute of each type. */
static sidbeam_index* index_of(const catalogue* from) {
  const sidbeam_builder_config config = builder_config(from, SIDBEAM_KIND_TRIE);
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_builder* builder = NULL;
  sidbeam_index* index = NULL;
  CHECK_OK(sidbeam_builder_create(runtime, &config, &builder, &err));
  sidbeam_runtime_release(runtime);
  static const struct {
    const char* name;
    int32_t type;
  } all[] = {{"price", SIDBEAM_ATTRIBUTE_I64},
             {"weight", SIDBEAM_ATTRIBUTE_F32},
             {"stock", SIDBEAM_ATTRIBUTE_BOOL},
             {"brand", SIDBEAM_ATTRIBUTE_STRING},
             {"tags", SIDBEAM_ATTRIBUTE_STRING_LIST}};
  for (size_t i = 0; i < COUNT(all); ++i)
    CHECK_OK(sidbeam_builder_declare_attribute(builder, all[i].name, all[i].type, &err));
  CHECK_OK(add_all(builder, from, &err));
  for (size_t i = 0; i < COUNT(all); ++i) {
    column = (sidbeam_attribute_column)SIDBEAM_ATTRIBUTE_COLUMN_INIT;
    column.name = all[i].name;
    column.valid = present;
    if (i == 0) column.integers = prices;
    if (i == 1) column.numbers = weights;
    if (i == 2) column.bools = stock;
    if (i == 3) {
      column.text = brands;
      column.offsets = one_each;
    }
    if (i == 4) {
      column.text = tags;
      column.offsets = one_each;
      column.lists = lists;
    }
    CHECK_OK(sidbeam_builder_set_attribute(builder, &column, 6, &err));
  }
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  return index;
}

/* What a search of `small` finds, best first, and the last SID. */
static const int64_t found[5] = {0, 3, 2, 4, 1};

static sidbeam_item_limits capped(const char* attribute, int64_t cap, int64_t limit) {
  sidbeam_item_limits limits = SIDBEAM_ITEM_LIMITS_INIT;
  limits.cap_attribute = attribute;
  limits.cap = cap;
  limits.limit = limit;
  return limits;
}

/* `found` under these limits: the rows, one after the other, and the flags. */
static void check_list(const sidbeam_constraint* constraint, const sidbeam_item_limits* limits, const int64_t* expected,
                       int64_t count, int32_t truncated, int32_t came_short) {
  int64_t rows[8], offsets[6], sizes[6];
  int32_t flags[2] = {-1, -1};
  CHECK_OK(sidbeam_constraint_items(constraint, found, 5, limits, rows, offsets, flags, flags + 1, &err));
  CHECK_INT(offsets[5], count);
  CHECK_I64(rows, expected, count);
  CHECK_INT(flags[0], truncated);
  CHECK_INT(flags[1], came_short);
  CHECK_OK(sidbeam_constraint_items(constraint, found, 5, limits, NULL, sizes, NULL, NULL, &err));
  CHECK_I64(sizes, offsets, 6);
}

/* Rows in the order of `found` are 0 1, 4, 3, 5, 2, of the items 15 10, 13, 12, 14, 11. */
static void each_type_has_its_values(void) {
  static const struct {
    const char* attribute;
    int64_t cap, rows[6], count;
    int32_t came_short;
  } each[] = {{NULL, 0, {0, 1, 4, 3, 5, 2}, 6, 0},    {"brand", 1, {0, 3, 5}, 3, 1}, /* a a, a, b, null, a */
              {"brand", 2, {0, 1, 3, 5}, 4, 1},       {"brand", 3, {0, 1, 4, 3, 5}, 5, 1},
              {"brand", 4, {0, 1, 4, 3, 5, 2}, 6, 0}, {"brand", INT64_MAX, {0, 1, 4, 3, 5, 2}, 6, 0},
              {"price", 1, {0, 1, 5}, 3, 1},                                           /* 5 -7, 5, -7, null, 5 */
              {"price", 2, {0, 1, 4, 3, 5}, 5, 1},    {"stock", 1, {0, 3, 5}, 3, 1},   /* 1 1, 1, 0, null, 0 */
              {"stock", 2, {0, 1, 3, 5, 2}, 5, 1},    {"tags", 1, {0, 1, 5, 2}, 4, 1}, /* xy none, zx, y, null, z */
              {"tags", 2, {0, 1, 4, 3, 5, 2}, 6, 0}};
  sidbeam_index* index = index_of(&small);
  sidbeam_constraint* constraint = constrain(index);
  for (size_t i = 0; i < COUNT(each); ++i) {
    const sidbeam_item_limits limits = capped(each[i].attribute, each[i].cap, 8);
    check_list(constraint, &limits, each[i].rows, each[i].count, 0, each[i].came_short);
  }
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
}

/* A row that the cap leaves out counts for no limit, and one that a limit leaves out not for the cap. */
static void limits_cut_what_the_cap_leaves(void) {
  static const struct {
    const char* attribute;
    int64_t cap, per_sid, limit, rows[6], count;
    int32_t truncated, came_short;
  } each[] = {{"brand", 1, 0, 3, {0, 3, 5}, 3, 0, 0},
              {"brand", 1, 0, 2, {0, 3}, 2, 1, 0},
              {"brand", 1, 1, 8, {0, 3, 5}, 3, 0, 1},
              {"brand", 2, 1, 8, {0, 4, 3, 5}, 4, 1, 1},
              {"brand", 3, 1, 8, {0, 4, 3, 5, 2}, 5, 1, 0},
              {"price", 1, 1, 8, {0, 3, 5}, 3, 1, 1},
              {"brand", 2, 0, 1, {0}, 1, 1, 0},
              {"brand", 1, 0, 4, {0, 3, 5}, 3, 0, 1}};
  sidbeam_index* index = index_of(&small);
  sidbeam_constraint* constraint = constrain(index);
  for (size_t i = 0; i < COUNT(each); ++i) {
    sidbeam_item_limits limits = capped(each[i].attribute, each[i].cap, each[i].limit);
    limits.limit_per_sid = each[i].per_sid;
    check_list(constraint, &limits, each[i].rows, each[i].count, each[i].truncated, each[i].came_short);
  }
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
}

/* Ordinal 0 has row 0 of price 5 and row 1 of price -7. */
static void what_the_cap_leaves_out_makes_room_in_its_sid(void) {
  static const int64_t ordinals[2] = {3, 0};
  sidbeam_index* index = index_of(&small);
  sidbeam_constraint* constraint = constrain(index);
  sidbeam_item_limits limits = capped("price", 1, 8);
  int64_t rows[8], offsets[3];
  int32_t flags[2] = {-1, -1};
  limits.limit_per_sid = 1;
  CHECK_OK(sidbeam_constraint_items(constraint, ordinals, 2, &limits, rows, offsets, flags, flags + 1, &err));
  CHECK_I64(offsets, ((const int64_t[]){0, 1, 2}), 3);
  CHECK_I64(rows, ((const int64_t[]){4, 1}), 2);
  CHECK_I32(flags, ((const int32_t[]){0, 1}), 2);
  CHECK_OK(sidbeam_constraint_items(constraint, ordinals, 2, NULL, NULL, offsets, flags, flags + 1, &err)); /* none */
  CHECK_I64(offsets, ((const int64_t[]){0, 1, 3}), 3);
  CHECK_I32(flags, ((const int32_t[]){0, 0}), 2);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
}

/* What rules forbid, and an item's further rows where each is listed once, count for nothing. */
static void the_cap_counts_what_rules_and_distinct_items_leave(void) {
  static const int64_t shared[6] = {8, 10, 14, 11, 12, 8}; /* in rows 0, of the best SID, and 4 */
  const sidbeam_item_list out = rows_of(LIST(0));
  catalogue from = small;
  sidbeam_index* index = index_of(&small);
  sidbeam_constraint* constraint = make_ruled(index, NULL, &out, NULL);
  sidbeam_item_limits limits = capped("brand", 1, 8);
  check_list(constraint, &limits, ((const int64_t[]){1, 3, 5}), 3, 0, 1);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
  from.ids = shared;
  index = index_of(&from);
  constraint = constrain(index);
  limits.distinct = 1;
  limits.cap = 3;
  check_list(constraint, &limits, ((const int64_t[]){0, 1, 3, 5, 2}), 5, 0, 0);
  limits.cap = 2;
  check_list(constraint, &limits, ((const int64_t[]){0, 1, 3, 5}), 4, 0, 1);
  limits.distinct = 0;
  limits.cap = 3;
  check_list(constraint, &limits, ((const int64_t[]){0, 1, 4, 3, 5}), 5, 0, 1);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
}

/* After three steps slot 0 has ordinals 0 3 2 4; slot 1 is idle, or started under a constraint. */
static sidbeam_session* searched(sidbeam_constraint* constraint, sidbeam_constraint* other) {
  sidbeam_session_config config = session_config(constraint);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_constraint* const both[2] = {constraint, other};
  config.slots = 2;
  sidbeam_session* session = make_session(&config);
  static const int32_t slots[2] = {0, 1};
  start.slots = slots;
  start.count = other != NULL ? 2 : 1;
  start.constraints = both;
  CHECK_OK(sidbeam_session_start(session, &start, &err));
  for (int32_t i = 0; i < 3; ++i) step_all(session, halving);
  return session;
}

typedef struct listed {
  int64_t rows[16], offsets[10], ordinals[8];
  int32_t truncated[2], came_short[2];
} listed;

static sidbeam_items listing(listed* to, const char* attribute, int64_t cap) {
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  memset(to, -9, sizeof *to);
  items.limit = 8;
  items.item_rows = to->rows;
  items.offsets = to->offsets;
  items.ordinals = to->ordinals;
  items.truncated = to->truncated;
  items.came_short = to->came_short;
  items.cap_attribute = attribute;
  items.cap = cap;
  return items;
}

/* Each slot counts for itself; an idle one has no list that came short. */
static void beams_are_listed_under_a_cap(void) {
  sidbeam_index* index = index_of(&small);
  sidbeam_constraint* constraint = constrain(index);
  const sidbeam_item_list out = rows_of(LIST(0));
  sidbeam_constraint* ruled = make_ruled(index, NULL, &out, NULL);
  listed to;
  sidbeam_items items = listing(&to, "brand", 1);
  sidbeam_session* session = searched(constraint, ruled);
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  CHECK_I64(to.ordinals, ((const int64_t[]){0, 3, 2, 4, 0, 3, 2, 4}), 8);
  CHECK_I64(to.offsets, ((const int64_t[]){0, 1, 1, 2, 3, 0, 1, 1, 2, 3}), 10);
  CHECK_I64(to.rows, ((const int64_t[]){0, 3, 5}), 3);
  CHECK_I64(to.rows + 8, ((const int64_t[]){1, 3, 5}), 3);
  CHECK_I32(to.truncated, ((const int32_t[]){0, 0}), 2);
  CHECK_I32(to.came_short, ((const int32_t[]){1, 1}), 2);
  items.limit = 3;
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  CHECK_I32(to.came_short, ((const int32_t[]){0, 0}), 2);
  items = listing(&to, NULL, 0);
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  CHECK_I64(to.offsets, ((const int64_t[]){0, 2, 3, 4, 5, 0, 1, 2, 3, 4}), 10);
  CHECK_I32(to.came_short, ((const int32_t[]){0, 0}), 2);
  sidbeam_session_destroy(session);
  session = searched(constraint, NULL);
  items = listing(&to, "tags", 1);
  CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
  CHECK_I64(to.offsets, ((const int64_t[]){0, 2, 2, 2, 3, 0, 0, 0, 0, 0}), 10);
  CHECK_I32(to.came_short, ((const int32_t[]){1, 0}), 2);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(ruled);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
}

static int left = -1; /* calls of the allocator until it fails; -1: it does not */

static void* allocate(void* context, int64_t bytes, int64_t alignment) {
  void* memory = NULL;
  (void)context;
  if (left == 0) return NULL;
  left -= left > 0;
  return posix_memalign(&memory, (size_t)(alignment < 8 ? 8 : alignment), (size_t)bytes) == 0 ? memory : NULL;
}

static void release(void* context, void* memory, int64_t bytes, int64_t alignment) {
  (void)context, (void)bytes, (void)alignment;
  free(memory);
}

static sidbeam_runtime* make_failing_runtime(void) {
  sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  allocator.allocate = allocate;
  allocator.release = release;
  config.threads = 1;
  config.allocator = &allocator;
  CHECK_OK(sidbeam_runtime_create(&config, &runtime, &err));
  return runtime;
}

/* Whichever allocation fails, nothing is written. */
static void check_no_memory(const sidbeam_session* session, const sidbeam_constraint* constraint, sidbeam_items items) {
  const sidbeam_item_limits limits = capped(items.cap_attribute, items.cap, items.limit);
  int failures[2] = {0, 0};
  for (int which = 0; which < 2; ++which) {
    for (int allowed = 0;; ++allowed) {
      items.item_rows[0] = items.offsets[0] = -9;
      left = allowed;
      clear_error();
      const sidbeam_status status = which == 0
                                        ? sidbeam_session_get_items(session, NULL, 0, &items, &err)
                                        : sidbeam_constraint_items(constraint, found, 5, &limits, items.item_rows,
                                                                   items.offsets, NULL, NULL, &err);
      left = -1;
      if (status == SIDBEAM_OK) break;
      CHECK_INT(status, SIDBEAM_OUT_OF_MEMORY);
      CHECK(strstr(err.message, "out of memory: ") != NULL);
      CHECK_INT(items.item_rows[0], -9);
      CHECK_INT(items.offsets[0], -9);
      ++failures[which];
    }
  }
  CHECK(failures[0] >= 3 && failures[1] >= 2); /* a table that grows; and that of what came before, and a table */
}

/* One after the other, of slots in turn: nothing is left of the counts before. More values than the first table has. */
static void a_session_counts_anew_in_every_list(void) {
  enum { MANY = 600 };
  static int32_t sids[MANY * 3];
  static int64_t numbers[MANY], rows[2 * MANY], offsets[2 * (MANY + 1)];
  catalogue wide = small;
  static const int32_t codes[3] = {MANY, 4, 4};
  static float row[MANY];
  for (int32_t i = 0; i < MANY; ++i) {
    memcpy(sids + 3 * i, (const int32_t[]){i, 1, 2}, 3 * sizeof(int32_t));
    numbers[i] = i % (MANY / 2) * INT64_C(0x100000001); /* each twice */
  }
  wide.codes = codes;
  wide.sids = sids;
  wide.ids = wide.priorities = NULL;
  wide.count = MANY;
  const sidbeam_builder_config builder_of = builder_config(&wide, SIDBEAM_KIND_TRIE);
  sidbeam_runtime* runtime = make_failing_runtime();
  sidbeam_builder* builder = NULL;
  sidbeam_index* index = NULL;
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  CHECK_OK(sidbeam_builder_create(runtime, &builder_of, &builder, &err));
  CHECK_OK(sidbeam_builder_declare_attribute(builder, "maker", SIDBEAM_ATTRIBUTE_I64, &err));
  CHECK_OK(add_all(builder, &wide, &err));
  column.name = "maker";
  column.integers = numbers;
  CHECK_OK(sidbeam_builder_set_attribute(builder, &column, MANY, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_constraint* constraint = constrain(index);
  sidbeam_session_config config = session_config(constraint);
  config.slots = 2;
  config.beams = MANY;
  sidbeam_session* session = NULL;
  CHECK_OK(sidbeam_session_create(runtime, &config, &session, &err));
  start_all(session);
  const sidbeam_rows logits = same_row(row, 2, MANY, MANY);
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.rows = &logits;
  for (int level = 0; level < 3; ++level) CHECK_OK(sidbeam_session_step(session, &step, &err));
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit = MANY;
  items.item_rows = rows;
  items.offsets = offsets;
  items.cap_attribute = "maker";
  items.cap = 2;
  check_no_memory(session, constraint, items);
  for (; items.cap >= 1; --items.cap) {
    CHECK_OK(sidbeam_session_get_items(session, NULL, 0, &items, &err));
    const int64_t listed_rows = MANY / 2 * items.cap;
    CHECK_INT(offsets[MANY], listed_rows);
    CHECK_INT(offsets[2 * MANY + 1], listed_rows);
    for (int64_t i = 0; i < 2 * listed_rows; ++i)
      CHECK_INT(rows[i / listed_rows * MANY + i % listed_rows], i % listed_rows);
  }
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
  sidbeam_builder_destroy(builder);
  sidbeam_runtime_release(runtime);
}

static const struct {
  const char* attribute;
  int64_t cap;
  const char* text;
} wrong[] = {
    {NULL, -1, "cap is -1, expected at least 0"},
    {"brand", -5, "cap is -5, expected at least 0"},
    {NULL, 2, "cap is 2 and cap_attribute is NULL, expected the attribute that it is for"},
    {"brand", 0, "cap is 0 and cap_attribute 'brand', expected a cap of at least 1 for it"},
    {"colour", 1, "cap_attribute 'colour' is not there, expected one of 'brand', 'price', 'stock', 'tags', 'weight'"},
    {"", 1, "cap_attribute '' is not there, expected one of 'brand'"},
    {"weight", 1,
     "cap_attribute 'weight' holds numbers (f32), expected one of integers, bools, strings or lists of strings"}};

static void caps_that_cannot_be_are_refused(void) {
  sidbeam_index *index = index_of(&small), *bare = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_constraint *constraint = constrain(index), *without = constrain(bare);
  sidbeam_session* session = searched(constraint, NULL);
  listed to;
  for (size_t i = 0; i < COUNT(wrong); ++i) {
    const sidbeam_item_limits limits = capped(wrong[i].attribute, wrong[i].cap, 8);
    const sidbeam_items items = listing(&to, wrong[i].attribute, wrong[i].cap);
    sidbeam_items given = items;
    CHECK_FAILS(sidbeam_constraint_items(constraint, found, 5, &limits, to.rows, to.offsets, NULL, NULL, &err),
                SIDBEAM_INVALID_ARGUMENT, wrong[i].text);
    CHECK_FAILS(sidbeam_session_get_items(session, NULL, 0, &given, &err), SIDBEAM_INVALID_ARGUMENT, wrong[i].text);
  }
  CHECK_INT(to.rows[0], -0x0808080808080809);
  CHECK_INT(to.offsets[0], -0x0808080808080809);
  sidbeam_item_limits limits = capped("brand", 1, 8);
  CHECK_FAILS(sidbeam_constraint_items(without, found, 5, &limits, to.rows, to.offsets, NULL, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT,
              "cap_attribute 'brand' is not there, expected none, since the index has no attributes");
  limits.limit = 0;
  CHECK_FAILS(sidbeam_constraint_items(constraint, found, 5, &limits, to.rows, to.offsets, NULL, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "limit is 0, expected at least 1, the stride of item_rows");
  CHECK_FAILS(sidbeam_constraint_items(constraint, found, 5, NULL, to.rows, to.offsets, NULL, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "limit is 0, expected at least 1");
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(without);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(bare);
  sidbeam_index_release(index);
}

/* The slots of one call may be of several indexes: what is wrong in one of them is said before anything is written. */
static void a_slot_whose_index_has_not_the_attribute_is_named(void) {
  static const int32_t first[1] = {0};
  sidbeam_index *index = index_of(&small), *bare = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_constraint *constraint = constrain(index), *without = constrain(bare);
  sidbeam_session* session = searched(constraint, without);
  listed to;
  sidbeam_items items = listing(&to, "brand", 1);
  CHECK_FAILS(sidbeam_session_get_items(session, NULL, 0, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "slot 1: cap_attribute 'brand' is not there, expected none, since the index has no attributes");
  CHECK_INT(to.ordinals[0], -0x0808080808080809);
  CHECK_INT(to.came_short[0], -0x08080809);
  CHECK_OK(sidbeam_session_get_items(session, first, 1, &items, &err));
  CHECK_INT(to.came_short[0], 1);
  items = listing(&to, "weight", 1);
  CHECK_FAILS(sidbeam_session_get_items(session, first, 1, &items, &err), SIDBEAM_INVALID_ARGUMENT,
              "slot 0: cap_attribute 'weight' holds numbers (f32)");
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(without);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(bare);
  sidbeam_index_release(index);
}

int main(void) {
  static const test_case tests[] = {
      TEST(each_type_has_its_values),
      TEST(limits_cut_what_the_cap_leaves),
      TEST(what_the_cap_leaves_out_makes_room_in_its_sid),
      TEST(the_cap_counts_what_rules_and_distinct_items_leave),
      TEST(beams_are_listed_under_a_cap),
      TEST(a_session_counts_anew_in_every_list),
      TEST(caps_that_cannot_be_are_refused),
      TEST(a_slot_whose_index_has_not_the_attribute_is_named),
  };
  return RUN_TESTS(tests);
}
