// The rows of a catalogue in the order of their keys: taken apart into parts that fit a core's cache, then sorted
// there.
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
  uint64_t key, row;  // word 0 of the key, and the row that has it
};

// Rows [begin, end) of the order, with all the rows of their SIDs. In `word` their keys lie in base .. base + 2^bits -
// 1, and the words before it are alike.
struct SortPart {
  int64_t begin, end;
  int word, bits;
  uint64_t base;
  int64_t size() const { return end - begin; }
};

// Memory that the two below take beside keys and rows: at least, where keys are spread, and at most, where they
// cluster.
int64_t least_sort_bytes(int64_t rows, int threads);
int64_t most_sort_bytes(int64_t rows, int threads);

struct SortParts {
  std::vector<SortPart> parts;
  int64_t bytes = 0;  // that sorting takes beside keys and rows
};

// Fills keys (word 0) and rows [catalogue.rows], in the order of the parts but in none within a part.
SortParts take_apart(const Catalogue& catalogue, int threads, Buffer<uint64_t>& keys, Buffer<uint64_t>& rows,
                     Progress& progress);

// Calls body(i, records) for each part with its records in the order of whole keys, then of rows; on any thread. The
// body may change them, and write over the part's keys and rows.
void sort_parts(const Catalogue& catalogue, int threads, const std::vector<SortPart>& parts,
                const Buffer<uint64_t>& keys, const Buffer<uint64_t>& rows,
                const std::function<void(size_t, Record*)>& body);

}  // namespace sidbeam
