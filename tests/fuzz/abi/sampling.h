// How slots of a start, or rows of a stateless call, are sampled.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.h"

namespace fuzz::abi {

// What is sampled: `count` slots or rows.
struct Sampled {
  int32_t mode;
  int64_t count;
  int32_t rows;                 // of a slot
  int32_t most_k;               // 0: any top-k
  std::vector<int32_t> widths;  // [count]
};

struct Sampling {
  // The last fault, a struct that is missing or too many, is the caller's.
  static constexpr int32_t kFaults = 9;
  void draw(World& world, const Sampled& sampled, int32_t fault);
  sidbeam_sampling view = SIDBEAM_SAMPLING_INIT;
  Array<int64_t> seeds, requests, draws;
  Array<int32_t> top_ks;
  Array<float> top_ps, noise_scales;

 private:
  void draw_numbers(World& world, const Sampled& sampled, int32_t fault);
  void draw_truncation(World& world, const Sampled& sampled, int32_t fault);
  void draw_noise(World& world, const Sampled& sampled, int32_t fault);
};

}  // namespace fuzz::abi
