/* An opened index: opening, peeking, lookups, items, and who lives how long. SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

static const int32_t sorted_small[5][3] = {{0, 1, 2}, {0, 1, 3}, {0, 3, 0}, {2, 2, 1}, {3, 0, 0}};

static void count_release(void* context) { ++*(int*)context; }

static const char* written(const catalogue* from, int32_t kinds) {
  const char* path = temporary_path("index.sidx");
  sidbeam_builder* builder = make_builder(from, kinds);
  CHECK_OK(sidbeam_builder_write(builder, path, &err));
  sidbeam_builder_destroy(builder);
  return path;
}

static void handles_may_be_null_where_released(void) {
  sidbeam_index_release(NULL);
  sidbeam_constraint_release(NULL);
  CHECK(sidbeam_index_codebook(NULL) == NULL);
}

static void null_arguments_are_refused(void) {
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_index *index = make_index(&small, SIDBEAM_KIND_TRIE), *other = NULL;
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  int64_t a = 0, b = 0;
  int32_t codes[3] = {0, 0, 0}, n = 0;
  const char* text = NULL;
  CHECK_FAILS(sidbeam_index_peek(NULL, 0, NULL, NULL, NULL, &info, &err), SIDBEAM_INVALID_ARGUMENT, "path is NULL");
  CHECK_FAILS(sidbeam_index_peek("x", 0, NULL, NULL, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_FAILS(sidbeam_index_open(NULL, "x", NULL, &other, &err), SIDBEAM_INVALID_ARGUMENT, "runtime is NULL");
  CHECK_FAILS(sidbeam_index_open(runtime, NULL, NULL, &other, &err), SIDBEAM_INVALID_ARGUMENT, "path is NULL");
  CHECK_FAILS(sidbeam_index_open(runtime, "x", NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_FAILS(sidbeam_index_open_memory(runtime, NULL, 64, NULL, NULL, NULL, &other, &err), SIDBEAM_INVALID_ARGUMENT,
              "data is NULL");
  CHECK_FAILS(sidbeam_index_verify(NULL, 0, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK_FAILS(sidbeam_index_get_info(NULL, &info, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK_FAILS(sidbeam_index_get_info(index, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_FAILS(sidbeam_index_get_section(index, 0, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  CHECK_FAILS(sidbeam_index_sid(NULL, 0, codes, &n, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK_FAILS(sidbeam_index_sid(index, 0, NULL, &n, &err), SIDBEAM_INVALID_ARGUMENT, "codes is NULL");
  CHECK_FAILS(sidbeam_index_find_sid(NULL, codes, 3, &a, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK_FAILS(sidbeam_index_find_sid(index, NULL, 3, &a, &err), SIDBEAM_INVALID_ARGUMENT, "codes is NULL");
  CHECK_FAILS(sidbeam_index_find_sid(index, codes, 3, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "ordinal is NULL");
  CHECK_FAILS(sidbeam_index_ordinals(NULL, codes, 1, &a, &b, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK_FAILS(sidbeam_index_ordinals(index, NULL, 1, &a, &b, &err), SIDBEAM_INVALID_ARGUMENT, "prefix is NULL");
  CHECK_FAILS(sidbeam_index_children(NULL, codes, 1, 0, NULL, &a, &n, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK_FAILS(sidbeam_index_children(index, codes, 1, 4, NULL, &a, &n, &err), SIDBEAM_INVALID_ARGUMENT,
              "codes is NULL");
  CHECK_FAILS(sidbeam_index_item_rows(NULL, 0, &a, &b, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK_FAILS(sidbeam_index_item_ordinal(NULL, 0, &a, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK_FAILS(sidbeam_index_item_id(NULL, 0, &a, &text, &b, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK_FAILS(sidbeam_index_item_priority(NULL, 0, &a, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  CHECK_FAILS(sidbeam_index_item_priority(index, 0, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "priority is NULL");
  CHECK_FAILS(sidbeam_index_find_item(NULL, 0, NULL, 0, 0, &a, &err), SIDBEAM_INVALID_ARGUMENT, "index is NULL");
  sidbeam_index_release(index);
  sidbeam_runtime_release(runtime);
}

static void numbers_out_of_range_are_refused(void) {
  sidbeam_index* index = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
  int64_t a = 0, b = 0;
  int32_t codes[3] = {0, 1, 2}, n = 0;
  const char *key = NULL, *value = NULL;
  CHECK_FAILS(sidbeam_index_sid(index, 5, codes, &n, &err), SIDBEAM_INVALID_ARGUMENT, "ordinal is 5, expected 0..4");
  CHECK_FAILS(sidbeam_index_sid(index, -1, codes, &n, &err), SIDBEAM_INVALID_ARGUMENT, "ordinal is -1, expected 0..4");
  CHECK_FAILS(sidbeam_index_item_rows(index, 5, &a, &b, &err), SIDBEAM_INVALID_ARGUMENT, "ordinal is 5, expected 0..4");
  CHECK_FAILS(sidbeam_index_item_ordinal(index, 6, &a, &err), SIDBEAM_INVALID_ARGUMENT, "item_row is 6, expected 0..5");
  CHECK_FAILS(sidbeam_index_item_id(index, -1, &a, &key, &b, &err), SIDBEAM_INVALID_ARGUMENT,
              "item_row is -1, expected 0..5");
  CHECK_FAILS(sidbeam_index_item_priority(index, 6, &a, &err), SIDBEAM_INVALID_ARGUMENT,
              "item_row is 6, expected 0..5");
  CHECK_FAILS(sidbeam_index_get_section(index, 999, &section, &err), SIDBEAM_INVALID_ARGUMENT,
              "i is 999, expected 0..");
  CHECK_FAILS(sidbeam_index_get_metadata(index, 0, &key, &value, &err), SIDBEAM_INVALID_ARGUMENT,
              "i is 0, expected less than 0, the entries there are");
  CHECK_FAILS(sidbeam_index_ordinals(index, codes, 4, &a, &b, &err), SIDBEAM_INVALID_ARGUMENT,
              "length is 4, expected 0..3");
  CHECK_FAILS(sidbeam_index_ordinals(index, codes, -1, &a, &b, &err), SIDBEAM_INVALID_ARGUMENT,
              "length is -1, expected 0..3");
  CHECK_FAILS(sidbeam_index_children(index, codes, 3, 0, NULL, &a, &n, &err), SIDBEAM_INVALID_ARGUMENT,
              "length is 3, expected 0..2");
  CHECK_FAILS(sidbeam_index_children(index, codes, 1, -1, NULL, &a, &n, &err), SIDBEAM_INVALID_ARGUMENT,
              "capacity is -1, expected at least 0");
  CHECK_FAILS(sidbeam_index_get_section(index, INT64_MIN, &section, &err), SIDBEAM_INVALID_ARGUMENT,
              "i is -9223372036854775808, expected 0..");
  CHECK_FAILS(sidbeam_index_get_metadata(index, (int64_t)1 << 32, &key, &value, &err), SIDBEAM_INVALID_ARGUMENT,
              "i is 4294967296");
  CHECK_FAILS(sidbeam_index_verify(index, 3, &err), SIDBEAM_INVALID_ARGUMENT,
              "depth is 3, expected HEADER (0) to FULL (2)");
  sidbeam_index_release(index);
}

static void unknown_residency_and_depth_are_refused(void) {
  const char* path = written(&small, SIDBEAM_KIND_TRIE);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_index* index = NULL;
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  config.residency = 4;
  CHECK_FAILS(sidbeam_index_open(runtime, path, &config, &index, &err), SIDBEAM_INVALID_ARGUMENT,
              "residency is 4, expected SIDBEAM_RESIDENCY_* (0 to 3)");
  config.residency = 0;
  config.verify = -1;
  CHECK_FAILS(sidbeam_index_open(runtime, path, &config, &index, &err), SIDBEAM_INVALID_ARGUMENT,
              "verify is -1, expected SIDBEAM_VERIFY_* (0 to 2)");
  sidbeam_runtime_release(runtime);
}

static void files_that_cannot_be_read_are_io_errors(void) {
  const char* path = temporary_path("missing.sidx");
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_index* index = NULL;
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  CHECK_FAILS(sidbeam_index_open(runtime, path, NULL, &index, &err), SIDBEAM_IO_ERROR, path,
              "No such file or directory");
  CHECK_FAILS(sidbeam_index_peek(path, 0, NULL, NULL, NULL, &info, &err), SIDBEAM_IO_ERROR, path,
              "No such file or directory");
  CHECK_FAILS(sidbeam_index_open(runtime, "/", NULL, &index, &err), SIDBEAM_IO_ERROR, "cannot open '/': ");
  CHECK(index == NULL);
  sidbeam_runtime_release(runtime);
}

static void every_residency_and_depth_opens(void) {
  const char* path = written(&small, ALL_KINDS);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  for (config.residency = 0; config.residency <= SIDBEAM_RESIDENCY_COPY; ++config.residency) {
    for (config.verify = 0; config.verify <= SIDBEAM_VERIFY_FULL; ++config.verify) {
      sidbeam_index* index = NULL;
      int64_t ordinal = -2;
      clear_error();
      const sidbeam_status status = sidbeam_index_open(runtime, path, &config, &index, &err);
      /* Locking needs a limit that the machine may not give. */
      if (config.residency == SIDBEAM_RESIDENCY_LOCK && status == SIDBEAM_IO_ERROR) {
        CHECK(strstr(err.message, "in memory: ") != NULL && strstr(err.message, "(see ulimit -l)") != NULL);
        continue;
      }
      check_ok(__FILE__, __LINE__, "open", status);
      CHECK_OK(sidbeam_index_find_sid(index, sorted_small[3], 3, &ordinal, &err));
      CHECK_INT(ordinal, 3);
      sidbeam_index_release(index);
    }
  }
  sidbeam_runtime_release(runtime);
}

