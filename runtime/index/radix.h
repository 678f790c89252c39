// The rows of a catalogue sorted by their keys, as (key, row) records.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/catalogue.h"
#include "index/progress.h"
#include "support/memory.h"

namespace sidbeam {

struct Record {
  uint64_t key, row;  // word 0 of the key, and the row that has it
};

// Records [begin, end), whole SIDs. Few, unless one SID has them all.
struct Part {
  int64_t begin, end;
};

// Memory that sort_rows() takes beside the records.
int64_t sort_rows_bytes(int64_t rows, int threads);

// Fills `records`, one for each row, in the order of whole keys, and says where it may be cut. Rows of the same SID come
// in an order that hangs on nothing but the catalogue. Advances `progress` by 2 for each row.
std::vector<Part> sort_rows(const Catalogue& catalogue, int threads, Buffer<Record>& records, Progress& progress);

}  // namespace sidbeam
