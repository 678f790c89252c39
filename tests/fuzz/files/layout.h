// An index file taken apart and put together again, by the schema alone: the header and the contents of the sections
// are separate, so that each may be wrong by itself. Shares no code with the runtime.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../random.h"

namespace fuzz {

struct FileSection {
  uint16_t kind = 0, encoding = 0;
  int16_t level = -1;
  bool required = false;
  uint64_t offset = 0, length = 0, checksum = 0;  // from the header
  std::vector<uint8_t> bytes;                     // what lies there
};

struct FileLevel {
  uint32_t codes = 1;
  uint64_t nodes = 1, edges = 1, ends = 0, dense_nodes = 0;
  uint32_t max_children = 1;
};

struct FileAttribute {
  std::string name;
  uint8_t type = 1;
  uint32_t first_section = 0;
  uint64_t nulls = 0, codes = 0, strings = 0;
  int64_t least = 0, greatest = 0;
  float least_number = 0, greatest_number = 0;
};

struct FilePriorities {
  int64_t least = 0, greatest = 0;
};

struct IndexFile {
  uint32_t major = 1, minor = 2;
  uint64_t sids = 1, items = 1, merged_pairs = 0, collisions = 0, max_items_per_sid = 1;
  bool variable_length = false;
  uint16_t shortest = 1, longest = 1;
  uint8_t id_type = 0, tail_level = 0;
  uint64_t fingerprint_low = 0, fingerprint_high = 0;
  uint64_t hash_seed = 0;
  bool own_hash_seed = false;
  std::string codebook;
  uint64_t file_bytes = 0;
  std::vector<FileLevel> levels;
  std::vector<FileSection> sections;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<FileAttribute> attributes;
  uint64_t digest_low = 0, digest_high = 0;  // of the attributes
  std::optional<FilePriorities> priorities;

  FileSection* find(uint16_t kind, int level);
  const FileSection* find(uint16_t kind, int level) const { return const_cast<IndexFile*>(this)->find(kind, level); }
};

constexpr size_t kPreambleBytes = 32;
// No file of the fuzzers is larger, whatever its header says.
constexpr size_t kMostBytes = size_t{1} << 16;

// Nothing if preamble or FlatBuffer cannot be read. Sections that lie outside the file have no bytes.
std::optional<IndexFile> parse(const uint8_t* data, size_t size);
// Computes offsets, lengths and the file's size from the sections' bytes, in their order. Before some sections there is
// a block more than their alignment needs, so that no read across a section's end goes unseen because the next section
// begins there.
void place(IndexFile& file, Random& random);
// Computes the checksums of the sections from the file's bytes at the places that the header gives.
void sum_sections(IndexFile& file);
// The bytes of the file; the header's checksum is right.
std::vector<uint8_t> encode(const IndexFile& file);

}  // namespace fuzz