static void peek_agrees_with_open(void) {
  const char* path = written(&small, ALL_KINDS);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_index* index = NULL;
  sidbeam_index_info peeked = SIDBEAM_INDEX_INFO_INIT, opened = SIDBEAM_INDEX_INFO_INIT;
  int32_t codes[3], children[3];
  int64_t nodes[3];
  CHECK_OK(sidbeam_index_peek(path, 3, codes, children, nodes, &peeked, &err));
  CHECK_OK(sidbeam_index_open(runtime, path, NULL, &index, &err));
  CHECK_OK(sidbeam_index_get_info(index, &opened, &err));
  CHECK(peeked.codes == codes && peeked.max_children == children && peeked.nodes == nodes);
  CHECK_I32(codes, opened.codes, 3);
  CHECK_I32(children, opened.max_children, 3);
  CHECK_I64(nodes, opened.nodes, 3);
  peeked.codes = opened.codes, peeked.max_children = opened.max_children, peeked.nodes = opened.nodes;
  CHECK(memcmp(&peeked, &opened, sizeof peeked) == 0);
  sidbeam_index_release(index);
  sidbeam_runtime_release(runtime);
}

static void peek_fills_the_arrays_that_are_asked_for(void) {
  const char* path = written(&small, ALL_KINDS);
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  int32_t children[5] = {-7, -7, -7, -7, -7};
  CHECK_OK(sidbeam_index_peek(path, 5, NULL, children, NULL, &info, &err));
  CHECK(info.codes == NULL && info.max_children == children && info.nodes == NULL);
  CHECK(children[0] == 3 && children[2] == 2 && children[3] == -7);
  children[0] = info.levels = -7;
  CHECK_FAILS(sidbeam_index_peek(path, 2, NULL, children, NULL, &info, &err), SIDBEAM_INVALID_ARGUMENT,
              "capacity is 2, expected at least 3, the levels of '", path);
  CHECK(children[0] == -7 && info.levels == -7);
  CHECK_OK(sidbeam_index_peek(path, -1, NULL, NULL, NULL, &info, &err));
  CHECK_INT(info.levels, 3);
}

