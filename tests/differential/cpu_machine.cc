// The ways of this machine's CPU.
// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

namespace differential {

Machine make_cpu_machine() {
  static const Place here;
  Machine machine;
  const auto add = [&](const std::string& name, Runtime runtime) {
    if (runtime) machine.ways.push_back({name, std::move(runtime), &here});
  };
  add("this machine's best", make_runtime(nullptr));
  for (const char* target : {"baseline", "avx2", "avx512", "neon"}) {
    add(std::string("cpu target ") + target, make_runtime(target));
  }
  add("two threads", make_runtime(nullptr, 2));
  add("seven threads of the host's, backwards", make_runtime(nullptr, 7, true));
  return machine;
}

}  // namespace differential
