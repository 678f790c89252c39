// Times how attention may be spread over a device, for bench/fit_attention.py to choose from: every plan at every place
// (prompt, unshared length) of its grid.
//
//   gpu_runner_times [--json FILE] [--seconds S] [--quick]
//
// A time is that of a graph of one call per layer, over the layers, median of REPLAYS launches. Layers have keys and
// values of their own, four times the L2 cache together, as those of a model come from memory. Plans that cut alike
// must give the same bits, however many blocks they have. --quick: a few plans of small requests, as a test of itself.
// Exit status 77: no device; 1: other bits, or no time for the whole grid, of which then whole places are written.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <random>

#include "event.h"
#include "library.h"
#include "runner/cuda/attention_plan.h"
#include "sidbeam/rows.h"

namespace gpu {
namespace {

using differential::expect;
using namespace sidbeam::runner::cuda;

// As fit_attention.py has them.
struct Grid {
  int32_t requests = 4, beams = 256, heads = 16, kv_heads = 8, head_dim = 128;
  std::vector<int32_t> prompts = {0, 128, 256, 512, 1024, 2048, 4096}, unshared = {0, 1, 2, 3, 4, 8, 32};
  std::vector<int32_t> items = {1, 2, 3, 4, 6, 8, 12}, shared = {2, 4, 6, 7, 8}, unshared_blocks = {0, 1, 2, 4},
                       merge = {4, 8, 16, 32};
  int replays = 5;
  int64_t most_layers = 256;
};
constexpr int32_t kResident = 2;    // blocks of the shared stage on a multiprocessor
constexpr int32_t kLeastKeys = 64;  // of the place whose prompts begin at 0

Grid quick_grid() {
  Grid grid;
  grid.requests = 2, grid.beams = 9, grid.heads = 2, grid.kv_heads = 1, grid.head_dim = 16;
  grid.prompts = {0, 256}, grid.unshared = {0, 2};
  grid.items = {1, 4}, grid.shared = {2, 8}, grid.unshared_blocks = {0, 1}, grid.merge = {4};
  grid.replays = 1, grid.most_layers = 2;
  return grid;
}

struct Machine {
  std::string name;
  int32_t processors = 1;
  int64_t l2_bytes = 0;
  cudaStream_t stream = nullptr;
};

// Arrays of all layers for one place. bf16.
class Place {
 public:
  Place(const Grid& grid, const Machine& machine, int32_t prompt, int32_t unshared);

  // A line for each plan.
  void time(const std::vector<StagePlan>& plans, std::FILE* json);

 private:
  struct Cut {
    std::vector<SharedPart> parts;
    int64_t items = 0;
    bool merged = false;
  };
  Cut cut(const StagePlan& plan) const;
  AttentionView view_of(const Cut& cut, const StageBlocks& blocks);
  double run(const AttentionView& view, const StageBlocks& blocks, bool merged);
  std::vector<uint16_t> output();
  void* fill(int64_t elements, int64_t copies);
  void* take(int64_t bytes) {
    memory_.push_back(device_memory(static_cast<size_t>(std::max<int64_t>(bytes, 1)), machine_.stream));
    return memory_.back().get();
  }

