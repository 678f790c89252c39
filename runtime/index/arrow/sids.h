// The SIDs of a batch, in whatever layout they come, as the builder's codes [pairs, levels].
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index/arrow/arrays.h"

namespace sidbeam::arrow {

struct Sids {
  std::vector<const Field*> fields;  // of the columns
  Lists lists;                       // of codes; or,
  std::vector<Numbers> levels;       // where it has a field of none, a column per level
  Numbers values;                    // elements of the lists
  bool nested = false;               // rows are lists of SIDs, which are
  Lists outer;                       // lists of `lists`
  int64_t first = 0;                 // number of row 0 in the columns: the offset of the struct around them
  int64_t rows = 0;
  int64_t rows_before = 0;  // of the stream, for messages

  bool is_listed() const { return lists.field != nullptr; }
};

Sids read_sids(const Field& batch, const Columns& columns, const ArrowArray& array, int64_t rows_before);

// Some pairs of a batch, in its order. Where a row is one SID, pair i is row begin + i and the lists are empty.
struct Pairs {
  const Sids* sids = nullptr;
  int64_t begin = 0, count = 0;
  std::vector<int64_t> places, rows;  // [count] number of the list of codes, and of the row, in the columns

  int64_t place(int64_t i) const { return places.empty() ? sids->first + begin + i : places[static_cast<size_t>(i)]; }
  int64_t row(int64_t i) const { return rows.empty() ? sids->first + begin + i : rows[static_cast<size_t>(i)]; }
  // Of the stream, for messages.
  int64_t number(int64_t i) const { return sids->rows_before + row(i) - sids->first; }
};

// Where the next pairs begin.
struct Cursor {
  int64_t row = 0, sid = 0;  // within the batch; within the row
};
// The next `most` pairs at most; count 0: that was all. Throws INVALID_ARGUMENT at a row without a SID.
Pairs next_pairs(const Sids& sids, int64_t most, Cursor& cursor);

// What the SIDs must be.
struct SidLimits {
  int levels = 0;
  bool variable_length = false;
  const uint32_t* codes = nullptr;  // [levels]; nullptr: SIDBEAM_MAX_CODES
};

// The codes themselves, [count, levels], if that is what lies there; otherwise nullptr.
const int32_t* codes_in_place(const Pairs& pairs, int levels);
// Writes pairs [begin, begin + count): codes, and, unless it returns true, lengths; true: all have `levels` codes.
// What is no code becomes -1, and what has no length gets 0 or one that is too long: find_bad_sid() says what is wrong.
bool read_codes(const Pairs& pairs, int64_t begin, int64_t count, int levels, int32_t* codes, int32_t* lengths);
// Throws INVALID_ARGUMENT for the first SID that the limits do not allow, if there is one.
void find_bad_sid(const Pairs& pairs, const SidLimits& limits);
// Codes of the longest SID, nulls behind it included.
int64_t longest(const Pairs& pairs);

}  // namespace sidbeam::arrow
