/* sidbeam: rows from a DLPack tensor, for hosts whose logits come as one. Not part of sidbeam.h.
 *
 * Declares the layout of DLTensor under a name of its own, so it needs no dlpack.h and does not mind one. The layout is
 * that of DLPack 0.6 to 1.x; a DLManagedTensor and a DLManagedTensorVersioned both hold a DLTensor (at their beginning,
 * and as their member dl_tensor).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_DLPACK_H
#define SIDBEAM_DLPACK_H

#include <stdio.h>

#include "rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Field by field the DLTensor of dlpack.h. */
typedef struct sidbeam_dl_tensor {
  void* data;
  int32_t device_type, device_id; /* kDLCPU 1, kDLCUDA 2, kDLCUDAHost 3, kDLCUDAManaged 13 */
  int32_t ndim;
  uint8_t type_code, type_bits; /* kDLFloat 2, kDLBfloat 4 */
  uint16_t type_lanes;
  int64_t* shape;
  int64_t* strides; /* elements; NULL: compact, row-major */
  uint64_t byte_offset;
} sidbeam_dl_tensor;

/* INVALID_ARGUMENT, with a message of what is wrong in a tensor: a field, what came and what was expected. */
static inline sidbeam_status sidbeam_dl_refuse(
    sidbeam_error* err, const char* what, long long came, const char* expected) {
  if (err != NULL && err->struct_size >= sizeof(*err)) {
    err->code = SIDBEAM_INVALID_ARGUMENT;
    snprintf(err->message, sizeof(err->message), "tensor.%s is %lld, expected %s", what, came, expected);
  }
  return SIDBEAM_INVALID_ARGUMENT;
}

/* In a tensor a stride of 0 repeats an entry (where the extent is above 1), in rows it is dense. */
static inline int64_t sidbeam_dl_stride(int64_t stride, int64_t extent) {
  return stride == 0 && extent > 1 ? SIDBEAM_BROADCAST : stride;
}

/* Describes a tensor (a const DLTensor *) of shape [slots, rows, columns] or [rows, columns] as rows, without copying:
 * *out borrows the tensor's memory. A stride of 0 over more than one entry becomes SIDBEAM_BROADCAST.
 * Errors: INVALID_ARGUMENT (dtype, lanes, device, dimensions, columns that are not contiguous, a byte offset that
 * splits an element); then *out is untouched. */
static inline sidbeam_status sidbeam_rows_from_dlpack(const void* dl_tensor, sidbeam_rows* out, sidbeam_error* err) {
  const sidbeam_dl_tensor* tensor = (const sidbeam_dl_tensor*)dl_tensor;
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  int64_t strides[3];
  int32_t i;
  if (tensor == NULL) return sidbeam_dl_refuse(err, "data", 0, "a tensor, not NULL");
  if (tensor->type_lanes != 1) return sidbeam_dl_refuse(err, "dtype.lanes", tensor->type_lanes, "1");
  if (tensor->type_code == 2 && tensor->type_bits == 32) {
    rows.dtype = SIDBEAM_DTYPE_F32;
  } else if (tensor->type_code == 2 && tensor->type_bits == 16) {
    rows.dtype = SIDBEAM_DTYPE_F16;
  } else if (tensor->type_code == 4 && tensor->type_bits == 16) {
    rows.dtype = SIDBEAM_DTYPE_BF16;
  } else {
    return sidbeam_dl_refuse(err, "dtype.bits", tensor->type_bits, "float of 32 or 16 bits, or bfloat of 16");
  }
  if (tensor->device_type == 1 || tensor->device_type == 3) {
    rows.device_type = SIDBEAM_DEVICE_CPU;
  } else if (tensor->device_type == 2 || tensor->device_type == 13) {
    rows.device_type = SIDBEAM_DEVICE_CUDA;
    rows.device_id = tensor->device_id;
  } else {
    return sidbeam_dl_refuse(err, "device.device_type", tensor->device_type, "CPU (1, 3) or CUDA (2, 13)");
  }
  if (tensor->ndim != 2 && tensor->ndim != 3) return sidbeam_dl_refuse(err, "ndim", tensor->ndim, "2 or 3");
  if (tensor->ndim == 3 && tensor->shape[0] < 1)
    return sidbeam_dl_refuse(err, "shape[0]", (long long)tensor->shape[0], "at least 1 slot");
  if (tensor->byte_offset % (tensor->type_bits / 8u) != 0)
    return sidbeam_dl_refuse(err, "byte_offset", (long long)tensor->byte_offset, "a multiple of the element's size");
  strides[tensor->ndim - 1] = 1;
  for (i = tensor->ndim - 2; i >= 0; i--) /* wild sizes wrap, and are refused by the call that gets them */
    strides[i] = (int64_t)((uint64_t)strides[i + 1] * (uint64_t)tensor->shape[i + 1]);
  if (tensor->strides != NULL)
    for (i = 0; i < tensor->ndim; i++) strides[i] = tensor->strides[i];
  if (strides[tensor->ndim - 1] != 1 && tensor->shape[tensor->ndim - 1] > 1)
    return sidbeam_dl_refuse(err, "strides[last]", (long long)strides[tensor->ndim - 1], "1: columns are contiguous");
  rows.data = (char*)tensor->data + tensor->byte_offset;
  rows.slots = tensor->ndim == 3 ? tensor->shape[0] : 0;
  rows.rows = tensor->shape[tensor->ndim - 2];
  rows.columns = tensor->shape[tensor->ndim - 1];
  rows.slot_stride = tensor->ndim == 3 ? sidbeam_dl_stride(strides[0], rows.slots) : 0;
  rows.row_stride = sidbeam_dl_stride(strides[tensor->ndim - 2], rows.rows);
  *out = rows;
  return SIDBEAM_OK;
}

#ifdef __cplusplus
}
#endif
#endif
