// Attention on a CUDA device against float64: shapes, types and alignments at random and at their edges; the same bits
// run to run, in a graph, and for a request by itself. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iostream>

#include "attention_case.h"
#include "library.h"
#include "program.h"
#include "runner/attention/device.h"

namespace gpu {
namespace {

using differential::expect;

constexpr int32_t kTypes[] = {SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_F16, SIDBEAM_DTYPE_BF16};

// Eagerly twice and by a graph, and one request by itself.
void run(AttentionCall& given, cudaStream_t stream) {
  given.upload();
  given.enqueue(stream);
  const AttentionCall::Results first = given.fetch(stream);
  given.check(first);
  given.spoil(stream);
  given.enqueue(stream);
  expect(given.fetch(stream) == first, given.of().text(), ": another run gave other bits");
  given.spoil(stream);
  const Graph graph(stream, [&] { given.enqueue(stream); });
  graph.launch();
  expect(given.fetch(stream) == first, given.of().text(), ": a graph gave other bits");
}

void run_alone(const AttentionCall& given, cudaStream_t stream) {
  given.enqueue(stream);
  const AttentionCall::Results all = given.fetch(stream);
  const AttentionCase& c = given.of();
  for (size_t request = 0; request < c.rows.size(); ++request) {
    if (c.rows[request] == 0) continue;
    const AttentionCall one = given.alone(request);
    one.enqueue(stream);
    const AttentionCall::Results results = one.fetch(stream);
    const int64_t width = int64_t{c.heads} * c.head_dim;
    expect(
        std::equal(results.output.begin(), results.output.end(), all.output.begin() + given.first_row(request) * width),
        c.text(), ": request ", request, " by itself has other bits");
  }
}

void random_cases(cudaStream_t stream) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    AttentionCase c;
    c.seed = seed;
    c.dtype = kTypes[seed % 3];
    c.kv_heads = 1 + static_cast<int32_t>(seed % 2);
    c.heads = c.kv_heads * (1 + static_cast<int32_t>(seed / 2 % 3));
    constexpr int32_t kDims[] = {64, 16, 8, 40, 7, 80, 128, 136};
    c.head_dim = kDims[seed % 8];
    c.depth = static_cast<int32_t>(seed % 5);
    c.rows = {static_cast<int64_t>(seed * 7 % 23), 1, static_cast<int64_t>(seed * 5 % 40)};
    c.lengths = {static_cast<int64_t>(seed * 37 % 150), static_cast<int64_t>(seed * 29 % 90), 64};
    c.shared_bias = seed % 4 == 1;
    c.ancestor_bias = seed % 3 == 1;
    c.odd_addresses = seed % 6 == 5;
    AttentionCall given(c);
    run(given, stream);
    if (seed % 8 == 0) run_alone(given, stream);
  }
}

// Lengths and rows around the sizes of tiles, blocks and splits.
void edges(cudaStream_t stream) {
  for (const int32_t dtype : kTypes) {
    AttentionCase c;
    c.dtype = dtype;
    c.heads = c.kv_heads = 1;
    c.head_dim = 16;
    c.rows = {64, 65, 1, 0, 3, 2, 5};
    c.lengths = {64, 63, 65, 5, 0, 1, 600};
    AttentionCall shared(c);
    run(shared, stream);
    run_alone(shared, stream);
    c.depth = 3;
    AttentionCall both(c);
    for (size_t i = 0; i < both.ancestors().size(); i += 5) both.ancestors()[i] = i % 2 == 0 ? -1 : 1 << 30;
    run(both, stream);
    c.rows = {4};
    c.lengths = {0};
    c.depth = 9;
    AttentionCall unshared(c);
    std::fill_n(unshared.ancestors().begin(), 9, -1);  // the first row attends to nothing
    run(unshared, stream);
    c.head_dim = 256;
    c.lengths = {70};
    AttentionCall wide(c);
    run(wide, stream);
  }
}

// NaN in the keys and values that biases hide, of the prompt and of ancestors.
void hidden(AttentionCase c, cudaStream_t stream) {
  c.ancestor_bias = true;
  AttentionCall sick(c);
  const auto width = static_cast<size_t>(c.kv_heads * c.head_dim);
  const auto spoil = [&](std::vector<double>& rows, size_t row) { std::fill_n(rows.data() + row * width, width, NAN); };
  for (const size_t key : {0U, 5U, 64U, 130U, 131U, 299U}) {
    for (int32_t head = 0; head < c.heads; ++head) sick.bias(0)[static_cast<size_t>(head) * 300 + key] = -INFINITY;
    spoil(sick.keys(0), key), spoil(sick.values(0), key);
  }
  for (int32_t head = 0; head < c.heads; ++head) sick.ancestor_bias()[static_cast<size_t>(head * c.depth)] = -INFINITY;
  // Of each list the first entry is hidden, and names a slot that no second one does.
  for (size_t i = 0; i < sick.ancestors().size(); ++i) sick.ancestors()[i] = i % 2 == 0 ? 3 : 4;
  spoil(sick.unshared_keys(), 3), spoil(sick.unshared_values(), 3);
  run(sick, stream);
}

