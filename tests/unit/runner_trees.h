// What tests of speculation run without models: passes over trees whose logits are a hash of a node's path.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "runner/schedule/speculative_lane.h"
#include "runner_fakes.h"

namespace sidbeam::runner::trees {

using fakes::Codes, fakes::World;

// How the logits come from the target's. kEndless is near them, except that ends are unlikely where rows are a level's
// alone. (If it were the same elsewhere, whether p - q is 0 there would be a matter of rounding, on which the law of
// draws without replacement depends.)
enum class Kind { kSame, kNear, kOther, kInverted, kConstant, kNothing, kBroken, kEndless };
inline constexpr int32_t kKinds = 8;

inline float changed(Kind kind, float logit, int64_t column) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (kind == Kind::kEndless && column == 0) return logit - 40;
  if (kind == Kind::kNear || kind == Kind::kEndless) return logit + static_cast<float>(column % 3) * 0.5F;
  if (kind == Kind::kOther) return static_cast<float>((column * 7919 + static_cast<int64_t>(logit * 4)) % 17) * 0.25F;
  if (kind == Kind::kInverted) return logit == -kInfinity ? logit : -logit;
  if (kind == Kind::kConstant) return 1;
  if (kind == Kind::kNothing) return -kInfinity;
  if (kind == Kind::kBroken) return column % 5 == 0 ? std::numeric_limits<float>::quiet_NaN() : logit;
  return logit;
}

// Checks what it is given: that a node reads only what this model has written, and writes no place twice.
class FakeTrees final : public TreeForward {
 public:
  using OnPass = std::function<void(float* logits)>;  // called at the end of each pass

  FakeTrees(const World& world, const ForwardLimits& limits, Kind kind, OnPass on_pass)
      : world_(world), limits_(limits), kind_(kind), on_pass_(std::move(on_pass)) {}

  void run_tree(const Prompt* prompts, const DecodeRows& nodes) override {
    ASSERT_TRUE(nodes.rows >= 1 && nodes.rows <= limits_.requests * limits_.tree_rows);
    if (nodes.depths[0] == 0) kv_.clear(), prompts_.clear();
    for (int32_t row = 0; row < nodes.rows; ++row) take(prompts, nodes, row);
    paths_.clear();
    for (int32_t row = 0; row < nodes.rows; ++row) paths_.push_back({nodes.requests[row], path_of(nodes, row)});
  }
  float* tree_logits(const int32_t* depths) override {
    const int64_t stride = world_.output->most_columns();
    logits_.assign(paths_.size() * static_cast<size_t>(stride), 0.0F);
    for (size_t row = 0; row < paths_.size(); ++row) {
      const auto& [request, path] = paths_[row];
      EXPECT_EQ(depths[row], static_cast<int32_t>(path.size()));
      for (int64_t column = 0; column < world_.output->columns(depths[row]); ++column)
        logits_[row * static_cast<size_t>(stride) + static_cast<size_t>(column)] =
            changed(kind_, world_.element(prompts_.at(request), path, depths[row], column), column);
    }
    if (on_pass_) on_pass_(logits_.data());
    return logits_.data();
  }

  int64_t memory_bytes() const override { return 1000; }

 private:
  void take(const Prompt* prompts, const DecodeRows& nodes, int32_t row) {
    const int32_t request = nodes.requests[row], depth = nodes.depths[row];
    ASSERT_TRUE(row == 0 || request > nodes.requests[row - 1] ||
                (request == nodes.requests[row - 1] && depth >= nodes.depths[row - 1]))
        << "rows are not in order";
    ASSERT_TRUE(depth >= 0 && depth < world_.levels());
    if (depth == 0) {
      const Prompt& prompt = prompts[request];
      ASSERT_TRUE(prompts_.emplace(request, Codes(prompt.tokens, prompt.tokens + prompt.positions)).second)
          << "a tree has two roots";
      return;
    }
    ASSERT_TRUE(nodes.slots[row] >= 0 && nodes.slots[row] < limits_.tree_slots);
    ASSERT_TRUE(kv_.emplace(std::pair(request, nodes.slots[row]), nodes.tokens[row]).second) << "written twice";
  }

  Codes path_of(const DecodeRows& nodes, int32_t row) {
    const int32_t* ancestors = nodes.ancestors + int64_t{row} * nodes.depth;
    const int32_t depth = nodes.depths[row];
    Codes path;
    for (int32_t d = 0; d < nodes.depth; ++d) {
      if (d >= depth) {
        EXPECT_EQ(ancestors[d], -1);
        continue;
      }
      const auto found = kv_.find({nodes.requests[row], ancestors[d]});
      EXPECT_NE(found, kv_.end()) << "nothing was written there";
      path.push_back(found == kv_.end() ? -1 : found->second);
      const int64_t code = path.back() - world_.offsets[static_cast<size_t>(d)];
      EXPECT_TRUE((world_.damaged && path.back() == -1) || (code >= 0 && code < world_.codes[static_cast<size_t>(d)]))
          << "an ended beam is fed";
    }
    if (depth > 0) {
      EXPECT_EQ(ancestors[depth - 1], nodes.slots[row]);
    }
    return path;
  }

