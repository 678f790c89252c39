/* Damaged files: every truncation, and every byte changed two ways, of a small index of each kind. Each depth of
 * verification finds what it must. An unverified index may give wrong answers but stays inside its bytes, which stand
 * in a block of exactly their size so that AddressSanitizer sees a step outside. SPDX-License-Identifier: Apache-2.0 */
#include "exercise.h"
#include "fixtures.h"

typedef struct specimen {
  unsigned char* bytes;   /* as the builder wrote them */
  unsigned char* damaged; /* a copy that the tests change and restore */
  int64_t size;
  int64_t header_end; /* bytes before it are the preamble and the header */
  sidbeam_runtime* runtime;
} specimen;

/* A root with so many children that it has a mask; codes of 32 bits; keys that are hashes, since their product would
 * not fit; tails whose codes leave no bit free in 16, or need 32; SIDs that end two or more levels above their tail. */
static const int32_t dense_codes[2] = {70, 3}, high_codes[4] = {2, 2, 70, 2}, wide_codes[2] = {70000, 2},
                     deep_codes[8] = {256, 256, 256, 256, 256, 256, 256, 256}, packed_codes[3] = {2, 40000, 3},
                     tall_codes[3] = {2, 70000, 3};
static int32_t dense_sids[68 * 2], high_sids[70 * 4], high_lengths[70]; /* filled by main */
static const int32_t wide_sids[] = {0, 1, 65536, 0, 69999, 1};
static const int32_t deep_sids[] = {0,   1,   2,   3,   4, 5, 6, 7, 255, 255, 255, 255,
                                    255, 255, 255, 255, 9, 8, 7, 6, 5,   4,   3,   2};
static const int32_t packed_sids[] = {0, 1, 2, 0, 39999, 0, 0, 39999, 1, 1, 0, 0},
                     tall_sids[] = {0, 1, 2, 0, 69999, 0, 0, 69999, 1, 1, 0, 0};
static const catalogue dense = {2, 0, SIDBEAM_ID_I64, dense_codes, dense_sids, NULL, NULL, NULL, NULL, 68};
static const catalogue wide = {2, 0, SIDBEAM_ID_I64, wide_codes, wide_sids, NULL, NULL, NULL, NULL, 3};
static const catalogue deep = {8, 0, SIDBEAM_ID_I64, deep_codes, deep_sids, NULL, NULL, NULL, NULL, 3};
static const catalogue packed = {3, 0, SIDBEAM_ID_I64, packed_codes, packed_sids, NULL, NULL, NULL, NULL, 4};
static const catalogue high = {4, 1, SIDBEAM_ID_I64, high_codes, high_sids, high_lengths, NULL, NULL, NULL, 70};
static const catalogue tall = {3, 0, SIDBEAM_ID_I64, tall_codes, tall_sids, NULL, NULL, NULL, NULL, 4};

static const struct {
  const char* name;
  const catalogue* from;
  int32_t kinds;
} kinds[] = {
    {"trie", &two_levels, SIDBEAM_KIND_TRIE},
    {"trie, collisions and names", &small_named, SIDBEAM_KIND_TRIE},
    {"trie, variable length", &small_variable, SIDBEAM_KIND_TRIE},
    {"sorted, collisions", &small, SIDBEAM_KIND_SORTED},
    {"sorted, variable length", &small_variable, SIDBEAM_KIND_SORTED},
    {"hash", &small, SIDBEAM_KIND_HASH},
    {"hash, variable length", &small_variable, SIDBEAM_KIND_HASH},
    {"everything", &small_named, ALL_KINDS},
    {"trie, dense", &dense, SIDBEAM_KIND_TRIE},
    {"trie and sorted, wide", &wide, SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED},
    {"hash, hashed keys", &deep, SIDBEAM_KIND_HASH},
    {"compact, collisions and names", &small_named, SIDBEAM_KIND_COMPACT_TRIE},
    {"compact, variable length", &small_variable, SIDBEAM_KIND_COMPACT_TRIE},
    {"compact, bitmap", &packed, SIDBEAM_KIND_COMPACT_TRIE},
    {"compact, ends far above", &high, SIDBEAM_KIND_COMPACT_TRIE},
    {"compact and sorted, wide", &tall, SIDBEAM_KIND_COMPACT_TRIE | SIDBEAM_KIND_SORTED},
};

