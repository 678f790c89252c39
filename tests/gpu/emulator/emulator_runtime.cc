// The host's side: devices, errors, and the emulator's own levers.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "emulator_world.h"

namespace emulator {
namespace {

thread_local cudaError_t t_last = cudaSuccess;

}  // namespace

World::World() {
  if (const char* count = std::getenv("SIDBEAM_EMULATED_DEVICES")) devices = std::atoi(count);
  if (const char* version = std::getenv("SIDBEAM_EMULATED_DRIVER")) driver = std::atoi(version);
  if (const char* number = std::getenv("SIDBEAM_EMULATED_CAPABILITY")) capability = std::atoi(number);
  if (const char* count = std::getenv("SIDBEAM_EMULATED_PROCESSORS")) processors = std::atoi(count);
  eager = std::getenv("SIDBEAM_EMULATOR_EAGER") != nullptr;
  if (const char* seed = std::getenv("SIDBEAM_EMULATOR_SEED")) set_seed(std::strtoull(seed, nullptr, 10));
}
void World::set_seed(uint64_t seed) {
  lot = seed * 2 + 1;
  newest_first = seed % 2 != 0;
  seed_order(seed);
}
World& world() {
  static World& only = *new World;
  return only;
}

cudaError_t result(cudaError_t error) {
  if (error == cudaSuccess) error = world().sticky;
  if (error != cudaSuccess && error != cudaErrorNotReady) t_last = error;
  return error;
}

}  // namespace emulator

using emulator::Lock;
using emulator::result;
using emulator::World;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  CALLED(cudaGetDeviceCount);
  *count = w.devices;
  if (w.driver < CUDART_VERSION) return result(cudaErrorInsufficientDriver);
  return w.devices == 0 ? result(cudaErrorNoDevice) : result(cudaSuccess);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  CALLED(cudaGetDeviceProperties);
  if (device < 0 || device >= w.devices) return result(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulator");
  properties->major = w.capability / 10;
  properties->minor = w.capability % 10;
  properties->multiProcessorCount = w.processors;
  properties->totalGlobalMem = size_t{1} << 34;
  properties->l2CacheSize = 1 << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  CALLED(cudaDeviceGetAttribute);
  if (device < 0 || device >= w.devices) return result(cudaErrorInvalidDevice);
  *value = attribute == cudaDevAttrComputeCapabilityMajor    ? w.capability / 10
           : attribute == cudaDevAttrComputeCapabilityMinor  ? w.capability % 10
           : attribute == cudaDevAttrMultiProcessorCount     ? w.processors
           : attribute == cudaDevAttrMaxSharedMemoryPerBlock ? 48 * 1024
           : attribute == cudaDevAttrL2CacheSize             ? 1 << 20
           : attribute == cudaDevAttrMemoryPoolsSupported    ? static_cast<int>(w.has_pools)
                                                             : 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = emulator::world().driver;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  CALLED(cudaDeviceSynchronize);
  emulator::drain();
  return result(cudaSuccess);
}
cudaError_t cudaGetLastError() {
  const cudaError_t last = cudaPeekAtLastError();
  emulator::t_last = cudaSuccess;
  return last;
}
cudaError_t cudaPeekAtLastError() {
  return emulator::world().sticky != cudaSuccess ? emulator::world().sticky : emulator::t_last;
}
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorNotSupported:
      return "cudaErrorNotSupported";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureImplicit:
      return "cudaErrorStreamCaptureImplicit";
    default:
      return "cudaError of the emulator";
  }
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : cudaGetErrorName(error);
}

void emulator_fail_allocation(int64_t n) { emulator::world().fail_in = n; }
void emulator_fail_launch(int64_t n) { emulator::world().fail_launch_in = n; }
void emulator_fail_wait(int64_t n) { emulator::world().fail_wait_in = n; }
void emulator_unload_kernels() { emulator::world().launched.clear(); }
int64_t emulator_live_allocations() {
  const Lock lock(emulator::world().mutex);
  return static_cast<int64_t>(emulator::world().memory.size());
}
int64_t emulator_live_bytes() { return emulator::world().live_bytes; }
int64_t emulator_launches() { return emulator::world().launches; }
int64_t emulator_pending() {
  const Lock lock(emulator::world().mutex);
  return static_cast<int64_t>(emulator::world().line.size());
}
void emulator_set_devices(int count) { emulator::world().devices = count; }
void emulator_set_driver(int version) { emulator::world().driver = version; }
void emulator_set_capability(int major) { emulator::world().capability = 10 * major; }
void emulator_set_seed(uint64_t seed) { emulator::world().set_seed(seed); }
void emulator_set_sticky_error(cudaError_t error) { emulator::world().sticky = error; }
void emulator_set_kernels(int ptx_version, int binary_version) {
  emulator::world().ptx_version = ptx_version;
  emulator::world().binary_version = binary_version;
}
int64_t emulator_overlapping_launches() { return emulator::world().overlapping; }
void emulator_set_pools(int supported) { emulator::world().has_pools = supported != 0; }
int64_t emulator_mapped_bytes() { return emulator::world().mapped_bytes; }

}  // extern "C"
