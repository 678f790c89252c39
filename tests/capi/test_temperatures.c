/* Inverse temperature and soft cap: a slot's, from its start, and a step's, which take precedence; the same bits
 * whoever sets them. SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

enum { SLOTS = 3, BEAMS = 4, LEVELS = 3 };

/* Elements for which every setting below gives other scores. */
static const float logits[LEVELS][4] = {{3, 1, 2.5f, -2}, {0.25f, 4, 1, 3.5f}, {2, 1.5f, -1, 0.75f}};

typedef struct setting {
  float inverse_temperature, soft_cap; /* 0: not set */
} setting;

typedef struct record {
  int32_t parents[LEVELS][SLOTS * BEAMS], codes[LEVELS][SLOTS * BEAMS], errors[SLOTS];
  float scores[LEVELS][SLOTS * BEAMS];
} record;

static sidbeam_session* make(int32_t normalization) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(constraint);
  config.slots = SLOTS;
  config.normalization = normalization;
  sidbeam_session* session = make_session(&config);
  sidbeam_constraint_release(constraint);
  return session;
}

static void keep(record* found, int level, const sidbeam_beams* beams) {
  memcpy(found->parents[level], beams->parents, sizeof found->parents[level]);
  memcpy(found->codes[level], beams->codes, sizeof found->codes[level]);
  memcpy(found->scores[level], beams->scores, sizeof found->scores[level]);
  memcpy(found->errors, beams->errors, sizeof found->errors);
}

/* A whole search: settings of each slot at start, of each step, and of each slot in each step; NULL: none. */
static record search_with(int32_t normalization, const setting* start, const setting* step, const setting* each) {
  sidbeam_session* session = make(normalization);
  sidbeam_start_args start_args = SIDBEAM_START_ARGS_INIT;
  float temperatures[SLOTS], soft_caps[SLOTS];
  record found;
  memset(&found, 0, sizeof found);
  for (int i = 0; start != NULL && i < SLOTS; ++i)
    temperatures[i] = start[i].inverse_temperature, soft_caps[i] = start[i].soft_cap;
  if (start != NULL) start_args.inverse_temperatures = temperatures, start_args.soft_caps = soft_caps;
  CHECK_OK(sidbeam_session_start(session, &start_args, &err));
  for (int i = 0; each != NULL && i < SLOTS; ++i)
    temperatures[i] = each[i].inverse_temperature, soft_caps[i] = each[i].soft_cap;
  for (int level = 0; level < LEVELS; ++level) {
    const sidbeam_rows rows = same_row(logits[level], SLOTS, BEAMS, 4);
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.rows = &rows;
    if (step != NULL) args.inverse_temperature = step->inverse_temperature, args.soft_cap = step->soft_cap;
    if (each != NULL) args.inverse_temperatures = temperatures, args.soft_caps = soft_caps;
    CHECK_OK(sidbeam_session_step(session, &args, &err));
    const sidbeam_beams beams = beams_of(session);
    keep(&found, level, &beams);
  }
  sidbeam_session_destroy(session);
  return found;
}

/* Slot s of `found` has the bits of slot 0 of a search with settings `of` alone. */
static void check_slot(int32_t normalization, const record* found, int slot, setting of) {
  const record expected = search_with(normalization, NULL, &of, NULL);
  for (int level = 0; level < LEVELS; ++level) {
    CHECK_I32(found->parents[level] + slot * BEAMS, expected.parents[level], BEAMS);
    CHECK_I32(found->codes[level] + slot * BEAMS, expected.codes[level], BEAMS);
    CHECK_F32(found->scores[level] + slot * BEAMS, expected.scores[level], BEAMS);
  }
  CHECK_INT(found->errors[slot], 0);
}

static const setting plain = {0, 0}, hot = {0.5f, 0}, capped = {0, 2}, both = {2, 1.5f}, neutral = {1, INFINITY};

static void the_settings_can_be_told_apart(void) {
  const setting all[4] = {plain, hot, capped, both};
  for (int32_t n = SIDBEAM_NORMALIZE_FULL; n <= SIDBEAM_NORMALIZE_NONE; ++n) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < i; ++j) {
        const record a = search_with(n, NULL, &all[i], NULL), b = search_with(n, NULL, &all[j], NULL);
        CHECK(memcmp(a.scores[0], b.scores[0], BEAMS * sizeof(float)) != 0);
      }
    }
  }
}

static void what_a_slot_got_at_its_start_has_the_bits_of_what_a_step_says(void) {
  const setting slots[SLOTS] = {hot, capped, both};
  for (int32_t n = SIDBEAM_NORMALIZE_FULL; n <= SIDBEAM_NORMALIZE_NONE; ++n) {
    const record found = search_with(n, slots, NULL, NULL);
    for (int s = 0; s < SLOTS; ++s) check_slot(n, &found, s, slots[s]);
  }
}

