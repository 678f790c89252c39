// Forward passes as functions of the plugin's table. SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "runner/cuda/forward.h"
#include "runner/cuda/plugin.h"
#include "runner/cuda/rows.h"
#include "sidbeam/rows.h"
#include "support/cuda/check.h"
#include "support/error.h"
#include "support/guard.h"

namespace sidbeam::runner::cuda {
namespace {

using sidbeam::cuda::check;

int64_t size_of(int32_t dtype) { return dtype == SIDBEAM_DTYPE_F32 ? 4 : 2; }

// Device memory of one array; forgotten when it is given away.
struct Owned {
  void* data = nullptr;
  explicit Owned(int64_t bytes) {
    check(cudaMalloc(&data, static_cast<size_t>(bytes > 0 ? bytes : 1)), "allocate device memory");
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (data != nullptr) cudaFree(data);
  }
  void* give() { return std::exchange(data, nullptr); }
};

struct Stream {
  cudaStream_t stream = nullptr;
  Stream() { check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream); }
};

// `to` becomes the parts one after the other, as `dtype`.
void write_parts(const HostArray* parts, int32_t count, int32_t dtype, uint8_t* to) {
  int64_t widest = 0;
  for (int32_t i = 0; i < count; ++i)
    if (parts[i].dtype != dtype) widest = std::max(widest, parts[i].elements * size_of(parts[i].dtype));
  const Owned staging(widest);
  const Stream work;
  for (int32_t i = 0; i < count; ++i) {
    const HostArray& part = parts[i];
    const auto bytes = static_cast<size_t>(part.elements * size_of(part.dtype));
    check(
        cudaMemcpyAsync(part.dtype == dtype ? to : staging.data, part.data, bytes, cudaMemcpyHostToDevice, work.stream),
        "upload weights");
    if (part.dtype != dtype)
      check(launch_convert(staging.data, part.dtype, to, dtype, part.elements, work.stream), "convert weights");
    to += part.elements * size_of(dtype);
  }
  check(cudaStreamSynchronize(work.stream), "upload weights");
}

void* upload(const Device& device, const HostArray* parts, int32_t count, int32_t dtype) {
  const Current current(device);
  int64_t elements = 0;
  for (int32_t i = 0; i < count; ++i) elements += parts[i].elements;
  Owned out(elements * size_of(dtype));
  write_parts(parts, count, dtype, static_cast<uint8_t*>(out.data));
  return out.give();
}

// By way of f32, which holds every type exactly.
void* gather(const Device& device, const void* table, int64_t rows, int64_t columns, int32_t dtype,
             const int32_t* which, int64_t count) {
  const Current current(device);
  const Owned numbers(count * int64_t{sizeof(int32_t)}), wide(count * columns * int64_t{sizeof(float)});
  Owned out(count * columns * size_of(dtype));
  const Stream work;
  check(cudaMemcpyAsync(numbers.data, which, static_cast<size_t>(count) * sizeof(int32_t), cudaMemcpyHostToDevice,
                        work.stream),
        "upload weights");
  check(launch_embed(dtype, table, rows, static_cast<const int32_t*>(numbers.data), 1, count,
                     static_cast<int32_t>(columns), static_cast<float*>(wide.data), work.stream),
        "choose weights");
  check(launch_convert(wide.data, SIDBEAM_DTYPE_F32, out.data, dtype, count * columns, work.stream), "choose weights");
  check(cudaStreamSynchronize(work.stream), "choose weights");
  return out.give();
}

}  // namespace

sidbeam_status forward_gather(int32_t device_id, const void* table, int64_t rows, int64_t columns, int32_t dtype,
                              const int32_t* which, int64_t count, void** out, sidbeam_error* err) {
  return guarded(err, [&] { *out = gather(device_of(device_id), table, rows, columns, dtype, which, count); });
}

sidbeam_status forward_upload(int32_t device_id, const HostArray* parts, int32_t count, int32_t dtype, void** out,
                              sidbeam_error* err) {
  return guarded(err, [&] { *out = upload(device_of(device_id), parts, count, dtype); });
}

sidbeam_status forward_write(int32_t device_id, const HostArray* part, void* array, int64_t first, int32_t dtype,
                             sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(device_of(device_id));
    write_parts(part, 1, dtype, static_cast<uint8_t*>(array) + first * size_of(dtype));
  });
}

