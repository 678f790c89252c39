// Names stretches of host work for profilers, where the build asks for that (SIDBEAM_NVTX).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(SIDBEAM_NVTX)
#include <nvtx3/nvToolsExt.h>

namespace sidbeam::cuda {

class Range {
 public:
  explicit Range(const char* name) { nvtxRangePushA(name); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() { nvtxRangePop(); }
};

}  // namespace sidbeam::cuda
#else
namespace sidbeam::cuda {

struct Range {
  explicit Range(const char*) {}
};

}  // namespace sidbeam::cuda
#endif
