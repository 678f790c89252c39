// Every call of emulator/capture_rules.h, made while a stream is being captured, against what the table says of it. On
// the emulator both must agree. On a device the table may be the stricter one, which is printed: it says "refused"
// where CUDA's documentation is silent. Exit status 77: no device. SPDX-License-Identifier: Apache-2.0
#include <cuda.h>

#include <algorithm>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <thread>

#include "device_place.h"
#include "emulator/capture_rules.h"

namespace {

using emulator::CaptureRule;
using emulator::Rule;
using gpu::expect_cuda;

// What calls are made with, all of it from before the capture.
struct Subject {
  cudaStream_t captured = nullptr, other = nullptr;
  cudaStream_t stream = nullptr;  // that the call is about: one of these
  cudaEvent_t begin = nullptr, end = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaMemPool_t pool = nullptr;
  void *memory = nullptr, *pinned = nullptr, *of_other = nullptr;
  std::vector<std::function<void()>> later;  // gives back what the call made, when the capture has ended

  Subject();
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
};

cudaMemPoolProps pool_of_device_0() {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  return properties;
}

Subject::Subject() {
  const cudaMemPoolProps properties = pool_of_device_0();
  expect_cuda(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking), "make a stream");
  expect_cuda(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "make a stream");
  expect_cuda(cudaEventCreate(&begin), "make an event");
  expect_cuda(cudaEventCreate(&end), "make an event");
  expect_cuda(cudaMalloc(&memory, 256), "allocate");
  expect_cuda(cudaMallocAsync(&of_other, 256, other), "allocate");
  expect_cuda(cudaHostAlloc(&pinned, 256, cudaHostAllocDefault), "allocate");
  expect_cuda(cudaMemPoolCreate(&pool, &properties), "make a pool");
  expect_cuda(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal), "begin a capture");
  expect_cuda(cudaMemsetAsync(memory, 0, 256, captured), "capture");
  expect_cuda(cudaStreamEndCapture(captured, &graph), "end a capture");
  expect_cuda(cudaGraphInstantiate(&exec, graph, 0), "make a graph");
}

Subject::~Subject() {
  cudaDeviceSynchronize();
  for (const auto& one : later) one();
  if (exec != nullptr) cudaGraphExecDestroy(exec);
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (pool != nullptr) cudaMemPoolDestroy(pool);
  if (pinned != nullptr) cudaFreeHost(pinned);
  for (void* of_device : {memory, of_other})
    if (of_device != nullptr) cudaFree(of_device);
  for (cudaEvent_t event : {begin, end})
    if (event != nullptr) cudaEventDestroy(event);
  for (cudaStream_t stream_of_ours : {captured, other})
    if (stream_of_ours != nullptr) cudaStreamDestroy(stream_of_ours);
  cudaDeviceSynchronize();
}

// A call that destroyed a thing leaves nullptr in its place.
template <class Destroy, class Thing>
cudaError_t gone(const Destroy& destroy, Thing& thing) {
  const cudaError_t status = destroy(thing);
  if (status == cudaSuccess) thing = nullptr;
  return status;
}

template <class Function, class... Arguments>
cudaError_t call_driver(const char* name, Arguments... arguments) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  expect_cuda(cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found), name);
  return static_cast<cudaError_t>(reinterpret_cast<Function>(address)(arguments...));
}

// Makes a thing that is given back later.
template <class Thing, class Make, class Destroy>
cudaError_t made(Subject& s, const Make& make, const Destroy& destroy) {
  Thing thing{};
  const cudaError_t status = make(&thing);
  if (status == cudaSuccess) s.later.push_back([=] { destroy(thing); });
  return status;
}

// Memory in the order of the stream: of a graph, if that captures.
template <class Allocate>
cudaError_t allocated(Subject& s, const Allocate& allocate) {
  void* memory = nullptr;
  const cudaError_t status = allocate(&memory);
  if (status == cudaSuccess && s.stream == s.other) s.later.push_back([=] { cudaFree(memory); });
  return status;
}

// What a capture frees, it has allocated.
cudaError_t free_async(Subject& s) {
  const auto free = [&](void* memory) { return cudaFreeAsync(memory, s.stream); };
  if (s.stream == s.other) return gone(free, s.of_other);
  void* memory = nullptr;
  expect_cuda(cudaMallocAsync(&memory, 256, s.stream), "allocate");
  return cudaFreeAsync(memory, s.stream);
}