static void a_steps_scalars_come_before_the_slots_one_by_one(void) {
  const setting slots[SLOTS] = {both, hot, plain}, temperature = {3, 0}, cap = {0, 1};
  const record first = search_with(SIDBEAM_NORMALIZE_FULL, slots, &temperature, NULL);
  check_slot(SIDBEAM_NORMALIZE_FULL, &first, 0, (setting){3, 1.5f});
  check_slot(SIDBEAM_NORMALIZE_FULL, &first, 1, temperature);
  check_slot(SIDBEAM_NORMALIZE_FULL, &first, 2, temperature);
  const record second = search_with(SIDBEAM_NORMALIZE_FULL, slots, &cap, NULL);
  check_slot(SIDBEAM_NORMALIZE_FULL, &second, 0, (setting){2, 1});
  check_slot(SIDBEAM_NORMALIZE_FULL, &second, 1, (setting){0.5f, 1});
  check_slot(SIDBEAM_NORMALIZE_FULL, &second, 2, cap);
}

static void a_steps_arrays_come_before_the_slots_entry_by_entry(void) {
  const setting slots[SLOTS] = {both, both, hot}, each[SLOTS] = {{3, 0}, {0, 1}, {0, 0}};
  for (int32_t n = SIDBEAM_NORMALIZE_FULL; n <= SIDBEAM_NORMALIZE_NONE; ++n) {
    const record found = search_with(n, slots, NULL, each), alone = search_with(n, NULL, NULL, slots);
    check_slot(n, &found, 0, (setting){3, 1.5f});
    check_slot(n, &found, 1, (setting){2, 1});
    check_slot(n, &found, 2, hot);
    for (int s = 0; s < SLOTS; ++s) check_slot(n, &alone, s, slots[s]);
  }
}

static void a_soft_cap_of_infinity_is_none_whatever_the_slot_has(void) {
  const setting capped_slots[SLOTS] = {capped, both, neutral}, each[SLOTS] = {neutral, neutral, plain};
  const record by_scalar = search_with(SIDBEAM_NORMALIZE_FULL, capped_slots, &neutral, NULL);
  const record by_array = search_with(SIDBEAM_NORMALIZE_FULL, capped_slots, NULL, each);
  for (int s = 0; s < SLOTS; ++s) check_slot(SIDBEAM_NORMALIZE_FULL, &by_scalar, s, plain);
  for (int s = 0; s < SLOTS; ++s) check_slot(SIDBEAM_NORMALIZE_FULL, &by_array, s, plain);
}

/* One step of the named slots, at level 0. */
static void step_slots(sidbeam_session* session, const int32_t* slots, int64_t count, const float* temperatures) {
  const sidbeam_rows rows = same_row(logits[0], count, 1, 4);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  args.slots = slots;
  args.count = count;
  args.inverse_temperatures = temperatures;
  CHECK_OK(sidbeam_session_step(session, &args, &err));
}

static void check_first_scores(const sidbeam_session* session, int slot, setting of) {
  const record expected = search_with(SIDBEAM_NORMALIZE_FULL, NULL, &of, NULL);
  CHECK_F32(beams_of(session).scores + slot * BEAMS, expected.scores[0], BEAMS);
}

static void arrays_follow_the_list_of_slots(void) {
  static const int32_t order[2] = {2, 0};
  static const float temperatures[2] = {0.5f, 3};
  sidbeam_session* session = make(SIDBEAM_NORMALIZE_FULL);
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.slots = order;
  args.count = 2;
  args.inverse_temperatures = temperatures;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
  step_slots(session, order, 2, NULL);
  check_first_scores(session, 2, (setting){0.5f, 0});
  check_first_scores(session, 0, (setting){3, 0});
  start_all(session); /* forgets them */
  step_slots(session, order, 2, temperatures);
  check_first_scores(session, 2, (setting){0.5f, 0});
  check_first_scores(session, 0, (setting){3, 0});
  start_all(session);
  step_slots(session, order, 2, NULL);
  check_first_scores(session, 2, plain);
  check_first_scores(session, 0, plain);
  sidbeam_session_destroy(session);
}

static const struct {
  float value;
  const char* text; /* in messages; NULL for a value that is valid as a soft cap */
} wrong[] = {{-1, "is -1, expected "}, {-INFINITY, "is -inf, expected "}, {NAN, "nan, expected "}, {INFINITY, NULL}};

