// What the caller knows of an index, and where it puts its codes in a logits row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "answers.h"
#include "memory.h"

class FuzzedDataProvider;

namespace fuzz::abi {

// What get_info said.
using Facts = std::shared_ptr<const sidbeam_index_info>;

struct Vocabulary {
  bool given = false;
  Array<int64_t> offsets;
  std::vector<Array<int32_t>> maps;  // by level
  Array<const int32_t*> map_pointers;
  Array<int64_t> map_codes;
  sidbeam_vocabulary view = SIDBEAM_VOCABULARY_INIT;

  // The answer of a call that uses it for that index.
  void judge(const sidbeam_index_info& info, Answers& answers) const;
  // Columns that a logits row needs at a level.
  int64_t columns(const sidbeam_index_info& info, int32_t level) const;
};

// A vocabulary that mostly suits the index.
Vocabulary draw_vocabulary(FuzzedDataProvider& input, const sidbeam_index_info& info);

}  // namespace fuzz::abi
