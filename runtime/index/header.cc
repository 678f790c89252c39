// SPDX-License-Identifier: Apache-2.0
#include "index/header.h"

#include <cstdio>
#include <cstring>

#include "index/attributes/sections.h"
#include "index/header_checks.h"
#include "sidbeam/builder.h"
#include "support/error.h"

namespace sidbeam {
namespace {

using ull = unsigned long long;

// None where there are none: the bytes are then those of 1.2.
flatbuffers::Offset<format::Attributes> build_attributes(flatbuffers::FlatBufferBuilder& fbb,
                                                         const FileHeader& header) {
  if (header.attributes.empty()) return 0;
  std::vector<flatbuffers::Offset<format::Attribute>> columns;
  for (const AttributeShape& shape : header.attributes)
    columns.push_back(format::CreateAttribute(fbb, fbb.CreateString(shape.name),
                                              static_cast<format::AttributeType>(shape.type), shape.first_section,
                                              shape.nulls, shape.codes, shape.strings, shape.least, shape.greatest,
                                              shape.least_number, shape.greatest_number));
  return format::CreateAttributes(fbb, fbb.CreateVector(columns), header.attribute_digest.low,
                                  header.attribute_digest.high);
}

flatbuffers::Offset<format::Priorities> build_priorities(flatbuffers::FlatBufferBuilder& fbb, const Shape& shape) {
  if (!shape.priorities) return 0;
  return format::CreatePriorities(fbb, shape.priorities->least, shape.priorities->greatest);
}

flatbuffers::Offset<format::IndexHeader> build(flatbuffers::FlatBufferBuilder& fbb, const FileHeader& header) {
  const Shape& shape = header.shape;
  std::vector<flatbuffers::Offset<format::Level>> levels;
  for (int l = 0; l < shape.levels; ++l) {
    const LevelShape& level = shape.level[l];
    levels.push_back(format::CreateLevel(fbb, level.codes, level.nodes, level.edges, level.ends, level.dense_nodes,
                                         level.max_children));
  }
  std::vector<flatbuffers::Offset<format::Section>> sections;
  for (const Section& section : header.sections) {
    const SectionSpec& spec = section.spec;
    sections.push_back(format::CreateSection(fbb, spec.kind, spec.encoding, static_cast<int16_t>(spec.level),
                                             spec.required, section.offset, spec.length, section.checksum));
  }
  std::vector<flatbuffers::Offset<format::KeyValue>> metadata;
  for (const auto& [key, value] : header.metadata) {
    const auto last = fbb.CreateString(value);  // the compiler would choose the order of two arguments
    metadata.push_back(format::CreateKeyValue(fbb, fbb.CreateString(key), last));
  }
  const auto codebook = fbb.CreateString(header.codebook);
  const auto level_vector = fbb.CreateVector(levels);
  const auto section_vector = fbb.CreateVector(sections);
  const auto metadata_vector = fbb.CreateVector(metadata);
  const auto attributes = build_attributes(fbb, header);
  const auto priorities = build_priorities(fbb, shape);
  return format::CreateIndexHeader(
      fbb, shape.sids, shape.items, header.merged_pairs, header.collisions, header.max_items_per_sid,
      shape.variable_length, static_cast<uint16_t>(header.shortest), static_cast<uint16_t>(header.longest),
      static_cast<format::IdType>(shape.id_type), header.fingerprint.low, header.fingerprint.high, codebook,
      header.file_bytes, level_vector, section_vector, metadata_vector, static_cast<uint8_t>(shape.tail_level),
      shape.hash_seed, header.own_hash_seed, attributes, priorities);
}

uint64_t header_checksum(std::span<const uint8_t> bytes, CpuTarget target) {
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  std::memset(copy.data() + offsetof(Preamble, checksum), 0, sizeof(uint64_t));
  return xxh3_64(target, copy.data(), copy.size());
}

// Given out as a C string, which a NUL would cut.
std::string text_of(const flatbuffers::String* string, const char* what) {
  std::string text = string == nullptr ? std::string() : string->str();
  if (text.find('\0') != std::string::npos) fail(SIDBEAM_CORRUPT, "the header's %s has a NUL in it", what);
  return text;
}

void copy_levels(const format::IndexHeader& from, Shape& shape) {
  const auto* levels = from.levels();
  const uint32_t count = levels == nullptr ? 0 : levels->size();
  if (count < 1 || count > kMaxLevels)
    fail(SIDBEAM_CORRUPT, "the header has %u levels, expected 1 to %d", count, kMaxLevels);
  shape.levels = static_cast<int32_t>(count);
  for (uint32_t l = 0; l < count; ++l) {
    const format::Level& level = *levels->Get(l);
    shape.level[l] = {level.codes(), level.max_children(), level.nodes(),
                      level.edges(), level.ends(),         level.dense_nodes()};
  }
}

void copy_sections(const format::IndexHeader& from, FileHeader& header) {
  const auto* sections = from.sections();
  const uint32_t count = sections == nullptr ? 0 : sections->size();
  if (count > kMaxSections)
    fail(SIDBEAM_CORRUPT, "the header has %u sections, expected at most %llu", count, static_cast<ull>(kMaxSections));
  for (uint32_t i = 0; i < count; ++i) {
    const format::Section& section = *sections->Get(i);
    header.sections.push_back(
        {{section.kind(), section.encoding(), section.level(), section.length(), section.required()},
         section.offset(),
         section.checksum()});
  }
}

// A FlatBuffer may share tables, so the copies could be far larger than the header. Their size is therefore counted.
void copy_metadata(const format::IndexHeader& from, FileHeader& header, uint64_t header_bytes) {
  const auto* metadata = from.metadata();
  uint64_t copied = 0;
  for (uint32_t i = 0; metadata != nullptr && i < metadata->size(); ++i) {
    const format::KeyValue& entry = *metadata->Get(i);
    const uint64_t value_bytes = entry.value() == nullptr ? 0 : entry.value()->size();
    copied += entry.key()->size() + value_bytes;
    if (copied > header_bytes) fail(SIDBEAM_CORRUPT, "the header's metadata overlaps");
    header.metadata.emplace_back(text_of(entry.key(), "metadata"), text_of(entry.value(), "metadata"));
    if (i > 0 && header.metadata[i - 1].first >= header.metadata[i].first)
      fail(SIDBEAM_CORRUPT, "the header's metadata is not sorted by key: entry %u", i);
  }
}

void copy_attributes(const format::IndexHeader& from, FileHeader& header) {
  if (from.attributes() == nullptr) return;
  header.attribute_digest = {from.attributes()->digest_low(), from.attributes()->digest_high()};
  const auto* columns = from.attributes()->columns();
  const uint32_t count = columns == nullptr ? 0 : columns->size();
  if (count > kMaxAttributes)
    fail(SIDBEAM_CORRUPT, "the header has %u attributes, expected at most %zu", count, kMaxAttributes);
  for (uint32_t i = 0; i < count; ++i) {
    const format::Attribute& column = *columns->Get(i);
    if (column.type() < format::AttributeType::I64 || column.type() > format::AttributeType::MAX)
      fail(SIDBEAM_CORRUPT, "attribute %u has the unknown type %d", i, static_cast<int>(column.type()));
    AttributeShape shape;
    // Before it is copied: a FlatBuffer may share strings.
    if (column.name()->size() > kMaxAttributeName)
      fail(SIDBEAM_CORRUPT, "the name of attribute %u has %u bytes, expected at most %zu", i, column.name()->size(),
           kMaxAttributeName);
    shape.name = column.name()->str();
    shape.type = static_cast<AttributeType>(column.type());
    shape.first_section = column.first_section();
    shape.nulls = column.nulls();
    shape.codes = column.codes();
    shape.strings = column.strings();
    shape.least = column.least();
    shape.greatest = column.greatest();
    shape.least_number = column.least_number();
    shape.greatest_number = column.greatest_number();
    header.attributes.push_back(std::move(shape));
  }
}

}  // namespace

void print_hash(const Hash128& hash, char (&out)[33]) {
  std::snprintf(out, sizeof out, "%016llx%016llx", static_cast<ull>(hash.high), static_cast<ull>(hash.low));
}

std::vector<uint8_t> encode_header(const FileHeader& header) {
  flatbuffers::FlatBufferBuilder fbb;
  // Makes the length independent of the checksums.
  fbb.ForceDefaults(true);
  format::FinishIndexHeaderBuffer(fbb, build(fbb, header));
  Preamble preamble{};
  std::memcpy(preamble.magic, kMagic, sizeof kMagic);
  preamble.major = kFormatMajor;
  preamble.minor = header.minor;
  preamble.header_bytes = fbb.GetSize();
  std::vector<uint8_t> bytes(sizeof preamble + fbb.GetSize());
  std::memcpy(bytes.data(), &preamble, sizeof preamble);
  std::memcpy(bytes.data() + sizeof preamble, fbb.GetBufferPointer(), fbb.GetSize());
  const uint64_t checksum = xxh3_64(header.target, bytes.data(), bytes.size());
  std::memcpy(bytes.data() + offsetof(Preamble, checksum), &checksum, sizeof checksum);
  return bytes;
}

uint64_t header_length(std::span<const uint8_t> start, uint64_t file_bytes) {
  Preamble preamble;
  if (file_bytes < sizeof preamble)
    fail(SIDBEAM_CORRUPT, "file too short: %llu bytes, an index has at least %zu", static_cast<ull>(file_bytes),
         sizeof preamble);
  std::memcpy(&preamble, start.data(), sizeof preamble);
  if (std::memcmp(preamble.magic, kMagic, sizeof kMagic) != 0)
    fail(SIDBEAM_CORRUPT, "wrong magic: not a sidbeam index, which begins with the bytes \"SIDBEAM\\n\"");
  if (preamble.major != kFormatMajor)
    fail(preamble.major > kFormatMajor ? SIDBEAM_UNSUPPORTED : SIDBEAM_CORRUPT,
         "format version %u.%u, this library reads version %u", preamble.major, preamble.minor, kFormatMajor);
  const uint64_t room = file_bytes - sizeof preamble;
  if (preamble.header_bytes > room)
    fail(SIDBEAM_CORRUPT, "file too short: a header of %llu bytes does not fit a file of %llu",
         static_cast<ull>(preamble.header_bytes), static_cast<ull>(file_bytes));
  if (preamble.header_bytes > kMaxHeaderBytes)
    fail(SIDBEAM_CORRUPT, "the header has %llu bytes, expected at most %llu", static_cast<ull>(preamble.header_bytes),
         static_cast<ull>(kMaxHeaderBytes));
  return sizeof preamble + preamble.header_bytes;
}

FileHeader decode_header(std::span<const uint8_t> bytes, uint64_t file_bytes, CpuTarget target) {
  const uint64_t length = header_length(bytes, file_bytes);
  Preamble preamble;
  std::memcpy(&preamble, bytes.data(), sizeof preamble);
  if (header_checksum(bytes.first(length), target) != preamble.checksum)
    fail(SIDBEAM_CORRUPT, "wrong checksum: the header is damaged");
  const uint8_t* data = bytes.data() + sizeof preamble;
  constexpr flatbuffers::uoffset_t kDepth = 8, kTables = 1 << 20;
  flatbuffers::Verifier verifier(data, preamble.header_bytes, kDepth, kTables);
  if (!format::VerifyIndexHeaderBuffer(verifier))
    fail(SIDBEAM_CORRUPT, "the header is not a valid FlatBuffer of an index");
  const format::IndexHeader& from = *format::GetIndexHeader(data);

  FileHeader header;
  header.target = target;
  header.minor = preamble.minor;
  header.shape.sids = from.sids();
  header.shape.items = from.items();
  header.shape.variable_length = from.variable_length();
  if (from.id_type() > format::IdType::MAX)
    fail(SIDBEAM_CORRUPT, "the header has the unknown id type %d", static_cast<int>(from.id_type()));
  header.shape.id_type = static_cast<IdType>(from.id_type());
  header.merged_pairs = from.merged_pairs();
  header.collisions = from.collisions();
  header.max_items_per_sid = from.max_items_per_sid();
  header.shortest = from.shortest();
  header.longest = from.longest();
  header.fingerprint = {from.fingerprint_low(), from.fingerprint_high()};
  header.codebook = text_of(from.codebook(), "codebook");
  header.file_bytes = from.file_bytes();
  copy_levels(from, header.shape);
  header.shape.tail_level = from.tail_level();
  header.shape.hash_seed = from.hash_seed();
  header.own_hash_seed = from.own_hash_seed();
  copy_sections(from, header);
  copy_metadata(from, header, preamble.header_bytes);
  copy_attributes(from, header);
  if (const format::Priorities* range = from.priorities(); range != nullptr)
    header.shape.priorities = {range->least(), range->greatest()};
  if (header.file_bytes != file_bytes)
    fail(SIDBEAM_CORRUPT, "the file has %llu bytes, its header says %llu", static_cast<ull>(file_bytes),
         static_cast<ull>(header.file_bytes));
  check_counts(header);
  check_sections(header, length);
  check_attributes(header.attributes, header.sections, header.shape.items, file_bytes);
  return header;
}

IndexView view_of(const FileHeader& header, const uint8_t* base) {
  IndexView view = view_of(header.shape, header.sections, base);
  view.target = header.target;
  return view;
}

std::vector<SectionInfo> section_infos(const std::vector<Section>& sections) {
  std::vector<SectionInfo> infos;
  for (const Section& section : sections)
    infos.push_back({static_cast<uint16_t>(section.spec.kind), static_cast<uint16_t>(section.spec.encoding),
                     section.spec.level, section.offset, section.spec.length, section.checksum});
  return infos;
}

IndexHeaderInfo header_info(const FileHeader& header) {
  IndexHeaderInfo out{};
  sidbeam_index_info& info = out.info;
  const Shape& shape = header.shape;
  info.format_major = static_cast<int32_t>(kFormatMajor);
  info.format_minor = static_cast<int32_t>(header.minor);
  info.levels = shape.levels;
  info.variable_length = shape.variable_length;
  info.shortest = header.shortest;
  info.longest = header.longest;
  info.id_type = static_cast<int32_t>(shape.id_type);
  info.kinds = (shape.trie ? SIDBEAM_KIND_TRIE : 0) | (shape.columns ? SIDBEAM_KIND_SORTED : 0) |
               (shape.hash ? SIDBEAM_KIND_HASH : 0) | (shape.tail_level > 0 ? SIDBEAM_KIND_COMPACT_TRIE : 0);
  info.section_count = static_cast<int64_t>(header.sections.size());
  info.metadata_count = static_cast<int64_t>(header.metadata.size());
  for (int l = 0; l < shape.levels; ++l) {
    out.codes.push_back(static_cast<int32_t>(shape.level[l].codes));
    out.max_children.push_back(static_cast<int32_t>(shape.level[l].max_children));
    out.nodes.push_back(static_cast<int64_t>(shape.level[l].edges - shape.level[l].ends));
  }
  info.sids = static_cast<int64_t>(shape.sids);
  info.items = static_cast<int64_t>(shape.items);
  info.merged_pairs = static_cast<int64_t>(header.merged_pairs);
  info.collisions = static_cast<int64_t>(header.collisions);
  info.max_items_per_sid = static_cast<int64_t>(header.max_items_per_sid);
  info.file_bytes = static_cast<int64_t>(header.file_bytes);
  print_hash(header.fingerprint, info.fingerprint);
  out.codebook = header.codebook;
  out.own_hash_seed = header.own_hash_seed;
  out.metadata = header.metadata;
  out.sections = section_infos(header.sections);
  out.attributes = header.attributes;
  info.attribute_count = static_cast<int64_t>(header.attributes.size());
  print_hash(header.attribute_digest, info.attribute_digest);
  return out;
}

}  // namespace sidbeam