// Products far apart, keys that are masked, rows with NaN.
void hard(cudaStream_t stream) {
  for (const int32_t dtype : kTypes) {
    AttentionCase c;
    c.dtype = dtype;
    c.heads = 2;
    c.depth = 2;
    c.rows = {9, 3};
    c.lengths = {300, 40};
    c.spread = 200;
    AttentionCall far(c);
    run(far, stream);
    c.spread = 1;
    c.shared_bias = true;
    AttentionCall masked(c);
    for (size_t i = 0; i < masked.bias(0).size(); ++i)
      if (i % 300 < 130 || i % 7 == 0) masked.bias(0)[i] = -INFINITY;  // the first splits whole
    for (double& bias : masked.bias(1)) bias = -INFINITY;
    run(masked, stream);
    hidden(c, stream);
    c.shared_bias = false;
    AttentionCall bad(c);
    bad.queries()[4 * 32 + 5] = NAN;  // row 4, head 0
    run(bad, stream);
  }
}

// Beams exchanged in any order, in place.
void permutations(cudaStream_t stream) {
  for (const int32_t head_dim : {7, 16}) {
    constexpr int32_t kBeams = 37, kDepth = 3, kRequests = 2, kStride = kBeams * kDepth + 5;
    const auto width = static_cast<size_t>(head_dim);
    std::vector<uint16_t> before(kRequests * kStride * width);
    for (size_t i = 0; i < before.size(); ++i) before[i] = static_cast<uint16_t>(i * 2654435761U >> 7);
    std::vector<int32_t> parents(kRequests * kBeams);
    for (int32_t i = 0; i < kRequests * kBeams; ++i)
      parents[static_cast<size_t>(i)] = i % 11 == 3 ? -1 : (i * 29 + i / 5) % kBeams;
    const auto keys = device_memory(before.size() * 2, stream), values = device_memory(before.size() * 2, stream);
    const auto map = device_memory(parents.size() * 4, stream);
    expect_cuda(cudaMemcpyAsync(keys.get(), before.data(), before.size() * 2, cudaMemcpyHostToDevice, stream), "copy");
    expect_cuda(cudaMemcpyAsync(values.get(), before.data(), before.size() * 2, cudaMemcpyHostToDevice, stream),
                "copy");
    expect_cuda(cudaMemcpyAsync(map.get(), parents.data(), parents.size() * 4, cudaMemcpyHostToDevice, stream), "copy");
    sidbeam_attention_permute_args args = SIDBEAM_ATTENTION_PERMUTE_ARGS_INIT;
    args.device_type = SIDBEAM_DEVICE_CUDA;
    args.kv_dtype = SIDBEAM_DTYPE_F16;
    args.kv_heads = 1, args.head_dim = head_dim, args.beams = kBeams, args.depth = kDepth, args.requests = kRequests;
    args.request_stride = kStride;
    args.unshared_keys = keys.get(), args.unshared_values = values.get();
    args.parents = static_cast<const int32_t*>(map.get());
    args.stream = stream;
    differential::call("permute", sidbeam::runner::attention_device(0).permute,
                       static_cast<const sidbeam_attention_permute_args*>(&args));
    for (const auto& array : {keys, values}) {
      std::vector<uint16_t> after(before.size());
      expect_cuda(cudaMemcpyAsync(after.data(), array.get(), after.size() * 2, cudaMemcpyDeviceToHost, stream), "copy");
      expect_cuda(cudaStreamSynchronize(stream), "wait");
      for (size_t row = 0; row < kRequests * kStride; ++row) {
        const size_t request = row / kStride, level = row % kStride / kBeams, beam = row % kStride % kBeams;
        const int32_t parent = level < kDepth ? parents[request * kBeams + beam] : -1;
        const size_t from = parent < 0 ? row : request * kStride + level * kBeams + static_cast<size_t>(parent);
        for (size_t d = 0; d < width; ++d)
          expect(after[row * width + d] == before[from * width + d], "row ", row, " of width ", width,
                 " was not permuted");
      }
    }
  }
}

int run_all() {
  cudaStream_t stream = nullptr;
  expect_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
  random_cases(stream);
  edges(stream);
  hard(stream);
  permutations(stream);
  expect_cuda(cudaStreamDestroy(stream), "destroy a stream");
  std::cout << "attention: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() { return gpu::run_program(gpu::run_all); }