void forward_release(int32_t device_id, void* array) {
  guarded(nullptr, [&] {
    const Current current(device_of(device_id));
    cudaFree(array);
  });
}

sidbeam_status forward_zeros(int32_t device_id, int64_t bytes, void** out, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(device_of(device_id));
    Owned array(bytes);
    const Stream work;
    check(cudaMemsetAsync(array.data, 0, static_cast<size_t>(bytes), work.stream), "clear device memory");
    check(cudaStreamSynchronize(work.stream), "clear device memory");
    *out = array.give();
  });
}

sidbeam_status forward_pinned(int32_t device_id, int64_t bytes, void** out, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(device_of(device_id));
    check(cudaHostAlloc(out, static_cast<size_t>(bytes), cudaHostAllocPortable), "allocate pinned memory");
  });
}

void forward_release_pinned(int32_t device_id, void* array) {
  guarded(nullptr, [&] {
    const Current current(device_of(device_id));
    cudaFreeHost(array);
  });
}

sidbeam_status forward_check_memory(int32_t device_id, const void* address, bool there, const char* name,
                                    sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(device_of(device_id));
    if (there) {
      sidbeam::cuda::check_address(device_id, address, name);
    } else {
      sidbeam::cuda::check_host(address, name);
    }
  });
}

sidbeam_status forward_create(const DeviceForwardConfig* config, DeviceForward** out, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(device_of(config->model->device_id));
    *out = std::make_unique<DeviceForward>(*config).release();
  });
}

void forward_destroy(DeviceForward* forward) {
  guarded(nullptr, [&] {
    if (forward == nullptr) return;
    const Current current(forward->pass.device());
    delete forward;
  });
}

sidbeam_status forward_prefill(DeviceForward* forward, const Prompt* prompts, int32_t count, sidbeam_error* err) {
  return guarded(err, [&] { forward->pass.prefill(prompts, count); });
}

sidbeam_status forward_decode(DeviceForward* forward, const DecodeRows* beams, sidbeam_error* err) {
  return guarded(err, [&] { forward->pass.decode(*beams); });
}

sidbeam_status forward_run_tree(DeviceForward* forward, const Prompt* prompts, const DecodeRows* nodes,
                                sidbeam_error* err) {
  return guarded(err, [&] { forward->pass.run_tree(prompts, *nodes); });
}

sidbeam_status forward_tree_logits(DeviceForward* forward, const int32_t* depths, float** out, sidbeam_error* err) {
  return guarded(err, [&] { *out = forward->pass.tree_logits(depths); });
}

sidbeam_status forward_replay(DeviceForward* forward, const DeviceWork* work, sidbeam_error* err) {
  return guarded(err, [&] { forward->pass.replay(*work); });
}

sidbeam_status forward_logits(DeviceForward* forward, int32_t level, float** out, sidbeam_error* err) {
  return guarded(err, [&] { *out = forward->pass.logits(level); });
}

const float* forward_states(const DeviceForward* forward) { return forward->pass.states(); }

sidbeam_status forward_list_beams(DeviceForward* forward, const DeviceBeamList* list, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(forward->pass.device());
    check(launch_beam_list(*list, forward->pass.stream()), "launch the beams' rows");
  });
}

sidbeam_status forward_to_device(DeviceForward* forward, void* to, const void* from, int64_t bytes,
                                 sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(forward->pass.device());
    check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, forward->pass.stream()),
          "copy a list");
  });
}

sidbeam_status forward_to_host(DeviceForward* forward, void* to, const void* from, int64_t bytes, sidbeam_error* err) {
  return guarded(err, [&] {
    const Current current(forward->pass.device());
    check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, forward->pass.stream()),
          "copy results");
  });
}

sidbeam_status forward_wait(DeviceForward* forward, sidbeam_error* err) {
  return guarded(err, [&] { forward->pass.wait(); });
}

void* forward_stream(DeviceForward* forward) { return forward->pass.stream(); }
int64_t forward_memory_bytes(const DeviceForward* forward) { return forward->pass.memory_bytes(); }

}  // namespace sidbeam::runner::cuda
