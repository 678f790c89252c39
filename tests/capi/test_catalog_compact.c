/* Compactions of live catalogues: cancelled at every call, and with changes of every kind while they run.
 * SPDX-License-Identifier: Apache-2.0 */
#include <time.h>
#include <unistd.h>

#include "catalog_rig.h"

/* What a progress callback does, on the compacting thread. */
typedef struct meanwhile {
  sidbeam_catalog* catalog;
  int calls, at; /* at this call */
  int (*act)(struct meanwhile* world);
  int64_t id;
} meanwhile;

static int32_t progress(void* context, int32_t phase, int64_t done, int64_t total) {
  meanwhile* const world = context;
  if (phase < 0 || done < 0 || done > total) return 1;
  const int call = world->calls++;
  return world->act != NULL && (world->at < 0 || call == world->at) ? world->act(world) : 0;
}

static sidbeam_status compact(meanwhile* world, int64_t* version) {
  sidbeam_compact_config config = SIDBEAM_COMPACT_CONFIG_INIT;
  config.progress = progress;
  config.progress_context = world;
  config.threads = 1;
  world->calls = 0;
  return sidbeam_catalog_compact(world->catalog, &config, version, &err);
}

/* Version 2 has 40 and lacks 13; 41 is not published. */
static meanwhile changed_catalog(const char* folder) {
  meanwhile world = {make_catalog(folder), 0, -1, NULL, 50};
  CHECK_OK(add_pair(world.catalog, "333", 40, &err));
  CHECK_OK(remove_item(world.catalog, 13, &err));
  CHECK_INT(publish(world.catalog), 2);
  CHECK_OK(add_pair(world.catalog, "333", 41, &err));
  return world;
}

#define CHANGED_CONTENT "012:15,10 013:11 030:12 300:14 333:40 "
/* A new base sorts the items of a SID by priority, of which those of the base have 0. */
#define COMPACT_CONTENT "012:10,15 013:11 030:12 300:14 333:40 "

static void a_compaction_publishes_the_same_content_on_a_new_base(void) {
  const char* const folder = fresh_folder("compact");
  for (int in_folder = 0; in_folder < 2; ++in_folder) {
    meanwhile world = changed_catalog(in_folder ? folder : NULL);
    int64_t version = 0;
    CHECK_OK(compact(&world, &version));
    CHECK_INT(version, 3);
    CHECK(world.calls > 2);
    sidbeam_catalog_info info = info_of(world.catalog);
    CHECK_INT(info.generation, 2);
    CHECK_INT(info.base_items, 6);
    CHECK_INT(info.added, 0);
    CHECK_INT(info.removed, 0);
    CHECK_INT(info.changes, 1);
    CHECK_TEXT(content(world.catalog, 0), COMPACT_CONTENT);
    CHECK_TEXT(content(world.catalog, 2), CHANGED_CONTENT);
    CHECK_INT(publish(world.catalog), 4); /* what waited */
    CHECK_TEXT(content(world.catalog, 0), "012:10,15 013:11 030:12 300:14 333:40,41 ");
    sidbeam_catalog_close(world.catalog);
  }
  CHECK_TEXT(names_in(folder), "base-1.sidx base-2.sidx catalog.live lock log-1.slog log-3.slog ");
}

