// Searches of several slots at a time, each of a version of its own, and what they find.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "library.h"
#include "live_set.h"

namespace bench::soak {

constexpr int32_t kSlots = 4, kBeams = 32;

struct Version {
  Index index;
  int64_t number = 0;
};
Version version_of(sidbeam_catalog* catalog, int64_t version);

struct Request {
  const Version* version = nullptr;
  uint64_t seed = 0;
  std::vector<int64_t> excluded;  // ids
};

// Of one thread.
class Searcher {
 public:
  // Of any version of the catalogue.
  explicit Searcher(sidbeam_index* index);
  // One request per slot.
  std::vector<std::vector<Found>> run(const std::vector<Request>& requests);

 private:
  void start(const std::vector<Request>& requests);
  void step(const std::vector<Request>& requests, int32_t level);
  std::vector<std::vector<Found>> found(const std::vector<Request>& requests) const;

  Runtime runtime_;
  Session session_;
  sidbeam_beams beams_ = SIDBEAM_BEAMS_INIT;
  std::vector<uint32_t> prefixes_;  // [slots, M]
  std::vector<float> logits_;       // [slots, M, V]
};

}  // namespace bench::soak
