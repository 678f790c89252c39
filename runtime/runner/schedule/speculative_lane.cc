// Rounds of speculation. All requests of a batch go through them together; each ends with the round that completes it.
// Relaxed rounds are strict ones of sessions that are stepped on what relaxed_rounds.h has drawn.
// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/speculative_lane.h"

#include <algorithm>

#include "runner/models/exchange.h"
#include "runner/schedule/clock.h"
#include "runner/schedule/relaxed_rounds.h"
#include "runner/schedule/running_slots.h"
#include "support/error.h"
#include "support/float_mode.h"

namespace sidbeam::runner {
namespace {

struct SpeculationDeleter {
  void operator()(sidbeam_speculation* speculation) const { sidbeam_speculation_destroy(speculation); }
};

LaneConfig draft_config(LaneConfig config, int32_t beams) {
  config.beams = beams;
  return config;
}

LaneSession make_session(const Allocator& allocator, const LaneConfig& config, const Drafting& drafting,
                         const LanePlace& place) {
  LaneSession session(allocator, config, place);  // also refuses a constraint whose codes have no tokens
  if (!drafting.relaxed) return session;
  return LaneSession::of_choices(allocator, config);
}

class SpeculativeLane final : public Lane {
 public:
  SpeculativeLane(const Allocator& allocator, const LaneConfig& config, const Drafting& drafting, LaneModels models);
  void run(const Job* jobs, int32_t count, Ended& ended) noexcept override;
  int32_t levels() const override { return session_.levels(); }
  int64_t memory_bytes() const override { return memory_bytes_; }

 private:
  void create_speculation(const TreeSize& size);
  int64_t count_bytes() const;
  sidbeam_speculation_tree tree() const;
  void run_rounds();
  void begin_round();
  // Until the tree is complete.
  void draft();
  void draft_level(const sidbeam_speculation_tree& tree);
  void verify(const sidbeam_speculation_tree& tree);
  void count_round(const sidbeam_speculation_tree& tree, int64_t draft_time);
  LevelRows logits_of(TreeForward& forward, const TreeRows& rows) const;

  const OutputColumns& output_;
  LaneModels models_;
  std::unique_ptr<Exchange> exchange_;
  LaneSession session_, draft_session_;
  RunningSlots running_;
  const sidbeam_beams& beams_;  // the host's
  std::unique_ptr<sidbeam_speculation, SpeculationDeleter> speculation_;
  std::unique_ptr<RelaxedRounds> relaxed_;  // nullptr: strict
  TreeRows rows_, draft_rows_;
  Exchanged<int32_t> draft_slots_, row_map_;  // [requests], [requests, N] of the draft's step
  Buffer<int32_t> levels_;                    // [requests] at which the round began
  int64_t memory_bytes_ = 0;
};

SpeculativeLane::SpeculativeLane(const Allocator& allocator, const LaneConfig& config, const Drafting& drafting,
                                 LaneModels models)
    : output_(*config.output),
      models_(std::move(models)),
      exchange_(models_.target->make_exchange(allocator)),
      session_(make_session(allocator, config, drafting, models_.target->place())),
      draft_session_(make_session(allocator, draft_config(config, drafting.beams), drafting, models_.target->place())),
      running_(allocator, session_, *exchange_),
      beams_(session_.host_beams()),
      rows_(allocator, output_, config.requests * TreeSize{session_.levels(), config.beams, drafting.beams}.rows()),
      draft_rows_(allocator, output_, int64_t{config.requests} * drafting.beams),
      draft_slots_(exchange_->take<int32_t>(config.requests)),
      row_map_(exchange_->take<int32_t>(int64_t{config.requests} * drafting.beams)),
      levels_(Buffer<int32_t>::zeroed(allocator, config.requests)) {
  create_speculation({session_.levels(), config.beams, drafting.beams});
  if (drafting.relaxed)
    relaxed_ =
        std::make_unique<RelaxedRounds>(allocator, config, drafting.without_replacement, session_, draft_session_);
  memory_bytes_ = count_bytes();
}

void SpeculativeLane::create_speculation(const TreeSize& size) {
  sidbeam_speculation_config config = SIDBEAM_SPECULATION_CONFIG_INIT;
  config.draft_levels = size.draft_levels();
  config.target = session_.get();
  config.draft = draft_session_.get();
  config.stream = models_.target->place().stream;
  sidbeam_speculation* made = nullptr;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_speculation_create(session_.config().runtime, &config, &made, &error), error);
  speculation_.reset(made);
  if (tree().place_stride > size.slots())
    fail(SIDBEAM_INTERNAL, "the trees have %lld places, expected at most %lld",
         static_cast<long long>(tree().place_stride), static_cast<long long>(size.slots()));
}

int64_t SpeculativeLane::count_bytes() const {
  sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
  const bool known = sidbeam_speculation_get_stats(speculation_.get(), &stats, nullptr) == SIDBEAM_OK;
  return models_.target->memory_bytes() + models_.draft->memory_bytes() + exchange_->memory_bytes() +
         session_.memory_bytes() + draft_session_.memory_bytes() + running_.memory_bytes() + rows_.memory_bytes() +
         draft_rows_.memory_bytes() + levels_.bytes() + (relaxed_ ? relaxed_->memory_bytes() : 0) +
         (known ? stats.memory_bytes : 0);
}

sidbeam_speculation_tree SpeculativeLane::tree() const {
  sidbeam_speculation_tree tree = SIDBEAM_SPECULATION_TREE_INIT;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_speculation_get_tree(speculation_.get(), &tree, &error), error);
  return tree;
}

