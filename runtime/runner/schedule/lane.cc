// The CPU's lane.
// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/lane.h"

#include <algorithm>

#include "runner/cuda/cuda_lane.h"
#include "runner/models/host_exchange.h"
#include "runner/schedule/children.h"
#include "runner/schedule/running_slots.h"
#include "support/float_mode.h"

namespace sidbeam::runner {
namespace {

class SessionLane final : public Lane {
 public:
  SessionLane(const Allocator& allocator, const LaneConfig& config, std::unique_ptr<Forward> forward);
  void run(const Job* jobs, int32_t count, Ended& ended) noexcept override;
  int32_t levels() const override { return session_.levels(); }
  int64_t memory_bytes() const override { return memory_bytes_; }

 private:
  void allocate(const Allocator& allocator);
  int64_t count_bytes() const;
  void run_levels();
  // Rows of the running slots at a level; the beams' tokens and ancestors.
  void list_rows(int32_t level);
  void list_row(int32_t level, int32_t slot, int32_t beam);
  void map_rows();
  void forward(int32_t level);
  void adjust(int32_t level);
  void step(int32_t level);

  std::unique_ptr<Forward> forward_;
  HostExchange exchange_;
  LaneSession session_;
  RunningSlots running_;
  Children children_;
  const LaneConfig& config_;
  const sidbeam_beams& beams_;
  const int32_t levels_;
  int64_t memory_bytes_ = 0;

  // The batch.
  Buffer<int32_t> first_row_;   // [requests] of a slot, this level
  Buffer<int32_t> row_counts_;  // [requests] of a slot, this level

