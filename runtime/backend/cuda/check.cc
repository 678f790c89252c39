// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/check.h"

#include "support/error.h"

namespace sidbeam::cuda {
namespace {

bool is_of_capture(cudaError_t status) {
  return status >= cudaErrorStreamCaptureUnsupported && status <= cudaErrorStreamCaptureWrongThread;
}

}  // namespace

bool is_sticky(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
      return true;
    default:
      return false;
  }
}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // cleared, so that it does not surface in an unrelated call
  const char *name = cudaGetErrorName(status), *text = cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation) fail(SIDBEAM_OUT_OF_MEMORY, "%s: out of device memory", what);
  if (is_of_capture(status))
    fail(SIDBEAM_BAD_STATE, "%s: not while a stream is captured, expected that to end first: %s (%s)", what, text,
         name);
  if (is_sticky(status))
    fail(SIDBEAM_DEVICE_ERROR,
         "%s: work that was enqueued before failed, after which CUDA needs a new process: %s (%s)", what, text, name);
  fail(SIDBEAM_DEVICE_ERROR, "%s: %s (%s)", what, text, name);
}

bool check_stream(int32_t device_id, void* stream) {
  const auto given = static_cast<cudaStream_t>(stream);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(given, &status), "look at the stream");
  if (status != cudaStreamCaptureStatusNone) return true;
#if CUDART_VERSION >= 13000  // 12.8 has the call, but not all drivers that its runtime accepts
  int owner = device_id;
  check(cudaStreamGetDevice(given, &owner), "look at the stream");
  if (owner != device_id)
    fail(SIDBEAM_INVALID_ARGUMENT, "stream belongs to CUDA device %d, expected %d", owner, device_id);
#else
  (void)device_id;  // a launch will fail instead, with a less specific error
#endif
  return false;
}

void check_not_captured(int32_t device_id, void* stream, const char* what) {
  if (check_stream(device_id, stream))
    fail(SIDBEAM_BAD_STATE, "stream is being captured, expected %s outside of graphs", what);
}

void check_address(int32_t device_id, const void* address, const char* name) {
  if (address == nullptr) return;
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address), "look at an address");
  if (attributes.type == cudaMemoryTypeManaged) return;
  if (attributes.type != cudaMemoryTypeDevice)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is memory of the host, expected memory of CUDA device %d", name, device_id);
  if (attributes.device != device_id)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is memory of CUDA device %d, expected device %d", name, attributes.device,
         device_id);
}

void check_host(const void* address, const char* name) {
  if (address == nullptr) return;
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address), "look at an address");
  if (attributes.type == cudaMemoryTypeDevice)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is memory of CUDA device %d, expected memory of the host", name,
         attributes.device);
}

}  // namespace sidbeam::cuda
