// SPDX-License-Identifier: Apache-2.0
#include "index/live/manifest.h"

#include <algorithm>
#include <cstring>

#include "schemas/manifest_generated.h"
#include "support/error.h"

namespace sidbeam {
namespace {

constexpr char kMagic[8] = {'S', 'I', 'D', 'B', 'L', 'I', 'V', '\n'};
constexpr uint32_t kMajor = 1, kMinor = 0;

struct ManifestPreamble {
  char magic[8];
  uint32_t major, minor;
  uint64_t bytes;     // of the payload
  uint64_t checksum;  // XXH3-64 of what comes before and the payload
};
static_assert(sizeof(ManifestPreamble) == 32);

uint64_t checksum_of(CpuTarget target, const ManifestPreamble& preamble, const uint8_t* payload) {
  return xxh3_64(target, &preamble, offsetof(ManifestPreamble, checksum), xxh3_64(target, payload, preamble.bytes));
}

[[noreturn]] void corrupt(const char* path, const char* what) {
  fail(SIDBEAM_CORRUPT, "the manifest '%.300s' is damaged: %s", path, what);
}

std::string name_of(const flatbuffers::String* from, const char* path) {
  std::string name = from != nullptr ? from->str() : "";
  if (name.empty() || name.size() > 255 || name[0] == '.' || name.find_first_of(std::string("/\0", 2)) != name.npos)
    corrupt(path, "a file that it names is none of its folder");
  return name;
}

std::vector<ManifestGeneration> read_generations(const format::Manifest& from, const char* path) {
  std::vector<ManifestGeneration> out;
  if (from.generations() == nullptr || from.generations()->size() == 0) corrupt(path, "it names no base");
  for (const format::Generation* each : *from.generations()) {
    if (each->number() <= (out.empty() ? 0 : out.back().number)) corrupt(path, "its generations do not rise");
    out.push_back({each->number(),
                   name_of(each->base(), path),
                   each->base_bytes(),
                   {each->identity_low(), each->identity_high()}});
  }
  return out;
}

std::vector<ManifestSegment> read_segments(const format::Manifest& from, const Manifest& manifest, const char* path) {
  std::vector<ManifestSegment> out;
  if (from.segments() == nullptr || from.segments()->size() == 0) corrupt(path, "it names no log");
  for (const format::Segment* each : *from.segments()) {
    const auto is_its = [&](const ManifestGeneration& generation) { return generation.number == each->generation(); };
    if (std::none_of(manifest.generations.begin(), manifest.generations.end(), is_its))
      corrupt(path, "a log is of no generation");
    if (each->first_version() <= (out.empty() ? 0 : out.back().first_version))
      corrupt(path, "its versions do not rise");
    if (each->last_version() != 0 && each->last_version() < each->first_version()) corrupt(path, "a log of no version");
    out.push_back(
        {name_of(each->log(), path), each->generation(), each->first_version(), each->salt(), each->last_version()});
  }
  return out;
}

}  // namespace

const ManifestGeneration& find_generation(const Manifest& manifest, int64_t number) {
  return *std::find_if(manifest.generations.begin(), manifest.generations.end(),
                       [&](const ManifestGeneration& each) { return each.number == number; });
}

Hash128 identity_of(CpuTarget target, const IndexHeaderInfo& base) {
  const std::string text = std::string(base.info.fingerprint) + base.info.attribute_digest;
  return xxh3_128(target, text.data(), text.size());
}

std::vector<uint8_t> write_manifest(CpuTarget target, const Manifest& manifest) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<format::Generation>> generations;
  for (const ManifestGeneration& each : manifest.generations)
    generations.push_back(format::CreateGeneration(builder, each.number, builder.CreateString(each.base),
                                                   each.base_bytes, each.base_identity.low, each.base_identity.high));
  std::vector<flatbuffers::Offset<format::Segment>> segments;
  for (const ManifestSegment& each : manifest.segments)
    segments.push_back(format::CreateSegment(builder, builder.CreateString(each.log), each.generation,
                                             each.first_version, each.salt, each.last_version));
  const auto generations_at = builder.CreateVector(generations);
  const auto segments_at = builder.CreateVector(segments);
  format::FinishManifestBuffer(
      builder, format::CreateManifest(builder, generations_at, segments_at, manifest.newest_generation));

  ManifestPreamble preamble = {{}, kMajor, kMinor, builder.GetSize(), 0};
  std::memcpy(preamble.magic, kMagic, sizeof kMagic);
  preamble.checksum = checksum_of(target, preamble, builder.GetBufferPointer());
  std::vector<uint8_t> bytes(sizeof preamble + builder.GetSize());
  std::memcpy(bytes.data(), &preamble, sizeof preamble);
  std::memcpy(bytes.data() + sizeof preamble, builder.GetBufferPointer(), builder.GetSize());
  return bytes;
}

Manifest read_manifest(CpuTarget target, std::span<const uint8_t> bytes, const char* path) {
  ManifestPreamble preamble;
  if (bytes.size() < sizeof preamble || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    corrupt(path, "it does not begin as one");
  std::memcpy(&preamble, bytes.data(), sizeof preamble);
  if (preamble.major != kMajor)
    fail(SIDBEAM_UNSUPPORTED, "'%.300s' is of format %u.%u, this library reads %u", path, preamble.major,
         preamble.minor, kMajor);
  const std::span<const uint8_t> payload = bytes.subspan(sizeof preamble);
  if (preamble.bytes != payload.size()) corrupt(path, "it is cut off, or something follows it");
  if (checksum_of(target, preamble, payload.data()) != preamble.checksum) corrupt(path, "its checksum does not match");
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!format::VerifyManifestBuffer(verifier)) corrupt(path, "its tables");
  const format::Manifest& from = *format::GetManifest(payload.data());
  Manifest manifest;
  manifest.generations = read_generations(from, path);
  manifest.segments = read_segments(from, manifest, path);
  manifest.newest_generation = from.newest_generation();
  if (manifest.newest_generation < manifest.generations.back().number) corrupt(path, "its generations do not rise");
  return manifest;
}

}  // namespace sidbeam
