// What CUDA lets a program call while streams are being captured: one line for every call that the plugin, the tests
// and the samples make, with the place that says so. The emulator refuses by this table and by nothing else (allow() in
// emulator_world.h); a call that is not in it does not compile. capture.cc holds it against what a device does.
//
// The places: PG is the CUDA Programming Guide, section 4.2 (CUDA Graphs), 4.2.2.1.2.2 "Prohibited and Unhandled
// Operations"; RT the CUDA Runtime API and DR the CUDA Driver API, by module and function. Whatever they leave open is
// taken as refused.
//
// Two rules hold for every call besides. While a stream that is not non-blocking is being captured, nothing may use the
// legacy default stream (PG; RT "Stream Management", cudaStreamIsCapturing), and whatever is refused invalidates the
// captures that it touches (PG 4.2.2.1.2.3 "Invalidation").
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace emulator {

enum class Rule {
  kFree,          // always allowed; asks nothing of a device, so that it makes no context either
  kAllowed,       // always allowed, also about a stream that is being captured
  kRecorded,      // on a stream that is being captured it is recorded; on others it is always allowed
  kRecordedHere,  // on a stream that is being captured it is recorded; on others it is "potentially unsafe"
  kEnqueued,      // not on a stream that is being captured; on others it is always allowed
  kUnsafe,        // "potentially unsafe": not in a thread that a capture forbids such calls, unless its mode is relaxed
  kUnsafeThere,   // the same, and in no mode about a stream that is being captured or an event that was recorded there
  kWhole,         // in no mode while any stream of the device is being captured
};

#define SILENT "not stated; taken as refused"
#define PROHIBITED "PG: 'It is invalid to synchronize or query the execution status of a stream which is being captured"
#define ALLOCATION_NODES                                                                                       \
  "RT 'Stream Ordered Memory Allocator': 'During stream capture, this function results in the creation of an " \
  "allocation node'"
#define CAPTURE_MODES "RT 'Stream Management', cudaThreadExchangeStreamCaptureMode: "

#define SIDBEAM_CAPTURE_RULES(CALL)                                                                                    \
  /* Devices, contexts and errors */                                                                                   \
  CALL(cudaGetDeviceCount, kFree, "RT 'Device Management': it reads what the driver knows and has no part in streams") \
  CALL(cudaGetDevice, kFree, "RT 'Device Management': a property of the thread")                                       \
  CALL(cudaSetDevice, kFree, "RT 'Device Management': 'makes no synchronization with the previous or new device'")     \
  CALL(cudaGetDeviceProperties, kFree, "RT 'Device Management': constants of the device")                              \
  CALL(cudaDeviceGetAttribute, kFree, "RT 'Device Management': constants of the device")                               \
  CALL(cudaDriverGetVersion, kFree, "RT 'Version Management': a constant")                                             \
  CALL(cudaRuntimeGetVersion, kFree, "RT 'Version Management': a constant")                                            \
  CALL(cudaGetLastError, kFree, "RT 'Error Handling': a property of the thread")                                       \
  CALL(cudaPeekAtLastError, kFree, "RT 'Error Handling': a property of the thread")                                    \
  CALL(cudaDeviceSynchronize, kWhole,                                                                                  \
       "PG: 'also invalid to query the execution status of or synchronize a broader handle which encompasses an "      \
       "active stream capture, such as a device or context handle'")                                                   \
  CALL(cudaGetDriverEntryPointByVersion, kFree, "RT 'Driver Entry Point Access': it looks a symbol up")                \
  CALL(cuDeviceGet, kFree, "DR 'Device Management': it looks a device up")                                             \
  CALL(cuDevicePrimaryCtxRetain, kFree,                                                                                \
       "not stated; it comes before the mode can be changed. A context of which a stream is being captured is there, " \
       "and retaining it counts")                                                                                      \
  CALL(cuCtxGetCurrent, kFree, "DR 'Context Management': a property of the thread")                                    \
  CALL(cuCtxSetCurrent, kFree, "DR 'Context Management': a property of the thread")                                    \
  /* Memory */                                                                                                         \
  CALL(cudaMalloc, kUnsafe, CAPTURE_MODES "'some actions, such as a call to cudaMalloc, may be unsafe'")               \
  CALL(cudaFree, kUnsafe, SILENT "; it waits for the device as cudaMalloc may")                                        \
  CALL(cudaHostAlloc, kUnsafe, SILENT "; pytorch/pytorch#146924 met it")                                               \
  CALL(cudaMallocHost, kUnsafe, SILENT)                                                                                \
  CALL(cudaFreeHost, kUnsafe, SILENT)                                                                                  \
  CALL(cudaMallocAsync, kRecordedHere, ALLOCATION_NODES "; on others an H200 refused it (driver 580)")                 \
  CALL(cudaMallocFromPoolAsync, kRecordedHere, ALLOCATION_NODES "; on others an H200 refused it (driver 580)")         \
  CALL(cudaFreeAsync, kRecordedHere, "as cudaMallocAsync, of which it is the end; on others " SILENT)                  \
  CALL(cudaMemPoolCreate, kUnsafe, SILENT)                                                                             \
  CALL(cudaMemPoolSetAttribute, kUnsafe, SILENT)                                                                       \
  CALL(cudaMemPoolDestroy, kUnsafe, SILENT)                                                                            \
  CALL(cudaMemGetInfo, kUnsafe, SILENT)                                                                                \
  CALL(cudaMemcpy, kUnsafe,                                                                                            \
       "PG: 'also invalid to call synchronous APIs in this case. One example of a synchronous APIs is cudaMemcpy()'; " \
       "beyond the case of blocking streams " SILENT)                                                                  \
  CALL(cudaMemset, kUnsafe, "PG: as cudaMemcpy")                                                                       \
  CALL(cudaMemcpyAsync, kRecorded, "PG 4.2.1.1 'Node Types': a memory copy is one")                                    \
  CALL(cudaMemsetAsync, kRecorded, "PG 4.2.1.1 'Node Types': a memset is one")                                         \
  CALL(cudaPointerGetAttributes, kAllowed,                                                                             \
       "not stated; it concerns no stream and enqueues nothing. The plugin calls it in relaxed mode")                  \
  /* Kernels */                                                                                                        \
  CALL(cudaFuncGetAttributes, kUnsafe, SILENT "; it may load a module")                                                \
  CALL(cudaFuncSetAttribute, kUnsafe, SILENT "; it may load a module")                                                 \
  CALL(cudaLaunchKernelEx, kRecorded, "PG 4.2.1.1 'Node Types': a kernel is one; the first launch of a kernel is not") \
  /* Streams */                                                                                                        \
  CALL(cudaStreamCreate, kUnsafe, SILENT)                                                                              \
  CALL(cudaStreamCreateWithFlags, kUnsafe, SILENT)                                                                     \
  CALL(cudaStreamDestroy, kUnsafeThere, SILENT)                                                                        \
  CALL(cudaStreamSynchronize, kUnsafeThere, PROHIBITED "; of other streams " SILENT)                                   \
  CALL(cudaStreamQuery, kUnsafeThere, PROHIBITED "; of other streams " SILENT)                                         \
  CALL(cudaStreamGetDevice, kUnsafeThere, SILENT "; NVIDIA/cccl#9119 met it: not during a capture")                    \
  CALL(cudaStreamGetId, kUnsafeThere, SILENT "; NVIDIA/cccl#9136 names cudaStreamIsCapturing as the only safe query")  \
  CALL(cudaStreamIsCapturing, kAllowed, "RT 'Stream Management': it is made for that")                                 \
  CALL(cudaStreamWaitEvent, kRecorded,                                                                                 \
       "PG 4.2.2.1.2.1 'Cross-stream Dependencies and Events'; a captured stream may not wait for what was not "       \
       "captured")                                                                                                     \
  CALL(cudaStreamBeginCapture, kAllowed, "RT 'Stream Management': not on cudaStreamLegacy, nor twice")                 \
  CALL(cudaStreamEndCapture, kAllowed,                                                                                 \
       "RT 'Stream Management': 'must be called on this stream from the same thread', unless it is relaxed")           \
  CALL(cudaThreadExchangeStreamCaptureMode, kAllowed,                                                                  \
       "RT 'Stream Management': it is made for that; it makes a context where the thread has none "                    \
       "(pytorch/pytorch#148594)")                                                                                     \
  /* Events */                                                                                                         \
  CALL(cudaEventCreate, kUnsafe, SILENT)                                                                               \
  CALL(cudaEventCreateWithFlags, kUnsafe, SILENT)                                                                      \
  CALL(cudaEventDestroy, kUnsafe, SILENT)                                                                              \
  CALL(cudaEventRecord, kRecorded, "PG 4.2.2.1.2.1 'Cross-stream Dependencies and Events'")                            \
  CALL(cudaEventQuery, kUnsafeThere, CAPTURE_MODES "named for captured events; of others, pytorch/pytorch#146924")     \
  CALL(cudaEventSynchronize, kUnsafeThere, "PG: of a captured event; of others " SILENT)                               \
  CALL(cudaEventElapsedTime, kUnsafeThere, SILENT)                                                                     \
  /* Graphs */                                                                                                         \
  CALL(cudaGraphInstantiate, kUnsafe, SILENT)                                                                          \
  CALL(cudaGraphLaunch, kEnqueued, "PG 4.2.1.1 'Node Types' has child graphs; that a launch becomes one is " SILENT)   \
  CALL(cudaGraphExecDestroy, kUnsafe, SILENT)                                                                          \
  CALL(cudaGraphDestroy, kUnsafe, SILENT)

#define SIDBEAM_CALL_NAME(name, rule, where) k_##name,
enum class Call { SIDBEAM_CAPTURE_RULES(SIDBEAM_CALL_NAME) kCount };
#undef SIDBEAM_CALL_NAME

struct CaptureRule {
  const char* call;
  Rule rule;
  const char* where;  // it is said
};
#define SIDBEAM_CALL_RULE(name, rule, where) {#name, Rule::rule, where},
inline constexpr CaptureRule kCaptureRules[] = {SIDBEAM_CAPTURE_RULES(SIDBEAM_CALL_RULE)};
#undef SIDBEAM_CALL_RULE

inline constexpr const CaptureRule& rule_of(Call call) { return kCaptureRules[static_cast<int>(call)]; }

}  // namespace emulator
