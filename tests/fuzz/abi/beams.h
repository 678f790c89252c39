// A session's beams, and what must hold of them whatever the logits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.h"

namespace fuzz::abi {

// All beams, byte for byte.
std::vector<uint8_t> snapshot(const sidbeam_beams& beams);
// The part of one slot.
std::vector<uint8_t> snapshot(const sidbeam_beams& beams, int32_t slot);
// Live beams come first, except where they are draws, which keep their rows.
bool is_live(const sidbeam_beams& beams, int32_t slot, int32_t m);
// Slots that a call did not name stay as they were, and on an error all do.
class Bystanders {
 public:
  explicit Bystanders(const Session& session);
  void check(sidbeam_status status, const std::vector<int32_t>& named) const;

 private:
  const Session& session_;
  std::vector<uint8_t> before_;
  std::vector<std::vector<uint8_t>> slots_;
};

// Beams of a slot up to its last live one.
int32_t beams_in_use(const sidbeam_beams& beams, int32_t slot);
// Slots that a step may name.
std::vector<int32_t> steppable(const sidbeam_beams& beams);
// After a step of the slot from `live` beams at `level`; `fresh`: its first.
struct Before {
  int32_t live, level;
  bool fresh;
};
void check_step(const Session& session, int32_t slot, const Before& before);

}  // namespace fuzz::abi
