// SPDX-License-Identifier: Apache-2.0
#include "decode/rows.h"

#include <cstdint>
#include <limits>

#include "backend/backend.h"
#include "support/error.h"

namespace sidbeam {
namespace {

constexpr int64_t kMaxColumns = int64_t{1} << 40;

void check_count(const char* what, const char* field, int64_t value, int64_t highest) {
  if (value < 0 || value > highest)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s.%s is %lld, expected 0..%lld", what, field, static_cast<long long>(value),
         static_cast<long long>(highest));
}

void take_stride(const char* what, const char* field, int64_t count, int64_t& stride) {
  check_stride(what, field, count, stride);
  if (count <= 1) stride = 0;
}

void check_device(const sidbeam_rows& rows, const char* what, int32_t device_type, int32_t device_id) {
  if (rows.device_type != device_type)
    fail(SIDBEAM_NO_DEVICE, "%s.device_type is %d, expected %s, where this call works", what, rows.device_type,
         device_type == SIDBEAM_CUDA ? "CUDA (1)" : "CPU (0)");
  if (device_type == SIDBEAM_CUDA && rows.device_id != device_id)
    fail(SIDBEAM_NO_DEVICE, "%s.device_id is %d, expected %d, where this call works", what, rows.device_id, device_id);
}

}  // namespace

void check_stride(const char* what, const char* field, int64_t count, int64_t stride) {
  int64_t offset = 0;
  if (count > 1 &&
      (__builtin_mul_overflow(count - 1, stride, &offset) || offset > std::numeric_limits<int64_t>::max() / 16 ||
       offset < std::numeric_limits<int64_t>::min() / 16))
    fail(SIDBEAM_INVALID_ARGUMENT, "%s%s%s is %lld, which overflows over %lld of them", what, *what != 0 ? "." : "",
         field, static_cast<long long>(stride), static_cast<long long>(count));
}

void check_prefix_stride(const char* field, int64_t count, int64_t stride) {
  if (stride < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is %lld, expected at least 0", field, static_cast<long long>(stride));
  check_stride("", field, count, stride);
}

void check_rows(sidbeam_rows& rows, const char* what, int32_t device_type, int32_t device_id) {
  if (rows.dtype < SIDBEAM_F32 || rows.dtype > SIDBEAM_BF16)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s.dtype is %d, expected F32 (0), F16 (1) or BF16 (2)", what, rows.dtype);
  check_device(rows, what, device_type, device_id);
  check_count(what, "slots", rows.slots, kMaxRows);
  check_count(what, "rows", rows.rows, kMaxRows);
  check_count(what, "columns", rows.columns, kMaxColumns);
  take_stride(what, "slot_stride", rows.slots, rows.slot_stride);
  take_stride(what, "row_stride", rows.rows, rows.row_stride);
  if (rows.data == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "%s.data is NULL, expected logits", what);
  const auto bytes = static_cast<uintptr_t>(element_bytes(rows.dtype));
  if (reinterpret_cast<uintptr_t>(rows.data) % bytes != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s.data is not aligned to its elements of %d bytes", what, static_cast<int>(bytes));
}

}  // namespace sidbeam
