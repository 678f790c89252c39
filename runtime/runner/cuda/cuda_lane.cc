// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/cuda_lane.h"

#include <algorithm>

#include "runner/schedule/lane_session.h"
#include "support/error.h"
#include "support/float_mode.h"

namespace sidbeam::runner {
namespace {

class CudaLane final : public Lane {
 public:
  CudaLane(const Allocator& allocator, const LaneConfig& config, std::unique_ptr<CudaForward> forward);
  ~CudaLane() override;
  void run(const Job* jobs, int32_t count, Ended& ended) noexcept override;
  int32_t levels() const override { return levels_; }
  int64_t memory_bytes() const override;

 private:
  enum Part : int32_t { kForward = 1, kStep = 2 };  // of a level

  int32_t* zeros(int64_t count) { return static_cast<int32_t*>(arrays_.zeros(count * int64_t{sizeof(int32_t)})); }
  void put_tokens();
  void run_levels();
  bool any_wanted();
  void enqueue(int32_t level);
  void replay(int32_t level, int32_t parts);
  void forward(int32_t level);
  void adjust(int32_t level);
  LevelRows level_rows(int32_t level, int64_t first, int64_t count) const;
  int64_t rows(int32_t level) const { return level == 0 ? running_ : int64_t{running_} * config_.beams; }
  void fetch();
  void harvest();
  void end(int32_t slot, const Outcome& outcome);
  void end_all(const Outcome& outcome);

  const ForwardDevice& device_;
  std::unique_ptr<CudaForward> forward_;
  DeviceArrays arrays_;
  LaneSession session_;
  const LaneConfig& config_;
  const sidbeam_beams& beams_;  // on the device
  const int32_t levels_;

  // On the device: of each level but the last the token of each code; lists of rows; results.
  const int32_t* tokens_[SIDBEAM_MAX_LEVELS] = {};
  int32_t *row_requests_ = nullptr, *row_tokens_ = nullptr, *row_kv_ = nullptr, *row_map_ = nullptr;
  int32_t* row_beams_ = nullptr;  // [requests * M] beam of each row
  int32_t* ancestors_[2] = {};    // [requests * M, L - 1] of even and of odd levels
  float* logits_ = nullptr;       // of the level
  int32_t *slots_ = nullptr, *sids_ = nullptr;
  int64_t* ordinals_ = nullptr;
  int32_t* host_sids_ = nullptr;  // pinned
  int64_t* host_ordinals_ = nullptr;

