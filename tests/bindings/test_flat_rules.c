/* Filters and constraints with rules through the flat layer. What they do to a search is tested elsewhere, in C and
 * differentially; here, that everything arrives, lengths are checked, and handles hold what they need.
 * SPDX-License-Identifier: Apache-2.0 */
#include "flat_rig.h"

static const flat_in_bytes no_bytes = {NULL, 0};
#define TEXT(text) ((flat_in_bytes){(text), (int64_t)sizeof(text) - 1})
#define BYTES(...) ((flat_in_bytes){(const char[]){__VA_ARGS__}, COUNT(((const char[]){__VA_ARGS__}))})
/* A list of items, as four arguments. */
#define IDS(...) SIDBEAM_ITEMS_BY_ID, IN_I64(__VA_ARGS__), no_bytes, no_i64
#define ROWS(...) SIDBEAM_ITEMS_BY_ROW, IN_I64(__VA_ARGS__), no_bytes, no_i64
#define NO_LIST 0, no_i64, no_bytes, no_i64
#define BAD(call, text) REFUSED(call, SIDBEAM_INVALID_ARGUMENT, text)

static flat_handle* attributed(flat_handle* runtime) {
  flat_handle* index;
  OKAY(index = flat_index_open(runtime, ATTRIBUTED, 0, SIDBEAM_VERIFY_FULL, &err));
  return index;
}

/* How many rows a filter has, which goes. */
static int64_t items_of(flat_handle* filter) {
  int64_t info[FLAT_FILTER_COUNT] = {-1};
  OKAY(flat_filter_get_info(filter, OUT_I64(info), &err));
  flat_free(filter);
  return info[FLAT_FILTER_ITEMS];
}

/* Its first 64 rows. */
static int64_t rows_of(flat_handle* filter) {
  int64_t words[2] = {0};
  CHECK(flat_filter_rows(filter, (flat_out_i64){words, 1}, &err) >= 1);
  CHECK_INT(words[1], 0);
  CHECK_INT(err.code, 0);
  return words[0];
}