#ifdef SIDBEAM_EMULATED
cudaFuncAttributes function;
void nothing() {}
cudaError_t launch(Subject& s) {
  cudaLaunchConfig_t config{};
  config.stream = s.stream;
  return cudaLaunchKernelEx(&config, nothing);
}
#endif

using Call = std::function<cudaError_t(Subject&)>;
#define CALL(name, ...)                                                          \
  {                                                                              \
#name, [](Subject & s) -> cudaError_t { return (void)s, name(__VA_ARGS__); } \
  }
#define GONE(name, thing)                                  \
  {                                                        \
#name, [](Subject & s) { return gone(name, s.thing); } \
  }
#define MADE(name, Thing, destroy, ...)                                                                    \
  {                                                                                                        \
#name, [](Subject & s) { return made<Thing>(s, [&](Thing * out) { return name(__VA_ARGS__); }, destroy); } \
  }

const cudaMemPoolProps kPool = pool_of_device_0();
int ignored = 0;
size_t bytes = 0;
float milliseconds = 0;
uint64_t threshold = 0;
unsigned long long id = 0;
void* address = nullptr;
CUcontext context = nullptr;
cudaDeviceProp properties;
cudaPointerAttributes attributes;
cudaStreamCaptureStatus status_of_stream;
cudaDriverEntryPointQueryResult found;

const std::map<std::string, Call> kCalls = {
    CALL(cudaGetDeviceCount, &ignored),
    CALL(cudaGetDevice, &ignored),
    CALL(cudaSetDevice, 0),
    CALL(cudaGetDeviceProperties, &properties, 0),
    CALL(cudaDeviceGetAttribute, &ignored, cudaDevAttrComputeCapabilityMajor, 0),
    CALL(cudaDriverGetVersion, &ignored),
    CALL(cudaRuntimeGetVersion, &ignored),
    CALL(cudaGetLastError),
    CALL(cudaPeekAtLastError),
    CALL(cudaDeviceSynchronize),
    CALL(cudaGetDriverEntryPointByVersion, "cuCtxGetCurrent", &address, 12000, cudaEnableDefault, &found),
    {"cuDeviceGet", [](Subject&) { return call_driver<CUresult (*)(int*, int)>("cuDeviceGet", &ignored, 0); }},
    {"cuDevicePrimaryCtxRetain",
     [](Subject&) { return call_driver<CUresult (*)(CUcontext*, int)>("cuDevicePrimaryCtxRetain", &context, 0); }},
    {"cuCtxGetCurrent", [](Subject&) { return call_driver<CUresult (*)(CUcontext*)>("cuCtxGetCurrent", &context); }},
    {"cuCtxSetCurrent",
     [](Subject&) {
       call_driver<CUresult (*)(CUcontext*)>("cuCtxGetCurrent", &context);
       return call_driver<CUresult (*)(CUcontext)>("cuCtxSetCurrent", context);
     }},
    MADE(cudaMalloc, void*, cudaFree, out, 256),
    GONE(cudaFree, memory),
    MADE(cudaHostAlloc, void*, cudaFreeHost, out, 256, cudaHostAllocDefault),
    MADE(cudaMallocHost, void*, cudaFreeHost, out, 256),
    GONE(cudaFreeHost, pinned),
    {"cudaMallocAsync",
     [](Subject& s) { return allocated(s, [&](void** out) { return cudaMallocAsync(out, 256, s.stream); }); }},
    {"cudaMallocFromPoolAsync",
     [](Subject& s) {
       return allocated(s, [&](void** out) { return cudaMallocFromPoolAsync(out, 256, s.pool, s.stream); });
     }},
    {"cudaFreeAsync", free_async},
    MADE(cudaMemPoolCreate, cudaMemPool_t, cudaMemPoolDestroy, out, &kPool),
    CALL(cudaMemPoolSetAttribute, s.pool, cudaMemPoolAttrReleaseThreshold, &threshold),
    GONE(cudaMemPoolDestroy, pool),
    CALL(cudaMemGetInfo, &bytes, &bytes),
    CALL(cudaMemcpy, s.memory, s.pinned, 16, cudaMemcpyHostToDevice),
    CALL(cudaMemset, s.memory, 0, 16),
    CALL(cudaMemcpyAsync, s.memory, s.pinned, 16, cudaMemcpyHostToDevice, s.stream),
    CALL(cudaMemsetAsync, s.memory, 0, 16, s.stream),
    CALL(cudaPointerGetAttributes, &attributes, s.memory),
#ifdef SIDBEAM_EMULATED  // of a kernel, which a device's compiler must make; the other tests launch some
    CALL(cudaFuncGetAttributes, &function, nothing),
    CALL(cudaFuncSetAttribute, nothing, cudaFuncAttributePreferredSharedMemoryCarveout, 0),
    {"cudaLaunchKernelEx", launch},
#endif
    MADE(cudaStreamCreate, cudaStream_t, cudaStreamDestroy, out),
    MADE(cudaStreamCreateWithFlags, cudaStream_t, cudaStreamDestroy, out, cudaStreamNonBlocking),
    {"cudaStreamDestroy",
     [](Subject& s) { return s.stream == s.other ? gone(cudaStreamDestroy, s.other) : cudaStreamDestroy(s.captured); }},
    CALL(cudaStreamSynchronize, s.stream),
    CALL(cudaStreamQuery, s.stream),
    CALL(cudaStreamGetDevice, s.stream, &ignored),
    CALL(cudaStreamGetId, s.stream, &id),
    CALL(cudaStreamIsCapturing, s.stream, &status_of_stream),
    CALL(cudaStreamWaitEvent, s.stream, s.begin, 0),
    MADE(cudaEventCreate, cudaEvent_t, cudaEventDestroy, out),
    MADE(cudaEventCreateWithFlags, cudaEvent_t, cudaEventDestroy, out, cudaEventDisableTiming),
    GONE(cudaEventDestroy, begin),
    CALL(cudaEventRecord, s.begin, s.stream),
    CALL(cudaEventQuery, s.begin),
    CALL(cudaEventSynchronize, s.begin),
    CALL(cudaEventElapsedTime, &milliseconds, s.begin, s.end),
    MADE(cudaGraphInstantiate, cudaGraphExec_t, cudaGraphExecDestroy, out, s.graph, 0),
    CALL(cudaGraphLaunch, s.exec, s.stream),
    GONE(cudaGraphExecDestroy, exec),
    GONE(cudaGraphDestroy, graph),
};
// Every situation below makes these.
const std::vector<std::string> kOfTheTestItself = {"cudaStreamBeginCapture", "cudaStreamEndCapture",
                                                   "cudaThreadExchangeStreamCaptureMode"};

