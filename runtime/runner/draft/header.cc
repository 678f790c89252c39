// The header of a draft head's file, written and read.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runner/draft/format.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

using ull = unsigned long long;

constexpr char kMagic[8] = {'S', 'I', 'D', 'H', 'E', 'A', 'D', '\n'};
constexpr uint32_t kMajor = 1, kMinor = 0;
constexpr uint64_t kMostHeaderBytes = uint64_t{1} << 24;
constexpr uint64_t kMostSections = 4096;

struct Preamble {
  char magic[8];
  uint32_t major, minor;
  uint64_t header_bytes;
  uint64_t checksum;  // XXH3-64 of the preamble (with this field 0) and the header
};
static_assert(sizeof(Preamble) == 32);

// The FlatBuffer's numbers are the C ABI's.
static_assert(static_cast<int>(format::DraftInput::State) == SIDBEAM_DRAFT_INPUT_STATE);
static_assert(static_cast<int>(format::DraftTransition::None) == SIDBEAM_DRAFT_TRANSITION_NONE);
static_assert(static_cast<int>(format::WeightType::BF16) == static_cast<int>(Dtype::kBf16));

void need(const char* what, uint64_t value, uint64_t least, uint64_t most) {
  if (value < least || value > most)
    fail(SIDBEAM_CORRUPT, "the header's %s is %llu, expected %llu..%llu", what, static_cast<ull>(value),
         static_cast<ull>(least), static_cast<ull>(most));
}

void copy_codes(const format::DraftHeader& from, DraftShape& shape) {
  const auto* codes = from.codes();
  const uint32_t levels = codes == nullptr ? 0 : codes->size();
  need("number of levels", levels, 1, SIDBEAM_MAX_LEVELS);
  shape.levels = static_cast<int32_t>(levels);
  for (uint32_t l = 0; l < levels; ++l) {
    need("number of codes of a level", codes->Get(l), 1, SIDBEAM_MAX_CODES);
    shape.codes[l] = static_cast<int32_t>(codes->Get(l));
  }
}

void copy_shape(const format::DraftHeader& from, DraftShape& shape) {
  copy_codes(from, shape);
  need("hidden", from.hidden(), 1, kMostWidth);
  need("input", static_cast<uint64_t>(from.input()), 0, SIDBEAM_DRAFT_INPUT_STATE);
  need("transition", static_cast<uint64_t>(from.transition()), 0, SIDBEAM_DRAFT_TRANSITION_NONE);
  need("weights", static_cast<uint64_t>(from.weights()), 0, static_cast<uint64_t>(Dtype::kBf16));
  shape.hidden = static_cast<int32_t>(from.hidden());
  shape.input = static_cast<int32_t>(from.input());
  shape.transition = static_cast<int32_t>(from.transition());
  shape.dtype = static_cast<Dtype>(from.weights());
  const bool none = shape.transition == SIDBEAM_DRAFT_TRANSITION_NONE;
  const bool add = shape.transition == SIDBEAM_DRAFT_TRANSITION_ADD;
  need("embedding", from.embedding(), none ? 0 : add ? from.hidden() : 1, none ? 0 : add ? from.hidden() : kMostWidth);
  shape.embedding = static_cast<int32_t>(from.embedding());
  if (shape.input == SIDBEAM_DRAFT_INPUT_HIDDEN && !none)
    fail(SIDBEAM_CORRUPT, "the header has transition %d, expected none (%d) for a head that reads no state",
         shape.transition, SIDBEAM_DRAFT_TRANSITION_NONE);
  if (from.codebook() == nullptr) return;
  shape.codebook = from.codebook()->str();
  if (shape.codebook.find('\0') != std::string::npos) fail(SIDBEAM_CORRUPT, "the header's codebook has a NUL in it");
}

void copy_sections(const format::DraftHeader& from, DraftHeader& header) {
  const auto* sections = from.sections();
  const uint32_t count = sections == nullptr ? 0 : sections->size();
  need("number of sections", count, 1, kMostSections);
  for (uint32_t i = 0; i < count; ++i) {
    const format::WeightSection& section = *sections->Get(i);
    header.sections.push_back(
        {section.kind(), section.level(), section.required(), section.offset(), section.length(), section.checksum()});
  }
}

