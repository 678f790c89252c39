// SPDX-License-Identifier: Apache-2.0
#include "runner/attention/permute.h"

#include <algorithm>
#include <cstring>

#include "sidbeam/base.h"

namespace sidbeam::runner {
namespace {

// The copies that a list of parents asks for, in an order in which no row is overwritten before it is read. A row that
// nobody reads any more is written first; its source may be such a row then. What remains are cycles, each of which
// needs a row of scratch. (The paper's two sweeps, one per direction, are right only where no row is overwritten in the
// first that the second reads. Rising parents ensure that, but beams are in order of score.)
class Moves {
 public:
  Moves(const int32_t* parents, int32_t beams) : parents_(parents) {
    std::fill_n(readers_, beams, int16_t{0});
    for (int32_t m = 0; m < beams; ++m) {
      if (moves(m)) ++readers_[parents[m]];
    }
    for (int32_t m = 0; m < beams; ++m) {
      for (int32_t to = m; moves(to) && readers_[to] == 0;) {
        const int32_t from = parents[to];
        add(to, from);
        readers_[to] = kDone;
        --readers_[from];
        to = from;
      }
    }
    for (int32_t m = 0; m < beams; ++m) {
      if (moves(m) && readers_[m] != kDone) add_cycle(m);
    }
  }

  int32_t count() const { return count_; }

  // Makes the copies for the columns [0, n) of rows at `data`, n at most kColumns.
  void apply(char* data, int64_t row_bytes, size_t n) const {
    char scratch[kColumns];
    for (int32_t i = 0; i < count_; ++i) {
      char* const to = to_[i] == kScratch ? scratch : data + to_[i] * row_bytes;
      std::memcpy(to, from_[i] == kScratch ? scratch : data + from_[i] * row_bytes, n);
    }
  }

  static constexpr int64_t kColumns = 4096;

 private:
  static constexpr int16_t kDone = -1, kScratch = -1;
  static constexpr int32_t kMost = SIDBEAM_MAX_BEAMS + SIDBEAM_MAX_BEAMS / 2;  // a cycle has two beams or more

  bool moves(int32_t m) const { return parents_[m] >= 0 && parents_[m] != m; }

  void add(int32_t to, int32_t from) {
    to_[count_] = static_cast<int16_t>(to);
    from_[count_++] = static_cast<int16_t>(from);
  }

  void add_cycle(int32_t first) {
    add(kScratch, first);
    int32_t to = first;
    for (; parents_[to] != first; to = parents_[to]) {
      add(to, parents_[to]);
      readers_[to] = kDone;
    }
    add(to, kScratch);
    readers_[to] = kDone;
  }

  const int32_t* parents_;
  int32_t count_ = 0;
  int16_t readers_[SIDBEAM_MAX_BEAMS];  // beams that have yet to read this one's row; kDone: it has been written
  int16_t to_[kMost], from_[kMost];
};

}  // namespace

int64_t permute_rows(const BeamRows& rows, const int32_t* parents) {
  const Moves moves(parents, rows.beams);
  for (int32_t level = 0; level < rows.depth; ++level) {
    char* const data = rows.data + level * rows.beams * rows.row_bytes;
    for (int64_t column = 0; column < rows.row_bytes; column += Moves::kColumns) {
      const int64_t n = std::min(Moves::kColumns, rows.row_bytes - column);
      moves.apply(data + column, rows.row_bytes, static_cast<size_t>(n));
    }
  }
  return int64_t{moves.count()} * rows.depth;
}

}  // namespace sidbeam::runner