// A capture is under way in global mode. `about` tells whether the call is about its stream, `elsewhere` whether
// another thread began it.
struct Situation {
  const char* name;
  bool about, elsewhere, relaxed;
};
constexpr Situation kSituations[] = {{"about the captured stream, in relaxed mode", true, false, true},
                                     {"in the thread that captures", false, false, false},
                                     {"in the thread that captures, in relaxed mode", false, false, true},
                                     {"while another thread captures", false, true, false},
                                     {"while another thread captures, in relaxed mode", false, true, true}};

bool is_allowed(Rule rule, const Situation& in) {
  switch (rule) {
    case Rule::kFree:
    case Rule::kAllowed:
    case Rule::kRecorded:
      return true;
    case Rule::kRecordedHere:
      return in.about || in.relaxed;
    case Rule::kEnqueued:
      return !in.about;
    case Rule::kUnsafe:
      return in.relaxed;
    case Rule::kUnsafeThere:
      return in.relaxed && !in.about;
    case Rule::kWhole:
      return false;
  }
  return false;
}

// Runs `call` between a capture's beginning and its end, which are another thread's if `elsewhere`. Returns whether the
// capture was still valid.
bool while_capturing(Subject& s, const Situation& in, const std::function<void()>& call) {
  const auto begin = [&] { return cudaStreamBeginCapture(s.captured, cudaStreamCaptureModeGlobal); };
  const auto end = [&] {
    cudaGraph_t graph = nullptr;
    const cudaError_t status = cudaStreamEndCapture(s.captured, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    return status == cudaSuccess;
  };
  if (!in.elsewhere) {
    expect_cuda(begin(), "begin a capture");
    call();
    return end();
  }
  std::promise<void> begun, called;
  std::future<bool> valid = std::async(std::launch::async, [&] {
    begin();
    begun.set_value();
    called.get_future().wait();
    return end();
  });
  begun.get_future().wait();
  call();
  called.set_value();
  return valid.get();
}

bool is_of_capture(cudaError_t status) {
  return status >= cudaErrorStreamCaptureUnsupported && status <= cudaErrorStreamCaptureWrongThread;
}

// Events are recorded where the call is about them.
cudaError_t call_in(Subject& s, const Situation& in, const std::string& name) {
  cudaStreamCaptureMode mode = in.relaxed ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeGlobal;
  for (const cudaEvent_t event : {s.begin, s.end}) cudaEventRecord(event, s.stream);
  cudaThreadExchangeStreamCaptureMode(&mode);
  const cudaError_t status = kCalls.at(name)(s);
  cudaThreadExchangeStreamCaptureMode(&mode);
  if (status != cudaSuccess) cudaGetLastError();
  return status;
}

int failures = 0;
void report(bool fails, const std::string& text) {
  std::cout << (fails ? "FAILED  " : "note    ") << text << '\n';
  failures += fails ? 1 : 0;
}

void try_call(const CaptureRule& rule, const Situation& in) {
#ifndef SIDBEAM_EMULATED  // the capture could not be ended afterwards
  if (in.about && std::string(rule.call) == "cudaStreamDestroy") return;
#endif
  Subject s;
  s.stream = in.about ? s.captured : s.other;
  cudaError_t status = cudaSuccess;
  const bool valid = while_capturing(s, in, [&] { status = call_in(s, in, rule.call); });
  const bool allowed = is_allowed(rule.rule, in), did = !is_of_capture(status) && valid;
  if (did == allowed && is_of_capture(status) == !allowed) return;
#ifdef SIDBEAM_EMULATED
  const bool fails = true;
#else
  const bool fails = allowed;  // what is refused may turn out to be allowed
#endif
  report(fails, std::string(rule.call) + ' ' + in.name + ": " + cudaGetErrorName(status) + ", the capture " +
                    (valid ? "valid" : "invalid") + ", expected it " + (allowed ? "allowed" : "refused") + " (" +
                    rule.where + ')');
}

// Nothing may use the default stream while one that is not non-blocking is captured; asking about it harms nothing.
void try_default_stream() {
  cudaStream_t blocking = nullptr;
  cudaGraph_t graph = nullptr;
  cudaStreamCaptureStatus status{};
  expect_cuda(cudaStreamCreate(&blocking), "make a stream");
  expect_cuda(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeThreadLocal), "begin a capture");
  const cudaError_t asked = cudaStreamIsCapturing(nullptr, &status);
  cudaStreamIsCapturing(blocking, &status);
  if (asked != cudaErrorStreamCaptureImplicit || status != cudaStreamCaptureStatusActive)
    report(true, std::string("cudaStreamIsCapturing of the default stream: ") + cudaGetErrorName(asked));
  const cudaError_t waited = cudaStreamSynchronize(nullptr);
  if (waited != cudaErrorStreamCaptureImplicit)
    report(true, std::string("cudaStreamSynchronize of the default stream: ") + cudaGetErrorName(waited));
  cudaStreamEndCapture(blocking, &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
  cudaStreamDestroy(blocking);
}

// gpu::Graph gives its stream back in a usable state.
void try_graph_that_throws() {
  Subject s;
  bool thrown = false;
  try {
    const gpu::Graph graph(s.captured, [] { throw std::runtime_error("what is captured fails"); });
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  expect_cuda(cudaStreamIsCapturing(s.captured, &status), "look at the stream");
  if (!thrown || status != cudaStreamCaptureStatusNone)
    report(true, "gpu::Graph leaves its stream capturing where what it captures throws");
  if (status != cudaStreamCaptureStatusNone) cudaStreamEndCapture(s.captured, &s.graph);
}

void try_all() {
#ifdef SIDBEAM_EMULATED
  Subject s;
  expect_cuda(launch(s), "launch a kernel");  // its first launch, which is not for a capture
#endif
  for (const CaptureRule& rule : emulator::kCaptureRules) {
    if (std::find(kOfTheTestItself.begin(), kOfTheTestItself.end(), rule.call) != kOfTheTestItself.end()) continue;
    if (kCalls.count(rule.call) == 0) {
#ifdef SIDBEAM_EMULATED
      report(true, std::string(rule.call) + " is in the table and not in this test");
#endif
      continue;
    }
    for (const Situation& in : kSituations) try_call(rule, in);
  }
  try_default_stream();
  try_graph_that_throws();
}

}  // namespace

int main() {
  if (!gpu::has_device()) return 77;
  try {
    try_all();
  } catch (const std::exception& error) {
    report(true, error.what());
  }
  std::cout << (failures == 0 ? "ok\n" : "failed\n");
  return failures == 0 ? 0 : 1;
}
