// The device's own XXH3 is the library's, with a seed and without. SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <vector>

#include "backend/cuda/hash_key.cuh"
#include "support/hashing.h"

int main() {
  uint64_t state = 1;
  for (int count = 1; count <= sidbeam::kMaxLevels; ++count) {
    std::vector<int32_t> codes;
    for (int l = 0; l < count; ++l) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      codes.push_back(static_cast<int32_t>(state >> 34));
    }
    for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, state, ~state}) {
      const uint64_t expected = sidbeam::xxh3_64(sidbeam::best_cpu_target(), codes.data(), codes.size() * 4, seed);
      if (sidbeam::cuda::xxh3_of_codes(codes.data(), count, seed) == expected &&
          (seed != 0 || expected == sidbeam::xxh3_64(sidbeam::best_cpu_target(), codes.data(), codes.size() * 4)))
        continue;
      std::printf("the hash of %d codes with seed %llx is another\n", count, static_cast<unsigned long long>(seed));
      return 1;
    }
  }
  return 0;
}
