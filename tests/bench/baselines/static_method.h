// STATIC's step (Algorithms 1 and 2), two ways of ending it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "beams.h"
#include "static_trie.h"

namespace bench {

enum class StaticForm {
  // As the paper has it: the K_l slots of a beam become a mask of all columns, and the best M of all M * V are taken.
  kPaper,
  // As its code has it, and kinder: after the dense levels the best M of the M * K_l slots; log-probabilities of slots
  // alone, never of the row. (It keeps all children of a level, where the code keeps `tokens_per_beam`.)
  kSlots,
};
std::unique_ptr<Method> make_static_method(const StaticTrie* trie, const Shape& shape, StaticForm form);

}  // namespace bench