static void versions_of_all_generations_can_be_gone_back_to(void) {
  static const char* const expected[] = {SMALL_CONTENT, CHANGED_CONTENT, COMPACT_CONTENT, SMALL_CONTENT,
                                         COMPACT_CONTENT};
  const char* const folder = fresh_folder("generations");
  meanwhile world = changed_catalog(folder);
  CHECK_OK(compact(&world, NULL));
  CHECK_OK(sidbeam_catalog_rollback(world.catalog, 1, NULL, &err));
  CHECK_INT(info_of(world.catalog).generation, 1);
  CHECK_OK(sidbeam_catalog_rollback(world.catalog, 3, NULL, &err));
  CHECK_INT(info_of(world.catalog).generation, 2);
  for (int restart = 0; restart < 3; ++restart) {
    for (int64_t version = 1; version <= 5; ++version)
      CHECK_TEXT(content(world.catalog, version), expected[version - 1]);
    sidbeam_catalog_close(world.catalog);
    world.catalog = restart < 2 ? open_catalog(folder, NULL) : NULL;
  }
  world.catalog = open_catalog(folder, NULL);
  CHECK_OK(sidbeam_catalog_rollback(world.catalog, 2, NULL, &err));
  CHECK_INT(publish_pair(world.catalog, "333", 60), 7);
  CHECK_OK(compact(&world, NULL));
  CHECK_INT(info_of(world.catalog).generation, 3); /* no number is given twice */
  sidbeam_catalog_close(world.catalog);
  world.catalog = open_catalog(folder, NULL);
  CHECK_TEXT(content(world.catalog, 7), "012:15,10 013:11 030:12 300:14 333:40,60 ");
  CHECK_TEXT(content(world.catalog, 8), "012:10,15 013:11 030:12 300:14 333:40,60 ");
  sidbeam_catalog_close(world.catalog);
}

static int cancel(meanwhile* world) { return world != NULL; }

static void a_compaction_that_is_cancelled_anywhere_leaves_nothing(void) {
  const char* const folder = fresh_folder("cancel");
  meanwhile world = changed_catalog(folder);
  char names[200];
  snprintf(names, sizeof names, "%s", names_in(folder));
  world.act = cancel;
  for (world.at = 0;; ++world.at) {
    const sidbeam_status status = compact(&world, NULL);
    if (world.calls <= world.at) {
      CHECK_OK(status);
      break;
    }
    CHECK_INT(status, SIDBEAM_CANCELLED);
    CHECK(strstr(err.message, "cancelled") != NULL);
    CHECK_TEXT(names_in(folder), names);
    CHECK_INT(info_of(world.catalog).version, 2);
    CHECK_INT(info_of(world.catalog).changes, 1);
    CHECK_TEXT(content(world.catalog, 0), CHANGED_CONTENT);
  }
  CHECK(world.at > 2);
  CHECK_INT(publish(world.catalog), 4);
  sidbeam_catalog_close(world.catalog);
}

static int publish_another(meanwhile* world) {
  if (add_pair(world->catalog, "222", world->id++, NULL) != SIDBEAM_OK) return 1;
  if (world->id == 52 && remove_item(world->catalog, 12, NULL) != SIDBEAM_OK) return 1;
  if (world->id == 53 && remove_item(world->catalog, 50, NULL) != SIDBEAM_OK) return 1;
  return sidbeam_catalog_publish(world->catalog, NULL, NULL) != SIDBEAM_OK;
}

static void what_is_published_meanwhile_is_carried_over(void) {
  const char* const folder = fresh_folder("between");
  for (int in_folder = 0; in_folder < 2; ++in_folder) {
    meanwhile world = changed_catalog(in_folder ? folder : NULL);
    int64_t version = 0;
    world.act = publish_another; /* at every call */
    CHECK_OK(compact(&world, &version));
    CHECK(world.calls > 3);
    CHECK_INT(version, 3 + world.calls);
    char expected[300] = "012:10,15 013:11 222:";
    for (int64_t id = 51; id < world.id; ++id)
      sprintf(expected + strlen(expected), "%s%d", id > 51 ? "," : "", (int)id);
    strcat(expected, " 300:14 333:40,41 ");
    CHECK_TEXT(content(world.catalog, 0), expected);
    CHECK_INT(info_of(world.catalog).changes, 0);
    CHECK_INT(info_of(world.catalog).removed, 1);
    sidbeam_catalog_close(world.catalog);
    if (!in_folder) continue;
    world.catalog = open_catalog(folder, NULL);
    CHECK_TEXT(content(world.catalog, 0), expected);
    sidbeam_catalog_close(world.catalog);
  }
}

static int go_back(meanwhile* world) { return sidbeam_catalog_rollback(world->catalog, world->id, NULL, NULL) != 0; }