static int32_t verified(const sidbeam_index* index) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  info.verified = -7;
  CHECK_OK(sidbeam_index_get_info(index, &info, &err));
  return info.verified;
}

static void info_says_how_far_an_index_was_verified(void) {
  const char* path = written(&small, ALL_KINDS);
  int64_t bytes = 0;
  unsigned char* data = index_bytes(&small, ALL_KINDS, &bytes);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  sidbeam_index *index = NULL, *in_memory = NULL;
  for (config.verify = 0; config.verify <= SIDBEAM_VERIFY_FULL; ++config.verify) {
    CHECK_OK(sidbeam_index_open(runtime, path, &config, &index, &err));
    CHECK_OK(sidbeam_index_open_memory(runtime, data, bytes, NULL, NULL, &config, &in_memory, &err));
    CHECK_INT(verified(index), config.verify);
    CHECK_INT(verified(in_memory), config.verify);
    /* It rises, and does not fall. */
    for (int32_t depth = SIDBEAM_VERIFY_HEADER; depth <= SIDBEAM_VERIFY_FULL; ++depth) {
      CHECK_OK(sidbeam_index_verify(index, depth, &err));
      CHECK_INT(verified(index), depth < config.verify ? config.verify : depth);
    }
    CHECK_OK(sidbeam_index_verify(index, SIDBEAM_VERIFY_CHECKSUMS, &err));
    CHECK_INT(verified(index), SIDBEAM_VERIFY_FULL);
    CHECK_INT(verified(in_memory), config.verify);
    sidbeam_index_release(index);
    sidbeam_index_release(in_memory);
  }
  sidbeam_index_info peeked = SIDBEAM_INDEX_INFO_INIT;
  peeked.verified = -7;
  CHECK_OK(sidbeam_index_peek(path, 0, NULL, NULL, NULL, &peeked, &err));
  CHECK_INT(peeked.verified, SIDBEAM_VERIFY_HEADER);
  index = make_index(&small, ALL_KINDS); /* which a builder has finished */
  CHECK_INT(verified(index), SIDBEAM_VERIFY_FULL);
  sidbeam_index_release(index);
  free(data);
  sidbeam_runtime_release(runtime);
}

