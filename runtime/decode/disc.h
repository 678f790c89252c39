// DISC: which draws are run, and what becomes of them (sidbeam/disc.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "decode/objects.h"
#include "sidbeam/disc.h"
#include "support/hashing.h"
#include "support/memory.h"

namespace sidbeam {

// One result: its current attempt, and the best of that attempt's draws so far. The draws themselves are not kept.
struct DiscResult {
  double rank;  // of that draw; infinite while there is none
  int64_t draw, ordinal;
  float log_prob, log_mass;
  int64_t used;         // draws that decided attempts, summed
  int64_t run;          // draws added
  int32_t attempt;      // from 0
  int32_t first, next;  // of the attempt's 2K draws: where the batch that is out begins, and the next to hand out
  int32_t out;          // of the batch, how many were handed out and not added
  bool decided;
};

}  // namespace sidbeam

// One thread at a time. Creation takes all memory.
struct sidbeam_disc {
  sidbeam::Ref<sidbeam_runtime> runtime;
  int32_t rounds = 0, attempts = 0, batch = 0;  // K, most attempts of a result, most draws of it that are out
  bool without_replacement = false;
  uint64_t seed = 0;
  int64_t request = 0;
  sidbeam::Buffer<sidbeam::DiscResult> results;  // [n]
  sidbeam::Buffer<uint64_t> out;                 // [n, words] bit i: draw first + i is out
  // Without replacement a hash table of the decided results: ordinal + 1, or 0 where empty. Its mix is secret, so that
  // no ordinals can be chosen to cluster.
  sidbeam::Buffer<int64_t> taken;
  sidbeam::KeyMix taken_mix;
  int64_t undecided = 0;  // the first result that is not decided, or n
};

namespace sidbeam {

std::unique_ptr<sidbeam_disc> create_disc(sidbeam_runtime* runtime, const sidbeam_disc_config& config);
// Writes up to `capacity` draws; returns how many.
int64_t next_draws(sidbeam_disc& disc, int64_t capacity, int64_t* draws);
void add_draws(sidbeam_disc& disc, const sidbeam_disc_draws& draws);
void get_results(const sidbeam_disc& disc, const sidbeam_disc_results& out);

}  // namespace sidbeam
