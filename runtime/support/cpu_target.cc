// SPDX-License-Identifier: Apache-2.0
#include "support/cpu_target.h"

#include <cstring>

namespace sidbeam {
namespace {

#ifdef __x86_64__
constexpr const char* kBaselineName = "baseline";

// Each target demands all that any of its three users is compiled with, so that they agree on every machine.
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
}
#else
constexpr const char* kBaselineName = "neon";

bool has_avx2() { return false; }
bool has_avx512() { return false; }
#endif

}  // namespace

const char* cpu_target_name(CpuTarget target) {
  if (target == CpuTarget::kAvx512) return "avx512";
  return target == CpuTarget::kAvx2 ? "avx2" : kBaselineName;
}

bool has_cpu_target(CpuTarget target) {
  if (target == CpuTarget::kAvx512) return has_avx512();
  return target == CpuTarget::kBaseline || has_avx2();
}

CpuTarget best_cpu_target() {
  if (has_avx512()) return CpuTarget::kAvx512;
  return has_avx2() ? CpuTarget::kAvx2 : CpuTarget::kBaseline;
}

bool find_cpu_target(const char* name, CpuTarget& out) {
  if (name == nullptr) {
    out = best_cpu_target();
    return true;
  }
  for (const CpuTarget target : kCpuTargets) {
    if (std::strcmp(name, cpu_target_name(target)) != 0 || !has_cpu_target(target)) continue;
    out = target;
    return true;
  }
  return false;
}

}  // namespace sidbeam
