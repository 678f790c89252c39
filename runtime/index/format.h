// The container of an index file. A catalogue's counts determine its sections, in the same way for writer and reader.
// schemas/README.md describes the file byte by byte.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "index/priorities.h"
#include "index/views.h"
#include "schemas/index_generated.h"

namespace sidbeam {

inline constexpr char kMagic[8] = {'S', 'I', 'D', 'B', 'E', 'A', 'M', '\n'};
inline constexpr uint32_t kFormatMajor = 1, kFormatMinor = 2;
// Written where there are attributes, or priorities; other files stay as they were.
inline constexpr uint32_t kAttributesMinor = 3, kPrioritiesMinor = 4;
inline constexpr uint64_t kMaxItems = uint64_t{1} << 40;  // exclusive
inline constexpr uint64_t kSectionAlignment = 64;
inline constexpr uint64_t kLargeSection = 65536, kLargeSectionAlignment = 4096;
inline constexpr uint64_t kMaxHeaderBytes = uint64_t{1} << 26;
inline constexpr uint64_t kMaxMetadataBytes = uint64_t{1} << 24;
inline constexpr uint64_t kMaxMetadataEntries = 65536;
inline constexpr uint64_t kMaxSections = 4096;

struct Preamble {
  char magic[8];
  uint32_t major, minor;
  uint64_t header_bytes;
  uint64_t checksum;  // XXH3-64 of the preamble (with this field 0) and the header
};
static_assert(sizeof(Preamble) == 32);

struct LevelShape {
  uint32_t codes = 0, max_children = 0;
  uint64_t nodes = 0, edges = 0, ends = 0, dense_nodes = 0;
};

// Of the priorities that a file keeps.
struct PriorityRange {
  int64_t least = 0, greatest = 0;

  // The largest number of their section.
  uint64_t span() const { return static_cast<uint64_t>(greatest) - static_cast<uint64_t>(least); }
};

// The counts that determine which sections an index has and how long each one is.
struct Shape {
  int32_t levels = 0;
  bool variable_length = false;
  IdType id_type = IdType::kI64;
  bool trie = false, columns = false, hash = false;
  uint64_t sids = 0, items = 0, name_bytes = 0;
  LevelShape level[kMaxLevels];
  int32_t tail_level = 0;                   // the first level of a compact trie's tail; 0 if there is no tail
  uint64_t hash_seed = 0;                   // the seed of a hash set; 0 if it was written before 1.2 and has none
  std::optional<PriorityRange> priorities;  // of all item rows; none: the file does not keep them

  // Pairs often come without priorities: of equal ones the header says all.
  bool has_priority_section() const { return priorities && priorities->span() > 0; }

  // The number of levels with a row per node; deeper levels are the tail.
  int32_t csr_levels() const { return tail_level > 0 ? tail_level : levels; }
  // The number of values that a code may take at a level, including the end. The end counts at every level, so that the
  // width of a level does not depend on its position.
  uint64_t symbols(int l) const { return uint64_t{level[l].codes} + (variable_length ? 1 : 0); }
  uint64_t ends() const;
  uint64_t tail_entries() const { return sids * static_cast<uint64_t>(levels - csr_levels()); }
};

struct SectionSpec {
  format::SectionKind kind = format::SectionKind::None;
  format::Encoding encoding = format::Encoding::None;
  int level = -1;
  uint64_t length = 0;  // bytes
  bool required = true;
};

struct Section {
  SectionSpec spec;
  uint64_t offset = 0, checksum = 0;
};

// Whether this library knows this kind of section.
bool is_known(format::SectionKind kind);
// Whether an attribute's description names the sections of this kind; sections_of() and views leave them out.
bool is_attribute(format::SectionKind kind);
// How positions 0 .. count are stored, numbers below `symbols`, and how much priorities exceed the least.
format::Encoding position_encoding(uint64_t count);
format::Encoding code_encoding(uint64_t symbols);
format::Encoding priority_encoding(const PriorityRange& range);
uint64_t element_bytes(format::Encoding encoding);
// All sections of an index of this shape, in file order.
std::vector<SectionSpec> sections_of(const Shape& shape);
// Places the sections after the header; returns the length of the file.
uint64_t place_sections(uint64_t header_bytes, std::vector<Section>& sections);
// The views of an index whose sections lie at `base` + offset. Sections of unknown kinds are skipped.
IndexView view_of(const Shape& shape, const std::vector<Section>& sections, const uint8_t* base);
PrioritiesView priorities_of(const Shape& shape, const std::vector<Section>& sections, const uint8_t* base);

struct SectionInfo;
// Whether decoding with these SIDBEAM_KIND_* reads the section.
bool is_read(const SectionInfo& section, int32_t kinds);
// Makes a view read a section at another address, for example on a device. nullptr: as if the index had no such
// section.
void place_section(const SectionInfo& section, const void* data, IndexView& view);

// The number of slots of the hash set: a power of two with at least half of the slots empty.
uint64_t hash_capacity(uint64_t sids);
// Applies sidbeam_builder_config.kinds, but does not set where the tail begins. A hash set gets the first seed of the
// list.
void set_kinds(int32_t kinds, Shape& shape);
// Whether all SIDs have mixed-radix keys below 2^63.
bool has_mixed_radix(const Shape& shape);

// A mask pays off if a node has many children: it breaks even with the list at about a tenth of V_l (research:
// performance, section 2c), and never below 64 children.
inline uint64_t fewest_dense(uint64_t codes) { return codes <= 10 * kLeastDense ? kLeastDense : (codes + 9) / 10; }
inline bool is_dense(uint64_t children, uint64_t codes) { return children >= fewest_dense(codes); }

inline uint64_t divide_up(uint64_t value, uint64_t unit) { return value / unit + (value % unit != 0); }
inline uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

}  // namespace sidbeam