  int32_t running_ = 0;        // slots of the batch
  Buffer<uint8_t> is_over_;    // [requests] of a slot: it has ended, and its rows run on
  Buffer<int32_t> all_slots_;  // [requests] 0, 1, ...
};

CudaLane::CudaLane(const Allocator& allocator, const LaneConfig& config, std::unique_ptr<CudaForward> forward)
    : device_(forward->device()),
      forward_(std::move(forward)),
      arrays_(device_, forward_->device_id()),
      session_(allocator, config, {forward_->device_id(), forward_->stream()}),
      config_(session_.config()),
      beams_(session_.beams()),
      levels_(session_.levels()),
      is_over_(allocator, config.requests),
      all_slots_(allocator, config.requests) {
  put_tokens();
  const int64_t rows = int64_t{config.requests} * config.beams;
  row_requests_ = zeros(rows), row_tokens_ = zeros(rows), row_kv_ = zeros(rows), row_map_ = zeros(rows);
  row_beams_ = zeros(rows), slots_ = zeros(config.requests), sids_ = zeros(rows * levels_);
  for (int32_t*& ancestors : ancestors_) ancestors = zeros(rows * levels_);
  ordinals_ = static_cast<int64_t*>(arrays_.zeros(rows * int64_t{sizeof(int64_t)}));
  host_sids_ = static_cast<int32_t*>(arrays_.pinned(rows * levels_ * int64_t{sizeof(int32_t)}));
  host_ordinals_ = static_cast<int64_t*>(arrays_.pinned(rows * int64_t{sizeof(int64_t)}));
  for (int32_t i = 0; i < config.requests; ++i) all_slots_[i] = i;
}

// What was enqueued still uses the arrays.
CudaLane::~CudaLane() { device_.wait(forward_->handle(), nullptr); }

void CudaLane::put_tokens() {
  for (int32_t level = 0; level + 1 < levels_; ++level) {
    const int32_t codes = session_.codes(level);
    std::vector<int32_t> tokens(static_cast<size_t>(codes));
    for (int32_t code = 0; code < codes; ++code) tokens[static_cast<size_t>(code)] = config_.output->token(level, code);
    tokens_[level] = static_cast<const int32_t*>(arrays_.put_bytes_of(tokens.data(), codes, SIDBEAM_DTYPE_F32));
  }
}

int64_t CudaLane::memory_bytes() const { return forward_->memory_bytes() + arrays_.bytes() + session_.memory_bytes(); }

void CudaLane::run(const Job* jobs, int32_t count, Ended& ended) noexcept {
  const DefaultFloatMode mode;  // the thread may be the host's
  running_ = session_.start(jobs, count, ended);
  if (running_ == 0) return;
  std::fill_n(is_over_.data(), running_, uint8_t{0});
  run_batch([&] { run_levels(); }, [&](const Outcome& failed) { end_all(failed); });
  // The next batch starts when this one's work is over: its prompts are the host's.
  session_.stop(all_slots_.data(), running_);
  device_.wait(forward_->handle(), nullptr);
}

void CudaLane::run_levels() {
  for (int32_t level = 0; level < levels_ && any_wanted(); ++level) enqueue(level);
  if (any_wanted()) fetch();
  harvest();
}

// Ends what was cancelled; whether anybody waits for the rest.
bool CudaLane::any_wanted() {
  bool any = false;
  for (int32_t slot = 0; slot < running_; ++slot) {
    if (is_over_[slot] != 0) continue;
    if (session_.is_cancelled(slot)) {
      end(slot, kCancelled);
    } else {
      any = true;
    }
  }
  return any;
}

// All but prompts, whose shapes are as many as their lengths, is one graph per level and number of requests; or two,
// where the host's callback is called between them.
void CudaLane::enqueue(int32_t level) {
  if (level == 0) forward_->prefill(session_.prompts(), running_);
  if (config_.adjust == nullptr) {
    replay(level, kForward | kStep);
  } else {
    replay(level, kForward);
    adjust(level);
    replay(level, kStep);
  }
}

void CudaLane::replay(int32_t level, int32_t parts) {
  const int64_t shape = int64_t{level} * (config_.requests + 1) + running_;
  forward_->replay(shape * (kForward + kStep + 1) + parts, [&] {
    if ((parts & kForward) != 0) forward(level);
    if ((parts & kStep) != 0) session_.step(slots_, running_, level_rows(level, 0, rows(level)), row_map_);
  });
}

// Arguments must depend on the level and the number of requests alone.
void CudaLane::forward(int32_t level) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  DeviceBeamList list;
  list.requests = running_;
  list.beams = config_.beams;
  list.level = level;
  if (level > 0) list.codes = session_.codes(level - 1), list.code_tokens = tokens_[level - 1];
  list.beam_codes = beams_.codes, list.parents = beams_.parents, list.live = beams_.live;
  list.ancestors_before = ancestors_[1 - level % 2], list.ancestors = ancestors_[level % 2];
  list.row_requests = row_requests_, list.row_tokens = row_tokens_, list.row_slots = row_kv_;
  list.row_beams = row_beams_, list.row_map = row_map_, list.slots = slots_;
  check_status(device_.list_beams(forward_->handle(), &list, &error), error);
  if (level > 0)
    forward_->decode({static_cast<int32_t>(rows(level)), level, row_requests_, row_tokens_, row_kv_, list.ancestors,
                      nullptr, &beams_});
  logits_ = forward_->logits(level);
}

void CudaLane::adjust(int32_t level) {
  const int64_t of_slot = rows(level) / running_;
  for (int32_t slot = 0; slot < running_; ++slot) {
    if (is_over_[slot] != 0) continue;
    if (!session_.adjust(level, slot, level_rows(level, slot * of_slot, of_slot))) end(slot, kEndedByAdjust);
  }
}

LevelRows CudaLane::level_rows(int32_t level, int64_t first, int64_t count) const {
  const int64_t stride = forward_->row_stride(level);
  return {logits_ + first * stride, count, forward_->columns(level), row_beams_ + first, stride};
}

// The results, in pinned memory; the only wait of a batch that the host needs.
void CudaLane::fetch() {
  session_.get_items(all_slots_.data(), running_, sids_, ordinals_);
  session_.fetch();
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  const int64_t rows = int64_t{running_} * config_.beams;
  check_status(
      device_.to_host(forward_->handle(), host_sids_, sids_, rows * levels_ * int64_t{sizeof(int32_t)}, &error), error);
  check_status(device_.to_host(forward_->handle(), host_ordinals_, ordinals_, rows * int64_t{sizeof(int64_t)}, &error),
               error);
  check_status(device_.wait(forward_->handle(), &error), error);
}

void CudaLane::harvest() {
  const sidbeam_beams& fetched = session_.host_beams();
  for (int32_t slot = 0; slot < running_; ++slot) {
    if (is_over_[slot] != 0) continue;
    const int64_t first = int64_t{slot} * config_.beams;
    if (fetched.errors[slot] != 0) {
      end(slot, kBadLogits);
    } else {
      end(slot, {SIDBEAM_OK, "", fetched.live[slot], host_sids_ + first * levels_, fetched.scores + first,
                 host_ordinals_ + first});
    }
  }
}

void CudaLane::end(int32_t slot, const Outcome& outcome) {
  is_over_[slot] = 1;
  // The host may free its keys and values afterwards, of which a copy may still be enqueued.
  if (session_.prompts()[slot].shared_kv != nullptr) device_.wait(forward_->handle(), nullptr);
  session_.end(slot, outcome);
}

void CudaLane::end_all(const Outcome& outcome) {
  for (int32_t slot = 0; slot < running_; ++slot)
    if (is_over_[slot] == 0) end(slot, outcome);
}

}  // namespace

std::unique_ptr<Lane> make_cuda_lane(const Allocator& allocator, const LaneConfig& config,
                                     std::unique_ptr<CudaForward> forward) {
  return std::make_unique<CudaLane>(allocator, config, std::move(forward));
}

}  // namespace sidbeam::runner
