// SPDX-License-Identifier: Apache-2.0
#include "backend/filter_copy.h"

#include <utility>

#include "backend/upload_parts.h"
#include "index/overlay.h"

namespace sidbeam {
namespace {

// bits_from() reads a word more than there are numbers.
void add_bits(UploadParts& parts, const uint64_t* bits, uint64_t numbers) {
  if (bits != nullptr) parts.add(bits, static_cast<int64_t>(((numbers + 63) / 64 + 1) * sizeof(uint64_t)));
}

uint64_t edges_of(const IndexView& trie, int32_t level) { return trie.level[level].edges; }
uint64_t edges_of(const OverlayView& overlay, int32_t level) { return overlay.level[level].rows.edges; }

}  // namespace

FilterCopy::FilterCopy(Ref<Device> device, const IndexView& index, const RulesView& filter,
                       const sidbeam_upload_config& config) {
  UploadParts parts;
  const auto each_trie = [&](const auto& visit) {
    visit(filter, base_, index, index.csr_levels);
    if (index.overlay == nullptr) return;
    visit(*filter.delta, delta_, *index.overlay->delta, index.levels);
    visit(*filter.merged, merged_, *index.overlay, index.levels);
  };
  each_trie([&](const RulesView& here, TrieBits&, const auto& trie, int32_t levels) {
    add_bits(parts, here.rows.bits, trie.items);
    add_bits(parts, here.sids.bits, trie.sids);
    for (int32_t l = levels - 1; l >= 0; --l) add_bits(parts, here.level[l].edges.bits, edges_of(trie, l));
  });
  const int64_t chunk = chunk_of(config, parts.bytes());
  upload_ = Ref<Upload>::adopt(new Upload(std::move(device), 0, parts.bytes(), chunk, config.stream));
  parts.copy_to(*upload_, config);
  upload_->finish();
  const auto there = [&](const uint64_t* bits) { return parts.there(bits, upload_->base()); };
  each_trie([&](const RulesView& here, TrieBits& copy, const auto&, int32_t levels) {
    copy.levels.resize(static_cast<size_t>(levels));
    for (size_t l = 0; l < copy.levels.size(); ++l) copy.levels[l].edges.bits = there(here.level[l].edges.bits);
    copy.view = here;
    copy.view.rows.bits = there(here.rows.bits);
    copy.view.sids.bits = there(here.sids.bits);
    copy.view.level = copy.levels.data();
  });
  if (index.overlay == nullptr) return;
  base_.view.delta = &delta_.view;
  base_.view.merged = &merged_.view;
}

Ref<FilterCopy> FilterCopies::bring(Devices& devices, const IndexView& index, const RulesView& filter,
                                    const sidbeam_upload_config& config) const {
  const auto fits = [&](const FilterCopy& copy) { return copy.device().id() == config.device_id; };
  return copies()->bring(fits, [&] {
    Ref<Device> device = Ref<Device>::share(&devices.open(config.device_id));
    return Ref<FilterCopy>::adopt(new FilterCopy(std::move(device), index, filter, config));
  });
}

}  // namespace sidbeam
