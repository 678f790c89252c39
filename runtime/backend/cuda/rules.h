// Rules in a device's memory: a descriptor, which kernels read, and behind it the lists of a request. Bits of filters
// lie elsewhere (backend/filter_copy.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backend/cuda/device.h"
#include "backend/device_plugin.h"

namespace sidbeam::cuda {

// Memory for the rules of any index of at most so many levels, with at most so many listed item rows.
int64_t most_rules_bytes(int64_t levels, int64_t listed);
int64_t rules_bytes(const DeviceRules& rules);
// Writes at `here` what will be copied to `there`; returns its size.
int64_t write_rules(const DeviceRules& rules, uint8_t* here, const uint8_t* there);

// The rules of a session's slots. There is room for two of each slot, the one that it follows and the one that a start
// brings, so that nothing has changed for it if the start fails; and a ring of pinned memory from which they are
// copied, one for each slot, so that a start waits for copies only if it is as many starts of slots behind.
class SlotRules {
 public:
  SlotRules() = default;
  SlotRules(int64_t slots, int64_t levels, int64_t listed);

  // Allocates the memory, the first time.
  void make_room(const DeviceHandle& device);
  // Copies rules to where the slot's next ones belong, in the order of the stream; returns their address there. There
  // is room.
  const RulesView* send(int32_t slot, const DeviceRules& rules, cudaStream_t stream);
  // The slot follows what was sent.
  void follow(int32_t slot) { now_[static_cast<size_t>(slot)] ^= 1; }
  int64_t bytes() const { return there_.bytes() + here_.bytes(); }

 private:
  // After the last copy from a place of the ring. Pinned memory is not freed in the order of a stream, so this waits.
  struct Copied {
    Copied() = default;
    Copied(const Copied&) = delete;
    Copied& operator=(const Copied&) = delete;
    ~Copied();
    cudaEvent_t event = nullptr;
  };

  int64_t block_bytes_ = 0;
  std::vector<uint8_t> now_;  // [slots] which of the two
  DeviceMemory there_;        // [slots, 2]
  PinnedMemory here_;         // [slots]
  std::vector<Copied> ring_;  // [slots] of the places in here_
  size_t next_ = 0;
};

}  // namespace sidbeam::cuda
