// Those who change the catalogue: one adds, removes, publishes and goes back, one compacts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <vector>

#include "shared.h"

namespace bench::soak {

class Writer {
 public:
  Writer(Shared& shared, LiveSet first) : shared_(shared), live_(std::move(first)), next_id_(std::ssize(live_)) {}
  void run();

  int64_t added = 0, removed = 0, rollbacks = 0;
  std::vector<double> publish_ms;

 private:
  Pair new_pair();
  void add_some();
  void remove_some();
  void publish();
  void go_back();

  Shared& shared_;
  LiveSet live_, gone_;  // of the latter a few
  int64_t next_id_;
  std::mt19937_64 random_{1};
};

class Compactor {
 public:
  explicit Compactor(Shared& shared) : shared_(shared) {}
  void run();

  int64_t given_up = 0;  // since a rollback went to another generation meanwhile
  std::vector<double> took_ms;

 private:
  void compact();

  Shared& shared_;
};

}  // namespace bench::soak
