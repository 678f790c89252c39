// Prints a hash of the logits of each of the small models, with the weights as they are and in eight bits: two machines
// must print the same.
//   model_bits
// SPDX-License-Identifier: Apache-2.0
#include <xxhash.h>

#include <cinttypes>
#include <cstdio>

#include "model_runs.h"

namespace sidbeam::runner {
namespace {

uint64_t hash_of(const char* name, int32_t weights) {
  const Golden golden(name);
  const Ref<Model> model = open_small(name, weights);
  ModelLane lane(*model, golden, workers_of(), 4);
  XXH64_state_t hash;
  XXH64_reset(&hash, 0);
  for (const Logits& logits : Runs(*lane.forward, golden).run(prompts_of(golden)))
    XXH64_update(&hash, logits.data(), logits.size() * sizeof(float));
  return XXH64_digest(&hash);
}

}  // namespace
}  // namespace sidbeam::runner

int main() {
  using sidbeam::runner::hash_of;
  for (const char* name : sidbeam::runner::kModels)
    std::printf("%016" PRIx64 " %016" PRIx64 "  %s\n", hash_of(name, SIDBEAM_WEIGHTS_STORED),
                hash_of(name, SIDBEAM_WEIGHTS_INT8), name);
  return 0;
}
