// Which logits a step of a lane's session reads: where these are the beams' children alone, the model may compute no
// others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/schedule/lane_session.h"

namespace sidbeam::runner {

class Children {
 public:
  // Nothing is listed for a forward pass that computes no elements, nor where the session's steps read more.
  Children(const Allocator& allocator, const LaneSession& session, const Forward& forward);

  // The elements that the next step of these slots reads, row_map [count, M] being the row of each beam among `rows`;
  // none where they would cost more than a product with all columns.
  LogitElements list(const int32_t* slots, int32_t count, const int32_t* row_map, int64_t rows, int64_t columns);
  int64_t memory_bytes() const { return offsets_.bytes() + rows_.bytes() + columns_.bytes(); }

 private:
  void find(const int32_t* slots, int32_t count, int64_t capacity);

  const LaneSession& session_;
  int64_t cost_;  // elements of a product that cost as much as one that is listed; 0: none is listed
  int64_t most_ = 0;
  Buffer<int64_t> offsets_;         // [requests * M + 1] of children, by beam
  Buffer<int32_t> rows_, columns_;  // [most_]
};

}  // namespace sidbeam::runner
