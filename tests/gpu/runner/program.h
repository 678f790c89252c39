// What the programs here have in common: their main function. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <iostream>

#include "device_place.h"
#include "support/error.h"

namespace gpu {

// Runs a program's tests, which throw where something is wrong. 77, which CTest takes for skipped: there is no device.
inline int run_program(int (*tests)()) try {
  return has_device() ? tests() : 77;
} catch (const sidbeam::Failure& failure) {
  std::cerr << failure.message << '\n';
  return 1;
} catch (const std::exception& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}

}  // namespace gpu
