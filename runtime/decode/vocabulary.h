// Where codes stand in a row, owned and checked once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "index/views.h"
#include "support/memory.h"

namespace sidbeam {

struct Vocabulary {
  int32_t levels = 0;
  int64_t end_column = -1;
  LevelColumns columns[kMaxLevels];
  int64_t map_codes[kMaxLevels] = {};  // codes that a map covers; of levels with one
  Buffer<int32_t> maps;                // copies, one after the other; empty where the caller's are used in place
};

// What `given` says (nullptr: code t is column t at each of `levels` levels). Copies the maps where an allocator is
// given. Throws INVALID_ARGUMENT.
Vocabulary make_vocabulary(const sidbeam_vocabulary* given, int32_t levels, const Allocator* allocator);

// Throws where an index cannot be read through it: fewer levels, a map that is too short, variable length without an
// end column.
void check_vocabulary(const Vocabulary& vocabulary, const IndexView& index, const char* what);

// Columns that a row needs for a level of an index.
int64_t columns_needed(const Vocabulary& vocabulary, const IndexView& index, int32_t level);

}  // namespace sidbeam
