// SPDX-License-Identifier: Apache-2.0
#include "damage.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fuzz {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kLogPreamble = 64, kFrame = 32, kManifestPreamble = 32;

uint64_t word(const Bytes& bytes, size_t at) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
void put_word(Bytes& bytes, size_t at, uint64_t value) { std::memcpy(bytes.data() + at, &value, sizeof value); }

void repair_manifest(Bytes& bytes) {
  if (bytes.size() < kManifestPreamble) return;
  const size_t payload = bytes.size() - kManifestPreamble;
  put_word(bytes, 16, payload);
  const uint64_t of_payload = XXH3_64bits(bytes.data() + kManifestPreamble, payload);
  put_word(bytes, 24, XXH3_64bits_withSeed(bytes.data(), 24, of_payload));
}

void repair_log(Bytes& bytes) {
  if (bytes.size() < kLogPreamble) return;
  put_word(bytes, 56, XXH3_64bits(bytes.data(), 56));
  const uint64_t salt = word(bytes, 32);
  for (size_t at = kLogPreamble; bytes.size() - at >= kFrame;) {
    const uint64_t count = word(bytes, at);
    if (count > bytes.size() - at - kFrame) return;
    const uint64_t of_payload = XXH3_64bits_withSeed(bytes.data() + at + kFrame, count, salt);
    put_word(bytes, at + 24, XXH3_64bits_withSeed(bytes.data() + at, 24, of_payload));
    const uint64_t padded = (count + 7) / 8 * 8;
    if (padded > bytes.size() - at - kFrame) return;
    at += kFrame + padded;
  }
}

void change(Bytes& bytes, Random& random) {
  if (bytes.empty()) return;
  const size_t at = random.below(bytes.size());
  switch (random.below(5)) {
    case 0:
      bytes.resize(at);
      return;
    case 1:
      bytes.insert(bytes.end(), 1 + random.below(40), static_cast<uint8_t>(random.next()));
      return;
    case 2:
      if (bytes.size() >= 8) put_word(bytes, at & ~size_t{7}, random.skewed(64));
      return;
    default:
      bytes[at] ^= static_cast<uint8_t>(1u << random.below(8));
  }
}

}  // namespace

void damage_folder(const std::string& folder, Random& random, bool repaired) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".slog" || entry.path().extension() == ".live") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // folders are listed in any order
  const std::string& path = random.pick(paths);
  std::ifstream in(path, std::ios::binary);
  Bytes bytes(std::istreambuf_iterator<char>(in), {});
  in.close();
  for (uint64_t changes = 1 + random.below(3); changes > 0; --changes) change(bytes, random);
  if (repaired) path.ends_with(".slog") ? repair_log(bytes) : repair_manifest(bytes);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace fuzz
