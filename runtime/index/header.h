// Encodes and decodes the header of an index file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "index/attributes/shape.h"
#include "index/format.h"
#include "index/index.h"
#include "support/cpu_target.h"
#include "support/hashing.h"

namespace sidbeam {

struct FileHeader {
  CpuTarget target =
      best_cpu_target();  // hashes the header with the instructions of this target; not stored in the file
  uint32_t minor = kFormatMinor;
  Shape shape;
  uint64_t merged_pairs = 0, collisions = 0, max_items_per_sid = 0;
  int32_t shortest = 0, longest = 0;
  bool own_hash_seed = false;  // given by the caller rather than taken from the list
  Hash128 fingerprint;
  std::string codebook;
  std::vector<std::pair<std::string, std::string>> metadata;  // sorted by key
  uint64_t file_bytes = 0;
  std::vector<Section> sections;           // in file order; includes unknown optional ones when read
  std::vector<AttributeShape> attributes;  // by name, rising
  Hash128 attribute_digest;
};

// In hexadecimal, with a NUL.
void print_hash(const Hash128& hash, char (&out)[33]);
// The preamble and the FlatBuffer. Their length does not depend on the values of numbers.
std::vector<uint8_t> encode_header(const FileHeader& header);

// The length of preamble and header, from the first bytes of a file of `file_bytes`. Throws if they do not begin an
// index.
uint64_t header_length(std::span<const uint8_t> start, uint64_t file_bytes);
// The views of an index with this header whose sections lie at `base` + offset.
IndexView view_of(const FileHeader& header, const uint8_t* base);
// Reads and checks the whole header. `bytes` holds at least header_length() bytes and is aligned to 8.
FileHeader decode_header(std::span<const uint8_t> bytes, uint64_t file_bytes, CpuTarget target);
IndexHeaderInfo header_info(const FileHeader& header);
std::vector<SectionInfo> section_infos(const std::vector<Section>& sections);

}  // namespace sidbeam
