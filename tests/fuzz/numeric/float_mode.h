// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "../specimens.h"

namespace fuzz::numeric {

// A float mode of the caller while it lives; the library must leave it as it is.
class FloatMode {
 public:
#if defined(__SSE2__)
  // Denormals flushed, denormals taken for 0, both; rounding down, up, to zero.
  static constexpr unsigned kModes[] = {0, 0x8000, 0x0040, 0x8040, 0x2000, 0x4000, 0x6000, 0xE040};
  explicit FloatMode(unsigned mode) : before_(_mm_getcsr()), mode_((before_ & ~kControl) | mode) { _mm_setcsr(mode_); }
  ~FloatMode() {
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before_);
    FUZZ_CHECK((after & kControl) == (mode_ & kControl));
  }

 private:
  static constexpr unsigned kControl = 0xE040;
  unsigned before_, mode_;
#else
  static constexpr unsigned kModes[] = {0};
  explicit FloatMode(unsigned /*mode*/) {}
#endif
 public:
  FloatMode(const FloatMode&) = delete;
};

}  // namespace fuzz::numeric
