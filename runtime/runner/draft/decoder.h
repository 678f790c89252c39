// From hidden states to SIDs, by a draft head and a session, wherever they are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runner/draft/head.h"

namespace sidbeam::runner {

template <class T, void (*release)(T*)>
struct ReleasedBy {
  void operator()(T* object) const { release(object); }
};
template <class T, void (*release)(T*)>
using Handle = std::unique_ptr<T, ReleasedBy<T, release>>;

class DraftDecoder {
 public:
  // Throws Failure, as sidbeam_draft_decoder_create() says.
  DraftDecoder(sidbeam_runtime* runtime, const sidbeam_draft_config& config);
  DraftDecoder(const DraftDecoder&) = delete;
  DraftDecoder& operator=(const DraftDecoder&) = delete;
  virtual ~DraftDecoder() = default;

  // Throw Failure, as sidbeam_draft_decoder_run() and its halves say. `hidden` is args.hidden.
  void run(const sidbeam_draft_args& args, const sidbeam_rows& hidden, sidbeam_draft_result& out);
  void start(const sidbeam_draft_args& args, const sidbeam_rows& hidden);
  void decode(const sidbeam_draft_args& args, const sidbeam_rows& hidden, sidbeam_draft_result& out);

 protected:
  // All levels of hidden.slots requests; fills the arrays of `out`. `hidden` is checked, its strides are resolved.
  virtual void decode_levels(const sidbeam_rows& hidden, void* stream, sidbeam_draft_result& out) = 0;

  const DraftHead& head() const { return *head_; }
  sidbeam_session* session() const { return session_.get(); }
  const sidbeam_beams& beams() const { return beams_; }
  const int32_t* slots() const { return slots_.data(); }
  int32_t most_requests() const { return most_requests_; }
  int32_t most_beams() const { return most_beams_; }
  int32_t levels() const { return head_->shape.levels; }

 private:
  void hold_catalogue(sidbeam_index* index);
  void make_session(sidbeam_runtime* runtime, const sidbeam_draft_config& config);
  void decode_checked(const sidbeam_rows& hidden, void* stream, sidbeam_draft_result& out);
  void start_slots(const sidbeam_draft_args& args, int64_t count);
  void stop_slots(int64_t from, int64_t to, void* stream);

  Ref<DraftHead> head_;
  Handle<sidbeam_constraint, sidbeam_constraint_release> constraint_;  // all of the index
  Handle<sidbeam_session, sidbeam_session_destroy> session_;
  sidbeam_beams beams_ = SIDBEAM_BEAMS_INIT;  // views of the session's arrays
  int32_t device_type_ = 0, device_id_ = 0;
  int32_t most_requests_ = 0, most_beams_ = 0;
  int64_t started_ = 0;    // requests of the last start
  Buffer<int32_t> slots_;  // [B] 0, 1, 2 ..
};

// Throws Failure, as sidbeam_draft_decoder_create() says.
std::unique_ptr<DraftDecoder> make_draft_decoder(sidbeam_runtime* runtime, const sidbeam_draft_config& config);

}  // namespace sidbeam::runner
