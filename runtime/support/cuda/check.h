// Turns errors of the CUDA runtime into failures of a library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace sidbeam::cuda {

// Throws if a call of the CUDA runtime, or a launch, has failed; `what` names the operation.
void check(cudaError_t status, const char* what);

// Whether every later call of the process will return this error too, as after a fault in a kernel.
bool is_sticky(cudaError_t status);

// Throws NO_DEVICE naming what is missing; returns the major number of the compute capability.
int32_t check_device(int32_t id);

// Returns whether a stream is being captured; nothing else may be asked about one that is. Throws if it belongs to
// another device, or if it is the default stream and CUDA forbids that one while another is captured. The device must
// be current.
bool check_stream(int32_t device_id, void* stream);
// The same, and throws if it is being captured, because `what` cannot be.
void check_not_captured(int32_t device_id, void* stream, const char* what);
// Throws if an address is not in the memory of the device; nullptr passes.
void check_address(int32_t device_id, const void* address, const char* name);
// Throws if an address is in the memory of a device.
void check_host(const void* address, const char* name);

}  // namespace sidbeam::cuda
