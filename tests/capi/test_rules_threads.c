/* Requests that make constraints and drop them while others step and the filter changes. Meant for ThreadSanitizer,
 * true without it. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "rules_rig.h"

enum { THREADS = 4, ROUNDS = 40, BEAMS = 16, CODES = 16, LEVELS = 3, ITEMS = 400, EXCLUDED = 30 };

/* The filter of the moment, which one thread replaces. */
typedef struct world {
  pthread_mutex_t mutex;
  sidbeam_index* index;
  sidbeam_filter* filter;
} world;

typedef struct request {
  world* shared;
  uint32_t noise;
  sidbeam_session* session;
  int64_t found; /* items returned */
  int failed;    /* line of the first check that failed; a thread may not leave through longjmp */
  sidbeam_error error;
} request;

#define THREAD_CHECK(r, condition)                  \
  do {                                              \
    if (!(condition)) {                             \
      if ((r)->failed == 0) (r)->failed = __LINE__; \
      return;                                       \
    }                                               \
  } while (0)

static uint32_t noise(uint32_t* state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

static sidbeam_index* many_items(void) {
  static const int32_t codes[LEVELS] = {CODES, CODES, CODES};
  int32_t sids[ITEMS * LEVELS];
  uint32_t state = 7;
  for (size_t i = 0; i < COUNT(sids); ++i) sids[i] = (int32_t)(noise(&state) % CODES);
  catalogue many = small;
  many.codes = codes;
  many.sids = sids;
  many.ids = many.priorities = NULL;
  many.count = ITEMS;
  return make_index(&many, SIDBEAM_KIND_TRIE);
}

static sidbeam_filter* filter_now(world* shared) {
  pthread_mutex_lock(&shared->mutex);
  sidbeam_filter* filter = shared->filter;
  sidbeam_filter_retain(filter);
  pthread_mutex_unlock(&shared->mutex);
  return filter;
}

/* No item that comes back is excluded, or outside of the filter that the request was made with. */
static void check_items(request* r, const sidbeam_filter* filter, const int64_t* excluded) {
  const uint64_t* bits = NULL;
  int64_t words = 0, rows[ITEMS], offsets[BEAMS + 1];
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit = ITEMS;
  items.item_rows = rows;
  items.offsets = offsets;
  THREAD_CHECK(r, sidbeam_session_get_items(r->session, NULL, 0, &items, &r->error) == SIDBEAM_OK);
  THREAD_CHECK(r, sidbeam_filter_rows(filter, &bits, &words, &r->error) == SIDBEAM_OK);
  for (int64_t i = 0; i < offsets[BEAMS]; ++i) {
    THREAD_CHECK(r, (bits[rows[i] / 64] >> (rows[i] % 64) & 1) != 0);
    for (int e = 0; e < EXCLUDED; ++e) THREAD_CHECK(r, rows[i] != excluded[e]);
  }
  r->found += offsets[BEAMS];
}

static void search(request* r, sidbeam_constraint* constraint) {
  float logits[BEAMS * CODES];
  const sidbeam_rows rows = make_rows(logits, 1, BEAMS, CODES);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  start.constraints = &constraint;
  step.rows = &rows;
  THREAD_CHECK(r, sidbeam_session_start(r->session, &start, &r->error) == SIDBEAM_OK);
  THREAD_CHECK(r, sidbeam_session_get_beams(r->session, &beams, &r->error) == SIDBEAM_OK);
  for (int level = 0; level < LEVELS && beams.active[0] > 0; ++level) {
    for (size_t i = 0; i < COUNT(logits); ++i) logits[i] = (float)(noise(&r->noise) % 512) / 32;
    THREAD_CHECK(r, sidbeam_session_step(r->session, &step, &r->error) == SIDBEAM_OK);
    THREAD_CHECK(r, sidbeam_session_get_beams(r->session, &beams, &r->error) == SIDBEAM_OK);
  }
}

static void serve(request* r) {
  int64_t excluded[EXCLUDED];
  for (int i = 0; i < EXCLUDED; ++i) excluded[i] = noise(&r->noise) % ITEMS;
  const sidbeam_item_list most = rows_of(excluded, EXCLUDED - 3), rest = rows_of(excluded + EXCLUDED - 3, 3);
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_constraint *first = NULL, *constraint = NULL;
  config.index = r->shared->index;
  config.filter = filter_now(r->shared);
  config.excluded = &most;
  if (sidbeam_constraint_create(&config, &first, &r->error) != SIDBEAM_OK ||
      sidbeam_constraint_exclude(first, &rest, &constraint, &r->error) != SIDBEAM_OK)
    r->failed = __LINE__;
  sidbeam_constraint_release(first);
  if (r->failed == 0) search(r, constraint);
  if (r->failed == 0) check_items(r, config.filter, excluded);
  sidbeam_constraint_release(constraint); /* the slot holds it still */
  sidbeam_filter_release(config.filter);
}

static void* serve_often(void* argument) {
  request* r = argument;
  for (int round = 0; round < ROUNDS && r->failed == 0; ++round) serve(r);
  return NULL;
}

static void* change_filter(void* argument) {
  request* r = argument;
  for (int round = 0; round < ROUNDS && r->failed == 0; ++round) {
    int64_t rows[20];
    uint8_t allowed[20];
    sidbeam_filter *before = filter_now(r->shared), *after = NULL;
    for (int i = 0; i < 20; ++i) rows[i] = noise(&r->noise) % ITEMS, allowed[i] = noise(&r->noise) % 2;
    const sidbeam_item_list list = rows_of(rows, 20);
    if (sidbeam_filter_update(before, &list, allowed, NULL, &after, &r->error) != SIDBEAM_OK) r->failed = __LINE__;
    sidbeam_filter_release(before);
    if (after == NULL) break;
    pthread_mutex_lock(&r->shared->mutex);
    before = r->shared->filter;
    r->shared->filter = after;
    pthread_mutex_unlock(&r->shared->mutex);
    sidbeam_filter_release(before);
  }
  return NULL;
}

static void requests_and_changes_side_by_side(void) {
  world shared = {PTHREAD_MUTEX_INITIALIZER, many_items(), NULL};
  request requests[THREADS + 1];
  pthread_t threads[THREADS + 1];
  int64_t half[ITEMS / 2];
  sidbeam_constraint* whole = constrain(shared.index);
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  for (int64_t i = 0; i < ITEMS / 2; ++i) half[i] = 2 * i;
  shared.filter = make_filter(shared.index, rows_of(half, ITEMS / 2));
  config.constraint = whole;
  config.beams = BEAMS;
  for (int i = 0; i <= THREADS; ++i) {
    memset(&requests[i], 0, sizeof requests[i]);
    requests[i].shared = &shared;
    requests[i].noise = (uint32_t)i;
    requests[i].session = i < THREADS ? make_session(&config) : NULL;
    CHECK(pthread_create(&threads[i], NULL, i < THREADS ? serve_often : change_filter, &requests[i]) == 0);
  }
  for (int i = 0; i <= THREADS; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_INT(requests[i].failed, 0);
    if (i < THREADS) CHECK(requests[i].found > ROUNDS);
    sidbeam_session_destroy(requests[i].session);
  }
  sidbeam_filter_release(shared.filter);
  sidbeam_constraint_release(whole);
  sidbeam_index_release(shared.index);
}

int main(void) {
  static const test_case tests[] = {TEST(requests_and_changes_side_by_side)};
  return RUN_TESTS(tests);
}
