/* Indexes on a device: what is refused, that failures leave nothing behind, and that memory goes back after the work
 * that reads it and not before. SPDX-License-Identifier: Apache-2.0 */
#include "../../capi/fixtures.h"
#include "device.h"

static sidbeam_upload_info uploaded(const sidbeam_index* index, int32_t device) {
  sidbeam_upload_info info = SIDBEAM_UPLOAD_INFO_INIT;
  CHECK_OK(sidbeam_index_get_upload(index, device, &info, &err));
  return info;
}

static sidbeam_upload_config upload_config(void) {
  const sidbeam_upload_config config = SIDBEAM_UPLOAD_CONFIG_INIT;
  return config;
}

static void check_nothing_is_left(void) { CHECK_INT(live_allocations(), 0); }

static void an_upload_tells_its_kinds_and_bytes_and_is_made_once(void) {
  sidbeam_index* index = make_index(&small, ALL_KINDS);
  CHECK_INT(uploaded(index, 0).kinds, 0);
  CHECK_INT(uploaded(index, 0).bytes, 0);
  CHECK_OK(sidbeam_index_upload(index, NULL, &err));
  const sidbeam_upload_info first = uploaded(index, 0);
  CHECK_INT(first.kinds, ALL_KINDS);
  CHECK(first.bytes > 1000);
  const int64_t live = live_allocations();
  sidbeam_upload_config config = upload_config();
  config.kinds = SIDBEAM_KIND_SORTED;
  CHECK_OK(sidbeam_index_upload(index, &config, &err));
  CHECK_INT(live_allocations(), live);
  CHECK_INT(uploaded(index, 0).bytes, first.bytes);
  CHECK_INT(uploaded(index, 1).kinds, 0);
  sidbeam_index_release(index);
  check_nothing_is_left();
}

static void only_the_kinds_that_are_named_are_copied(void) {
  sidbeam_index* index = make_index(&small, ALL_KINDS);
  sidbeam_upload_config config = upload_config();
  config.kinds = SIDBEAM_KIND_HASH;
  CHECK_OK(sidbeam_index_upload(index, &config, &err));
  CHECK_INT(uploaded(index, 0).kinds, SIDBEAM_KIND_HASH | SIDBEAM_KIND_SORTED);
  const int64_t bytes = uploaded(index, 0).bytes;
  config.kinds = SIDBEAM_KIND_COMPACT_TRIE;
  CHECK_OK(sidbeam_index_upload(index, &config, &err));
  CHECK_INT(uploaded(index, 0).kinds, ALL_KINDS);
  CHECK(uploaded(index, 0).bytes > bytes);
  sidbeam_index_unload(index, 1);
  CHECK_INT(uploaded(index, 0).kinds, ALL_KINDS);
  sidbeam_index_unload(index, 0);
  CHECK_INT(uploaded(index, 0).kinds, 0);
  check_nothing_is_left();
  sidbeam_index_release(index);
}

