// Steps of a service under load: decode after decode of two requests of 70 beams. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index_files.h"
#include "library.h"

namespace bench {

// A session that never rests. Every step has other logits, N(0, 3), so that every decode goes elsewhere in the index.
class Load {
 public:
  static constexpr int32_t kSlots = 2, kBeams = 70;

  Load(sidbeam_runtime* runtime, sidbeam_constraint* constraint);

  // Takes one step and returns its microseconds. If the decode is over, starts the next one first, which is not
  // counted.
  double step();
  // Microseconds of starting the next decode, now, with this constraint, which the session's later ones keep.
  double start(sidbeam_constraint* constraint);
  // Throws unless the decode that runs ends with beams that are all SIDs of the index.
  void expect_items(const sidbeam_index* index);

 private:
  sidbeam_constraint* constraint_;
  Session session_;
  sidbeam_beams beams_ = SIDBEAM_BEAMS_INIT;
  std::vector<float> pool_;
  uint64_t steps_ = 0;
};

}  // namespace bench
