// SPDX-License-Identifier: Apache-2.0
#include "draft_case.h"

#include <cstring>

namespace gpu {

using differential::call;
using differential::expect;

namespace {

size_t size_of(int32_t dtype) { return dtype == SIDBEAM_DTYPE_F32 ? 4 : 2; }

template <class T>
std::vector<T> fetched(const differential::Place& place, const T* there, size_t count) {
  if (place.device_type() == SIDBEAM_DEVICE_CPU) return {there, there + count};
  std::vector<T> here(count);
  place.fetch(here.data(), there, count * sizeof(T));
  return here;
}

}  // namespace

std::string DraftCase::text() const {
  return "seed " + std::to_string(seed) + ", D " + std::to_string(shape.hidden) + ", E " +
         std::to_string(shape.embedding) + ", input " + std::to_string(shape.input) + ", transition " +
         std::to_string(shape.transition) + ", dtypes " + std::to_string(dtype) + " and " +
         std::to_string(hidden_dtype) + ", verification " + std::to_string(verification) + ", normalization " +
         std::to_string(normalization) + ", " + std::to_string(requests) + " x " + std::to_string(beams) + " beams" +
         (shape.biases ? "" : ", no biases") + (is_spread ? ", spread" : "");
}

std::vector<int> Drafted::sid(const DraftCase& c, size_t beam) const {
  const auto levels = static_cast<std::ptrdiff_t>(c.levels()), at = static_cast<std::ptrdiff_t>(beam) * levels;
  return {sids.begin() + at, sids.begin() + at + levels};
}

void Drafted::expect_same_bits(const Drafted& other, const std::string& what) const {
  expect(live == other.live && errors == other.errors, what, ": live or errors differ");
  expect(sids == other.sids && ordinals == other.ordinals, what, ": SIDs differ");
  expect(differential::same_bits(scores, other.scores), what, ": scores differ");
}

States random_states(const DraftCase& c, uint64_t seed) {
  std::mt19937_64 random(seed);
  States states(static_cast<size_t>(c.requests));
  for (std::vector<oracle::Vector>& of_request : states)
    for (int32_t l = 0; l <= c.levels(); ++l) of_request.push_back(heads::random_vector(random, c.shape.hidden));
  return states;
}

DraftSide::DraftSide(const DraftCase& c, sidbeam_runtime* runtime, sidbeam_draft_head* head, sidbeam_index* index,
                     const differential::Place& place)
    : c_(c),
      place_(place),
      row_stride_(c.shape.hidden + (c.is_spread ? 3 : 0)),
      slot_stride_(row_stride_ * (c.levels() + 1) + (c.is_spread ? 5 : 0)),
      states_(place, static_cast<size_t>(slot_stride_ * c.requests) * size_of(c.hidden_dtype), '\0') {
  rows_ = sidbeam_rows_dense(states_.data(), c.hidden_dtype, c.requests, c.levels() + 1, c.shape.hidden);
  rows_.device_type = place.device_type(), rows_.device_id = place.device_id();
  rows_.row_stride = row_stride_, rows_.slot_stride = slot_stride_;
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.requests = c.requests + 1, config.beams = c.beams, config.top_k = c.top_k;
  config.verification = c.verification, config.normalization = c.normalization;
  config.head = head, config.index = index;
  config.device_type = place.device_type(), config.device_id = place.device_id();
  sidbeam_draft_decoder* made = nullptr;
  call("decoder", sidbeam_draft_decoder_create, runtime, static_cast<const sidbeam_draft_config*>(&config), &made);
  decoder_.reset(made);
}

void DraftSide::fill(const States& states) {
  const size_t size = size_of(c_.hidden_dtype);
  std::string bytes(states_.size(), '\xFF');  // what lies between is NaN
  for (size_t i = 0; i < states.size(); ++i) {
    for (size_t l = 0; l < states[i].size(); ++l) {
      const std::string row = heads::elements_of(states[i][l], c_.hidden_dtype);
      const auto at = static_cast<size_t>(slot_stride_) * i + static_cast<size_t>(row_stride_) * l;
      bytes.replace(at * size, row.size(), row);
    }
  }
  if (place_.device_type() == SIDBEAM_DEVICE_CPU) {
    std::memcpy(states_.data(), bytes.data(), bytes.size());
    return;
  }
  place_.wait();
  expect_cuda(cudaMemcpy(states_.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "copy");
}

sidbeam_draft_args DraftSide::args(const Start& start) const {
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  args.hidden = &rows_;
  if (!start.constraints.empty()) args.constraints = start.constraints.data();
  if (!start.widths.empty()) args.widths = start.widths.data();
  args.stream = place_.stream();
  return args;
}

void DraftSide::run(const Start& start) {
  const sidbeam_draft_args how = args(start);
  call("run", sidbeam_draft_decoder_run, decoder(), &how, &result_);
}

void DraftSide::start(const Start& start) {
  const sidbeam_draft_args how = args(start);
  call("start", sidbeam_draft_decoder_start, decoder(), &how);
}

void DraftSide::decode() {
  const sidbeam_draft_args how = args({});
  call("decode", sidbeam_draft_decoder_decode, decoder(), &how, &result_);
}

Drafted DraftSide::look() const {
  const auto requests = static_cast<size_t>(result_.requests), beams = requests * static_cast<size_t>(result_.beams);
  return {fetched(place_, result_.live, requests), fetched(place_, result_.errors, requests),
          fetched(place_, result_.sids, beams * static_cast<size_t>(result_.levels)),
          fetched(place_, result_.scores, beams), fetched(place_, result_.ordinals, beams)};
}

}  // namespace gpu
