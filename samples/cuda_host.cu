// Beam search beside a model on a GPU, with model and search in one CUDA graph: captured once, launched once per level,
// for requests at different levels that come and go. Logits never leave the device and nothing waits for the host until
// the items are wanted. The model here is a stand-in: a kernel that makes up logits from the codes that were chosen.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <sidbeam/sidbeam.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kLevels = 3, kCodes = 256, kSlots = 4, kBeams = 8, kItems = 20000;

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

sidbeam_error err = SIDBEAM_ERROR_INIT;
void check(sidbeam_status status) {
  if (status == SIDBEAM_OK) return;
  std::fprintf(stderr, "%s\n", err.message);
  std::exit(status == SIDBEAM_NO_DEVICE ? 77 : 1);
}

// Logits of beam blockIdx.x % kBeams of slot blockIdx.x / kBeams: a model would read the code and its KV cache, which
// it reorders by the parents.
__global__ void stand_in_model(const int32_t* codes, const int32_t* level, float* logits) {
  const unsigned beam = blockIdx.x;
  for (unsigned code = threadIdx.x; code < kCodes; code += blockDim.x) {
    unsigned hash = (static_cast<unsigned>(codes[beam]) * 31 + code) * 2654435761u;
    hash ^= static_cast<unsigned>(level[beam / kBeams]) * 40503u + (beam / kBeams) * 97u;
    hash = (hash ^ hash >> 15) * 2246822519u;
    logits[beam * kCodes + code] = static_cast<float>(hash >> 8) * (1.0F / (1 << 21));
  }
}

sidbeam_constraint* make_catalogue(sidbeam_runtime* runtime) {
  const int32_t codes[kLevels] = {kCodes, kCodes, kCodes};
  std::vector<int32_t> sids;
  for (unsigned i = 0; i < kItems * kLevels; ++i) sids.push_back(static_cast<int32_t>(i * 2654435761u >> 24));
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = kLevels;
  config.codes = codes;
  config.kinds = SIDBEAM_KIND_TRIE;
  sidbeam_builder* builder = nullptr;
  sidbeam_index* index = nullptr;
  sidbeam_constraint* constraint = nullptr;
  check(sidbeam_builder_create(runtime, &config, &builder, &err));
  check(sidbeam_builder_add(builder, sids.data(), nullptr, kItems, nullptr, nullptr, &err));
  check(sidbeam_builder_finish(builder, &index, &err));
  sidbeam_constraint_config items = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  items.index = index;
  check(sidbeam_constraint_create(&items, &constraint, &err));
  sidbeam_index_release(index);
  sidbeam_builder_destroy(builder);
  return constraint;
}

// The model on the current beams, then a step: the contents of one level's graph.
void enqueue_level(sidbeam_session* session, const sidbeam_beams& beams, float* logits, cudaStream_t stream) {
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(kSlots * kBeams);
  launch.blockDim = dim3(128);
  launch.stream = stream;
  check(cudaLaunchKernelEx(&launch, stand_in_model, beams.codes, beams.level, logits));
  sidbeam_rows rows = sidbeam_rows_dense(logits, SIDBEAM_DTYPE_F32, kSlots, kBeams, kCodes);
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.rows = &rows;
  step.stream = stream;
  check(sidbeam_session_step(session, &step, &err));
}

void start(sidbeam_session* session, int32_t slot, cudaStream_t stream) {
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.slots = &slot;
  args.count = 1;
  args.stream = stream;
  check(sidbeam_session_start(session, &args, &err));
}

void print_best(sidbeam_session* session, cudaStream_t stream) {
  int32_t* sids = nullptr;
  check(cudaMallocAsync(&sids, kSlots * kBeams * kLevels * sizeof(int32_t), stream));
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.sids = sids;
  items.stream = stream;
  check(sidbeam_session_get_items(session, nullptr, 0, &items, &err));
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;  // in the host's memory; valid once the stream has reached that point
  check(sidbeam_session_fetch(session, &beams, stream, &err));
  std::vector<int32_t> best(kSlots * kBeams * kLevels);
  check(cudaMemcpyAsync(best.data(), sids, best.size() * sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
  check(cudaFreeAsync(sids, stream));
  check(cudaStreamSynchronize(stream));
  for (int s = 0; s < kSlots; ++s) {
    const int32_t* sid = &best[static_cast<size_t>(s) * kBeams * kLevels];
    std::printf("slot %d: %d beams after %d levels, the best (%d, %d, %d) with %.3f\n", s, beams.live[s],
                beams.level[s], sid[0], sid[1], sid[2], static_cast<double>(beams.scores[s * kBeams]));
  }
}

}  // namespace

int main() {
  sidbeam_runtime* runtime = nullptr;
  check(sidbeam_runtime_create(nullptr, &runtime, &err));
  sidbeam_constraint* catalogue = make_catalogue(runtime);
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = kSlots;
  config.beams = kBeams;
  config.constraint = catalogue;
  config.device_type = SIDBEAM_DEVICE_CUDA;  // uploads the index, too
  sidbeam_session* session = nullptr;
  check(sidbeam_session_create(runtime, &config, &session, &err));

  cudaStream_t stream = nullptr;
  float* logits = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaMallocAsync(&logits, kSlots * kBeams * kCodes * sizeof(float), stream));
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;  // addresses of the device, the same for the session's life
  check(sidbeam_session_get_beams(session, &beams, &err));

  // CUDA loads a kernel and reserves memory for it at its first launch, which must not be in a capture. The session's
  // own kernels were launched at its creation; a step while every slot is idle changes nothing.
  enqueue_level(session, beams, logits, stream);

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t level = nullptr;
  // Where a program goes on after an error in here, it must first end the capture; this one ends itself (check()).
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  enqueue_level(session, beams, logits, stream);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&level, graph, 0));

  // A request joins at every launch: the one graph serves slots at levels 0, 1 and 2, and passes over those that are
  // idle or done.
  for (int32_t i = 0; i < kSlots + kLevels - 1; ++i) {
    if (i < kSlots) start(session, i, stream);
    check(cudaGraphLaunch(level, stream));
  }
  print_best(session, stream);

  check(cudaGraphExecDestroy(level));
  check(cudaGraphDestroy(graph));
  check(cudaFreeAsync(logits, stream));
  check(cudaStreamSynchronize(stream));  // the session cannot wait for launches of a graph that it had no call after
  check(cudaStreamDestroy(stream));
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(catalogue);
  sidbeam_runtime_release(runtime);
  return 0;
}
