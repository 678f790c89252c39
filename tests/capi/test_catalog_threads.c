/* A live catalogue that is added to, compacted, rolled back, followed and searched at once. Items come and go in
 * groups, each with one call, so that every version holds whole groups; and whoever looks at a version sees the same.
 * Meant for ThreadSanitizer, true without it. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>

#include "catalog_rig.h"

enum {
  PUBLISHES = 600,
  MOST_PUBLISHES = 1500,
  GROUP = 6,
  GROUPS = 24,
  FIRST_ID = 100,
  READERS = 2,
  VERSIONS = 4096,
  TEXT = 8192
};

typedef struct world {
  sidbeam_catalog *catalog, *follower;
  pthread_mutex_t mutex;
  char* seen[VERSIONS]; /* what each version held when it was first looked at */
  int stop, looks, compactions, rollbacks;
} world;

typedef struct worker {
  world* shared;
  uint32_t noise;
  int failed; /* line of the first check that failed; a thread may not leave through longjmp */
  sidbeam_error error;
} worker;

#define THREAD_CHECK(w, condition)                  \
  do {                                              \
    if (!(condition)) {                             \
      if ((w)->failed == 0) (w)->failed = __LINE__; \
      return;                                       \
    }                                               \
  } while (0)

static uint32_t noise(worker* w) { return (w->noise = w->noise * 1664525u + 1013904223u) >> 8; }
static int goes_on(worker* w) { return w->failed == 0 && !__atomic_load_n(&w->shared->stop, __ATOMIC_RELAXED); }

/* Where an item of a group lives: 64 SIDs. */
static int sid_of_item(int64_t id) { return (int)((uint64_t)id * 0x9e3779b97f4a7c15u >> 58); }

/* --- Checks --- */

/* Every item of `small` is there, and of each group all or nothing, each under its SID. */
static int is_sound(const char* text) {
  int members[GROUPS] = {0}, base = 0, read = 0;
  while (*text != '\0') {
    int sid = 0, id = 0;
    if (sscanf(text, "%1d%n", &sid, &read) != 1) return 0;
    sid = (text[0] - '0') * 16 + (text[1] - '0') * 4 + text[2] - '0';
    for (text += 3; *text == ':' || *text == ','; text += read) {
      if (sscanf(++text, "%d%n", &id, &read) != 1) return 0;
      if (id < FIRST_ID) {
        ++base;
      } else if (id >= FIRST_ID + GROUPS * GROUP || sid != sid_of_item(id)) {
        return 0;
      } else {
        ++members[(id - FIRST_ID) / GROUP];
      }
    }
    if (*text++ != ' ') return 0;
  }
  for (int group = 0; group < GROUPS; ++group)
    if (members[group] != 0 && members[group] != GROUP) return 0;
  return base == 6;
}

/* Looks at a version; 0: the newest. One that is gone by now is no error. */
static void look(worker* w, sidbeam_catalog* catalog, int64_t version) {
  char text[TEXT];
  sidbeam_index* index = NULL;
  const sidbeam_status status = sidbeam_catalog_snapshot(catalog, version, &index, &w->error);
  if (version != 0 && status == SIDBEAM_INVALID_ARGUMENT) return;
  THREAD_CHECK(w, status == SIDBEAM_OK);
  find_content(index, text);
  sidbeam_index_release(index);
  if (!is_sound(text)) printf("version %lld: %s\n", (long long)version, text);
  THREAD_CHECK(w, is_sound(text));
  if (version == 0) return;
  THREAD_CHECK(w, version < VERSIONS);
  pthread_mutex_lock(&w->shared->mutex);
  char** const seen = &w->shared->seen[version];
  const int same = *seen == NULL || strcmp(*seen, text) == 0;
  if (*seen == NULL) *seen = strdup(text);
  ++w->shared->looks;
  pthread_mutex_unlock(&w->shared->mutex);
  THREAD_CHECK(w, same);
}

static int64_t some_version(worker* w, sidbeam_catalog* catalog) {
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  if (sidbeam_catalog_get_info(catalog, &info, &w->error) != SIDBEAM_OK) return -1;
  return info.oldest_version + noise(w) % (uint32_t)(info.version - info.oldest_version + 1);
}

/* --- Work --- */

static sidbeam_status add_group(worker* w, int64_t first) {
  int32_t codes[GROUP * 3];
  int64_t numbers[GROUP];
  sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  for (int i = 0; i < GROUP; ++i) {
    const int sid = sid_of_item(numbers[i] = first + i);
    codes[3 * i] = sid / 16;
    codes[3 * i + 1] = sid / 4 % 4;
    codes[3 * i + 2] = sid % 4;
  }
  pairs.codes = codes;
  pairs.ids = numbers;
  pairs.count = GROUP;
  return sidbeam_catalog_add(w->shared->catalog, &pairs, &w->error);
}

static sidbeam_status remove_group(worker* w, int64_t first) {
  int64_t numbers[GROUP];
  for (int i = 0; i < GROUP; ++i) numbers[i] = first + i;
  const sidbeam_item_list list = ids(numbers, GROUP);
  return sidbeam_catalog_remove(w->shared->catalog, &list, NULL, &w->error);
}