  const Grid& grid_;
  const Machine& machine_;
  int32_t prompt_, unshared_;
  AttentionShape shape_;
  int64_t rows_, length_, width_, layers_;
  std::vector<std::shared_ptr<void>> memory_;
  void *queries_, *keys_, *values_, *unshared_keys_, *unshared_values_, *ancestors_, *output_;
  std::map<size_t, std::shared_ptr<void>> scratch_;                 // by bytes
  std::map<std::vector<int32_t>, std::vector<uint16_t>> expected_;  // outputs by cut
};

Place::Place(const Grid& grid, const Machine& machine, int32_t prompt, int32_t unshared)
    : grid_(grid),
      machine_(machine),
      prompt_(prompt),
      unshared_(unshared),
      shape_{SIDBEAM_DTYPE_BF16, grid.heads, grid.kv_heads, grid.head_dim, unshared, machine.processors},
      rows_(int64_t{grid.requests} * grid.beams),
      length_(std::max(prompt, kLeastKeys)),
      width_(int64_t{grid.kv_heads} * grid.head_dim) {
  const int64_t shared = grid.requests * length_ * width_, own = rows_ * std::max(unshared, 1) * width_;
  layers_ = std::clamp<int64_t>(4 * machine.l2_bytes / (2 * 2 * (shared + own)) + 1, 2, grid.most_layers);
  queries_ = fill(rows_ * grid.heads * grid.head_dim, 1);
  keys_ = fill(shared, layers_), values_ = fill(shared, layers_);
  unshared_keys_ = fill(own, layers_), unshared_values_ = fill(own, layers_);
  output_ = take(rows_ * grid.heads * grid.head_dim * 2);
  std::mt19937 random(1);
  std::vector<int32_t> lists;  // a beam's own at each level, as reorderings leave them
  for (int64_t row = 0; row < rows_; ++row)
    for (int32_t level = 0; level < unshared; ++level)
      lists.push_back(static_cast<int32_t>(((row / grid.beams) * unshared + level) * grid.beams +
                                           static_cast<int64_t>(random() % static_cast<uint32_t>(grid.beams))));
  ancestors_ = take(static_cast<int64_t>(lists.size()) * 4);
  expect_cuda(cudaMemcpyAsync(ancestors_, lists.data(), lists.size() * 4, cudaMemcpyHostToDevice, machine.stream),
              "copy");
  expect_cuda(cudaStreamSynchronize(machine.stream), "wait");
}

// Random numbers of some 0.01, the same in each copy.
void* Place::fill(int64_t elements, int64_t copies) {
  std::mt19937 random(static_cast<uint32_t>(elements));
  std::vector<uint16_t> values(static_cast<size_t>(elements));
  for (uint16_t& value : values) value = static_cast<uint16_t>(0x3C00U + (random() & 0x80FFU));
  void* memory = take(elements * copies * 2);
  for (int64_t copy = 0; copy < copies; ++copy)
    expect_cuda(cudaMemcpyAsync(static_cast<uint16_t*>(memory) + copy * elements, values.data(), values.size() * 2,
                                cudaMemcpyHostToDevice, machine_.stream),
                "copy");
  expect_cuda(cudaStreamSynchronize(machine_.stream), "wait");
  return memory;
}

Place::Cut Place::cut(const StagePlan& plan) const {
  Cut cut;
  for (int32_t request = 0; request <= grid_.requests; ++request) {
    SharedPart part;
    part.first_row = int64_t{request} * grid_.beams;
    part.first_item = cut.items;
    if (request < grid_.requests) {
      part.keys = static_cast<uint16_t*>(keys_) + request * length_ * width_;
      part.values = static_cast<uint16_t*>(values_) + request * length_ * width_;
      cut_keys(shape_, attention_tile_rows(shape_.dtype), least_items(shape_, plan), grid_.beams, length_, part);
      cut.items += items_of(shape_, part);
      cut.merged = cut.merged || part.splits > 1 || unshared_ > 0;
    }
    cut.parts.push_back(part);
  }
  return cut;
}

AttentionView Place::view_of(const Cut& cut, const StageBlocks& blocks) {
  const int64_t partials = cut.items * attention_tile_rows(shape_.dtype);
  const int64_t all = partials + rows_ * grid_.heads;
  const size_t bytes = static_cast<size_t>(all * (kStatistics + grid_.head_dim)) * 4;
  std::shared_ptr<void>& scratch = scratch_[bytes];
  if (scratch == nullptr) scratch = device_memory(bytes + (cut.parts.size() + 1) * sizeof(SharedPart), machine_.stream);
  auto* parts = static_cast<SharedPart*>(scratch.get());
  expect_cuda(launch_describe(cut.parts.data(), static_cast<int64_t>(cut.parts.size()), parts, machine_.stream),
              "launch attention");
  AttentionView view;
  view.dtype = shape_.dtype;
  view.heads = grid_.heads, view.kv_heads = grid_.kv_heads, view.head_dim = grid_.head_dim, view.depth = unshared_;
  view.scale = 1;
  view.parts = parts;
  view.requests = grid_.requests;
  view.queries = queries_;
  view.query_stride = int64_t{grid_.heads} * grid_.head_dim;
  view.unshared_slots = rows_ * std::max(unshared_, 1);
  view.ancestors = static_cast<const int32_t*>(ancestors_);
  view.output = output_;
  view.statistics = reinterpret_cast<float*>(parts + cut.parts.size());
  view.sums = view.statistics + all * kStatistics;
  if (blocks.unshared > 0) view.unshared_partials = partials;
  return view;
}

double Place::run(const AttentionView& view, const StageBlocks& blocks, bool merged) {
  const auto layer = [&](int64_t i) {
    AttentionView of = view;
    of.shared_offset = i * grid_.requests * length_ * width_;
    of.unshared_keys = static_cast<uint16_t*>(unshared_keys_) + i * view.unshared_slots * width_;
    of.unshared_values = static_cast<uint16_t*>(unshared_values_) + i * view.unshared_slots * width_;
    expect_cuda(launch_attention(of, blocks, merged, machine_.stream), "launch attention");
  };
  const Graph graph(machine_.stream, [&] {
    for (int64_t i = 0; i < layers_; ++i) layer(i);
  });
  graph.launch();
  std::vector<double> times;
  for (int replay = 0; replay < grid_.replays; ++replay) {
    const Event begin, end;
    begin.record(machine_.stream);
    graph.launch();
    end.record(machine_.stream);
    times.push_back(end.us_since(begin) / static_cast<double>(layers_));
  }
  std::nth_element(times.begin(), times.begin() + grid_.replays / 2, times.end());
  return times[static_cast<size_t>(grid_.replays / 2)];
}

std::vector<uint16_t> Place::output() {
  std::vector<uint16_t> here(static_cast<size_t>(rows_ * grid_.heads * grid_.head_dim));
  expect_cuda(cudaMemcpyAsync(here.data(), output_, here.size() * 2, cudaMemcpyDeviceToHost, machine_.stream), "copy");
  expect_cuda(cudaStreamSynchronize(machine_.stream), "wait");
  return here;
}

void Place::time(const std::vector<StagePlan>& plans, std::FILE* json) {
  std::map<std::vector<int64_t>, double> times;  // of plans that come to the same
  for (const StagePlan& plan : plans) {
    const Cut cut = this->cut(plan);
    const StageBlocks blocks = blocks_of(shape_, plan, cut.items, rows_ * grid_.heads);
    const auto [found, fresh] =
        times.try_emplace({cut.items, blocks.shared, blocks.unshared, cut.merged ? blocks.merge : 0});
    if (fresh) {
      found->second = run(view_of(cut, blocks), blocks, cut.merged);
      // Merging folds what the unshared stage left as if it were one split more, so that its place matters to the bits.
      std::vector<uint16_t>& expected = expected_[{cut.parts[0].splits, blocks.unshared > 0 ? 1 : 0}];
      const std::vector<uint16_t> got = output();
      if (expected.empty()) expected = got;
      expect(got == expected, "prompt ", prompt_, ", unshared ", unshared_, ": other bits with ", blocks.shared, ", ",
             blocks.unshared, " and ", blocks.merge, " blocks");
    }
    std::fprintf(json,
                 "{\"device\": \"%s\", \"prompt\": %d, \"unshared\": %d, \"items\": %d, \"shared\": %d, "
                 "\"unshared_blocks\": %d, \"merge\": %d, \"us\": %.3f}\n",
                 machine_.name.c_str(), prompt_, unshared_, plan.items, plan.shared, plan.unshared_blocks, plan.merge,
                 found->second);
  }
}

std::vector<StagePlan> plans_of(const Grid& grid, int32_t prompt, int32_t unshared) {
  std::vector<StagePlan> plans;
  for (const int32_t items : grid.items)
    for (const int32_t shared : grid.shared)
      for (const int32_t blocks : grid.unshared_blocks)
        for (const int32_t merge : grid.merge)
          if ((blocks == 0 || unshared > 0) && shared + blocks <= 4 * kResident)
            plans.push_back({prompt, unshared, items, shared, blocks, merge});
  return plans;
}

int run_all(const Grid& grid, const char* path, double seconds) {
  Machine machine;
  cudaDeviceProp properties{};
  expect_cuda(cudaGetDeviceProperties(&properties, 0), "ask for the device");
  machine.name = properties.name;
  machine.processors = properties.multiProcessorCount;
  machine.l2_bytes = properties.l2CacheSize;
  expect_cuda(cudaStreamCreateWithFlags(&machine.stream, cudaStreamNonBlocking), "make a stream");
  auto nothing = device_memory(sizeof(SharedPart), machine.stream);
  expect_cuda(cudaMemsetAsync(nothing.get(), 0, sizeof(SharedPart), machine.stream), "clear");
  expect_cuda(warm_attention(static_cast<const SharedPart*>(nothing.get()), machine.stream), "launch attention");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(path == nullptr ? nullptr : std::fopen(path, "w"),
                                                             [](std::FILE* f) { return std::fclose(f); });
  expect(path == nullptr || file != nullptr, "cannot write ", path == nullptr ? "" : path);
  const auto begin = std::chrono::steady_clock::now();
  size_t places = 0;
  for (const int32_t prompt : grid.prompts) {
    for (const int32_t unshared : grid.unshared) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      if (passed.count() > seconds) continue;
      Place(grid, machine, prompt, unshared).time(plans_of(grid, prompt, unshared), file ? file.get() : stdout);
      ++places;
    }
  }
  nothing.reset();  // into the stream
  expect_cuda(cudaStreamDestroy(machine.stream), "destroy a stream");
  const size_t wanted = grid.prompts.size() * grid.unshared.size();
  std::cerr << "times: " << places << " of " << wanted << " places on " << machine.name << '\n';
  return places == wanted ? 0 : 1;
}

}  // namespace
}  // namespace gpu

int main(int argc, char** argv) try {
  if (!gpu::has_device()) return 77;
  gpu::Grid grid;
  const char* path = nullptr;
  double seconds = 1e9;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--quick") {
      grid = gpu::quick_grid();
    } else if (option == "--json" && i + 1 < argc) {
      path = argv[++i];
    } else if (option == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else {
      std::cerr << "expected [--json FILE] [--seconds S] [--quick], got " << option << '\n';
      return 2;
    }
  }
  return gpu::run_all(grid, path, seconds);
} catch (const std::exception& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
