// What is live in a version of a catalogue, and what a search of it has to find: the soak's oracle.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace bench::soak {

constexpr int32_t kLevels = 4, kCodes = 256;  // L, and V of every level: a SID is 32 bits

struct Pair {
  uint32_t sid;
  int64_t id;
  friend auto operator<=>(const Pair&, const Pair&) = default;
};
using LiveSet = std::vector<Pair>;  // in order, each once

void add(LiveSet& live, const Pair& pair);
void remove(LiveSet& live, int64_t id);

// The logit of a code behind a prefix. Few different ones, so that scores tie.
float logit(uint64_t seed, uint32_t prefix, int32_t level, int32_t code);

struct Found {
  uint32_t sid;
  float score;
  std::vector<int64_t> ids;  // rising
  bool operator==(const Found&) const = default;
};
// The best SIDs, under logits that are log-probabilities.
std::vector<Found> search(const LiveSet& live, uint64_t seed, int32_t beams);
// For processes to compare.
uint64_t hash_of(const std::vector<Found>& found);

}  // namespace bench::soak