static void filters_of_items_and_rows_arrive(void) {
  rig r = make_rig(1);
  flat_handle* filter;
  int64_t unknown = -1;
  const flat_out_i64 count = {&unknown, 1};
  OKAY(filter = flat_filter_from_items(r.index, IDS(15, 11, 99, 15), count, &err));
  CHECK_INT(unknown, 1);
  CHECK_INT(rows_of(filter), 0x05);
  flat_free(filter);
  OKAY(filter = flat_filter_from_items(r.index, ROWS(5, 0, 6), no_out_i64, &err));
  CHECK_INT(rows_of(filter), 0x21);
  flat_free(filter);
  OKAY(filter = flat_filter_from_items(r.index, NO_LIST, count, &err));
  CHECK_INT(rows_of(filter), 0);
  flat_free(filter);
  OKAY(filter = flat_filter_from_rows(r.index, SIDBEAM_ROWS_BITS, BYTES(0x48, 0x01), 3, &err));
  CHECK_INT(rows_of(filter), 0x29);
  flat_free(filter);
  OKAY(filter = flat_filter_from_rows(r.index, SIDBEAM_ROWS_BYTES, BYTES(1, 0, 0, 2, 0, 0), 0, &err));
  CHECK_INT(rows_of(filter), 0x09);
  flat_free(filter);
  BAD(flat_filter_from_rows(r.index, SIDBEAM_ROWS_BYTES, BYTES(1, 0), 0, &err),
      "filter: 2 bytes, expected 6, one per item");
  BAD(flat_filter_from_rows(r.index, SIDBEAM_ROWS_ROARING, BYTES(1, 0), 0, &err), err.message);
  CHECK(strstr(err.message, "Roaring bitmap: at byte 0") != NULL);
  BAD(flat_filter_from_items(r.index, IDS(1), (flat_out_i64){&unknown, 0}, &err),
      "unknown has 0 elements, expected at least 1");
  BAD(flat_filter_from_items(r.index, 0, no_i64, no_bytes, IN_I64(0, 3), no_out_i64, &err),
      "names is missing, expected 3 elements");
  BAD(flat_filter_from_items(r.index, 0, no_i64, TEXT("ab"), IN_I64(0, 3), no_out_i64, &err),
      "names has 2 elements, expected at least 3");
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static void names_arrive(void) {
  flat_handle *runtime = rig_runtime(), *index, *filter;
  int64_t bytes = 0, unknown = -1;
  unsigned char* data = index_bytes(&small_named, ALL_KINDS, &bytes);
  OKAY(index = flat_index_open_memory(runtime, (flat_in_bytes){(const char*)data, bytes}, 0, SIDBEAM_RESIDENCY_COPY, 0,
                                      &err));
  OKAY(filter = flat_filter_from_items(index, 0, no_i64, TEXT("fifteentennot"), IN_I64(0, 7, 10, 13),
                                       (flat_out_i64){&unknown, 1}, &err));
  CHECK_INT(unknown, 1);
  CHECK_INT(rows_of(filter), 0x03);
  flat_free(filter);
  OKAY(filter = flat_filter_from_items(index, 0, no_i64, no_bytes, IN_I64(0, 0), (flat_out_i64){&unknown, 1}, &err));
  CHECK_INT(unknown, 1); /* the empty name */
  flat_free(filter);
  flat_free(index);
  flat_free(runtime);
  free(data);
}

/* Item i of the catalogue passes where the text says so; the same as a term of the same values. */
static void terms_and_texts_give_the_same_rows(void) {
  flat_handle *runtime = rig_runtime(), *index = attributed(runtime);
  const double weights[2] = {0.5, 7.25};
  int64_t bits[2];
  memcpy(bits, weights, sizeof bits);
  const flat_in_i64 doubles = {bits, 2};
  const struct {
    const char* text;
    int32_t op;
    const char* attribute;
    flat_in_i64 integers, doubles;
    flat_in_bytes bools, strings;
    int64_t items;
  } each[] = {
      {"price<20", SIDBEAM_TERM_LESS, "price", IN_I64(20), no_i64, no_bytes, no_bytes, 54},
      {"price in (3)", FLAT_TERM_ANY_OF, "price", IN_I64(3), no_i64, no_bytes, no_bytes, 3},
      {"price in (3, 5)", FLAT_TERM_ANY_OF, "price", IN_I64(3, 5), no_i64, no_bytes, no_bytes, 6},
      {"price in ()", FLAT_TERM_ANY_OF, "price", no_i64, no_i64, no_bytes, no_bytes, 0},
      {"weight between 0.5 and 7.25", SIDBEAM_TERM_BETWEEN, "weight", no_i64, doubles, no_bytes, no_bytes, 50},
      {"not in_stock", FLAT_TERM_ANY_OF, "in_stock", no_i64, no_i64, BYTES(0), no_bytes, 40},
      {"region=us", FLAT_TERM_ANY_OF, "region", no_i64, no_i64, no_bytes, BYTES('u', 's', 0), 26},
      {"region in (us, ca)", FLAT_TERM_ANY_OF, "region", no_i64, no_i64, no_bytes, BYTES('u', 's', 0, 'c', 'a', 0), 53},
      {"tags contains new", FLAT_TERM_ANY_OF, "tags", no_i64, no_i64, no_bytes, BYTES('n', 'e', 'w', 0), 48},
      {"region is null", SIDBEAM_TERM_IS_NULL, "region", no_i64, no_i64, no_bytes, no_bytes, 13},
  };
  for (size_t i = 0; i < COUNT(each); ++i) {
    int64_t parsed_rows[2] = {0}, term_rows[2] = {0};
    flat_handle *parsed, *term;
    OKAY(parsed = flat_filter_parse(index, (flat_in_bytes){each[i].text, (int64_t)strlen(each[i].text)}, &err));
    OKAY(term = flat_filter_from_term(index, each[i].op, each[i].attribute, each[i].integers, each[i].doubles,
                                      each[i].bools, each[i].strings, &err));
    CHECK_INT(flat_filter_rows(parsed, OUT_I64(parsed_rows), &err), 2);
    CHECK_INT(flat_filter_rows(term, OUT_I64(term_rows), &err), 2);
    CHECK_I64(term_rows, parsed_rows, 2);
    CHECK_INT(items_of(parsed), each[i].items);
    flat_free(term);
  }
  BAD(flat_filter_from_term(index, FLAT_TERM_ANY_OF, "region", no_i64, no_i64, no_bytes, TEXT("us"), &err),
      "strings does not end with NUL");
  BAD(flat_filter_from_term(index, FLAT_TERM_ANY_OF, "colour", IN_I64(1), no_i64, no_bytes, no_bytes, &err),
      "filter: column 'colour' is not there, expected one of 'in_stock', 'price', 'region', 'tags', 'weight'");
  BAD(flat_filter_from_term(index, FLAT_TERM_ANY_OF, NULL, IN_I64(1), no_i64, no_bytes, no_bytes, &err),
      "term.attribute is NULL, expected an object");
  BAD(flat_filter_from_term(index, SIDBEAM_TERM_LESS, "price", IN_I64(1), IN_I64(0), no_bytes, no_bytes, &err),
      "term gives 2 arrays of values, expected one of integers, numbers, bools, strings");
  flat_free(index);
  flat_free(runtime);
}

static void a_filter_has_its_text_as_far_as_there_is_room(void) {
  flat_handle *runtime = rig_runtime(), *index = attributed(runtime), *filter, *none;
  char text[32] = {0}, few[4] = {0};
  OKAY(filter = flat_filter_parse(index, TEXT("price < 20 AND in_stock"), &err));
  flat_free(index);
  const int64_t bytes = flat_filter_text(filter, OUT_BYTES(text), &err);
  CHECK_INT(bytes, (int64_t)strlen(text));
  CHECK(bytes > 8 && strstr(text, "price<20") != NULL);
  CHECK_INT(flat_filter_text(filter, no_out_bytes, &err), bytes);
  CHECK_INT(flat_filter_text(filter, (flat_out_bytes){few, 3}, &err), bytes);
  CHECK(memcmp(few, text, 3) == 0 && few[3] == 0);
  index = attributed(runtime);
  OKAY(none = flat_filter_from_items(index, IDS(1000), no_out_i64, &err));
  CHECK_INT(flat_filter_text(none, OUT_BYTES(text), &err), 0);
  CHECK_INT(err.code, SIDBEAM_UNSUPPORTED);
  flat_free(none);
  flat_free(filter);
  flat_free(index);
  flat_free(runtime);
}

static void filters_are_joined_updated_and_prepared(void) {
  rig r = make_rig(2);
  flat_handle *a, *b, *made;
  int64_t info[FLAT_FILTER_COUNT] = {0}, unknown = -1;
  OKAY(a = flat_filter_from_items(r.index, ROWS(0, 1, 2), no_out_i64, &err));
  OKAY(b = flat_filter_from_items(r.index, ROWS(2, 3), no_out_i64, &err));
  OKAY(made = flat_filter_combine(SIDBEAM_FILTER_AND, a, b, &err));
  CHECK_INT(rows_of(made), 0x04);
  flat_free(made);
  OKAY(made = flat_filter_combine(SIDBEAM_FILTER_OR, a, b, &err));
  CHECK_INT(rows_of(made), 0x0f);
  flat_free(made);
  OKAY(made = flat_filter_combine(SIDBEAM_FILTER_NOT, a, NULL, &err));
  CHECK_INT(rows_of(made), 0x38);
  flat_free(made);
  BAD(flat_filter_combine(SIDBEAM_FILTER_NOT, a, b, &err), "count is 2, expected 1, since op is NOT");
  OKAY(made = flat_filter_update(a, ROWS(5, 0, 77), BYTES(1, 0, 1), (flat_out_i64){&unknown, 1}, &err));
  CHECK_INT(unknown, 1);
  CHECK_INT(rows_of(made), 0x26);
  BAD(flat_filter_update(a, ROWS(5, 0), BYTES(1), no_out_i64, &err), "allowed has 1 elements, expected at least 2");
  BAD(flat_filter_update(a, ROWS(5), no_bytes, no_out_i64, &err), "allowed is missing, expected 1 elements");
  OKAY(flat_filter_get_info(made, OUT_I64(info), &err));
  CHECK_INT(info[FLAT_FILTER_PREPARED], 0);
  CHECK_INT(info[FLAT_FILTER_SIDS], -1);
  const int64_t bytes = info[FLAT_FILTER_BYTES];
  OKAY(flat_filter_prepare(made, &err));
  OKAY(flat_filter_get_info(made, OUT_I64(info), &err));
  CHECK_INT(info[FLAT_FILTER_PREPARED], 1);
  CHECK_INT(info[FLAT_FILTER_ITEMS], 3);
  CHECK_INT(info[FLAT_FILTER_SIDS], 3);
  CHECK(info[FLAT_FILTER_BYTES] > bytes);
  BAD(flat_filter_get_info(made, (flat_out_i64){info, 3}, &err), "out has 3 elements, expected at least 4");
  flat_free(a);
  flat_free(b);
  free_handles(&r);
  CHECK_INT(returned(), -1); /* the filter holds the index */
  CHECK_INT(rows_of(made), 0x26);
  flat_free(made);
  CHECK_INT(returned(), 2);
  free(r.bytes);
}

static void every_call_on_a_closed_filter_says_so(void) {
  rig r = make_rig(3);
  flat_handle *filter, *open;
  int64_t words[4] = {0};
  OKAY(filter = flat_filter_from_items(r.index, ROWS(0), no_out_i64, &err));
  OKAY(open = flat_filter_from_items(r.index, ROWS(0), no_out_i64, &err));
  flat_close(filter);
  const char* closed = "filter is closed";
  REFUSED(flat_filter_combine(SIDBEAM_FILTER_OR, open, filter, &err), SIDBEAM_BAD_STATE, closed);
  REFUSED(flat_filter_combine(SIDBEAM_FILTER_OR, filter, open, &err), SIDBEAM_BAD_STATE, closed);
  REFUSED(flat_filter_update(filter, ROWS(0), BYTES(1), no_out_i64, &err), SIDBEAM_BAD_STATE, closed);
  REFUSED(flat_filter_prepare(filter, &err), SIDBEAM_BAD_STATE, closed);
  REFUSED(flat_filter_get_info(filter, OUT_I64(words), &err), SIDBEAM_BAD_STATE, closed);
  REFUSED(flat_filter_rows(filter, OUT_I64(words), &err), SIDBEAM_BAD_STATE, closed);
  REFUSED(flat_filter_text(filter, no_out_bytes, &err), SIDBEAM_BAD_STATE, closed);
  REFUSED(flat_constraint_create_ruled(r.index, filter, NO_LIST, NO_LIST, &err), SIDBEAM_BAD_STATE, closed);
  BAD(flat_constraint_create_ruled(r.index, r.index, NO_LIST, NO_LIST, &err),
      "filter is index, expected a handle of it");
  flat_close(r.index);
  const char* no_index = "index is closed";
  REFUSED(flat_filter_from_items(r.index, ROWS(0), no_out_i64, &err), SIDBEAM_BAD_STATE, no_index);
  REFUSED(flat_filter_from_rows(r.index, 0, BYTES(1), 0, &err), SIDBEAM_BAD_STATE, no_index);
  REFUSED(flat_filter_parse(r.index, TEXT("true"), &err), SIDBEAM_BAD_STATE, no_index);
  REFUSED(flat_filter_from_term(r.index, 1, "a", IN_I64(1), no_i64, no_bytes, BYTES('a', 0), &err), SIDBEAM_BAD_STATE,
          no_index);
  REFUSED(flat_constraint_create_ruled(r.index, open, NO_LIST, NO_LIST, &err), SIDBEAM_BAD_STATE, no_index);
  flat_free(filter);
  flat_free(open);
  free_rig(&r);
  CHECK_INT(returned(), 3);
}

static void info_is(flat_handle* constraint, int64_t rules, int64_t sids, int64_t items, int64_t excluded,
                    int64_t allowed) {
  int64_t info[FLAT_CONSTRAINT_COUNT] = {0};
  OKAY(flat_constraint_get_info(constraint, OUT_I64(info), no_out_bytes, &err));
  CHECK_INT(info[FLAT_CONSTRAINT_RULES], rules);
  CHECK_INT(info[FLAT_CONSTRAINT_ALLOWED_SIDS], sids);
  CHECK_INT(info[FLAT_CONSTRAINT_ALLOWED_ITEMS], items);
  CHECK_INT(info[FLAT_CONSTRAINT_UNKNOWN_EXCLUDED], excluded);
  CHECK_INT(info[FLAT_CONSTRAINT_UNKNOWN_ALLOWED], allowed);
}

/* Rows 0 and 1 are those of ordinal 0. */
static void a_constraint_takes_its_rules_and_says_what_is_left(void) {
  rig r = make_rig(4);
  flat_handle *filter, *ruled, *more;
  info_is(r.constraint, 0, 5, 6, 0, 0);
  OKAY(filter = flat_filter_from_items(r.index, ROWS(0, 1, 2, 3), no_out_i64, &err));
  OKAY(ruled = flat_constraint_create_ruled(r.index, filter, IDS(15, 99, 98), ROWS(0, 1, 2, 4, 6), &err));
  info_is(ruled, 1, 2, 2, 2, 1); /* rows 1 and 2 */
  OKAY(more = flat_constraint_exclude(ruled, ROWS(2, 100), &err));
  info_is(more, 1, 1, 1, 3, 1);
  flat_free(more);
  OKAY(more = flat_constraint_create_ruled(r.index, NULL, NO_LIST, 0, (flat_in_i64){(const int64_t[]){0}, 0}, no_bytes,
                                           no_i64, &err));
  info_is(more, 1, 0, 0, 0, 0); /* an empty list is one */
  flat_free(more);
  OKAY(more = flat_constraint_create_ruled(r.index, NULL, ROWS(0), NO_LIST, &err));
  info_is(more, 1, 5, 5, 0, 0);
  flat_free(more);
  BAD(flat_constraint_create_ruled(r.index, NULL, 0, no_i64, TEXT("a"), IN_I64(0, 1), NO_LIST, &err),
      "config.excluded gives names, expected numbers, since its ids are integers, as the index has");
  BAD(flat_constraint_create_ruled(r.index, NULL, 7, IN_I64(1), no_bytes, no_i64, NO_LIST, &err),
      "config.excluded.by is 7, expected 0 (ids) or 1 (item rows)");
  flat_close(ruled);
  REFUSED(flat_constraint_exclude(ruled, ROWS(2), &err), SIDBEAM_BAD_STATE, "constraint is closed");
  flat_free(ruled);
  flat_free(filter);
  free_rig(&r);
  CHECK_INT(returned(), 4);
}

static void items_of_a_constraint_are_those_it_allows(void) {
  rig r = make_rig(5);
  flat_handle* ruled;
  int64_t rows[4] = {-1, -1, -1, -1}, offsets[3] = {-1, -1, -1};
  int32_t truncated[1] = {-1};
  OKAY(ruled = flat_constraint_create_ruled(r.index, NULL, ROWS(0), NO_LIST, &err));
  OKAY(flat_constraint_items(ruled, IN_I64(0, 1), 0, 4, 0, NULL, 0, OUT_I64(rows), OUT_I64(offsets), OUT_I32(truncated),
                             no_out_i32, &err));
  const int64_t expected[4] = {1, 2, -1, -1}, ends[3] = {0, 1, 2};
  CHECK_I64(rows, expected, 4);
  CHECK_I64(offsets, ends, 3);
  CHECK_INT(truncated[0], 0);
  BAD(flat_constraint_items(ruled, IN_I64(0, 1), 0, 5, 0, NULL, 0, OUT_I64(rows), OUT_I64(offsets), OUT_I32(truncated),
                            no_out_i32, &err),
      "item_rows has 4 elements, expected at least 5");
  BAD(flat_constraint_items(ruled, IN_I64(0, 1, 2), 0, 4, 0, NULL, 0, OUT_I64(rows), OUT_I64(offsets), no_out_i32,
                            no_out_i32, &err),
      "offsets has 3 elements, expected at least 4");
  flat_close(ruled);
  REFUSED(flat_constraint_items(ruled, IN_I64(0), 0, 0, 0, NULL, 0, no_out_i64, OUT_I64(offsets), no_out_i32,
                                no_out_i32, &err),
          SIDBEAM_BAD_STATE, "constraint is closed");
  flat_free(ruled);
  free_rig(&r);
  CHECK_INT(returned(), 5);
}

/* Four regions, one each, and the 13 items without one. */
static void caps_arrive(void) {
  rig r = make_rig(8);
  flat_handle *index = attributed(r.runtime), *constraint;
  static int64_t ordinals[120], rows[120], offsets[121];
  int64_t info[FLAT_INFO_COUNT] = {0};
  int32_t truncated[1] = {-1}, came_short[RIG_SLOTS] = {-1, -1};
  OKAY(flat_index_get_info(index, OUT_I64(info), no_out_bytes, &err));
  const flat_in_i64 all = {ordinals, info[FLAT_INFO_SIDS]};
  for (int64_t i = 0; i < all.count; ++i) ordinals[i] = i;
  OKAY(constraint = flat_constraint_create(index, &err));
  OKAY(flat_constraint_items(constraint, all, 0, 120, 0, "region", 1, OUT_I64(rows), OUT_I64(offsets),
                             OUT_I32(truncated), OUT_I32(came_short), &err));
  CHECK_INT(offsets[all.count], 17);
  CHECK_INT(truncated[0], 0);
  CHECK_INT(came_short[0], 1);
  OKAY(flat_constraint_items(constraint, all, 0, 120, 0, "", 0, OUT_I64(rows), OUT_I64(offsets), no_out_i32,
                             OUT_I32(came_short), &err));
  CHECK_INT(offsets[all.count], 120);
  CHECK_INT(came_short[0], 0);
  BAD(flat_constraint_items(constraint, all, 0, 120, 0, "", 2, OUT_I64(rows), OUT_I64(offsets), no_out_i32, no_out_i32,
                            &err),
      "cap is 2 and cap_attribute is NULL, expected the attribute that it is for");
  BAD(flat_constraint_items(constraint, all, 0, 0, 0, "region", 1, no_out_i64, OUT_I64(offsets), no_out_i32,
                            (flat_out_i32){came_short, 0}, &err),
      "came_short has 0 elements, expected at least 1");
  OKAY(flat_session_get_items(r.session, no_i32, RIG_SLOTS, 0, 0, 0, "", 0, no_out_i64, no_out_i32, no_out_i32,
                              no_out_i64, no_out_i64, no_out_i32, OUT_I32(came_short), 0, &err));
  CHECK_INT(came_short[1], 0);
  OKAY(rig_start(&r, &err));
  BAD(flat_session_get_items(r.session, no_i32, RIG_SLOTS, 0, 0, 0, "region", 1, no_out_i64, no_out_i32, no_out_i32,
                             no_out_i64, no_out_i64, no_out_i32, no_out_i32, 0, &err),
      "slot 0: cap_attribute 'region' is not there, expected none, since the index has no attributes");
  BAD(flat_session_get_items(r.session, no_i32, RIG_SLOTS, 0, 0, 0, "", 0, no_out_i64, no_out_i32, no_out_i32,
                             no_out_i64, no_out_i64, no_out_i32, (flat_out_i32){came_short, 1}, 0, &err),
      "came_short has 1 elements, expected at least 2");
  flat_free(constraint);
  flat_free(index);
  free_rig(&r);
  CHECK_INT(returned(), 8);
}

/* One batch mixes rules: of the second slot ordinals 0 and 1 are forbidden. */
static void slots_of_one_start_have_rules_of_their_own(void) {
  rig r = make_rig(6);
  flat_handle* ruled;
  int64_t place[FLAT_BEAMS_COUNT] = {0};
  OKAY(ruled = flat_constraint_create_ruled(r.index, NULL, ROWS(0, 1, 2), NO_LIST, &err));
  OKAY(flat_session_start(r.session, no_i32, RIG_SLOTS, IN_I64(0, (int64_t)(intptr_t)ruled), no_i32, 0, no_i32, no_i32,
                          0, no_f32, no_f32, 0, NO_SAMPLING, &err));
  flat_free(ruled); /* the slot holds it */
  for (int level = 0; level < 3; ++level) OKAY(rig_step(&r, &err));
  OKAY(flat_session_get_beams(r.session, OUT_I64(place), &err));
  const int32_t live[2] = {4, 3}; /* of five SIDs; of three */
  CHECK_I32((const int32_t*)(intptr_t)place[FLAT_BEAMS_LIVE], live, 2);
  int64_t ordinals[RIG_SLOTS * RIG_BEAMS] = {0};
  OKAY(flat_session_get_items(r.session, no_i32, RIG_SLOTS, 0, 0, 0, NULL, 0, OUT_I64(ordinals), no_out_i32, no_out_i32,
                              no_out_i64, no_out_i64, no_out_i32, no_out_i32, 0, &err));
  for (int m = 0; m < 3; ++m) CHECK(ordinals[RIG_BEAMS + m] >= 2);
  free_rig(&r);
  CHECK_INT(returned(), 6);
}

static void a_session_is_told_how_many_rows_slots_may_list(void) {
  rig r = make_rig(1);
  BAD(flat_session_create(r.runtime, r.constraint, RIG_SLOTS, RIG_BEAMS, SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_NONE,
                          0, no_i64, no_i32, no_i64, -1, SIDBEAM_DEVICE_CPU, 0, 0, SIDBEAM_MODE_SEARCH, -1, &err),
      "config.max_listed is -1, expected 0..16777216");
  free_rig(&r);
}

int main(void) {
  static const test_case tests[] = {
      TEST(filters_of_items_and_rows_arrive),
      TEST(names_arrive),
      TEST(terms_and_texts_give_the_same_rows),
      TEST(a_filter_has_its_text_as_far_as_there_is_room),
      TEST(filters_are_joined_updated_and_prepared),
      TEST(every_call_on_a_closed_filter_says_so),
      TEST(a_constraint_takes_its_rules_and_says_what_is_left),
      TEST(items_of_a_constraint_are_those_it_allows),
      TEST(caps_arrive),
      TEST(slots_of_one_start_have_rules_of_their_own),
      TEST(a_session_is_told_how_many_rows_slots_may_list),
  };
  return RUN_TESTS(tests);
}
