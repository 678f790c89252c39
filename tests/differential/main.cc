// The differential test: random small cases, the library against the oracle. Its command line is driver.h's.
// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

namespace {

using differential::make_runtime;

const differential::Place kHere;

differential::Machine make_machine() {
  differential::Machine machine;
  const auto add = [&](const std::string& name, differential::Runtime runtime) {
    if (runtime) machine.ways.push_back({name, std::move(runtime), &kHere});
  };
  add("this machine's best", make_runtime(nullptr));
  for (const char* target : {"baseline", "avx2", "avx512", "neon"}) {
    add(std::string("cpu target ") + target, make_runtime(target));
  }
  add("two threads", make_runtime(nullptr, 2));
  add("seven threads of the host's, backwards", make_runtime(nullptr, 7, true));
  return machine;
}

// The default run must reach each of these, few rows hardly reach the corners of a scan by blocks. Forced targets are
// left out, since machines differ.
const std::vector<differential::Floor> kFloors = {{"steps compared bit for bit", 1},
                                                  {"steps compared within tolerance", 1},
                                                  {"steps that leave nothing", 1},
                                                  {"steps with fewer candidates than the width", 1},
                                                  {"bad rows that are errors", 1},
                                                  {"bad rows that cannot matter", 1},
                                                  {"ended beams that compete", 1},
                                                  {"starts at a prefix", 1},
                                                  {"starts at a prefix that no SID has", 1},
                                                  {"stops in the middle", 1},
                                                  {"steps of slots at different levels", 1},
                                                  {"steps of slots with different constraints", 1},
                                                  {"rows read", 1},
                                                  {"rows skipped", 1},
                                                  {"rows bad", 1},
                                                  {"dead beams", 1},
                                                  {"selection workspace cut back", 1},
                                                  {"rows with one child, summed", 1},
                                                  {"rows with one child, not summed", 1},
                                                  {"slots divided among threads", 1},
                                                  {"lives repeated on two threads", 1},
                                                  {"lives repeated on seven threads of the host's, backwards", 1},
                                                  {"rows with listed children", 1},
                                                  {"unconstrained rows", 1},
                                                  {"probed rows", 1},
                                                  {"beams with several items", 1},
                                                  {"item lists cut by a limit", 1},
                                                  {"lives repeated alone", 1},
                                                  {"lives repeated with trie and sorted", 1},
                                                  {"states advanced", 1},
                                                  {"states ended", 1},
                                                  {"rows of rows_topk", 1},
                                                  {"tails, item_column_tail", 1},
                                                  {"tails, wide_item_column_tail", 1},
                                                  {"tails, u16", 1},
                                                  {"tails that begin below level 1", 1},
                                                  {"tails with ends", 1},
                                                  {"tails with SIDs that ended above the node before", 1},
                                                  {"tails with several items a SID", 1},
                                                  {"steps compared with a full sort", 100},
                                                  {"rows with dense children, f32", 150},
                                                  {"rows with dense children, f16", 150},
                                                  {"rows with dense children, bf16", 150},
                                                  {"rows with dense children, too wide for maxima", 150}};

}  // namespace

int main(int argc, char** argv) { return differential::drive(argc, argv, make_machine, kFloors); }
