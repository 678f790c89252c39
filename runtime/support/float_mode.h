// The floating-point mode that results are promised in: rounds to nearest, keeps denormals, traps nothing. Frameworks
// flush denormals, and some hosts round another way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace sidbeam {

// Sets the whole environment, the x87's included, for as long as it lives; takes a hundred cycles.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&caller_);
    std::fesetenv(FE_DFL_ENV);
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;
  ~DefaultFloatEnvironment() { std::fesetenv(&caller_); }

 private:
  std::fenv_t caller_;
};

// Sets the part of the mode that arithmetic depends on for as long as it lives, in a few cycles. Nothing here computes
// in the x87, but the C library reads and prints decimal numbers in its rounding mode: whatever calls strtod or printf
// with numbers sets the whole environment.
#if defined(__SSE__)
class DefaultFloatMode {
 public:
  DefaultFloatMode() : caller_(_mm_getcsr()) { _mm_setcsr(0x1F80); }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;
  ~DefaultFloatMode() { _mm_setcsr(caller_); }

 private:
  unsigned caller_;
};
#else
using DefaultFloatMode = DefaultFloatEnvironment;
#endif

}  // namespace sidbeam
