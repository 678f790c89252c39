// Compiles the kernels once per instruction set and chooses among them. Highway's own dispatch would need libhwy.so at
// run time and one choice a process; here the choice belongs to a runtime.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernels.h"

#include <algorithm>

#include "index/read/state.h"
#include "index/views.h"

// The baseline is portable code (SCALAR on x86-64; in EMU128 Highway's MaxOfLanes begins at the lowest finite number,
// and so takes a row of -inf for one of numbers): SSE4 has no fused multiply-add either, and machines without AVX2 are
// not what this is tuned for.
#define HWY_BROKEN_EMU128 1
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h, which knows the target.
#include "backend/cpu/append-inl.h"
#include "backend/cpu/chain-inl.h"
#include "backend/cpu/draw-inl.h"
#include "backend/cpu/draw_rows-inl.h"
#include "backend/cpu/lists-inl.h"
#include "backend/cpu/log_sum_exp-inl.h"
#include "backend/cpu/nodes-inl.h"
#include "backend/cpu/noise-inl.h"
#include "backend/cpu/probes-inl.h"
#include "backend/cpu/row_sums-inl.h"
#include "backend/cpu/rows-inl.h"
#include "backend/cpu/select-inl.h"
#include "backend/cpu/short_lists-inl.h"
#include "backend/cpu/slices-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3
inline constexpr char kName[] = "avx512";
#elif HWY_TARGET == HWY_AVX2
inline constexpr char kName[] = "avx2";
#elif HWY_TARGET == HWY_NEON
inline constexpr char kName[] = "neon";
#else
inline constexpr char kName[] = "baseline";
#endif

inline constexpr Kernels kKernels = {
    kName,      sum_exp,   log_sum_exp,   load,          transform,        gather,       weigh,        choose,
    draw_rows,  above,     find_at_least, random_bits,   perturb,          largest,      append,       append_list,
    copy_short, sum_short, append_short,  append_slices, likely_threshold, find_edges,   follow_chain, near_best,
    keep_best,  rank,      write_chosen,  find_rows,     follow_rows,      list_columns, keep_codes,   may_exist};

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sidbeam::cpu {

const Kernels& kernels_of(CpuTarget target) {
#if HWY_ARCH_X86
  return table_of(target, HWY_NAMESPACE::kKernels, N_AVX2::kKernels, N_AVX3::kKernels);
#else
  return table_of(target, HWY_NAMESPACE::kKernels, HWY_NAMESPACE::kKernels, HWY_NAMESPACE::kKernels);
#endif
}

}  // namespace sidbeam::cpu
#endif
