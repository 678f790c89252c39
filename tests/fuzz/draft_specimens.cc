// SPDX-License-Identifier: Apache-2.0
#include "draft_specimens.h"

#include <sidbeam/draft.h>

#include "specimens.h"
#include "tool/scratch.h"

namespace fuzz {

std::vector<std::vector<uint8_t>> draft_specimens() {
  constexpr int32_t kCodes[] = {3, 5, 2};
  const Scratch scratch;
  std::vector<std::vector<uint8_t>> files;
  std::vector<float> numbers(64);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 37 % 25) / 12.0F - 1.0F;
  const void* arrays[] = {numbers.data(), numbers.data() + 1, numbers.data() + 2};
  for (int32_t kind = 0; kind < 36; ++kind) {
    sidbeam_draft_weights weights = SIDBEAM_DRAFT_WEIGHTS_INIT;
    weights.input = kind % 3;
    weights.transition = kind / 3 % 4;
    weights.dtype = kind / 12;
    if (weights.input == SIDBEAM_DRAFT_INPUT_HIDDEN && weights.transition != SIDBEAM_DRAFT_TRANSITION_NONE) continue;
    weights.levels = 3;
    weights.hidden = 3;
    weights.embedding = weights.transition == SIDBEAM_DRAFT_TRANSITION_ADD ? 3 : 2;
    weights.codes = kCodes;
    weights.head_weights = weights.embeddings = weights.input_weights = weights.recurrent_weights = arrays;
    weights.head_biases = weights.input_biases = arrays;
    weights.recurrent_biases = kind % 2 == 0 ? arrays : nullptr;
    const std::string path = scratch.path("head");
    FUZZ_CHECK(sidbeam_draft_head_write(path.c_str(), &weights, nullptr) == SIDBEAM_OK);
    files.push_back(scratch.read("head"));
  }
  return files;
}

}  // namespace fuzz
