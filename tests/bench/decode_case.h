// One case of a table: methods decode the same logits, each on its own beams; they are compared, timed in turn, and
// reported. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "context.h"
#include "logits.h"
#include "registry.h"
#include "row_model.h"

namespace bench {

struct DecodeCase {
  std::string table;
  std::vector<std::string> methods;
  Shape shape;
  Source source = Source::kHot;
  int64_t ring_bytes = kRingBytes;
  bool given = false;            // the log-sum-exp of rows comes with them
  MakeRows make_rows = nullptr;  // of the model whose rows are decoded; none: rows are as they were drawn
  bool by_level = true;          // levels are reported, not the decode alone
  bool thread_time = false;      // steps take so long that processor time is measured, not the clock's
  Case more;                     // what else the case is told by
};

// The shape of a search in a catalogue whose codes are all the columns.
Shape shape_of(const Catalogue& catalogue, int32_t slots, int32_t beams);

// Medians in microseconds, of a step over the whole decode and of the steps of each level.
struct StepTimes {
  double step = 0;
  std::vector<double> levels;

  // Of a step, from the levels: an interruption of a long decode moves its median, hardly those of its short steps.
  double mean() const;
};
// By method. Throws Mismatch if an exact method has other beams than mask-then-top-k.
struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};
std::map<std::string, StepTimes> run_decode(Context& context, World& world, const DecodeCase& decode);

// The case as measurements name it, without the level.
Case where_of(const World& world, const DecodeCase& decode);

}  // namespace bench
