// Who computes: an instruction set, and the threads that share the work. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "support/cpu_target.h"
#include "support/executor.h"
#include "support/float_mode.h"

namespace sidbeam::runner {

// Neither member changes a bit of any result.
struct Workers {
  CpuTarget target = CpuTarget::kBaseline;
  Executor* executor = nullptr;  // borrowed; nullptr: the caller's thread alone

  int64_t width() const { return executor == nullptr ? 1 : std::max(1, executor->width()); }

  // Calls body(from, to) on consecutive parts of [0, count), a part per thread, none shorter than `least` unless it is
  // the only one.
  template <class Body>
  void split(int64_t count, int64_t least, const Body& body) const {
    const int64_t parts = std::min(width(), count / std::max<int64_t>(least, 1));
    if (parts <= 1) {
      if (count > 0) body(int64_t{0}, count);
      return;
    }
    struct Shared {
      const Body& body;
      int64_t count, parts;
    } shared{body, count, parts};
    executor->run(
        static_cast<int32_t>(parts),
        [](void* data, int32_t i) {
          const DefaultFloatMode mode;  // the thread may be the host's
          const auto& all = *static_cast<const Shared*>(data);
          all.body(all.count * i / all.parts, all.count * (i + 1) / all.parts);
        },
        &shared);
  }
};

}  // namespace sidbeam::runner