void check_placement(const DraftHeader& header, uint64_t header_end) {
  uint64_t end = header_end;
  for (const WeightSection& section : header.sections) {
    const char* name = weight_name(section.kind);
    if (section.offset % kWeightAlignment != 0)
      fail(SIDBEAM_CORRUPT, "%s of level %d begins at byte %llu, expected a multiple of %llu", name, section.level,
           static_cast<ull>(section.offset), static_cast<ull>(kWeightAlignment));
    if (section.offset > header.file_bytes || section.length > header.file_bytes - section.offset)
      fail(SIDBEAM_CORRUPT, "%s of level %d lies outside the file: bytes %llu to %llu + %llu of %llu", name,
           section.level, static_cast<ull>(section.offset), static_cast<ull>(section.offset),
           static_cast<ull>(section.length), static_cast<ull>(header.file_bytes));
    if (section.offset < end)
      fail(SIDBEAM_CORRUPT, "%s of level %d begins at byte %llu and overlaps what ends at byte %llu", name,
           section.level, static_cast<ull>(section.offset), static_cast<ull>(end));
    end = section.offset + section.length;
  }
}

void check_sections(const DraftHeader& header) {
  const std::vector<WeightSpec> specs = weights_of(header.shape);
  std::vector<bool> seen(specs.size(), false);
  for (const WeightSection& section : header.sections) {
    if (section.kind == format::WeightKind::None || section.kind > format::WeightKind::MAX) {
      if (section.required)
        fail(SIDBEAM_UNSUPPORTED, "the file needs weights of kind %u, which this library does not know",
             static_cast<unsigned>(section.kind));
      continue;
    }
    size_t i = 0;
    while (i < specs.size() && (specs[i].kind != section.kind || specs[i].level != section.level || seen[i])) ++i;
    if (i == specs.size())
      fail(SIDBEAM_CORRUPT, "%s of level %d is not expected, or not twice", weight_name(section.kind), section.level);
    if (section.length != specs[i].bytes(header.shape.dtype))
      fail(SIDBEAM_CORRUPT, "%s of level %d has %llu bytes, expected %llu: %lld by %lld elements",
           weight_name(section.kind), section.level, static_cast<ull>(section.length),
           static_cast<ull>(specs[i].bytes(header.shape.dtype)), static_cast<long long>(specs[i].rows),
           static_cast<long long>(specs[i].columns));
    seen[i] = true;
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!seen[i] && !specs[i].optional)
      fail(SIDBEAM_CORRUPT, "%s of level %d is missing", weight_name(specs[i].kind), specs[i].level);
  }
}

uint64_t header_checksum(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  std::memset(copy.data() + offsetof(Preamble, checksum), 0, sizeof(uint64_t));
  return weight_checksum(copy.data(), copy.size());
}

// Preamble and FlatBuffer of a file, of which nothing is known, once they are whole.
std::span<const uint8_t> checked_header(std::span<const uint8_t> file) {
  Preamble preamble;
  if (file.size() < sizeof preamble)
    fail(SIDBEAM_CORRUPT, "file too short: %zu bytes, a draft head has at least %zu", file.size(), sizeof preamble);
  std::memcpy(&preamble, file.data(), sizeof preamble);
  if (std::memcmp(preamble.magic, kMagic, sizeof kMagic) != 0)
    fail(SIDBEAM_CORRUPT, "wrong magic: not a draft head, which begins with the bytes \"SIDHEAD\\n\"");
  if (preamble.major != kMajor)
    fail(preamble.major > kMajor ? SIDBEAM_UNSUPPORTED : SIDBEAM_CORRUPT,
         "format version %u.%u, this library reads version %u", preamble.major, preamble.minor, kMajor);
  if (preamble.header_bytes > std::min<uint64_t>(file.size() - sizeof preamble, kMostHeaderBytes))
    fail(SIDBEAM_CORRUPT, "file too short: a header of %llu bytes does not fit a file of %zu",
         static_cast<ull>(preamble.header_bytes), file.size());
  const auto bytes = file.first(sizeof preamble + preamble.header_bytes);
  if (header_checksum(bytes) != preamble.checksum) fail(SIDBEAM_CORRUPT, "wrong checksum: the header is damaged");
  return bytes;
}

