// SPDX-License-Identifier: Apache-2.0
#include "runner/draft/head_forward.h"

#include <algorithm>
#include <numeric>

#include "runner/draft/forward.h"

namespace sidbeam::runner {
namespace {

int32_t most_codes(const DraftShape& shape) { return *std::max_element(shape.codes, shape.codes + shape.levels); }

class HeadOutput final : public Output {
 public:
  HeadOutput(const Allocator& allocator, const OutputConfig& config, int64_t tokens)
      : Output(allocator, config, tokens) {}
  int64_t memory_bytes() const override { return columns().memory_bytes(); }
};

// The lane feeds a beam by the slots of its ancestors, among which the head looks for the beam's parent alone.
class HeadForward final : public Forward {
 public:
  HeadForward(const Allocator& allocator, const DraftHead& head, std::unique_ptr<StatesForward> model, int32_t requests,
              int32_t beams, const Workers& workers);
  void prefill(const Prompt* prompts, int32_t count) override;
  void decode(const DecodeRows& beams) override;
  float* logits(int32_t level) override;
  int64_t columns(int32_t level) const override { return shape_.codes[level]; }
  int64_t memory_bytes() const override;

 private:
  int32_t& row_of(int32_t request, int32_t slot) { return rows_before_[int64_t{request} * beams_ + slot % beams_]; }

  const DraftShape& shape_;
  std::unique_ptr<StatesForward> model_;
  DraftForward head_;
  int32_t beams_;
  int32_t requests_ = 0, rows_ = 0;  // of the batch; of the pass
  Buffer<int32_t> all_requests_;     // [requests] 0, 1, 2 ..
  Buffer<int32_t> row_requests_;     // [requests * M] of the pass
  Buffer<int32_t> row_parents_;      // [requests * M] rows of the pass before
  Buffer<int32_t> rows_before_;      // [requests, M] row of each beam in the pass before
  Buffer<float> copies_;             // [requests * M, V_l] of a head whose logits are the same for all beams
};

HeadForward::HeadForward(const Allocator& allocator, const DraftHead& head, std::unique_ptr<StatesForward> model,
                         int32_t requests, int32_t beams, const Workers& workers)
    : shape_(head.shape),
      model_(std::move(model)),
      head_(allocator, head, workers, requests, beams),
      beams_(beams),
      all_requests_(allocator, requests),
      row_requests_(Buffer<int32_t>::zeroed(allocator, int64_t{requests} * beams)),
      row_parents_(Buffer<int32_t>::zeroed(allocator, int64_t{requests} * beams)),
      rows_before_(Buffer<int32_t>::zeroed(allocator, int64_t{requests} * beams)) {
  std::iota(all_requests_.begin(), all_requests_.end(), 0);
  if (!head_.has_row_per_request()) return;
  copies_ = Buffer<float>::zeroed(allocator, checked_bytes(int64_t{requests} * beams, most_codes(shape_)));
}

void HeadForward::prefill(const Prompt* prompts, int32_t count) {
  const int64_t states = int64_t{shape_.levels} + 1, width = shape_.hidden;
  head_.begin({model_->states(prompts, count), Dtype::kF32, count, states * width, width});
  requests_ = rows_ = count;
  for (int32_t request = 0; request < count; ++request) {
    row_requests_[request] = request;
    std::fill_n(&row_of(request, 0), beams_, request);  // all beams of the next level come from this row
  }
}

void HeadForward::decode(const DecodeRows& beams) {
  for (int32_t row = 0; row < beams.rows; ++row) {
    const int32_t* const own = beams.ancestors + int64_t{row} * beams.depth + beams.depth - 1;
    row_requests_[row] = beams.requests[row];
    row_parents_[row] = row_of(beams.requests[row], beams.depth > 1 ? own[-1] : 0);
  }
  for (int32_t row = 0; row < beams.rows; ++row) row_of(beams.requests[row], beams.slots[row]) = row;
  rows_ = beams.rows;
  if (!head_.has_row_per_request()) head_.advance(beams.depth - 1, row_parents_.data(), beams.tokens, rows_);
}

float* HeadForward::logits(int32_t level) {
  if (!head_.has_row_per_request()) return head_.logits(level, row_requests_.data(), rows_).data;
  // Once per request; a host's adjust() may then change each beam's.
  const ConstRows logits = head_.logits(level, all_requests_.data(), requests_);
  for (int32_t row = 0; row < rows_; ++row)
    std::copy_n(logits[row_requests_[row]], logits.columns, copies_.data() + row * logits.columns);
  return copies_.data();
}

int64_t HeadForward::memory_bytes() const {
  return model_->memory_bytes() + head_.memory_bytes() + all_requests_.bytes() + row_requests_.bytes() +
         row_parents_.bytes() + rows_before_.bytes() + copies_.bytes();
}

}  // namespace

std::unique_ptr<Output> make_head_output(const Allocator& allocator, const DraftHead& head) {
  OutputConfig config;
  config.levels = head.shape.levels;
  config.codes = head.shape.codes;
  return std::make_unique<HeadOutput>(allocator, config, most_codes(head.shape));
}

std::unique_ptr<Forward> make_head_forward(const Allocator& allocator, const DraftHead& head,
                                           std::unique_ptr<StatesForward> model, int32_t requests, int32_t beams,
                                           const Workers& workers) {
  return std::make_unique<HeadForward>(allocator, head, std::move(model), requests, beams, workers);
}

}  // namespace sidbeam::runner
