// The differential test: random small cases, the library against the oracle. Its command line is driver.h's.
// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

namespace {

// The default run must reach each of these, few rows hardly reach the corners of a scan by blocks. Forced targets are
// left out, since machines differ.
const std::vector<differential::Floor> kFloors = {{"rows skipped", 1},
                                                  {"rows with one child, summed, of many beams", 5000},
                                                  {"slots divided among threads", 1},
                                                  {"lives repeated on two threads", 1},
                                                  {"lives repeated on seven threads of the host's, backwards", 1},
                                                  {"tails, wide_item_column_tail", 1},
                                                  {"tails, u16", 1},
                                                  {"tails that begin below level 1", 1},
                                                  {"tails with SIDs that ended above the node before", 1},
                                                  {"tails with several items per SID", 1},
                                                  {"steps compared with a full sort", 100},
                                                  {"versions of live catalogues", 500},
                                                  {"steps of slots with different versions of a catalogue", 40},
                                                  {"versions that were gone back to", 150},
                                                  {"versions for which changes were dropped", 150},
                                                  {"versions that came after a compaction", 150},
                                                  {"versions of a base that had been compacted", 150},
                                                  {"versions from which items have gone", 300},
                                                  {"rows with dense children, f32", 150},
                                                  {"rows with dense children, f16", 150},
                                                  {"rows with dense children, bf16", 150},
                                                  {"rows with dense children, too wide for maxima", 150}};

}  // namespace

int main(int argc, char** argv) { return differential::drive(argc, argv, differential::make_cpu_machine, kFloors); }
