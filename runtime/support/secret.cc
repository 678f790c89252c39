// SPDX-License-Identifier: Apache-2.0
#include "support/secret.h"

#include <sys/random.h>
#include <unistd.h>

#include <ctime>

namespace sidbeam {

uint64_t secret_number() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(::getpid()) << 40 ^ static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace sidbeam