/* Exercises of an undamaged index get to their end. */
static void check_exercised(size_t kind, int draws) {
  const int has_trie = (kinds[kind].kinds & (SIDBEAM_KIND_TRIE | SIDBEAM_KIND_COMPACT_TRIE)) != 0;
  int narrow = 1; /* logits rows of many columns are left out */
  for (int32_t l = 0; l < kinds[kind].from->levels; ++l) narrow = narrow && kinds[kind].from->codes[l] <= 8192;
  CHECK_INT(exercised_steps() >= kinds[kind].from->levels, narrow);
  CHECK_INT(exercised_rows(), narrow && has_trie);
  CHECK_INT(exercised_draws() > 0, narrow && draws);
  CHECK_INT(exercised_rounds() > 0, narrow && has_trie && !draws);
}

static specimen prepare(size_t kind) {
  specimen s = {NULL, NULL, 0, 0, make_runtime()};
  void* copy = NULL;
  sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
  sidbeam_index* index = NULL;
  uint64_t header = 0;
  s.bytes = index_bytes(kinds[kind].from, kinds[kind].kinds, &s.size);
  CHECK(posix_memalign(&copy, 64, (size_t)s.size) == 0);
  memcpy(copy, s.bytes, (size_t)s.size);
  s.damaged = copy;
  CHECK_OK(sidbeam_index_open_memory(s.runtime, s.bytes, s.size, NULL, NULL, NULL, &index, &err));
  CHECK_OK(sidbeam_index_verify(index, SIDBEAM_VERIFY_FULL, &err));
  CHECK_OK(sidbeam_index_get_section(index, 0, &section, &err));
  for (uint32_t noise = 0; noise < 2; ++noise) {
    CHECK_INT(exercise_index(s.runtime, index, noise), 0);
    check_exercised(kind, noise == 0);
  }
  sidbeam_index_release(index);
  memcpy(&header, s.bytes + 16, sizeof header); /* magic, major and minor, length of the header */
  s.header_end = 32 + (int64_t)header;
  CHECK(s.header_end <= section.offset);
  return s;
}

static void finish(specimen* s) {
  sidbeam_runtime_release(s->runtime);
  free(s->bytes);
  free(s->damaged);
}

static sidbeam_status try_open(const specimen* s, const unsigned char* data, int64_t size, int32_t verify,
                               sidbeam_index** out) {
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  config.verify = verify;
  *out = NULL;
  clear_error();
  return sidbeam_index_open_memory(s->runtime, data, size, NULL, NULL, &config, out, &err);
}

