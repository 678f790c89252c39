// SPDX-License-Identifier: Apache-2.0
#include "backend/overlay_upload.h"

#include <utility>
#include <vector>

#include "backend/upload_parts.h"
#include "index/format.h"
#include "sidbeam/builder.h"

namespace sidbeam {
namespace {

struct OverlayArrays {
  const IndexView& delta;
  const OverlayView& overlay;

  uint64_t nodes(int32_t level) const { return level > 0 ? delta.level[level - 1].edges : 1; }
  // How many of them are joined. (A level without rows has no count.)
  uint64_t joined(int32_t level) const {
    const OverlayLevel& at = overlay.level[level];
    const uint64_t words = divide_up(nodes(level), 64), last = nodes(level) > 0 ? (nodes(level) - 1) / kRankBits : 0;
    uint64_t count = words > 0 ? at.ranks[last] : 0;
    for (uint64_t w = last * (kRankBits / 64); w < words; ++w) count += bits_set(at.joined[w]);
    return count;
  }

  // Calls visit(array, number of elements) for each array of numbers.
  template <class Visit>
  static void for_each_list(OverlayView& of, uint64_t sids, uint64_t items, const Visit& visit) {
    visit(of.ordinals, of.delta->sids);
    visit(of.rows, of.delta->items);
    visit(of.delta_ordinals, of.sids - sids);
    visit(of.delta_rows, of.items - items);
    visit(of.shared_ordinals, of.shared);
    visit(of.shared_delta_ordinals, of.shared);
  }
  template <class Visit>
  static void for_each_row_array(LevelView& rows, const Visit& visit) {
    visit(rows.row_pointers, rows.row_pointers ? rows.nodes + 1 : 0);
    visit(rows.tokens, rows.edges);
  }
};

// What of the host's views is copied, and what is put in its place on the device.
class OverlayPlan {
 public:
  OverlayPlan(const Index& delta, const OverlayView& overlay, const IndexView& beside)
      : delta_(delta),
        arrays_{delta.view, overlay},
        beside_(beside),
        view_(overlay),
        levels_(overlay.level, overlay.level + delta.view.levels + 1),
        trie_(delta.view),
        parts_(kUploadHeaderBytes) {
    add_views();
    add_delta();
    add_overlay();
  }

  int64_t bytes() const { return parts_.bytes(); }
  void copy_to(Upload& upload, const sidbeam_upload_config& config) {
    const uint8_t* base = upload.base();
    place(base);
    parts_.copy_to(upload, config);
    IndexView view = beside_;
    view.overlay = parts_.there(&view_, base);
    upload.finish(view, false);
  }

 private:
  void add_views() {
    parts_.add(&view_, sizeof view_);
    parts_.add(&trie_, sizeof trie_);
    parts_.add(levels_.data(), static_cast<int64_t>(levels_.size() * sizeof levels_[0]));
  }
  void add_delta() {
    for (const SectionInfo& section : delta_.header.sections)
      if (is_read(section, SIDBEAM_KIND_TRIE)) parts_.add(data_of(section), static_cast<int64_t>(section.bytes));
  }
  void add_overlay() {
    const auto add = [&](const UintArray& array, uint64_t count) {
      parts_.add(array.data, static_cast<int64_t>(count) * array.width);
    };
    OverlayArrays::for_each_list(view_, beside_.sids, beside_.items, add);
    for (int32_t l = 0; l <= delta_.view.levels; ++l) {
      OverlayLevel& level = levels_[static_cast<size_t>(l)];
      OverlayArrays::for_each_row_array(level.rows, add);
      const auto bytes = [](uint64_t count, size_t size) { return static_cast<int64_t>(count * size); };
      parts_.add(level.base, bytes(arrays_.joined(l), sizeof *level.base));
      parts_.add(level.joined, bytes(divide_up(arrays_.nodes(l), 64), sizeof *level.joined));
      parts_.add(level.ranks, bytes(divide_up(arrays_.nodes(l), kRankBits), sizeof *level.ranks));
    }
  }

  const uint8_t* data_of(const SectionInfo& section) const { return delta_.bytes.data() + section.offset; }
  // Makes the views those of the device.
  void place(const uint8_t* base) {
    for (const SectionInfo& section : delta_.header.sections)
      place_section(section, is_read(section, SIDBEAM_KIND_TRIE) ? parts_.there(data_of(section), base) : nullptr,
                    trie_);
    const auto move = [&](UintArray& array, uint64_t) {
      array.data = parts_.there(static_cast<const uint8_t*>(array.data), base);
    };
    OverlayArrays::for_each_list(view_, beside_.sids, beside_.items, move);
    for (OverlayLevel& level : levels_) {
      OverlayArrays::for_each_row_array(level.rows, move);
      level.rows.dense_nodes = 0;
      level.rows.dense_bits = level.rows.masks = nullptr;
      level.rows.dense_ranks = nullptr;
      level.base = parts_.there(level.base, base);
      level.joined = parts_.there(level.joined, base);
      level.ranks = parts_.there(level.ranks, base);
    }
    view_.delta = parts_.there(&trie_, base);
    view_.level = parts_.there(levels_.data(), base);
  }

  const Index& delta_;
  OverlayArrays arrays_;
  const IndexView& beside_;
  OverlayView view_;
  std::vector<OverlayLevel> levels_;
  IndexView trie_;
  UploadParts parts_;
};

}  // namespace

Ref<Upload> upload_overlay(Ref<Device> device, const Index& delta, const OverlayView& overlay, const IndexView& beside,
                           Ref<Upload> below, const sidbeam_upload_config& config) {
  OverlayPlan plan(delta, overlay, beside);
  const int64_t chunk = chunk_of(config, plan.bytes());
  auto made = Ref<Upload>::adopt(
      new Upload(std::move(device), SIDBEAM_KIND_TRIE, plan.bytes(), chunk, config.stream, std::move(below)));
  plan.copy_to(*made, config);
  return made;
}

}  // namespace sidbeam
