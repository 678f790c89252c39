// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include <algorithm>
#include <cstring>

#include "../specimens.h"
#include "schemas/index_generated.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fuzz {
namespace {

namespace format = sidbeam::format;

std::string text_of(const flatbuffers::String* text) { return text == nullptr ? std::string() : text->str(); }

FileSection section_of(const format::Section& from, const uint8_t* data, size_t size) {
  FileSection section;
  section.kind = static_cast<uint16_t>(from.kind());
  section.encoding = static_cast<uint16_t>(from.encoding());
  section.level = from.level();
  section.required = from.required();
  section.offset = from.offset();
  section.length = from.length();
  section.checksum = from.checksum();
  if (section.offset < size) {
    const uint64_t bytes = std::min<uint64_t>(section.length, size - section.offset);
    section.bytes.assign(data + section.offset, data + section.offset + bytes);
  }
  return section;
}

void read_lists(const format::IndexHeader& from, const uint8_t* data, size_t size, IndexFile& file) {
  for (uint32_t i = 0; from.levels() != nullptr && i < from.levels()->size(); ++i) {
    const format::Level& level = *from.levels()->Get(i);
    file.levels.push_back(
        {level.codes(), level.nodes(), level.edges(), level.ends(), level.dense_nodes(), level.max_children()});
  }
  for (uint32_t i = 0; from.sections() != nullptr && i < from.sections()->size(); ++i)
    file.sections.push_back(section_of(*from.sections()->Get(i), data, size));
  for (uint32_t i = 0; from.metadata() != nullptr && i < from.metadata()->size(); ++i) {
    const format::KeyValue& entry = *from.metadata()->Get(i);
    file.metadata.emplace_back(text_of(entry.key()), text_of(entry.value()));
  }
}

void read_attributes(const format::Attributes& from, IndexFile& file) {
  file.digest_low = from.digest_low();
  file.digest_high = from.digest_high();
  for (uint32_t i = 0; from.columns() != nullptr && i < from.columns()->size(); ++i) {
    const format::Attribute& column = *from.columns()->Get(i);
    file.attributes.push_back({text_of(column.name()), static_cast<uint8_t>(column.type()), column.first_section(),
                               column.nulls(), column.codes(), column.strings(), column.least(), column.greatest(),
                               column.least_number(), column.greatest_number()});
  }
}

flatbuffers::Offset<format::Attributes> build_attributes(flatbuffers::FlatBufferBuilder& fbb, const IndexFile& file) {
  if (file.attributes.empty()) return 0;
  std::vector<flatbuffers::Offset<format::Attribute>> columns;
  for (const FileAttribute& from : file.attributes)
    columns.push_back(format::CreateAttribute(
        fbb, fbb.CreateString(from.name), static_cast<format::AttributeType>(from.type), from.first_section, from.nulls,
        from.codes, from.strings, from.least, from.greatest, from.least_number, from.greatest_number));
  return format::CreateAttributes(fbb, fbb.CreateVector(columns), file.digest_low, file.digest_high);
}

flatbuffers::Offset<format::IndexHeader> build(flatbuffers::FlatBufferBuilder& fbb, const IndexFile& file) {
  std::vector<flatbuffers::Offset<format::Level>> levels;
  for (const FileLevel& level : file.levels)
    levels.push_back(format::CreateLevel(fbb, level.codes, level.nodes, level.edges, level.ends, level.dense_nodes,
                                         level.max_children));
  std::vector<flatbuffers::Offset<format::Section>> sections;
  for (const FileSection& section : file.sections)
    sections.push_back(format::CreateSection(fbb, static_cast<format::SectionKind>(section.kind),
                                             static_cast<format::Encoding>(section.encoding), section.level,
                                             section.required, section.offset, section.length, section.checksum));
  std::vector<flatbuffers::Offset<format::KeyValue>> metadata;
  for (const auto& [key, value] : file.metadata) {
    const auto last = fbb.CreateString(value);  // the compiler would choose the order of two arguments
    metadata.push_back(format::CreateKeyValue(fbb, fbb.CreateString(key), last));
  }
  const auto codebook = fbb.CreateString(file.codebook);
  const auto level_list = fbb.CreateVector(levels);
  const auto section_list = fbb.CreateVector(sections);
  const auto metadata_list = fbb.CreateVector(metadata);
  const auto attributes = build_attributes(fbb, file);
  flatbuffers::Offset<format::Priorities> priorities;
  if (file.priorities) priorities = format::CreatePriorities(fbb, file.priorities->least, file.priorities->greatest);
  return format::CreateIndexHeader(
      fbb, file.sids, file.items, file.merged_pairs, file.collisions, file.max_items_per_sid, file.variable_length,
      file.shortest, file.longest, static_cast<format::IdType>(file.id_type), file.fingerprint_low,
      file.fingerprint_high, codebook, file.file_bytes, level_list, section_list, metadata_list, file.tail_level,
      file.hash_seed, file.own_hash_seed, attributes, priorities);
}

std::vector<uint8_t> header_of(const IndexFile& file) {
  flatbuffers::FlatBufferBuilder fbb;
  fbb.ForceDefaults(true);  // so that its length is known before the numbers are
  format::FinishIndexHeaderBuffer(fbb, build(fbb, file));
  return {fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()};
}

// Preamble, header and sections, with whatever checksums the header has.
std::vector<uint8_t> laid_out(const IndexFile& file) {
  const std::vector<uint8_t> header = header_of(file);
  size_t size = kPreambleBytes + header.size();
  if (file.file_bytes <= kMostBytes) size = std::max(size, static_cast<size_t>(file.file_bytes));
  std::vector<uint8_t> out(size);
  const uint64_t header_bytes = header.size();
  std::memcpy(out.data(), "SIDBEAM\n", 8);
  std::memcpy(out.data() + 8, &file.major, 4);
  std::memcpy(out.data() + 12, &file.minor, 4);
  std::memcpy(out.data() + 16, &header_bytes, 8);
  std::memcpy(out.data() + kPreambleBytes, header.data(), header.size());
  for (const FileSection& section : file.sections) {
    if (section.bytes.empty() || section.offset < kPreambleBytes + header.size() || section.offset >= out.size())
      continue;
    const uint64_t bytes = std::min<uint64_t>(section.bytes.size(), out.size() - section.offset);
    std::memcpy(out.data() + section.offset, section.bytes.data(), bytes);
  }
  return out;
}

uint64_t aligned(uint64_t offset, uint64_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

}  // namespace

FileSection* IndexFile::find(uint16_t kind, int level) {
  for (FileSection& section : sections)
    if (section.kind == kind && section.level == level) return &section;
  return nullptr;
}

std::optional<IndexFile> parse(const uint8_t* data, size_t size) {
  uint64_t header_bytes = 0;
  if (size < kPreambleBytes || std::memcmp(data, "SIDBEAM\n", 8) != 0) return std::nullopt;
  std::memcpy(&header_bytes, data + 16, 8);
  if (header_bytes > size - kPreambleBytes) return std::nullopt;
  // At an address that a FlatBuffer may have.
  const std::vector<uint8_t> header(data + kPreambleBytes, data + kPreambleBytes + header_bytes);
  flatbuffers::Verifier verifier(header.data(), header.size(), 8, 4096);
  if (!format::VerifyIndexHeaderBuffer(verifier)) return std::nullopt;
  const format::IndexHeader& from = *format::GetIndexHeader(header.data());
  IndexFile file;
  std::memcpy(&file.major, data + 8, 4);
  std::memcpy(&file.minor, data + 12, 4);
  file.sids = from.sids();
  file.items = from.items();
  file.merged_pairs = from.merged_pairs();
  file.collisions = from.collisions();
  file.max_items_per_sid = from.max_items_per_sid();
  file.variable_length = from.variable_length();
  file.shortest = from.shortest();
  file.longest = from.longest();
  file.id_type = static_cast<uint8_t>(from.id_type());
  file.tail_level = from.tail_level();
  file.hash_seed = from.hash_seed();
  file.own_hash_seed = from.own_hash_seed();
  file.fingerprint_low = from.fingerprint_low();
  file.fingerprint_high = from.fingerprint_high();
  file.codebook = text_of(from.codebook());
  file.file_bytes = from.file_bytes();
  read_lists(from, data, size, file);
  if (from.attributes() != nullptr) read_attributes(*from.attributes(), file);
  if (from.priorities() != nullptr) file.priorities = {from.priorities()->least(), from.priorities()->greatest()};
  return file;
}

void place(IndexFile& file, Random& random) {
  constexpr uint64_t kAlignment = 64, kLarge = 65536, kLargeAlignment = 4096;
  uint64_t end = kPreambleBytes + header_of(file).size();
  for (FileSection& section : file.sections) {
    section.length = section.bytes.size();
    if (random.one_in(3)) end += kAlignment;
    section.offset = aligned(end, section.length >= kLarge ? kLargeAlignment : kAlignment);
    end = section.offset + section.length;
  }
  file.file_bytes = aligned(end, kAlignment);
}

void sum_sections(IndexFile& file) {
  const std::vector<uint8_t> out = laid_out(file);
  for (FileSection& section : file.sections) {
    if (section.offset > out.size() || section.length > out.size() - section.offset) continue;
    section.checksum = XXH3_64bits(out.data() + section.offset, section.length);
  }
}

std::vector<uint8_t> encode(const IndexFile& file) {
  std::vector<uint8_t> out = laid_out(file);
  repair_checksum(out.data(), out.size());
  return out;
}

}  // namespace fuzz