void SpeculativeLane::run(const Job* jobs, int32_t count, Ended& ended) noexcept {
  const DefaultFloatMode mode;  // the thread may be the host's
  running_.start(jobs, count, ended);
  const int32_t started = running_.count();
  run_batch(
      [&] {
        draft_session_.start_beside(session_, started);
        session_.fetch();
        exchange_->wait();
        run_rounds();
      },
      [&](const Outcome& failed) { running_.end_all(failed); });
  for (int32_t slot = 0; slot < started; ++slot) draft_session_.stop(&slot, 1);
}

void SpeculativeLane::run_rounds() {
  for (;;) {
    running_.harvest();
    running_.drop_cancelled();
    if (running_.count() == 0) return;
    begin_round();
    const int64_t begun = steady_clock().now();
    draft();
    const int64_t draft_time = steady_clock().now() - begun;
    const sidbeam_speculation_tree complete = tree();
    count_round(complete, draft_time);
    verify(complete);
    for (int32_t i = 0; i < running_.count(); ++i) {
      const int32_t slot = running_[i], gained = beams_.level[slot] - levels_[slot];
      running_.rounds(slot).levels += gained;
      running_.rounds(slot).accepted_levels += std::max(0, gained - 1);
    }
    if (!relaxed_) continue;
    relaxed_->complete(running_);
    running_.end_where([&](int32_t slot, Outcome& outcome) { return relaxed_->failed(slot, outcome); });
  }
}

void SpeculativeLane::begin_round() {
  int64_t active = 0;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_speculation_begin(speculation_.get(), running_.slots(), running_.count(), &active, &error),
               error);
  for (int32_t i = 0; i < running_.count(); ++i) levels_[running_[i]] = beams_.level[running_[i]];
  if (relaxed_) relaxed_->begin(running_);
}

void SpeculativeLane::draft() {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  for (sidbeam_speculation_tree so_far = tree(); so_far.draft_count > 0; so_far = tree()) {
    draft_level(so_far);
    check_status(sidbeam_speculation_add(speculation_.get(), &error), error);
  }
}

// One pass of the draft's model, over the nodes that its beams are. What it wrote for those of earlier rounds is in the
// places on their way: every node that the target can go on from was fed then, since all levels were drafted.
void SpeculativeLane::draft_level(const sidbeam_speculation_tree& tree) {
  const int32_t width = draft_session_.config().beams;
  draft_rows_.clear();
  for (int64_t i = 0; i < tree.draft_count * width; ++i) {
    const int32_t node = tree.draft_nodes[i];
    row_map_.here[i] = node < 0 ? -1 : draft_rows_.add(tree, tree.draft_slots[i / width], node);
  }
  std::copy_n(tree.draft_slots, tree.draft_count, draft_slots_.here);
  exchange_->send(draft_slots_, tree.draft_count);
  exchange_->send(row_map_, tree.draft_count * width);
  models_.draft->run_tree(session_.prompts(), draft_rows_.view());
  LevelRows logits = logits_of(*models_.draft, draft_rows_);
  if (relaxed_) logits = relaxed_->draft(tree, logits, row_map_.here);
  draft_session_.step(draft_slots_.there, static_cast<int32_t>(tree.draft_count), logits, row_map_.there);
}

// One pass of the target's model, over all nodes.
void SpeculativeLane::verify(const sidbeam_speculation_tree& tree) {
  rows_.clear();
  for (int64_t i = 0; i < tree.count; ++i)
    for (int64_t node = tree.node_offsets[i]; node < tree.node_offsets[i + 1]; ++node)
      rows_.add(tree, tree.slots[i], node);
  models_.target->run_tree(session_.prompts(), rows_.view());
  LevelRows logits = logits_of(*models_.target, rows_);
  if (relaxed_) logits = relaxed_->verify(tree, logits);
  const sidbeam_rows rows = session_.rows_of(logits);
  sidbeam_speculation_verify_args args = SIDBEAM_SPECULATION_VERIFY_ARGS_INIT;
  args.rows = &rows;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_speculation_verify(speculation_.get(), &args, &error), error);
}

void SpeculativeLane::count_round(const sidbeam_speculation_tree& tree, int64_t draft_time) {
  for (int64_t i = 0; i < tree.count; ++i) {
    const int64_t first = tree.node_offsets[i], end = tree.node_offsets[i + 1];
    Rounds& rounds = running_.rounds(tree.slots[i]);
    ++rounds.count;
    rounds.drafted_levels += tree.positions[end - 1] - tree.positions[first];
    rounds.nodes += end - first;
    rounds.draft_time += draft_time;
  }
}

LevelRows SpeculativeLane::logits_of(TreeForward& forward, const TreeRows& rows) const {
  return {forward.tree_logits(rows.depths()), rows.count(), output_.most_columns()};
}

}  // namespace

std::unique_ptr<Lane> make_speculative_lane(const Allocator& allocator, const LaneConfig& config,
                                            const Drafting& drafting, LaneModels models) {
  return std::make_unique<SpeculativeLane>(allocator, config, drafting, std::move(models));
}

}  // namespace sidbeam::runner
