// Files to be damaged: changed in their sections and headers, with checksums that are then corrected.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <stdexcept>
#include <vector>

#include "index/format.h"
#include "index/hash_seed.h"
#include "index/header.h"
#include "index/names.h"
#include "index/read/lookup.h"
#include "index_catalogues.h"

namespace sidbeam::testing {

struct Damaged {
  explicit Damaged(const std::vector<uint8_t>& from) : bytes(default_allocator(), static_cast<int64_t>(from.size())) {
    std::memcpy(bytes.data(), from.data(), from.size());
    header = decode_header({bytes.data(), from.size()}, from.size(), best_cpu_target());
  }
  // Corrects the checksums, so that only the structure can tell.
  void seal() {
    for (Section& section : header.sections)
      section.checksum = xxh3_64(best_cpu_target(), bytes.data() + section.offset, section.spec.length);
    const std::vector<uint8_t> encoded = encode_header(header);
    std::memcpy(bytes.data(), encoded.data(), encoded.size());
  }
  Index open(int32_t verify) const {
    return open_index_memory(bytes.data(), bytes.size(), nullptr, SIDBEAM_RESIDENCY_MAP, verify, 1,
                             default_allocator());
  }
  std::vector<uint8_t> content() const { return {bytes.data(), bytes.data() + bytes.size()}; }
  Section& entry(format::SectionKind kind, int level) {
    for (Section& section : header.sections) {
      if (section.spec.kind == kind && section.spec.level == level) return section;
    }
    throw std::logic_error("no such section");
  }
  uint8_t* section(format::SectionKind kind, int level) { return bytes.data() + entry(kind, level).offset; }
  template <class Element>
  Element& at(format::SectionKind kind, int level, uint64_t i) {
    return reinterpret_cast<Element*>(section(kind, level))[i];
  }

  Buffer<uint8_t> bytes;
  FileHeader header;
};

// The file with its hash set made anew, without a bound: with a seed, or, for 0, as before 1.2.
inline std::vector<uint8_t> with_hash_seed(const std::vector<uint8_t>& from, uint64_t seed) {
  using format::SectionKind;
  Damaged file(from);
  for (Section& section : file.header.sections) {
    if (section.spec.kind == SectionKind::SeededHashKeys && seed == 0) section.spec.kind = SectionKind::HashKeys;
  }
  file.header.shape.hash_seed = seed;
  file.header.own_hash_seed = false;
  const IndexView view = view_of(file.header.shape, file.header.sections, file.bytes.data());
  const uint64_t slots = view.hash.capacity - 1;
  auto& keys = file.at<uint64_t>(seed != 0 ? SectionKind::SeededHashKeys : SectionKind::HashKeys, -1, 0);
  auto& ordinals = file.at<uint32_t>(SectionKind::HashOrdinals, -1, 0);
  std::fill_n(&keys, slots + 1, ~uint64_t{0});
  std::fill_n(&ordinals, slots + 1, 0u);
  for (uint64_t i = 0; i < view.sids; ++i) {
    int32_t codes[kMaxLevels];
    for (int l = 0; l < view.levels; ++l) codes[l] = static_cast<int32_t>(view.level[l].column[i]);
    uint64_t slot = mix_key(key_mix(seed), hash_key(view, codes)) & slots;
    while ((&keys)[slot] != ~uint64_t{0}) slot = (slot + 1) & slots;
    (&keys)[slot] = hash_key(view, codes);
    (&ordinals)[slot] = static_cast<uint32_t>(i);
  }
  file.seal();
  return file.content();
}

}  // namespace sidbeam::testing
