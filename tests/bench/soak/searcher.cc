// SPDX-License-Identifier: Apache-2.0
#include "searcher.h"

#include <algorithm>

namespace bench::soak {
namespace {

constexpr int64_t kMostItems = 4096;  // of a slot

Constraint constrain(const Request& request) {
  const sidbeam_item_list excluded = list_of(request.excluded, SIDBEAM_ITEMS_BY_ID);
  return bench::constrain(request.version->index.get(), nullptr, request.excluded.empty() ? nullptr : &excluded);
}

int64_t id_of(const sidbeam_index* index, int64_t row) {
  int64_t id = 0;
  call("index_item_id", sidbeam_index_item_id, index, row, &id, nullptr, nullptr);
  return id;
}

}  // namespace

Version version_of(sidbeam_catalog* catalog, int64_t version) {
  Version made{make<Index>("catalog_snapshot", sidbeam_catalog_snapshot, catalog, version), 0};
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  call("index_get_info", sidbeam_index_get_info, made.index.get(), &info);
  made.number = info.version;
  return made;
}

Searcher::Searcher(sidbeam_index* index)
    : runtime_(make_runtime(1)), prefixes_(kSlots * kBeams), logits_(static_cast<size_t>(kSlots) * kBeams * kCodes) {
  const Constraint constraint = bench::constrain(index);
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = kSlots;
  config.beams = kBeams;
  config.normalization = SIDBEAM_NORMALIZE_NONE;
  config.constraint = constraint.get();
  session_ = make<Session>("session_create", sidbeam_session_create, runtime_.get(), &config);
  call("session_get_beams", sidbeam_session_get_beams, session_.get(), &beams_);
}

void Searcher::start(const std::vector<Request>& requests) {
  std::vector<Constraint> constraints;
  sidbeam_constraint* of_slots[kSlots];
  for (size_t slot = 0; slot < kSlots; ++slot) {
    constraints.push_back(constrain(requests[slot]));
    of_slots[slot] = constraints.back().get();
  }
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.constraints = of_slots;
  call("session_start", sidbeam_session_start, session_.get(), &args);
  std::fill(prefixes_.begin(), prefixes_.end(), 0U);
}

void Searcher::step(const std::vector<Request>& requests, int32_t level) {
  float* logits = logits_.data();
  for (size_t slot = 0; slot < kSlots; ++slot)
    for (size_t beam = 0; beam < kBeams; ++beam)
      for (int32_t code = 0; code < kCodes; ++code)
        *logits++ = logit(requests[slot].seed, prefixes_[slot * kBeams + beam], level, code);
  const sidbeam_rows rows = sidbeam_rows_dense(logits_.data(), SIDBEAM_DTYPE_F32, kSlots, kBeams, kCodes);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  call("session_step", sidbeam_session_step, session_.get(), &args);
  std::vector<uint32_t> next(prefixes_.size());
  for (size_t slot = 0; slot < kSlots; ++slot)
    for (size_t i = slot * kBeams; i < (slot + 1) * kBeams; ++i)
      if (beams_.parents[i] >= 0)
        next[i] = prefixes_[slot * kBeams + static_cast<size_t>(beams_.parents[i])] * kCodes +
                  static_cast<uint32_t>(beams_.codes[i]);
  prefixes_ = next;
}

std::vector<std::vector<Found>> Searcher::found(const std::vector<Request>& requests) const {
  std::vector<int64_t> rows(kSlots * kMostItems), offsets(kSlots * (kBeams + 1));
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit = kMostItems;
  items.item_rows = rows.data();
  items.offsets = offsets.data();
  call("session_get_items", sidbeam_session_get_items, session_.get(), nullptr, 0, &items);
  std::vector<std::vector<Found>> all(kSlots);
  for (size_t slot = 0; slot < kSlots; ++slot) {
    const int64_t *of_slot = rows.data() + slot * kMostItems, *bounds = offsets.data() + slot * (kBeams + 1);
    for (int32_t beam = 0; beam < beams_.live[slot]; ++beam) {
      const size_t at = slot * kBeams + static_cast<size_t>(beam);
      all[slot].push_back({prefixes_[at], beams_.scores[at], {}});
      Found& one = all[slot].back();
      for (int64_t i = bounds[beam]; i < bounds[beam + 1]; ++i)
        one.ids.push_back(id_of(requests[slot].version->index.get(), of_slot[i]));
      std::sort(one.ids.begin(), one.ids.end());
    }
  }
  return all;
}

std::vector<std::vector<Found>> Searcher::run(const std::vector<Request>& requests) {
  start(requests);
  for (int32_t level = 0; level < kLevels; ++level) step(requests, level);
  return found(requests);
}

}  // namespace bench::soak
