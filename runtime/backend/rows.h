// The places of a beam's logits row and log-sum-exp, and the settings that turn elements into x.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "sidbeam/rows.h"
#include "support/host_device.h"

namespace sidbeam {

SIDBEAM_HD inline int64_t element_bytes(int32_t dtype) { return dtype == SIDBEAM_DTYPE_F32 ? 4 : 2; }

// The place of a row, counted in rows of all slots and in elements. With a row map its rows are those of all slots.
struct RowPlace {
  int64_t number, offset;
};
SIDBEAM_HD inline RowPlace place_of_row(bool mapped, int64_t batch, int64_t row, int64_t rows, int64_t slot_stride,
                                        int64_t row_stride) {
  if (mapped) return {row, row * row_stride};
  return {batch * rows + row, batch * slot_stride + row * row_stride};
}

// x = inverse_temperature * softcap(element); a soft cap of 0 is none.
struct RowSettings {
  float inverse_temperature = 1.0F, soft_cap = 0.0F;
};

// A step's value takes precedence over the slot's. 0 means not given, and an infinite soft cap means none.
SIDBEAM_HD inline RowSettings first_given(RowSettings step, RowSettings slot) {
  RowSettings out{step.inverse_temperature != 0.0F ? step.inverse_temperature : slot.inverse_temperature,
                  step.soft_cap != 0.0F ? step.soft_cap : slot.soft_cap};
  if (out.inverse_temperature == 0.0F) out.inverse_temperature = 1.0F;
  if (out.soft_cap == std::numeric_limits<float>::infinity()) out.soft_cap = 0.0F;
  return out;
}

}  // namespace sidbeam