/* On a busy machine a thread may come to nothing while the others do all their work. */
static int all_had_a_turn(const world* shared) {
  return __atomic_load_n(&shared->compactions, __ATOMIC_RELAXED) > 0 &&
         __atomic_load_n(&shared->rollbacks, __ATOMIC_RELAXED) > 0;
}

static void publish_often(worker* w) {
  for (int i = 0; i < PUBLISHES || (i < MOST_PUBLISHES && !all_had_a_turn(w->shared)); ++i) {
    for (uint32_t changes = 1 + noise(w) % 3; changes > 0; --changes) {
      const int64_t first = FIRST_ID + GROUP * (int64_t)(noise(w) % GROUPS);
      THREAD_CHECK(w, (noise(w) % 2 == 0 ? add_group(w, first) : remove_group(w, first)) == SIDBEAM_OK);
    }
    if (noise(w) % 8 == 0) THREAD_CHECK(w, sidbeam_catalog_discard(w->shared->catalog, &w->error) == SIDBEAM_OK);
    int64_t version = 0;
    THREAD_CHECK(w, sidbeam_catalog_publish(w->shared->catalog, &version, &w->error) == SIDBEAM_OK);
    look(w, w->shared->catalog, version);
    if (w->failed != 0) return;
  }
}

static void compact_often(worker* w) {
  while (goes_on(w)) {
    int64_t version = 0;
    const sidbeam_status status = sidbeam_catalog_compact(w->shared->catalog, NULL, &version, &w->error);
    if (status == SIDBEAM_BAD_STATE && strstr(w->error.message, "of another base") != NULL) continue;
    THREAD_CHECK(w, status == SIDBEAM_OK);
    __atomic_fetch_add(&w->shared->compactions, 1, __ATOMIC_RELAXED);
    look(w, w->shared->catalog, version);
  }
}

static void go_back_now_and_then(worker* w) {
  for (int64_t next = 6; goes_on(w);) {
    sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
    THREAD_CHECK(w, sidbeam_catalog_get_info(w->shared->catalog, &info, &w->error) == SIDBEAM_OK);
    if (info.version < next) {
      sched_yield();
      continue;
    }
    const int64_t to = some_version(w, w->shared->catalog);
    const sidbeam_status status = sidbeam_catalog_rollback(w->shared->catalog, to, NULL, &w->error);
    THREAD_CHECK(w, status == SIDBEAM_OK || status == SIDBEAM_INVALID_ARGUMENT); /* gone by now */
    __atomic_fetch_add(&w->shared->rollbacks, 1, __ATOMIC_RELAXED);
    next = info.version + 6;
  }
}

static void refresh_often(worker* w) {
  while (goes_on(w)) {
    THREAD_CHECK(w, sidbeam_catalog_refresh(w->shared->follower, 10, NULL, &w->error) == SIDBEAM_OK);
    look(w, w->shared->follower, 0);
  }
}

static void read_often(worker* w) {
  while (goes_on(w)) {
    sidbeam_catalog* const from = noise(w) % 2 == 0 ? w->shared->catalog : w->shared->follower;
    look(w, from, noise(w) % 2 == 0 ? some_version(w, from) : 0);
  }
}

/* --- The test --- */

typedef struct job {
  void (*run)(worker* w);
  worker w;
} job;

static void* run_job(void* argument) {
  job* const each = argument;
  each->run(&each->w);
  if (each->w.failed != 0 || each->run == publish_often) __atomic_store_n(&each->w.shared->stop, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void everything_at_once(void) {
  static world shared;
  job jobs[4 + READERS] = {{publish_often, {0}}, {compact_often, {0}}, {go_back_now_and_then, {0}},
                           {refresh_often, {0}}, {read_often, {0}},    {read_often, {0}}};
  pthread_t threads[COUNT(jobs)];
  const char* const folder = fresh_folder("threads");
  pthread_mutex_init(&shared.mutex, NULL);
  shared.catalog = make_catalog(folder);
  shared.follower = follow_catalog(folder);
  for (size_t i = 0; i < COUNT(jobs); ++i) {
    jobs[i].w = (worker){&shared, (uint32_t)(7 * i + 1), 0, SIDBEAM_ERROR_INIT};
    CHECK(pthread_create(&threads[i], NULL, run_job, &jobs[i]) == 0);
  }
  for (size_t i = 0; i < COUNT(jobs); ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  for (size_t i = 0; i < COUNT(jobs); ++i) {
    if (jobs[i].w.failed != 0) printf("thread %zu: %s\n", i, jobs[i].w.error.message);
    CHECK_INT(jobs[i].w.failed, 0);
  }
  CHECK(shared.looks > PUBLISHES && all_had_a_turn(&shared));
  sidbeam_catalog_close(shared.catalog);
  sidbeam_catalog_close(shared.follower);
  for (size_t i = 0; i < VERSIONS; ++i) free(shared.seen[i]);
}

int main(void) {
  static const test_case tests[] = {TEST(everything_at_once)};
  return RUN_TESTS(tests);
}
