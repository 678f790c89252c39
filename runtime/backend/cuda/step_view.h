// Rows as kernels are given them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/kernels.h"
#include "sidbeam/rows.h"

namespace sidbeam::cuda {

inline StepView rows_view(const sidbeam_rows& rows) {
  StepView view;
  view.data = rows.data;
  view.dtype = rows.dtype;
  view.rows = rows.rows;
  view.columns = rows.columns;
  view.slot_stride = rows.slot_stride;
  view.row_stride = rows.row_stride;
  return view;
}

}  // namespace sidbeam::cuda
