// Deep levels: beams of one child each, of whose rows, the normaliser apart, one element is read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/row_scan.h"
#include "backend/cpu/step_job.h"

namespace sidbeam::cpu {

// The only edges of the first `count` of beams.
struct OnlyEdges {
  const LogSum* sums = nullptr;  // [n] normalisers of the beams where they are computed
  Chain chain;                   // where there are any
  uint32_t edges[kMostInChain];
  int32_t count = 0;
};

// Those of beams [first, first + n), n at most kMostInChain, up to one that has not one child, or fewer. What is then read of
// the codes has been fetched, for the other beams, too, where their rows are read in between. `found.sums` is set, but need
// not be computed yet.
void find_only_edges(const StepJob& job, const SlotScan& scan, const SlotStep& slot, int32_t first, int32_t n,
                     OnlyEdges& found);

// Scores the only children of the same beams; returns how many there are before a beam that has not one child or whose
// numbers are odd in any way. For the others `only` has the code of the only child or kNotOne. `out.next` is filled for
// all.
int32_t score_only_children(const StepJob& job, const SlotScan& scan, const SlotStep& slot, int32_t first, int32_t n,
                            const OnlyEdges& found, uint32_t* only, const ChainOut& out);

}  // namespace sidbeam::cpu
