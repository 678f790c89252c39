// The step from hidden states on a device: what the runner gives its plugin. Plain data; addresses are of the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sidbeam/base.h"
#include "sidbeam/rows.h"

namespace sidbeam::runner {

// The caller's output layer.
struct DeviceOutputLayer {
  const void* weights = nullptr;  // [columns, width] by row_stride elements; rows begin at multiples of 16 bytes
  const float* bias = nullptr;    // [columns]; nullptr: none
  int32_t dtype = 0;
  int64_t columns = 0, width = 0, row_stride = 0;
};

struct DeviceHiddenConfig {
  int32_t device_id = 0;
  DeviceOutputLayer layer;
  int64_t slots = 0, beams = 0;  // S, M
  int64_t children = 0;          // most that are listed
};

// Where things are, for the life of the object.
struct DeviceHiddenView {
  float* logits = nullptr;  // [S * M, columns] by row_stride
  int64_t row_stride = 0;
  int64_t* offsets = nullptr;  // [S * M + 1] and
  int32_t* columns = nullptr;  // [children], as sidbeam_session_children() writes them
  int64_t memory_bytes = 0;
};

// Hidden states of a call, whose logits row has the same number as theirs.
struct DeviceHiddenRows {
  const sidbeam_rows* hidden = nullptr;  // host; strides are resolved
  const int32_t* row_map = nullptr;      // [slots, M]; nullptr: row m of each slot is beam m's
  int64_t slots = 0;                     // of the call's list
  void* stream = nullptr;
};

struct DeviceHidden;

// Host functions; each writes `err`, if there is one, and returns its status. Work is enqueued on the rows' stream.
struct HiddenDevice {
  sidbeam_status (*create)(const DeviceHiddenConfig*, DeviceHidden** out, sidbeam_error* err);
  void (*destroy)(DeviceHidden*);
  DeviceHiddenView (*view)(const DeviceHidden*);
  // The logits of the children that are listed, in their beams' rows; of beams whose children did not fit, all logits.
  sidbeam_status (*children)(DeviceHidden*, const DeviceHiddenRows*, sidbeam_error* err);
  // All logits of all rows.
  sidbeam_status (*product)(DeviceHidden*, const DeviceHiddenRows*, sidbeam_error* err);
};

}  // namespace sidbeam::runner
