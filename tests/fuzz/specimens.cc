// SPDX-License-Identifier: Apache-2.0
#include "specimens.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fuzz {

void broken(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
  std::abort();
}

sidbeam_runtime* runtime() {
  static const Handle<sidbeam_runtime> instance = [] {
    sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
    sidbeam_runtime* made = nullptr;
    config.threads = 1;
    FUZZ_CHECK(sidbeam_runtime_create(&config, &made, nullptr) == SIDBEAM_OK);
    return Handle<sidbeam_runtime>(made);
  }();
  return instance.get();
}

namespace {

constexpr const char* kNames[] = {"integers", "numbers", "bools", "strings", "lists"};  // by type, from 1

// An attribute of each type for the rows of the builder's only add, of whose values every fifth is null.
void set_attributes(sidbeam_builder* builder, int64_t count) {
  const auto rows = static_cast<size_t>(count);
  std::vector<uint8_t> valid(rows), bools(rows);
  std::vector<int64_t> integers(rows), offsets(rows + 1), lists(rows + 1), codes;
  std::vector<float> numbers(rows);
  for (size_t i = 0; i < rows; ++i) {
    valid[i] = i % 5 != 4;
    bools[i] = i % 3 == 0;
    integers[i] = static_cast<int64_t>(i * i) - 9;
    numbers[i] = static_cast<float>(i) / 4;
    offsets[i + 1] = static_cast<int64_t>(i % 4 + i);
    if (offsets[i + 1] < offsets[i]) offsets[i + 1] = offsets[i];
    for (size_t k = 0; k < i % 3; ++k) codes.push_back(static_cast<int64_t>(k));
    lists[i + 1] = static_cast<int64_t>(codes.size());
  }
  const std::string text(static_cast<size_t>(offsets[rows]), 'x');
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  column.integers = integers.data();
  column.numbers = numbers.data();
  column.bools = bools.data();
  column.text = text.data();
  column.offsets = offsets.data();
  for (int32_t type = SIDBEAM_ATTRIBUTE_I64; type <= SIDBEAM_ATTRIBUTE_STRING_LIST; ++type) {
    column.name = kNames[type - 1];
    column.valid = type % 2 == 1 ? valid.data() : nullptr;
    if (type == SIDBEAM_ATTRIBUTE_STRING_LIST) {
      column.lists = lists.data();
      column.codes = codes.data();
      column.string_count = std::min<int64_t>(count, 3);
    }
    FUZZ_CHECK(sidbeam_builder_set_attribute(builder, &column, count, nullptr) == SIDBEAM_OK);
  }
}

}  // namespace

Handle<sidbeam_builder> builder_of(const Catalogue& catalogue) {
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = static_cast<int32_t>(catalogue.codes.size());
  config.codes = catalogue.codes.data();
  config.variable_length = catalogue.variable_length;
  config.kinds = catalogue.kinds;
  config.id_type = catalogue.named ? SIDBEAM_ID_STRING : SIDBEAM_ID_I64;
  config.keep_priorities = catalogue.priorities.empty() ? 0 : 1;
  sidbeam_builder* made = nullptr;
  FUZZ_CHECK(sidbeam_builder_create(runtime(), &config, &made, nullptr) == SIDBEAM_OK);
  Handle<sidbeam_builder> builder(made);
  for (int32_t type = SIDBEAM_ATTRIBUTE_I64; catalogue.attributes && type <= SIDBEAM_ATTRIBUTE_STRING_LIST; ++type)
    FUZZ_CHECK(sidbeam_builder_declare_attribute(made, kNames[type - 1], type, nullptr) == SIDBEAM_OK);
  const int32_t* lengths = catalogue.variable_length ? catalogue.lengths.data() : nullptr;
  const int64_t* priorities = catalogue.priorities.empty() ? nullptr : catalogue.priorities.data();
  sidbeam_status status = SIDBEAM_OK;
  if (catalogue.named) {
    std::string names;
    std::vector<int64_t> offsets = {0};
    for (int64_t i = 0; i < catalogue.count(); ++i) {
      names += "item " + std::to_string(i);
      offsets.push_back(static_cast<int64_t>(names.size()));
    }
    status = sidbeam_builder_add_named(made, catalogue.sids.data(), lengths, catalogue.count(), names.data(),
                                       offsets.data(), priorities, nullptr);
  } else {
    status = sidbeam_builder_add(made, catalogue.sids.data(), lengths, catalogue.count(), nullptr, priorities, nullptr);
  }
  FUZZ_CHECK(status == SIDBEAM_OK);
  if (catalogue.attributes) set_attributes(made, catalogue.count());
  return builder;
}

Handle<sidbeam_constraint> constraint_of(sidbeam_index* index) {
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = index;
  sidbeam_constraint* constraint = nullptr;
  FUZZ_CHECK(sidbeam_constraint_create(&config, &constraint, nullptr) == SIDBEAM_OK);
  return Handle<sidbeam_constraint>(constraint);
}

Handle<sidbeam_index> index_of(const Catalogue& catalogue) {
  sidbeam_index* made = nullptr;
  FUZZ_CHECK(sidbeam_builder_finish(builder_of(catalogue).get(), &made, nullptr) == SIDBEAM_OK);
  return Handle<sidbeam_index>(made);
}

