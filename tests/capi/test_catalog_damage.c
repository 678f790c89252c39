/* The files of a live catalogue, cut at every byte and with every bit flipped: it opens with what was published before
 * the damage where that is allowed, or an error says what is wrong. Nothing else is ever seen.
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "catalog_rig.h"

enum { VERSIONS = 5 };

/* A folder, one of its files as it was, and what its versions hold. */
typedef struct subject {
  const char* folder;
  char path[600];
  unsigned char* bytes;
  int64_t count;
  sidbeam_runtime* runtime;
  char contents[VERSIONS + 1][200];
  int64_t whole, lossy; /* the version that it has to open with, and where loss is accepted; 0: not at all */
} subject;

static void put(const char* path, const unsigned char* bytes, int64_t count) {
  FILE* const file = fopen(path, "wb");
  CHECK(file != NULL);
  CHECK_INT(fwrite(bytes, 1, (size_t)count, file), count);
  CHECK_INT(fclose(file), 0);
}

static subject make_subject(const char* name, const char* file) {
  static subject of;
  memset(&of, 0, sizeof of);
  of.folder = fresh_folder(name);
  sidbeam_catalog* catalog = make_catalog(of.folder);
  (void)publish_pair(catalog, "333", 40);
  CHECK_OK(remove_item(catalog, 13, &err));
  (void)publish(catalog);
  CHECK_OK(sidbeam_catalog_rollback(catalog, 2, NULL, &err));
  (void)publish_pair(catalog, "111", 41);
  for (int64_t version = 1; version <= VERSIONS; ++version)
    snprintf(of.contents[version], sizeof of.contents[0], "%s", content(catalog, version));
  sidbeam_catalog_close(catalog);
  snprintf(of.path, sizeof of.path, "%s", path_in(of.folder, file));
  of.bytes = read_file(of.path, &of.count);
  of.runtime = make_runtime();
  return of;
}

static void drop_subject(subject* of) {
  free(of->bytes);
  sidbeam_runtime_release(of->runtime);
}

/* The catalogue, closed, has this version and those before it as they were. */
static void check_opened(subject* of, sidbeam_catalog* catalog, int64_t version) {
  CHECK_INT(info_of(catalog).version, version);
  CHECK_INT(info_of(catalog).oldest_version, 1);
  CHECK_TEXT(content(catalog, 0), of->contents[version]);
  if (version > 1) CHECK_TEXT(content(catalog, version - 1), of->contents[version - 1]);
}

/* Whether it opened, as it should or should not. */
static int check_outcome(subject* of, sidbeam_status status, sidbeam_catalog* catalog, int64_t version) {
  if (version > 0) {
    CHECK_OK(status);
    check_opened(of, catalog, version);
    return 1;
  }
  CHECK(status == SIDBEAM_CORRUPT || status == SIDBEAM_UNSUPPORTED);
  CHECK(strstr(err.message, of->path) != NULL || strstr(err.message, "has no version") != NULL);
  CHECK(strchr(err.message, '\n') == NULL);
  return 0;
}

/* Opened to write, it goes on, and can be opened again. */
static int open_and_go_on(subject* of, int32_t accept_loss, int64_t version) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  sidbeam_catalog* catalog = NULL;
  config.accept_loss = accept_loss;
  clear_error();
  const sidbeam_status status = sidbeam_catalog_open(of->runtime, of->folder, &config, &catalog, &err);
  if (!check_outcome(of, status, catalog, version)) return 0;
  CHECK_INT(publish_pair(catalog, "000", 50), version + 1);
  sidbeam_catalog_close(catalog);
  CHECK_OK(sidbeam_catalog_open(of->runtime, of->folder, NULL, &catalog, &err));
  CHECK_INT(info_of(catalog).version, version + 1);
  CHECK(strncmp(content(catalog, 0), "000:50 ", 7) == 0);
  sidbeam_catalog_close(catalog);
  return 1;
}

static void open_in_every_way(subject* of) {
  sidbeam_catalog* catalog = NULL;
  clear_error();
  const sidbeam_status status = sidbeam_catalog_follow(of->runtime, of->folder, NULL, &catalog, &err);
  if (check_outcome(of, status, catalog, of->whole)) sidbeam_catalog_close(catalog);
  if (!open_and_go_on(of, 0, of->whole)) (void)open_and_go_on(of, 1, of->lossy);
}

/* The files as they were, except this one. */
static void try_bytes(subject* of, const char* sound, const unsigned char* bytes, int64_t count) {
  copy_folder(sound, of->folder);
  put(of->path, bytes, count);
  open_in_every_way(of);
}

/* Of a log: the bytes up to the end of each version's record (schemas/README.md), and those without its padding. */
typedef struct record_ends {
  int64_t whole[VERSIONS + 1], payload[VERSIONS + 1];
} record_ends;

static record_ends ends_of(const subject* of) {
  record_ends ends = {{64}, {64}};
  for (int version = 1; version <= VERSIONS; ++version) {
    int64_t bytes = 0;
    memcpy(&bytes, of->bytes + ends.whole[version - 1], sizeof bytes);
    ends.payload[version] = ends.whole[version - 1] + 32 + bytes;
    ends.whole[version] = ends.whole[version - 1] + 32 + (bytes + 7) / 8 * 8;
  }
  CHECK_INT(ends.whole[VERSIONS], of->count);
  return ends;
}

/* How many records end at or before this byte. */
static int64_t records_before(const record_ends* ends, int64_t byte) {
  int64_t version = 0;
  while (version < VERSIONS && ends->whole[version + 1] <= byte) ++version;
  return version;
}

/* All of them; with sanitizers, which take longer, every third. */
static void flip_bits(subject* of, const char* sound, const record_ends* ends) {
  for (int64_t bit = 0; bit < 8 * of->count; bit += SIDBEAM_SANITIZED ? 3 : 1) {
    if (ends != NULL) {
      const int64_t before = records_before(ends, bit / 8);
      const int unread = bit / 8 >= ends->payload[before + 1];
      of->lossy = unread ? VERSIONS : bit / 8 < 64 ? 0 : before;
      of->whole = of->lossy < VERSIONS - 1 ? 0 : of->lossy; /* what follows a damaged record tells that it was whole */
    }
    of->bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    try_bytes(of, sound, of->bytes, of->count);
    of->bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
}

static void a_damaged_log_is_noticed_wherever_it_is(void) {
  subject of = make_subject("log", "log-1.slog");
  const char* const sound = fresh_folder("sound");
  const record_ends ends = ends_of(&of);
  copy_folder(of.folder, sound);
  for (int64_t count = 0; count <= of.count; ++count) {
    of.whole = of.lossy = count < 64 ? 0 : records_before(&ends, count);
    try_bytes(&of, sound, of.bytes, count);
  }
  flip_bits(&of, sound, &ends);
  drop_subject(&of);
}

static void a_damaged_manifest_is_noticed_wherever_it_is(void) {
  subject of = make_subject("manifest", "catalog.live");
  const char* const sound = fresh_folder("sound");
  copy_folder(of.folder, sound);
  for (int64_t count = 0; count < of.count; ++count) try_bytes(&of, sound, of.bytes, count);
  flip_bits(&of, sound, NULL);
  drop_subject(&of);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_damaged_log_is_noticed_wherever_it_is),
      TEST(a_damaged_manifest_is_noticed_wherever_it_is),
  };
  return RUN_TESTS(tests);
}
