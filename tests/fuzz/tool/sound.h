// Files that are sound, for command lines that name one that is not: written once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "scratch.h"

namespace fuzz {

class Sound {
  Scratch folder_{"sound"};  // first, since all others are in it

 public:
  Sound();

  // An index of every kind, of three levels of four codes, and rows that one can be built of.
  std::string index, rows;
  // The folder of a live catalogue that began with `index`: in version 2 items have come, in version 3 others have
  // gone.
  std::string live;
  // A model of 12 tokens, whose hidden states have kModelHidden elements, and a head for it and `index`.
  std::string model, head_of_model;
  // A head, an index, and hidden states for both.
  std::string head, index_of_head, hidden;
  static constexpr int kModelHidden = 8;
};

}  // namespace fuzz
