// Passes over random trees on a CUDA device against the CPU's: several levels deep, prompts and nodes in one pass,
// nodes that continue those of earlier passes, slots without a root, prompts long enough that attention is cut into
// splits.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <iostream>
#include <random>

#include "../../unit/models.h"
#include "device_place.h"
#include "library.h"
#include "program.h"
#include "runner/models/exchange.h"

namespace gpu {
namespace {

using differential::expect;
using namespace sidbeam::runner;

constexpr int32_t kDepths = 7, kRequests = 3, kMostRows = 24, kMostSlots = 48, kMostPrompt = 160;
constexpr float kNear = 5e-5F;

// Rows of a pass as a lane lists them.
struct PassRows {
  std::vector<int32_t> requests, depths, tokens, slots, ancestors;

  DecodeRows view() const {
    DecodeRows view;
    view.rows = static_cast<int32_t>(requests.size()), view.depth = kDepths - 1;
    view.requests = requests.data(), view.depths = depths.data(), view.tokens = tokens.data();
    view.slots = slots.data(), view.ancestors = ancestors.data();
    return view;
  }
};

class Trees {
 public:
  explicit Trees(uint64_t seed) : random_(seed) {}

  // Roots of the requests that are in the batch, or nodes below any that there are, by request and depth.
  PassRows pass(const std::vector<int32_t>& batch, bool roots) {
    PassRows rows;
    for (const int32_t request : batch) {
      std::vector<std::vector<int32_t>>& paths = paths_[request];
      if (roots) paths = {{}}, add(rows, request, {});
      const size_t before = paths.size();
      for (int32_t depth = 1; depth < kDepths; ++depth)
        for (size_t n = random_() % 3; n > 0 && paths.size() < before + 7; --n) continue_one(rows, request, depth);
    }
    return rows;
  }

 private:
  // A node of the depth below one that was fed before; none where there is no such node.
  void continue_one(PassRows& rows, int32_t request, int32_t depth) {
    std::vector<std::vector<int32_t>>& paths = paths_[request];
    std::vector<size_t> parents;
    for (size_t i = 0; i < paths.size(); ++i)
      if (static_cast<int32_t>(paths[i].size()) == depth - 1) parents.push_back(i);
    if (parents.empty()) return;
    std::vector<int32_t> path = paths[parents[random_() % parents.size()]];
    path.push_back(static_cast<int32_t>(paths.size()) - 1);
    add(rows, request, path);
    paths.push_back(std::move(path));
  }
  void add(PassRows& rows, int32_t request, const std::vector<int32_t>& path) {
    rows.requests.push_back(request);
    rows.depths.push_back(static_cast<int32_t>(path.size()));
    rows.tokens.push_back(path.empty() ? -1 : static_cast<int32_t>(random_() % kVocabulary));
    rows.slots.push_back(path.empty() ? -1 : path.back());
    for (size_t i = 0; i < kDepths - 1; ++i) rows.ancestors.push_back(i < path.size() ? path[i] : -1);
  }

  std::mt19937_64 random_;
  std::map<int32_t, std::vector<std::vector<int32_t>>> paths_;  // of a request's nodes: slots on the way
};

// A model's passes, on either device.
class TreeModel {
 public:
  TreeModel(const std::string& name, int32_t device_type, int32_t normalization) {
    sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
    config.weights = SIDBEAM_WEIGHTS_F32, config.device_type = device_type;
    model_ = sidbeam::Ref<Model>::adopt(open_model(model_folder(name).c_str(), config));
    static constexpr int32_t kCodes[kDepths] = {20, 16, 12, 20, 16, 12, 9};
    static constexpr int64_t kOffsets[kDepths] = {3, 20, 30, 3, 20, 30, 40};
    sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
    vocabulary.levels = kDepths, vocabulary.offsets = kOffsets;
    OutputConfig columns;
    columns.levels = kDepths, columns.codes = kCodes, columns.vocabulary = &vocabulary;
    columns.normalization = normalization;
    output_ = model_->make_output(sidbeam::default_allocator(), columns);
    static constexpr int32_t kBegin[] = {9, 30};
    ForwardLimits limits;
    limits.requests = kRequests, limits.levels = kDepths, limits.max_group = 3, limits.max_prompt = kMostPrompt;
    limits.tree_rows = kMostRows, limits.tree_slots = kMostSlots;
    limits.begin_tokens = kBegin, limits.begin_count = 2;
    forward_ = model_->make_tree_forward(sidbeam::default_allocator(), *output_, limits, workers_of(), {});
  }

