// SPDX-License-Identifier: Apache-2.0
#include "decode/rows.h"

#include <cstdint>

#include "backend/backend.h"
#include "support/error.h"
#include "support/strides.h"

namespace sidbeam {
namespace {

// Blocks of 64 columns are counted in 31 bits.
constexpr int64_t kMaxColumns = int64_t{1} << 36;

void check_count(const char* what, const char* field, int64_t value, int64_t highest) {
  if (value < 0 || value > highest)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s.%s is %lld, expected 0..%lld", what, field, static_cast<long long>(value),
         static_cast<long long>(highest));
}

void check_device(const sidbeam_rows& rows, const char* what, int32_t device_type, int32_t device_id) {
  if (rows.device_type != device_type)
    fail(SIDBEAM_NO_DEVICE, "%s.device_type is %d, expected %s, where this call works", what, rows.device_type,
         device_type == SIDBEAM_DEVICE_CUDA ? "CUDA (1)" : "CPU (0)");
  if (device_type == SIDBEAM_DEVICE_CUDA && rows.device_id != device_id)
    fail(SIDBEAM_NO_DEVICE, "%s.device_id is %d, expected %d, where this call works", what, rows.device_id, device_id);
}

}  // namespace

void check_rows(sidbeam_rows& rows, const char* what, int32_t device_type, int32_t device_id) {
  if (rows.dtype < SIDBEAM_DTYPE_F32 || rows.dtype > SIDBEAM_DTYPE_BF16)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s.dtype is %d, expected F32 (0), F16 (1) or BF16 (2)", what, rows.dtype);
  check_device(rows, what, device_type, device_id);
  check_count(what, "slots", rows.slots, kMaxRows);
  check_count(what, "rows", rows.rows, kMaxRows);
  check_count(what, "columns", rows.columns, kMaxColumns);
  resolve_strides(rows, what);
  if (rows.data == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "%s.data is NULL, expected logits", what);
  const auto bytes = static_cast<uintptr_t>(element_bytes(rows.dtype));
  if (reinterpret_cast<uintptr_t>(rows.data) % bytes != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s.data is not aligned to its elements of %d bytes", what, static_cast<int>(bytes));
}

}  // namespace sidbeam