std::vector<uint8_t> bytes_of(const Catalogue& catalogue) {
  const char* base = std::getenv("TMPDIR");
  std::string path = std::string(base == nullptr ? "/tmp" : base) + "/sidbeam-fuzz-XXXXXX";
  FUZZ_CHECK(mkdtemp(path.data()) != nullptr);
  const std::string folder = path;
  path += "/x.sidx";
  FUZZ_CHECK(sidbeam_builder_write(builder_of(catalogue).get(), path.c_str(), nullptr) == SIDBEAM_OK);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  FUZZ_CHECK(file != nullptr);
  std::vector<uint8_t> bytes;
  for (int c = 0; (c = std::fgetc(file)) != EOF;) bytes.push_back(static_cast<uint8_t>(c));
  std::fclose(file);
  std::remove(path.c_str());
  rmdir(folder.c_str());
  return bytes;
}

const std::vector<std::vector<uint8_t>>& specimens() {
  static const std::vector<std::vector<uint8_t>> all = [] {
    constexpr int32_t kTrie = SIDBEAM_KIND_TRIE, kSorted = SIDBEAM_KIND_SORTED, kHash = SIDBEAM_KIND_HASH,
                      kCompact = SIDBEAM_KIND_COMPACT_TRIE;
    Catalogue fixed{{4, 4, 4}, false, false, kTrie, {0, 1, 2, 0, 1, 2, 0, 1, 3, 0, 3, 0, 2, 2, 1, 3, 0, 0}, {}};
    fixed.lengths.assign(6, 3);
    Catalogue variable{{4, 4, 4}, true, false, kTrie, {0, 0, 0, 0, 1, 0, 0, 1, 2, 2, 2, 1, 3, 0, 0}, {1, 2, 3, 3, 2}};
    Catalogue dense{{70, 3}, false, false, kTrie, {}, std::vector<int32_t>(68, 2)};  // a root with a mask
    for (int32_t i = 0; i < 68; ++i) dense.sids.insert(dense.sids.end(), {i, i % 3});
    std::vector<std::vector<uint8_t>> made;
    for (const int32_t kinds : {kTrie, kSorted, kHash, kTrie | kSorted | kHash, kCompact}) {
      for (Catalogue* catalogue : {&fixed, &variable}) {
        catalogue->kinds = kinds;
        catalogue->named = kinds == kSorted;
        made.push_back(bytes_of(*catalogue));
      }
    }
    made.push_back(bytes_of(dense));
    dense.attributes = true;
    made.push_back(bytes_of(dense));
    // More SIDs below a prefix than a tail takes, so that it begins at level 3; ends at it, above it, and, most of
    // them, far above, where a SID that is taken for a longer one has a code that nobody wrote.
    Catalogue deep{{7, 3, 9, 10}, true, false, kCompact, {0, 1, 0, 0, 2, 2, 5, 0}, {2, 3}};
    for (const int32_t code : {1, 3, 4, 5, 6}) deep.sids.insert(deep.sids.end(), {code, 0, 0, 0});
    deep.lengths.insert(deep.lengths.end(), 5, 1);
    for (int32_t i = 0; i < 72; ++i) deep.sids.insert(deep.sids.end(), {0, 0, i / 9, i % 9});
    deep.lengths.insert(deep.lengths.end(), 72, 4);
    made.push_back(bytes_of(deep));
    deep.variable_length = false;
    deep.kinds = kCompact | kSorted;
    made.push_back(bytes_of(deep));
    // SIDs of several items; keys that are hashes, since their product would not fit.
    Catalogue shared{std::vector<int32_t>(8, 256), false, true, kTrie | kHash, {}, std::vector<int32_t>(12, 8)};
    for (int32_t i = 0; i < 12 * 8; ++i) shared.sids.push_back(i / 8 % 5 + i % 8);
    made.push_back(bytes_of(shared));
    // Kept priorities: all equal, and of 2, 4 and 8 bytes.
    shared.named = false;
    for (const int64_t step : {int64_t{0}, int64_t{-7}, int64_t{70000}, INT64_MAX / 6}) {
      shared.priorities.clear();
      for (int64_t i = 0; i < shared.count(); ++i) shared.priorities.push_back((i - 5) % 7 * step);
      made.push_back(bytes_of(shared));
    }
    for (const int32_t codes : {40000, 70000}) {  // tails with a bitmap, and of 32 bits
      Catalogue tall{{2, codes, 3}, false, false, kCompact, {0, 1, 2, 0, 9, 0, 0, codes - 1, 1, 1, 0, 0}, {3, 3, 3, 3}};
      made.push_back(bytes_of(tall));
    }
    return made;
  }();
  return all;
}

void FreeBlock::operator()(uint8_t* block) const { std::free(block); }

Block block_of(const uint8_t* data, size_t size) {
  void* block = nullptr;
  FUZZ_CHECK(posix_memalign(&block, 64, size == 0 ? 1 : size) == 0);
  if (size != 0) std::memcpy(block, data, size);
  return Block(static_cast<uint8_t*>(block));
}

void repair_checksum(uint8_t* file, size_t size) {
  constexpr size_t kPreamble = 32, kLengthAt = 16, kChecksumAt = 24;
  uint64_t header = 0, checksum = 0;
  if (size < kPreamble) return;
  std::memcpy(&header, file + kLengthAt, sizeof header);
  if (header > size - kPreamble) return;
  std::memcpy(file + kChecksumAt, &checksum, sizeof checksum);
  checksum = XXH3_64bits(file, kPreamble + header);
  std::memcpy(file + kChecksumAt, &checksum, sizeof checksum);
}

}  // namespace fuzz
