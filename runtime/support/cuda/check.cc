// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/check.h"

#include "support/error.h"

namespace sidbeam::cuda {
namespace {

constexpr int kLeastMajor = 8;  // compute capability

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

int32_t check_device(int32_t id) {
  int driver = 0, count = 0, major = 0, minor = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (driver == 0)
    fail(SIDBEAM_NO_DEVICE, "no NVIDIA driver is installed (libcuda.so.1), expected one for CUDA device %d", id);
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver)
    fail(SIDBEAM_NO_DEVICE, "the NVIDIA driver is for CUDA %d.%d, expected at least %d.%d", driver / 1000,
         driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  if (status == cudaErrorNoDevice) count = 0;
  if (is_sticky(status)) check(status, "count the CUDA devices");
  if (status != cudaSuccess && status != cudaErrorNoDevice)
    fail(SIDBEAM_NO_DEVICE, "the NVIDIA driver gives no devices: %s (%s)", cudaGetErrorString(status),
         cudaGetErrorName(status));
  if (count == 0) fail(SIDBEAM_NO_DEVICE, "there is no CUDA device, expected device %d", id);
  if (id < 0 || id >= count)
    fail(SIDBEAM_NO_DEVICE, "device_id is %d, expected 0..%d, the CUDA devices there are", id, count - 1);
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, id), "ask for the compute capability");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, id), "ask for the compute capability");
  if (major < kLeastMajor)
    fail(SIDBEAM_NO_DEVICE, "CUDA device %d has compute capability %d.%d, expected at least %d.0", id, major, minor,
         kLeastMajor);
  return major;
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