  const World& world_;
  ForwardLimits limits_;
  Kind kind_;
  OnPass on_pass_;
  std::map<int32_t, Codes> prompts_;
  std::map<std::pair<int32_t, int32_t>, int32_t> kv_;  // of a request's slot: the token
  std::vector<std::pair<int32_t, Codes>> paths_;       // of the rows of the last pass
  std::vector<float> logits_;
};

// A lane whose draft is of a kind.
inline std::unique_ptr<Lane> make_lane(const World& world, int32_t requests, const Drafting& drafting, Kind kind,
                                       FakeTrees::OnPass on_target = {}, FakeTrees::OnPass on_draft = {}) {
  LaneConfig config;
  config.runtime = world.runtime.get();
  config.constraint = world.constraint.get();
  config.output = world.output.get();
  config.requests = requests;
  config.beams = world.beams;
  config.strategy = world.strategy;
  config.normalization = world.normalization;
  config.mode = world.mode;
  config.inverse_temperature = world.inverse_temperature;
  config.soft_cap = world.soft_cap;
  config.target = best_cpu_target();
  const TreeSize size{world.levels(), world.beams, drafting.beams};
  ForwardLimits limits;
  limits.requests = requests, limits.tree_rows = size.rows(), limits.tree_slots = size.slots();
  LaneModels models;
  models.target = std::make_unique<FakeTrees>(world, limits, Kind::kSame, std::move(on_target));
  limits.tree_rows = drafting.beams;
  models.draft = std::make_unique<FakeTrees>(world, limits, kind, std::move(on_draft));
  return make_speculative_lane(default_allocator(), config, drafting, std::move(models));
}

// One whose draft searches with `width` beams.
inline std::unique_ptr<Lane> make_lane(const World& world, int32_t requests, int32_t width, Kind kind,
                                       FakeTrees::OnPass on_target = {}, FakeTrees::OnPass on_draft = {}) {
  return make_lane(world, requests, Drafting{width}, kind, std::move(on_target), std::move(on_draft));
}

// A request and what became of it.
struct Request {
  Codes prompt = {1};
  int32_t beams = 0;
  Codes widths = {};  // of each level, if it has them
  sidbeam_constraint* constraint = nullptr;
  const fakes::Catalogue* catalogue = nullptr;  // of a test with several
  int64_t seed = 0, sampling_request = 0;
  std::atomic<bool> cancelled{false};
  fakes::Found found;
  Rounds rounds;
  int32_t endings = 0;
};
using Requests = std::vector<std::unique_ptr<Request>>;

inline Requests make_requests(const World& world, int32_t count, int32_t beams) {
  Requests requests;
  for (int32_t i = 0; i < count; ++i) {
    requests.push_back(std::make_unique<Request>());
    requests.back()->beams = beams;
    requests.back()->constraint = world.constraint.get();
    requests.back()->sampling_request = i;
  }
  return requests;
}

class Collector final : public Ended {
 public:
  Collector(Requests& requests, int32_t levels) : requests_(requests), levels_(levels) {}
  void ended(int32_t job, const Outcome& outcome) override {
    Request& request = *requests_[static_cast<size_t>(job)];
    ++request.endings;
    request.found = fakes::copy(outcome, levels_);
    request.rounds = outcome.rounds;
  }

 private:
  Requests& requests_;
  int32_t levels_;
};

// One batch of them.
inline void run(Lane& lane, Requests& requests) {
  std::vector<Job> jobs;
  for (const auto& request : requests) {
    request->endings = 0;
    Job job;
    job.prompt = {request->prompt.data(), static_cast<int64_t>(request->prompt.size()), 1, nullptr};
    job.constraint = request->constraint;
    job.beams = request->beams;
    job.widths = request->widths.data();
    job.width_levels = static_cast<int32_t>(request->widths.size());
    job.number = static_cast<int64_t>(jobs.size()) + 1;
    job.cancelled = &request->cancelled;
    job.seed = request->seed;
    job.sampling_request = request->sampling_request;
    jobs.push_back(job);
  }
  Collector collector(requests, lane.levels());
  lane.run(jobs.data(), static_cast<int32_t>(jobs.size()), collector);
  for (const auto& request : requests) EXPECT_EQ(request->endings, 1);
}

}  // namespace sidbeam::runner::trees
