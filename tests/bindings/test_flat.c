/* Handles of the flat layer, and what goes through them: closing, views, loans, builds, the log.
 * SPDX-License-Identifier: Apache-2.0 */
#include "flat_rig.h"

static void every_call_on_a_closed_handle_says_what_is_closed(void) {
  rig r = make_rig(1);
  int64_t numbers[FLAT_INFO_COUNT];
  flat_handle *builder = rig_builder(r.runtime), *set;
  OKAY(set = flat_constraint_set_create(r.runtime, IN_I64((int64_t)(intptr_t)r.constraint), no_i64, no_i32, no_i64, -1,
                                        0, 0, &err));
  flat_handle* const all[] = {r.runtime, r.index, r.constraint, r.session, builder, set};
  for (size_t i = 0; i < COUNT(all); ++i) {
    CHECK_INT(flat_is_closed(all[i]), 0);
    flat_close(all[i]);
    CHECK_INT(flat_is_closed(all[i]), 1);
  }
  REFUSED(flat_index_open(r.runtime, "x", 0, 0, &err), SIDBEAM_BAD_STATE, "runtime is closed");
  REFUSED(rig_add(builder, &err), SIDBEAM_BAD_STATE, "builder is closed");
  REFUSED(flat_index_get_info(r.index, OUT_I64(numbers), no_out_bytes, &err), SIDBEAM_BAD_STATE, "index is closed");
  REFUSED(rig_start(&r, &err), SIDBEAM_BAD_STATE, "session is closed");
  REFUSED(rig_step(&r, &err), SIDBEAM_BAD_STATE, "session is closed");
  REFUSED(flat_session_get_beams(r.session, OUT_I64(numbers), &err), SIDBEAM_BAD_STATE, "session is closed");
  REFUSED(flat_view_retain(r.session, &err), SIDBEAM_BAD_STATE, "session is closed");
  REFUSED(flat_constraint_set_prefixes(set, no_i32, no_i32, 0, IN_I32(0), 1, OUT_I64(numbers), 0, &err),
          SIDBEAM_BAD_STATE, "constraint set is closed");
  flat_free(set);
  flat_free(builder);
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static int64_t verified(flat_handle* index) {
  int64_t info[FLAT_INFO_COUNT];
  OKAY(flat_index_get_info(index, OUT_I64(info), no_out_bytes, &err));
  return info[FLAT_INFO_VERIFIED];
}

static void info_says_how_far_an_index_was_verified(void) {
  flat_handle *runtime = rig_runtime(), *index;
  int64_t bytes = 0;
  unsigned char* data = index_bytes(&small, ALL_KINDS, &bytes);
  for (int32_t depth = SIDBEAM_VERIFY_HEADER; depth <= SIDBEAM_VERIFY_FULL; ++depth) {
    OKAY(index = flat_index_open_memory(runtime, (flat_in_bytes){(const char*)data, bytes}, 0, SIDBEAM_RESIDENCY_COPY,
                                        depth, &err));
    CHECK_INT(verified(index), depth);
    OKAY(flat_index_verify(index, SIDBEAM_VERIFY_FULL, &err));
    CHECK_INT(verified(index), SIDBEAM_VERIFY_FULL);
    flat_free(index);
  }
  flat_free(runtime);
  free(data);
}

/* A constraint that is closed among others: those entered before it are left, and can go. */
static void a_closed_constraint_in_a_list_is_refused_and_the_others_are_let_go(void) {
  rig r = make_rig(2);
  flat_handle* other;
  OKAY(other = flat_constraint_create(r.index, &err));
  flat_close(other);
  const flat_in_i64 list = IN_I64((int64_t)(intptr_t)r.constraint, (int64_t)(intptr_t)other);
  REFUSED(flat_session_start(r.session, no_i32, 2, list, no_i32, 0, no_i32, no_i32, 0, no_f32, no_f32, 0, NO_SAMPLING,
                             &err),
          SIDBEAM_BAD_STATE, "constraint is closed");
  REFUSED(flat_constraint_set_create(r.runtime, list, no_i64, no_i32, no_i64, -1, 0, 0, &err), SIDBEAM_BAD_STATE,
          "constraint is closed");
  const flat_in_i64 mixed = IN_I64((int64_t)(intptr_t)r.constraint, (int64_t)(intptr_t)r.index);
  REFUSED(flat_constraint_set_create(r.runtime, mixed, no_i64, no_i32, no_i64, -1, 0, 0, &err),
          SIDBEAM_INVALID_ARGUMENT, "constraint is index, expected a handle of it");
  OKAY(rig_start(&r, &err));
  flat_free(other);
  free_rig(&r);
  CHECK_INT(returned(), 2);
}

static void a_list_of_many_constraints_is_entered_and_left_whole(void) {
  rig r = make_rig(3);
  int64_t handles[20], states[20];
  int32_t which[20], lengths[20] = {0};
  flat_handle* set;
  for (int i = 0; i < 20; ++i) {
    handles[i] = (int64_t)(intptr_t)r.constraint;
    which[i] = i;
  }
  OKAY(set = flat_constraint_set_create(r.runtime, (flat_in_i64){handles, 20}, no_i64, no_i32, no_i64, -1, 0, 0, &err));
  OKAY(flat_constraint_set_prefixes(set, (flat_in_i32){which, 20}, no_i32, 0, (flat_in_i32){lengths, 20}, 20,
                                    OUT_I64(states), 0, &err));
  for (int i = 0; i < 20; ++i) CHECK_INT(states[i], 0);
  flat_close(r.constraint);
  flat_close(r.index);
  flat_close(r.session);
  CHECK_INT(returned(), -1); /* the set holds it */
  flat_free(set);
  CHECK_INT(returned(), 3);
  free_rig(&r);
}

static void closing_again_does_nothing(void) {
  rig r = make_rig(4);
  flat_close(r.session);
  flat_close(r.session);
  flat_close(NULL);
  flat_free(NULL);
  CHECK_INT(flat_is_closed(NULL), 1);
  flat_close(r.constraint);
  CHECK_INT(returned(), -1); /* the index's own handle holds it */
  flat_close(r.index);
  CHECK_INT(returned(), 4);
  flat_close(r.index);
  free_rig(&r);
  CHECK_INT(returned(), -1);
}

/* What a call does that is inside when its handle is closed: fl_share and fl_drop_user, with the close in between. */
static void the_last_call_inside_destroys_what_was_closed_meanwhile(void) {
  rig r = make_rig(5);
  flat_close(r.session);
  flat_close(r.constraint);
  fl_clear(&err);
  CHECK(fl_share(r.index, FLAT_INDEX, &err) != NULL);
  CHECK(fl_share(r.index, FLAT_INDEX, &err) != NULL);
  flat_close(r.index);
  fl_drop_user(r.index);
  CHECK_INT(returned(), -1);
  fl_drop_user(r.index);
  CHECK_INT(returned(), 5);
  free_rig(&r);
}

/* A late comer counts itself before it sees that the handle is closed. Between the two the last call may leave: then
 * the late comer is the last, and must destroy. */
static void a_late_comer_who_is_the_last_destroys(void) {
  rig r = make_rig(6);
  flat_close(r.session);
  flat_close(r.constraint);
  fl_clear(&err);
  CHECK(fl_share(r.index, FLAT_INDEX, &err) != NULL);
  flat_close(r.index);
  atomic_fetch_add(&r.index->owners, 1); /* the first half of fl_share, by hand */
  atomic_fetch_add(&r.index->users, 1);
  fl_drop_user(r.index);
  CHECK_INT(returned(), -1);
  fl_drop_user(r.index);
  CHECK_INT(returned(), 6);
  free_rig(&r);
}

/* A close marks before it takes the object away. A late comer between the two destroys, and leaves nothing to it. */
static void a_late_comer_in_the_middle_of_a_close_takes_the_object_from_it(void) {
  rig r = make_rig(11);
  int64_t range[2];
  flat_close(r.session);
  flat_close(r.constraint);
  atomic_fetch_or(&r.index->users, FLAT_CLOSED); /* the first half of flat_close, by hand */
  REFUSED(flat_index_ordinals(r.index, no_i32, OUT_I64(range), &err), SIDBEAM_BAD_STATE, "index is closed");
  CHECK_INT(returned(), 11);
  CHECK(atomic_exchange(&r.index->object, NULL) == NULL); /* the second half */
  free_rig(&r);
}

static void the_box_outlives_its_owner_while_a_call_is_inside(void) {
  rig r = make_rig(7);
  fl_clear(&err);
  flat_handle* session = r.session;
  CHECK(fl_enter(session, FLAT_SESSION, &err) != NULL);
  flat_free(session);
  r.session = NULL;
  free_handles(&r);
  CHECK_INT(returned(), -1);
  fl_leave(session);
  CHECK_INT(returned(), 7);
  free(r.bytes);
}

static void a_session_in_use_refuses_another_call_but_tells_where_its_beams_are(void) {
  rig r = make_rig(8);
  int64_t numbers[FLAT_BEAMS_COUNT];
  fl_clear(&err);
  CHECK(fl_enter(r.session, FLAT_SESSION, &err) != NULL);
  const char* in_use = "session is in use by another thread";
  REFUSED(rig_start(&r, &err), SIDBEAM_BAD_STATE, in_use);
  REFUSED(rig_step(&r, &err), SIDBEAM_BAD_STATE, in_use);
  REFUSED(flat_session_stop(r.session, no_i32, 1, 0, &err), SIDBEAM_BAD_STATE, in_use);
  REFUSED(flat_session_get_stats(r.session, OUT_I64(numbers), &err), SIDBEAM_BAD_STATE, in_use);
  REFUSED(flat_session_fetch(r.session, OUT_I64(numbers), 0, &err), SIDBEAM_BAD_STATE, in_use);
  OKAY(flat_session_get_beams(r.session, OUT_I64(numbers), &err));
  fl_leave(r.session);
  OKAY(rig_start(&r, &err));
  free_rig(&r);
  CHECK_INT(returned(), 8);
}

static void a_builder_in_use_refuses_another_call(void) {
  flat_handle *runtime = rig_runtime(), *builder = rig_builder(runtime);
  fl_clear(&err);
  CHECK(fl_enter(builder, FLAT_BUILDER, &err) != NULL);
  REFUSED(rig_add(builder, &err), SIDBEAM_BAD_STATE, "builder is in use by another thread");
  REFUSED(flat_builder_finish(builder, &err), SIDBEAM_BAD_STATE, "builder is in use by another thread");
  fl_leave(builder);
  OKAY(rig_add(builder, &err));
  flat_free(builder);
  flat_free(runtime);
}

static void views_keep_the_arrays_of_a_closed_session(void) {
  rig r = make_rig(9);
  int64_t place[FLAT_BEAMS_COUNT] = {0};
  OKAY(rig_start(&r, &err));
  OKAY(rig_step(&r, &err));
  OKAY(flat_session_get_beams(r.session, OUT_I64(place), &err));
  OKAY(flat_view_retain(r.session, &err));
  OKAY(flat_view_retain(r.session, &err));
  flat_handle* session = r.session;
  free_handles(&r); /* closes everything and gives the session's box back */
  CHECK_INT(returned(), -1);
  const float expected[] = {-1, -4};
  CHECK_F32((const float*)(intptr_t)place[FLAT_BEAMS_SCORES], expected, 2);
  REFUSED(flat_session_stop(session, no_i32, 1, 0, &err), SIDBEAM_BAD_STATE, "session is closed");
  flat_view_release(session);
  CHECK_F32((const float*)(intptr_t)place[FLAT_BEAMS_SCORES], expected, 2);
  flat_view_release(session);
  CHECK_INT(returned(), 9);
  free(r.bytes);
}

static void handles_of_another_kind_and_none_are_refused(void) {
  rig r = make_rig(10);
  int64_t numbers[FLAT_INFO_COUNT];
  flat_handle* volatile none = NULL; /* or GCC 12 warns of what the layer does to handles that it has refused */
  REFUSED(flat_session_get_stats(r.index, OUT_I64(numbers), &err), SIDBEAM_INVALID_ARGUMENT,
          "session is index, expected a handle of it");
  REFUSED(flat_session_get_stats(none, OUT_I64(numbers), &err), SIDBEAM_INVALID_ARGUMENT,
          "session is null, expected a handle of it");
  REFUSED(rig_session(r.runtime, r.index), SIDBEAM_INVALID_ARGUMENT, "constraint is index, expected a handle of it");
  REFUSED(rig_session(none, r.constraint), SIDBEAM_INVALID_ARGUMENT, "runtime is null, expected a handle of it");
  REFUSED(flat_get_progress(none, OUT_I64(numbers), &err), SIDBEAM_INVALID_ARGUMENT,
          "handle is null, expected one of what can be watched");
  flat_cancel(none, 1);
  free_rig(&r);
  CHECK_INT(returned(), 10);
}

static void loans_come_back_once_and_only_where_they_were_taken(void) {
  flat_handle *runtime = rig_runtime(), *copy, *mapped[3];
  int64_t bytes = 0, numbers[4] = {0};
  unsigned char* data = index_bytes(&small, ALL_KINDS, &bytes);
  const flat_in_bytes lent = {(const char*)data, bytes}, cut = {(const char*)data, 100};
  REFUSED(flat_index_open_memory(runtime, cut, 11, SIDBEAM_RESIDENCY_MAP, 0, &err), SIDBEAM_CORRUPT, err.message);
  OKAY(copy = flat_index_open_memory(runtime, lent, 12, SIDBEAM_RESIDENCY_COPY, 0, &err));
  flat_free(copy);
  CHECK_INT(flat_returned_loans(OUT_I64(numbers)), 0);
  for (int i = 0; i < 3; ++i)
    OKAY(mapped[i] = flat_index_open_memory(runtime, lent, 20 + i, SIDBEAM_RESIDENCY_MAP, 0, &err));
  for (int i = 0; i < 3; ++i) flat_free(mapped[i]);
  CHECK_INT(flat_returned_loans(no_out_i64), 0); /* none fits: they stay */
  CHECK_INT(flat_returned_loans((flat_out_i64){numbers, 2}), 2);
  CHECK_INT(flat_returned_loans((flat_out_i64){numbers + 2, 2}), 1);
  CHECK_INT(numbers[0] + numbers[1] + numbers[2], 63);
  CHECK(numbers[0] != numbers[1] && numbers[1] != numbers[2] && numbers[0] != numbers[2]);
  flat_free(runtime);
  free(data);
}

static void a_cancelled_build_can_go_on(void) {
  flat_handle *runtime = rig_runtime(), *builder = rig_builder(runtime), *index;
  int64_t progress[3] = {-1, -1, -1};
  OKAY(rig_add(builder, &err));
  flat_cancel(builder, 1);
  CHECK(flat_builder_finish(builder, &err) == NULL);
  CHECK_INT(err.code, SIDBEAM_CANCELLED);
  flat_cancel(builder, 0);
  OKAY(index = flat_builder_finish(builder, &err));
  OKAY(flat_get_progress(builder, OUT_I64(progress), &err));
  CHECK(progress[0] >= SIDBEAM_PHASE_EMIT && progress[0] <= SIDBEAM_PHASE_SYNC);
  CHECK(progress[2] > 0 && progress[1] == progress[2]);
  REFUSED(flat_get_progress(builder, (flat_out_i64){progress, 2}, &err), SIDBEAM_INVALID_ARGUMENT,
          "out has 2 elements, expected at least 3");
  flat_free(index);
  flat_free(builder);
  flat_free(runtime);
}

static void a_plan_has_the_builders_numbers_and_sections(void) {
  flat_handle *runtime = rig_runtime(), *builder = rig_builder(runtime), *plan;
  int64_t info[FLAT_PLAN_COUNT] = {0}, section[4] = {0}, bytes = 0;
  char kind[24], encoding[24];
  OKAY(rig_add(builder, &err));
  OKAY(plan = flat_builder_plan(builder, &err));
  OKAY(flat_plan_get_info(plan, OUT_I64(info), &err));
  CHECK_INT(info[FLAT_PLAN_EXACT], 1);
  CHECK_INT(info[FLAT_PLAN_SIDS], 5);
  CHECK_INT(info[FLAT_PLAN_ITEMS], 6);
  const int64_t nodes[] = {3, 4, 5, 0}; /* 0, 2, 3; 01 03 22 30; SIDs */
  CHECK_I64(info + FLAT_PLAN_NODES, nodes, 4);
  CHECK(info[FLAT_PLAN_SECTION_COUNT] > 3);
  for (int64_t i = 0; i < info[FLAT_PLAN_SECTION_COUNT]; ++i) {
    OKAY(flat_plan_get_section(plan, i, OUT_I64(section), OUT_BYTES(kind), OUT_BYTES(encoding), &err));
    CHECK(section[1] >= bytes); /* sections follow one another */
    CHECK_INT(section[3], 0);
    bytes = section[1] + section[2];
  }
  CHECK(bytes <= info[FLAT_PLAN_FILE_BYTES]);
  REFUSED(flat_plan_get_section(plan, INT64_C(1) << 32, OUT_I64(section), OUT_BYTES(kind), OUT_BYTES(encoding), &err),
          SIDBEAM_INVALID_ARGUMENT, err.message);
  CHECK(strstr(err.message, "4294967296") != NULL);
  flat_close(plan);
  REFUSED(flat_plan_get_info(plan, OUT_I64(info), &err), SIDBEAM_BAD_STATE, "plan is closed");
  flat_free(plan);
  flat_free(builder);
  flat_free(runtime);
}

static void an_estimate_is_a_plan_without_a_builder(void) {
  flat_handle* plan;
  int64_t info[FLAT_PLAN_COUNT] = {0};
  OKAY(plan = flat_plan_estimate((flat_in_i32){small.codes, 3}, 0, SIDBEAM_ID_I64, ALL_KINDS, 0, 5, &err));
  OKAY(flat_plan_get_info(plan, OUT_I64(info), &err));
  CHECK_INT(info[FLAT_PLAN_EXACT], 0);
  CHECK_INT(info[FLAT_PLAN_SIDS], 5);
  REFUSED(flat_plan_get_info(plan, (flat_out_i64){info, 7}, &err), SIDBEAM_INVALID_ARGUMENT,
          "out has 7 elements, expected at least 261");
  flat_free(plan);
  CHECK(flat_plan_estimate((flat_in_i32){small.codes, 3}, 0, SIDBEAM_ID_I64, ALL_KINDS, 0, -1, &err) == NULL);
  CHECK_INT(err.code, SIDBEAM_INVALID_ARGUMENT);
}

static void a_constraint_tells_its_shape_without_its_index(void) {
  rig r = make_rig(21);
  int64_t info[FLAT_CONSTRAINT_COUNT], index_info[FLAT_INFO_COUNT];
  char fingerprint[32], expected[32];
  OKAY(flat_index_get_info(r.index, OUT_I64(index_info), OUT_BYTES(expected), &err));
  flat_close(r.index);
  OKAY(flat_constraint_get_info(r.constraint, OUT_I64(info), OUT_BYTES(fingerprint), &err));
  CHECK_INT(info[FLAT_CONSTRAINT_LEVELS], 3);
  CHECK_INT(info[FLAT_CONSTRAINT_VARIABLE_LENGTH], 0);
  CHECK_INT(info[FLAT_CONSTRAINT_KINDS], index_info[FLAT_INFO_KINDS]);
  CHECK_INT(info[FLAT_CONSTRAINT_SIDS], 5);
  CHECK_INT(info[FLAT_CONSTRAINT_ITEMS], 6);
  CHECK_I64(info + FLAT_CONSTRAINT_CODES, index_info + FLAT_INFO_CODES, SIDBEAM_MAX_LEVELS);
  CHECK(memcmp(fingerprint, expected, sizeof expected) == 0);
  free_rig(&r);
  CHECK_INT(returned(), 21);
}

static void counters_come_with_their_names(void) {
  rig r = make_rig(22);
  int64_t values[FLAT_COUNTERS];
  char names[FLAT_COUNTER_NAME_BYTES];
  const char* name = names;
  int slot_steps = 0;
  OKAY(rig_start(&r, &err));
  OKAY(rig_step(&r, &err));
  const int64_t count = flat_session_get_counters(r.session, OUT_I64(values), OUT_BYTES(names), &err);
  CHECK(count > 0 && count <= FLAT_COUNTERS);
  for (int64_t i = 0; i < count; ++i, name += strlen(name) + 1) {
    if (strcmp(name, "slot_steps") != 0) continue;
    CHECK_INT(values[i], RIG_SLOTS);
    slot_steps = 1;
  }
  CHECK_INT(slot_steps, 1);
  REFUSED(flat_session_get_counters(r.session, (flat_out_i64){values, 1}, OUT_BYTES(names), &err),
          SIDBEAM_INVALID_ARGUMENT, "values has 1 elements, expected at least 64");
  free_rig(&r);
  CHECK_INT(returned(), 22);
}

static void the_log_keeps_the_first_messages_and_cuts_long_ones(void) {
  char text[FLAT_LOG_BYTES + 8], line[FLAT_LOG_BYTES + 100], few[4];
  while (flat_log_take(no_out_bytes) >= 0) {
  }
  for (int i = 0; i < FLAT_LOG_MESSAGES + 6; ++i) {
    snprintf(line, sizeof line, "message %d", i);
    fl_log_put(NULL, SIDBEAM_LOG_INFO, line);
  }
  CHECK_INT(flat_log_take(OUT_BYTES(few)), SIDBEAM_LOG_INFO);
  CHECK_TEXT(few, "mes");
  for (int i = 1; i < FLAT_LOG_MESSAGES; ++i) {
    snprintf(line, sizeof line, "message %d", i);
    CHECK_INT(flat_log_take(OUT_BYTES(text)), SIDBEAM_LOG_INFO);
    CHECK_TEXT(text, line);
  }
  CHECK_INT(flat_log_take(OUT_BYTES(text)), -1);
  memset(line, 'x', sizeof line - 1);
  line[sizeof line - 1] = 0;
  fl_log_put(NULL, SIDBEAM_LOG_ERROR, line);
  CHECK_INT(flat_log_take(OUT_BYTES(text)), SIDBEAM_LOG_ERROR);
  CHECK_INT((int64_t)strlen(text), FLAT_LOG_BYTES - 1);
}

static void a_runtime_logs_into_the_queue_at_its_level(void) {
  char text[FLAT_LOG_BYTES];
  flat_handle* runtime;
  OKAY(runtime = flat_runtime_create(1, 1, 0, SIDBEAM_LOG_INFO, NULL, NULL, 0, 0, 0, &err));
  CHECK_INT(flat_log_take(OUT_BYTES(text)), SIDBEAM_LOG_INFO);
  CHECK(strstr(text, "cpu target") != NULL);
  flat_free(runtime);
  OKAY(runtime = flat_runtime_create(1, 1, 0, SIDBEAM_LOG_ERROR, NULL, NULL, 0, 0, 0, &err));
  CHECK_INT(flat_log_take(OUT_BYTES(text)), -1);
  flat_free(runtime);
}

static void what_the_system_says_becomes_one_line(void) {
  char line[32], cut[9];
  fl_escape("/a\x1b[2J\nb: \xc3\xa9\x7f", line, sizeof line);
  CHECK(strcmp(line, "/a\\x1b[2J\\x0ab: \\xc3\\xa9\\x7f") == 0);
  fl_escape("abcd\x1b", cut, sizeof cut);
  CHECK(strcmp(cut, "abcd\\x1b") == 0);
  fl_escape("abcde\x1b", cut, sizeof cut);
  CHECK(strcmp(cut, "abcde") == 0);
}

/* This program names no folder of the runner's library. */
static void without_the_runner_a_model_says_so(void) {
  CHECK(flat_model_open("model", SIDBEAM_WEIGHTS_STORED, SIDBEAM_DEVICE_CPU, 0, NULL, -1, &err) == NULL);
  CHECK_INT(err.code, SIDBEAM_UNSUPPORTED);
  CHECK(strstr(err.message, "the runner's library cannot be loaded: libsidbeam_runner.so.1") != NULL);
}

/* A library that is there already is found by its SONAME. */
static void a_runner_that_is_older_than_the_binding_is_refused(void) {
  void* const older = dlopen(OLDER_RUNNER, RTLD_NOW | RTLD_LOCAL);
  CHECK(older != NULL);
  CHECK(flat_model_open("model", SIDBEAM_WEIGHTS_STORED, SIDBEAM_DEVICE_CPU, 0, NULL, -1, &err) == NULL);
  CHECK_INT(err.code, SIDBEAM_UNSUPPORTED);
  CHECK(strstr(err.message, "libsidbeam_runner.so.1 has a table of ") != NULL);
  CHECK(strstr(err.message, "it is older than this binding") != NULL);
  dlclose(older);
}

int main(void) {
  static const test_case tests[] = {
      TEST(info_says_how_far_an_index_was_verified),
      TEST(every_call_on_a_closed_handle_says_what_is_closed),
      TEST(a_closed_constraint_in_a_list_is_refused_and_the_others_are_let_go),
      TEST(a_list_of_many_constraints_is_entered_and_left_whole),
      TEST(closing_again_does_nothing),
      TEST(the_last_call_inside_destroys_what_was_closed_meanwhile),
      TEST(a_late_comer_who_is_the_last_destroys),
      TEST(a_late_comer_in_the_middle_of_a_close_takes_the_object_from_it),
      TEST(the_box_outlives_its_owner_while_a_call_is_inside),
      TEST(a_session_in_use_refuses_another_call_but_tells_where_its_beams_are),
      TEST(a_builder_in_use_refuses_another_call),
      TEST(views_keep_the_arrays_of_a_closed_session),
      TEST(handles_of_another_kind_and_none_are_refused),
      TEST(loans_come_back_once_and_only_where_they_were_taken),
      TEST(a_cancelled_build_can_go_on),
      TEST(a_plan_has_the_builders_numbers_and_sections),
      TEST(an_estimate_is_a_plan_without_a_builder),
      TEST(a_constraint_tells_its_shape_without_its_index),
      TEST(counters_come_with_their_names),
      TEST(the_log_keeps_the_first_messages_and_cuts_long_ones),
      TEST(a_runtime_logs_into_the_queue_at_its_level),
      TEST(what_the_system_says_becomes_one_line),
      TEST(without_the_runner_a_model_says_so),
      TEST(a_runner_that_is_older_than_the_binding_is_refused),
  };
  return RUN_TESTS(tests);
}
