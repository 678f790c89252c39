/* Arrays of the flat layer: what is too short, too narrow or of another shape is refused before anything reads it, with
 * the array's name. SPDX-License-Identifier: Apache-2.0 */
#include "flat_rig.h"

#define SHORT(call, text) REFUSED(call, SIDBEAM_INVALID_ARGUMENT, text)

static void a_builder_takes_rows_of_its_own_levels_and_whole_columns(void) {
  flat_handle *runtime = rig_runtime(), *builder = rig_builder(runtime);
  const flat_in_i32 codes = IN_I32(0, 1, 2, 3, 0, 0);
  SHORT(flat_builder_add(builder, codes, 2, no_i32, 3, no_i64, no_i64, &err),
        "codes has 2 levels, expected 3, those of the builder");
  SHORT(flat_builder_add_named(builder, codes, 4, no_i32, 1, (flat_in_bytes){"x", 1}, IN_I64(0, 1), no_i64, &err),
        "codes has 4 levels, expected 3, those of the builder");
  SHORT(flat_builder_add(builder, codes, 3, no_i32, 3, no_i64, no_i64, &err),
        "codes has 6 elements, expected at least 9");
  SHORT(flat_builder_add(builder, no_i32, 3, no_i32, 1, no_i64, no_i64, &err), "codes is missing, expected 3 elements");
  SHORT(flat_builder_add(builder, codes, 3, IN_I32(3), 2, no_i64, no_i64, &err),
        "lengths has 1 elements, expected at least 2");
  SHORT(flat_builder_add(builder, codes, 3, no_i32, 2, IN_I64(1), no_i64, &err),
        "ids has 1 elements, expected at least 2");
  SHORT(flat_builder_add(builder, codes, 3, no_i32, 2, no_i64, IN_I64(1), &err),
        "priorities has 1 elements, expected at least 2");
  SHORT(flat_builder_add(builder, codes, 3, no_i32, INT64_MAX, no_i64, no_i64, &err),
        "codes has 6 elements, expected at least 9223372036854775807");
  OKAY(flat_builder_add(builder, codes, 3, no_i32, 2, no_i64, no_i64, &err));
  flat_free(builder);
  flat_free(runtime);
}

static void names_lie_within_their_bytes(void) {
  flat_handle *runtime = rig_runtime(), *builder;
  const flat_in_i32 codes = IN_I32(0, 1, 2, 3, 0, 0);
  const flat_in_bytes bytes = {"abcdef", 6};
  OKAY(builder = flat_builder_create(runtime, (flat_in_i32){small.codes, 3}, 0, SIDBEAM_ID_STRING, 0, 0, 0, 0, NULL, 0,
                                     0, 0, &err));
  SHORT(flat_builder_add_named(builder, codes, 3, no_i32, 2, bytes, IN_I64(0, 3), no_i64, &err),
        "id_offsets has 2 elements, expected at least 3");
  SHORT(flat_builder_add_named(builder, codes, 3, no_i32, 2, bytes, IN_I64(0, 3, 7), no_i64, &err),
        "id_bytes has 6 elements, expected at least 7");
  flat_builder_add_named(builder, codes, 3, no_i32, 2, bytes, IN_I64(-1, 3, 6), no_i64, &err);
  CHECK_INT(err.code, SIDBEAM_INVALID_ARGUMENT);
  flat_builder_add_named(builder, codes, 3, no_i32, 2, bytes, IN_I64(0, 7, 6), no_i64, &err);
  CHECK_INT(err.code, SIDBEAM_INVALID_ARGUMENT);
  OKAY(flat_builder_add_named(builder, codes, 3, no_i32, 2, bytes, IN_I64(0, 3, 6), no_i64, &err));
  flat_free(builder);
  flat_free(runtime);
}

/* Rows of logits in a buffer of `elements`. */
static void step_rows(const rig* r, int64_t elements, int64_t slot_stride, int64_t row_stride) {
  static float logits[64];
  flat_session_step(r->session, no_i32, (flat_memory){logits}, elements, SIDBEAM_DTYPE_F32, SIDBEAM_DEVICE_CPU, 0,
                    RIG_SLOTS, RIG_BEAMS, RIG_COLUMNS, slot_stride, row_stride, no_i32, no_f32, 0, 0, no_f32, no_f32, 0,
                    &err);
}

