// The logits of one step as a caller hands them over: in any layout, with NaN wherever the library must not look.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <sidbeam/sidbeam.h>

#include "place.h"
#include "world.h"

namespace differential {

struct Feed {
  std::vector<uint16_t> narrow;  // the memory of f16 and bf16 rows
  std::vector<float> wide;       // of f32 rows
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  void* data = nullptr;                   // rows.data, to be written through
  std::vector<int32_t> row_map;           // empty: none
  std::vector<float> lse;                 // empty: none
  std::vector<std::vector<RawRow>> seen;  // [slot of the call][beam], empty where it is not fed
};

// A feed where the work is done: the arguments of a step or a stateless form.
struct Delivery {
  Delivery(const Place& place, const Feed& feed);
  sidbeam_rows rows;
  void* data = nullptr;  // rows.data, to be written through
  Array<uint16_t> narrow;
  Array<float> wide, lse;
  Array<int32_t> row_map;
};

// fed[i][m]: whether beam m of the call's i-th slot, slot slots[i], must be fed.
Feed make_feed(const World& world, uint64_t step, const std::vector<int>& slots,
               const std::vector<std::vector<bool>>& fed);
// The same of given rows, [slot of the call][beam], NULL for beams that are not fed: at least one is. Layouts that
// repeat rows ask for equal ones.
Feed feed_of(const World& world, uint64_t step, const std::vector<std::vector<const RawRow*>>& rows);
// The simplest layout of the given rows for one slot.
Feed plain_feed(const World& world, const std::vector<RawRow>& rows, int64_t beams, int64_t misalign);

}  // namespace differential