static void uploads_that_make_no_sense_are_refused(void) {
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_upload_config config = upload_config();
  CHECK_FAILS(sidbeam_index_upload(NULL, &config, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  config.kinds = 64;
  CHECK_FAILS(sidbeam_index_upload(index, &config, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.kinds is 0x40, expected SIDBEAM_KIND_* or'ed");
  config.kinds = SIDBEAM_KIND_SORTED;
  CHECK_FAILS(sidbeam_index_upload(index, &config, &err), SIDBEAM_MISSING_SECTION,
              "config.kinds asks for columns, expected an index built with kinds sorted");
  config.kinds = SIDBEAM_KIND_HASH;
  CHECK_FAILS(sidbeam_index_upload(index, &config, &err), SIDBEAM_MISSING_SECTION,
              "config.kinds asks for a hash set, expected an index built with kinds hash");
  config = upload_config();
  config.verify = 2;
  CHECK_FAILS(sidbeam_index_upload(index, &config, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.verify is 2, expected 0 or 1");
  config = upload_config();
  config.chunk_bytes = 100;
  CHECK_FAILS(sidbeam_index_upload(index, &config, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.chunk_bytes is 100, expected 4096..1073741824, or 0");
  config = upload_config();
  config.bytes_per_second = -1;
  CHECK_FAILS(sidbeam_index_upload(index, &config, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.bytes_per_second is -1, expected at least 0");
  config = upload_config();
  config.device_id = 5;
  CHECK_FAILS(sidbeam_index_upload(index, &config, &err), SIDBEAM_NO_DEVICE, "device_id is 5, expected 0..0");
  CHECK_INT(uploaded(index, 0).kinds, 0);
  sidbeam_index_unload(NULL, 0);
  sidbeam_index_release(index);
  check_nothing_is_left();
}

static void running_out_of_memory_at_any_point_leaves_nothing_behind(void) {
  sidbeam_index* index = make_index(&small, ALL_KINDS);
  int64_t failed = 0;
  for (int64_t n = 1;; ++n) {
    fail_allocation(n);
    clear_error();
    const sidbeam_status status = sidbeam_index_upload(index, NULL, &err);
    fail_allocation(0);
    if (status == SIDBEAM_OK) break;
    CHECK_INT(status, SIDBEAM_OUT_OF_MEMORY);
    CHECK(strstr(err.message, "CUDA device 0 has no ") != NULL ||
          strstr(err.message, " bytes of pinned memory are left") != NULL);
    CHECK_INT(live_allocations(), 0);
    CHECK_INT(uploaded(index, 0).kinds, 0);
    ++failed;
  }
  CHECK(failed >= 3); /* the copy, and two buffers that it goes through */
  CHECK_INT(uploaded(index, 0).kinds, ALL_KINDS);
  sidbeam_index_release(index);
  check_nothing_is_left();
}

typedef struct ledger {
  int64_t live, calls;
  int refuses, misaligns;
  void* stream;
} ledger;

static void* allocate(void* context, int32_t device_id, int64_t bytes, void* stream) {
  ledger* book = context;
  CHECK_INT(device_id, 0);
  book->stream = stream;
  if (book->refuses) return NULL;
  book->live += bytes;
  ++book->calls;
  return (char*)device_memory((size_t)bytes + 256) + (book->misaligns ? 16 : 0);
}

static void release(void* context, int32_t device_id, void* memory, int64_t bytes, void* stream) {
  ledger* book = context;
  CHECK_INT(device_id, 0);
  (void)stream;
  book->live -= bytes;
  release_device((char*)memory - (book->misaligns ? 16 : 0));
}

static void the_callers_allocator_is_used_and_balanced(void) {
  ledger book = {0};
  sidbeam_device_allocator allocator = SIDBEAM_DEVICE_ALLOCATOR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  sidbeam_builder* builder = NULL;
  sidbeam_index* index = NULL;
  allocator.context = &book;
  allocator.allocate = allocate;
  allocator.release = release;
  config.device_allocator = &allocator;
  CHECK_OK(sidbeam_runtime_create(&config, &runtime, &err));
  const sidbeam_builder_config shape = builder_config(&small, ALL_KINDS);
  CHECK_OK(sidbeam_builder_create(runtime, &shape, &builder, &err));
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_builder_destroy(builder);
  book.refuses = 1;
  CHECK_FAILS(sidbeam_index_upload(index, NULL, &err), SIDBEAM_OUT_OF_MEMORY, "device_allocator gave no ");
  book.refuses = 0;
  book.misaligns = 1;
  CHECK_FAILS(sidbeam_index_upload(index, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "device_allocator gave ",
              ", expected a multiple of 256");
  CHECK_INT(book.live, 0);
  book.misaligns = 0;
  CHECK_OK(sidbeam_index_upload(index, NULL, &err));
  CHECK_INT(book.live, uploaded(index, 0).bytes);
  CHECK(book.stream != NULL);
  sidbeam_index_release(index);
  sidbeam_runtime_release(runtime);
  CHECK_INT(book.live, 0);
  CHECK_INT(book.calls, 2);
  check_nothing_is_left();
}

static void a_slow_upload_keeps_below_its_rate(void) {
  sidbeam_index* index = make_index(&small, ALL_KINDS);
  sidbeam_upload_config config = upload_config();
  config.chunk_bytes = 4096;
  config.bytes_per_second = 1 << 20;
  CHECK_OK(sidbeam_index_upload(index, &config, &err));
  CHECK_INT(uploaded(index, 0).kinds, ALL_KINDS);
  sidbeam_index_release(index);
}

static void streams_of_other_devices_and_captured_ones_are_refused(void) {
  sidbeam_index* index = make_index(&small, ALL_KINDS);
  sidbeam_upload_config config = upload_config();
  set_devices(2);
  use_device(1);
  config.stream = make_stream();
  use_device(0);
  CHECK_FAILS(sidbeam_index_upload(index, &config, &err), SIDBEAM_INVALID_ARGUMENT,
              "stream belongs to CUDA device 1, expected 0");
  release_stream(config.stream);
  set_devices(1);
  config.stream = make_stream();
  begin_capture(config.stream);
  CHECK_FAILS(sidbeam_index_upload(index, &config, &err), SIDBEAM_BAD_STATE, "stream is being captured");
  release_graph(end_capture(config.stream));
  CHECK_OK(sidbeam_index_upload(index, &config, &err));
  release_stream(config.stream);
  sidbeam_index_release(index);
  check_nothing_is_left();
}

static void an_error_of_earlier_work_is_reported_as_such(void) {
  sidbeam_index* index = make_index(&small, ALL_KINDS);
  set_illegal_access(1);
  CHECK_FAILS(sidbeam_index_upload(index, NULL, &err), SIDBEAM_DEVICE_ERROR, "work that was enqueued before failed",
              " (cudaErrorIllegalAddress)");
  set_illegal_access(0);
  CHECK_INT(uploaded(index, 0).kinds, 0);
  CHECK_OK(sidbeam_index_upload(index, NULL, &err));
  sidbeam_index_release(index);
  check_nothing_is_left();
}

static void devices_have_copies_of_their_own(void) {
  sidbeam_index* index = make_index(&small, ALL_KINDS);
  sidbeam_upload_config config = upload_config();
  set_devices(2);
  CHECK_OK(sidbeam_index_upload(index, &config, &err));
  config.device_id = 1;
  config.kinds = SIDBEAM_KIND_TRIE;
  CHECK_OK(sidbeam_index_upload(index, &config, &err));
  CHECK_INT(uploaded(index, 0).kinds, ALL_KINDS);
  CHECK_INT(uploaded(index, 1).kinds, SIDBEAM_KIND_TRIE);
  sidbeam_index_unload(index, 0);
  CHECK_INT(uploaded(index, 0).kinds, 0);
  CHECK_INT(uploaded(index, 1).kinds, SIDBEAM_KIND_TRIE);
  sidbeam_index_release(index);
  set_devices(1);
  check_nothing_is_left();
}

/* Changes a byte in the middle of a section. */
static void damage(unsigned char* bytes, const sidbeam_index* index, const char* kind, int32_t level) {
  for (int64_t i = 0;; ++i) {
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    CHECK_OK(sidbeam_index_get_section(index, i, &section, &err));
    if (strcmp(section.kind, kind) != 0 || section.level != level) continue;
    bytes[section.offset + section.bytes / 4 * 2] ^= 3;
    return;
  }
}

static void damage_is_found_on_the_device_where_it_is_looked_for(void) {
  static const struct {
    const char* kind;
    int32_t level;
  } cases[] = {{"tokens", 1}, {"row_pointers", 1}, {"columns", 2}, {"seeded_hash_keys", -1}, {"hash_ordinals", -1}};
  for (size_t i = 0; i < COUNT(cases); ++i) {
    int64_t count = 0;
    unsigned char* bytes = index_bytes(&small, ALL_KINDS, &count);
    sidbeam_runtime* runtime = make_runtime();
    sidbeam_index* index = NULL;
    CHECK_OK(sidbeam_index_open_memory(runtime, bytes, count, NULL, NULL, NULL, &index, &err));
    damage(bytes, index, cases[i].kind, cases[i].level);
    CHECK_FAILS(sidbeam_index_upload(index, NULL, &err), SIDBEAM_CORRUPT, "the structure of the index has ",
                " faults, found on CUDA device 0");
    CHECK_INT(uploaded(index, 0).kinds, 0);
    CHECK_INT(live_allocations(), 0);
    sidbeam_upload_config config = upload_config();
    config.verify = 0;
    CHECK_OK(sidbeam_index_upload(index, &config, &err));
    sidbeam_index_release(index);
    sidbeam_runtime_release(runtime);
    free(bytes);
  }
  check_nothing_is_left();
}

/* Its verification finds every SID in the set. */
static void hash_sets_of_before_1_2_are_sound_on_the_device(void) {
  static const char* const paths[2] = {OLDER "radix.sidx", OLDER "hashed.sidx"};
  for (size_t i = 0; i < COUNT(paths); ++i) {
    sidbeam_runtime* runtime = make_runtime();
    sidbeam_index* index = NULL;
    CHECK_OK(sidbeam_index_open(runtime, paths[i], NULL, &index, &err));
    CHECK_OK(sidbeam_index_upload(index, NULL, &err));
    CHECK_INT(uploaded(index, 0).kinds, SIDBEAM_KIND_SORTED | SIDBEAM_KIND_HASH);
    sidbeam_index_release(index);
    sidbeam_runtime_release(runtime);
  }
  check_nothing_is_left();
}

/* Items' ids are as good as any others, and what they are called the device never sees. */
static int is_checked(const char* kind) {
  return strncmp(kind, "item_id", 7) != 0 && strncmp(kind, "item_name", 9) != 0;
}

/* The device runs the rules of every section that it reads, whatever the kind of index. */
static void damage_in_every_section_is_found_on_the_device(void) {
  static const int32_t kinds[] = {ALL_KINDS, SIDBEAM_KIND_COMPACT_TRIE | SIDBEAM_KIND_SORTED};
  const catalogue* const from[] = {&small, &small_variable};
  int32_t checked = 0;
  for (size_t c = 0; c < COUNT(from) * COUNT(kinds); ++c) {
    for (int64_t i = 0;; ++i) {
      int64_t count = 0;
      unsigned char* bytes = index_bytes(from[c / COUNT(kinds)], kinds[c % COUNT(kinds)], &count);
      sidbeam_runtime* runtime = make_runtime();
      sidbeam_index* index = NULL;
      CHECK_OK(sidbeam_index_open_memory(runtime, bytes, count, NULL, NULL, NULL, &index, &err));
      sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
      const int past_the_last = sidbeam_index_get_section(index, i, &section, NULL) != SIDBEAM_OK;
      if (!past_the_last && is_checked(section.kind)) {
        damage(bytes, index, section.kind, section.level);
        CHECK_FAILS(sidbeam_index_upload(index, NULL, &err), SIDBEAM_CORRUPT, "device 0",
                    " faults, found on CUDA device 0");
        ++checked;
      }
      sidbeam_index_release(index);
      sidbeam_runtime_release(runtime);
      free(bytes);
      if (past_the_last) break;
    }
  }
  CHECK(checked > 40);
  check_nothing_is_left();
}

int main(void) {
  static const test_case tests[] = {
      TEST(an_upload_tells_its_kinds_and_bytes_and_is_made_once),
      TEST(only_the_kinds_that_are_named_are_copied),
      TEST(uploads_that_make_no_sense_are_refused),
      TEST(running_out_of_memory_at_any_point_leaves_nothing_behind),
      TEST(the_callers_allocator_is_used_and_balanced),
      TEST(a_slow_upload_keeps_below_its_rate),
      TEST(streams_of_other_devices_and_captured_ones_are_refused),
      TEST(an_error_of_earlier_work_is_reported_as_such),
      TEST(devices_have_copies_of_their_own),
      TEST(damage_is_found_on_the_device_where_it_is_looked_for),
      TEST(damage_in_every_section_is_found_on_the_device),
      TEST(hash_sets_of_before_1_2_are_sound_on_the_device),
  };
  return RUN_TESTS(tests);
}