/* A refusal says CORRUPT, or UNSUPPORTED where the version is what has changed, in one line. */
static void check_refused(const specimen* s, size_t kind, int64_t at, int mask, int32_t verify) {
  sidbeam_index* index = NULL;
  const sidbeam_status status = try_open(s, s->damaged, s->size, verify, &index);
  const int version = at >= 8 && at < 16;
  if (status == SIDBEAM_CORRUPT || (version && status == SIDBEAM_UNSUPPORTED)) {
    CHECK(index == NULL && err.code == status && err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
    return;
  }
  printf("%s, byte %lld of %lld (header ends at %lld) xor 0x%02x, verify %d: %s: %s\n", kinds[kind].name, (long long)at,
         (long long)s->size, (long long)s->header_end, mask, verify, sidbeam_status_name(status), err.message);
  sidbeam_index_release(index);
  CHECK(status == SIDBEAM_CORRUPT);
}

/* Opened unverified, it may be refused or give wrong answers, and no more. */
static void use_damaged(const specimen* s, const unsigned char* data, int64_t size, uint32_t noise) {
  sidbeam_index* index = NULL;
  const sidbeam_status status = try_open(s, data, size, SIDBEAM_VERIFY_HEADER, &index);
  CHECK(status == SIDBEAM_OK || status == SIDBEAM_CORRUPT || status == SIDBEAM_UNSUPPORTED);
  if (status != SIDBEAM_OK) return;
  CHECK_INT(exercise_index(s->runtime, index, noise), 0);
  const sidbeam_status full = sidbeam_index_verify(index, SIDBEAM_VERIFY_FULL, NULL);
  CHECK(full == SIDBEAM_OK || full == SIDBEAM_CORRUPT);
  sidbeam_index_release(index);
}

/* Sanitizers take longer and see less: every third length and byte, a byte changed in all of its bits but not in its
 * last one alone, fewer rounds of noise. */
static const unsigned char masks[] = {0xff, 0x01};
enum { STEP = SIDBEAM_SANITIZED ? 3 : 1, MASKS = SIDBEAM_SANITIZED ? 1 : 2, ROUNDS = SIDBEAM_SANITIZED ? 45 : 300 };

static void every_truncation_is_refused(void) {
  for (size_t kind = 0; kind < COUNT(kinds); ++kind) {
    specimen s = prepare(kind);
    for (int64_t size = 0; size < s.size; size += STEP) {
      void* cut = NULL;
      sidbeam_index* index = NULL;
      CHECK(posix_memalign(&cut, 64, size == 0 ? 1 : (size_t)size) == 0);
      memcpy(cut, s.bytes, (size_t)size);
      for (int32_t verify = SIDBEAM_VERIFY_HEADER; verify <= SIDBEAM_VERIFY_FULL; ++verify) {
        const sidbeam_status status = try_open(&s, cut, size, verify, &index);
        if (status != SIDBEAM_CORRUPT)
          printf("%s, %lld of %lld bytes:\n", kinds[kind].name, (long long)size, (long long)s.size);
        CHECK_INT(status, SIDBEAM_CORRUPT);
        CHECK(index == NULL && err.code == SIDBEAM_CORRUPT && err.message[0] != '\0');
      }
      free(cut);
    }
    finish(&s);
  }
}

static void every_changed_byte_is_found_by_the_depth_that_covers_it(void) {
  for (size_t kind = 0; kind < COUNT(kinds); ++kind) {
    specimen s = prepare(kind);
    for (int64_t at = 0; at < s.size; at += STEP) {
      for (size_t m = 0; m < MASKS; ++m) {
        s.damaged[at] ^= masks[m];
        if (at < s.header_end) check_refused(&s, kind, at, masks[m], SIDBEAM_VERIFY_HEADER);
        check_refused(&s, kind, at, masks[m], SIDBEAM_VERIFY_CHECKSUMS);
        check_refused(&s, kind, at, masks[m], SIDBEAM_VERIFY_FULL);
        s.damaged[at] = s.bytes[at];
      }
    }
    finish(&s);
  }
}

static void every_changed_byte_is_harmless_without_verification(void) {
  for (size_t kind = 0; kind < COUNT(kinds); ++kind) {
    specimen s = prepare(kind);
    for (int64_t at = s.header_end; at < s.size; at += STEP) {
      for (size_t m = 0; m < MASKS; ++m) {
        s.damaged[at] ^= masks[m];
        use_damaged(&s, s.damaged, s.size, (uint32_t)at);
        s.damaged[at] = s.bytes[at];
      }
    }
    finish(&s);
  }
}

static void sections_of_noise_are_harmless_without_verification(void) {
  for (size_t kind = 0; kind < COUNT(kinds); ++kind) {
    specimen s = prepare(kind);
    uint32_t state = 1;
    for (int round = 0; round < ROUNDS; ++round) {
      for (int64_t at = s.header_end; at < s.size; ++at) {
        state = state * 1664525u + 1013904223u;
        /* Noise, or small numbers that lead further in, or only a part of the bytes. */
        if (round % 3 == 0) s.damaged[at] = (unsigned char)(state >> 24);
        if (round % 3 == 1) s.damaged[at] = (unsigned char)(state >> 24 & 7);
        if (round % 3 == 2 && state >> 28 == 0) s.damaged[at] ^= (unsigned char)(state >> 16);
      }
      use_damaged(&s, s.damaged, s.size, state);
      memcpy(s.damaged, s.bytes, (size_t)s.size);
    }
    finish(&s);
  }
}

static void the_specimens_have_what_they_are_meant_for(void) {
  static const struct {
    const catalogue* from;
    int32_t kinds;
    const char *kind, *encoding;
  } expected[] = {{&dense, SIDBEAM_KIND_TRIE, "dense_masks", "bits"},
                  {&wide, SIDBEAM_KIND_TRIE, "tokens", "u32"},
                  {&small, SIDBEAM_KIND_HASH, "seeded_hash_keys", "mixed_radix"},
                  {&deep, SIDBEAM_KIND_HASH, "seeded_hash_keys", "hashed_key"},
                  {&small_named, SIDBEAM_KIND_COMPACT_TRIE, "tail", "item_column_tail"},
                  {&small_variable, SIDBEAM_KIND_COMPACT_TRIE, "tail", "item_column_tail"},
                  {&packed, SIDBEAM_KIND_COMPACT_TRIE, "tail_splits", "bits"},
                  {&tall, SIDBEAM_KIND_COMPACT_TRIE, "tail", "wide_item_column_tail"}};
  for (size_t i = 0; i < COUNT(expected); ++i) {
    sidbeam_index* index = make_index(expected[i].from, expected[i].kinds);
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    int found = 0;
    for (int64_t s = 0; sidbeam_index_get_section(index, s, &section, NULL) == SIDBEAM_OK; ++s) {
      found += strcmp(section.kind, expected[i].kind) == 0 && strcmp(section.encoding, expected[i].encoding) == 0;
    }
    CHECK(found > 0);
    sidbeam_index_release(index);
  }
}

static void trailing_bytes_are_refused(void) {
  specimen s = prepare(0);
  sidbeam_index* index = NULL;
  void* longer = NULL;
  CHECK(posix_memalign(&longer, 64, (size_t)s.size + 64) == 0);
  memset(longer, 0, (size_t)s.size + 64);
  memcpy(longer, s.bytes, (size_t)s.size);
  CHECK_INT(try_open(&s, longer, s.size + 64, SIDBEAM_VERIFY_HEADER, &index), SIDBEAM_CORRUPT);
  free(longer);
  finish(&s);
}

static void other_files_are_told_from_damaged_ones(void) {
  specimen s = prepare(0);
  sidbeam_index* index = NULL;
  memset(s.damaged, 'x', 8);
  CHECK_INT(try_open(&s, s.damaged, s.size, SIDBEAM_VERIFY_HEADER, &index), SIDBEAM_CORRUPT);
  CHECK(strstr(err.message, "wrong magic: not a sidbeam index") != NULL);
  memcpy(s.damaged, s.bytes, 8);
  s.damaged[8] = 9; /* the major version */
  CHECK_INT(try_open(&s, s.damaged, s.size, SIDBEAM_VERIFY_HEADER, &index), SIDBEAM_UNSUPPORTED);
  CHECK(strstr(err.message, "format version 9.") != NULL && strstr(err.message, "this library reads version ") != NULL);
  finish(&s);
}

int main(void) {
  static const test_case tests[] = {
      TEST(every_truncation_is_refused),
      TEST(every_changed_byte_is_found_by_the_depth_that_covers_it),
      TEST(every_changed_byte_is_harmless_without_verification),
      TEST(sections_of_noise_are_harmless_without_verification),
      TEST(the_specimens_have_what_they_are_meant_for),
      TEST(trailing_bytes_are_refused),
      TEST(other_files_are_told_from_damaged_ones),
  };
  for (int32_t i = 0; i < 68; ++i) {
    dense_sids[2 * i] = i;
    dense_sids[2 * i + 1] = i % 3;
  }
  for (int32_t i = 0; i < 70; ++i) { /* (0) (0,0) (0,0,0) (0,0,1,1), and 66 that begin with (1,0) */
    const int32_t sid[4] = {i >= 4, 0, i < 4 ? i == 3 : i, i % 2};
    memcpy(high_sids + 4 * i, sid, sizeof sid);
    high_lengths[i] = i < 3 ? i + 1 : 4;
  }
  return RUN_TESTS(tests);
}