static void what_fails_to_verify_stays_where_it_was(void) {
  int64_t bytes = 0;
  unsigned char* data = index_bytes(&small, ALL_KINDS, &bytes);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_index* index = NULL;
  data[bytes - 1] ^= 1;
  CHECK_OK(sidbeam_index_open_memory(runtime, data, bytes, NULL, NULL, NULL, &index, &err));
  CHECK_INT(sidbeam_index_verify(index, SIDBEAM_VERIFY_FULL, NULL), SIDBEAM_CORRUPT);
  CHECK_INT(verified(index), SIDBEAM_VERIFY_HEADER);
  data[bytes - 1] ^= 1;
  CHECK_OK(sidbeam_index_verify(index, SIDBEAM_VERIFY_CHECKSUMS, &err));
  CHECK_INT(verified(index), SIDBEAM_VERIFY_CHECKSUMS);
  sidbeam_index_release(index);
  sidbeam_runtime_release(runtime);
  free(data);
}

static void info_describes_the_catalogue(void) {
  static const int32_t codes[3] = {4, 4, 4}, children[3] = {3, 2, 2};
  static const int64_t nodes[3] = {3, 4, 5};
  sidbeam_index* index = make_index(&small, ALL_KINDS);
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  CHECK_OK(sidbeam_index_get_info(index, &info, &err));
  CHECK_INT(info.levels, 3);
  CHECK_INT(info.variable_length, 0);
  CHECK_INT(info.shortest, 3);
  CHECK_INT(info.longest, 3);
  CHECK_INT(info.id_type, SIDBEAM_ID_I64);
  CHECK_INT(info.kinds, ALL_KINDS);
  CHECK_INT(info.sids, 5);
  CHECK_INT(info.items, 6);
  CHECK_INT(info.collisions, 1);
  CHECK_INT(info.merged_pairs, 0);
  CHECK_INT(info.max_items_per_sid, 2);
  CHECK_INT(strlen(info.fingerprint), 32);
  CHECK_I32(info.codes, codes, 3);
  CHECK_I32(info.max_children, children, 3);
  CHECK_I64(info.nodes, nodes, 3);
  CHECK_TEXT(sidbeam_index_codebook(index), "");
  sidbeam_index_release(index);
}

