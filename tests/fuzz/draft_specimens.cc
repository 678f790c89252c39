// SPDX-License-Identifier: Apache-2.0
#include "draft_specimens.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "schemas/draft_head_generated.h"
#include "specimens.h"
#include "tool/scratch.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fuzz {

DraftWeights::DraftWeights(const std::vector<int32_t>& codes, int32_t hidden, int32_t kind) : codes_(codes) {
  view_.input = kind % 3;
  view_.transition = kind / 3 % 4;
  view_.dtype = kind / 12 % 3;
  if (view_.input == SIDBEAM_DRAFT_INPUT_HIDDEN) view_.transition = SIDBEAM_DRAFT_TRANSITION_NONE;
  view_.levels = static_cast<int32_t>(codes.size());
  view_.hidden = hidden;
  view_.embedding = view_.transition == SIDBEAM_DRAFT_TRANSITION_ADD ? hidden : 2;
  view_.codes = codes_.data();
  // Of the largest array: a level's head, or the three gates of a GRU.
  const int32_t rows = std::max(2 * *std::max_element(codes.begin(), codes.end()), 3 * hidden);
  numbers_.resize(static_cast<size_t>(rows * std::max(hidden, 2)) + codes.size());
  for (size_t i = 0; i < numbers_.size(); ++i) numbers_[i] = static_cast<float>(i * 37 % 25) / 12.0F - 1.0F;
  for (size_t level = 0; level < codes.size(); ++level) arrays_.push_back(numbers_.data() + level);
  view_.head_weights = view_.embeddings = view_.input_weights = view_.recurrent_weights = arrays_.data();
  view_.head_biases = view_.input_biases = arrays_.data();
  view_.recurrent_biases = kind % 2 == 0 ? arrays_.data() : nullptr;
}

void write_draft_head(const std::string& path, const std::vector<int32_t>& codes, int32_t hidden, int32_t kind) {
  const DraftWeights weights(codes, hidden, kind);
  FUZZ_CHECK(sidbeam_draft_head_write(path.c_str(), &weights.view(), nullptr) == SIDBEAM_OK);
}

std::vector<std::vector<uint8_t>> draft_specimens() {
  const Scratch scratch("heads");
  std::vector<std::vector<uint8_t>> files;
  for (int32_t kind = 0; kind < kDraftKinds; ++kind) {
    if (kind % 3 == SIDBEAM_DRAFT_INPUT_HIDDEN && kind / 3 % 4 != SIDBEAM_DRAFT_TRANSITION_NONE) continue;
    write_draft_head(scratch.path("head"), kDraftCodes, kDraftHidden, kind);
    files.push_back(scratch.read("head"));
  }
  return files;
}

bool is_draft_head(const std::vector<uint8_t>& bytes) {
  return bytes.size() > 8 && std::memcmp(bytes.data(), "SIDHEAD\n", 8) == 0;
}

void repair_draft_head(uint8_t* file, size_t size) {
  constexpr size_t kPreamble = 32;
  uint64_t header_bytes = 0;
  if (size < kPreamble) return;
  std::memcpy(&header_bytes, file + 16, sizeof header_bytes);
  if (header_bytes > size - kPreamble) return;
  flatbuffers::Verifier verifier(file + kPreamble, header_bytes);
  if (sidbeam::format::VerifyDraftHeaderBuffer(verifier)) {
    const auto* sections = sidbeam::format::GetDraftHeader(file + kPreamble)->sections();
    std::vector<std::pair<size_t, uint64_t>> checksums;  // written at the end, since tables may overlap each other
    for (uint32_t i = 0; sections != nullptr && i < sections->size(); ++i) {
      const sidbeam::format::WeightSection& section = *sections->Get(i);
      const uint8_t* place = reinterpret_cast<const flatbuffers::Table*>(&section)->GetAddressOf(
          sidbeam::format::WeightSection::VT_CHECKSUM);
      if (place == nullptr || section.offset() > size || section.length() > size - section.offset()) continue;
      checksums.emplace_back(place - file, XXH3_64bits(file + section.offset(), section.length()));
    }
    for (const auto& [place, checksum] : checksums) std::memcpy(file + place, &checksum, sizeof checksum);
  }
  repair_checksum(file, size);
}

}  // namespace fuzz
