// The instruction sets that the library is compiled for, and which of them this machine has. Kernels, hashing and
// verification each keep a table per target; a runtime's setting chooses the target, and nothing else does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sidbeam {

// kBaseline is what the compiler was told to assume: "baseline" on x86-64, "neon" on AArch64.
enum class CpuTarget : uint8_t { kBaseline, kAvx2, kAvx512 };
inline constexpr CpuTarget kCpuTargets[] = {CpuTarget::kBaseline, CpuTarget::kAvx2, CpuTarget::kAvx512};

const char* cpu_target_name(CpuTarget target);
// Whether this build and this machine have it.
bool has_cpu_target(CpuTarget target);
CpuTarget best_cpu_target();
// By name, nullptr for the best. False where this build or this machine lacks it.
bool find_cpu_target(const char* name, CpuTarget& out);

// Selects a target's table.
template <class Table>
const Table& table_of(CpuTarget target, const Table& baseline, [[maybe_unused]] const Table& avx2,
                      [[maybe_unused]] const Table& avx512) {
  return target == CpuTarget::kAvx512 ? avx512 : target == CpuTarget::kAvx2 ? avx2 : baseline;
}

// The target that the including file is compiled for. A table that carries it proves which target it belongs to.
#if defined(__AVX512F__)
static constexpr CpuTarget kCompiledFor = CpuTarget::kAvx512;
#elif defined(__AVX2__)
static constexpr CpuTarget kCompiledFor = CpuTarget::kAvx2;
#else
static constexpr CpuTarget kCompiledFor = CpuTarget::kBaseline;
#endif

}  // namespace sidbeam