static void a_compact_trie_is_reported_as_a_trie_too(void) {
  static const int32_t kinds[3] = {SIDBEAM_KIND_COMPACT_TRIE, SIDBEAM_KIND_COMPACT_TRIE | SIDBEAM_KIND_TRIE,
                                   SIDBEAM_KIND_COMPACT_TRIE | SIDBEAM_KIND_SORTED};
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT, plain = SIDBEAM_INDEX_INFO_INIT;
  sidbeam_index *trie = make_index(&small, SIDBEAM_KIND_TRIE), *index;
  CHECK_OK(sidbeam_index_get_info(trie, &plain, &err));
  for (int i = 0; i < 3; ++i) {
    index = make_index(&small, kinds[i]);
    CHECK_OK(sidbeam_index_get_info(index, &info, &err));
    CHECK_INT(info.kinds, kinds[i] | SIDBEAM_KIND_TRIE);
    CHECK_TEXT(info.fingerprint, plain.fingerprint);
    CHECK_I64(info.nodes, plain.nodes, 3);
    CHECK_I32(info.max_children, plain.max_children, 3);
    CHECK_OK(sidbeam_index_verify(index, SIDBEAM_VERIFY_FULL, &err));
    sidbeam_index_release(index);
  }
  sidbeam_index_release(trie);
}

static void sections_lie_in_order_inside_the_file(void) {
  sidbeam_index* index = make_index(&small, ALL_KINDS);
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  int64_t end = 0;
  int code_sections = 0;
  CHECK_OK(sidbeam_index_get_info(index, &info, &err));
  CHECK(info.section_count > 0);
  for (int64_t i = 0; i < info.section_count; ++i) {
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    CHECK_OK(sidbeam_index_get_section(index, i, &section, &err));
    CHECK(section.offset % 64 == 0 && section.offset >= end && section.bytes >= 0);
    end = section.offset + section.bytes;
    code_sections += strcmp(section.kind, "tokens") == 0;
    CHECK(section.encoding != NULL && section.encoding[0] != '\0');
  }
  CHECK_INT(code_sections, 3);
  CHECK(end <= info.file_bytes);
  sidbeam_index_release(index);
}

static void each_kind_alone_answers_lookups(void) {
  static const int32_t absent[3] = {1, 1, 1}, outside[3] = {0, 1, 4}, first[1] = {0};
  for (int32_t kind = SIDBEAM_KIND_TRIE; kind <= SIDBEAM_KIND_COMPACT_TRIE; kind *= 2) {
    sidbeam_index* index = make_index(&small, kind);
    int64_t ordinal = 0, lo = 0, hi = 0;
    for (int64_t i = 0; i < 5; ++i) {
      int32_t codes[3] = {-9, -9, -9}, length = 0;
      CHECK_OK(sidbeam_index_sid(index, i, codes, &length, &err));
      CHECK_INT(length, 3);
      CHECK_I32(codes, sorted_small[i], 3);
      CHECK_OK(sidbeam_index_find_sid(index, sorted_small[i], 3, &ordinal, &err));
      CHECK_INT(ordinal, i);
    }
    CHECK_OK(sidbeam_index_find_sid(index, absent, 3, &ordinal, &err));
    CHECK_INT(ordinal, -1);
    CHECK_OK(sidbeam_index_find_sid(index, outside, 3, &ordinal, &err));
    CHECK_INT(ordinal, -1);
    CHECK_OK(sidbeam_index_find_sid(index, sorted_small[0], 2, &ordinal, &err));
    CHECK_INT(ordinal, -1);
    CHECK_OK(sidbeam_index_ordinals(index, first, 1, &lo, &hi, &err));
    CHECK(lo == 0 && hi == 3);
    CHECK_OK(sidbeam_index_ordinals(index, NULL, 0, &lo, &hi, &err));
    CHECK(lo == 0 && hi == 5);
    CHECK_OK(sidbeam_index_ordinals(index, absent, 1, &lo, &hi, &err));
    CHECK(lo == hi);
    sidbeam_index_release(index);
  }
}

static void children_rise_and_capacity_cuts_them(void) {
  static const int32_t root[3] = {0, 2, 3}, below[2] = {1, 3};
  for (int32_t kind = SIDBEAM_KIND_TRIE; kind <= SIDBEAM_KIND_COMPACT_TRIE; kind *= 2) {
    if (kind == SIDBEAM_KIND_HASH) continue; /* has the columns of SORTED */
    sidbeam_index* index = make_index(&small, kind);
    int32_t codes[4] = {-9, -9, -9, -9}, end = -1;
    int64_t count = 0;
    CHECK_OK(sidbeam_index_children(index, NULL, 0, 4, codes, &count, &end, &err));
    CHECK(count == 3 && end == 0 && codes[3] == -9);
    CHECK_I32(codes, root, 3);
    CHECK_OK(sidbeam_index_children(index, sorted_small[0], 1, 1, codes, &count, &end, &err));
    CHECK(count == 2 && codes[0] == below[0] && codes[1] == root[1]);
    CHECK_OK(sidbeam_index_children(index, below, 1, 0, NULL, &count, &end, &err));
    CHECK_INT(count, 0);
    sidbeam_index_release(index);
  }
}

