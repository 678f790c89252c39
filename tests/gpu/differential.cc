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

const std::vector<differential::Floor> kFloors = {{"steps compared between device and CPU", 1}};

}  // namespace

int main(int argc, char** argv) {
  if (!gpu::has_device()) return 77;
  return differential::drive(argc, argv, make_machine, kFloors, adjusted);
}