flatbuffers::Offset<format::DraftHeader> build(flatbuffers::FlatBufferBuilder& fbb, const DraftHeader& header) {
  const DraftShape& shape = header.shape;
  std::vector<flatbuffers::Offset<format::WeightSection>> sections;
  for (const WeightSection& section : header.sections)
    sections.push_back(format::CreateWeightSection(fbb, section.kind, static_cast<uint16_t>(section.level),
                                                   section.required, section.offset, section.length, section.checksum));
  const std::vector<uint32_t> codes(shape.codes, shape.codes + shape.levels);
  const auto codebook = fbb.CreateString(shape.codebook);
  const auto code_vector = fbb.CreateVector(codes);
  const auto section_vector = fbb.CreateVector(sections);
  return format::CreateDraftHeader(
      fbb, static_cast<uint32_t>(shape.hidden), static_cast<uint32_t>(shape.embedding),
      static_cast<format::DraftInput>(shape.input), static_cast<format::DraftTransition>(shape.transition),
      static_cast<format::WeightType>(shape.dtype), codebook, header.file_bytes, code_vector, section_vector);
}

}  // namespace

std::vector<uint8_t> encode_draft_header(const DraftHeader& header) {
  flatbuffers::FlatBufferBuilder fbb;
  fbb.ForceDefaults(true);  // the length does not depend on the numbers
  format::FinishDraftHeaderBuffer(fbb, build(fbb, header));
  Preamble preamble{};
  std::memcpy(preamble.magic, kMagic, sizeof kMagic);
  preamble.major = kMajor;
  preamble.minor = kMinor;
  preamble.header_bytes = fbb.GetSize();
  std::vector<uint8_t> bytes(sizeof preamble + fbb.GetSize());
  std::memcpy(bytes.data(), &preamble, sizeof preamble);
  std::memcpy(bytes.data() + sizeof preamble, fbb.GetBufferPointer(), fbb.GetSize());
  const uint64_t checksum = weight_checksum(bytes.data(), bytes.size());
  std::memcpy(bytes.data() + offsetof(Preamble, checksum), &checksum, sizeof checksum);
  return bytes;
}

DraftHeader decode_draft_header(std::span<const uint8_t> file) {
  const std::span<const uint8_t> bytes = checked_header(file);
  const uint8_t* data = bytes.data() + sizeof(Preamble);
  constexpr flatbuffers::uoffset_t kDepth = 8, kTables = 1 << 16;
  flatbuffers::Verifier verifier(data, bytes.size() - sizeof(Preamble), kDepth, kTables);
  if (!format::VerifyDraftHeaderBuffer(verifier))
    fail(SIDBEAM_CORRUPT, "the header is not a valid FlatBuffer of a draft head");
  const format::DraftHeader& from = *format::GetDraftHeader(data);
  DraftHeader header;
  header.file_bytes = from.file_bytes();
  copy_shape(from, header.shape);
  copy_sections(from, header);
  if (header.file_bytes != file.size())
    fail(SIDBEAM_CORRUPT, "the file has %zu bytes, its header says %llu", file.size(),
         static_cast<ull>(header.file_bytes));
  check_sections(header);
  check_placement(header, bytes.size());
  return header;
}

void check_weights(const DraftHeader& header, std::span<const uint8_t> file) {
  uint64_t end = checked_header(file).size();
  const auto check_zeros = [&](uint64_t to) {
    const auto rest = file.subspan(end, to - end);
    if (std::any_of(rest.begin(), rest.end(), [](uint8_t byte) { return byte != 0; }))
      fail(SIDBEAM_CORRUPT, "the padding between bytes %llu and %llu is not zero", static_cast<ull>(end),
           static_cast<ull>(to));
  };
  for (const WeightSection& section : header.sections) {
    check_zeros(section.offset);
    if (weight_checksum(file.data() + section.offset, section.length) != section.checksum)
      fail(SIDBEAM_CORRUPT, "wrong checksum: %s of level %d is damaged", weight_name(section.kind), section.level);
    end = section.offset + section.length;
  }
  check_zeros(file.size());
}

}  // namespace sidbeam::runner
