// SPDX-License-Identifier: Apache-2.0
#include "decoder.h"

#include <algorithm>
#include <cmath>

#include "../../differential/library.h"

namespace gpu {

using differential::call;
using differential::expect;

namespace {

constexpr int64_t kChunk = 1 << 20;  // SIDs handed to the builder at a time

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Catalogue::Catalogue(sidbeam_runtime* runtime, const Spec& spec) {
  const std::vector<int32_t> codes(static_cast<size_t>(spec.levels), spec.codes);
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = spec.levels;
  config.codes = codes.data();
  config.kinds = SIDBEAM_KIND_TRIE;
  sidbeam_builder* made = nullptr;
  call("sidbeam_builder_create", sidbeam_builder_create, runtime, &config, &made);
  const handles::Builder builder(made);
  std::vector<int32_t> sids;
  for (int64_t first = 0; first < spec.sids; first += kChunk) {
    const int64_t count = std::min(kChunk, spec.sids - first);
    sids.resize(static_cast<size_t>(count * spec.levels));
    for (size_t i = 0; i < sids.size(); ++i) {
      const uint64_t hash = mix(static_cast<uint64_t>(first * spec.levels) + i);
      sids[i] = static_cast<int32_t>((hash >> 33) % static_cast<uint64_t>(spec.codes));
    }
    call("sidbeam_builder_add", sidbeam_builder_add, builder.get(), static_cast<const int32_t*>(sids.data()),
         static_cast<const int32_t*>(nullptr), count, static_cast<const int64_t*>(nullptr),
         static_cast<const int64_t*>(nullptr));
  }
  sidbeam_index* index = nullptr;
  call("sidbeam_builder_finish", sidbeam_builder_finish, builder.get(), &index);
  index_.reset(index);
  constraint_ = differential::constrain(index);
}

Rows::Rows(const Spec& spec, int64_t l2_bytes, cudaStream_t stream) : spec_(spec) {
  const int64_t bytes = spec.step_bytes();
  buffers_ = bytes * 16 <= l2_bytes ? 1 : std::max<int64_t>(1, (4 * l2_bytes + bytes - 1) / bytes);
  memory_ = device_memory(static_cast<size_t>(buffers_ * bytes), stream);
  expect_cuda(fill_logits(memory_.get(), buffers_ * bytes / spec.element_bytes(), spec.narrow, 1, stream),
              "make logits");
}

sidbeam_rows Rows::of_step(int64_t step) const {
  void* data = static_cast<char*>(memory_.get()) + step % buffers_ * spec_.step_bytes();
  sidbeam_rows rows = sidbeam_rows_dense(data, spec_.narrow ? SIDBEAM_DTYPE_BF16 : SIDBEAM_DTYPE_F32, spec_.slots,
                                         spec_.beams, spec_.columns);
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  return rows;
}

Stretch Rows::read_of_step(int64_t step) const {
  const int64_t row_bytes = spec_.columns * spec_.element_bytes();
  const int64_t first = spec_.level_only ? spec_.offset * spec_.element_bytes() : 0;
  return {of_step(step).data, spec_.rows(), row_bytes, first,
          spec_.level_only ? spec_.codes * spec_.element_bytes() : row_bytes};
}

Decoder::Decoder(sidbeam_runtime* runtime, const Catalogue& catalogue, const Spec& spec, const Method& method,
                 const Rows& rows, const DevicePlace& place)
    : rows_(&rows), place_(&place) {
  const std::vector<int64_t> offsets(static_cast<size_t>(spec.levels), spec.offset);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = spec.levels;
  vocabulary.offsets = offsets.data();
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = spec.slots;
  config.beams = spec.beams;
  config.strategy = method.strategy;
  config.normalization = spec.level_only ? SIDBEAM_NORMALIZE_LEVEL : SIDBEAM_NORMALIZE_FULL;
  config.constraint = catalogue.constraint();
  config.vocabulary = &vocabulary;
  config.device_type = SIDBEAM_DEVICE_CUDA;
  config.device_id = place.device_id();
  for (int32_t i = 0; i < spec.chain; ++i) {
    sidbeam_session* session = nullptr;
    call("sidbeam_session_create", sidbeam_session_create, runtime, &config, &session);
    sessions_.emplace_back(session);
  }
  if (!method.given_lse) return;
  // About what it is for N(0, 3): log V + 9 / 2.
  std::vector<float> lse(static_cast<size_t>(spec.rows()), static_cast<float>(std::log(spec.columns) + 4.5));
  lse_ = place.copy(lse.data(), lse.size() * sizeof(float));
}

void Decoder::step_one(size_t session, int64_t rows) const {
  const sidbeam_rows taken = rows_->of_step(rows);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &taken;
  args.lse = static_cast<const float*>(lse_.get());
  args.stream = place_->stream();
  call("sidbeam_session_step", sidbeam_session_step, sessions_[session].get(),
       static_cast<const sidbeam_step_args*>(&args));
}

void Decoder::prepare(int32_t level) const {
  for (size_t i = 0; i < sessions_.size(); ++i) {
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.stream = place_->stream();
    call("sidbeam_session_start", sidbeam_session_start, sessions_[i].get(),
         static_cast<const sidbeam_start_args*>(&start));
    for (int32_t l = 0; l < level; ++l) step_one(i, static_cast<int64_t>(i) + l + 1);
  }
}

void Decoder::step(int32_t count) const {
  for (int32_t i = 0; i < count; ++i) step_one(static_cast<size_t>(i), i);
}

int64_t Decoder::live() const {
  int64_t live = 0;
  for (const handles::Session& session : sessions_) {
    const sidbeam_beams beams = differential::beams_of(*place_, session.get());
    for (int32_t s = 0; s < beams.slots; ++s) {
      expect(beams.errors[s] == 0, "slot ", s, " is in error: ", beams.errors[s]);
      live += beams.live[s];
    }
  }
  return live;
}

}  // namespace gpu