static void rows_that_pass_their_buffer_are_refused(void) {
  rig r = make_rig(1);
  OKAY(rig_start(&r, &err));
  SHORT(step_rows(&r, 31, 16, 4), "logits has 31 elements, too few for 2 x 4 rows of 4 columns with strides 16 and 4");
  SHORT(step_rows(&r, 31, 0, 0), "logits has 31 elements, too few for 2 x 4 rows of 4 columns with strides 0 and 0");
  SHORT(step_rows(&r, 34, 0, 5), "logits has 34 elements, too few for 2 x 4 rows of 4 columns with strides 0 and 5");
  SHORT(step_rows(&r, 64, -16, 4),
        "logits has 64 elements, too few for 2 x 4 rows of 4 columns with strides -16 and 4");
  SHORT(step_rows(&r, 64, 16, -4),
        "logits has 64 elements, too few for 2 x 4 rows of 4 columns with strides 16 and -4");
  SHORT(step_rows(&r, 64, INT64_MAX, 4),
        "logits has 64 elements, too few for 2 x 4 rows of 4 columns with strides 9223372036854775807 and 4");
  SHORT(step_rows(&r, 64, 16, INT64_MAX / 2),
        "logits has 64 elements, too few for 2 x 4 rows of 4 columns with strides 16 and 4611686018427387903");
  OKAY(step_rows(&r, 32, 16, 4)); /* exactly enough */
  OKAY(step_rows(&r, 32, 0, 0));  /* the same, unsaid */
  OKAY(step_rows(&r, -1, 16, 4)); /* not known: the caller's word */
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

/* What all beams, or all slots, share counts once. */
static void rows_that_are_shared_need_no_more_than_one(void) {
  static const struct {
    int64_t slot_stride, row_stride, elements;
  } shared[] = {{SIDBEAM_BROADCAST, SIDBEAM_BROADCAST, 4},
                {SIDBEAM_BROADCAST, 0, 16},
                {0, SIDBEAM_BROADCAST, 8},
                {6, SIDBEAM_BROADCAST, 10},
                {SIDBEAM_BROADCAST, 5, 19}};
  rig r = make_rig(1);
  for (size_t i = 0; i < COUNT(shared); ++i) {
    OKAY(rig_start(&r, &err));
    step_rows(&r, shared[i].elements - 1, shared[i].slot_stride, shared[i].row_stride);
    CHECK_INT(err.code, SIDBEAM_INVALID_ARGUMENT);
    CHECK(strstr(err.message, "too few for 2 x 4 rows of 4 columns") != NULL);
    OKAY(step_rows(&r, shared[i].elements, shared[i].slot_stride, shared[i].row_stride));
  }
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

/* A step of the slots with logits of one row of `halving` for all, or as the row map has it. */
static void step_slots(const rig* r, flat_in_i32 slots, flat_in_i32 row_map, flat_in_f32 inverse_temperatures,
                       flat_in_f32 soft_caps) {
  const int64_t count = slots.data == NULL ? RIG_SLOTS : slots.count;
  flat_session_step(r->session, slots, (flat_memory){(void*)(uintptr_t)halving}, 4, 0, 0, 0,
                    row_map.data == NULL ? count : 0, 1, 4, SIDBEAM_BROADCAST, 0, row_map, no_f32, 0, 0,
                    inverse_temperatures, soft_caps, 0, &err);
}

static void a_step_checks_its_lists(void) {
  rig r = make_rig(1);
  const flat_memory logits = {(void*)(uintptr_t)halving};
  const flat_in_f32 lse = {halving, 3};
  OKAY(rig_start(&r, &err));
  SHORT(step_slots(&r, no_i32, IN_I32(0, 0, 0, 0, 0, 0, 0), no_f32, no_f32),
        "row_map has 7 elements, expected at least 8");
  SHORT(step_slots(&r, IN_I32(1), IN_I32(0, 0, 0), no_f32, no_f32), "row_map has 3 elements, expected at least 4");
  SHORT(step_slots(&r, no_i32, no_i32, IN_F32(1), no_f32), "inverse_temperatures has 1 elements, expected at least 2");
  SHORT(step_slots(&r, IN_I32(0, 1), no_i32, no_f32, IN_F32(1)), "soft_caps has 1 elements, expected at least 2");
  SHORT(flat_session_step(r.session, no_i32, logits, 16, 0, 0, 0, 2, 2, 4, 0, 0, no_i32, lse, 0, 0, no_f32, no_f32, 0,
                          &err),
        "lse has 3 elements, expected at least 4");
  SHORT(flat_session_step(r.session, no_i32, logits, 16, 0, 0, 0, 0, 4, 4, 0, 0, no_i32, lse, 0, 0, no_f32, no_f32, 0,
                          &err),
        "lse has 3 elements, expected at least 4");
  OKAY(step_slots(&r, IN_I32(1), IN_I32(0, -1, -1, -1), no_f32, no_f32));
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static void check_best_scores(const rig* r, float first, float second) {
  int64_t place[FLAT_BEAMS_COUNT] = {0};
  OKAY(flat_session_get_beams(r->session, OUT_I64(place), &err));
  const float* scores = (const float*)(intptr_t)place[FLAT_BEAMS_SCORES];
  CHECK_F32(&scores[0], &first, 1);
  CHECK_F32(&scores[RIG_BEAMS], &second, 1);
}

/* halving is -1 at code 0, which both slots begin with. */
static void temperatures_of_a_slot_serve_its_steps_unless_a_step_brings_its_own(void) {
  rig r = make_rig(1);
  OKAY(flat_session_start(r.session, no_i32, 0, no_i64, no_i32, 0, no_i32, no_i32, 0, IN_F32(0, 2), no_f32, 0,
                          NO_SAMPLING, &err));
  OKAY(step_slots(&r, no_i32, no_i32, no_f32, no_f32));
  check_best_scores(&r, -1, -2);
  OKAY(rig_start(&r, &err)); /* without: the slot forgets */
  OKAY(step_slots(&r, no_i32, no_i32, no_f32, no_f32));
  check_best_scores(&r, -1, -1);
  OKAY(flat_session_start(r.session, no_i32, 2, no_i64, no_i32, 0, no_i32, no_i32, 0, IN_F32(4, 2), no_f32, 0,
                          NO_SAMPLING, &err));
  OKAY(step_slots(&r, no_i32, no_i32, IN_F32(8, 0), no_f32));
  check_best_scores(&r, -8, -2);
  SHORT(flat_session_start(r.session, no_i32, 0, no_i64, no_i32, 0, no_i32, no_i32, 0, IN_F32(1), no_f32, 0,
                           NO_SAMPLING, &err),
        "inverse_temperatures has 1 elements, expected at least 2");
  SHORT(flat_session_start(r.session, no_i32, 0, no_i64, no_i32, 0, no_i32, no_i32, 0, no_f32, IN_F32(1), 0,
                           NO_SAMPLING, &err),
        "soft_caps has 1 elements, expected at least 2");
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static void start_at(const rig* r, flat_in_i32 slots, int64_t count, flat_in_i32 prefixes, flat_in_i32 lengths,
                     int64_t stride) {
  flat_session_start(r->session, slots, count, no_i64, no_i32, 0, prefixes, lengths, stride, no_f32, no_f32, 0,
                     NO_SAMPLING, &err);
}

static void a_start_checks_every_list(void) {
  rig r = make_rig(1);
  flat_handle* s = r.session;
  const flat_in_i32 one = IN_I32(1);
  SHORT(start_at(&r, one, 2, no_i32, no_i32, 0), "slots has 1 elements, expected at least 2");
  SHORT(flat_session_start(s, no_i32, 0, IN_I64(0), no_i32, 0, no_i32, no_i32, 0, no_f32, no_f32, 0, NO_SAMPLING, &err),
        "constraints has 1 elements, expected at least 2");
  SHORT(flat_session_start(s, no_i32, 2, no_i64, one, 0, no_i32, no_i32, 0, no_f32, no_f32, 0, NO_SAMPLING, &err),
        "widths has 1 elements, expected at least 2");
  SHORT(flat_session_start(s, no_i32, 2, no_i64, IN_I32(1, 2), 2, no_i32, no_i32, 0, no_f32, no_f32, 0, NO_SAMPLING,
                           &err),
        "widths has 2 elements, expected at least 4");
  SHORT(start_at(&r, no_i32, 2, IN_I32(0, 0, 0, 0), one, 2), "prefix_lengths has 1 elements, expected at least 2");
  SHORT(start_at(&r, no_i32, 2, IN_I32(0, 0, 0), IN_I32(1, 1), 2), "prefixes has 3 elements, expected at least 4");
  SHORT(start_at(&r, no_i32, 0, IN_I32(0, 0, 0, 0, 0), IN_I32(1, 1), 0),
        "prefixes has 5 elements, expected at least 6"); /* a stride of 0: the session's levels */
  SHORT(start_at(&r, no_i32, 0, one, IN_I32(0, 2), SIDBEAM_BROADCAST), "prefixes has 1 elements, expected at least 2");
  start_at(&r, one, 1, IN_I32(0), IN_I32(2), 1);
  CHECK_INT(err.code, SIDBEAM_INVALID_ARGUMENT); /* a prefix longer than its stride */
  start_at(&r, one, -1, no_i32, no_i32, 0);
  CHECK_INT(err.code, SIDBEAM_INVALID_ARGUMENT);
  OKAY(flat_session_start(s, one, 1, IN_I64(0), IN_I32(2), 0, IN_I32(0, 1), IN_I32(2), 2, no_f32, no_f32, 0,
                          NO_SAMPLING, &err));
  SHORT(flat_session_stop(s, one, 2, 0, &err), "slots has 1 elements, expected at least 2");
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static void one_prefix_may_serve_all_slots(void) {
  rig r = make_rig(1);
  int64_t place[FLAT_BEAMS_COUNT] = {0};
  OKAY(start_at(&r, no_i32, 0, IN_I32(0, 1), IN_I32(1, 2), SIDBEAM_BROADCAST));
  OKAY(flat_session_get_beams(r.session, OUT_I64(place), &err));
  const int32_t levels[] = {1, 2}, live[] = {1, 1};
  CHECK_I32((const int32_t*)(intptr_t)place[FLAT_BEAMS_LEVEL], levels, 2);
  CHECK_I32((const int32_t*)(intptr_t)place[FLAT_BEAMS_LIVE], live, 2);
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static void get_items_checks_every_buffer(void) {
  rig r = make_rig(1);
  int64_t wide[40];
  int32_t narrow[40];
  const flat_out_i64 two = {wide, 2}, none = no_out_i64;
  const flat_out_i32 few = {narrow, 7}, no = no_out_i32;
  const flat_in_i32 slots = no_i32; /* all: 2 */
  flat_handle* s = r.session;
  OKAY(rig_start(&r, &err));
  SHORT(flat_session_get_items(s, slots, 2, 0, 2, 0, NULL, 0, two, no, no, none, none, no, no_out_i32, 0, &err),
        "ordinals has 2 elements, expected at least 8");
  SHORT(flat_session_get_items(s, slots, 0, 0, 2, 0, NULL, 0, none, few, no, none, none, no, no_out_i32, 0, &err),
        "sids has 7 elements, expected at least 24");
  SHORT(flat_session_get_items(s, slots, 2, 0, 2, 0, NULL, 0, none, no, few, none, none, no, no_out_i32, 0, &err),
        "lengths has 7 elements, expected at least 8");
  SHORT(flat_session_get_items(s, slots, 2, 0, 2, 0, NULL, 0, none, no, no, two, none, no, no_out_i32, 0, &err),
        "item_rows has 2 elements, expected at least 4");
  SHORT(flat_session_get_items(s, slots, 2, 0, 2, 0, NULL, 0, none, no, no, none, two, no, no_out_i32, 0, &err),
        "offsets has 2 elements, expected at least 10");
  SHORT(flat_session_get_items(s, slots, 2, 0, 2, 0, NULL, 0, none, no, no, none, none, (flat_out_i32){narrow, 1},
                               no_out_i32, 0, &err),
        "truncated has 1 elements, expected at least 2");
  flat_session_get_items(s, slots, INT64_MAX, 0, 2, 0, NULL, 0, none, no, no, none, two, no, no_out_i32, 0, &err);
  CHECK_TEXT(err.message, "offsets has 2 elements, expected at least 9223372036854775807");
  SHORT(flat_session_get_beams(s, two, &err), "out has 2 elements, expected at least 15");
  SHORT(flat_session_get_stats(s, none, &err), "out is missing, expected 6 elements");
  OKAY(flat_session_get_items(s, slots, 2, 0, 2, 0, NULL, 0, OUT_I64(wide), OUT_I32(narrow), no, none, none, no,
                              no_out_i32, 0, &err));
  OKAY(flat_session_get_items(s, slots, 0, 0, 0, 0, NULL, 0, none, no, no, none, OUT_I64(wide), no, no_out_i32, 0,
                              &err)); /* sizes alone */
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static flat_handle* session_ending(const rig* r, flat_in_i64 offsets, flat_in_i32 maps, flat_in_i64 map_codes,
                                   int64_t end_column) {
  return flat_session_create(r->runtime, r->constraint, 1, 4, SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_NONE, 0, offsets,
                             maps, map_codes, end_column, SIDBEAM_DEVICE_CPU, 0, 0, SIDBEAM_MODE_SEARCH, 0, &err);
}

static flat_handle* session_with(const rig* r, flat_in_i64 offsets, flat_in_i32 maps, flat_in_i64 map_codes) {
  return session_ending(r, offsets, maps, map_codes, -1);
}

static void vocabularies_have_one_shape(void) {
  rig r = make_rig(1);
  static const int64_t many[SIDBEAM_MAX_LEVELS + 1];
  const flat_in_i32 maps = IN_I32(3, 2, 1, 0, 7, 6, 5, 4);
  SHORT(session_with(&r, (flat_in_i64){many, SIDBEAM_MAX_LEVELS + 1}, no_i32, no_i64),
        "map_codes has 0 levels and offsets 256, expected the same, at most 255");
  SHORT(session_with(&r, IN_I64(0, 4, 8), maps, IN_I64(4, 4)),
        "map_codes has 2 levels and offsets 3, expected the same, at most 255");
  SHORT(session_with(&r, no_i64, maps, no_i64),
        "map_codes is missing, expected the number of columns of each level of maps");
  SHORT(session_with(&r, no_i64, no_i32, IN_I64(4, 0, 4)), "maps is missing, expected 8 elements");
  SHORT(session_with(&r, no_i64, maps, IN_I64(4, 1, 4)), "maps has 8 elements, expected at least 9");
  SHORT(session_with(&r, IN_I64(0, 4), no_i32, no_i64),
        "vocabulary.levels is 2, expected 3, the levels of the index, to 255");
  flat_handle* session;
  OKAY(session = session_with(&r, IN_I64(0, 4, 8), maps, IN_I64(4, 0, 4)));
  flat_free(session);
  OKAY(session = session_ending(&r, no_i64, no_i32, no_i64, 4)); /* an end column alone */
  flat_free(session);
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static void a_map_of_a_middle_level_is_that_levels(void) {
  rig r = make_rig(1);
  float row[4] = {0, -1, -2, -4};
  int64_t place[FLAT_BEAMS_COUNT] = {0};
  flat_handle* session;
  OKAY(session = session_with(&r, no_i64, IN_I32(1, 0, 3, 2), IN_I64(0, 4, 0))); /* of level 1 alone, after code 0 */
  OKAY(flat_session_start(session, no_i32, 1, no_i64, no_i32, 0, IN_I32(0), IN_I32(1), 1, no_f32, no_f32, 0,
                          NO_SAMPLING, &err));
  OKAY(flat_session_step(session, no_i32, (flat_memory){row}, 4, 0, 0, 0, 1, 1, 4, 0, 0, no_i32, no_f32, 0, 0, no_f32,
                         no_f32, 0, &err));
  OKAY(flat_session_get_beams(session, OUT_I64(place), &err));
  const int32_t codes[] = {1, 3, -1, -1}; /* columns 0 and 2 */
  const float scores[] = {0, -2};
  CHECK_I32((const int32_t*)(intptr_t)place[FLAT_BEAMS_CODES], codes, 4);
  CHECK_F32((const float*)(intptr_t)place[FLAT_BEAMS_SCORES], scores, 2);
  flat_free(session);
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static void lookups_check_their_arrays(void) {
  rig r = make_rig(1);
  int32_t codes[16] = {0}, end[1];
  int64_t wide[4];
  flat_handle* index = r.index;
  SHORT(flat_index_sids(index, IN_I64(0, 1), 2, OUT_I32(codes), (flat_out_i32){end, 2}, &err),
        "codes has 2 levels, expected 3, those of the index");
  SHORT(flat_index_sids(index, IN_I64(0, 1), 3, (flat_out_i32){codes, 5}, OUT_I32(codes), &err),
        "codes has 5 elements, expected at least 6");
  SHORT(flat_index_sids(index, IN_I64(0, 1), 3, OUT_I32(codes), OUT_I32(end), &err),
        "lengths has 1 elements, expected at least 2");
  SHORT(flat_index_find_sids(index, IN_I32(0, 1, 2), 3, IN_I32(4), OUT_I64(wide), &err),
        "lengths[0] is 4, expected at most 3");
  SHORT(flat_index_find_sids(index, IN_I32(0, 1, 2), 3, IN_I32(3, 3), OUT_I64(wide), &err),
        "codes has 3 elements, expected at least 6");
  SHORT(flat_index_find_sids(index, IN_I32(0, 1, 2), 3, IN_I32(-1), OUT_I64(wide), &err),
        "length is -1, expected 0..3");
  SHORT(flat_index_item_ids(index, IN_I64(0, 1), (flat_out_i64){wide, 1}, no_out_i64, &err),
        "ids has 1 elements, expected at least 2");
  SHORT(flat_index_items(index, IN_I64(0, 1), 0, 0, 0, (flat_out_i64){NULL, 0}, (flat_out_i64){wide, 2}, no_out_i32,
                         &err),
        "offsets has 2 elements, expected at least 3");
  SHORT(flat_index_items(index, IN_I64(0), 0, 3, 0, (flat_out_i64){wide, 2}, OUT_I64(wide), no_out_i32, &err),
        "item_rows has 2 elements, expected at least 3");
  SHORT(flat_index_items(index, IN_I64(0), 0, -1, 0, (flat_out_i64){NULL, 0}, OUT_I64(wide), no_out_i32, &err),
        "limit is -1, expected at least 0");
  SHORT(flat_index_ordinals(index, (flat_in_i32){codes, (INT64_C(1) << 32) + 1}, OUT_I64(wide), &err),
        "length is 2147483647, expected 0..3");
  SHORT(flat_index_item_ordinals(index, IN_I64(0, 6), OUT_I64(wide), &err), "item_row is 6, expected 0..5");
  SHORT(flat_index_item_priorities(index, IN_I64(0, 1), (flat_out_i64){wide, 1}, &err),
        "priorities has 1 elements, expected at least 2");
  SHORT(flat_index_item_priorities(index, IN_I64(6), OUT_I64(wide), &err), "item_row is 6, expected 0..5");
  REFUSED(flat_index_item_priorities(index, IN_I64(0), OUT_I64(wide), &err), SIDBEAM_MISSING_SECTION,
          "the index keeps no priorities: build it with keep_priorities");
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static void what_does_not_fit_is_counted(void) {
  rig r = make_rig(1);
  int32_t children[4] = {-7, -7, -7, -7}, end[1] = {-7}, lengths[2], sids[6];
  int64_t found[2];
  char names[8] = "";
  CHECK_INT(flat_index_children(r.index, no_i32, (flat_out_i32){children, 2}, OUT_I32(end), &err), 3);
  const int32_t expected[] = {0, 2, -7, -7};
  CHECK_I32(children, expected, 4);
  CHECK_INT(end[0], 0);
  OKAY(flat_index_sids(r.index, IN_I64(4, 0), 3, OUT_I32(sids), OUT_I32(lengths), &err));
  const int32_t codes[] = {3, 0, 0, 0, 1, 2};
  CHECK_I32(sids, codes, 6);
  OKAY(flat_index_find_sids(r.index, (flat_in_i32){sids, 6}, 3, IN_I32(3, 2), OUT_I64(found), &err));
  const int64_t ordinals[] = {4, -1}; /* (0,1) is no SID */
  CHECK_I64(found, ordinals, 2);
  CHECK_INT(flat_index_item_names(r.index, IN_I64(0), OUT_BYTES(names), &err), 0); /* ids are numbers */
  CHECK_INT(flat_index_codebook(r.index, no_out_bytes, &err), 0);
  char first[9] = "........"; /* as much as fits, and how much there is */
  CHECK(flat_index_bytes(r.index, (flat_out_bytes){first, 4}, &err) > 64);
  CHECK(memcmp(first, "....", 4) != 0 && memcmp(first + 4, "....", 4) == 0);
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static flat_handle* rig_set(const rig* r) {
  return flat_constraint_set_create(r->runtime, IN_I64((int64_t)(intptr_t)r->constraint), no_i64, no_i32, no_i64, -1,
                                    SIDBEAM_DEVICE_CPU, 0, &err);
}

static void a_constraint_set_checks_its_arrays(void) {
  rig r = make_rig(1);
  flat_handle* set;
  int64_t states[4];
  int32_t words[4];
  float log_probs[4];
  const flat_memory logits = {log_probs};
  OKAY(set = rig_set(&r));
  SHORT(flat_constraint_set_prefixes(set, IN_I32(0), IN_I32(0, 0), 1, IN_I32(1, 1), 2, OUT_I64(states), 0, &err),
        "which has 1 elements, expected at least 2");
  SHORT(flat_constraint_set_prefixes(set, no_i32, IN_I32(0), 1, IN_I32(1, 1), 2, OUT_I64(states), 0, &err),
        "codes has 1 elements, expected at least 2");
  SHORT(flat_constraint_set_prefixes(set, no_i32, IN_I32(0, 1, 2, 0, 3), 0, IN_I32(1, 1), 2, OUT_I64(states), 0, &err),
        "codes has 5 elements, expected at least 6"); /* a stride of 0: the most levels of a constraint */
  SHORT(flat_constraint_set_prefixes(set, no_i32, IN_I32(0), SIDBEAM_BROADCAST, IN_I32(1, 2), 2, OUT_I64(states), 0,
                                     &err),
        "codes has 1 elements, expected at least 2");
  SHORT(flat_constraint_set_advance(set, no_i32, IN_I64(0), no_i32, IN_I32(0, 0), 2, OUT_I64(states), 0, &err),
        "in_count is 1, expected at least 2, the count, without parents");
  SHORT(flat_constraint_set_mask(set, no_i32, IN_I64(0), logits, 4, 0, 0, 0, 2, 4, 4, 0, &err),
        "logits has 4 elements, too few for 0 x 2 rows of 4 columns with strides 0 and 4");
  SHORT(flat_constraint_set_mask(set, no_i32, IN_I64(0), logits, 8, 0, 0, 0, 2, 4, 0, 0, &err),
        "states has 1 elements, expected at least 2");
  SHORT(flat_constraint_set_mask(set, no_i32, IN_I64(0, 0), logits, 4, 0, 0, 0, 1, 4, 4, 0, &err),
        "states has 2 elements, expected 1, one per logits row");
  SHORT(flat_constraint_set_bitmask(set, no_i32, IN_I64(0), 1, 5, OUT_I32(words), 0, &err),
        "words has 4 elements, expected at least 5");
  SHORT(flat_constraint_set_topk(set, no_i32, IN_I64(0), logits, 4, 0, 0, 0, 1, 4, 4, 0, 5, OUT_I32(words),
                                 OUT_F32(log_probs), no_out_i64, 0, &err),
        "codes has 4 elements, expected at least 5");
  flat_free(set);
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static void one_prefix_may_serve_all_entries_of_a_set(void) {
  rig r = make_rig(1);
  flat_handle* set;
  int64_t shared[3], dense[3];
  OKAY(set = rig_set(&r));
  const flat_in_i32 lengths = IN_I32(0, 1, 2);
  OKAY(
      flat_constraint_set_prefixes(set, no_i32, IN_I32(0, 1), SIDBEAM_BROADCAST, lengths, 3, OUT_I64(shared), 0, &err));
  OKAY(flat_constraint_set_prefixes(set, no_i32, IN_I32(0, 1, 9, 0, 1, 9, 0, 1, 9), 0, lengths, 3, OUT_I64(dense), 0,
                                    &err));
  CHECK_I64(shared, dense, 3);
  CHECK(shared[1] > 0 && shared[2] > 0 && shared[1] != shared[2]);
  flat_free(set);
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_builder_takes_rows_of_its_own_levels_and_whole_columns),
      TEST(names_lie_within_their_bytes),
      TEST(rows_that_pass_their_buffer_are_refused),
      TEST(rows_that_are_shared_need_no_more_than_one),
      TEST(a_step_checks_its_lists),
      TEST(temperatures_of_a_slot_serve_its_steps_unless_a_step_brings_its_own),
      TEST(a_start_checks_every_list),
      TEST(one_prefix_may_serve_all_slots),
      TEST(get_items_checks_every_buffer),
      TEST(vocabularies_have_one_shape),
      TEST(a_map_of_a_middle_level_is_that_levels),
      TEST(lookups_check_their_arrays),
      TEST(what_does_not_fit_is_counted),
      TEST(a_constraint_set_checks_its_arrays),
      TEST(one_prefix_may_serve_all_entries_of_a_set),
  };
  return RUN_TESTS(tests);
}