  // Rows of this level: [requests * M].
  int32_t rows_ = 0;
  float* logits_ = nullptr;  // [rows_, columns of the level]
  Buffer<int32_t> row_slots_, row_beams_, row_tokens_, row_kv_;
  // [requests * M] row of each beam at this level and the one before; then as the step wants it, of the running slots.
  Buffer<int32_t> beam_rows_, beam_rows_before_, row_map_;
  // [requests * M, L - 1] slots of unshared KV that each row reads, rows dense; of this level and the one before. Beams
  // find what they wrote by these lists, so that no KV is ever moved.
  Buffer<int32_t> ancestors_, ancestors_before_;
};

SessionLane::SessionLane(const Allocator& allocator, const LaneConfig& config, std::unique_ptr<Forward> forward)
    : forward_(std::move(forward)),
      exchange_(allocator),
      session_(allocator, config),
      running_(allocator, session_, exchange_),
      children_(allocator, session_, *forward_),
      config_(session_.config()),
      beams_(session_.beams()),
      levels_(session_.levels()) {
  allocate(allocator);
  memory_bytes_ = count_bytes();
}

void SessionLane::allocate(const Allocator& allocator) {
  const int64_t requests = config_.requests, beams = requests * config_.beams;
  first_row_ = Buffer<int32_t>::zeroed(allocator, requests);
  row_counts_ = Buffer<int32_t>::zeroed(allocator, requests);
  for (Buffer<int32_t>* of_beams :
       {&row_slots_, &row_beams_, &row_tokens_, &row_kv_, &beam_rows_, &beam_rows_before_, &row_map_})
    *of_beams = Buffer<int32_t>::zeroed(allocator, beams);
  ancestors_ = Buffer<int32_t>::zeroed(allocator, beams * (levels_ - 1));
  ancestors_before_ = Buffer<int32_t>::zeroed(allocator, beams * (levels_ - 1));
}

int64_t SessionLane::count_bytes() const {
  int64_t bytes = forward_->memory_bytes() + exchange_.memory_bytes() + session_.memory_bytes() +
                  running_.memory_bytes() + children_.memory_bytes();
  for (const Buffer<int32_t>* buffer : {&first_row_, &row_counts_, &row_slots_, &row_beams_, &row_tokens_, &row_kv_,
                                        &beam_rows_, &beam_rows_before_, &row_map_, &ancestors_, &ancestors_before_})
    bytes += buffer->bytes();
  return bytes;
}

void SessionLane::run(const Job* jobs, int32_t count, Ended& ended) noexcept {
  const DefaultFloatMode mode;  // the thread may be the host's
  running_.start(jobs, count, ended);
  run_batch([&] { run_levels(); }, [&](const Outcome& failed) { running_.end_all(failed); });
}

void SessionLane::run_levels() {
  for (int32_t level = 0; level < levels_; ++level) {
    if (level > 0) running_.drop_cancelled();
    if (running_.count() == 0) return;
    list_rows(level);
    map_rows();
    forward(level);
    if (config_.adjust != nullptr) adjust(level);
    if (running_.count() == 0) return;
    step(level);
    running_.harvest();
  }
}

void SessionLane::list_row(int32_t level, int32_t slot, int32_t beam) {
  const int32_t row = rows_++, at = slot * config_.beams + beam;
  beam_rows_[at] = row;
  row_slots_[row] = slot;
  row_beams_[row] = beam;
  ++row_counts_[slot];
  if (level == 0) return;
  row_tokens_[row] = config_.output->token(level - 1, beams_.codes[at]);
  row_kv_[row] = unshared_slot(config_.beams, level, beam);
  int32_t* ancestors = ancestors_.data() + int64_t{row} * level;
  if (level > 1) {
    const int32_t parent = beam_rows_before_[slot * config_.beams + beams_.parents[at]];
    std::copy_n(ancestors_before_.data() + int64_t{parent} * (level - 1), level - 1, ancestors);
  }
  ancestors[level - 1] = row_kv_[row];
}

void SessionLane::list_rows(int32_t level) {
  std::swap(beam_rows_, beam_rows_before_);
  std::swap(ancestors_, ancestors_before_);
  rows_ = 0;
  for (int32_t i = 0; i < running_.count(); ++i) {
    const int32_t slot = running_[i];
    first_row_[slot] = rows_;
    row_counts_[slot] = 0;
    std::fill_n(beam_rows_.data() + slot * config_.beams, config_.beams, -1);
    if (level == 0) {
      list_row(level, slot, 0);
      continue;
    }
    const int32_t* codes = beams_.codes + int64_t{slot} * config_.beams;
    for (int32_t beam = 0; beam < beams_.live[slot]; ++beam) {
      const bool active = codes[beam] >= 0 && codes[beam] < session_.codes(level - 1);  // not ended, now or before
      if (active) list_row(level, slot, beam);
    }
  }
}

void SessionLane::forward(int32_t level) {
  if (level > 0) {
    DecodeRows beams;
    beams.rows = rows_;
    beams.depth = level;
    beams.requests = row_slots_.data();
    beams.tokens = row_tokens_.data();
    beams.slots = row_kv_.data();
    beams.ancestors = ancestors_.data();
    forward_->decode(beams);
  } else {
    forward_->prefill(session_.prompts(), running_.count());
  }
  const LogitElements children =
      children_.list(running_.slots(), running_.count(), row_map_.data(), rows_, forward_->columns(level));
  logits_ = children.count > 0 ? forward_->some_logits(level, children) : forward_->logits(level);
}

void SessionLane::adjust(int32_t level) {
  const int64_t columns = forward_->columns(level);
  running_.end_where([&](int32_t slot, Outcome& outcome) {
    const int32_t first = first_row_[slot];
    outcome = kEndedByAdjust;
    return !session_.adjust(level, slot,
                            {logits_ + first * columns, row_counts_[slot], columns, row_beams_.data() + first});
  });
  map_rows();  // of those that are left
}

void SessionLane::map_rows() {
  for (int32_t i = 0; i < running_.count(); ++i)
    std::copy_n(beam_rows_.data() + running_[i] * config_.beams, config_.beams, row_map_.data() + i * config_.beams);
}

void SessionLane::step(int32_t level) {
  session_.step(running_.slots(), running_.count(), {logits_, rows_, forward_->columns(level)}, row_map_.data());
}

}  // namespace

std::unique_ptr<Lane> make_lane(const Allocator& allocator, const LaneConfig& config,
                                std::unique_ptr<Forward> forward) {
  if (auto* cuda = dynamic_cast<CudaForward*>(forward.get()); cuda != nullptr) {
    static_cast<void>(forward.release());
    return make_cuda_lane(allocator, config, std::unique_ptr<CudaForward>(cuda));
  }
  return std::make_unique<SessionLane>(allocator, config, std::move(forward));
}

}  // namespace sidbeam::runner