  // [rows, most columns], with zeros where a row's level has no column.
  std::vector<float> run(const std::vector<Prompt>& prompts, const PassRows& rows) {
    const int64_t stride = output_->columns().most_columns();
    const auto count = static_cast<int64_t>(rows.requests.size());
    forward_->run_tree(prompts.data(), rows.view());
    const float* const from = forward_->tree_logits(rows.depths.data());
    std::vector<float> logits(static_cast<size_t>(count * stride));
    fetch(from, logits);
    for (int64_t row = 0; row < count; ++row)
      for (int64_t column = output_->columns().columns(rows.depths[static_cast<size_t>(row)]); column < stride;
           ++column)
        logits[static_cast<size_t>(row * stride + column)] = 0.0F;
    return logits;
  }

 private:
  void fetch(const float* from, std::vector<float>& to) const {
    auto* const stream = static_cast<cudaStream_t>(forward_->place().stream);
    if (stream == nullptr) {
      std::copy_n(from, to.size(), to.data());
      return;
    }
    expect_cuda(cudaMemcpyAsync(to.data(), from, to.size() * sizeof(float), cudaMemcpyDeviceToHost, stream), "copy");
    expect_cuda(cudaStreamSynchronize(stream), "wait");
  }

  sidbeam::Ref<Model> model_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<TreeForward> forward_;
};

// The largest difference; anything but a number is far off.
float distance(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0.0F;
  for (size_t i = 0; i < a.size(); ++i) {
    const float far = a[i] == b[i] ? 0.0F : std::fabs(a[i] - b[i]);  // -inf where no token is
    if (std::isnan(far)) return HUGE_VALF;
    most = std::max(most, far);
  }
  return most;
}

History history_of(uint64_t seed, size_t positions, int32_t group) {
  std::mt19937_64 random(seed);
  History history;
  history.group = group;
  for (size_t i = 0; i < positions * static_cast<size_t>(group); ++i)
    history.tokens.push_back(static_cast<int32_t>(random() % kVocabulary));
  return history;
}

void compare(const std::string& name, int32_t normalization, size_t longest) {
  TreeModel there(name, SIDBEAM_DEVICE_CUDA, normalization), here(name, SIDBEAM_DEVICE_CPU, normalization);
  const History histories[] = {history_of(1, 11, 1), history_of(2, 5, 3), history_of(3, longest, 1)};
  const std::vector<Prompt> prompts = {histories[0].prompt(), histories[1].prompt(), histories[2].prompt()};
  Trees trees(static_cast<uint64_t>(normalization) + name.size());
  size_t nodes = 0;
  for (const std::vector<int32_t>& batch : {std::vector<int32_t>{0, 1, 2}, std::vector<int32_t>{0, 2}})
    for (int pass = 0; pass < 3; ++pass) {
      const PassRows rows = trees.pass(batch, pass == 0);
      if (rows.requests.empty()) continue;
      const float far = distance(there.run(prompts, rows), here.run(prompts, rows));
      expect(far < kNear, name, ", normalization ", normalization, ": pass ", pass, " of ", rows.requests.size(),
             " nodes is off by ", far);
      nodes += rows.requests.size();
    }
  std::cout << name << ", normalization " << normalization << ": " << nodes << " nodes\n";
  expect(nodes > 30, name, ": only ", nodes, " nodes");
}

int run_all() {
  for (const char* name : kDeviceModels) compare(name, SIDBEAM_NORMALIZE_LEVEL, 20);
  for (const char* name : {"t5_gated", "qwen3"}) compare(name, SIDBEAM_NORMALIZE_FULL, kMostPrompt);
  std::cout << "tree: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() { return gpu::run_program(gpu::run_all); }
