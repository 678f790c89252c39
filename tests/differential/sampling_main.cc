// The differential test of the modes that sample: random small cases, in every arrangement that must give the same
// draws, and against the oracle. Its command line is driver.h's.
// SPDX-License-Identifier: Apache-2.0
#include "driver.h"
#include "sampling.h"

namespace {

using differential::Case;

Case adjusted(Case c) {
  const auto draw = [&](uint64_t what) {
    return differential::mix(static_cast<uint64_t>(c.seed), differential::kDrawSampling, what);
  };
  c.mode = draw(3000) % 3 == 0 ? SIDBEAM_MODE_STOCHASTIC : SIDBEAM_MODE_SAMPLE;
  c.truncation = draw(3001) % 2 == 0 ? 0 : 1 + static_cast<int64_t>(draw(3002) % 3);
  return differential::repaired(c);
}

// What the default run must reach, except forced targets, since machines differ.
const std::vector<differential::Floor> kFloors = {{"runs on two threads", 100},
                                                  {"runs on seven threads of the host's, backwards", 100},
                                                  {"runs with the other form of the trie", 100},
                                                  {"runs with sorted", 100},
                                                  {"runs with sorted_topk", 20},
                                                  {"starts whose draws ended early", 10},
                                                  {"stateless draws", 1000},
                                                  {"draws compared with the oracle", 10000},
                                                  {"stochastic runs on two threads", 50},
                                                  {"stochastic runs without noise", 20}};

}  // namespace

int main(int argc, char** argv) {
  return differential::drive(argc, argv, differential::make_cpu_machine, kFloors, adjusted,
                             differential::check_sampling);
}
