// The columns of codes in a logits row, owned and checked once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "decode/objects.h"
#include "index/views.h"
#include "support/memory.h"

namespace sidbeam {

struct Vocabulary {
  int32_t levels = 0;
  int64_t end_column = -1;
  LevelColumns columns[kMaxLevels];
  int64_t map_codes[kMaxLevels] = {};  // codes that a map covers; of levels with one
  bool holes[kMaxLevels] = {};         // whether some code of a map has no column
  Buffer<int32_t> maps;                // copies, one after the other; empty where the caller's are used in place
};

// Makes the vocabulary of `given` (nullptr: code t is column t at each of `levels` levels). Copies the maps if an
// allocator is given. Throws INVALID_ARGUMENT.
Vocabulary make_vocabulary(const sidbeam_vocabulary* given, int32_t levels, const Allocator* allocator);

// Throws if a constraint's index cannot be used with it: fewer levels, a map that is too short or lacks the column of a
// code that some SID has, variable length without an end column.
void check_vocabulary(const Vocabulary& vocabulary, const sidbeam_constraint& constraint, const char* what);

// Whether a level may have a code, the end not counted, so that columns[level].column(code) may be asked for.
bool has_column(const Vocabulary& vocabulary, int32_t level, int32_t code);

// Columns that a row needs for a level of an index.
int64_t columns_needed(const Vocabulary& vocabulary, const IndexView& index, int32_t level);

// The same for a backend; borrows.
VocabularyView view_of(const Vocabulary& vocabulary);

}  // namespace sidbeam
