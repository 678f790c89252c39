// The differential test on a CUDA device: sessions and stateless forms against the oracle, and every life lived again
// captured in graphs, on the default stream and on the CPU. Its command line is driver.h's; exit status 77: no device.
// SPDX-License-Identifier: Apache-2.0
#include "device_place.h"
#include "driver.h"

namespace {

using differential::Case;
using differential::make_runtime;

differential::Machine make_machine() {
  static const differential::Place here;
  static const gpu::DevicePlace eager(0), captured(0, gpu::Steps::kCaptured), on_default(0, gpu::Steps::kEager, true);
  differential::Machine machine;
  machine.ways.push_back({"the device", make_runtime(nullptr), &eager});
  machine.ways.push_back({"the CPU", make_runtime(nullptr), &here});
  machine.ways.push_back({"the device, captured", make_runtime(nullptr), &captured});
  machine.ways.push_back({"the device's default stream", make_runtime(nullptr), &on_default});
  return machine;
}

// Emulated threads are slow: what makes a case long is smaller there.
Case adjusted(Case c) {
#ifdef SIDBEAM_EMULATED
  emulator_set_seed(static_cast<uint64_t>(c.seed));
  c.codes = std::min<int64_t>(c.codes, 3000);
  c.beams = std::min<int64_t>(c.beams, 300);
  c.operations = std::min<int64_t>(c.operations, 12);
#endif
  return repaired(c);
}

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
                                                  {"dead beams", 1},
                                                  {"beams with several items", 1},
                                                  {"item lists cut by a limit", 1},
                                                  {"lives repeated alone", 1},
                                                  {"lives repeated with trie and sorted", 1},
                                                  {"steps compared between device and CPU", 1},
                                                  {"steps compared with a full sort", 1},
                                                  {"states advanced", 1},
                                                  {"states ended", 1},
                                                  {"rows of rows_topk", 1},
                                                  {"tails, item_column_tail", 1},
                                                  {"tails with ends", 1}};

}  // namespace

int main(int argc, char** argv) {
  if (!gpu::has_device()) return 77;
  return differential::drive(argc, argv, make_machine, kFloors, adjusted);
}
