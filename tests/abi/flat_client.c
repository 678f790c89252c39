/* What a language of ABI version 1 ships: the flat layer over the headers as they were frozen (v1/sidbeam). CMake runs
 * it with today's library and with one whose structs have each grown by a field. It builds, plans, asks, steps and
 * masks. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <sidbeam/sidbeam.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flat/flat.h"

enum { LEVELS = 2, BEAMS = 2, COLUMNS = 4, SIDS = 3 };

static sidbeam_error err = SIDBEAM_ERROR_INIT;

#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))
#define CALL(call)                                  \
  do {                                              \
    call;                                           \
    if (err.code != 0) fail(__LINE__, err.message); \
  } while (0)

static void fail(int line, const char* what) {
  fprintf(stderr, "flat_client.c:%d: %s\n", line, what);
  exit(1);
}

static const int32_t codes[LEVELS] = {COLUMNS, COLUMNS};
static const int32_t sids[SIDS * LEVELS] = {0, 1, 2, 2, 2, 3};
static const int64_t ids[SIDS] = {70, 71, 72};
static const flat_in_i32 no_i32 = {NULL, 0};
static const flat_in_i64 no_i64 = {NULL, 0};
static const flat_in_f32 no_f32 = {NULL, 0};
static const flat_out_i32 no_out_i32 = {NULL, 0};

static flat_handle* build(flat_handle* runtime) {
  flat_handle *builder, *plan, *index;
  int64_t numbers[FLAT_PLAN_COUNT] = {0};
  CALL(builder = flat_builder_create(runtime, (flat_in_i32){codes, LEVELS}, 0, SIDBEAM_ID_I64, SIDBEAM_KIND_TRIE,
                                     SIDBEAM_COLLISIONS_KEEP, 1, 0, "", 0, 0, 0, &err));
  CALL(flat_builder_add(builder, (flat_in_i32){sids, SIDS * LEVELS}, LEVELS, no_i32, SIDS, (flat_in_i64){ids, SIDS},
                        no_i64, &err));
  CALL(plan = flat_builder_plan(builder, &err));
  CALL(flat_plan_get_info(plan, (flat_out_i64){numbers, FLAT_PLAN_COUNT}, &err));
  CHECK(numbers[FLAT_PLAN_SIDS] == SIDS && numbers[FLAT_PLAN_NODES] == 2);
  CALL(index = flat_builder_finish(builder, &err));
  flat_free(plan);
  flat_free(builder);
  return index;
}

static void ask(flat_handle* index, flat_handle* constraint) {
  int64_t numbers[FLAT_INFO_COUNT] = {0}, about[FLAT_CONSTRAINT_COUNT] = {0}, range[2], id;
  char fingerprint[32], same[32];
  const flat_out_bytes text = {fingerprint, sizeof fingerprint}, other = {same, sizeof same};
  CALL(flat_index_get_info(index, (flat_out_i64){numbers, FLAT_INFO_COUNT}, text, &err));
  CALL(flat_constraint_get_info(constraint, (flat_out_i64){about, FLAT_CONSTRAINT_COUNT}, other, &err));
  CHECK(numbers[FLAT_INFO_SIDS] == SIDS && about[FLAT_CONSTRAINT_SIDS] == SIDS);
  CHECK(about[FLAT_CONSTRAINT_CODES + 1] == COLUMNS && memcmp(fingerprint, same, sizeof same) == 0);
  CALL(flat_index_ordinals(index, (flat_in_i32){sids + 2, 1}, (flat_out_i64){range, 2}, &err));
  CHECK(range[0] == 1 && range[1] == 3);
  CALL(flat_index_item_ids(index, (flat_in_i64){range, 1}, (flat_out_i64){&id, 1}, (flat_out_i64){NULL, 0}, &err));
  CHECK(id == 71);
}

/* Two levels; code t has log-probability -t, so that 0,1 scores -1 and 2,2 scores -4. */
static void search(flat_handle* runtime, flat_handle* constraint) {
  static const float row[COLUMNS] = {0, -1, -2, -3};
  flat_handle* session;
  int64_t place[FLAT_BEAMS_COUNT] = {0}, stats[FLAT_STATS_COUNT] = {0}, ordinals[BEAMS];
  CALL(session =
           flat_session_create(runtime, constraint, 1, BEAMS, SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_NONE, 0, no_i64,
                               no_i32, no_i64, -1, SIDBEAM_DEVICE_CPU, 0, 0, SIDBEAM_MODE_SEARCH, 0, &err));
  CALL(flat_session_start(session, no_i32, 1, no_i64, no_i32, 0, no_i32, no_i32, 0, no_f32, no_f32, 0, no_i64, no_i64,
                          no_i64, 0, no_i32, no_f32, no_f32, &err));
  for (int level = 0; level < LEVELS; ++level)
    CALL(flat_session_step(session, no_i32, (flat_memory){(void*)(uintptr_t)row}, COLUMNS, SIDBEAM_DTYPE_F32,
                           SIDBEAM_DEVICE_CPU, 0, 1, BEAMS, COLUMNS, 0, SIDBEAM_BROADCAST, no_i32, no_f32, 0, 0, no_f32,
                           no_f32, 0, &err));
  CALL(flat_session_get_beams(session, (flat_out_i64){place, FLAT_BEAMS_COUNT}, &err));
  const float* scores = (const float*)(intptr_t)place[FLAT_BEAMS_SCORES];
  CHECK(scores[0] == -1 && scores[1] == -4);
  CALL(flat_session_get_items(session, no_i32, 1, 0, 0, 0, NULL, 0, (flat_out_i64){ordinals, BEAMS}, no_out_i32,
                              no_out_i32, (flat_out_i64){NULL, 0}, (flat_out_i64){NULL, 0}, no_out_i32, no_out_i32, 0,
                              &err));
  CHECK(ordinals[0] == 0 && ordinals[1] == 1);
  CALL(flat_session_get_stats(session, (flat_out_i64){stats, FLAT_STATS_COUNT}, &err));
  CHECK(stats[FLAT_STATS_STEPS] == LEVELS);
  flat_free(session);
}

static void mask(flat_handle* runtime, flat_handle* constraint) {
  const int64_t constraints[1] = {(int64_t)(intptr_t)constraint};
  const int32_t length = 1;
  flat_handle* set;
  int64_t state = 0;
  int32_t words = 0;
  CALL(set = flat_constraint_set_create(runtime, (flat_in_i64){constraints, 1}, no_i64, no_i32, no_i64, -1,
                                        SIDBEAM_DEVICE_CPU, 0, &err));
  CALL(flat_constraint_set_prefixes(set, no_i32, (flat_in_i32){sids + 2, 1}, 1, (flat_in_i32){&length, 1}, 1,
                                    (flat_out_i64){&state, 1}, 0, &err));
  CALL(flat_constraint_set_bitmask(set, no_i32, (flat_in_i64){&state, 1}, 1, 1, (flat_out_i32){&words, 1}, 0, &err));
  CHECK(words == (1 << 2 | 1 << 3));
  flat_free(set);
}

int main(void) {
  flat_handle *runtime, *index, *constraint;
  CALL(flat_check_abi(&err));
  CALL(runtime = flat_runtime_create(1, 1, 0, -1, "", "", 0, 0, 0, &err));
  index = build(runtime);
  CALL(constraint = flat_constraint_create(index, &err));
  ask(index, constraint);
  search(runtime, constraint);
  mask(runtime, constraint);
  flat_free(constraint);
  flat_free(index);
  flat_free(runtime);
  puts("The flat layer of ABI version 1 works with this library.");
  return 0;
}
