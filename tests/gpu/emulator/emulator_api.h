// The part of the CUDA runtime's host interface that sidbeam and its tests call. Work on a stream is put off until
// something waits for it, as late as CUDA allows (SIDBEAM_EMULATOR_EAGER=1: done at once).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "capture_rules.h"
#include "cuda.h"

#define CUDART_VERSION 13000
#define SIDBEAM_EMULATOR_API __attribute__((visibility("default")))

enum cudaError_t : int {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorECCUncorrectable = 214,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchTimeout = 702,
  cudaErrorAssert = 710,
  cudaErrorHardwareStackError = 714,
  cudaErrorIllegalInstruction = 715,
  cudaErrorMisalignedAddress = 716,
  cudaErrorInvalidAddressSpace = 717,
  cudaErrorInvalidPc = 718,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotSupported = 801,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureIsolation = 905,
  cudaErrorStreamCaptureImplicit = 906,
  cudaErrorCapturedEvent = 907,
  cudaErrorStreamCaptureWrongThread = 908,
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone,
  cudaStreamCaptureStatusActive,
  cudaStreamCaptureStatusInvalidated
};
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed
};
enum cudaDeviceAttr {
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMemoryPoolsSupported = 115,
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess, cudaDriverEntryPointSymbolNotFound };
enum cudaMemAllocationType { cudaMemAllocationTypeInvalid, cudaMemAllocationTypePinned };
enum cudaMemLocationType { cudaMemLocationTypeInvalid, cudaMemLocationTypeDevice };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
enum cudaLaunchAttributeID { cudaLaunchAttributeIgnore = 0, cudaLaunchAttributeProgrammaticStreamSerialization = 6 };

inline constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2;
inline constexpr unsigned long long cudaEnableDefault = 0;
inline constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2;

