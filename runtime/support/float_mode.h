// The floating-point mode that results are promised in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace sidbeam {

// Rounds to nearest and keeps denormals while it lives, whatever the caller set (frameworks like to flush denormals).
class DefaultFloatMode {
 public:
#if defined(__SSE__)
  DefaultFloatMode() : caller_(_mm_getcsr()) { _mm_setcsr(0x1F80); }
  ~DefaultFloatMode() { _mm_setcsr(caller_); }

 private:
  unsigned caller_;
#else
  DefaultFloatMode() {
    std::fegetenv(&caller_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatMode() { std::fesetenv(&caller_); }

 private:
  std::fenv_t caller_;
#endif

 public:
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;
};

}  // namespace sidbeam
