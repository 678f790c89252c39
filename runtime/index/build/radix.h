// Sorts the rows of a catalogue by key: splits them into parts that fit a core's cache, then sorts each part there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "index/build/catalogue.h"
#include "index/build/progress.h"
#include "support/memory.h"

namespace sidbeam {

struct Record {
  uint64_t key, row;  // word 0 of the key, and the row with this key
};

// Rows [begin, end) of the order. They include every row of each of their SIDs. Word `word` of their keys lies in
// [base, base + 2^bits), and all earlier words are equal.
struct SortPart {
  int64_t begin, end;
  int word, bits;
  uint64_t base;
  int64_t size() const { return end - begin; }
};

// The memory that the two functions below need in addition to keys and rows: the least (keys are spread evenly) and the
// most (keys cluster).
int64_t least_sort_bytes(int64_t rows, int threads);
int64_t most_sort_bytes(int64_t rows, int threads);

struct SortParts {
  std::vector<SortPart> parts;
  int64_t bytes = 0;  // memory that sorting takes in addition to keys and rows
};

// Fills keys (word 0) and rows [catalogue.rows] in the order of the parts. Rows within a part are not ordered yet.
SortParts take_apart(const Catalogue& catalogue, int threads, Buffer<uint64_t>& keys, Buffer<uint64_t>& rows,
                     Progress& progress);

// Calls body(i, records) for each part, on any thread. The records are ordered by the whole key, then by row. The body
// may change the records and overwrite the part's keys and rows.
void sort_parts(const Catalogue& catalogue, int threads, const std::vector<SortPart>& parts,
                const Buffer<uint64_t>& keys, const Buffer<uint64_t>& rows,
                const std::function<void(size_t, Record*)>& body);

}  // namespace sidbeam
