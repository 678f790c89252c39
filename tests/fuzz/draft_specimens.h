// Small draft heads of every kind, as files. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sidbeam/draft.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

// Kinds of heads: what the head of a level multiplies, the transition, the type of the weights.
constexpr int32_t kDraftKinds = 36;
// Made-up weights of one for an index of these codes.
class DraftWeights {
 public:
  DraftWeights(const std::vector<int32_t>& codes, int32_t hidden, int32_t kind);
  DraftWeights(const DraftWeights&) = delete;
  DraftWeights& operator=(const DraftWeights&) = delete;
  const sidbeam_draft_weights& view() const { return view_; }

 private:
  std::vector<int32_t> codes_;
  std::vector<float> numbers_;
  std::vector<const void*> arrays_;
  sidbeam_draft_weights view_ = SIDBEAM_DRAFT_WEIGHTS_INIT;
};
void write_draft_head(const std::string& path, const std::vector<int32_t>& codes, int32_t hidden, int32_t kind);

// Codes of the specimens, whose hidden states have three elements.
inline const std::vector<int32_t> kDraftCodes = {3, 5, 2};
constexpr int32_t kDraftHidden = 3;
std::vector<std::vector<uint8_t>> draft_specimens();

bool is_draft_head(const std::vector<uint8_t>& bytes);
// Makes every checksum right that has a place, so that only the other checks stand between damage and its use.
void repair_draft_head(uint8_t* file, size_t size);

}  // namespace fuzz
