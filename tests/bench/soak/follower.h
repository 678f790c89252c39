// A process that follows the catalogue's folder, and tells what it finds in each version.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "searcher.h"

namespace bench::soak {

struct Sight {
  int64_t version = 0;
  uint64_t hash = 0;  // of what the requests of follower_seeds() have found
  double memory = 0;  // of the process, in bytes
};
std::vector<uint64_t> follower_seeds(int64_t version);

// Begins as soon as it is made, before the program has threads.
class Follower {
 public:
  explicit Follower(const std::string& folder);
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  ~Follower();
  // Waits for the next; false: the process has ended.
  bool next(Sight& sight);
  // Tells it to end.
  void stop();
  // Of its end; throws where it failed.
  void join();

 private:
  pid_t process_ = -1;
  int sights_ = -1, running_ = -1;  // ends of pipes
};

}  // namespace bench::soak