static void ends_are_sids_that_are_prefixes_of_others(void) {
  for (int32_t kind = SIDBEAM_KIND_TRIE; kind <= SIDBEAM_KIND_COMPACT_TRIE; kind *= 2) {
    if (kind == SIDBEAM_KIND_HASH) continue; /* has the columns of SORTED */
    static const int32_t prefix[3] = {0, 1, 2}, lengths[5] = {3, 2, 1, 3, 2};
    sidbeam_index* index = make_index(&small_variable, kind);
    int32_t codes[4], end = -1;
    int64_t count = 0, ordinal = 0;
    CHECK_OK(sidbeam_index_children(index, prefix, 1, 4, codes, &count, &end, &err));
    CHECK(count == 1 && codes[0] == 1 && end == 1);
    CHECK_OK(sidbeam_index_children(index, prefix, 0, 4, codes, &count, &end, &err));
    CHECK(count == 3 && end == 0);
    for (int32_t i = 0; i < 5; ++i) {
      int32_t sid[3], length = 0;
      CHECK_OK(sidbeam_index_sid(index, i, sid, &length, &err));
      CHECK_INT(length, lengths[i]);
      CHECK_OK(sidbeam_index_find_sid(index, sid, length, &ordinal, &err));
      CHECK_INT(ordinal, i);
    }
    for (int32_t length = 1; length <= 3; ++length) {
      CHECK_OK(sidbeam_index_find_sid(index, prefix, length, &ordinal, &err));
      CHECK_INT(ordinal, 3 - length);
    }
    sidbeam_index_release(index);
  }
}

static void open_memory_releases_once_when_the_last_reference_goes(void) {
  int64_t bytes = 0, ordinal = 0;
  int released = 0;
  unsigned char* data = index_bytes(&small, SIDBEAM_KIND_TRIE, &bytes);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_index* index = NULL;
  CHECK_OK(sidbeam_index_open_memory(runtime, data, bytes, count_release, &released, NULL, &index, &err));
  sidbeam_constraint* constraint = constrain(index);
  sidbeam_index_retain(index);
  sidbeam_index_release(index);
  CHECK_OK(sidbeam_index_find_sid(index, sorted_small[1], 3, &ordinal, &err));
  sidbeam_index_release(index);
  CHECK_INT(released, 0);
  sidbeam_constraint_retain(constraint);
  sidbeam_constraint_release(constraint);
  CHECK_INT(released, 0);
  sidbeam_constraint_release(constraint);
  CHECK_INT(released, 1);
  sidbeam_runtime_release(runtime);
  free(data);
}

static void open_memory_with_copy_releases_before_it_returns(void) {
  int64_t bytes = 0, ordinal = 0;
  int released = 0;
  unsigned char* data = index_bytes(&small, SIDBEAM_KIND_TRIE, &bytes);
  unsigned char* odd = malloc((size_t)bytes + 1);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  sidbeam_index* index = NULL;
  CHECK(odd != NULL);
  memcpy(odd + 1, data, (size_t)bytes); /* COPY takes any address */
  free(data);
  config.residency = SIDBEAM_RESIDENCY_COPY;
  CHECK_OK(sidbeam_index_open_memory(runtime, odd + 1, bytes, count_release, &released, &config, &index, &err));
  CHECK_INT(released, 1);
  free(odd);
  CHECK_OK(sidbeam_index_find_sid(index, sorted_small[4], 3, &ordinal, &err));
  CHECK_INT(ordinal, 4);
  sidbeam_index_release(index);
  CHECK_INT(released, 1);
  sidbeam_runtime_release(runtime);
}