static void values_that_are_not_allowed_are_refused_at_the_start(void) {
  sidbeam_session* session = make(SIDBEAM_NORMALIZE_FULL);
  start_all(session);
  step_all(session, logits[0]);
  for (size_t i = 0; i < COUNT(wrong); ++i) {
    const float values[SLOTS] = {1, wrong[i].value, 1};
    sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
    args.inverse_temperatures = values;
    CHECK_FAILS(sidbeam_session_start(session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "inverse_temperatures[1] is ",
                wrong[i].text != NULL ? wrong[i].text : "inf, expected ", "a finite number above 0, or 0 for 1");
    args.inverse_temperatures = NULL;
    args.soft_caps = values;
    if (wrong[i].text != NULL) {
      CHECK_FAILS(sidbeam_session_start(session, &args, &err), SIDBEAM_INVALID_ARGUMENT, "soft_caps[1] is ",
                  wrong[i].text, "a number above 0 (+inf for none), or 0 for none");
    }
    CHECK_INT(beams_of(session).level[0], 1);
    CHECK_INT(beams_of(session).level[1], 1);
  }
  sidbeam_session_destroy(session);
}

static void values_that_are_not_allowed_are_refused_by_a_step(void) {
  const sidbeam_rows rows = same_row(logits[0], SLOTS, BEAMS, 4);
  sidbeam_session* session = make(SIDBEAM_NORMALIZE_FULL);
  start_all(session);
#define STEP_FAILS(...)                                                                             \
  do {                                                                                              \
    CHECK_FAILS(sidbeam_session_step(session, &args, &err), SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__); \
    CHECK_I32(beams_of(session).level, ((const int32_t[]){0, 0, 0}), SLOTS);                        \
    args = with_rows;                                                                               \
  } while (0)
  sidbeam_step_args with_rows = SIDBEAM_STEP_ARGS_INIT;
  with_rows.rows = &rows;
  sidbeam_step_args args = with_rows;
  for (size_t i = 0; i < COUNT(wrong); ++i) {
    const float values[SLOTS] = {1, 1, wrong[i].value};
    const char* text = wrong[i].text != NULL ? wrong[i].text : "inf, expected ";
    args.inverse_temperature = wrong[i].value;
    STEP_FAILS("inverse_temperature is ", text, "a finite number above 0, or 0 for that of the slot");
    args.inverse_temperatures = values;
    STEP_FAILS("inverse_temperatures[2] is ", text, "a finite number above 0, or 0 for that of the slot");
    if (wrong[i].text == NULL) continue;
    args.soft_cap = wrong[i].value;
    STEP_FAILS("soft_cap is ", text, "a number above 0 (+inf for none), or 0 for that of the slot");
    args.soft_caps = values;
    STEP_FAILS("soft_caps[2] is ", text, "a number above 0 (+inf for none), or 0 for that of the slot");
  }
  sidbeam_session_destroy(session);
}

static void scalars_and_arrays_do_not_go_together(void) {
  static const float values[SLOTS] = {1, 1, 1};
  const sidbeam_rows rows = same_row(logits[0], SLOTS, BEAMS, 4);
  sidbeam_session* session = make(SIDBEAM_NORMALIZE_FULL);
  start_all(session);
  sidbeam_step_args with_rows = SIDBEAM_STEP_ARGS_INIT;
  with_rows.rows = &rows;
  sidbeam_step_args args = with_rows;
  args.inverse_temperatures = values;
  args.inverse_temperature = 2;
  STEP_FAILS("inverse_temperature is 2, expected 0 beside inverse_temperatures");
  args.soft_caps = values;
  args.soft_cap = 30;
  STEP_FAILS("soft_cap is 30, expected 0 beside soft_caps");
  args.soft_caps = values; /* one of each does */
  args.inverse_temperature = 2;
  CHECK_OK(sidbeam_session_step(session, &args, &err));
#undef STEP_FAILS
  sidbeam_session_destroy(session);
}

int main(void) {
  static const test_case tests[] = {
      TEST(the_settings_can_be_told_apart),
      TEST(what_a_slot_got_at_its_start_has_the_bits_of_what_a_step_says),
      TEST(a_steps_scalars_come_before_the_slots_one_by_one),
      TEST(a_steps_arrays_come_before_the_slots_entry_by_entry),
      TEST(a_soft_cap_of_infinity_is_none_whatever_the_slot_has),
      TEST(arrays_follow_the_list_of_slots),
      TEST(values_that_are_not_allowed_are_refused_at_the_start),
      TEST(values_that_are_not_allowed_are_refused_by_a_step),
      TEST(scalars_and_arrays_do_not_go_together),
  };
  return RUN_TESTS(tests);
}
