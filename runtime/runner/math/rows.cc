// Compiles the kernels of rows once per instruction set, and shares rows among threads.
// SPDX-License-Identifier: Apache-2.0
#include "runner/math/rows.h"

#include "runner/math/row_kernels.h"
#include "runner/math/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runner/math/rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h, which knows the target.
#include "runner/math/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::runner::HWY_NAMESPACE {

inline constexpr RowKernels kRowKernels = {rms_norm_rows, activate_rows, soft_cap_rows, log_sum_exp_one,
                                           add_rows,      scale_rows,    rotate_rows,   embed_rows};

}  // namespace sidbeam::runner::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sidbeam::runner {
namespace {

const RowKernels& kernels_of(CpuTarget target) {
#if HWY_ARCH_X86
  return table_of(target, HWY_NAMESPACE::kRowKernels, N_AVX2::kRowKernels, N_AVX3::kRowKernels);
#else
  return table_of(target, HWY_NAMESPACE::kRowKernels, HWY_NAMESPACE::kRowKernels, HWY_NAMESPACE::kRowKernels);
#endif
}

// Fewer elements are not worth a thread.
constexpr int64_t kLeastElements = 16384;

template <class Body>
void split_rows(const Workers& workers, int64_t count, int64_t columns, const Body& body) {
  workers.split(count, kLeastElements / std::max<int64_t>(columns, 1) + 1, body);
}

}  // namespace

void rms_norm(const Workers& workers, ConstRows x, const float* gain, float epsilon, Rows out, int64_t heads) {
  const RowKernels& kernels = kernels_of(workers.target);
  split_rows(workers, x.count, x.columns, [&](int64_t from, int64_t to) {
    kernels.rms_norm(x.rows(from, to), gain, epsilon, heads, out.rows(from, to));
  });
}

void activate(const Workers& workers, Activation activation, Rows x) {
  const RowKernels& kernels = kernels_of(workers.target);
  split_rows(workers, x.count, x.columns, [&](int64_t from, int64_t to) {
    kernels.activate(activation, x.rows(from, to), false, x.rows(from, to));
  });
}

void activate_gated(const Workers& workers, Activation activation, ConstRows x, Rows out) {
  const RowKernels& kernels = kernels_of(workers.target);
  split_rows(workers, x.count, x.columns, [&](int64_t from, int64_t to) {
    kernels.activate(activation, x.rows(from, to), true, out.rows(from, to));
  });
}

void soft_cap(const Workers& workers, float cap, Rows x) {
  const RowKernels& kernels = kernels_of(workers.target);
  split_rows(workers, x.count, x.columns, [&](int64_t from, int64_t to) { kernels.soft_cap(cap, x.rows(from, to)); });
}

double log_sum_exp(CpuTarget target, float factor, const float* x, int64_t n) {
  return kernels_of(target).log_sum_exp(factor, x, n);
}

void add(const Workers& workers, ConstRows x, Rows y) {
  const RowKernels& kernels = kernels_of(workers.target);
  split_rows(workers, x.count, x.columns,
             [&](int64_t from, int64_t to) { kernels.add(x.rows(from, to), y.rows(from, to)); });
}

void scale(const Workers& workers, float factor, Rows y) {
  const RowKernels& kernels = kernels_of(workers.target);
  split_rows(workers, y.count, y.columns, [&](int64_t from, int64_t to) { kernels.scale(factor, y.rows(from, to)); });
}

void rotate(const Workers& workers, const RopeTable& table, const int32_t* positions, Rows x) {
  const RowKernels& kernels = kernels_of(workers.target);
  split_rows(workers, x.count, x.columns,
             [&](int64_t from, int64_t to) { kernels.rotate(table, positions + from, x.rows(from, to)); });
}

void embed(const Workers& workers, const Table& table, const int32_t* tokens, int64_t group, Rows out) {
  const RowKernels& kernels = kernels_of(workers.target);
  split_rows(workers, out.count, out.columns * group,
             [&](int64_t from, int64_t to) { kernels.embed(table, tokens + from * group, group, out.rows(from, to)); });
}

}  // namespace sidbeam::runner
#endif
