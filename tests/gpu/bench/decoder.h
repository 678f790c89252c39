// Sessions of one case on the device, and graphs of their steps. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "../../handles.h"
#include "../device_place.h"
#include "bench_kernels.h"
#include "specs.h"

namespace gpu {

// One catalogue, with what both kinds of search need.
class Catalogue {
 public:
  Catalogue(sidbeam_runtime* runtime, const Spec& spec);
  sidbeam_constraint* constraint() const { return constraint_.get(); }

 private:
  handles::Index index_;
  handles::Constraint constraint_;
};

// Logits that the steps of a chain take in turns: enough of them to pass through at least four times the L2 cache,
// except where one step's stay in it ("warm").
class Rows {
 public:
  Rows(const Spec& spec, int64_t l2_bytes, cudaStream_t stream);
  sidbeam_rows of_step(int64_t step) const;
  Stretch read_of_step(int64_t step) const;
  bool warm() const { return buffers_ == 1; }
  int64_t buffers() const { return buffers_; }

 private:
  Spec spec_;
  int64_t buffers_;
  std::shared_ptr<void> memory_;
};

// How a case is searched.
struct Method {
  const char* name;
  int32_t strategy;
  bool given_lse;
};

// `chain` sessions, each a step apart from the next in the rows that it takes.
class Decoder {
 public:
  Decoder(sidbeam_runtime* runtime, const Catalogue& catalogue, const Spec& spec, const Method& method,
          const Rows& rows, const DevicePlace& place);
  // Starts every session again and takes it through `level` steps.
  void prepare(int32_t level) const;
  // The next step of the first `count` sessions.
  void step(int32_t count) const;
  // Of all slots of all sessions; throws where one is in error.
  int64_t live() const;

 private:
  void step_one(size_t session, int64_t rows) const;
  const Rows* rows_;
  const DevicePlace* place_;
  std::shared_ptr<void> lse_;
  std::vector<handles::Session> sessions_;
};

}  // namespace gpu