static void a_rollback_to_another_generation_ends_a_compaction(void) {
  const char* const folder = fresh_folder("elsewhere");
  meanwhile world = changed_catalog(folder);
  CHECK_OK(compact(&world, NULL));
  world.act = go_back;
  world.at = 1;
  world.id = 2;
  CHECK_FAILS(compact(&world, NULL), SIDBEAM_BAD_STATE,
              "went back to a version of another base while it was compacted");
  CHECK_INT(info_of(world.catalog).version, 4);
  CHECK_INT(info_of(world.catalog).generation, 1);
  CHECK_TEXT(names_in(folder), "base-1.sidx base-2.sidx catalog.live lock log-1.slog log-3.slog log-4.slog ");
  world.id = 1; /* of the same generation */
  CHECK_OK(compact(&world, NULL));
  CHECK_INT(info_of(world.catalog).generation, 3);
  CHECK_TEXT(content(world.catalog, 0), "012:10,15 013:11 030:12 221:13 300:14 ");
  sidbeam_catalog_close(world.catalog);
  world.catalog = open_catalog(folder, NULL);
  CHECK_TEXT(content(world.catalog, 4), CHANGED_CONTENT);
  CHECK_TEXT(content(world.catalog, 0), "012:10,15 013:11 030:12 221:13 300:14 ");
  sidbeam_catalog_close(world.catalog);
}

static int compact_again(meanwhile* world) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  return sidbeam_catalog_compact(world->catalog, NULL, NULL, &error) != SIDBEAM_BAD_STATE ||
         strstr(error.message, "is being compacted already") == NULL;
}

static void what_a_compaction_needs_is_checked(void) {
  const char* const folder = fresh_folder("needs");
  meanwhile world = changed_catalog(folder);
  sidbeam_compact_config config = SIDBEAM_COMPACT_CONFIG_INIT;
  const sidbeam_compact_config defaults = config;
  const int bad = SIDBEAM_INVALID_ARGUMENT;
  config.threads = 1025;
  CHECK_FAILS(sidbeam_catalog_compact(world.catalog, &config, NULL, &err), bad, "config.threads is 1025, expected");
  config.threads = -1;
  CHECK_FAILS(sidbeam_catalog_compact(world.catalog, &config, NULL, &err), bad, "config.threads is -1, expected");
  config = defaults;
  config.memory_limit_bytes = -1;
  CHECK_FAILS(sidbeam_catalog_compact(world.catalog, &config, NULL, &err), bad, "config.memory_limit_bytes is -1");
  config = defaults;
  config.bytes_per_second = -1;
  CHECK_FAILS(sidbeam_catalog_compact(world.catalog, &config, NULL, &err), bad, "config.bytes_per_second is -1");
  config = defaults;
  config.memory_limit_bytes = 1;
  CHECK_FAILS(sidbeam_catalog_compact(world.catalog, &config, NULL, &err), SIDBEAM_OUT_OF_MEMORY,
              "bytes, memory_limit_bytes is 1");
  CHECK_TEXT(names_in(folder), "base-1.sidx catalog.live lock log-1.slog ");
  world.act = compact_again;
  CHECK_OK(compact(&world, NULL));
  config = defaults;
  config.bytes_per_second = INT64_MAX;
  CHECK_OK(sidbeam_catalog_compact(world.catalog, &config, NULL, &err));
  CHECK_INT(info_of(world.catalog).generation, 3);
  sidbeam_catalog_close(world.catalog);
}

enum { WORDY_ITEMS = 1000, WORDS = 500 };