struct EmulatedStream;
struct EmulatedEvent;
struct EmulatedGraph;
struct EmulatedGraphExec;
struct EmulatedPool;
using cudaStream_t = EmulatedStream*;
using cudaEvent_t = EmulatedEvent*;
using cudaGraph_t = EmulatedGraph*;
using cudaGraphExec_t = EmulatedGraphExec*;
using cudaMemPool_t = EmulatedPool*;
#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(1))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(2))

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
};
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  int major, minor, multiProcessorCount, l2CacheSize;
};
struct cudaFuncAttributes {
  size_t sharedSizeBytes;
  int ptxVersion, binaryVersion;  // what it was compiled for, times ten
};
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
struct cudaMemPoolProps {
  cudaMemAllocationType allocType;
  cudaMemLocation location;
};
struct cudaLaunchAttributeValue {
  int programmaticStreamSerializationAllowed;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

extern "C" {
// What the table of rules lacks does not compile.
#define EMULATED(name, ...)                                    \
  static_assert(emulator::Call::k_##name >= emulator::Call{}); \
  SIDBEAM_EMULATOR_API cudaError_t name(__VA_ARGS__)
EMULATED(cudaGetDeviceCount, int* count);
EMULATED(cudaSetDevice, int device);
EMULATED(cudaGetDevice, int* device);
EMULATED(cudaGetDeviceProperties, cudaDeviceProp* properties, int device);
EMULATED(cudaDeviceGetAttribute, int* value, cudaDeviceAttr attribute, int device);
EMULATED(cudaDriverGetVersion, int* version);
EMULATED(cudaRuntimeGetVersion, int* version);
EMULATED(cudaDeviceSynchronize);
EMULATED(cudaGetDriverEntryPointByVersion, const char* symbol, void** function, unsigned version,
         unsigned long long flags, cudaDriverEntryPointQueryResult* found);
EMULATED(cudaGetLastError);
EMULATED(cudaPeekAtLastError);
SIDBEAM_EMULATOR_API const char* cudaGetErrorName(cudaError_t error);
SIDBEAM_EMULATOR_API const char* cudaGetErrorString(cudaError_t error);

EMULATED(cudaMalloc, void** pointer, size_t bytes);
EMULATED(cudaFree, void* pointer);
EMULATED(cudaFreeAsync, void* pointer, cudaStream_t stream);
EMULATED(cudaFreeHost, void* pointer);
EMULATED(cudaMemPoolCreate, cudaMemPool_t* pool, const cudaMemPoolProps* properties);
EMULATED(cudaMemPoolSetAttribute, cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
EMULATED(cudaMemPoolDestroy, cudaMemPool_t pool);
EMULATED(cudaMemGetInfo, size_t* free, size_t* total);
EMULATED(cudaMemcpy, void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
EMULATED(cudaMemcpyAsync, void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
EMULATED(cudaMemset, void* to, int value, size_t bytes);
EMULATED(cudaMemsetAsync, void* to, int value, size_t bytes, cudaStream_t stream);
EMULATED(cudaPointerGetAttributes, cudaPointerAttributes* attributes, const void* pointer);

EMULATED(cudaStreamCreate, cudaStream_t* stream);
EMULATED(cudaStreamCreateWithFlags, cudaStream_t* stream, unsigned flags);
EMULATED(cudaStreamDestroy, cudaStream_t stream);
EMULATED(cudaStreamSynchronize, cudaStream_t stream);
EMULATED(cudaStreamQuery, cudaStream_t stream);
EMULATED(cudaStreamWaitEvent, cudaStream_t stream, cudaEvent_t event, unsigned flags);
EMULATED(cudaStreamGetDevice, cudaStream_t stream, int* device);
EMULATED(cudaStreamGetId, cudaStream_t stream, unsigned long long* id);
EMULATED(cudaStreamIsCapturing, cudaStream_t stream, cudaStreamCaptureStatus* status);
EMULATED(cudaStreamBeginCapture, cudaStream_t stream, cudaStreamCaptureMode mode);
EMULATED(cudaStreamEndCapture, cudaStream_t stream, cudaGraph_t* graph);
EMULATED(cudaThreadExchangeStreamCaptureMode, cudaStreamCaptureMode* mode);
EMULATED(cudaGraphInstantiate, cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags);
EMULATED(cudaGraphLaunch, cudaGraphExec_t exec, cudaStream_t stream);
EMULATED(cudaGraphExecDestroy, cudaGraphExec_t exec);
EMULATED(cudaGraphDestroy, cudaGraph_t graph);
EMULATED(cudaEventCreate, cudaEvent_t* event);
EMULATED(cudaEventCreateWithFlags, cudaEvent_t* event, unsigned flags);
EMULATED(cudaEventDestroy, cudaEvent_t event);
EMULATED(cudaEventRecord, cudaEvent_t event, cudaStream_t stream);
EMULATED(cudaEventQuery, cudaEvent_t event);
EMULATED(cudaEventSynchronize, cudaEvent_t event);
EMULATED(cudaEventElapsedTime, float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

// Only in the emulator. The n-th allocation, launch, or wait for a stream from now on (1: the next) fails; 0: none.
SIDBEAM_EMULATOR_API void emulator_fail_allocation(int64_t n);
SIDBEAM_EMULATOR_API void emulator_fail_launch(int64_t n);
SIDBEAM_EMULATOR_API void emulator_fail_wait(int64_t n);
// As if none had been launched.
SIDBEAM_EMULATOR_API void emulator_unload_kernels();
// Allocations of device and of pinned memory that are not given back.
SIDBEAM_EMULATOR_API int64_t emulator_live_allocations();
SIDBEAM_EMULATOR_API int64_t emulator_live_bytes();
SIDBEAM_EMULATOR_API int64_t emulator_launches();
// Work that is enqueued and not done.
SIDBEAM_EMULATOR_API int64_t emulator_pending();
// How many devices there are (default 1, or $SIDBEAM_EMULATED_DEVICES; each has 4 multiprocessors, or
// $SIDBEAM_EMULATED_PROCESSORS; their compute capability, times ten, is
// $SIDBEAM_EMULATED_CAPABILITY, and the driver's version $SIDBEAM_EMULATED_DRIVER, 0 for none), and the order that
// threads run in.
SIDBEAM_EMULATOR_API void emulator_set_devices(int count);
// What the driver is for (0: there is no driver; default 13000), and how old the devices are (default 9).
SIDBEAM_EMULATOR_API void emulator_set_driver(int version);
SIDBEAM_EMULATOR_API void emulator_set_capability(int major);
SIDBEAM_EMULATOR_API void emulator_set_seed(uint64_t seed);
// Every further call fails this way, as after an illegal access on a real device; cudaSuccess: no longer.
SIDBEAM_EMULATOR_API void emulator_set_sticky_error(cudaError_t error);
// What kernels were compiled for, times ten (default 90 and 90), and launches so far that could begin early.
SIDBEAM_EMULATOR_API void emulator_set_kernels(int ptx_version, int binary_version);
SIDBEAM_EMULATOR_API int64_t emulator_overlapping_launches();
// Whether devices have memory pools, and bytes that pools have mapped so far: what a synchronisation takes back from
// them (down to the release threshold) is mapped anew when it is next allocated.
SIDBEAM_EMULATOR_API void emulator_set_pools(int supported);
SIDBEAM_EMULATOR_API int64_t emulator_mapped_bytes();
// How many devices have a primary context; a context of the caller's own, as cuCtxCreate() makes it; and the context
// that is current in this thread, nullptr: none.
SIDBEAM_EMULATOR_API int emulator_primary_contexts();
SIDBEAM_EMULATOR_API CUcontext emulator_make_context(int device);
SIDBEAM_EMULATOR_API CUcontext emulator_context();
SIDBEAM_EMULATOR_API void emulator_use_context(CUcontext context);
}

namespace emulator {
SIDBEAM_EMULATOR_API cudaError_t allocate(Call call, void** pointer, size_t bytes, bool on_device);
// On a stream that is being captured: memory of the graph. From the device's pool where there is no other.
SIDBEAM_EMULATOR_API cudaError_t allocate_async(Call call, void** pointer, size_t bytes, cudaMemPool_t pool,
                                                cudaStream_t stream);
SIDBEAM_EMULATOR_API cudaError_t load(Call call, const void* kernel, cudaFuncAttributes* attributes);
// In a capture, only what was launched on the device before: a first launch loads the kernel and reserves its local
// memory, of which a graph must not make others wait.
SIDBEAM_EMULATOR_API cudaError_t launch(const void* kernel_id, const cudaLaunchConfig_t& config,
                                        std::function<void()> kernel);
}  // namespace emulator

template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t stream) {
  return emulator::allocate_async(emulator::Call::k_cudaMallocAsync, reinterpret_cast<void**>(pointer), bytes, nullptr,
                                  stream);
}
template <class T>
cudaError_t cudaMallocFromPoolAsync(T** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return emulator::allocate_async(emulator::Call::k_cudaMallocFromPoolAsync, reinterpret_cast<void**>(pointer), bytes,
                                  pool, stream);
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned) {
  return emulator::allocate(emulator::Call::k_cudaHostAlloc, reinterpret_cast<void**>(pointer), bytes, false);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, size_t bytes) {
  return emulator::allocate(emulator::Call::k_cudaMallocHost, reinterpret_cast<void**>(pointer), bytes, false);
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute, int) {
  return emulator::load(emulator::Call::k_cudaFuncSetAttribute, reinterpret_cast<const void*>(kernel), nullptr);
}
template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel* kernel) {
  return emulator::load(emulator::Call::k_cudaFuncGetAttributes, reinterpret_cast<const void*>(kernel), attributes);
}
// Arguments are copied here, as CUDA does.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  return emulator::launch(reinterpret_cast<const void*>(kernel), *config,
                          [kernel, ... copy = Parameters(std::forward<Arguments>(arguments))] { kernel(copy...); });
}
