// SPDX-License-Identifier: Apache-2.0
#include "support/strides.h"

#include <limits>

#include "support/error.h"

namespace sidbeam {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// (count - 1) * stride must be an offset that exists, in bytes too.
void check_stride(const char* what, const char* field, int64_t count, int64_t stride, int64_t elements = 1) {
  const int64_t most = kMost / 16 / elements;
  int64_t offset = 0;
  if (count > 1 && (__builtin_mul_overflow(count - 1, stride, &offset) || offset > most || offset < -most))
    fail(SIDBEAM_INVALID_ARGUMENT, "%s%s is %lld, which overflows over %lld of them", what, field,
         static_cast<long long>(stride), static_cast<long long>(count));
}

// What a slot_stride of 0 stands for.
int64_t dense_slot_stride(const sidbeam_rows& rows, const char* what) {
  int64_t stride = 0;
  if (rows.slots <= 1) return 0;
  if (rows.row_stride == 0) return rows.columns;  // broadcast
  if (rows.row_stride < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s.slot_stride is 0, expected a stride beside a row_stride of %lld", what,
         static_cast<long long>(rows.row_stride));
  if (__builtin_mul_overflow(rows.rows, rows.row_stride, &stride)) return kMost;  // refused by check_stride
  return stride;
}

}  // namespace

void resolve_strides(sidbeam_rows& rows, const char* what) {
  rows.row_stride = rows.row_stride == 0 ? rows.columns : rows.row_stride == SIDBEAM_BROADCAST ? 0 : rows.row_stride;
  check_stride(what, ".row_stride", rows.rows, rows.row_stride);
  if (rows.slot_stride == 0) {
    rows.slot_stride = dense_slot_stride(rows, what);
  } else if (rows.slot_stride == SIDBEAM_BROADCAST) {
    rows.slot_stride = 0;
  }
  check_stride(what, ".slot_stride", rows.slots, rows.slot_stride);
  // The stride of a dimension of at most one is never read; it must not overflow in sums either.
  if (rows.slots <= 1) rows.slot_stride = 0;
  if (rows.rows <= 1) rows.row_stride = 0;
}

void check_stride(const char* name, int64_t count, int64_t stride, int64_t elements) {
  check_stride(name, "", count, stride, elements);
}

}  // namespace sidbeam