/* Of items with a name and an attribute of 500 bytes each. */
static sidbeam_index* wordy_index(void) {
  static char text[WORDY_ITEMS * WORDS + 1];
  static const int32_t codes[3] = {10, 10, 10};
  int32_t sids[WORDY_ITEMS][3];
  int64_t offsets[WORDY_ITEMS + 1];
  sidbeam_attribute_column words = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_builder* builder = NULL;
  sidbeam_index* index = NULL;
  for (int i = 0; i <= WORDY_ITEMS; ++i) {
    offsets[i] = (int64_t)i * WORDS;
    if (i == WORDY_ITEMS) break;
    sprintf(text + offsets[i], "%0*d", WORDS, i);
    sids[i][0] = i / 100;
    sids[i][1] = i / 10 % 10;
    sids[i][2] = i % 10;
  }
  config.levels = 3;
  config.codes = codes;
  config.id_type = SIDBEAM_ID_STRING;
  config.kinds = SIDBEAM_KIND_TRIE;
  words.name = "words";
  words.text = text;
  words.offsets = offsets;
  CHECK_OK(sidbeam_builder_create(runtime, &config, &builder, &err));
  CHECK_OK(sidbeam_builder_declare_attribute(builder, words.name, SIDBEAM_ATTRIBUTE_STRING, &err));
  CHECK_OK(sidbeam_builder_add_named(builder, sids[0], NULL, WORDY_ITEMS, text, offsets, NULL, &err));
  CHECK_OK(sidbeam_builder_set_attribute(builder, &words, WORDY_ITEMS, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  sidbeam_runtime_release(runtime);
  return index;
}

static double seconds(void) {
  struct timespec now;
  CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* It takes as long as that, at the least: however slow the machine is, no run is shorter. */
static void a_rate_holds_for_all_that_is_read_and_written(void) {
  const char* const folder = fresh_folder("rate");
  sidbeam_index* base = wordy_index();
  sidbeam_compact_config config = SIDBEAM_COMPACT_CONFIG_INIT;
  config.bytes_per_second = 8000000;
  for (int in_folder = 0; in_folder < 2; ++in_folder) {
    sidbeam_catalog* catalog = NULL;
    CHECK_OK(sidbeam_catalog_create(base, in_folder ? folder : NULL, NULL, &catalog, &err));
    const int64_t before = info_of(catalog).base_bytes;
    const double begin = seconds();
    CHECK_OK(sidbeam_catalog_compact(catalog, &config, NULL, &err));
    const double took = seconds() - begin;
    const int64_t written = info_of(catalog).base_bytes - before;
    CHECK(in_folder ? written > 2 * WORDY_ITEMS * WORDS : written == 0);
    const int64_t read = 2 * WORDY_ITEMS * WORDS;
    CHECK(took >= 0.9 * (double)(read + written) / (double)config.bytes_per_second);
    sidbeam_catalog_close(catalog);
  }
  sidbeam_index_release(base);
}

/* An allocator that publishes, once, as soon as a file is there. */
typedef struct watcher {
  char path[600];
  sidbeam_catalog* catalog;
  int published;
} watcher;

static void* allocate(void* context, int64_t bytes, int64_t alignment) {
  watcher* const w = context;
  void* memory = NULL;
  if (w->catalog != NULL && !w->published && file_exists(w->path)) {
    w->published = 1;
    if (sidbeam_catalog_publish(w->catalog, NULL, NULL) != SIDBEAM_OK) return NULL;
  }
  return posix_memalign(&memory, (size_t)(alignment < 16 ? 16 : alignment), (size_t)bytes) == 0 ? memory : NULL;
}

static void release(void* context, void* memory, int64_t bytes, int64_t alignment) {
  if (context != NULL && bytes > 0 && alignment > 0) free(memory);
}

/* With that publish the versions of the first base are gone, so that files which the manifest does not name go, while
 * the third base is there and not named yet. */
static void a_base_that_is_about_to_be_named_stays(void) {
  const char* const folder = fresh_folder("about");
  watcher w = {"", NULL, 0};
  sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
  sidbeam_runtime_config runtime_config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  allocator.context = &w;
  allocator.allocate = allocate;
  allocator.release = release;
  runtime_config.allocator = &allocator;
  runtime_config.threads = 1;
  config.keep_versions = 2;
  config.residency = SIDBEAM_RESIDENCY_COPY; /* which allocates, between the file and its name in the manifest */
  snprintf(w.path, sizeof w.path, "%s", path_in(folder, "base-3.sidx"));
  sidbeam_catalog_close(make_catalog(folder));
  CHECK_OK(sidbeam_runtime_create(&runtime_config, &runtime, &err));
  CHECK_OK(sidbeam_catalog_open(runtime, folder, &config, &w.catalog, &err));
  CHECK_OK(sidbeam_catalog_compact(w.catalog, NULL, NULL, &err));
  CHECK_OK(add_pair(w.catalog, "333", 40, &err));
  CHECK_OK(sidbeam_catalog_compact(w.catalog, NULL, NULL, &err));
  CHECK_INT(w.published, 1);
  CHECK_INT(info_of(w.catalog).version, 4);
  CHECK_TEXT(names_in(folder), "base-2.sidx base-3.sidx catalog.live lock log-2.slog log-4.slog ");
  sidbeam_catalog* const writer = w.catalog;
  w.catalog = NULL;
  sidbeam_catalog_close(writer);
  sidbeam_runtime_release(runtime);
  sidbeam_catalog* const again = open_catalog(folder, NULL);
  CHECK_TEXT(content(again, 0), "012:10,15 013:11 030:12 221:13 300:14 333:40 ");
  sidbeam_catalog_close(again);
}

/* What follows the manifest's last log belongs to its base; without its first record nothing would say so. */
static void a_new_log_without_its_first_record_is_damaged(void) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  const char* const folder = fresh_folder("first");
  sidbeam_runtime* runtime = make_runtime();
  for (int cut = 0; cut < 2; ++cut) {
    remove_folder(folder);
    meanwhile world = changed_catalog(folder);
    CHECK_OK(compact(&world, NULL));
    sidbeam_catalog_close(world.catalog);
    FILE* const log = fopen(path_in(folder, "log-3.slog"), "r+b");
    CHECK(log != NULL && fseek(log, 100, SEEK_SET) == 0 && fputc(0xA5, log) == 0xA5 && fclose(log) == 0);
    if (cut) CHECK(truncate(path_in(folder, "log-3.slog"), 64) == 0);
    config.accept_loss = 0;
    CHECK_FAILS(sidbeam_catalog_open(runtime, folder, &config, &world.catalog, &err), SIDBEAM_CORRUPT,
                "log-3.slog' is damaged at byte 64, after version 2");
    config.accept_loss = 1;
    CHECK_OK(sidbeam_catalog_open(runtime, folder, &config, &world.catalog, &err));
    CHECK_TEXT(content(world.catalog, 0), CHANGED_CONTENT);
    CHECK_INT(publish_pair(world.catalog, "333", 60), 3);
    sidbeam_catalog_close(world.catalog);
    world.catalog = open_catalog(folder, NULL);
    CHECK_TEXT(content(world.catalog, 3), "012:15,10 013:11 030:12 300:14 333:40,60 ");
    sidbeam_catalog_close(world.catalog);
  }
  sidbeam_runtime_release(runtime);
}

/* The log that is begun where another one was given up has no record yet when the compaction begins the next. */
static void a_compaction_may_follow_a_loss_at_once(void) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  const char* const folder = fresh_folder("loss");
  sidbeam_runtime* runtime = make_runtime();
  meanwhile world = changed_catalog(folder);
  CHECK_OK(compact(&world, NULL));
  sidbeam_catalog_close(world.catalog);
  CHECK(truncate(path_in(folder, "log-3.slog"), 10) == 0);
  config.accept_loss = 1;
  CHECK_OK(sidbeam_catalog_open(runtime, folder, &config, &world.catalog, &err));
  CHECK_INT(info_of(world.catalog).version, 2);
  CHECK_OK(compact(&world, NULL));
  sidbeam_catalog_close(world.catalog);
  world.catalog = open_catalog(folder, NULL);
  CHECK_TEXT(content(world.catalog, 3), COMPACT_CONTENT);
  CHECK_TEXT(content(world.catalog, 2), CHANGED_CONTENT);
  sidbeam_catalog_close(world.catalog);
  sidbeam_runtime_release(runtime);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_compaction_publishes_the_same_content_on_a_new_base),
      TEST(versions_of_all_generations_can_be_gone_back_to),
      TEST(a_compaction_that_is_cancelled_anywhere_leaves_nothing),
      TEST(what_is_published_meanwhile_is_carried_over),
      TEST(a_rollback_to_another_generation_ends_a_compaction),
      TEST(what_a_compaction_needs_is_checked),
      TEST(a_rate_holds_for_all_that_is_read_and_written),
      TEST(a_base_that_is_about_to_be_named_stays),
      TEST(a_new_log_without_its_first_record_is_damaged),
      TEST(a_compaction_may_follow_a_loss_at_once),
  };
  return RUN_TESTS(tests);
}
