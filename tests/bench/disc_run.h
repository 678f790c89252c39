// DISC by the library: a sampling session runs the draws that it asks for. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "row_model.h"
#include "sidbeam_method.h"

namespace bench {

struct DiscFigures {
  double us = 0;                  // processor time of all, without the making of rows
  double rows = 0, draws = 0;     // draws that were run, and that the paper counts, of all results
  double accepted = 0, dead = 0;  // results
};
// `results` of one request with K rounds. The sampler has one slot, whose beams are run at a time.
DiscFigures run_disc(sidbeam_runtime* runtime, SidbeamMethod& sampler, RowModel& model, Logits& logits, int32_t results,
                     int32_t rounds);

}  // namespace bench
