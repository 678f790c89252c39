// The memory of the emulator of tests/gpu, for EmulatedDevice.java: what a program has from its CUDA library.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <jni.h>

extern "C" {
JNIEXPORT jlong JNICALL Java_io_sidbeam_EmulatedDevice_allocate(JNIEnv*, jclass, jlong bytes) {
  void* memory = nullptr;
  return cudaMalloc(&memory, static_cast<size_t>(bytes)) == cudaSuccess ? reinterpret_cast<jlong>(memory) : 0;
}

JNIEXPORT jlong JNICALL Java_io_sidbeam_EmulatedDevice_stream(JNIEnv*, jclass) {
  cudaStream_t stream = nullptr;
  return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? reinterpret_cast<jlong>(stream) : 0;
}

JNIEXPORT jboolean JNICALL Java_io_sidbeam_EmulatedDevice_capture(JNIEnv*, jclass, jlong number, jboolean end) {
  auto* stream = reinterpret_cast<cudaStream_t>(number);
  if (!end) return cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
  cudaGraph_t graph = nullptr;
  return cudaStreamEndCapture(stream, &graph) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess;
}

// to_host: 1 from the device to the buffer, 0 the other way; first waits for all work.
JNIEXPORT jboolean JNICALL Java_io_sidbeam_EmulatedDevice_copy(JNIEnv* env, jclass, jlong address, jobject buffer,
                                                               jlong bytes, jboolean to_host) {
  void* host = env->GetDirectBufferAddress(buffer);
  void* device = reinterpret_cast<void*>(address);
  if (cudaDeviceSynchronize() != cudaSuccess) return false;
  return (to_host ? cudaMemcpy(host, device, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost)
                  : cudaMemcpy(device, host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice)) == cudaSuccess;
}
}
