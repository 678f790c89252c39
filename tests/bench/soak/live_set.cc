// SPDX-License-Identifier: Apache-2.0
#include "live_set.h"

#include <algorithm>
#include <bit>

namespace bench::soak {
namespace {

uint64_t mixed(uint64_t bits) {
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

// A prefix, as the pairs below it.
struct Beam {
  LiveSet::const_iterator begin, end;
  uint32_t prefix;
  float score;
};

// Appends what continues a beam, by code.
void extend(const Beam& beam, uint64_t seed, int32_t level, std::vector<Beam>& to) {
  const int shift = 8 * (kLevels - 1 - level);
  for (auto at = beam.begin; at != beam.end;) {
    const uint32_t prefix = at->sid >> shift;
    const auto next = std::partition_point(at, beam.end, [&](const Pair& pair) { return pair.sid >> shift == prefix; });
    const auto code = static_cast<int32_t>(prefix % kCodes);
    to.push_back({at, next, prefix, beam.score + logit(seed, beam.prefix, level, code)});
    at = next;
  }
}

}  // namespace

void add(LiveSet& live, const Pair& pair) {
  const auto at = std::lower_bound(live.begin(), live.end(), pair);
  if (at == live.end() || *at != pair) live.insert(at, pair);
}

void remove(LiveSet& live, int64_t id) {
  std::erase_if(live, [&](const Pair& pair) { return pair.id == id; });
}

float logit(uint64_t seed, uint32_t prefix, int32_t level, int32_t code) {
  const uint64_t place = uint64_t{prefix} << 12 | static_cast<uint64_t>(level) << 8 | static_cast<uint64_t>(code);
  return -static_cast<float>(mixed(seed ^ mixed(place)) % 64) / 8;
}

std::vector<Found> search(const LiveSet& live, uint64_t seed, int32_t beams) {
  std::vector<Beam> kept = {{live.begin(), live.end(), 0, 0}}, all;
  for (int32_t level = 0; level < kLevels; ++level) {
    all.clear();
    for (const Beam& beam : kept) extend(beam, seed, level, all);
    // Parents and codes rise already.
    std::stable_sort(all.begin(), all.end(), [](const Beam& a, const Beam& b) { return a.score > b.score; });
    kept.assign(all.begin(), all.begin() + std::min<std::ptrdiff_t>(std::ssize(all), beams));
  }
  std::vector<Found> found;
  for (const Beam& beam : kept) {
    found.push_back({beam.prefix, beam.score, {}});
    for (auto at = beam.begin; at != beam.end; ++at) found.back().ids.push_back(at->id);
  }
  return found;
}

uint64_t hash_of(const std::vector<Found>& found) {
  uint64_t hash = found.size();
  for (const Found& one : found) {
    hash = mixed(hash ^ one.sid);
    hash = mixed(hash ^ std::bit_cast<uint32_t>(one.score));
    for (const int64_t id : one.ids) hash = mixed(hash ^ static_cast<uint64_t>(id));
  }
  return hash;
}

}  // namespace bench::soak
