// The device's own XXH3 is the library's. SPDX-License-Identifier: Apache-2.0
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
    if (sidbeam::cuda::xxh3_of_codes(codes.data(), count) == sidbeam::xxh3_64(codes.data(), codes.size() * 4)) continue;
    std::printf("the hash of %d codes is another\n", count);
    return 1;
  }
  return 0;
}
