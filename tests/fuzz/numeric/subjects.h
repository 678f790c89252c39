// Sound indexes of every shape, made once, what the oracle knows of them, and the ways to decode on them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "../../differential/library.h"
#include "../specimens.h"

namespace fuzz::numeric {

struct Subject {
  oracle::Catalogue catalogue;
  int32_t kinds;
  Block file;
  int64_t bytes;
};
const std::vector<Subject>& subjects();

// A runtime with every subject opened in it. All give the same bits.
struct Way {
  std::string name;
  handles::Runtime runtime;
  std::vector<handles::Constraint> constraints;  // by subject
};
// The first way is this machine's best instruction set on the caller's thread. Those before `alone` differ from it in
// the instruction set, the others in their threads.
struct Ways {
  std::vector<Way> all;
  size_t alone = 0;
};
const Ways& ways();

}  // namespace fuzz::numeric