static void open_memory_that_fails_does_not_release(void) {
  int64_t bytes = 0;
  int released = 0;
  unsigned char* data = index_bytes(&small, SIDBEAM_KIND_TRIE, &bytes);
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  sidbeam_index* index = NULL;
  CHECK_FAILS(sidbeam_index_open_memory(runtime, data + 8, bytes - 8, count_release, &released, NULL, &index, &err),
              SIDBEAM_INVALID_ARGUMENT, "data lies at ", "expected a multiple of 64, or residency COPY");
  CHECK_FAILS(sidbeam_index_open_memory(runtime, data, -1, count_release, &released, NULL, &index, &err),
              SIDBEAM_INVALID_ARGUMENT, "bytes is -1, expected at least 0");
  CHECK_FAILS(sidbeam_index_open_memory(runtime, data, 20, count_release, &released, NULL, &index, &err),
              SIDBEAM_CORRUPT, "file too short: 20 bytes");
  config.residency = SIDBEAM_RESIDENCY_LOCK;
  CHECK_FAILS(sidbeam_index_open_memory(runtime, data, bytes, count_release, &released, &config, &index, &err),
              SIDBEAM_INVALID_ARGUMENT, "residency LOCK is for files, expected MAP, PREFAULT or COPY for memory");
  config.verify = SIDBEAM_VERIFY_FULL;
  data[bytes / 2 - 1] ^= 1;
  for (int residency = 0; residency <= SIDBEAM_RESIDENCY_COPY; residency += SIDBEAM_RESIDENCY_COPY) {
    config.residency = residency;
    for (int cut = 0; cut <= 64; cut += 64) {
      CHECK_INT(sidbeam_index_open_memory(runtime, data, bytes - cut, count_release, &released, &config, &index, NULL),
                SIDBEAM_CORRUPT);
    }
  }
  CHECK(released == 0 && index == NULL);
  sidbeam_runtime_release(runtime);
  free(data);
}

static void messages_are_one_line_of_whole_characters(void) {
  char path[600] = "/no/such\nfolder/\xff";
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  CHECK_FAILS(sidbeam_index_peek(path, 0, NULL, NULL, NULL, &info, &err), SIDBEAM_IO_ERROR,
              "/no/such\\x0afolder/\\xff");
  for (int i = 0; i < 280; ++i) memcpy(path + 2 * i, "\xc3\xa9", 3); /* e with an accent, cut somewhere */
  for (int odd = 0; odd < 2; ++odd) {
    path[0] = odd ? 'x' : '\xc3';
    CHECK_INT(sidbeam_index_peek(path + odd, 0, NULL, NULL, NULL, &info, &err), SIDBEAM_IO_ERROR);
    const size_t bytes = strlen(err.message);
    CHECK(bytes < sizeof err.message && strchr(err.message, '\n') == NULL);
    int whole = 0;
    for (size_t i = 0; i < bytes; ++i) {
      if (err.message[i] != '\xc3') continue;
      CHECK(err.message[i + 1] == '\xa9');
      ++whole;
    }
    CHECK(whole > 100);
  }
}

int main(void) {
  static const test_case tests[] = {
      TEST(messages_are_one_line_of_whole_characters),
      TEST(handles_may_be_null_where_released),
      TEST(null_arguments_are_refused),
      TEST(numbers_out_of_range_are_refused),
      TEST(unknown_residency_and_depth_are_refused),
      TEST(files_that_cannot_be_read_are_io_errors),
      TEST(every_residency_and_depth_opens),
      TEST(peek_agrees_with_open),
      TEST(peek_fills_the_arrays_that_are_asked_for),
      TEST(info_says_how_far_an_index_was_verified),
      TEST(what_fails_to_verify_stays_where_it_was),
      TEST(info_describes_the_catalogue),
      TEST(a_compact_trie_is_reported_as_a_trie_too),
      TEST(sections_lie_in_order_inside_the_file),
      TEST(each_kind_alone_answers_lookups),
      TEST(children_rise_and_capacity_cuts_them),
      TEST(ends_are_sids_that_are_prefixes_of_others),
      TEST(open_memory_releases_once_when_the_last_reference_goes),
      TEST(open_memory_with_copy_releases_before_it_returns),
      TEST(open_memory_that_fails_does_not_release),
  };
  return RUN_TESTS(tests);
}
